"""A change of the log key, stopped at every file operation, statement and step: the old key or the new one, whole.

Whichever is in force afterwards, the other private key is nowhere; no size is ever signed with two roots, and the next
command finishes the change or takes it back without being asked.
"""

import errno
import itertools
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.depth import is_due
from tests.e2e.test_crash import History
from tests.simulators.crash_child import act_and_die_at
from tests.simulators.faults import Faults, KilledError, injected, kill_at
from tests.simulators.worlds import (
    World,
    contents,
    event_ids,
    leaves_of,
    refusal_of,
    search_once,
    verdict_of,
    with_probe,
)
from timeline import service
from timeline.epochs import Reason, change_log_key, list_log_keys
from timeline.keystore import load_owner_keystore
from timeline.tlog import Step

OK = ("ok", frozenset())
TRUST = ["anchor", "keys/fingerprint.key", "keys/log.key", "keys/owner.key", "pins"]
STEPS = [step for step in Step if step is not Step.SIDECAR]


@dataclass(frozen=True)
class Change:
    """One way to change the key, and whether the key before it is here when it begins."""

    reason: Reason
    key_here: bool = True

    def prepare(self, small: World, folder: Path) -> World:
        """Give a copy of a world in which this change is due."""
        world = small.copy(folder)
        if not self.key_here:
            log_key(world).unlink()
        return world


CHANGES = {
    "rotate": Change("rotation"),
    "rotate --lost": Change("lost", key_here=False),
    "revoke": Change("compromised"),
    "revoke what is lost": Change("compromised", key_here=False),
}
each_change = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)


def log_key(world: World) -> Path:
    """Give the private log key's file."""
    return world.locations.keys / "log.key"


def seed_of(path: Path) -> bytes:
    """Give the line of a key file that is the key."""
    return path.read_bytes().split(b"\n")[1]


def run(world: World, change: Change) -> object:
    """Change the key."""
    return change_log_key(world.session, change.reason)


def run_with(world: World, change: Change, faults: Faults) -> None:
    """The same, with calls that fail or kill."""
    try:
        with injected(faults):
            refusal_of(lambda: run(world, change))
    except KilledError:
        pass


def epochs_of(world: World) -> tuple[str, ...]:
    """Give the reasons of all epochs."""
    return tuple(key.epoch.reason for key in list_log_keys(world.session).log)


def assert_one_key(world: World) -> None:
    """One log key is pinned, in force and here; nothing of another lies beside it."""
    assert sorted(contents(world.folder / "trust")) == TRUST
    assert b"next" not in world.locations.pins.read_bytes()
    keys = list_log_keys(world.session).log
    assert [key.usable for key in keys] == [False] * (len(keys) - 1) + [True]
    assert load_owner_keystore(world.locations).settled


def assert_settles(world: World, change: Change, old: bytes, history: History) -> None:
    """The next command leaves the old key in force or the new one; done again, the change comes to its end."""
    history.look(world)
    search_once(world)  # finishes the change, or takes it back
    refusal_of(lambda: service.revoke(world.session, "nothing"))  # removes what was half written
    if epochs_of(world) == ("first",):
        if change.key_here:
            assert verdict_of(world) == OK
            assert_one_key(world)
            assert seed_of(log_key(world)) == old
        else:  # as lost as it was before
            assert verdict_of(world) == ("refused", frozenset({"state-incomplete"}))
        run(world, change)
    assert epochs_of(world) == ("first", change.reason)
    assert verdict_of(world) == OK
    assert_one_key(world)
    assert all(old not in content for content in contents(world.folder).values())
    history.look(world)


def assert_goes_on(world: World, events: tuple[str, ...]) -> None:
    """Everything from before is answered, and the next change works."""
    assert event_ids(world) == events
    change_log_key(world.session, "rotation")
    assert verdict_of(world, deep=True) == OK
    assert_one_key(world)


@pytest.mark.requirement("X7")
@each_change
def test_a_change_leaves_one_key(small: World, tmp_path: Path, change: Change) -> None:
    """Undisturbed: the new key signs, the old one is gone from the disk, and all answers stay."""
    old = seed_of(log_key(small))
    world = change.prepare(small, tmp_path / "copy")
    answers = search_once(small)
    run(world, change)
    assert epochs_of(world) == ("first", change.reason)
    assert verdict_of(world, deep=True) == OK
    assert_one_key(world)
    assert search_once(world) == answers
    assert all(old not in content for content in contents(world.folder).values())
    assert_goes_on(world, event_ids(small))


