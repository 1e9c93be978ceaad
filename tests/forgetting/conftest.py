"""What the tests of forgetting begin with."""

import pytest

from tests.programs import Run, runner


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a function that runs a program as its entry point does: exit code, output, errors."""
    return runner(monkeypatch)
