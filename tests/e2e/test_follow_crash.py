"""Interrupted, refused by the disk, killed while a followed file is extended: old or new, and one history."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.test_crash import DISK, History, assert_recovers, interrupt_at
from tests.simulators.crash_child import index_and_die_at, index_and_kill_after
from tests.simulators.faults import Faults, injected
from tests.simulators.growth import Growing, follow
from tests.simulators.worlds import (
    SEGMENT_BYTES,
    Moment,
    World,
    copy_folders,
    event_ids,
    new_world,
    refusal_of,
    verdict_of,
    with_probe,
)
from timeline import service
from timeline.tlog import Step


@dataclass(frozen=True)
class Extended:
    """A followed session: before its file grew by several spans, and how the timeline stands when all is read."""

    world: World
    before: Moment
    events: tuple[str, ...]


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Extended:
    """Give a session that was read up to the middle of a turn, with a result that may still be told more about."""
    folder = tmp_path_factory.mktemp("extended")
    world = new_world(folder / "world")
    growing = follow(world, first=0, runs=6, filler_bytes=30_000)
    growing.write_up_to(_within_a_turn(growing))
    growing.index(max_bytes=SEGMENT_BYTES)
    copy_folders(world.folder, folder / "before")
    growing.write(len(growing.whole))
    done = world.copy(folder / "done")
    _finish(done)
    assert len(event_ids(done)) == 6
    return Extended(world, Moment("before", folder / "before"), event_ids(done))


def _within_a_turn(growing: Growing) -> int:
    """Where the second run's result has just been written, and the end of its turn has not."""
    result = growing.whole.index(b"12 passed", growing.whole.index(b"1 failed"))
    return growing.whole.index(b"\n", result) + 1


def _finish(world: World) -> None:
    for _ in range(4):  # the proof of what stood before takes some calls more
        (result,) = service.index(world.session, world.root, max_bytes=SEGMENT_BYTES)
        assert not isinstance(result, tuple), result
        assert result.complete
        if result.source.is_prefix_proven:
            return
    raise AssertionError("the prefix is not proven")


def start(extended: Extended, folder: Path) -> tuple[World, History]:
    """Give a copy from before the extension, and a history that has seen it."""
    world = extended.world.copy(folder)
    extended.before.place(world)
    history = History()
    history.look(world)
    return world, history


def assert_old_or_new(extended: Extended, world: World, history: History) -> None:
    """The events are a beginning of those at the end; brought to its end, all is as if nothing had happened."""
    assert_recovers(world, history)
    found = event_ids(world)
    assert found == extended.events[: len(found)]
    _finish(world)
    history.look(world)
    assert event_ids(world) == extended.events
    assert verdict_of(world, deep=True) == ("ok", frozenset())
    assert len(list((world.folder / "state" / "sidecars").iterdir())) == len(_kept(world))


def _kept(world: World) -> tuple[str, ...]:
    (status,) = service.list_sources(world.session, world.root)
    return tuple(entry.digest for entry in status.source.kept)


@pytest.mark.requirement("T66", "T67")
def test_an_interruption_at_any_step_of_an_extension_loses_nothing(
    extended: Extended, tmp_path: Path
) -> None:
    """At each step of each of its commits in turn, the commit of the proof included."""
    number = 0
    while True:
        number += 1
        world, history = start(extended, tmp_path / str(number))
        probe, met = interrupt_at(number, KeyboardInterrupt)
        try:
            service.index(with_probe(world.session, probe), world.root, max_bytes=SEGMENT_BYTES)
        except KeyboardInterrupt:
            assert met
        else:
            break
        assert_old_or_new(extended, world, history)
    assert number > 20


@pytest.mark.requirement("T66", "T67")
@pytest.mark.parametrize("persistent", [False, True], ids=["once", "from there on"])
def test_a_refusing_disk_leaves_old_or_new(extended: Extended, tmp_path: Path, persistent: bool) -> None:
    """Every seventh system call or statement fails in turn."""
    points = 1
    while True:
        code, sqlite_name = DISK["full" if points % 2 else "failing"]
        faults = Faults(points, code, sqlite_name, persistent)
        world, history = start(extended, tmp_path / str(points))
        with injected(faults):
            reason = refusal_of(_once(world))
        if not faults.fired:
            break
        points += 7
        if points % 4 == 0:
            assert_old_or_new(extended, world, history)
        else:
            assert_recovers(world, history)
    assert reason is None
    assert points > 120


def _once(world: World) -> Callable[[], object]:
    return lambda: service.index(world.session, world.root, max_bytes=SEGMENT_BYTES)


@pytest.mark.requirement("T66", "T67")
@pytest.mark.parametrize("step", Step)
def test_a_kill_at_any_step_of_an_extension_leaves_one_history(
    extended: Extended, tmp_path: Path, step: Step
) -> None:
    """In the commit of the generation, of a further span, and of the proof, where the step occurs there."""
    kills = 0
    for occurrence in (1, 2, 3):
        world, history = start(extended, tmp_path / str(occurrence))
        kills += index_and_die_at(world, step, occurrence=occurrence)
        assert_old_or_new(extended, world, history)
    assert kills == 3


@pytest.mark.requirement("T66", "T67")
def test_a_kill_at_any_instant_of_an_extension_leaves_one_history(extended: Extended, tmp_path: Path) -> None:
    """The parent kills when it likes."""
    chance = random.Random(11)
    kills = 0
    for number in range(12):
        world, history = start(extended, tmp_path / str(number))
        kills += index_and_kill_after(world, chance.uniform(0, 0.05))
        assert_old_or_new(extended, world, history)
    assert kills > 0


@pytest.mark.requirement("T66")
def test_an_interrupted_record_of_a_break_is_made_by_the_next_call(
    extended: Extended, tmp_path: Path
) -> None:
    """Whatever step the recording of a truncation stops at, the source is refused, and in the end for good."""
    number = 0
    while True:
        number += 1
        world, history = start(extended, tmp_path / str(number))
        home = World(world.folder, tmp_path / f"home-{number}")
        growing = _own_copy(extended, home)
        probe, met = interrupt_at(number, OSError)
        try:
            service.index(with_probe(home.session, probe), home.root)
        except OSError:
            assert met
        else:
            break
        assert verdict_of(home)[0] in {"ok", "repairable"}
        assert refusal_of(growing.index) == "transcript-truncated"
        assert growing.status().source.broken is not None
        history.look(home)
    assert number > 5


def _own_copy(extended: Extended, home: World) -> Growing:
    """Enroll a session of its own, and cut its file."""
    (home.home / "project").mkdir(parents=True)
    (home.home / ".codex" / "sessions").mkdir(parents=True)
    growing = follow(home, first=20_000, runs=6, filler_bytes=30_000)
    growing.index()
    with growing.path.open("r+b") as file:
        file.truncate(10_000)
    return growing
