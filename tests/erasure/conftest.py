"""A timeline of which something is erased, made once and copied."""

from pathlib import Path

import pytest

from tests.erasure.stages import Stage, make_stage


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Give the timeline before anything was erased; to be left as it is."""
    return make_stage(tmp_path_factory.mktemp("erasure") / "world")


@pytest.fixture
def stage(original: Stage, tmp_path: Path) -> Stage:
    """Give a copy, to be changed."""
    return original.copy(tmp_path / "copy")
