"""What a fixture is, for every host: a simulated transcript, a description beside it, and the records that it gives.

``python -m tests.adapters.fixtures [HOST …]`` writes ``fixtures/transcripts``; ``test_fixtures`` proves that it is up
to date. A description that is written is a draft: it is to be read before it is kept.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from adapters.base import Adapter, Verdict
from adapters.errors import AdapterError, UnsupportedFormatError
from adapters.lines import LineSplitter
from adapters.record import Defect, HumanStatement, ToolResult, Unknown
from adapters.registry import ADAPTERS
from tests.adapters.contract import read

FOLDER = Path(__file__).resolve().parents[2] / "fixtures/transcripts"
HOSTS = ("claude", "codex", "king")

_EXPECT = {
    Verdict.UNDERSTOOD: "ok",
    Verdict.PARTLY: "partly understood",
    Verdict.NOT: "not understood",
}


@dataclass(frozen=True)
class Case:
    """One transcript; ``readable`` is false where the file itself is refused."""

    data: bytes
    comment: str
    readable: bool = True


def cases_of(host: str) -> Mapping[str, Case]:
    """Return every case of a host by ``<version>/<name>``."""
    made: Mapping[str, Case] = import_module(f"tests.adapters.{host}_cases").cases()
    return made


def expectation(adapter: Adapter, case: Case) -> str:
    """Return the toml that describes what reading ``case`` gives now."""
    comment = f"comment = {json.dumps(case.comment)}"
    try:
        records, reader = read(adapter, case.data)
    except AdapterError as error:
        expect = "unsupported" if isinstance(error, UnsupportedFormatError) else "header"
        return "\n".join([f'expect = "{expect}"', comment, f'reason = "{error.reason}"', ""])
    splitter = LineSplitter()
    list(splitter.feed(case.data))
    check, tallies = reader.self_check(), reader.tallies
    lines = [
        f'expect = "{_EXPECT[check.verdict]}"',
        comment,
        f'verdict = "{check.verdict.value}"',
        f"reasons = {json.dumps(check.reasons)}",
        f"pending_bytes = {splitter.pending[1]}",
        f"prompts = {tallies.prompts}",
        f"inherited_prompts = {tallies.inherited_prompts}",
    ]
    for defect in (record for record in records if isinstance(record, Defect)):
        line = case.data.count(b"\n", 0, defect.offset) + 1
        place = [f"line = {line}", f"offset = {defect.offset}", f'kind = "{defect.kind.value}"']
        lines += ["", "[[defect]]", *place]
    return "\n".join([*lines, ""])


def golden(adapter: Adapter, data: bytes) -> str:
    """Return the records of ``data`` as JSON: outcomes, places, ends and counts of characters, no output."""
    records, reader = read(adapter, data)
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


def main(hosts: Sequence[str]) -> None:
    """Write every case of ``hosts``, all of them if none is named."""
    for host in hosts or HOSTS:
        for name, case in cases_of(host).items():
            place = FOLDER / host / f"{name}.jsonl"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(case.data)
            place.with_suffix(".toml").write_text(expectation(ADAPTERS[host], case), encoding="utf-8")
            if case.readable:
                text = golden(ADAPTERS[host], case.data)
                place.with_suffix(".records.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
