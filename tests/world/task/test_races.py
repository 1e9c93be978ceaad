"""Decisions about a task on the real ledger: the first one that is recorded wins, and a restart changes nothing."""

from pathlib import Path

import pytest

from sidecars.event import Outcome
from tests.simulators.worlds import NOW_MS, World, new_world
from tests.world.task.story import ADA, SUITE, TASK, corrected, measured
from timeline.world import ledger
from timeline.world.advancing import advance
from timeline.world.assertion import Assertion
from timeline.world.capsules import continuation_context, format_continuation_context
from timeline.world.correction import correct
from timeline.world.errors import CompareAndSetError
from timeline.world.owner_task import make_contract, start_task
from timeline.world.standing import decide_standing
from timeline.world.task_state import Repeated, Replacement, TaskState, task_state


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give a timeline with a task under way and a contract about its next step."""
    world = new_world(tmp_path_factory.mktemp("task") / "world")
    with world.session.writing() as state:
        made = start_task(task(world), objective="Release", next_step="Run suite 4", now_ms=NOW_MS - 1000)
        ledger.record(state, [made])
    with world.session.writing() as state:
        agreed = make_contract(task(world), SUITE, status="completed", next_step=None, now_ms=NOW_MS)
        ledger.record(state, [agreed])
    return world


@pytest.fixture
def world(begun: World, tmp_path: Path) -> World:
    """Give a copy of it."""
    return begun.copy(tmp_path / "world")


def about(world: World) -> tuple[Assertion, ...]:
    """All that is recorded about the task, as a newly opened timeline gives it."""
    with world.session.reading() as state:
        return ledger.read_subject(state, TASK, tenant=ADA.tenant, project=ADA.project)


def task(world: World) -> TaskState:
    """What is in force about the task."""
    return task_state(about(world), ADA, NOW_MS)


def record(world: World, decided: object) -> ledger.Recorded:
    """Record what was decided, if what it replaces is still in force."""
    assert isinstance(decided, Replacement)
    with world.session.writing() as state:
        return ledger.record(state, [decided.entry], expect_active=decided.expect_active)[0]


@pytest.mark.requirement("T55", "W40", "W41")
def test_a_completed_task_stays_so_after_a_restart(world: World) -> None:
    """Whoever opens the timeline next is shown it among the completed tasks."""
    measurement = measured(at=NOW_MS)
    recorded = record(world, advance(task(world), measurement))

    again = task(world)
    assert advance(again, measurement) == Repeated(recorded.assertion)
    view = format_continuation_context(continuation_context(decide_standing(about(world), ADA, NOW_MS)))
    assert view["tasks"] == []
    assert [capsule["assertionId"] for capsule in view["terminal"]] == [recorded.assertion.id]


@pytest.mark.requirement("T57", "T60")
@pytest.mark.parametrize("is_correction_first", [True, False])
def test_of_two_decisions_on_one_state_the_second_is_refused(world: World, is_correction_first: bool) -> None:
    """A result and a correction that did not know of each other are not both applied; nothing of the loser is kept."""
    seen = task(world)
    both = [
        correct(seen, corrected("Run suite 5", at=NOW_MS)),
        advance(seen, measured(at=NOW_MS, outcome=Outcome.FAIL)),
    ]
    first, second = both if is_correction_first else reversed(both)

    winner = record(world, first)
    with pytest.raises(CompareAndSetError):
        record(world, second)

    assert task(world).continuations.ids == (winner.assertion.id,)
    assert len(about(world)) == 3


@pytest.mark.requirement("T60")
def test_one_correction_that_is_captured_twice_is_recorded_once(world: World) -> None:
    """Two captures that decided on the same state come to the same assertion."""
    decided = correct(task(world), corrected("Run suite 5", at=NOW_MS))

    assert [record(world, decided).status for _ in range(2)] == ["recorded", "duplicate"]
    assert len(about(world)) == 3
