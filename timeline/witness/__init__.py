"""A C2SP tlog-witness and the client of one (https://c2sp.org/tlog-witness; docs/spec/witness.md).

A witness remembers the largest tree that each known log has shown it, and signs only what continues that. It needs
no state of a timeline and is meant for another user or machine. ``client`` asks any conformant witness.
"""