@pytest.mark.requirement("X7")
def test_the_old_key_is_written_over_where_it_lay(world: World) -> None:
    """Whoever holds the file open, or finds its blocks, reads zeros."""
    descriptor = os.open(log_key(world), os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        change_log_key(world.session, "rotation")
        assert os.pread(descriptor, 4096, 0) == bytes(size)
        assert os.fstat(descriptor).st_nlink == 0
    finally:
        os.close(descriptor)


# -- stopped anywhere ------------------------------------------------------------------------------------------

KILLED = "killed"
HOWS = (KILLED, "one call fails", "every call from there on fails")
WAYS = (*(("rotate", how) for how in HOWS), ("rotate --lost", KILLED), ("revoke", KILLED))
POINTS_MIN = 100
"""Fewer fault points would mean that the loop ended early or that calls go past the injection."""


@pytest.mark.requirement("X7", "T66", "T67", "T69")
@pytest.mark.parametrize(("name", "how"), WAYS)
def test_a_change_stopped_at_any_call_is_finished_or_taken_back(
    small: World, tmp_path: Path, name: str, how: str
) -> None:
    """The N-th system call or statement fails or kills, N from 1 until none is met."""
    change, old, events = CHANGES[name], seed_of(log_key(small)), event_ids(small)
    for points in itertools.count():
        if not is_due(points, how, HOWS):
            continue
        world = change.prepare(small, tmp_path / str(points))
        history = History()
        history.look(world)
        code, sqlite_name = ((errno.ENOSPC, "SQLITE_FULL"), (errno.EIO, "SQLITE_IOERR_WRITE"))[points % 2]
        faults = Faults(points + 1, code, sqlite_name, persistent="every" in how)
        if how == KILLED:
            faults = kill_at(points + 1)
        run_with(world, change, faults)
        assert_settles(world, change, old, history)
        if points % 25 == 0:  # using it takes longer than all the rest
            assert_goes_on(world, events)
        shutil.rmtree(world.folder)
        if not faults.fired:
            break
    assert points >= POINTS_MIN


@pytest.mark.requirement("X7", "T66", "T67")
@each_change
def test_a_change_that_is_killed_again_and_again_comes_to_its_end(
    small: World, tmp_path: Path, change: Change
) -> None:
    """One timeline, killed one call later each time, from wherever the last kill left it."""
    world = change.prepare(small, tmp_path / "copy")
    history = History()
    for number in itertools.count(1):
        try:
            with injected(kill_at(number)):
                search_once(world)
                if epochs_of(world) == ("first",):
                    run(world, change)
        except KilledError:
            history.look(world)
            continue
        break
    assert number > 100
    assert epochs_of(world) == ("first", change.reason)
    assert verdict_of(world, deep=True) == OK
    assert_one_key(world)


@pytest.mark.requirement("X7", "T66", "T67")
@pytest.mark.parametrize("how", ["Ctrl-C", "SIGKILL"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", ["rotate", "rotate --lost"])
def test_a_change_stopped_at_any_step_of_its_commit(
    small: World, tmp_path: Path, name: str, step: Step, how: str
) -> None:
    """Nothing in the log: taken back. The leaf in the log: finished, and never changed a second time for that."""
    change, old = CHANGES[name], seed_of(log_key(small))
    world = change.prepare(small, tmp_path / "copy")
    history = History()
    history.look(world)

    def probe(now: Step) -> None:
        if now is step:
            raise KeyboardInterrupt

    if how == "SIGKILL":
        assert act_and_die_at(world, step, lambda session: change_log_key(session, change.reason))
    else:
        with pytest.raises(KeyboardInterrupt):
            change_log_key(with_probe(world.session, probe), change.reason)
    committed = len(leaves_of(world)) > len(leaves_of(small))
    assert committed == (step in {Step.HEAD, Step.ANCHOR, Step.DONE})
    if committed:
        search_once(world)
        assert epochs_of(world) == ("first", change.reason)
        assert_one_key(world)
    assert_settles(world, change, old, history)


@pytest.mark.requirement("X7")
@pytest.mark.parametrize("step", [Step.BEGIN, Step.DONE])
def test_an_unfinished_change_is_named(world: World, step: Step) -> None:
    """``verify`` says that the next command settles it, and changes nothing itself."""

    def probe(now: Step) -> None:
        if now is step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        change_log_key(with_probe(world.session, probe), "rotation")
    before = contents(world.folder)
    assert verdict_of(world) == ("repairable", frozenset())
    assert contents(world.folder) == before
    search_once(world)
    assert verdict_of(world) == OK
    assert_one_key(world)
