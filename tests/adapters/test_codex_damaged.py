"""Every Codex file of ``../shared/damaged`` behaves as its line in ``expected.jsonl`` says."""

from pathlib import Path

import pytest

from adapters.base import Verdict
from adapters.errors import DefectKind
from adapters.lines import LineSplitter
from adapters.record import Defect, ToolResult
from adapters.registry import ADAPTERS
from tests.adapters.contract import read
from tests.adapters.corpora import counted, expected_of, objectives_of, read_on, refusal_of, verdict_of

CODEX = ADAPTERS["codex"]

KINDS = {
    "torn record glued to the next record": DefectKind.GLUED,
    "two whole records without newline (}{)": DefectKind.GLUED,
    "NUL run in front of a record": DefectKind.NUL,
    "NUL run as a line": DefectKind.NUL,
    "byte order mark": DefectKind.BYTE_ORDER_MARK,
    "invalid UTF-8": DefectKind.UTF8,
    "duplicate key output": DefectKind.DUPLICATE_KEY,
    "duplicate key type": DefectKind.DUPLICATE_KEY,
    "nesting 3000 deep": DefectKind.DEPTH,
    "blank line": DefectKind.BLANK,
    "not an object": DefectKind.NOT_OBJECT,
    "object without type": DefectKind.NO_TYPE,
    "not JSON": DefectKind.NOT_JSON,
    "number out of range": DefectKind.NUMBER,
    "partial record, retried on the next line": DefectKind.NOT_JSON,
}


@pytest.fixture(params=expected_of("codex"), ids=lambda row: row["file"].partition("_")[0])
def row(request: pytest.FixtureRequest) -> dict:
    """Give one line of the expectations."""
    return request.param


@pytest.fixture
def data(row: dict, shared: Path) -> bytes:
    """Give the bytes of its file."""
    return (shared / "damaged" / row["file"]).read_bytes()


@pytest.mark.requirement("T72", "T73")
def test_a_damaged_file_gives_exactly_what_is_expected(row: dict, data: bytes) -> None:
    """Records, pending bytes, defects with place and kind, prompts, outcomes: all as stated, and nothing more."""
    if row.get("refuse"):
        assert refusal_of(CODEX, data) == "unknown-history-mode"
        return
    records, reader = read(CODEX, data)
    splitter = LineSplitter()
    list(splitter.feed(data))
    tallies = reader.tallies
    assert sum(tallies.records.values()) == row["complete_records"]
    assert splitter.pending[1] == row["pending_bytes"]
    assert [(d.offset, d.length, d.kind) for d in records if isinstance(d, Defect)] == [
        (d["offset"], d["length"], KINDS[d["kind"]]) for d in row["defects"]
    ]
    assert tallies.prompts == row["prompts"]
    assert counted(tallies.outcomes) == row["outcomes"]
    if "command_executions" in row:
        assert counted(tallies.executions) == row["command_executions"]
    inherited = row.get("inherited", {"prompts": 0, "outcomes": {}})
    assert tallies.inherited_prompts == inherited["prompts"]
    assert counted(tallies.inherited_outcomes) == inherited["outcomes"]


@pytest.mark.requirement("T73")
def test_a_damaged_file_proves_no_more_runs_than_expected(row: dict, data: bytes) -> None:
    """Every objective result is an expected one, field for field; what is missing is missing for a known reason."""
    if row.get("refuse"):
        pytest.skip("the file is refused")
    records, _ = read(CODEX, data)
    found = [
        [r.call_id, o.runner, o.passed, o.failed or 0, o.skipped or 0, r.exit_code, verdict_of(o)]
        for r, o in objectives_of(records)
    ]
    assert found == row["runners"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("c32_unknown_types.jsonl", "unknown-type:quantum_state"),
        ("c05_nul_run.jsonl", "defect:nul-bytes"),
    ],
)
def test_a_file_with_strange_lines_is_partly_understood(shared: Path, name: str, reason: str) -> None:
    """The verdict says that something was not understood, and what."""
    _, reader = read(CODEX, (shared / "damaged" / name).read_bytes())
    understanding = reader.self_check()
    assert understanding.verdict is Verdict.PARTLY
    assert reason in understanding.reasons


def test_the_growing_file_keeps_its_events(shared: Path) -> None:
    """The torn tail of c01 is one whole record in c02; reading on from the cursor gives it once."""
    before, after = (
        (shared / "damaged" / n).read_bytes() for n in ("c01_torn_tail.jsonl", "c02_torn_tail_later.jsonl")
    )
    _, (result,) = read_on(CODEX, before, after)
    assert isinstance(result, ToolResult)
    assert result.exit_code == 1
    assert result in read(CODEX, after)[0]


def test_odd_times_are_no_times(shared: Path) -> None:
    """c25: only exact UTC is a time; all the rest is none, and order is by position."""
    data = (shared / "damaged/c25_timestamps.jsonl").read_bytes()
    swapped = data.replace(b'"type":"agent_message","message":"t"', b'"type":"user_message","message":"t"')
    records, _ = read(CODEX, swapped)
    assert [record.at_ms for record in records][:8] == [1787220005000, None, None, 1787220002000, *[None] * 4]


def test_the_reference_to_a_base_is_kept(shared: Path) -> None:
    """c24: the inherited part lies in another file; the header names it, and nothing is invented."""
    header = CODEX.read_header((shared / "damaged/c24_history_base.jsonl").read_bytes())
    assert header.history_base is not None
    assert (header.history_base.end_ordinal, header.history_base.end_offset) == (9, 4321)
