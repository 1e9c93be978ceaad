"""What ``../shared`` holds: real sessions with their ground truth, and damaged files with what is expected of them.

Rows and files are loaded and brought into one form here; what must hold for a host's files stands in that host's
tests. A clone without ``../shared`` has no rows.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from adapters.base import Adapter, Cursor, Outcomes
from adapters.errors import AdapterError
from adapters.lines import LineSplitter
from adapters.objective import Flag, Kind, Objective, Outcome, decide_objective
from adapters.objective.runners import BY_RUNNER
from adapters.record import Record, ToolResult

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
SAMPLES = SHARED / "samples"

Row = dict[str, Any]


def truth_of(host: str) -> list[Row]:
    """Return the ground truth of a host's samples, one row a file."""
    return _rows(SAMPLES / "truth.jsonl", host)


def expected_of(host: str) -> list[Row]:
    """Return what is expected of a host's damaged files, one row a file."""
    return _rows(SHARED / "damaged/expected.jsonl", host)


def _rows(path: Path, host: str) -> list[Row]:
    if not path.is_file():
        return []
    rows = map(json.loads, path.read_text(encoding="utf-8").split("\n")[:-1])
    return [row for row in rows if row["provider"] == host]


def sample_bytes(row: Row) -> bytes:
    """Return a sample with its last newline: the truth counts a whole last record, a reader waits for its end."""
    data = (SAMPLES / row["file"]).read_bytes()
    return data if data.endswith(b"\n") or not data.rstrip().endswith(b"}") else data + b"\n"


def refusal_of(adapter: Adapter, data: bytes) -> str | None:
    """Return the reason for which a file is refused as a whole, ``None`` if it is not."""
    try:
        adapter.read_header(data)
    except AdapterError as error:
        return error.reason
    return None


def settled(adapter: Adapter, data: bytes) -> list[Record]:
    """Return the records that are certain before the end of the file is known."""
    reader = adapter.reader(adapter.read_header(data))
    return [record for line in LineSplitter().feed(data) for record in reader.feed(line)]


def read_on(adapter: Adapter, before: bytes, after: bytes) -> tuple[Cursor, list[Record]]:
    """Read ``before``, and on from there in ``after``: the cursor between, and what the second reader ends with."""
    first = adapter.reader(adapter.read_header(before))
    for line in LineSplitter().feed(before):
        first.feed(line)
    cursor = first.cursor()
    second = adapter.reader(adapter.read_header(after), cursor)
    second.resume(line for line in LineSplitter().feed(after) if line.offset < cursor.offset)
    for line in LineSplitter(cursor.offset).feed(after[cursor.offset :]):
        second.feed(line)
    return cursor, list(second.finish())


def objectives_of(records: Iterable[Record]) -> list[tuple[ToolResult, Objective]]:
    """Return every result that proves or shows something, with what it does."""
    results = [record for record in records if isinstance(record, ToolResult)]
    return [(one, found) for one in results if (found := decide_objective(one)) is not None]


def runs_by_offset(records: Iterable[Record]) -> dict[int, Objective]:
    """Return what was found by the place of its last line, as the truth has it: test runs, and no checks."""
    return {
        result.lines[-1].offset: found
        for result, found in objectives_of(records)
        if found.kind is not Kind.CHECK
    }


def certain_runs(row: Row) -> dict[int, Row]:
    """Return the runs of the truth that must be found: a known runner, its own exit code, and its whole output."""
    return {
        entry["offset"]: entry
        for entry in row["runner_results"]
        if entry["runner"] in BY_RUNNER
        and entry["exit_code_is_the_runners"] == "yes"
        and not entry["output_truncated"]
        and not entry.get("polled")
    }


def verdict_of(found: Objective) -> str:
    """Return the word of ``expected.jsonl`` for a result."""
    if {Flag.CONFLICT, Flag.INCONSISTENT} & set(found.flags):
        return "conflict"
    return {Outcome.PASS: "pass", Outcome.FAIL: "fail"}.get(found.outcome, "shown")


def counted(outcomes: Outcomes) -> dict[str, int]:
    """Return the outcomes that occur."""
    names = ("success", "failure", "unknown", "cancelled")
    return {name: count for name in names if (count := getattr(outcomes, name))}
