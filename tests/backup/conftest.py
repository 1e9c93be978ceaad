"""What the tests of backups begin with: one indexed timeline with its backup, made once and never changed."""

from pathlib import Path

import pytest

from tests.backup.places import Backed
from tests.timeline.cases import Case, indexed_session
from tests.watched import anchored, anchored_origin, witness_socket  # noqa: F401  (fixtures)
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
