"""Assertions made short: of their form, and of the kind that they claim, but free in what their values say.

What a value must be under one predicate is not the views' business, which take whatever was recorded.
"""

from typing import Any, Final

import msgspec

from sidecars.assertion import AssertionEntry, check_assertion
from sidecars.digest import Digest
from sidecars.identity import strict_loads_with_floats
from timeline.world.assertion import Assertion, RouteRefs, canonical_text
from timeline.world.kinds import check_knowledge
from timeline.world.scope import Reader

T0: Final = 1_790_000_000_000
"""When the first assertion of a test is observed, unless it says otherwise."""

NOW: Final = T0 + 1_000_000
PROJECT: Final = "/srv/ada/project"
OTHER_PROJECT: Final = "/srv/ada/other"
TASK: Final = "task:release"
HERE: Final = RouteRefs("portal-ref:" + "1" * 32, "thread-ref:" + "1" * 32)
THERE: Final = RouteRefs("portal-ref:" + "1" * 32, "thread-ref:" + "2" * 32)
SESSION: Final = "session-ref:" + "a" * 32

MEASURED: Final = "objective-measurement"
CONFIRMED: Final = "explicit-user-feedback"
SUGGESTED: Final = "model-suggestion"
QUOTED: Final = "uninterpreted-user-message"

RECORDERS: Final = {MEASURED: "capture", CONFIRMED: "owner", SUGGESTED: "model", QUOTED: "capture"}


def entry(name: str, value: Any = "green", **fields: Any) -> AssertionEntry:
    """An assertion ``assertion:NAME``: measured, private, of the project, unless fields say otherwise."""
    kind = fields.pop("kind", MEASURED)
    route = fields.pop("route", None)
    made = {
        "kind": "assertion",
        "id": f"assertion:{name}",
        "recorder": RECORDERS[kind],
        "subject": "build:main",
        "predicate": "test.outcome",
        "value": canonical_text(value),
        "evidence_kind": kind,
        "evidence_id": f"evidence:{name}",
        "evidence_digest": str(Digest.of(name.encode())),
        "observed_at": fields.pop("at", T0),
        "tenant": "home",
        "user": "ada",
        "privacy": "private",
        "project": PROJECT,
        "portal": None if route is None else route.portal,
        "thread": None if route is None else route.thread,
        "supersedes": [f"assertion:{other}" for other in fields.pop("supersedes", ())],
        **fields,
    }
    found = msgspec.convert(made, AssertionEntry)
    check_assertion(found)
    check_knowledge(found)
    return found


def recorded(*entries: AssertionEntry, first_leaf: int = 0) -> tuple[Assertion, ...]:
    """The entries as they come from the log, in this order, each recorded a second after it was observed."""
    return tuple(
        Assertion(leaf, made.observed_at + 1000, made, strict_loads_with_floats(made.value.encode()))
        for leaf, made in enumerate(entries, first_leaf)
    )


def reader(**fields: Any) -> Reader:
    """Ada in her project, with her private assertions, unless fields say otherwise."""
    return Reader(**{"tenant": "home", "user": "ada", "project": PROJECT, **fields})


def names(assertions: Any) -> list[str]:
    """The short names of assertions."""
    return [assertion.id.removeprefix("assertion:") for assertion in assertions]
