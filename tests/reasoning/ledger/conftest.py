"""A timeline of its own for each test, copied from one that was made once."""

from pathlib import Path

import pytest

from tests.capture.stage import Stage, new_stage
from tests.programs import Run, runner, use
from tests.simulators.worlds import World, new_world
from tests.world.commands.speaking import Owner


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give a timeline after ``init``."""
    return new_world(tmp_path_factory.mktemp("begun") / "world")


@pytest.fixture
def world(begun: World, tmp_path: Path) -> World:
    """Give a copy of it."""
    return begun.copy(tmp_path / "world")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a function that runs a program as its entry point does: exit code, output, errors."""
    return runner(monkeypatch)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Give a timeline after ``init``, in which the commands work."""
    made = new_stage(tmp_path)
    use(made.world, monkeypatch)
    return made


@pytest.fixture
def owner(stage: Stage, run: Run) -> Owner:
    """Give the owner at the command line."""
    return Owner(stage, run)
