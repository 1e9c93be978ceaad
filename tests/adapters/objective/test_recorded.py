"""What the real runners printed is understood as the recorder's hand-written expectations say."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.objective import decide_objective
from adapters.objective.runners import BY_RUNNER
from adapters.record import ToolResult

RECORDED = Path(__file__).parent / "recorded"
COUNTS = ("passed", "failed", "errors", "skipped", "total", "packages_ok", "packages_failed")
CASES = [
    pytest.param(folder, entry, id=f"{folder.name}/{entry['name']}")
    for folder in sorted(RECORDED.iterdir())
    for entry in json.loads((folder / "cases.json").read_text(encoding="utf-8"))
]


@pytest.mark.requirement("T73")
@pytest.mark.parametrize(("folder", "entry"), CASES)
def test_a_real_run_gives_its_outcome_and_its_printed_counts(
    folder: Path, entry: dict[str, Any], make_result: Callable[..., ToolResult]
) -> None:
    """T73: outcome, flags and counts of a real run; a number that the runner does not print stays absent."""
    output = (folder / f"{entry['name']}.txt").read_bytes().decode("utf-8")
    found = decide_objective(make_result(entry["command"], output, entry["exit_code"]))
    if entry["expect"] is None:
        assert found is None
        return
    assert found is not None
    stated = {name: getattr(found, name) for name in COUNTS}
    assert {"outcome": found.outcome, "flags": list(found.flags), **stated} == entry["expect"]
    assert found.runner == folder.name.rpartition("-")[0]
    assert found.exit_code == entry["exit_code"]


def test_every_runner_but_the_measured_suite_is_recorded() -> None:
    """A runner is added with a recording of the real program; the reference's line has no program."""
    recorded = {folder.name.rpartition("-")[0] for folder in RECORDED.iterdir()}
    assert recorded == set(BY_RUNNER) - {"measured-suite"}
