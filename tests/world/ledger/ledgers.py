"""What the tests of the ledger record: assertions made by hand, into a timeline of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from tests.simulators.worlds import NOW_MS, World
from timeline.state import State
from timeline.world import ledger
from timeline.world.assertion import Assertion, canonical_text

TENANT = "local"
SUBJECT = "suite:unit"
PROJECT = "/srv/project"
OTHER_PROJECT = "/srv/other"
OBSERVED = NOW_MS - 60_000

_BY_KIND = {
    "objective-measurement": "capture",
    "explicit-user-feedback": "owner",
    "model-suggestion": "model",
    "uninterpreted-user-message": "capture",
}


def entry(name: str, *, value: object = 1, **changes: Any) -> AssertionEntry:
    """A measurement called ``name``; ``changes`` are fields of the entry."""
    kind = changes.get("evidence_kind", "objective-measurement")
    fields = {
        "id": f"assertion:{name}",
        "recorder": _BY_KIND[kind],
        "subject": SUBJECT,
        "predicate": "test.result",
        "value": canonical_text(value),
        "evidence_kind": kind,
        "evidence_id": f"evidence:{name}",
        "evidence_digest": str(Digest(bytes(32))),
        "observed_at": OBSERVED,
        "tenant": TENANT,
        "user": "dev",
        "privacy": "shared",
        "project": PROJECT,
        **changes,
    }
    fields["supersedes"] = tuple(sorted(f"assertion:{named}" for named in changes.get("supersedes", ())))
    return AssertionEntry(**fields)


def moved(before: AssertionEntry, **changes: Any) -> AssertionEntry:
    """The same entry with other fields."""
    return msgspec.structs.replace(before, **changes)


def record(world: World, *entries: AssertionEntry, **expected: Any) -> tuple[ledger.Recorded, ...]:
    """Record in one batch."""
    with world.session.writing() as state:
        return ledger.record(state, entries, **expected)


@contextmanager
def reading(world: World) -> Iterator[State]:
    """Open for reading."""
    with world.session.reading() as state:
        yield state


def about(world: World, subject: str = SUBJECT, **scope: Any) -> tuple[Assertion, ...]:
    """All of a subject, as a newly opened timeline gives it."""
    with reading(world) as state:
        return ledger.read_subject(state, subject, **{"tenant": TENANT, "project": PROJECT, **scope})


def names(assertions: tuple[Assertion, ...]) -> list[str]:
    """The ids without their namespace."""
    return [assertion.id.removeprefix("assertion:") for assertion in assertions]
