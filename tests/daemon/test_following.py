"""What the daemon follows: all that is due when the worker gets to it is read as one group."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from tests.simulators.growth import Growing, follow, truncate
from tests.simulators.host_process import SECONDS
from tests.simulators.witnesses import HandStopwatch
from tests.simulators.worlds import World, new_world
from timeline import service
from timeline.committing import Work
from timeline.daemon.following import GROUP_MAX, PAUSE_SECONDS, Following
from timeline.daemon.shared import Shared
from timeline.diary import Diary, read_diary
from timeline.index import IndexResult, index_work
from timeline.ports import Ports
from timeline.state import State
from timeline.tlog import Step
from timeline.view import EnrolledSource

SOURCES = 5


class Watched:
    """Watches nothing: the tests say what has changed."""

    def __init__(self, _mark: Callable[[str], None]) -> None:
        self.count = 0

    def watch(self, paths: Iterable[str]) -> None:
        """Count them."""
        self.count = len(list(paths))

    def close(self) -> None:
        """Nothing is held."""


class HeldTimer:
    """A pause that passes when the test says so."""

    held: ClassVar[list["HeldTimer"]] = []
    daemon = False

    def __init__(self, _seconds: float, function: Callable[..., None], args: tuple[object, ...]) -> None:
        self._function, self._args = function, args

    def start(self) -> None:
        """Wait for the test."""
        self.held.append(self)

    def cancel(self) -> None:
        """Never pass."""

    def fire(self) -> None:
        """Pass."""
        self._function(*self._args)


@dataclass
class Followed:
    """A daemon's worker and its followed sessions, without hosts and sockets."""

    world: World
    shared: Shared
    following: Following
    growing: list[Growing]
    steps: Counter[Step]
    stopwatch: HandStopwatch

    def write(self) -> None:
        """Let every host write on."""
        for session in self.growing:
            session.write(2_000)

    def together(self, notice: Callable[[], object]) -> int:
        """Let things become due before the worker gets to the first of them; how many heads it has written then."""
        gate, before = threading.Event(), self.steps[Step.HEAD]
        self.shared.worker.post("gate", lambda: gate.wait(SECONDS))
        notice()
        gate.set()
        assert self.shared.worker.drain(SECONDS)
        return self.steps[Step.HEAD] - before

    def hooks(self) -> None:
        """Let a hook of each session come."""
        for session in self.growing:
            self.following.read_on("codex", session.path.stem[-36:])

    def pauses(self) -> None:
        """Let every pause that is waited for pass."""
        timers, HeldTimer.held[:] = list(HeldTimer.held), []
        for timer in timers:
            timer.fire()

    def read(self) -> list[bool]:
        """Of each, whether all that its host has written is committed."""
        return [
            session.status().source.newest.size == session.path.stat().st_size for session in self.growing
        ]

    def proven(self) -> list[bool]:
        """Of each, whether what stood before it grew was compared."""
        return [session.status().source.is_prefix_proven for session in self.growing]

    def failures(self) -> list[object]:
        """What the diary says of work that nobody waited for."""
        found = [dict(entry.fields) for entry in read_diary(self.world.locations.diary)]
        return [fields.get("reason", fields.get("error")) for fields in found if "kind" in fields]


@pytest.fixture
def followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Followed]:
    """Give five followed sessions, known to a daemon that has nothing to do."""
    HeldTimer.held.clear()
    monkeypatch.setattr("timeline.daemon.following.TranscriptWatch", Watched)
    held = SimpleNamespace(Lock=threading.Lock, Timer=HeldTimer)
    monkeypatch.setattr("timeline.daemon.following.threading", held)
    world = new_world(tmp_path / "world")
    growing = [follow(world, first=4_000, seed=seed) for seed in range(SOURCES)]
    service.index(world.session, world.root)
    steps: Counter[Step] = Counter()
    stopwatch = HandStopwatch(at=100.0)
    clock, entropy = world.session.ports.clock, world.session.ports.entropy
    ports = Ports(clock, entropy, lambda step: steps.update([step]), stopwatch)
    session = service.Session(world.locations, ports, world.session.environment)
    shared = Shared(session, Diary(world.locations.diary))
    following = Following(shared)
    shared.worker.start()
    following.refresh()
    assert shared.worker.drain(SECONDS)
    assert following.count == SOURCES
    try:
        yield Followed(world, shared, following, growing, steps, stopwatch)
    finally:
        following.close()
        shared.worker.stop()
        shared.live.close()


def test_what_is_due_together_is_one_commit(followed: Followed) -> None:
    """Five sources have grown: one head is written, and after the pause one more for the proof of all."""
    followed.write()
    assert followed.together(followed.hooks) == 1
    assert followed.read() == [True] * SOURCES
    assert followed.proven() == [False] * SOURCES

    assert followed.together(followed.pauses) == 1
    assert followed.proven() == [True] * SOURCES
    assert followed.together(followed.pauses) == 0
    assert followed.failures() == []


def test_what_changes_within_the_second_is_one_commit_after_it(followed: Followed) -> None:
    """Hooks that come again at once read nothing; the pause ends for all together."""
    followed.write()
    followed.together(followed.hooks)
    followed.write()
    assert followed.together(followed.hooks) == 0
    assert followed.together(followed.pauses) == 2  # what was added, and the proof
    assert followed.read() == [True] * SOURCES


def test_more_than_a_group_is_read_in_several(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call must not wait for all of them."""
    assert GROUP_MAX > SOURCES
    monkeypatch.setattr("timeline.daemon.following.GROUP_MAX", 2)
    followed.write()
    assert followed.together(followed.hooks) == 3
    assert followed.read() == [True] * SOURCES


def test_a_refused_member_is_written_down_and_the_others_are_read(followed: Followed) -> None:
    """Its finding is in the same commit."""
    followed.write()
    truncate(followed.growing[2].path, 100)
    assert followed.together(followed.hooks) == 1
    assert followed.failures() == ["transcript-truncated"]
    assert followed.read() == [True, True, False, True, True]


def test_one_that_fails_the_whole_group_is_read_alone_from_then_on(
    followed: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of our own in one source's content holds the others up once, and not for ever."""
    ref = followed.growing[0].ref

    def poisoned(state: State, source: EnrolledSource, **bounds: int) -> Work[IndexResult]:
        if source.enrollment.source.ref == ref:
            raise RuntimeError
        return (yield from index_work(state, source, **bounds))

    monkeypatch.setattr("timeline.extending.index_work", poisoned)
    followed.write()
    assert followed.together(followed.hooks) == 0
    assert followed.read() == [False] * SOURCES

    followed.stopwatch.at += PAUSE_SECONDS
    assert followed.together(followed.hooks) == SOURCES - 1
    assert followed.read() == [False, True, True, True, True]

    followed.write()
    followed.stopwatch.at += PAUSE_SECONDS
    assert (
        followed.together(lambda: (followed.hooks(), followed.pauses())) == 2
    )  # what was added, and the proof
    assert followed.read() == [False, True, True, True, True]
    assert followed.failures() == ["RuntimeError"] * 3
