"""Every Claude Code file of ``../shared/samples`` is read as its ground truth says, or refused for a stated reason."""

from itertools import pairwise
from pathlib import Path

import pytest

from adapters.base import Tallies, Verdict
from adapters.objective import Kind
from adapters.registry import ADAPTERS
from tests.adapters.contract import read, read_by_line
from tests.adapters.corpora import (
    certain_runs,
    refusal_of,
    runs_by_offset,
    sample_bytes,
    settled,
    truth_of,
)

CLAUDE = ADAPTERS["claude"]

REFUSED = {"sc019_nover.jsonl": "header"}
"""Pretty-printed JSON of another agent: no line is a record."""

WITHOUT_IDS = {"sc017_2.1.207.jsonl", "sc034_2.1.111_2.1.112_2.1.161_2.1.22.jsonl"}
"""Public fixtures whose calls and results name no ids. The truth pairs them all the same; here nothing is paired
without an id, so that their calls have no result, their results no call, and the self-check says so."""

PARTLY = {
    "sc018_2.1.12_2.1.7.jsonl": {"defect:glued-records"},
    "sc035_1.0.0_1.0.24.jsonl": {
        "unknown-type:user/message",
        "unknown-type:user/content",
        "defect:not-an-object",
        "defect:no-type",
    },
}
"""A real glued line; a fixture of edge cases, with messages of no known shape and lines that are no records."""

NOT_RECORDS = {
    "<not an object>": ("not-an-object",),
    "<not json>": ("not-json", "glued-records"),
    "None": ("no-type",),
}
"""How the truth counts what is a defect here."""


@pytest.fixture(params=truth_of("claude"), ids=lambda row: row["file"].partition("/")[2])
def row(request: pytest.FixtureRequest) -> dict:
    """Give one line of the truth."""
    return request.param


@pytest.fixture
def data(row: dict) -> bytes:
    """Give the bytes of its file, or see it refused."""
    data, name = sample_bytes(row), Path(row["file"]).name
    if name in REFUSED:
        assert refusal_of(CLAUDE, data) == REFUSED[name]
        pytest.skip("refused, as it should be")
    return data


def counted(tallies: Tallies) -> dict[str, int]:
    """Return the records as the truth counts them: by type, and what is no record under its own names."""
    found = dict(tallies.records)
    for name, kinds in NOT_RECORDS.items():
        if count := sum(tallies.defects.get(kind, 0) for kind in kinds):
            found[name] = count
    return found


def clean(tool_calls: dict[str, int]) -> dict[str, int]:
    """Return the truth's names as they are kept: what is not shaped like a name is none."""
    return {"other" if " " in name else name: count for name, count in tool_calls.items()}


@pytest.mark.requirement("T5", "X2")
def test_counts_agree_with_the_truth(row: dict, data: bytes) -> None:
    """Records, calls by tool, results by outcome and code, orphans, nested blocks: as counted independently."""
    _, reader = read(CLAUDE, data)
    tallies, name = reader.tallies, Path(row["file"]).name
    both = (tallies.outcomes, tallies.inherited_outcomes)
    found: dict[str, object] = {
        "records": counted(tallies),
        "tool_calls": tallies.tool_calls,
        "tool_results": {key: sum(getattr(one, key) for one in both) for key in row["tool_results"]},
        "failure_codes": tallies.failure_codes,
        "evidence_events": tallies.evidence,
    }
    if name not in WITHOUT_IDS:
        found["calls_without_result"] = tallies.calls_without_result
        found["results_without_call"] = tallies.results_without_call
    truth = {key: row[key] for key in found}
    truth["tool_calls"] = clean(row["tool_calls"])
    assert found == truth


def test_what_was_understood_is_said(row: dict, data: bytes) -> None:
    """Nine files in ten are understood whole; the others say what was not, by name."""
    understanding = read(CLAUDE, data)[1].self_check()
    name = Path(row["file"]).name
    if name in WITHOUT_IDS:
        assert understanding.reasons == ("results-without-calls",)
    elif name in PARTLY:
        assert understanding.verdict is Verdict.PARTLY
        assert set(understanding.reasons) == PARTLY[name]
    else:
        assert understanding.verdict is Verdict.UNDERSTOOD, understanding


@pytest.mark.requirement("T73", "X2")
def test_runner_results_agree_with_the_truth(row: dict, data: bytes) -> None:
    """Every run of a recognised runner is found at its line with its counts and its outcome, and none elsewhere."""
    found, wanted = runs_by_offset(read(CLAUDE, data)[0]), certain_runs(row).keys()
    truth = {entry["offset"]: entry for entry in row["runner_results"]}
    test_runs = {offset for offset, one in found.items() if one.kind is Kind.TEST_RUN}
    assert wanted <= found.keys()
    assert test_runs <= truth.keys()
    for offset in found.keys() & truth.keys():
        one, entry = found[offset], truth[offset]
        if offset in wanted:
            assert (one.runner, one.passed, one.failed or 0) == (
                entry["runner"],
                entry["passed"],
                entry["failed"],
            )
            assert one.outcome.value == {"success": "pass", "failure": "fail"}[entry["outcome"]]
        elif (entry["exit_code_is_the_runners"], entry["outcome"]) != ("if zero", "success"):
            assert one.outcome.value != "pass"


def test_lines_and_blocks_give_the_same(data: bytes) -> None:
    """The block path, pieces of any size and the path line by line see the same records and counts."""
    blocks, reader = read(CLAUDE, data)
    lines, other = read_by_line(CLAUDE, data)
    assert blocks == lines
    assert reader.tallies == other.tallies
    pieces, third = read(CLAUDE, data, piece=65_536)
    assert (pieces, third.tallies) == (blocks, reader.tallies)


@pytest.mark.parametrize("chain", ["chainE", "chainF", "chainG"])
def test_a_grown_session_keeps_its_earlier_records(shared: Path, chain: str) -> None:
    """Each snapshot of a session is a prefix of the next, and so are its settled results and prompts."""
    files = sorted((shared / "samples/claude").glob(f"{chain}_*.jsonl"))
    assert len(files) >= 4
    for before, after in pairwise(path.read_bytes() for path in files):
        assert after.startswith(before)
        earlier = settled(CLAUDE, before)
        assert earlier == settled(CLAUDE, after)[: len(earlier)]
