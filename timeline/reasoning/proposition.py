"""What a vertex says, and what may be asked (P5). Pure.

A proposition is about the agent, its user or something that they named; the value is compared by its RFC 8785 text.
"""

from typing import Literal

import msgspec

Modality = Literal["asserted", "possible", "obligatory", "permitted", "hypothetical"]
"""How a proposition is meant; two of different modality never match."""


class Proposition(msgspec.Struct, frozen=True):
    """A typed statement: ``value`` is the RFC 8785 text of a JSON value. Its interval stands at the vertex."""

    subject: str
    predicate: str
    value: str
    modality: Modality = "asserted"


class Query(msgspec.Struct, frozen=True):
    """A question at one moment (UTC milliseconds); it is bound to no value, so that rivals are found as well."""

    subject: str
    predicate: str
    at: int
    modality: Modality = "asserted"

    def asks_about(self, proposition: Proposition | None) -> bool:
        """Whether a proposition is relevant to this question."""
        return proposition is not None and (
            (self.subject, self.predicate, self.modality)
            == (proposition.subject, proposition.predicate, proposition.modality)
        )
