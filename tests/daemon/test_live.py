"""The timeline that the daemon keeps open: verified once, and again after any change that is not its own."""

import shutil

import msgspec
import pytest

from sidecars.leaf import FormatPolicy
from tests.simulators.worlds import World, consent, new_world, rollout_of, write_transcript
from timeline import service
from timeline.errors import StateError
from timeline.live import Live
from timeline.state import open_for_writing
from timeline.terms import parse_query


@pytest.fixture
def world(tmp_path) -> World:
    """Give a timeline with one enrolled and indexed session."""
    found = new_world(tmp_path / "world")
    rollout = rollout_of(found)
    consent(found, rollout, write_transcript(found, rollout))
    service.index(found.session, found.root)
    return found


def kept_open(world: World) -> tuple[service.Session, Live]:
    """The world's session as the daemon uses it."""
    live = Live()
    return msgspec.structs.replace(world.session, opener=live), live


def search(session: service.Session, world: World) -> int:
    """How many cards a search finds."""
    return len(service.find(session, world.root, query=parse_query(["pytest", "passed"]))[0].cards)


def test_it_is_verified_once_for_many_uses(world: World) -> None:
    """A second search reads no log."""
    session, live = kept_open(world)
    first = search(session, world)
    assert first > 0
    assert [search(session, world) for _ in range(3)] == [first] * 3
    assert live.openings == 1
    live.close()


def test_its_own_commits_need_no_verification_again(world: World) -> None:
    """What it wrote itself is what it left there."""
    session, live = kept_open(world)
    for name in ("one", "two"):
        with session.writing() as state:
            state.commit([FormatPolicy(host="codex", type=name, accepted=True)])
    search(session, world)
    assert live.openings == 1
    live.close()


def test_what_another_process_commits_is_met_at_the_next_use(world: World) -> None:
    """The owner's command writes between two uses; the log is verified anew and goes on from there."""
    session, live = kept_open(world)
    search(session, world)
    with open_for_writing(world.locations, world.session.ports) as state:
        state.commit([FormatPolicy(host="codex", type="elsewhere", accepted=True)])
        size = state.belief.size
    with session.reading() as state:
        assert state.belief.size == size
    with session.writing() as state:
        state.commit([FormatPolicy(host="codex", type="here", accepted=True)])
        assert state.belief.size == size + 1
    assert live.openings == 2
    live.close()


@pytest.mark.parametrize("piece", ["head", "anchor", "database", "state"])
def test_what_is_put_back_under_it_is_refused(world: World, tmp_path, piece: str) -> None:
    """A file or folder of an earlier moment in the place of the newest: the open timeline does not answer over it."""
    session, live = kept_open(world)
    path = {"state": world.locations.state}.get(piece) or getattr(world.locations, piece)
    copy = shutil.copytree if path.is_dir() else shutil.copy2
    copy(path, tmp_path / "older")
    with session.writing() as state:
        state.commit([FormatPolicy(host="codex", type="newer", accepted=True)])
    search(session, world)
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    copy(tmp_path / "older", path)
    if piece == "database":
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    if piece == "anchor":  # behind by the one commit that a crash may leave: repaired, not refused
        search(session, world)
        assert path.read_bytes() == world.locations.head.read_bytes()
    else:
        with pytest.raises(Exception) as refused:  # noqa: PT011  # a StateError or a SidecarError, both with a reason
            search(session, world)
        assert refused.value.reason in {"anchor-ahead", "state-behind-head"}  # type: ignore[attr-defined]  # as above
    live.close()


def test_a_refused_question_leaves_it_open(world: World) -> None:
    """Who asks for what is not enrolled makes nobody verify the log again."""
    session, live = kept_open(world)
    search(session, world)
    for _ in range(3):
        with pytest.raises(Exception, match="nothing is enrolled"):
            service.find(session, "/", query=parse_query(["pytest", "passed"]))
    search(session, world)
    assert live.openings == 1
    live.close()


def test_a_failed_write_is_opened_anew(world: World) -> None:
    """What a failing disk left behind is looked at again, and repaired if that is due."""
    session, live = kept_open(world)
    search(session, world)

    def fail(_store: object, _leaves: object) -> None:
        raise StateError("no")

    with pytest.raises(StateError), session.writing() as state:
        state.commit([FormatPolicy(host="codex", type="one", accepted=True)], project=fail)
    search(session, world)
    assert live.openings == 2
    live.close()
