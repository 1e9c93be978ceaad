"""What the owner says about a task: begun, confirmed, corrected, and how a result will count. Pure.

Each is one assertion by the owner's own word. Its evidence is the owner's statement, its message the statement too,
and its session the owner's own, which is one for each user of a tenant: no transcript is behind it. What a model says
was verified is never taken over, and nobody's word completes a task (W35): only a measurement does.

The caller records each under compare-and-set: what was in force must still be so.
"""

from typing import Final, Literal

import msgspec

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.identity import JSON, canonical_bytes
from timeline.world.assertion import Assertion, Evidence, Origin, make_entry
from timeline.world.continuation import (
    CONTINUATION_PREDICATE,
    CONTINUATION_SCHEMA,
    Continuation,
    NextStep,
    Question,
    VerifiedStep,
    format_continuation,
    parse_continuation,
)
from timeline.world.errors import (
    NotToBeConfirmedError,
    TaskCompletedError,
    TaskDisputedError,
    TaskNotStartedError,
    TaskStartedError,
)
from timeline.world.outcome_contract import (
    CONTRACT_PREDICATE,
    CONTRACT_SCHEMA,
    Expected,
    OnSuccess,
    OutcomeContract,
    format_contract,
)
from timeline.world.owner_statement import owner_evidence
from timeline.world.task_state import TaskState, continuation_id, is_replaceable, made_id

_SESSION_HEX: Final = 32


class TaskChange(msgspec.Struct, frozen=True, kw_only=True):
    """What the owner changes; ``None`` leaves a part as it is. A word cannot complete a task."""

    status: Literal["active", "blocked", "paused"] | None = None
    objective: str | None = None
    next_step: str | None = None
    questions: tuple[str, ...] | None = None


def owner_origin(state: TaskState, evidence: Evidence) -> Origin:
    """Where the owner's word comes from: the owner's session of this user and tenant, and the statement itself."""
    identity = canonical_bytes(
        {"tag": "timeline-owner-session/v1", "tenant": state.reader.tenant, "user": state.reader.user}
    )
    return Origin(f"session-ref:{Digest.of(identity).hex()[:_SESSION_HEX]}", evidence.id)


def start_task(
    state: TaskState,
    *,
    objective: str,
    next_step: str,
    questions: tuple[str, ...] = (),
    now_ms: int,
    expires_at: int | None = None,
) -> AssertionEntry:
    """The first continuation of a task, or one that begins a completed task anew. Times are UTC milliseconds.

    Raises:
        TaskStartedError: it is under way.
        TaskDisputedError: it is not agreed where it stands.
        AssertionInvalidError, AuthorityShapedError, SecretShapedError: what was said is not taken.
    """
    if state.continuations.is_disputed:
        raise TaskDisputedError("the continuations of this task differ")
    if any(not parse_continuation(one.value).is_completed for one in state.continuations.usable):
        raise TaskStartedError("this task is under way")
    continuation = Continuation(
        schema=CONTINUATION_SCHEMA,
        task_id=state.task,
        status="active",
        objective=objective,
        last_verified_step=None,
        open_questions=_questions(questions, ()),
        next_step=_step(state, next_step, now_ms, None),
    )
    return _say_continuation(state, continuation, now_ms, expires_at)


def confirm_task(state: TaskState, chosen: Assertion, *, now_ms: int) -> AssertionEntry:
    """The owner's yes to one continuation: a model's suggestion, or one of several that differ.

    The last verified step of a suggestion is not taken over; the one in force stays.

    Raises:
        NotToBeConfirmedError: it is no continuation of this task, project and route.
        TaskCompletedError: it says that the task is completed.
        AssertionInvalidError, AuthorityShapedError, SecretShapedError: what was said is not taken.
    """
    entry = chosen.entry
    is_of_task = (entry.subject, entry.predicate, entry.knowledge) == (
        state.task,
        CONTINUATION_PREDICATE,
        "task-state",
    )
    if not is_of_task or entry.tenant != state.reader.tenant or not is_replaceable(entry, state.reader):
        raise NotToBeConfirmedError("the chosen assertion is no continuation of this task on its route")
    continuation = parse_continuation(chosen.value)
    if continuation.is_completed:
        raise TaskCompletedError("a word cannot complete a task; a measurement under its contract can")
    if not entry.is_established:
        continuation = msgspec.structs.replace(continuation, last_verified_step=_verified(state))
    return _say_continuation(
        state, continuation, now_ms, entry.expires_at, (*state.continuations.ids, chosen.id)
    )


