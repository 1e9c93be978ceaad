"""Evidence reasoning: what may be said of what is recorded, and on whose word. Pure.

The terms are those of the provenance literature: vertices with roles, roots, independence, resolution to a status with
flags, and a mediator before anything is asserted (requirements P1 to P51, ADR 0026).
"""
