"""Worlds made once and copied for each test (see ``tests.simulators.worlds``)."""

from pathlib import Path

import pytest

from tests.e2e.keyrings import Rotated, log_signer
from tests.e2e.offers import assert_good_one_works
from tests.simulators.worlds import Moment, World, grow, new_world
from tests.watched import anchored, anchored_origin, witness_socket  # noqa: F401  (fixtures)
from timeline.epochs import change_log_key


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give one source of one segment with two events; it is copied, never changed."""
    folder = tmp_path_factory.mktemp("small")
    world = new_world(folder / "world")
    for _ in grow(world, folder / "moments", runs=2):
        pass
    return world


@pytest.fixture
def world(small: World, tmp_path: Path) -> World:
    """Give a copy of the small world, to be changed."""
    return small.copy(tmp_path / "copy")


@pytest.fixture(scope="session")
def grown(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, tuple[Moment, ...]]:
    """Give a source of three segments, with a copy after each of its five commits."""
    folder = tmp_path_factory.mktemp("grown")
    world = new_world(folder / "world")
    return world, tuple(grow(world, folder / "moments", runs=4, filler_bytes=40_000))


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give a timeline after ``init``, to be copied."""
    return new_world(tmp_path_factory.mktemp("fresh"))


@pytest.fixture
def host(fresh: World, tmp_path: Path) -> World:
    """Give a timeline and a home of its own."""
    copy = fresh.copy(tmp_path / "copy")
    (tmp_path / "host" / "project").mkdir(parents=True)
    (tmp_path / "host" / ".codex" / "sessions").mkdir(parents=True)
    return World(copy.folder, tmp_path / "host")


@pytest.fixture
def rotated(world: World) -> Rotated:
    """Give a world with one more source after the change, so that both keys have signed sidecars."""
    old = log_signer(world)
    change_log_key(world.session, "rotation")
    assert_good_one_works(world)
    return Rotated(world, old, log_signer(world))
