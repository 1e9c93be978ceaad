"""The edits of the tampering suite do what they say: what is written back unchanged is served, any change is not."""

from pathlib import Path

import pytest

from tests.agmi.database import IndexRows, LogLeaves
from tests.agmi.files import EveryStore, FollowedTranscriptLines, Sidecars, TranscriptLines
from tests.agmi.records import Surface
from tests.agmi.stage import FIRST, SECOND, Stage
from tests.simulators.worlds import contents

SURFACES = (LogLeaves, IndexRows, Sidecars, EveryStore, TranscriptLines, FollowedTranscriptLines)
RUNS = 2


@pytest.fixture(params=SURFACES, ids=lambda surface: surface.name)
def surface(request: pytest.FixtureRequest, tmp_path: Path) -> Surface:
    """Give a surface of a timeline with two sessions."""
    stage = Stage(tmp_path / "timeline", request.param.follow)
    stage.seed(FIRST, RUNS)
    stage.seed(SECOND, RUNS)
    surface: Surface = request.param(stage)
    return surface


def test_records_written_back_unchanged_are_the_same_bytes(surface: Surface) -> None:
    """A refusal after an edit is due to the edit, not to how it was written."""
    stage = surface.stage
    session = stage.sessions[FIRST]
    before, transcript = contents(stage.folder), session.path.stat()
    surface.save(session, surface.load(session))
    assert {name: b for name, b in contents(stage.folder).items() if name != "state/state.db"} == {
        name: b for name, b in before.items() if name != "state/state.db"
    }
    assert session.path.stat().st_ctime_ns == transcript.st_ctime_ns
    assert stage.read(FIRST).served == RUNS + 2


def test_the_records_of_two_sessions_are_told_apart(surface: Surface) -> None:
    """Each session has as many records as test runs, and no place is of both."""
    first, second = (surface.load(surface.stage.sessions[name]) for name in (FIRST, SECOND))
    assert len(first) == len(second) == RUNS
    assert {(item.owner, item.slot) for item in first}.isdisjoint(
        {(item.owner, item.slot) for item in second}
    )


@pytest.mark.requirement("T22", "T67", "X8")
def test_a_changed_record_is_served_nowhere(surface: Surface) -> None:
    """One record says something else, or only its label does: not one question about its session is answered."""
    stage = surface.stage
    session = stage.sessions[FIRST]
    items = surface.load(session)
    for changed in (surface.changed(items[0]), surface.relabelled(items[0])):
        surface.save(session, [changed, *items[1:]])
        assert surface.load(session)[0] != items[0]
        assert stage.read(FIRST).is_rejected
