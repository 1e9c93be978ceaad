"""What the tests of forgetting begin with."""

from pathlib import Path

import pytest

from tests.forgetting.lives import Life, copied, live
from tests.programs import Run, runner
from timeline import sealing


@pytest.fixture(scope="session")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """Give a life with two sessions, words of the owner and an import; to be left as it is."""
    return live(tmp_path_factory.mktemp("lived"), 5)


@pytest.fixture
def life(lived: Life, tmp_path: Path) -> Life:
    """Give a copy of it, to be changed."""
    return copied(lived, tmp_path / "life")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a function that runs a program as its entry point does: exit code, output, errors."""
    return runner(monkeypatch)


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let locking the owner key cost little: how dear it is, is tested elsewhere."""
    monkeypatch.setattr(sealing, "COST", sealing.Cost(1, 8 * 1024 * 1024))
    monkeypatch.setattr(sealing, "COST_MIN", sealing.Cost(1, 8 * 1024 * 1024))
