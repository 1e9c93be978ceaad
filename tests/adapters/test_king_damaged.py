"""Every King file of ``../shared/damaged`` behaves as its line in ``expected.jsonl`` says."""

import json
from pathlib import Path

import pytest

from adapters.base import Verdict
from adapters.errors import CursorError, DefectKind
from adapters.king import KingAdapter
from adapters.lines import LineSplitter
from adapters.objective import Outcome
from adapters.record import CallStatus, Defect, HumanStatement, ToolResult
from adapters.registry import ADAPTERS
from tests.adapters.contract import raw_of, read
from tests.adapters.corpora import counted, expected_of, objectives_of, refusal_of, verdict_of

KING = ADAPTERS["king"]

KINDS = {
    "two whole records without newline (}{)": DefectKind.GLUED,
    "NUL run as a line": DefectKind.NUL,
    "byte order mark": DefectKind.BYTE_ORDER_MARK,
}

REFUSED = {
    "k03_python_kimi_wire.jsonl": "python-kimi-cli",
    "k15_schema_version.jsonl": "header",
    "k16_unknown_protocol.jsonl": "unknown-protocol",
    "k20_no_metadata.jsonl": "header",
}

SEEN_BEFORE = {"k06b_after_upgrade.jsonl"}
"""What is not new here is so only to who has seen the file before: a reader sees one file (docs/spec)."""

PIPED = {"k11_runners.jsonl": {"Bash_4"}}
"""Calls whose shell line is a pipe: their counts may be shown, and no outcome proved."""


def code_of(result: ToolResult) -> int | None:
    """Return the exit code that is stated or follows: a success without a number is 0 of the whole line."""
    ended_well = result.status is CallStatus.COMPLETED and result.error_flag is False
    return 0 if ended_well and result.exit_code is None else result.exit_code


@pytest.fixture(params=expected_of("king"), ids=lambda row: row["file"].removesuffix("/wire.jsonl"))
def row(request: pytest.FixtureRequest) -> dict:
    """Give one line of the expectations."""
    return request.param


@pytest.fixture
def data(row: dict, shared: Path) -> bytes:
    """Give the bytes of its file, or see it refused."""
    data = (shared / "damaged" / row["file"]).read_bytes()
    assert (row["file"] in REFUSED) == row.get("refuse", False)
    if row["file"] in REFUSED:
        assert refusal_of(KING, data) == REFUSED[row["file"]]
        pytest.skip("refused, as it should be")
    return data


@pytest.mark.requirement("T71", "T73")
def test_a_damaged_file_gives_exactly_what_is_expected(row: dict, data: bytes) -> None:
    """Records, pending bytes, defects with place and kind, prompts, outcomes: all as stated, and nothing more."""
    records, reader = read(KING, data)
    splitter = LineSplitter()
    list(splitter.feed(data))
    tallies = reader.tallies
    assert sum(tallies.records.values()) == row["complete_records"]
    assert splitter.pending[1] == row["pending_bytes"]
    defects = [record for record in records if isinstance(record, Defect)]
    # Our lengths count the carriage return before the newline; those of the expectation do not.
    assert [(d.offset, len(raw_of(data, d).removesuffix(b"\r")), d.kind) for d in defects] == [
        (d["offset"], d["length"], KINDS[d["kind"]]) for d in row["defects"]
    ]
    own = (tallies.prompts, counted(tallies.outcomes))
    copied = (tallies.inherited_prompts, counted(tallies.inherited_outcomes))
    inherited = row.get("inherited", {"prompts": 0, "outcomes": {}})
    if row["file"] in SEEN_BEFORE:
        assert own == (row["prompts"] + inherited["prompts"], inherited["outcomes"])
    else:
        assert own == (row["prompts"], row["outcomes"])
        assert copied == (inherited["prompts"], inherited["outcomes"])
    statements = [record for record in records if isinstance(record, HumanStatement)]
    assert len(statements) == tallies.prompts + tallies.inherited_prompts


@pytest.mark.requirement("T73")
def test_a_damaged_file_proves_no_more_runs_than_expected(row: dict, data: bytes) -> None:
    """Every objective result is an expected one, field for field; a pipe may show its counts or nothing."""
    records, _ = read(KING, data)
    piped = PIPED.get(row["file"], set())
    found = {
        r.call_id: [r.call_id, o.runner, o.passed, o.failed or 0, o.skipped or 0, code_of(r), verdict_of(o)]
        for r, o in objectives_of(records)
    }
    expected = {entry[0]: [*entry[:3], entry[3] or 0, entry[4] or 0, *entry[5:]] for entry in row["runners"]}
    if row["file"] in SEEN_BEFORE:
        assert [entry[-1] for entry in found.values()] == ["pass"]
        return
    for call_id in piped:
        shown = found.pop(call_id, None)
        assert shown is None or shown[-1] == "shown"
        expected.pop(call_id)
    assert found == expected


