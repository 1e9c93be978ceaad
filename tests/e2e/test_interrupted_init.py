"""`timeline init`, stopped at every file operation, statement and step: the next one brings it to its end.

What was made is kept: no key is ever another, no log begins twice, and a timeline that has lost a part is no beginning.
"""

import errno
import itertools
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.depth import is_due
from tests.e2e.offers import assert_good_one_works
from tests.simulators.crash_child import init_and_die_at
from tests.simulators.faults import Faults, KilledError, injected, kill_at
from tests.simulators.worlds import (
    World,
    checkpoint_of,
    contents,
    empty_world,
    leaves_of,
    new_world,
    refusal_of,
    verdict_of,
    with_probe,
)
from timeline import service
from timeline.tlog import Step

STEPS = [step for step in Step if step is not Step.SIDECAR]
KILLED = "killed"
WAYS = (KILLED, "one call fails", "every call from there on fails")
POINTS_MIN = 150
"""Fewer fault points would mean that the loop ended early or that calls go past the injection."""


def init(world: World, **rules: object) -> str | None:
    """Run ``init``: the reason of its refusal, ``None`` where it is done."""
    chosen = {"owner_presence": "any", **rules}
    return refusal_of(lambda: service.init_state(world.session, **chosen))


def init_with(world: World, faults: Faults) -> str | None:
    """The same, with calls that fail or kill."""
    try:
        with injected(faults):
            return init(world)
    except KilledError:
        return KILLED


def lasting(world: World) -> Mapping[str, bytes]:
    """Every key, and the origin with the public keys, whether they are pinned yet or not."""
    found = {
        name: content for name, content in contents(world.folder / "trust").items() if ".tmp" not in name
    }
    if "pins.begun" in found:
        found["pins"] = found.pop("pins.begun")
    found.pop("anchor", None)
    return found


def said_by_commands(world: World) -> set[str | None]:
    """What a command that reads and one that writes say."""
    return {
        refusal_of(lambda: service.list_sources(world.session, None)),
        refusal_of(lambda: service.revoke(world.session, "nothing")),
    }


def is_recorded(world: World) -> bool:
    """Whether the owner's rules are in the log."""
    return world.locations.database.exists() and bool(leaves_of(world))


def is_finished(world: World) -> bool:
    """Whether the first commit has come to its end."""
    anchor = world.locations.anchor
    return anchor.exists() and checkpoint_of(anchor)[0] > 0


def assert_whole(world: World) -> None:
    """A timeline as an undisturbed ``init`` makes it, and nothing beside it."""
    assert verdict_of(world, deep=True) == ("ok", frozenset())
    assert len(leaves_of(world)) == 2
    assert sorted(contents(world.folder / "state")) == ["head", "state.db"]
    names = ["anchor", "keys/fingerprint.key", "keys/log.key", "keys/owner.key", "pins"]
    assert sorted(contents(world.folder / "trust")) == names


def assert_completes(world: World) -> None:
    """The next ``init`` keeps what there is, and says that it is there only where it was finished."""
    before, finished = lasting(world), is_finished(world)
    if not is_recorded(world):
        assert said_by_commands(world) <= {"state-missing", "init-interrupted"}
    assert init(world) == ("state-exists" if finished else None)
    assert lasting(world).items() >= before.items()
    assert init(world) == "state-exists"


# -- stopped anywhere ------------------------------------------------------------------------------------------


@pytest.mark.requirement("T66", "T67", "T69")
@pytest.mark.parametrize("how", WAYS)
def test_an_init_stopped_at_any_call_is_completed_by_the_next(tmp_path: Path, how: str) -> None:
    """The N-th system call or statement fails or kills, N from 1 until none is met."""
    for points in itertools.count():
        if not is_due(points, how, WAYS):
            continue
        world = empty_world(tmp_path / str(points))
        code, sqlite_name = ((errno.ENOSPC, "SQLITE_FULL"), (errno.EIO, "SQLITE_IOERR_WRITE"))[points % 2]
        faults = Faults(points + 1, code, sqlite_name, persistent="every" in how)
        if how == KILLED:
            faults = kill_at(points + 1)
        init_with(world, faults)
        assert_completes(world)
        assert_whole(world)
        if points % 20 == 0:  # using it takes longer than all the rest
            assert_good_one_works(world)
        shutil.rmtree(world.folder)
        if not faults.fired:
            break
    assert points >= POINTS_MIN


@pytest.mark.requirement("T67")
def test_an_init_that_is_killed_again_and_again_keeps_its_first_keys(tmp_path: Path) -> None:
    """One timeline, killed one call later each time, from wherever the last kill left it."""
    world = empty_world(tmp_path / "world")
    seen: dict[str, bytes] = {}
    for number in itertools.count(1):
        ended = init_with(world, kill_at(number))
        found = lasting(world)
        assert found.items() >= seen.items()
        seen = dict(found)
        if ended != KILLED:
            break
    assert number > 20
    assert ended in {None, "state-exists"}
    assert_whole(world)
    assert_good_one_works(world)


@pytest.mark.requirement("T66", "T67")
@pytest.mark.parametrize("how", ["Ctrl-C", "SIGKILL"])
@pytest.mark.parametrize("step", STEPS)
def test_an_init_stopped_at_any_step_of_its_commit_is_completed_by_the_next(
    tmp_path: Path, step: Step, how: str
) -> None:
    """Nothing in the log: the same keys begin it. Rules in the log: they are kept, and the commit is finished."""
    world = empty_world(tmp_path / "world")

    def probe(now: Step) -> None:
        if now is step:
            raise KeyboardInterrupt

    if how == "SIGKILL":
        assert init_and_die_at(world, step)
    else:
        with pytest.raises(KeyboardInterrupt):
            service.init_state(with_probe(world.session, probe), owner_presence="any")
    recorded = leaves_of(world)
    assert (recorded != []) == (step in {Step.HEAD, Step.ANCHOR, Step.DONE})
    assert_completes(world)
    if recorded:
        assert leaves_of(world) == recorded
    assert_whole(world)
    assert_good_one_works(world)


