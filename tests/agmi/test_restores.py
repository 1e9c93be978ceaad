"""What ``make agmi`` shows of T9, in the suite of every day: mixtures are refused, a complete copy by the witness."""

import shutil
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.agmi.restores import Expected, Outcome, try_alone, try_troubled, try_watched
from tests.agmi.stage import FIRST, Stage
from tests.agmi.watcher import Watcher
from tests.simulators.worlds import World
from timeline import service
from timeline.clock import SystemEntropy
from timeline.keystore import read_pins
from timeline.ports import Ports


def wrong(outcomes: list[Outcome]) -> list[str]:
    """Name the mixtures that are not as stated."""
    return [
        f"{outcome.name}: {outcome.reading.text()}, verify {outcome.verdict} {outcome.not_checked}"
        for outcome in outcomes
        if not outcome.is_as_stated
    ]


@pytest.mark.requirement("T65", "D8", "X8")
def test_only_a_complete_copy_is_served_and_verify_says_that_it_cannot_see_one() -> None:
    """Of fifteen mixtures the two consistent ones pass, and are named among what was not checked."""
    found = list(try_alone())
    assert wrong(found) == []
    assert [outcome.expected for outcome in found].count(Expected.SERVED) == 2
    assert len(found) == 15


@pytest.mark.requirement("T68", "X5", "X8")
def test_a_witness_refuses_the_complete_copy() -> None:
    """No mixture passes; only a copy from before it was required does, with the configuration that requires it."""
    found = list(try_watched())
    assert wrong(found) == []
    assert [outcome.expected for outcome in found].count(Expected.SERVED) == 1
    assert {outcome.reading.text() for outcome in found} >= {
        "external-anchor-ahead",
        "state-behind-anchor-pin",
    }


def test_what_happens_to_a_witness_is_refused_or_said_to_be_unseen() -> None:
    """Forgetful, silent for too long, or shown two histories: refused; put back with the rest or just silent: said."""
    found = {outcome.name: outcome for outcome in try_troubled()}
    assert wrong(list(found.values())) == []
    refused = [outcome.reading.text() for outcome in found.values() if outcome.expected is Expected.REFUSED]
    assert refused == ["external-anchor-distrusted", "stale-unverified", "external-anchor-forked"]


def test_without_state_and_trust_there_is_no_timeline(tmp_path: Path) -> None:
    """Both folders are gone: named as such, by the read path and by ``verify``, and nothing is made again."""
    stage = Stage(tmp_path / "timeline")
    stage.seed(FIRST, 1)
    locations = stage.world.locations
    for folder in (locations.state, locations.trust):
        shutil.rmtree(folder)
    assert stage.read(FIRST).text() == "state-missing"
    assert not locations.state.exists()


@pytest.mark.parametrize("watched", [False, True], ids=["no witness", "a witness is required"])
def test_who_writes_the_trust_folder_is_stopped_by_the_pin_alone(tmp_path: Path, *, watched: bool) -> None:
    """Other keys and a history of the same origin in place of ours: served, but where a witness is required."""
    stage = Stage(tmp_path / "timeline")
    stage.seed(FIRST, 1)
    with closing(Watcher()) as watcher:
        if watched:
            watcher.know(stage)
        forged = _forge(stage, tmp_path / "forged")
        for name in ("state", "trust"):
            shutil.rmtree(stage.folder / name)
            shutil.copytree(forged / name, stage.folder / name)
        reading = stage.read(FIRST)
    assert reading.text() == "state-behind-anchor-pin" if watched else reading.cards == 1


def _forge(stage: Stage, folder: Path) -> Path:
    """Lead another timeline of this origin through a consent to the same session."""
    origin = read_pins(stage.world.locations).origin
    session = stage.sessions[FIRST]
    world = World(folder, session.world.home, stage.world.clock)
    first = bytes.fromhex(origin.rpartition("/")[2])
    ports = Ports(world.clock, _BeginsWith(first))
    service.init_state(service.Session(world.locations, ports), owner_presence="any", simulated_host=True)
    twin = replace(session, world=world)
    twin.consent()
    twin.index()
    return folder


@dataclass(slots=True)
class _BeginsWith:
    """Randomness whose first bytes are chosen."""

    first: bytes

    def bytes(self, count: int) -> bytes:
        """The chosen bytes once, then random ones."""
        chosen, self.first = self.first, b""
        return chosen or SystemEntropy().bytes(count)
