"""What the tests of backups begin with: one indexed timeline with its backup, made once and never changed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backup.places import Backed
from tests.simulators.anchored import Anchored, make_anchored
from tests.simulators.witnesses import socket_path
from tests.timeline.cases import Case, indexed_session
from timeline.backup import back_up


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Give the indexed timeline that is backed up; to be left as it is."""
    return indexed_session(tmp_path_factory.mktemp("backed"))


@pytest.fixture(scope="session")
def backed(original: Case, tmp_path_factory: pytest.TempPathFactory) -> Backed:
    """Give its backup, with keys."""
    file = tmp_path_factory.mktemp("stick") / "timeline.tar"
    back_up(original.session, file)
    return Backed(original.world, file)


@pytest.fixture(scope="session")
def keyless(original: Case, tmp_path_factory: pytest.TempPathFactory) -> Backed:
    """Give its backup, without keys."""
    file = tmp_path_factory.mktemp("stick") / "timeline.tar"
    back_up(original.session, file, with_keys=False)
    return Backed(original.world, file)


@pytest.fixture
def case(original: Case, tmp_path: Path) -> Case:
    """Give a copy of that timeline, to be changed."""
    world = original.world.copy(tmp_path / "world")
    return Case(world, original.rollout, original.path, original.ref)


@pytest.fixture(scope="session")
def socket() -> Iterator[str]:
    """Give the place where the witness is asked."""
    with socket_path() as path:
        yield path


@pytest.fixture(scope="session")
def watched(tmp_path_factory: pytest.TempPathFactory, socket: str) -> Anchored:
    """Give a timeline that a witness watches, at its newest moment; it is copied, never changed."""
    return make_anchored(tmp_path_factory.mktemp("watched"), socket)


@pytest.fixture
def anchored(watched: Anchored, tmp_path: Path) -> Anchored:
    """Give a copy, to be changed."""
    return watched.copy(tmp_path)
