"""Every King file of ``../shared/samples`` is read as its ground truth says, or refused for a stated reason."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from adapters.base import Verdict
from adapters.record import Defect, ToolResult, Unknown
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

KING, KIMI = ADAPTERS["king"], ADAPTERS["kimi"]
LIVE = sorted(SAMPLES.glob("live/kimi-*/**/*.jsonl"))
WIRES = [path for path in LIVE if path.name == "wire.jsonl"]
OTHERS = [path for path in LIVE if path.name != "wire.jsonl"]

KIMI_CLI = {"sk003", "sk004", "sk005", "sk006", "sk007", "sk008", "sk016", "sk017", "sk019", "sk020", "sk021"}
"""Wires and a context of the Python kimi-cli."""

NO_METADATA = {"sk011", "sk012", "sk013", "sk014", "sk018"}
"""Events of the newer engine without a header: which protocol they are in, nobody says."""

METADATA = b'{"type":"metadata","protocol_version":"1.4","created_at":1787220000000}\n'


@pytest.fixture(params=truth_of("king"), ids=lambda row: row["file"].partition("/")[2])
def row(request: pytest.FixtureRequest) -> dict:
    """Give one line of the truth; a torn last line is no record."""
    return {
        **request.param,
        "records": {k: v for k, v in request.param["records"].items() if k != "<not json>"},
    }


@pytest.fixture
def data(row: dict) -> bytes:
    """Give the bytes of its file, or see it refused; a wire without a header is given one, and its count."""
    data, stem = sample_bytes(row), Path(row["file"]).name[:5]
    if stem in KIMI_CLI:
        assert refusal_of(KING, data) == "python-kimi-cli"
        pytest.skip("refused, as it should be")
    if stem in NO_METADATA:
        assert refusal_of(KING, data) == "header"
        row["records"] = {**row["records"], "metadata": 1}
        return METADATA + data
    return data


@pytest.mark.requirement("T71", "X2")
def test_counts_agree_with_the_truth(row: dict, data: bytes) -> None:
    """Records by type, calls by tool, results by outcome, orphans: equal to what was counted independently."""
    records, reader = read(KING, data)
    tallies = reader.tallies
    assert tallies.records == row["records"]
    assert tallies.tool_calls == row["tool_calls"]
    assert tallies.failure_codes == row["failure_codes"]
    assert tallies.evidence == row["evidence_events"]
    assert tallies.calls_without_result == row["calls_without_result"]
    assert tallies.results_without_call == row["results_without_call"]
    for name, count in row["tool_results"].items():
        assert getattr(tallies.outcomes, name) + getattr(tallies.inherited_outcomes, name) == count, name
    assert reader.self_check().verdict is Verdict.UNDERSTOOD, reader.self_check()
    assert not [record for record in records if isinstance(record, Defect | Unknown)]


@pytest.mark.requirement("T73", "X2")
def test_runner_results_agree_with_the_truth(row: dict, data: bytes) -> None:
    """Every run of a recognised runner is found at its line with its counts, and no run is found elsewhere."""
    found, listed = runs_by_offset(read(KING, data)[0]), {entry["offset"] for entry in row["runner_results"]}
    assert certain_runs(row).keys() <= found.keys() <= listed


def test_a_grown_session_keeps_its_earlier_records(shared: Path) -> None:
    """Each snapshot of a session is a prefix of the next, and so are its settled results and prompts."""
    files = sorted((shared / "samples/king").glob("chainK_*.jsonl"))
    files.append(shared / "samples/king/sk001_wire_1.4.jsonl")
    for before, after in pairwise(path.read_bytes() for path in files):
        assert after.startswith(before)
        earlier = settled(KING, before)
        assert earlier == settled(KING, after)[: len(earlier)]


def _name(path: Path) -> str:
    return "/".join(path.relative_to(SAMPLES / "live").parts[:1] + path.parts[-4:])[-90:]


@pytest.mark.skipif(not LIVE, reason="../shared is absent")
@pytest.mark.requirement("T71")
@pytest.mark.parametrize("path", WIRES, ids=_name)
def test_a_live_session_is_understood(path: Path) -> None:
    """What four versions of the real host wrote is understood: prompts, results, no strange type, no defect."""
    data = path.read_bytes()
    header = KIMI.read_header(data)
    assert (header.host, header.format) == ("kimi", "king-agent-wire-jsonl/v1")
    records, reader = read(KIMI, data)
    tallies = reader.tallies
    assert reader.self_check().verdict is Verdict.UNDERSTOOD, reader.self_check()
    assert not tallies.defects
    assert not tallies.anomalies
    assert tallies.results_without_call == 0
    assert (tallies.prompts == 0) == (path.parts[-2] != "main")
    assert tallies.prompts == data.count(b'"type":"context.append_message"') - _said_by_the_harness(data)
    for record in records:
        if isinstance(record, ToolResult):
            assert record.command is not None
            assert not record.conflict


def _said_by_the_harness(data: bytes) -> int:
    return sum(
        record["message"]["origin"]["kind"] != "user"
        for record in map(json.loads, data.split(b"\n")[:-1])
        if record["type"] == "context.append_message"
    )


@pytest.mark.skipif(not LIVE, reason="../shared is absent")
@pytest.mark.parametrize("path", OTHERS, ids=_name)
def test_a_live_file_that_is_no_wire_is_refused(path: Path) -> None:
    """The index of sessions, what the host printed, and the logs of the rig are no transcripts."""
    assert refusal_of(KIMI, path.read_bytes()) == "header"


@pytest.mark.skipif(not LIVE, reason="../shared is absent")
def test_live_failures_have_the_codes_of_their_commands() -> None:
    """The scripts that drove the hosts are known: their commands ended with 1, 3 and 7, or had no code."""
    for folder in ("kimi-0.20.0", "kimi-0.43.1", "kimi-2.1.0"):
        seen: dict[str, int] = {}
        for path in (path for path in WIRES if folder in path.parts):
            for code, count in read(KIMI, path.read_bytes())[1].tallies.failure_codes.items():
                if code == "none":
                    continue
                seen[code] = seen.get(code, 0) + count
        assert seen == {"1": 1, "3": 1, "5": 1, "7": 3 if folder == "kimi-0.20.0" else 4}, folder


@pytest.mark.skipif(not LIVE, reason="../shared is absent")
def test_live_test_runs_are_found_where_the_scripts_ran_them() -> None:
    """Each driven main session ran pytest once, with one failure of four, and once only printed a summary."""
    for folder in ("kimi-0.10.0", "kimi-0.20.0", "kimi-0.43.1", "kimi-2.1.0", "kimi-0.20.0-resumed-by-2.1.0"):
        records = [read(KIMI, path.read_bytes())[0] for path in WIRES if folder in path.parts]
        runs = [run for one in records for _, run in objectives_of(one)]
        assert [(r.runner, r.passed, r.failed, r.outcome.value) for r in runs] == [("pytest", 3, 1, "fail")]
