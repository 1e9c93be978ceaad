"""A stage of its own for each test, and each provider's session on one."""

from pathlib import Path

import pytest

from tests.capture.stage import PROVIDERS, Stage, new_stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Give a timeline after ``init``."""
    return new_stage(tmp_path)


@pytest.fixture(params=PROVIDERS)
def host(request: pytest.FixtureRequest) -> str:
    """Give each provider."""
    name: str = request.param
    return name
