"""The daemon and its clients, killed at random points: ``python -m tests.chaos``."""
