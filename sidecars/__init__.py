"""The signed, redacted format: envelopes, sidecars, notes, checkpoints, Merkle proofs, and what is trusted.

This package knows neither ``timeline`` nor ``adapters``: a third party verifies sidecars with it alone.
"""
