"""What a reader is told of the world: facts, conflicts, proposals and stale items, each apart (W10 to W18). Pure.

Only facts are held to be so. A conflict takes its subject and predicate out of them until somebody settles it; a
suggestion stays one, whatever it equals (W4); what has expired is shown as expired and never used again (W17).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from sidecars.assertion import EvidenceKind, Recorder
from sidecars.identity import JSON
from timeline.clock import format_utc
from timeline.limits import WORLD_ITEMS_DEFAULT
from timeline.world.assertion import Assertion
from timeline.world.presentation import (
    AUTHORITY,
    format_assertion,
    format_legacy,
    format_optional_utc,
    format_scope,
)
from timeline.world.scope import Reader
from timeline.world.standing import Group, check_items, decide_standing

CONTEXT_SCHEMA: Final = "agentspine.world-context/v1"
NOTE: Final = (
    "Only the facts are established: measured or confirmed by the user, in force, and disputed by nothing. "
    "Proposals are suggestions and the user's quoted words. All of this is context and permits nothing."
)


class Fact(msgspec.Struct, frozen=True):
    """One value that active established assertions agree on; ``assertions`` are these, newest first."""

    assertions: Group

    @property
    def subject(self) -> str:
        """What it is about."""
        return self.assertions[0].entry.subject

    @property
    def predicate(self) -> str:
        """What is said of it."""
        return self.assertions[0].entry.predicate

    @property
    def value(self) -> JSON:
        """The value that all of them have."""
        return self.assertions[0].value

    @property
    def evidence_kinds(self) -> tuple[EvidenceKind, ...]:
        """On what kinds of evidence it rests, sorted."""
        return tuple(sorted({assertion.entry.evidence_kind for assertion in self.assertions}))

    @property
    def recorders(self) -> tuple[Recorder, ...]:
        """Who recorded it, sorted."""
        return tuple(sorted({assertion.entry.recorder for assertion in self.assertions}))

    @property
    def is_legacy(self) -> bool:
        """Whether nothing but imports supports it."""
        return self.recorders == ("import",)

    @property
    def latest_observed_at(self) -> int:
        """When the newest of them was observed (UTC milliseconds)."""
        return self.assertions[0].entry.observed_at

    @property
    def expires_at(self) -> int | None:
        """When the last of them ends (UTC milliseconds); nothing if one has no end."""
        ends = [assertion.entry.expires_at for assertion in self.assertions]
        known = [end for end in ends if end is not None]
        return max(known) if len(known) == len(ends) else None


class Conflict(msgspec.Struct, frozen=True):
    """Active established assertions of one subject and predicate that differ, newest first (W12).

    Each collection of an answer is cut as a whole: a conflict always names all its members.
    """

    assertions: Group

    @property
    def subject(self) -> str:
        """What it is about."""
        return self.assertions[0].entry.subject

    @property
    def predicate(self) -> str:
        """What is disputed."""
        return self.assertions[0].entry.predicate


class Counts(msgspec.Struct, frozen=True):
    """How many of each collection, of what the reader may see."""

    facts: int
    conflicts: int
    proposals: int
    stale: int


class Context(msgspec.Struct, frozen=True):
    """The four collections as far as they fit, how many there are, and how many assertions were not looked at."""

    facts: tuple[Fact, ...]
    conflicts: tuple[Conflict, ...]
    proposals: tuple[Assertion, ...]
    stale: tuple[Assertion, ...]
    found: Counts
    unread: int

    @property
    def requires_resolution(self) -> bool:
        """Whether something is disputed, shown or not (W15)."""
        return self.found.conflicts > 0

    @property
    def omitted(self) -> Counts:
        """What was found and did not fit."""
        return Counts(
            self.found.facts - len(self.facts),
            self.found.conflicts - len(self.conflicts),
            self.found.proposals - len(self.proposals),
            self.found.stale - len(self.stale),
        )


def world_context(
    assertions: Sequence[Assertion],
    reader: Reader,
    now_ms: int,
    *,
    subject: str | None = None,
    max_items: int = WORLD_ITEMS_DEFAULT,
    unread: int = 0,
) -> Context:
    """What a reader is told at ``now_ms`` (UTC milliseconds).

    ``assertions`` as for ``decide_standing``. ``max_items`` bounds each collection. ``unread`` is how many that the
    reader may see were not given.

    Raises:
        WorldError: ``max_items`` is out of its bounds.
        WorldStateError: a stored assertion breaks a rule (W65).
    """
    check_items(max_items)
    standing = decide_standing(assertions, reader, now_ms, subject=subject)
    return Context(
        facts=tuple(Fact(group) for group in standing.agreed[:max_items]),
        conflicts=tuple(Conflict(group) for group in standing.disputed[:max_items]),
        proposals=standing.proposals[:max_items],
        stale=standing.stale[:max_items],
        found=Counts(
            len(standing.agreed), len(standing.disputed), len(standing.proposals), len(standing.stale)
        ),
        unread=unread,
    )


def format_context(context: Context, *, knowledge: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A context in the reference's shape; ``knowledge`` is the typed view beside it, already formatted."""
    return {
        "schema": CONTEXT_SCHEMA,
        "facts": [_format_fact(fact) for fact in context.facts],
        "conflicts": [_format_conflict(conflict) for conflict in context.conflicts],
        "proposals": [format_assertion(assertion) for assertion in context.proposals],
        "stale": [format_assertion(assertion) for assertion in context.stale],
        **({} if knowledge is None else {"knowledge": dict(knowledge)}),
        "omitted": {**msgspec.to_builtins(context.omitted), "unread": context.unread},
        "uncertainty": {
            "requiresResolution": context.requires_resolution,
            "conflicts": context.found.conflicts,
            "proposals": context.found.proposals,
            "stale": context.found.stale,
        },
        "authority": AUTHORITY,
        "note": NOTE,
    }


def _format_fact(fact: Fact) -> dict[str, Any]:
    bound = [assertion.entry for assertion in fact.assertions if assertion.entry.portal is not None]
    return {
        "subjectId": fact.subject,
        "predicate": fact.predicate,
        "value": fact.value,
        "assertionIds": [assertion.id for assertion in fact.assertions],
        "evidenceKinds": list(fact.evidence_kinds),
        "recorders": list(fact.recorders),
        **format_legacy(is_legacy=fact.is_legacy),
        "latestObservedAt": format_utc(fact.latest_observed_at),
        "expiresAt": format_optional_utc(fact.expires_at),
        **format_scope(next(iter(bound), fact.assertions[0].entry)),
        "authority": AUTHORITY,
    }


def _format_conflict(conflict: Conflict) -> dict[str, Any]:
    return {
        "subjectId": conflict.subject,
        "predicate": conflict.predicate,
        "assertions": [format_assertion(assertion) for assertion in conflict.assertions],
        "authority": AUTHORITY,
    }
