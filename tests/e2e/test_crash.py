"""Interrupted, refused by the disk, killed: the next opening finds the old state, the new one, or one batch to repair.

Never two histories: all leaves ever seen are one sequence, and no size is ever signed with two roots.
"""

import errno
import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.depth import is_due
from tests.simulators.crash_child import index_and_die_at, index_and_kill_after
from tests.simulators.faults import Faults, injected, pages_limited
from tests.simulators.worlds import (
    SEGMENT_BYTES,
    Moment,
    World,
    answers_of,
    checkpoint_of,
    consent,
    event_ids,
    leaves_of,
    prompt_event,
    refusal_of,
    rollout_of,
    search_once,
    verdict_of,
    with_probe,
)
from timeline import service
from timeline.tlog import Probe, Step

Grown = tuple[World, tuple[Moment, ...]]
Act = Callable[[service.Session], object]


@dataclass
class History:
    """Everything that one timeline was ever seen to say; two different things of one place fail the test."""

    leaves: list[tuple[int, bytes, bytes]] = field(default_factory=list)
    roots: dict[int, str] = field(default_factory=dict)

    def look(self, world: World) -> None:
        """Take in leaves, head and anchor as they are on disk."""
        found = leaves_of(world)
        known = len(self.leaves)
        assert found[:known] == self.leaves
        self.leaves = found
        for path in (world.locations.head, world.locations.anchor):
            size, root = checkpoint_of(path)
            assert self.roots.setdefault(size, root) == root


def assert_recovers(world: World, history: History) -> None:
    """Old, new, or one batch to repair; and after the repair, in order."""
    history.look(world)
    verdict, reasons = verdict_of(world)
    assert verdict in {"ok", "repairable"}, reasons
    search_once(world)  # takes the repair
    assert verdict_of(world) == ("ok", frozenset())
    history.look(world)


# -- what is interrupted ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Operation:
    """Something that commits: the moment it starts from, how it is done, and how it is brought to its end."""

    start: int
    prepare: Callable[[World], Act]
    finish: Callable[[World], None]


def _prepare_enroll(world: World) -> Act:
    rollout = rollout_of(world, runs=4, filler_bytes=40_000)
    path = world.home / ".codex" / rollout.relative_path
    receipt = service.receive_prompt(
        world.session, "codex", prompt_event(world, rollout.thread_id, str(path))
    )
    return lambda session: service.enroll(session, world.root, receipt.id, confirmed=True)


def _finish_enroll(world: World) -> None:
    """A receipt that was spent is spent: the owner prompts once more."""
    if not service.list_sources(world.session, world.root):
        rollout = rollout_of(world, runs=4, filler_bytes=40_000)
        consent(world, rollout, world.home / ".codex" / rollout.relative_path, turn="turn-2")
    _finish_index(world)


def _prepare_index(world: World) -> Act:
    return lambda session: service.index(session, world.root, max_bytes=SEGMENT_BYTES, operations=1)


def _finish_index(world: World) -> None:
    for result in service.index(world.session, world.root, max_bytes=SEGMENT_BYTES):
        assert not isinstance(result, tuple), result
        assert result.complete


def _prepare_revoke(world: World) -> Act:
    (status,) = service.list_sources(world.session, world.root)
    return lambda session: service.revoke(session, status.source.enrollment.enrollment_id)


def _finish_revoke(world: World) -> None:
    for status in service.list_sources(world.session, world.root):
        if status.state != "revoked":
            service.revoke(world.session, status.source.enrollment.enrollment_id)
    assert search_once(world) == b"refused: private-enrollment-unavailable"


OPERATIONS = {
    "enroll": Operation(0, _prepare_enroll, _finish_enroll),
    "index": Operation(1, _prepare_index, _finish_index),
    "revoke": Operation(4, _prepare_revoke, _finish_revoke),
}

each_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)


def start(grown: Grown, operation: Operation, folder: Path) -> tuple[World, Act, History]:
    """Give a copy at the operation's moment, the prepared act, and a history that has seen the beginning."""
    world = grown[0].copy(folder)
    grown[1][operation.start].place(world)
    act = operation.prepare(world)
    history = History()
    history.look(world)
    return world, act, history


def assert_finishes(grown: Grown, operation: Operation, world: World, history: History) -> None:
    """Done once more, the operation comes to the end that it would have had undisturbed."""
    operation.finish(world)
    history.look(world)
    assert verdict_of(world, deep=True) == ("ok", frozenset())
    if operation.start == 1:
        assert event_ids(world) == event_ids(grown[0])
        assert answers_of(world) == answers_of(grown[0])


# -- interrupted ------------------------------------------------------------------------------------------------


def interrupt_at(number: int, error: type[BaseException]) -> tuple[Probe, list[Step]]:
    """Give a probe that raises at the ``number``-th step, and the list in which it notes where."""
    left, met = number, []

    def probe(step: Step) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            met.append(step)
            raise error(errno.ENOSPC, "injected")

    return probe, met


