"""One task as it is told in these tests: who reads, what is said, what is measured, and a log that lives in memory.

``Story`` keeps what is recorded as the ledger does, with the same compare-and-set, in a few plain lines.
"""

from collections.abc import Mapping
from typing import Any, Final

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.event import Outcome
from timeline.world.advancing import Measurement
from timeline.world.assertion import (
    Assertion,
    Evidence,
    Origin,
    RouteRefs,
    Scope,
    make_entry,
    read_assertion,
)
from timeline.world.capsules import ContinuationContext, continuation_context
from timeline.world.correction import Correction
from timeline.world.outcome_contract import Expected
from timeline.world.owner_task import make_contract, start_task
from timeline.world.scope import Reader
from timeline.world.standing import Standing, decide_standing
from timeline.world.task_state import Replacement, TaskState, task_state

T0: Final = 1_789_000_000_000
SECOND: Final = 1000
PROJECT: Final = "/srv/demo"
TASK: Final = "task:release"
ROUTE: Final = RouteRefs("portal-ref:" + "1" * 32, "thread-ref:" + "1" * 32)
OTHER_ROUTE: Final = RouteRefs("portal-ref:" + "1" * 32, "thread-ref:" + "2" * 32)
ADA: Final = Reader("home", "ada", PROJECT, task=TASK, route=ROUTE)
SESSION: Final = "session-ref:" + "a" * 32
ORIGIN: Final = Origin(SESSION, "timeline-event:" + "b" * 32)
SUITE: Final = Expected("suite-4", 12, 12)


def scope_of(reader: Reader = ADA, **fields: Any) -> Scope:
    """The private scope in which a reader's task is spoken of, unless fields say otherwise."""
    return Scope(
        **{
            "tenant": reader.tenant,
            "user": reader.user,
            "project": reader.project,
            "route": reader.route,
            **fields,
        }
    )


def continuation(**fields: Any) -> dict[str, Any]:
    """The value of a continuation that has just begun, unless fields say otherwise."""
    return {
        "schema": "agentspine.task-continuation/v1",
        "taskId": TASK,
        "status": "active",
        "objective": "Release the parser",
        "lastVerifiedStep": None,
        "openQuestions": [],
        "nextStep": {"id": "step:suite", "summary": "Run suite 4"},
        **fields,
    }


def verified(**fields: Any) -> dict[str, Any]:
    """The last verified step of a continuation: suite 4 has passed at ``T0``."""
    return {
        "id": "step:suite",
        "summary": "Run suite 4",
        "result": "passed",
        "evidenceId": ORIGIN.message,
        "evidenceDigest": str(Digest.of(b"line")),
        "observedAt": "2026-09-10T00:26:40.000Z",
        "sessionRef": ORIGIN.session,
        "messageRef": ORIGIN.message,
        **fields,
    }


def completed(**fields: Any) -> dict[str, Any]:
    """The value of a completed continuation, on the evidence of ``verified``."""
    return continuation(status="completed", nextStep=None, lastVerifiedStep=verified(), **fields)


def entry(name: str = "one", value: Any = None, **fields: Any) -> AssertionEntry:
    """A continuation of the task by the owner's word, unless fields say otherwise."""
    kind = fields.pop("kind", "explicit-user-feedback")
    recorders = {"explicit-user-feedback": "owner", "objective-measurement": "capture"}
    return make_entry(
        **{
            "id": f"assertion:{name}",
            "recorder": recorders.get(kind, "model"),
            "subject": TASK,
            "predicate": "task.continuation",
            "value": continuation() if value is None else value,
            "evidence": Evidence(
                kind, fields.pop("evidence_id", ORIGIN.message), Digest.of(b"line"), fields.pop("at", T0)
            ),
            "scope": scope_of(),
            "knowledge": "task-state",
            "origin": ORIGIN,
            "supersedes": tuple(f"assertion:{other}" for other in fields.pop("supersedes", ())),
            **fields,
        }
    )


def measured(number: int = 1, *, at: int, outcome: Outcome = Outcome.PASS, **fields: Any) -> Measurement:
    """A result of suite 4: all twelve have passed, unless fields say otherwise."""
    event = f"timeline-event:{number:032x}"
    return Measurement(
        **{
            "label": "suite-4",
            "outcome": outcome,
            "total": 12,
            "success_count": 12,
            "evidence_id": event,
            "evidence_digest": Digest.of(event.encode()),
            "observed_at": at,
            "origin": Origin(SESSION, event),
            **fields,
        }
    )


def corrected(summary: str, number: int = 900, *, at: int) -> Correction:
    """A strict correction that the user has typed."""
    event = f"timeline-event:{number:032x}"
    return Correction(
        summary=summary,
        evidence_id=event,
        evidence_digest=Digest.of(event.encode()),
        observed_at=at,
        origin=Origin(SESSION, event),
    )


class Story:
    """What is recorded, in order; time moves only when something is told to happen."""

    def __init__(self, reader: Reader = ADA) -> None:
        """Begin with nothing recorded."""
        self.reader = reader
        self.now = T0
        self.assertions: list[Assertion] = []

    def record(
        self, made: AssertionEntry, expect_active: Mapping[str, frozenset[str]] | None = None
    ) -> Assertion:
        """Keep an entry, as the ledger would: now, and only if what it replaces is what is in force."""
        if expect_active is not None:
            state = self.state()
            in_force = (state.continuations if made.predicate == "task.continuation" else state.contracts).ids
            assert expect_active[made.id] == frozenset(in_force)
        assert made.id not in {one.id for one in self.assertions}
        assertion = read_assertion(len(self.assertions), self.now, made)
        self.assertions.append(assertion)
        return assertion

    def replace(self, decided: object) -> Assertion:
        """Keep what a decision has come to."""
        assert isinstance(decided, Replacement)
        return self.record(decided.entry, decided.expect_active)

    def at(self, seconds: int) -> int:
        """Let time pass until so many seconds after the beginning."""
        self.now = T0 + seconds * SECOND
        return self.now

    def state(self, reader: Reader | None = None) -> TaskState:
        """What is in force about the task, as its reader sees it."""
        return task_state(self.assertions, reader or self.reader, self.now)

    def standing(self, reader: Reader | None = None) -> Standing:
        """How everything stands for a reader."""
        return decide_standing(self.assertions, reader or self.reader, self.now)

    def context(self, reader: Reader | None = None, **fields: Any) -> ContinuationContext:
        """The capsules of a reader."""
        return continuation_context(self.standing(reader), **fields)

    def begin(self, **fields: Any) -> Assertion:
        """Start the task, by the owner's word."""
        made = start_task(
            self.state(),
            **{
                "objective": "Release the parser",
                "next_step": "Run suite 4",
                "now_ms": self.now,
                **fields,
            },
        )
        return self.record(made)

    def agree(
        self,
        expected: Expected = SUITE,
        *,
        status: Any = "active",
        next_step: str | None = "Publish the release",
    ) -> Assertion:
        """Agree on an outcome contract, by the owner's word."""
        made = make_contract(self.state(), expected, status=status, next_step=next_step, now_ms=self.now)
        return self.record(made)
