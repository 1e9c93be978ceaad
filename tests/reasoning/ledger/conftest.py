"""A timeline of its own for each test, copied from one that was made once."""

from pathlib import Path

import pytest

from tests.simulators.worlds import World, new_world


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give a timeline after ``init``."""
    return new_world(tmp_path_factory.mktemp("begun") / "world")


@pytest.fixture
def world(begun: World, tmp_path: Path) -> World:
    """Give a copy of it."""
    return begun.copy(tmp_path / "world")
