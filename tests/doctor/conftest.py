"""A user on a stage of their own for each test."""

from pathlib import Path

import pytest

from tests.doctor.stage import Daemon, Stage
from tests.programs import runner, use
from tests.simulators.worlds import empty_world, new_world


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Give a user without a timeline, and without a host."""
    world = empty_world(tmp_path / "world")
    use(world, monkeypatch)
    monkeypatch.delenv("CODEX_HOME")
    monkeypatch.setenv("HOME", str(world.home))
    (world.home / ".codex" / "sessions").rmdir()
    (world.home / ".codex").rmdir()
    return Stage(world, runner(monkeypatch))


@pytest.fixture
def stage(bare: Stage) -> Stage:
    """Give a user after ``init``, with a daemon and without a host."""
    new_world(bare.world.folder)
    for folder in (bare.home / ".codex" / "sessions", bare.home / ".codex"):
        folder.rmdir()
    bare.daemon = Daemon()
    return bare


@pytest.fixture
def codex(stage: Stage) -> Stage:
    """Give the same with Codex, set up and trusted, whose hooks have run."""
    (stage.home / ".codex").mkdir()
    stage.install("codex")
    stage.trust()
    return stage
