"""The world model: immutable assertions with their evidence, and what follows from all of them together.

Everything here but ``ledger`` decides without reading or writing. Nothing that signs, verifies, permits or consents
ever asks it (W63), and all that it gives is context only (W61).
"""
