"""Grades: how much a claim weighs, and why. Pure.

A grade has three axes, each told apart from the others: how credible a source has been (S), how far it stood from what
it reports (D), and how well the report was verified (V). It orders and explains; it never makes a fact of anything
(requirements G1 to G30, ADR 0028, ``docs/spec/grading.md``).
"""
