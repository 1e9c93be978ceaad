"""A stage whose timeline the commands work in, and an owner who can be asked."""

from pathlib import Path

import pytest

from tests.capture.stage import Stage, new_stage
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
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the programs believe that somebody can be asked."""
    for place in ("timeline.cli.asking.has_terminal", "timeline.cli.task.has_terminal"):
        monkeypatch.setattr(place, lambda: True)
