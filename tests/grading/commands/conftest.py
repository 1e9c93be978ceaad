"""A stage whose timeline the commands work in, an owner, and works to be taken in."""

from pathlib import Path

import pytest

from tests.capture.stage import Stage, new_stage
from tests.grading.commands.works import Librarian
from tests.programs import Run, runner, use
from tests.world.commands.speaking import Owner


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


@pytest.fixture
def library(owner: Owner, tmp_path: Path) -> Librarian:
    """Give the owner with a folder of works."""
    folder = tmp_path / "works"
    folder.mkdir()
    return Librarian(owner, folder)
