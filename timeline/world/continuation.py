"""Where a task stands: the value of a ``task.continuation`` (``agentspine.task-continuation/v1``, W31 to W35).

It holds the objective, the last verified step with its evidence, what is still asked, and one next step. It is working
memory, no lease and no permission (W43). What an assertion must be to carry it is checked when it is made and each
time it is read. Pure. The format is in ``docs/spec/tasks.md``.
"""

from typing import Annotated, Final, Literal

import msgspec

from sidecars.assertion import AssertionEntry, SessionRef, StableId
from sidecars.identity import JSON
from sidecars.wire import DigestText, TimeMs
from timeline.clock import format_utc
from timeline.world.closed_value import broken, check_line, read_closed, read_moment
from timeline.world.errors import AssertionInvalidError

CONTINUATION_SCHEMA: Final = "agentspine.task-continuation/v1"
CONTINUATION_PREDICATE: Final = "task.continuation"

LINE_CHARACTERS_MAX: Final = 500
"""Of an objective and of a step's summary (reference interface)."""

QUESTION_CHARACTERS_MAX: Final = 300
QUESTIONS_MAX: Final = 8

Line = Annotated[str, msgspec.Meta(min_length=1, max_length=LINE_CHARACTERS_MAX)]
TaskStatus = Literal["active", "blocked", "paused", "completed"]
StepResult = Literal["passed", "failed", "blocked"]

RULES: Final = {
    "taskId": "must be the subject of the assertion",
    "status": "must be active, blocked, paused or completed",
    "objective": f"must be 1 to {LINE_CHARACTERS_MAX} characters",
    "summary": f"must be 1 to {LINE_CHARACTERS_MAX} characters",
    "result": "must be passed, failed or blocked",
    "openQuestions": f"must be at most {QUESTIONS_MAX} questions",
    "question": f"must be 1 to {QUESTION_CHARACTERS_MAX} characters",
    "id": "must be a namespace and a name",
    "evidenceId": "must be a namespace and a name",
    "messageRef": "must be a namespace and a name",
    "evidenceDigest": "must be a SHA-256 in unpadded base64url",
    "sessionRef": "must be `session-ref:` and 32 hex digits",
    "nextStep": "must be a step or null",
    "lastVerifiedStep": "must be a verified step or null",
    "schema": f"must be {CONTINUATION_SCHEMA}",
}
"""For the name of a field what it must be."""


class NextStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be done: a stable id and a line that says it. Two steps are the same if both are."""

    id: StableId
    summary: Line


class VerifiedStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The step that was measured last, what came out, and the measurement: evidence, time (UTC ms) and origin (W34)."""

    id: StableId
    summary: Line
    result: StepResult
    evidence_id: StableId
    evidence_digest: DigestText
    observed_at: TimeMs
    session_ref: SessionRef
    message_ref: StableId


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that is still open."""

    id: StableId
    question: Annotated[str, msgspec.Meta(min_length=1, max_length=QUESTION_CHARACTERS_MAX)]


class Continuation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """Where one task stands (W33). ``next_step`` is ``None`` exactly where the task is completed."""

    schema: Literal["agentspine.task-continuation/v1"]
    task_id: StableId
    status: TaskStatus
    objective: Line
    last_verified_step: VerifiedStep | None
    open_questions: Annotated[tuple[Question, ...], msgspec.Meta(max_length=QUESTIONS_MAX)]
    next_step: NextStep | None

    @property
    def is_completed(self) -> bool:
        """Whether nothing is left to do; such a task is not begun again (W41)."""
        return self.status == "completed"


def parse_continuation(value: JSON) -> Continuation:
    """The continuation that a value is.

    Raises:
        AssertionInvalidError: a field is missing, unknown, not of its form, or does not fit another.
    """
    continuation = read_closed(_with_moment(value), Continuation, RULES)
    check_line(".objective", continuation.objective)
    if continuation.next_step is not None:
        check_line(".nextStep.summary", continuation.next_step.summary)
    if continuation.last_verified_step is not None:
        check_line(".lastVerifiedStep.summary", continuation.last_verified_step.summary)
    for number, question in enumerate(continuation.open_questions):
        check_line(f".openQuestions[{number}].question", question.question)
    if len({question.id for question in continuation.open_questions}) != len(continuation.open_questions):
        raise broken(".openQuestions", "ids must be unique")
    _check_end(continuation)
    return continuation


def _with_moment(value: JSON) -> JSON:
    """The value with the time of its last verified step as milliseconds."""
    step = value.get("lastVerifiedStep") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(step, dict) or "observedAt" not in step:
        return value
    observed_at = read_moment(".lastVerifiedStep.observedAt", step["observedAt"])
    return {**value, "lastVerifiedStep": {**step, "observedAt": observed_at}}


def _check_end(continuation: Continuation) -> None:
    """A completed task has a passed step and nothing open; any other has a next step (W35)."""
    if not continuation.is_completed:
        if continuation.next_step is None:
            raise broken(".nextStep", "must be there until the task is completed")
        return
    if continuation.next_step is not None:
        raise broken(".nextStep", "must be null in a completed task")
    if continuation.open_questions:
        raise broken(".openQuestions", "must be empty in a completed task")
    if continuation.last_verified_step is None or continuation.last_verified_step.result != "passed":
        raise broken(".lastVerifiedStep", "must have passed in a completed task")


def format_continuation(continuation: Continuation) -> dict[str, JSON]:
    """The JSON value of a continuation, with its times as text."""
    value: dict[str, JSON] = msgspec.json.decode(msgspec.json.encode(continuation))
    step = value["lastVerifiedStep"]
    if isinstance(step, dict) and continuation.last_verified_step is not None:
        step["observedAt"] = format_utc(continuation.last_verified_step.observed_at)
    return value


def check_continuation(entry: AssertionEntry, value: JSON) -> None:
    """Return only if an assertion of the predicate ``task.continuation`` is one that a task can go on from.

    What was imported is no knowledge and never becomes a continuation; its value is taken as it is (W27).

    Raises:
        AssertionInvalidError: it is not.
    """
    if entry.recorder == "import":
        return
    if entry.knowledge != "task-state":
        raise AssertionInvalidError("field knowledge: must be task-state for a continuation")
    if entry.session is None:
        raise AssertionInvalidError("field session: a continuation must name its session and message")
    continuation = parse_continuation(value)
    if continuation.task_id != entry.subject:
        raise broken(".taskId", RULES["taskId"])
    step = continuation.last_verified_step
    if step is not None and step.observed_at > entry.observed_at:
        raise broken(".lastVerifiedStep.observedAt", "must not be later than the assertion's")
    if step is not None and continuation.is_completed:
        _check_measured(entry, step)


def _check_measured(entry: AssertionEntry, step: VerifiedStep) -> None:
    """That a task is completed rests on the very measurement of its last step, on nobody's word (W35)."""
    if entry.evidence_kind != "objective-measurement":
        raise AssertionInvalidError("field evidence: a completed task must rest on an objective measurement")
    pairs = {
        "evidenceId": (step.evidence_id, entry.evidence_id),
        "evidenceDigest": (step.evidence_digest, entry.evidence_digest),
        "observedAt": (step.observed_at, entry.observed_at),
        "sessionRef": (step.session_ref, entry.session),
        "messageRef": (step.message_ref, entry.message),
    }
    for name, (of_step, of_assertion) in pairs.items():
        if of_step != of_assertion:
            raise broken(f".lastVerifiedStep.{name}", "must be that of the assertion in a completed task")