@pytest.mark.requirement("T67")
@pytest.mark.parametrize("step", [Step.HEAD, Step.ANCHOR])
def test_other_rules_are_not_said_to_be_recorded(tmp_path: Path, step: Step) -> None:
    """Who asks for a terminal now is told that rules are there; the next command finishes the commit."""
    world = empty_world(tmp_path / "world")

    def probe(now: Step) -> None:
        if now is step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        service.init_state(with_probe(world.session, probe), owner_presence="any")
    before = contents(world.folder)
    assert init(world, owner_presence="terminal") == "state-exists"
    assert contents(world.folder) == before
    assert_good_one_works(world)


def test_rules_that_were_not_recorded_may_still_be_changed(tmp_path: Path) -> None:
    """The second ``init`` is the one that is recorded."""
    world = empty_world(tmp_path / "world")

    def probe(now: Step) -> None:
        if now is Step.DATABASE:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        service.init_state(with_probe(world.session, probe), owner_presence="any", simulated_host=True)
    policy = service.init_state(world.session).policy
    assert policy is not None
    assert (policy.owner_presence, policy.simulated_host) == ("terminal", False)


@pytest.mark.requirement("T67")
def test_an_interrupted_init_names_what_to_do(tmp_path: Path) -> None:
    """``verify`` and every other command send the owner to ``init``."""
    world = empty_world(tmp_path / "world")
    init_with(world, kill_at(80))
    assert world.locations.keys.exists()
    report = service.verify_timeline(world.session, deep=False)
    (check,) = [check for check in report.checks if not check.ok]
    assert (report.verdict, check.reason) == ("refused", "init-interrupted")
    assert "timeline init" in check.hint


@pytest.mark.parametrize("number", [80, 160])
def test_what_a_killed_process_has_half_written_is_removed(tmp_path: Path, number: int) -> None:
    """Half a key lies in no folder for ever, whichever process wrote it."""
    world = empty_world(tmp_path / "world")
    init_with(world, kill_at(number))
    where = world.locations
    for left in (where.state / "head.1.tmp", where.trust / "anchor.1.tmp", where.keys / "owner.key.1.tmp"):
        left.write_bytes(b"half")
    assert init(world) is None
    assert_whole(world)


# -- what is no interruption -----------------------------------------------------------------------------------

PARTS = ("state/sidecars", "trust/keys", "trust/anchor", "state/head", "state/state.db", "trust/pins")


def take_away(world: World, part: str) -> None:
    """Remove a file or folder."""
    path = world.folder / part
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


@pytest.mark.requirement("T65", "T67")
def test_a_timeline_that_lost_parts_is_no_beginning(tmp_path: Path) -> None:
    """Every set of parts taken away: refused with what to do and nothing written, unless no file of a log is left."""
    origin = new_world(tmp_path / "origin")
    number = 0
    for count in range(1, len(PARTS) + 1):
        for lost in itertools.combinations(PARTS, count):
            number += 1
            world = origin.copy(tmp_path / str(number))
            for part in lost:
                take_away(world, part)
            before, kept = contents(world.folder), lasting(world)
            if set(PARTS) - set(lost) <= {"state/sidecars", "trust/keys"}:
                assert init(world) is None, lost
                assert lasting(world).items() >= kept.items()
                assert_whole(world)
                assert (world.locations.pins).read_bytes() != origin.locations.pins.read_bytes()
                continue
            assert init(world) == "state-remains", lost
            assert contents(world.folder) == before, lost
    assert number == 63


def test_the_refusal_of_a_rest_says_what_to_do(tmp_path: Path) -> None:
    """It names what is left and both folders."""
    world = new_world(tmp_path / "world")
    world.locations.anchor.unlink()
    with pytest.raises(service.REFUSALS) as refused:
        service.init_state(world.session)
    assert "anchor" not in str(refused.value).rpartition(":")[2]
    assert "pins" in str(refused.value).rpartition(":")[2]
    assert str(world.locations.state) in refused.value.hint
    assert str(world.locations.trust) in refused.value.hint


@pytest.mark.requirement("T65", "T67")
@pytest.mark.parametrize("lost", [(), ("state/state.db",), ("state/state.db", "state/head")])
def test_a_finished_timeline_whose_pins_look_begun_is_not_begun_again(
    tmp_path: Path, lost: tuple[str, ...]
) -> None:
    """Its anchor remembers a log: nothing is written over it, whatever else was taken away."""
    world = new_world(tmp_path / "world")
    world.locations.pins.rename(world.locations.begun)
    for part in lost:
        take_away(world, part)
    before = contents(world.folder)
    assert init(world) == "state-remains"
    assert contents(world.folder) == before


@pytest.mark.requirement("T67")
def test_keys_of_another_timeline_are_not_gone_on_with(tmp_path: Path) -> None:
    """What was written down must fit the keys that lie beside it."""
    world, other = empty_world(tmp_path / "world"), new_world(tmp_path / "other")
    for number in itertools.count(1):
        init_with(world, kill_at(number))
        if world.locations.begun.exists():
            break
    shutil.rmtree(world.locations.keys)
    shutil.copytree(other.locations.keys, world.locations.keys)
    before = contents(world.folder)
    assert init(world) == "key-mismatch"
    assert contents(world.folder) == before
