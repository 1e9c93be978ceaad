"""Every Codex file of ``../shared/samples`` is read as its ground truth says, or refused for a stated reason."""

from itertools import pairwise
from pathlib import Path

import pytest

from adapters.base import Verdict
from adapters.record import ToolResult
from adapters.registry import ADAPTERS
from tests.adapters.contract import read
from tests.adapters.corpora import (
    SAMPLES,
    certain_runs,
    objectives_of,
    refusal_of,
    runs_by_offset,
    sample_bytes,
    settled,
    truth_of,
)

CODEX = ADAPTERS["codex"]
LIVE = sorted(SAMPLES.glob("live/codex-*/sessions/**/*.jsonl"))

REFUSED = {
    "sc018_nover.jsonl": "header",
    "sc019_nover.jsonl": "header",
    "sc020_0.146.0.jsonl": "unknown-history-mode",
}
"""Two fixtures without a header; an inventory whose values were replaced, its mode included."""

NAMES = {"<bare metadata>": "bare-metadata"}
"""Names of the truth that are written otherwise here: a stored name has no space."""

PARTLY = {"sc015_0.50.0.jsonl", "sc016_0.52.0.jsonl", "sc017_0.106.0.jsonl"}
"""Public fixtures written by hand, with types that no Codex writes."""


@pytest.fixture(params=truth_of("codex"), ids=lambda row: row["file"].partition("/")[2])
def row(request: pytest.FixtureRequest) -> dict:
    """Give one line of the truth."""
    return request.param


@pytest.fixture
def data(row: dict) -> bytes:
    """Give the bytes of its file, or see it refused."""
    data, name = sample_bytes(row), Path(row["file"]).name
    if name in REFUSED:
        assert refusal_of(CODEX, data) == REFUSED[name]
        pytest.skip("refused, as it should be")
    return data


@pytest.mark.requirement("T70", "X2")
def test_counts_agree_with_the_truth(row: dict, data: bytes) -> None:
    """Records by type, calls by tool, results by outcome, orphans: equal to what was counted independently."""
    _, reader = read(CODEX, data)
    tallies = reader.tallies
    assert tallies.records == {NAMES.get(name, name): count for name, count in row["records"].items()}
    assert tallies.tool_calls == row["tool_calls"]
    assert tallies.failure_codes == row["failure_codes"]
    assert tallies.evidence == row["evidence_events"]
    assert tallies.calls_without_result == row["calls_without_result"]
    assert tallies.results_without_call == row["results_without_call"]
    for name, count in row["tool_results"].items():
        assert getattr(tallies.outcomes, name) + getattr(tallies.inherited_outcomes, name) == count, name
    expected = Verdict.PARTLY if Path(row["file"]).name in PARTLY else Verdict.UNDERSTOOD
    assert reader.self_check().verdict is expected


@pytest.mark.requirement("T73", "X2")
def test_runner_results_agree_with_the_truth(row: dict, data: bytes) -> None:
    """Every run of a recognised runner is found at its line with its counts, and no run is found elsewhere."""
    found, wanted = runs_by_offset(read(CODEX, data)[0]), certain_runs(row)
    assert wanted.keys() <= found.keys() <= {entry["offset"] for entry in row["runner_results"]}
    for offset, entry in wanted.items():
        one = found[offset]
        assert (one.runner, one.passed, one.failed or 0) == (
            entry["runner"],
            entry["passed"],
            entry["failed"],
        )


@pytest.mark.parametrize("chain", ["chainA", "chainB", "chainM"])
def test_a_grown_session_keeps_its_earlier_records(shared: Path, chain: str) -> None:
    """Each snapshot of a session is a prefix of the next, and so are its settled results and prompts."""
    files = sorted((shared / "samples/codex").glob(f"{chain}_*.jsonl"))
    assert len(files) >= 2
    for before, after in pairwise(path.read_bytes() for path in files):
        assert after.startswith(before)
        earlier = settled(CODEX, before)
        assert earlier == settled(CODEX, after)[: len(earlier)]


@pytest.mark.skipif(not LIVE, reason="../shared is absent")
@pytest.mark.parametrize("path", LIVE, ids=lambda path: f"{path.parts[-6]}/{path.stem[-12:]}")
def test_a_live_session_is_understood(path: Path) -> None:
    """What fifteen versions of the real host wrote is understood: prompts, results, no strange type, no defect."""
    records, reader = read(CODEX, path.read_bytes())
    tallies = reader.tallies
    assert reader.self_check().verdict is Verdict.UNDERSTOOD, reader.self_check()
    assert not tallies.defects
    assert tallies.results_without_call == 0
    header = CODEX.read_header(path.read_bytes())
    assert header.is_subagent == (tallies.prompts == 0)
    for record in records:
        if isinstance(record, ToolResult):
            assert record.command is not None
            assert not record.conflict


@pytest.mark.skipif(not LIVE, reason="../shared is absent")
def test_live_test_runs_are_found_where_the_scripts_ran_them(shared: Path) -> None:
    """Each driven main session ran pytest once, with one failure of four, and once only printed a summary."""
    for host in (
        "codex-0.142.5",
        "codex-0.149.1",
        "codex-0.155.1",
        "codex-0.160.1",
        "codex-0.166.0",
        "codex-0.171.0-direct",
    ):
        first = min((shared / "samples/live" / host / "sessions").rglob("*.jsonl"))
        runs = [found for _, found in objectives_of(read(CODEX, first.read_bytes())[0])]
        assert [(o.runner, o.passed, o.failed, o.outcome.value) for o in runs][:1] == [
            ("pytest", 3, 1, "fail")
        ], host
        assert all(o.passed != 12 for o in runs), host
