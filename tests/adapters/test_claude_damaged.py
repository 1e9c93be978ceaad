"""Every Claude Code file of ``../shared/damaged`` behaves as its line in ``expected.jsonl`` says."""

import json
from pathlib import Path

import pytest

from adapters.base import Verdict
from adapters.claude import ClaudeAdapter
from adapters.errors import DefectKind
from adapters.lines import LineSplitter
from adapters.objective import Outcome
from adapters.record import Defect, HumanStatement, ToolResult
from adapters.registry import ADAPTERS
from tests.adapters.contract import read
from tests.adapters.corpora import counted, expected_of, objectives_of, read_on, verdict_of

CLAUDE = ADAPTERS["claude"]

KINDS = {
    "stub glued to the next record": DefectKind.GLUED,
    "two writers spliced": DefectKind.GLUED,
    "remainder of a spliced record": DefectKind.NOT_JSON,
    "NUL padding inside a record": DefectKind.NUL,
}

ORIGINAL = {"d15b_after_fork.jsonl": "d15a_before_fork.jsonl"}
"""A copy that nothing in its own bytes shows to be one: only the uuids of the original do, which must be known."""


@pytest.fixture(params=expected_of("claude"), ids=lambda row: row["file"].partition("_")[0])
def row(request: pytest.FixtureRequest) -> dict:
    """Give one line of the expectations."""
    return request.param


@pytest.fixture
def data(row: dict, shared: Path) -> bytes:
    """Give the bytes of its file."""
    return (shared / "damaged" / row["file"]).read_bytes()


@pytest.fixture
def adapter(row: dict, shared: Path) -> ClaudeAdapter:
    """Give an adapter that knows the uuids of the original, where the file is a copy of one."""
    if row["file"] not in ORIGINAL:
        return ClaudeAdapter()
    lines = (shared / "damaged" / ORIGINAL[row["file"]]).read_text(encoding="utf-8").split("\n")[:-1]
    return ClaudeAdapter(frozenset(json.loads(line)["uuid"] for line in lines))


@pytest.mark.requirement("T72", "T73")
def test_a_damaged_file_gives_exactly_what_is_expected(
    row: dict, data: bytes, adapter: ClaudeAdapter
) -> None:
    """Records, pending bytes, defects with place and kind, prompts, outcomes: all as stated, and nothing more."""
    records, reader = read(adapter, data)
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
    inherited = row.get("inherited", {"prompts": 0, "outcomes": {}})
    assert tallies.inherited_prompts == inherited["prompts"]
    assert counted(tallies.inherited_outcomes) == inherited["outcomes"]


@pytest.mark.requirement("T73")
def test_a_damaged_file_proves_no_more_runs_than_expected(
    row: dict, data: bytes, adapter: ClaudeAdapter
) -> None:
    """Every objective result is an expected one, field for field; a contradicted call is one result, not two."""
    records, _ = read(adapter, data)
    found = [
        [r.call_id, o.runner, o.passed, o.failed or 0, o.skipped or 0, r.exit_code, verdict_of(o)]
        for r, o in objectives_of(records)
        if o.outcome not in {Outcome.BLOCKED, Outcome.CANCELLED}  # nothing ran, or nobody saw its end
    ]
    expected = {call_id: rest for call_id, *rest in row["runners"]}
    assert {call_id for call_id, *_ in found} == expected.keys()
    for call_id, runner, passed, failed, skipped, code, verdict in found:
        wanted = expected[call_id]
        assert (runner, passed, verdict) == (wanted[0], wanted[1], wanted[5]), call_id
        if verdict != "conflict":
            assert (failed, skipped, code) == (wanted[2], wanted[3] or 0, wanted[4]), call_id


def test_without_the_original_nothing_is_guessed(shared: Path) -> None:
    """d15b alone: no rule on its bytes could tell it from an own session, and no time does (d16)."""
    _, reader = read(CLAUDE, (shared / "damaged/d15b_after_fork.jsonl").read_bytes())
    assert (reader.tallies.prompts, reader.tallies.inherited_prompts) == (2, 0)


def test_a_repeated_line_is_noted_and_counts_once(shared: Path) -> None:
    """d12: one uuid with two bodies makes two statements; the same bytes again make none."""
    _, reader = read(CLAUDE, (shared / "damaged/d12_duplicate_uuid.jsonl").read_bytes())
    assert reader.tallies.anomalies == {"repeated-line": 1}


def test_a_mixture_of_sessions_is_noted(shared: Path) -> None:
    """d21: the records of the other session are told apart and marked."""
    records, reader = read(CLAUDE, (shared / "damaged/d21_two_sessions_interleaved.jsonl").read_bytes())
    assert reader.tallies.anomalies == {"another-session": 2}
    assert [r.inherited for r in records if isinstance(r, HumanStatement)] == [False, True, False, True]


def test_unknown_types_and_blocks_are_named(shared: Path) -> None:
    """d18: the file is partly understood, and every strange name is one of the reasons."""
    _, reader = read(CLAUDE, (shared / "damaged/d18_unknown_type.jsonl").read_bytes())
    understanding = reader.self_check()
    assert understanding.verdict is Verdict.PARTLY
    assert set(understanding.reasons) == {
        "unknown-type:holographic",
        "unknown-type:brand-new-side-record",
        "unknown-type:assistant/future_block",
    }


def test_only_an_exact_time_is_a_time(shared: Path) -> None:
    """d16: order is by position; a time with an offset or without a zone is none."""
    records, _ = read(CLAUDE, (shared / "damaged/d16_timestamps.jsonl").read_bytes())
    base = 1_787_220_005_000
    assert [r.at_ms for r in records if isinstance(r, HumanStatement)] == [
        base, base - 1, base - 5 * 3_600_000 - 5_000, base, None,
    ]  # fmt: skip


def test_a_torn_call_goes_on_when_its_result_is_whole(shared: Path) -> None:
    """d01: reading goes on from the cursor once the host has written the rest of the line."""
    data = (shared / "damaged/d01_torn_tail.jsonl").read_bytes()
    grown = data + b',"timestamp":"2026-08-20T10:00:03.111Z","toolUseResult":"Error: Exit code 1"}\n'
    cursor, (result,) = read_on(CLAUDE, data, grown)
    assert len(cursor.open_lines) == 1
    assert isinstance(result, ToolResult)
    assert result.exit_code == 1
    assert result in read(CLAUDE, grown)[0]
