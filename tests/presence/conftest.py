"""A timeline that wants its owner to be there, and one whose owner key is locked."""

import os
import shutil
from pathlib import Path

import pytest

from tests.presence.chains import PASSPHRASE, Owned, own
from tests.simulators.worlds import FOLDERS
from timeline import sealing
from timeline.guard.transport import host_of
from timeline.owner import lock_owner
from timeline.paths import Locations
from timeline.processes import chain_of
from timeline.service import Session


@pytest.fixture
def _no_host_above() -> None:
    """Skip what needs a chain without a host, where a host runs the tests."""
    above = [host for process in chain_of(os.getpid()) if (host := host_of(process))]
    if above:
        pytest.skip(f"a host runs these tests: {above[0]}")


@pytest.fixture
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seal at the lowest cost that is taken."""
    monkeypatch.setattr(sealing, "COST", sealing.COST_MIN)


@pytest.fixture(scope="session")
def _founded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("founded") / "owned"
    own(place)
    return place


@pytest.fixture
def owned(_founded: Path, tmp_path: Path) -> Owned:
    """A timeline that was initialised at a terminal."""
    place = tmp_path / "owned"
    shutil.copytree(_founded, place)
    return own_copy(place)


def own_copy(place: Path) -> Owned:
    """The timeline that stands in a folder."""
    return Owned(place, Session(Locations(**{name: place / name for name in FOLDERS}), environment={}))


@pytest.fixture
def locked(owned: Owned, _cheap: None) -> Owned:
    """The same, with its owner key locked."""
    lock_owner(owned.session, PASSPHRASE)
    return owned