def correct_task(state: TaskState, change: TaskChange, *, now_ms: int) -> AssertionEntry:
    """The continuation in force with what the owner changes.

    Raises:
        TaskNotStartedError, TaskDisputedError, TaskCompletedError: there is none that goes on.
        AssertionInvalidError, AuthorityShapedError, SecretShapedError: what was said is not taken.
    """
    current, before, step = _going_on(state)
    after = msgspec.structs.replace(
        before,
        status=before.status if change.status is None else change.status,
        objective=before.objective if change.objective is None else change.objective,
        next_step=step if change.next_step is None else _step(state, change.next_step, now_ms, step),
        open_questions=(
            before.open_questions
            if change.questions is None
            else _questions(change.questions, before.open_questions)
        ),
    )
    return _say_continuation(state, after, now_ms, current.entry.expires_at)


def make_contract(
    state: TaskState,
    expected: Expected,
    *,
    status: Literal["active", "paused", "completed"],
    next_step: str | None,
    now_ms: int,
) -> AssertionEntry:
    """The agreement about the step that is next now; it replaces what was agreed before.

    ``status`` and ``next_step`` are where success leads; a completed task has no next step.

    Raises:
        TaskNotStartedError, TaskDisputedError, TaskCompletedError: no step is next.
        AssertionInvalidError, AuthorityShapedError, SecretShapedError: what was said is not taken.
    """
    _, _, step = _going_on(state)
    contract = OutcomeContract(
        schema=CONTRACT_SCHEMA,
        task_id=state.task,
        step=step,
        measurement=expected,
        on_success=OnSuccess(status, None if next_step is None else _step(state, next_step, now_ms, None)),
    )
    return _say(state, CONTRACT_PREDICATE, format_contract(contract), now_ms, None, state.contracts.ids)


def _going_on(state: TaskState) -> tuple[Assertion, Continuation, NextStep]:
    """The continuation in force and the step that is next: it has one exactly until the task is completed."""
    if state.continuations.is_disputed:
        raise TaskDisputedError("the continuations of this task differ")
    if not state.continuations.usable:
        raise TaskNotStartedError("this task has no continuation on this route")
    current = state.continuations.usable[0]
    continuation = parse_continuation(current.value)
    if continuation.next_step is None:
        raise TaskCompletedError("this task is completed")
    return current, continuation, continuation.next_step


def _verified(state: TaskState) -> VerifiedStep | None:
    current = state.continuations.sole
    return None if current is None else parse_continuation(current.value).last_verified_step


def _step(state: TaskState, summary: str, now_ms: int, before: NextStep | None) -> NextStep:
    """The step that a line says; the same words are the same step still."""
    if before is not None and before.summary == summary:
        return before
    return NextStep(made_id("step:owner-", state.task, str(now_ms), summary), summary)


def _questions(texts: tuple[str, ...], before: tuple[Question, ...]) -> tuple[Question, ...]:
    known = {question.question: question for question in before}
    return tuple(known.get(text) or Question(made_id("question:owner-", text), text) for text in texts)


def _say_continuation(
    state: TaskState,
    continuation: Continuation,
    now_ms: int,
    expires_at: int | None,
    supersedes: tuple[str, ...] | None = None,
) -> AssertionEntry:
    ids = state.continuations.ids if supersedes is None else supersedes
    return _say(state, CONTINUATION_PREDICATE, format_continuation(continuation), now_ms, expires_at, ids)


def _say(
    state: TaskState,
    predicate: str,
    value: dict[str, JSON],
    now_ms: int,
    expires_at: int | None,
    supersedes: tuple[str, ...],
) -> AssertionEntry:
    evidence = owner_evidence(state.task, predicate, value, now_ms)
    return make_entry(
        id=continuation_id("owner-task", state, evidence.id, evidence.digest),
        recorder="owner",
        subject=state.task,
        predicate=predicate,
        value=value,
        evidence=evidence,
        scope=state.scope,
        expires_at=expires_at,
        knowledge="task-state",
        origin=owner_origin(state, evidence),
        supersedes=supersedes,
    )
