"""Measurements as ratios against a reference in the same run; see docs/performance.md."""
