"""The strings, read once; skipped where the package was not fetched, which `.ci/run` does."""

from pathlib import Path

import pytest

from tests.capture.stage import PROVIDERS, Stage, new_stage
from tests.injections.strings import Injection, read_injections
from tests.services import skip_without

PACKAGE = Path(__file__).resolve().parents[2] / ".agentdojo_cache" / "agentdojo"


@pytest.fixture(scope="session")
def injections() -> tuple[Injection, ...]:
    """Give every injection string of AgentDojo."""
    if not PACKAGE.is_dir():
        skip_without("copy of AgentDojo; `make injections` fetches it")
    return read_injections(PACKAGE)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Give a timeline after ``init``."""
    return new_stage(tmp_path)


@pytest.fixture(params=PROVIDERS)
def host(request: pytest.FixtureRequest) -> str:
    """Give each provider."""
    name: str = request.param
    return name
