"""One task on one route, as its assertions tell it: continuations, what the user said, what a model made of it."""

from typing import Any, Final

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.event import EventLine, event_id
from sidecars.identity import strict_loads_with_floats
from timeline.world.assertion import Assertion, Evidence, Origin, RouteRefs, Scope, make_entry, read_assertion
from timeline.world.capsules import Capsule
from timeline.world.continuation import parse_continuation
from timeline.world.feedback import UserMessage, active_candidates, quote
from timeline.world.interpretation import (
    CLARIFICATION_REQUEST,
    INTERPRETATION_REQUEST,
    Model,
    interpret,
    parse_request,
)
from timeline.world.recall_packet import recall_packet
from timeline.world.scope import Reader
from timeline.world.task_state import Refused, TaskState, task_state

T0: Final = 1_790_000_000_000
NOW: Final = T0 + 3_600_000
PROJECT: Final = "/srv/demo"
TASK: Final = "task:release"
HERE: Final = RouteRefs("portal-ref:" + "1" * 32, "thread-ref:" + "1" * 32)
THERE: Final = RouteRefs("portal-ref:" + "1" * 32, "thread-ref:" + "2" * 32)
SESSION: Final = "session-ref:" + "a" * 32
OTHER_SESSION: Final = "session-ref:" + "b" * 32
SOURCE_DIGEST: Final = "ab" * 32
MODEL: Final = Model("codex", SESSION)

QUESTION: Final = "Do you mean the report or the changelog?"


def reader(**fields: Any) -> Reader:
    """Ada in her session of the task."""
    made = {"tenant": "home", "user": "ada", "project": PROJECT, "task": TASK, "route": HERE, **fields}
    return Reader(**made)


def continuation_value(**fields: Any) -> dict[str, Any]:
    """A task that is under way, unless fields say otherwise."""
    return {
        "schema": "agentspine.task-continuation/v1",
        "taskId": TASK,
        "status": "active",
        "objective": "Release version 2",
        "lastVerifiedStep": None,
        "openQuestions": [],
        "nextStep": {"id": "step:notes", "summary": "Write the release notes"},
        **fields,
    }


def continuation_entry(
    name: str, at: int, *, route: RouteRefs | None = HERE, **fields: Any
) -> AssertionEntry:
    """A continuation that the owner has confirmed; one that is completed was measured."""
    supersedes = tuple(f"assertion:{other}" for other in fields.pop("supersedes", ()))
    digest, origin = Digest.of(name.encode()), Origin(SESSION, f"event:{name}")
    kind = "explicit-user-feedback"
    recorder = "owner"
    if fields.get("status") == "completed":
        kind, recorder = "objective-measurement", "capture"
        step = {
            "id": "step:notes",
            "summary": "Write the release notes",
            "result": "passed",
            "evidenceId": f"event:{name}",
            "evidenceDigest": str(digest),
            "observedAt": moment(at),
            "sessionRef": SESSION,
            "messageRef": f"event:{name}",
        }
        fields |= {"lastVerifiedStep": step, "nextStep": None}
    recorder = fields.pop("recorder", recorder)
    return make_entry(
        id=f"assertion:{name}",
        recorder=recorder,
        subject=TASK,
        predicate="task.continuation",
        value=continuation_value(**fields),
        evidence=Evidence(kind, f"event:{name}", digest, at),
        scope=Scope("home", "ada", PROJECT, route=route),
        knowledge="task-state",
        origin=origin,
        supersedes=supersedes,
    )


def moment(at: int) -> str:
    """A time as it is written."""
    from timeline.clock import format_utc

    return format_utc(at)


def message(text: str = "Please name it report.txt", at: int = T0 + 60_000, **fields: Any) -> UserMessage:
    """What the user typed in the session, as it was re-derived."""
    digest = Digest.of(f"{at} {text}".encode("utf-8", "surrogatepass"))
    line = EventLine("prompt", at % 10_000_019, 100, str(digest))
    made = {
        "event_id": event_id("source:" + "c" * 32, [line]),
        "digest": digest,
        "observed_at": at,
        "session": SESSION,
        "provider": "codex",
        "source_digest": SOURCE_DIGEST,
        "text": text,
        **fields,
    }
    return UserMessage(**made)


