"""The nine epistemic roles and the eight classes of origin (P12, P45). Pure.

A role says what kind of thing a vertex is, once and for ever; nothing is ever moved from one role to another. What
looks like that is a new vertex that depends on the old one.
"""

from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """What a vertex is: grounded in a capture or a report, derived from others, or of no checked origin."""

    OBSERVED_EVENT = "observed-event"
    ATTRIBUTED_REPORT = "attributed-report"
    DETERMINISTIC_DERIVATION = "deterministic-derivation"
    MEMORY_INTERPRETATION = "memory-interpretation"
    RECORDED_BELIEF = "recorded-belief"
    MODEL_PRIOR = "model-prior"
    UNVERIFIED_RETRIEVAL = "unverified-retrieval"
    PROBABILISTIC_INTERPRETATION = "probabilistic-interpretation"
    HYPOTHESIS = "hypothesis"


GROUNDED: Final = frozenset({Role.OBSERVED_EVENT, Role.ATTRIBUTED_REPORT})
"""X: anchored in a capture or an authenticated report."""

DERIVED: Final = frozenset({Role.DETERMINISTIC_DERIVATION, Role.MEMORY_INTERPRETATION, Role.RECORDED_BELIEF})
"""D: keeps what it was derived from."""

UNVERIFIED: Final = frozenset(
    {Role.MODEL_PRIOR, Role.UNVERIFIED_RETRIEVAL, Role.PROBABILISTIC_INTERPRETATION, Role.HYPOTHESIS}
)
"""U: synthetic or unchecked; supports nothing, however often it is stored or recalled."""


class OriginClass(StrEnum):
    """Where a root came from; each class has to bring its own fields (P45)."""

    DIRECT_CAPTURE = "direct-capture"
    ATTRIBUTED_REPORT = "attributed-report"
    IMPORTED_RECORD = "imported-record"
    MODEL_PRIOR = "model-prior"
    RETRIEVED_TEXT = "retrieved-external-text"
    DETERMINISTIC_DERIVATION = "deterministic-derivation"
    PROBABILISTIC_INTERPRETATION = "probabilistic-interpretation"
    HYPOTHETICAL_SIMULATION = "hypothetical-simulation"