def test_a_file_with_strange_lines_is_partly_understood(shared: Path) -> None:
    """k02: unknown records and loop events are counted under their names, the known ones are used."""
    _, reader = read(KING, (shared / "damaged/k02_unknown_records.jsonl").read_bytes())
    understanding = reader.self_check()
    assert understanding.verdict is Verdict.PARTLY
    assert understanding.reasons == (
        "unknown-type:context.append_loop_event/quantum.step",
        "unknown-type:hologram.rendered",
    )


def test_a_rewritten_file_is_another_one(shared: Path) -> None:
    """k06: after an upgrade a cursor does not fit, and old results are found by digest where lines are the same."""
    before, after = (
        (shared / "damaged" / name).read_bytes()
        for name in ("k06a_before_upgrade.jsonl", "k06b_after_upgrade.jsonl")
    )
    header = KING.read_header(before)
    reader = KING.reader(header)
    for line in LineSplitter().feed(before):
        reader.feed(line)
    with pytest.raises(CursorError):
        KING.reader(KING.read_header(after), reader.cursor())
    king = KingAdapter()
    placed = [king.of_agent(king.read_header(data), "the-session") for data in (before, after)]
    cursor = king.reader(placed[0]).cursor()
    assert placed[0].session_id == placed[1].session_id
    with pytest.raises(CursorError):
        king.reader(placed[1], cursor)


def test_two_agents_of_one_session_are_two_files(shared: Path) -> None:
    """k08: the same id in both; the header of each names its own file, and the subagent has no human."""
    king = KingAdapter()
    results = {}
    for agent in ("main", "agent-0"):
        data = (shared / f"damaged/k08_sub/agents/{agent}/wire.jsonl").read_bytes()
        header = king.of_agent(king.read_header(data), "the-session", agent)
        reader = king.reader(header)
        for line in LineSplitter().feed(data):
            reader.feed(line)
        (result,) = reader.finish()
        assert isinstance(result, ToolResult)
        results[header.session_id] = (result.call_id, result.exit_code, header.is_subagent, header.parent_id)
    assert results == {
        "the-session": ("Bash_1", None, False, None),
        "the-session:agent-0": ("Bash_1", 1, True, "the-session"),
    }


def test_order_is_by_position_and_odd_times_are_none(shared: Path) -> None:
    """k14: time runs backwards, is missing or is a text; nothing is guessed."""
    records, _ = read(KING, (shared / "damaged/k14_time_backwards.jsonl").read_bytes())
    assert [record.at_ms for record in records] == [1787220000020, 1787219995040]


def test_too_big_and_too_deep_lines_are_one_defect_each(shared: Path, tmp_path: Path) -> None:
    """gen_big: a line of 10 MB is skipped, one nested 100,000 deep is a defect, the lines around them are read."""
    import subprocess
    import sys

    for arguments, kind in (
        (("line", "king", "--bytes", "10485760"), DefectKind.TOO_LONG),
        (("nest", "king", "--depth", "100000"), DefectKind.DEPTH),
    ):
        place = tmp_path / arguments[0]
        script = [
            sys.executable,
            str(shared / "damaged/gen_big.py"),
            *arguments[:2],
            str(place),
            *arguments[2:],
        ]
        subprocess.run(script, check=True)
        records, reader = read(KING, place.read_bytes(), piece=65_536)
        assert [record.kind for record in records if isinstance(record, Defect)] == [kind]
        assert reader.tallies.turns == 2


def test_a_large_file_agrees_with_its_truth(shared: Path, tmp_path: Path) -> None:
    """gen_big: every prompt, outcome and test run of a generated wire is counted."""
    import subprocess
    import sys

    place = tmp_path / "king.jsonl"
    script = [sys.executable, str(shared / "damaged/gen_big.py"), "king", str(place), "--turns", "500"]
    truth = json.loads(subprocess.run(script, check=True, capture_output=True).stdout)
    records, reader = read(KING, place.read_bytes(), piece=65_536)
    runs = [run for _, run in objectives_of(records)]
    assert reader.tallies.prompts == truth["prompts"]
    assert counted(reader.tallies.outcomes) == {k: truth[k] for k in ("success", "failure", "unknown")}
    assert len(runs) == truth["runs"]
    assert sum(run.outcome is Outcome.FAIL for run in runs) == truth["runs_failed"]
    assert sum(run.outcome is Outcome.PASS for run in runs) == truth["runs"] - truth["runs_failed"]