class Story:
    """What was recorded about the task so far, in the order of the log."""

    def __init__(self, *entries: AssertionEntry) -> None:
        self.assertions: list[Assertion] = []
        for entry in entries or (continuation_entry("start", T0),):
            self.record(entry)

    def record(self, entry: AssertionEntry | Refused) -> Assertion:
        """Add an entry as the ledger would; the same again changes nothing."""
        assert isinstance(entry, AssertionEntry), entry
        for known in self.assertions:
            if known.id == entry.id:
                assert known.entry == entry
                return known
        made = read_assertion(len(self.assertions), entry.observed_at + 1000, entry)
        self.assertions.append(made)
        return made

    def state(self, **fields: Any) -> TaskState:
        """What is in force for Ada's session, or for who the fields say."""
        return task_state(self.assertions, reader(**fields), NOW)

    @property
    def capsule(self) -> Capsule:
        """The current one."""
        found = self.state().continuations.sole
        assert found is not None
        return Capsule(found, parse_continuation(found.value))

    def say(self, text: str = "Please name it report.txt", at: int = T0 + 60_000, **fields: Any) -> Assertion:
        """Have the user say something, and quote it."""
        return self.record(self.quote(message(text, at, **fields)))

    def quote(self, said: UserMessage, **fields: Any) -> AssertionEntry | Refused:
        """The decision about one message."""
        return quote(self.state(**fields), said, self.assertions)

    def candidates(self) -> list[str]:
        """The ids of the open messages, newest first."""
        found = active_candidates(self.assertions, self.capsule.assertion)
        return [candidate.assertion.id for candidate in found]

    def messages(self) -> list[UserMessage]:
        """The open messages as their sources tell them."""
        return [
            UserMessage(
                event_id=entry.evidence_id,
                digest=Digest.parse(entry.evidence_digest),
                observed_at=entry.observed_at,
                session=entry.session or "",
                provider=feedback.source_provider,
                source_digest=feedback.source_digest,
                text=feedback.source_text,
            )
            for entry, feedback in (
                (candidate.assertion.entry, candidate.feedback)
                for candidate in active_candidates(self.assertions, self.capsule.assertion)
            )
        ]

    def request(self, **fields: Any) -> dict[str, Any]:
        """The request that fits the open messages: a step for one, a question about more."""
        ids, target = sorted(self.candidates()), self.capsule.assertion.id
        if len(ids) == 1:
            made: dict[str, Any] = {
                "schema": INTERPRETATION_REQUEST,
                "feedbackAssertionId": ids[0],
                "targetAssertionId": target,
                "kind": "next-step-correction",
                "proposedNextStepSummary": "Name the file report.txt",
                "clarificationQuestion": None,
            }
        else:
            made = {
                "schema": CLARIFICATION_REQUEST,
                "feedbackAssertionIds": ids,
                "targetAssertionId": target,
                "clarificationQuestion": QUESTION,
            }
        return made | fields

    def interpret(
        self,
        request: dict[str, Any] | None = None,
        *,
        model: Model = MODEL,
        verified: list[UserMessage] | None = None,
        at: int = NOW,
    ) -> AssertionEntry | Refused:
        """The decision about a request; without one, about that which fits."""
        parsed = parse_request(self.request() if request is None else request)
        if isinstance(parsed, Refused):
            return parsed
        return interpret(
            self.state(),
            parsed,
            model,
            assertions=self.assertions,
            verified=self.messages() if verified is None else verified,
            now_ms=at,
        )

    def packet(self, facts: tuple[Assertion, ...] = ()) -> dict[str, Any]:
        """What an agent is reminded of now."""
        return recall_packet(self.capsule, self.assertions, facts)


def value_of(entry: AssertionEntry | Refused) -> dict[str, Any]:
    """The value of an entry that was made."""
    assert isinstance(entry, AssertionEntry), entry
    found = strict_loads_with_floats(entry.value.encode())
    assert isinstance(found, dict)
    return found
