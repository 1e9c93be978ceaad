"""What the real runners printed is understood as the recorder's hand-written expectations say."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.objective import decide_objective
from adapters.objective.runners import BY_RUNNER, RECOGNISERS
from adapters.objective.text import Text
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
    counts = (*COUNTS, "warnings") if "warnings" in entry["expect"] else COUNTS
    stated = {name: getattr(found, name) for name in counts}
    assert {"outcome": found.outcome, "flags": list(found.flags), **stated} == entry["expect"]
    assert found.runner == folder.name.rpartition("-")[0]
    assert found.exit_code == entry["exit_code"]


NOT_RECORDED = {"measured-suite"}
"""The reference's line has no program."""


def test_every_runner_is_recorded() -> None:
    """A runner is added with a recording of the real program."""
    recorded = {folder.name.rpartition("-")[0] for folder in RECORDED.iterdir()}
    assert recorded == set(BY_RUNNER) - NOT_RECORDED


def test_recordings_are_small_and_name_no_machine() -> None:
    """What is kept is what a runner prints about a tiny project, without places of the machine that ran it."""
    for file in RECORDED.rglob("*.txt"):
        content = file.read_bytes()
        assert len(content) < 64_000
        for place in (b"/tmp/", b"/r" + b"oot/", b"/h" + b"ome/"):
            assert place not in content, file


@pytest.mark.parametrize(("folder", "entry"), CASES)
def test_the_line_that_decides_begins_as_its_recogniser_says(folder: Path, entry: dict[str, Any]) -> None:
    """A script's output is read only by recognisers whose start occurs: none that would state something is left out."""
    text = Text((folder / f"{entry['name']}.txt").read_bytes().decode("utf-8"))
    starts = text.starts()
    for recogniser in RECOGNISERS:
        if recogniser.starts and recogniser.starts.isdisjoint(starts):
            assert recogniser.read(text) == ()
        if not text.marked(*recogniser.marks):
            assert recogniser.read(text) == ()
