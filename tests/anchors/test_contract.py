from collections.abc import Callable
from pathlib import Path

import pytest

from tests.anchors.contract import SITUATIONS, Stage
from tests.anchors.stages import FileStage, PostgresStage, WitnessStage


@pytest.fixture(params=["file", "postgres", "witness"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    """Give an anchor of each kind that knows nothing yet."""
    match request.param:
        case "file":
            return FileStage(tmp_path)
        case "witness":
            return WitnessStage(tmp_path)
        case _:
            return PostgresStage(request.getfixturevalue("cluster"))


@pytest.mark.requirement("X5")
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.__name__)
def test_every_anchor_keeps_the_contract(situation: Callable[[Stage], None], stage: Stage) -> None:
    """What an anchor answers does not depend on its kind."""
    situation(stage)
