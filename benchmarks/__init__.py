"""Measurements as ratios against a reference in the same run, each with the gate that it has to keep.

`docs/performance.md` says what is measured, how to read it, and what was found.
"""
