"""How much of a source counts as understood, under the owner's rules about formats (ADR 0001). Pure.

A sidecar states what the adapter met: numbers of defects, and the names of record types that were never reviewed.
The owner may accept such a type as one that carries no evidence, and take that back. The judgement is made anew at
each use from what the sidecar states and the rules in force; nothing that was signed changes.
"""

from typing import Final

import msgspec

from sidecars.leaf import FormatPolicy
from sidecars.sidecar import UNKNOWN_TYPES_MAX, Tallies

UNDERSTOOD: Final = "understood"
PARTLY: Final = "partly-understood"

UNNAMED: Final = "other"
"""Where adapters count types that have no name that is kept; never accepted, since it would accept everything."""


PROTOCOL: Final = "protocol/"
"""How the name of a decision about a protocol begins: ``protocol/<declared>:<reviewed>``. No record type does."""


class FormatDecision(msgspec.Struct, frozen=True):
    """One decision of the owner, by the leaf that holds it; ``at_ms`` is UTC milliseconds."""

    index: int
    at_ms: int
    policy: FormatPolicy


class FormatRules(msgspec.Struct, frozen=True):
    """Every decision of the owner about formats, oldest first."""

    decisions: tuple[FormatDecision, ...] = ()

    @property
    def accepted(self) -> frozenset[tuple[str, str]]:
        """Host and record type of what is accepted now."""
        found: dict[tuple[str, str], bool] = {}
        for decision in self.decisions:
            found[decision.policy.host, decision.policy.type] = decision.policy.accepted
        return frozenset(key for key, accepted in found.items() if accepted)

    def protocols(self, host: str) -> dict[str, str]:
        """Declared protocol to the reviewed one as which the owner lets files of ``host`` be read (T71)."""
        found = (
            name.removeprefix(PROTOCOL)
            for of, name in self.accepted
            if of == host and name.startswith(PROTOCOL)
        )
        return {declared: meant for declared, _, meant in (name.rpartition(":") for name in found)}

    def is_change(self, policy: FormatPolicy) -> bool:
        """Whether a decision would change something; one that would not is never recorded."""
        is_accepted = (policy.host, policy.type) in self.accepted
        return policy.type != UNNAMED and policy.accepted != is_accepted

    def with_decision(self, decision: FormatDecision) -> "FormatRules":
        """The rules after one more decision."""
        return FormatRules((*self.decisions, decision))


class Judgement(msgspec.Struct, frozen=True):
    """``accepted`` and ``unreviewed`` are the unknown types that were met, by what the owner says of them."""

    understanding: str
    accepted: tuple[str, ...] = ()
    unreviewed: tuple[str, ...] = ()

    @property
    def is_understood(self) -> bool:
        """Whether nothing was met that may concern a result and was not understood."""
        return self.understanding == UNDERSTOOD


def judge(rules: FormatRules, host: str, understanding: str, tallies: Tallies) -> Judgement:
    """Judge a source of ``host`` of which its newest sidecar states ``understanding`` and ``tallies``."""
    accepted_now = rules.accepted
    accepted = tuple(name for name in tallies.unknown_types if (host, name) in accepted_now)
    unreviewed = tuple(name for name in tallies.unknown_types if (host, name) not in accepted_now)
    # A full list may have been cut: what is not named was not accepted.
    explained = bool(accepted) and not unreviewed and len(accepted) < UNKNOWN_TYPES_MAX
    if tallies.defects or not (understanding == UNDERSTOOD or explained) or unreviewed:
        return Judgement(PARTLY, accepted, unreviewed)
    return Judgement(UNDERSTOOD, accepted, unreviewed)
