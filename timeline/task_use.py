"""What the owner does with a task: sees where it stands, begins, confirms and corrects it, agrees on its outcomes.

The task is the one that the owner's configuration gives to sessions of the project, on the route that they have
(ADR 0022). What is recorded is decided under the writer lock; where the owner was shown what it replaces, nothing else
may be in force by then. Nobody's word completes a task (W35): only a result does, under an outcome contract.
"""

from collections.abc import Callable
from typing import Literal

import msgspec

from sidecars.assertion import AssertionEntry
from timeline.service import Session
from timeline.state import State
from timeline.world import ledger
from timeline.world.assertion import Assertion
from timeline.world.continuation import CONTINUATION_PREDICATE, Continuation, parse_continuation
from timeline.world.errors import (
    AssertionUnknownError,
    CompareAndSetError,
    TaskDisputedError,
)
from timeline.world.feedback import Candidate, active_candidates
from timeline.world.ledger import Recorded
from timeline.world.outcome_contract import Expected, OutcomeContract, parse_contract
from timeline.world.owner_task import TaskChange, confirm_task, correct_task, make_contract, start_task
from timeline.world.scope import is_visible
from timeline.world.standing import Group, decide_standing
from timeline.world.task_state import TaskState, is_replaceable, task_state
from timeline.world_view import Standpoint, read_about


class TaskView(msgspec.Struct, frozen=True):
    """One task as it stands on the route of its sessions.

    ``suggestions`` are models' continuations that nobody has confirmed; ``words`` the user's quoted messages about the
    continuation in force; ``elsewhere`` counts continuations in force in other conversations, of a launcher.
    """

    state: TaskState
    suggestions: Group
    words: tuple[Candidate, ...]
    elsewhere: int

    @property
    def current(self) -> Assertion | None:
        """The newest continuation in force, if they do not differ."""
        usable = self.state.continuations.usable
        return usable[0] if usable and not self.state.continuations.is_disputed else None

    @property
    def continuation(self) -> Continuation | None:
        """What it says."""
        return None if self.current is None else parse_continuation(self.current.value)

    @property
    def contract(self) -> OutcomeContract | None:
        """The outcome contract in force, if there is exactly one."""
        sole = self.state.contracts.sole
        return None if sole is None else parse_contract(sole.value)

    @property
    def choices(self) -> Group:
        """What the owner may confirm: competing continuations if there are some, else suggestions."""
        return self.state.continuations.usable if self.state.continuations.is_disputed else self.suggestions


def view_task(session: Session, where: Standpoint) -> TaskView:
    """Where the project's task stands.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    with session.reading() as state:
        return _look(state, where)


def _look(state: State, where: Standpoint) -> TaskView:
    now_ms = ledger.now_ms(state)
    task = where.task.task or ""
    about = read_about(state, where.task, task)
    found = task_state(about, where.task, now_ms)
    standing = decide_standing(about, where.reader, now_ms, subject=task)
    proposals = [one for one in standing.proposals if is_visible(one.entry, where.task)]
    current = found.continuations.usable
    return TaskView(
        found,
        tuple(
            one
            for one in proposals
            if one.entry.predicate == CONTINUATION_PREDICATE
            and one.entry.knowledge == "task-state"
            and is_replaceable(one.entry, where.task)
        ),
        active_candidates(proposals, current[0]) if current else (),
        sum(
            one.entry.predicate == CONTINUATION_PREDICATE and not is_replaceable(one.entry, where.task)
            for group in (*standing.agreed, *standing.disputed)
            for one in group
        ),
    )


def begin_task(
    session: Session, where: Standpoint, *, objective: str, next_step: str, questions: tuple[str, ...] = ()
) -> Recorded:
    """The owner begins the task, or a completed one anew.

    Raises:
        TaskStartedError, TaskDisputedError: it is under way.
        WorldError: what is said is not taken; nothing was written.
        ClockError, StateError, SidecarError: the state cannot be used, or the owner key is not to be had.
    """
    return _say(
        session,
        where,
        lambda view, now_ms: start_task(
            view.state, objective=objective, next_step=next_step, questions=questions, now_ms=now_ms
        ),
    )


def confirm_continuation(
    session: Session, where: Standpoint, chosen: str, *, shown: frozenset[str] | None = None
) -> Recorded:
    """The owner says what a model has suggested, or chooses one of several continuations that differ.

    Raises:
        AssertionUnknownError: ``chosen`` is none of the task's continuations that could be confirmed.
        CompareAndSetError: other continuations are in force than those ``shown``.
        TaskCompletedError, NotToBeConfirmedError, WorldError, ClockError, StateError, SidecarError: see ``begin_task``.
    """

    def decide(view: TaskView, now_ms: int) -> AssertionEntry:
        return confirm_task(view.state, find_choice(view, chosen), now_ms=now_ms)

    return _say(session, where, decide, shown=shown)


def find_choice(view: TaskView, chosen: str | None) -> Assertion:
    """The continuation that the owner means; without an id the only one that there is. Pure.

    Raises:
        AssertionUnknownError: there is none, or none of this id.
        TaskDisputedError: there are several, and none was named.
    """
    if chosen is None:
        if len(view.choices) > 1:
            message = f"{len(view.choices)} continuations could be confirmed"
            raise TaskDisputedError(message, hint="name one by its id: timeline task confirm ID")
        if view.choices:
            return view.choices[0]
    for one in (*view.choices, *view.suggestions):
        if one.id == chosen:
            return one
    message = (
        "no continuation waits" if chosen is None else f"{chosen[:240]!r}: no continuation of this id waits"
    )
    raise AssertionUnknownError(
        f"{message} to be confirmed", hint="`timeline task show` lists what models have suggested"
    )


def change_task(
    session: Session, where: Standpoint, change: TaskChange, *, shown: frozenset[str] | None = None
) -> Recorded:
    """The owner changes objective, status, next step or questions of the task.

    Raises:
        CompareAndSetError: another continuation is in force than that ``shown``.
        TaskNotStartedError, TaskDisputedError, TaskCompletedError: there is none that goes on.
        WorldError, ClockError, StateError, SidecarError: see ``begin_task``.
    """
    return _say(
        session, where, lambda view, now_ms: correct_task(view.state, change, now_ms=now_ms), shown=shown
    )


def agree_outcome(
    session: Session,
    where: Standpoint,
    expected: Expected,
    *,
    status: Literal["active", "paused", "completed"],
    next_step: str | None,
    shown: frozenset[str] | None = None,
) -> Recorded:
    """The owner agrees beforehand which result completes the next step, and where that leads (T51, T52).

    Raises:
        CompareAndSetError: another continuation is in force than that ``shown``.
        TaskNotStartedError, TaskDisputedError, TaskCompletedError: no step is next.
        WorldError, ClockError, StateError, SidecarError: see ``begin_task``.
    """
    return _say(
        session,
        where,
        lambda view, now_ms: make_contract(
            view.state, expected, status=status, next_step=next_step, now_ms=now_ms
        ),
        shown=shown,
    )


def _say(
    session: Session,
    where: Standpoint,
    decide: Callable[[TaskView, int], AssertionEntry],
    *,
    shown: frozenset[str] | None = None,
) -> Recorded:
    with session.writing() as state:
        view = _look(state, where)
        if shown is not None and shown != frozenset(view.state.continuations.ids):
            raise CompareAndSetError(
                "the task does not stand where it was shown any more",
                hint="look again with `timeline task show`, and decide anew",
            )
        return ledger.record(state, [decide(view, ledger.now_ms(state))])[0]