@pytest.mark.requirement("T66", "T67", "T69", "D3")
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@each_operation
def test_an_interruption_at_any_step_loses_nothing(
    grown: Grown, tmp_path: Path, operation: Operation, error: type[BaseException]
) -> None:
    """Ctrl-C, or an unforeseen error, at each step of each commit in turn."""
    steps: Counter[Step] = Counter()
    number = 0
    while True:
        number += 1
        world, act, history = start(grown, operation, tmp_path / str(number))
        probe, met = interrupt_at(number, error)
        try:
            act(with_probe(world.session, probe))
        except error:
            steps[met[0]] += 1
        else:
            break
        assert_recovers(world, history)
        assert_finishes(grown, operation, world, history)
    expected = set(Step) if operation.start == 1 else set(Step) - {Step.SIDECAR}
    assert set(steps) == expected


# -- the disk refuses -------------------------------------------------------------------------------------------

DISK = {"full": (errno.ENOSPC, "SQLITE_FULL"), "failing": (errno.EIO, "SQLITE_IOERR_WRITE")}
FAULT_POINTS_MIN = {"enroll": 60, "index": 120, "revoke": 60}
"""Fewer would mean that the loop ended early or that calls go past the injection."""


@pytest.mark.requirement("T66", "T67", "T69")
@pytest.mark.parametrize("persistent", [False, True], ids=["once", "from there on"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_refusing_disk_gives_an_error_of_ours(
    grown: Grown, tmp_path: Path, name: str, persistent: bool
) -> None:
    """The N-th system call or statement fails, N from 1 until none is met: success, or our error; then recovery."""
    operation = OPERATIONS[name]
    for points in itertools.count():
        if not is_due(points, persistent, (False, True)):
            continue
        code, sqlite_name = DISK["full" if points // 2 % 2 else "failing"]
        faults = Faults(points + 1, code, sqlite_name, persistent)
        world, act, history = start(grown, operation, tmp_path / str(points))
        with injected(faults):
            refusal_of(lambda act=act, world=world: act(world.session))
        if not faults.fired:
            break
        assert_recovers(world, history)
        if points % 7 == 0:  # finishing takes longer than all the rest
            assert_finishes(grown, operation, world, history)
    assert points >= FAULT_POINTS_MIN[name]


@pytest.mark.requirement("T67")
def test_a_database_that_cannot_grow_leaves_the_old_state(grown: Grown, tmp_path: Path) -> None:
    """SQLite's own full disk, a few pages later each time, until there is room."""
    for extra in range(40):
        world, _, history = start(grown, OPERATIONS["index"], tmp_path / str(extra))
        before = len(history.leaves)
        with pages_limited(extra):
            reason = refusal_of(lambda world=world: _finish_index(world))
        assert reason in {None, "state-unwritable"}
        assert verdict_of(world) == ("ok", frozenset())
        history.look(world)
        if reason is None:
            break
        assert len(history.leaves) < before + 3
        assert_finishes(grown, OPERATIONS["index"], world, history)
    assert extra > 0
    assert reason is None


# -- killed ------------------------------------------------------------------------------------------------------

KILLS_EACH = 10


@pytest.mark.requirement("T66", "T67", "D3")
@pytest.mark.parametrize("step", Step)
def test_a_kill_at_any_step_leaves_one_history(grown: Grown, tmp_path: Path, step: Step) -> None:
    """A child is killed ten times at each step of the commit; each time the rest is indexed to the same events."""
    kills = 0
    for number in range(KILLS_EACH):
        world, _, history = start(grown, OPERATIONS["index"], tmp_path / str(number))
        kills += index_and_die_at(world, step, occurrence=number % 3 + 1)
        assert_recovers(world, history)
        assert_finishes(grown, OPERATIONS["index"], world, history)
    assert kills == KILLS_EACH


@pytest.mark.requirement("T66", "T67")
def test_a_kill_at_any_instant_leaves_one_history(grown: Grown, tmp_path: Path) -> None:
    """The parent kills when it likes; most children are still at work then."""
    chance = random.Random(7)
    kills = 0
    for number in range(20):
        world, _, history = start(grown, OPERATIONS["index"], tmp_path / str(number))
        kills += index_and_kill_after(world, chance.uniform(0, 0.04))
        assert_recovers(world, history)
        assert_finishes(grown, OPERATIONS["index"], world, history)
    assert kills > 0


@pytest.mark.requirement("T66")
def test_kills_one_after_another_leave_one_history(grown: Grown, tmp_path: Path) -> None:
    """One timeline is killed at every step in turn and goes on from where each kill left it."""
    world, _, history = start(grown, OPERATIONS["index"], tmp_path / "copy")
    for step in Step:
        index_and_die_at(world, step, occurrence=1)
        history.look(world)
        assert verdict_of(world)[0] in {"ok", "repairable"}
    assert_finishes(grown, OPERATIONS["index"], world, history)
