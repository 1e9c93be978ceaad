"""The daemon's lock: one daemon, and the next one waits for one that is about to end."""

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest

from timeline.daemon import program
from timeline.daemon.errors import DaemonRunningError
from timeline.paths import Locations


@pytest.fixture
def locations(tmp_path: Path) -> Locations:
    """Give folders of which only the runtime's is there."""
    found = Locations(*(tmp_path / name for name in ("state", "trust", "config", "runtime")))
    found.runtime.mkdir(mode=0o700)
    return found


@pytest.mark.requirement("X1")
def test_a_second_daemon_is_refused_at_once(locations: Locations, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one holds the lock and the socket's name."""
    monkeypatch.setattr(
        program, "pauses", lambda: iter([0.0])
    )  # a second look would be an end of another kind
    locations.socket.touch()
    with locations.daemon_lock.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(DaemonRunningError), program._hold_daemon_lock(locations):
            pass


@pytest.mark.requirement("X1")
def test_a_daemon_that_is_about_to_end_is_waited_for(
    locations: Locations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has given up the socket's name; the next one begins when it lets go of the lock."""
    held = locations.daemon_lock.open("wb")
    fcntl.flock(held, fcntl.LOCK_EX)
    looks = []

    def pauses() -> Iterator[float]:
        looks.append("held")
        yield 0.0
        held.close()
        looks.append("free")
        yield 0.0

    monkeypatch.setattr(program, "pauses", pauses)
    with program._hold_daemon_lock(locations):
        assert looks == ["held", "free"]


@pytest.mark.requirement("X1")
def test_a_daemon_that_does_not_end_is_not_waited_for_for_ever(
    locations: Locations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one gives up, and says why."""
    monkeypatch.setattr(program, "STOP_SECONDS", 0.0)
    with locations.daemon_lock.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(DaemonRunningError), program._hold_daemon_lock(locations):
            pass
