"""The fixtures of Claude Code: each transcript, what is expected of it, and the records that it gives."""

import json
import tomllib
from pathlib import Path

import pytest

from adapters.base import Verdict
from adapters.errors import AdapterError, UnsupportedFormatError
from adapters.lines import LineSplitter
from adapters.record import Defect, HumanStatement, ToolResult, Unknown
from adapters.registry import ADAPTERS
from tests.adapters.claude_cases import Case, cases
from tests.adapters.contract import read

FOLDER = Path(__file__).resolve().parents[2] / "fixtures/transcripts/claude"
KEYS = {"expect", "comment", "reason", "verdict", "pending_bytes", "prompts", "inherited_prompts", "defect"}


def expectation(case: Case) -> str:
    """Return the toml that describes what reading ``case`` gives now: a draft, to be read before it is kept."""
    lines = [f"comment = {json.dumps(case.comment)}"]
    try:
        records, reader = read(ADAPTERS["claude"], case.data)
    except AdapterError as error:
        expect = "unsupported" if isinstance(error, UnsupportedFormatError) else "header"
        return "\n".join([f'expect = "{expect}"', *lines, f'reason = "{error.reason}"', ""])
    splitter = LineSplitter()
    list(splitter.feed(case.data))
    verdict, tallies = reader.self_check().verdict, reader.tallies
    expect = {"understood": "ok", "partly-understood": "partly understood"}.get(verdict.value, verdict.value)
    lines = [f'expect = "{expect}"', *lines, f'verdict = "{verdict.value}"']
    lines += [f"pending_bytes = {splitter.pending[1]}", f"prompts = {tallies.prompts}"]
    if tallies.inherited_prompts:
        lines.append(f"inherited_prompts = {tallies.inherited_prompts}")
    for defect in (record for record in records if isinstance(record, Defect)):
        line = case.data.count(b"\n", 0, defect.offset) + 1
        lines += [
            "",
            "[[defect]]",
            f"line = {line}",
            f"offset = {defect.offset}",
            f'kind = "{defect.kind.value}"',
        ]
    return "\n".join([*lines, ""])


def golden(data: bytes) -> str:
    """Return the records of ``data`` as JSON: places, ends and counts of characters, no text."""
    records, reader = read(ADAPTERS["claude"], data)
    outcomes = reader.tallies.outcomes
    rows: list[dict[str, object]] = [
        {"outcomes": [outcomes.success, outcomes.failure, outcomes.unknown, outcomes.cancelled]}
    ]
    for record in records:
        match record:
            case ToolResult():
                rows.append(_result(record))
            case HumanStatement():
                rows.append({"prompt": record.offset, "at_ms": record.at_ms, "inherited": record.inherited})
            case Unknown():
                rows.append({"unknown": record.type, "offset": record.offset})
    return json.dumps(rows, indent=1) + "\n"


def _result(record: ToolResult) -> dict[str, object]:
    return {
        "result": [f"{ref.role.value}@{ref.offset}+{ref.length}#{ref.part}" for ref in record.lines],
        "at_ms": record.at_ms,
        "command": record.command,
        "exit_code": record.exit_code,
        "error_flag": record.error_flag,
        "status": record.status.value,
        "conflict": record.conflict,
        "inherited": record.inherited,
        "characters": [len(record.output.head), len(record.output.tail)],
        "whole": record.output.whole,
        "truncated": record.output.truncated,
    }


def test_the_fixtures_are_what_the_simulator_writes() -> None:
    """No fixture is cut from anyone's session: each file is made again, byte for byte."""
    made = {f"{name}.jsonl": case.data for name, case in cases().items()}
    assert {str(path.relative_to(FOLDER)): path.read_bytes() for path in FOLDER.rglob("*.jsonl")} == made


@pytest.mark.parametrize("name", sorted(cases()))
def test_a_fixture_gives_what_its_expectation_says(name: str) -> None:
    """The toml beside a transcript holds its verdict, its defects and its prompts, and nothing else."""
    case = cases()[name]
    stated = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    assert stated.keys() <= KEYS
    assert stated == tomllib.loads(expectation(case))
    assert stated["expect"] != Verdict.NOT.value
    if case.readable:
        assert (FOLDER / f"{name}.records.json").read_text(encoding="utf-8") == golden(case.data)
