"""Compares reports of ``timeline inspect`` with what is known about the files of ``../shared``.

Three collections: ``samples`` (real sessions with a ground truth), ``damaged`` (each with its expectation) and
``live`` (driven by known scripts: they must be understood). A comparison gives the list of what disagrees.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from adapters.objective import Kind
from adapters.objective.runners import BY_RUNNER
from adapters.registry import ADAPTERS
from timeline.findings import Findings, RunFound
from timeline.inspection import inspect_file

SHARED = Path(__file__).parents[2] / "shared"

Row = dict[str, Any]

REFUSED_SAMPLES = {
    "claude/sc019_nover.jsonl": "header",
    "codex/sc018_nover.jsonl": "header",
    "codex/sc019_nover.jsonl": "header",
    "codex/sc020_0.146.0.jsonl": "unknown-history-mode",
}
"""Fixtures without a header; an inventory whose values, its mode included, were replaced."""

WITHOUT_IDS = {"claude/sc017_2.1.207.jsonl", "claude/sc034_2.1.111_2.1.112_2.1.161_2.1.22.jsonl"}
"""Inventories whose call ids were replaced: counted, and refused since no result has a call."""

NEEDS_ANOTHER = {"d15b_after_fork.jsonl", "k06b_after_upgrade.jsonl"}
"""Damaged files of which only a look at another file says what is copied; a report is of one file."""

_OTHER_PRODUCT = re.compile("python kimi-cli|no metadata line")
"""How the manifest names King files that a King reader must refuse."""

_COUNTS = ("passed", "failed", "skipped", "total", "packages_ok", "packages_failed")
_ZERO_IS_ABSENT = ("failed", "skipped", "packages_failed")
"""Counts that runners leave out where they are zero, and that the truth then states or leaves out."""

_NAMES = {"<bare metadata>": "bare-metadata"}
"""Names of the truth that are written otherwise here: a stored name has no space."""

_NO_RECORDS = {
    "<not an object>": {"not-an-object", "blank"},
    "None": {"no-type"},
    "<not json>": {"not-json", "glued-records", "nul-bytes", "blank"},
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One file of a provider; ``expected`` is its row of the truth or of the expectations, where there is one."""

    collection: str
    provider: str
    path: Path
    expected: Row | None

    @property
    def host(self) -> str:
        """The adapter to read it with: Kimi Code writes King's wire and is a host of its own."""
        return self.provider

    @property
    def name(self) -> str:
        """The path below ``../shared``."""
        return str(self.path.relative_to(SHARED))


def samples() -> Iterator[Sample]:
    """Every file of every collection whose host has an adapter."""
    for row in _rows("samples/truth.jsonl"):
        yield Sample("samples", row["provider"], SHARED / "samples" / row["file"], row)
    for row in _rows("damaged/expected.jsonl"):
        yield Sample("damaged", row["provider"], SHARED / "damaged" / row["file"], row)
    for provider, pattern in (
        ("codex", "codex-*/sessions/**/*.jsonl"),
        ("kimi", "kimi-*/sessions/**/wire.jsonl"),
    ):
        for path in sorted((SHARED / "samples/live").glob(pattern)):
            yield Sample("live", provider, path, None)


def report_of(sample: Sample, scratch: Path) -> Findings:
    """What ``timeline inspect`` reports on the file.

    The truth counts a whole last record without its newline; a reader waits for the newline, so it is given here.
    """
    content = sample.path.read_bytes()
    path = sample.path
    if sample.collection == "samples" and not content.endswith(b"\n") and _is_record(content):
        path = scratch / "completed.jsonl"
        path.write_bytes(content + b"\n")
    return inspect_file(ADAPTERS[sample.host], str(path))


def _is_record(content: bytes) -> bool:
    try:
        return isinstance(json.loads(content[content.rfind(b"\n") + 1 :]), dict)
    except ValueError:
        return False


def disagreements(sample: Sample, found: Findings) -> list[str]:
    """Everything in which the report is not what is known about the file."""
    if sample.expected is None:
        return [] if found.verdict == "understood" else [f"verdict {found.verdict}: {found.detail}"]
    is_counted = sample.expected.get("file") in WITHOUT_IDS and found.reason == "results-without-calls"
    if must_refuse(sample) or (found.verdict == "refused" and not is_counted):
        return _compare_refusal(sample, found)
    if sample.collection == "damaged":
        return list(_compare_damaged(sample.expected, found, sample.path.read_bytes()))
    return list(_compare_truth(sample.expected, found))


def must_refuse(sample: Sample) -> bool:
    """Whether a strict reader must refuse the file as a whole."""
    if sample.collection == "damaged":
        return bool(sample.expected and sample.expected.get("refuse"))
    if sample.collection == "samples" and sample.expected:
        file = sample.expected["file"]
        return file in REFUSED_SAMPLES or (
            sample.provider == "king" and bool(_OTHER_PRODUCT.search(_generations()[file]))
        )
    return False


def _compare_refusal(sample: Sample, found: Findings) -> list[str]:
    if not must_refuse(sample):
        return [f"refused: {found.reason}: {found.detail}"]
    if found.verdict != "refused":
        return [f"not refused: {found.verdict}"]
    wanted = REFUSED_SAMPLES.get(sample.expected["file"]) if sample.expected else None
    return [] if wanted in {None, found.reason} else [f"refused for {found.reason}, not for {wanted}"]


# -- samples ---------------------------------------------------------------------------------------------------


def _compare_truth(truth: Row, found: Findings) -> Iterator[str]:
    # The truth counts what is no record under names of its own; a reader has a defect there.
    odd = {name: count for name, count in truth["records"].items() if name in _NO_RECORDS}
    records = {_NAMES.get(name, name): n for name, n in truth["records"].items() if name not in odd}
    yield from _differ("records", records, found.records)
    for name, count in odd.items():
        # A record that the end of the file cuts in two is in the truth, and a reader waits for the rest.
        waiting = int(name == "<not json>" and found.pending_bytes > 0)
        got = sum(defect.kind in _NO_RECORDS[name] for defect in found.defects)
        if not got <= count <= got + waiting:
            yield f"defects {name}: {got}, not {count}"
    # A name with a space is none that is kept.
    tools = Counter()
    for name, count in truth["tool_calls"].items():
        tools["other" if " " in name else name] += count
    yield from _differ("tool_calls", tools, found.tool_calls)
    yield from _differ("tool_results", truth["tool_results"], found.tool_results)
    yield from _differ("failure_codes", truth["failure_codes"], found.failure_codes)
    yield from _differ("evidence_events", truth["evidence_events"], found.evidence_events)
    for name in ("calls_without_result", "results_without_call") if truth["file"] not in WITHOUT_IDS else ():
        if truth[name] != getattr(found, name):
            yield f"{name}: {getattr(found, name)}, not {truth[name]}"
    yield from _compare_runs(truth["runner_results"], {run.offset: run for run in found.runner_results})


def _compare_runs(truth: list[Row], found: dict[int, RunFound]) -> Iterator[str]:
    for row in truth:
        run = found.pop(row["offset"], None)
        where = f"run at {row['offset']} ({row['runner']})"
        if run is None:
            yield f"{where}: not found"
        else:
            yield from (f"{where}: {said}" for said in _compare_run(row, run))
    for run in found.values():
        # The truth lists test runs; verdicts of builds, type checkers and linters are not in it.
        if BY_RUNNER[run.runner].kind is not Kind.CHECK:
            yield f"run at {run.offset} ({run.runner}): not in the truth"


def _compare_run(row: Row, run: RunFound) -> Iterator[str]:
    if run.runner != row["runner"]:
        yield f"runner {run.runner}"
    for name in _COUNTS:
        wanted, got = row.get(name), getattr(run, name)
        if name in _ZERO_IS_ABSENT:
            wanted, got = wanted or 0, got or 0
        if wanted != got and not (
            name == "total" and got is None
        ):  # a total that is only a sum is not printed
            yield f"{name} {got}, not {wanted}"
    yield from _compare_outcome(row, run)


def _compare_outcome(row: Row, run: RunFound) -> Iterator[str]:
    """The outcome is the runner's own where the exit code is, and none where it is another command's."""
    whose = row["exit_code_is_the_runners"]
    proved = {"pass", "fail"}
    if row["output_truncated"] or row.get("polled"):
        return
    wanted = {"success": "pass", "failure": "fail"}.get(row["outcome"])
    if whose == "yes" and wanted is not None and run.outcome not in {wanted, "error"} and not run.flags:
        yield f"outcome {run.outcome}, the tool result is a {row['outcome']}"
    if whose == "yes" and wanted == "pass" and run.outcome == "fail":
        yield "outcome fail of a success"
    if whose == "no" and run.outcome in proved:
        yield f"outcome {run.outcome} by the exit code of another command"
    if whose == "if zero" and run.outcome in proved and row["outcome"] != "success":
        yield f"outcome {run.outcome} by an exit code that may be another command's"


# -- damaged ---------------------------------------------------------------------------------------------------


def _compare_damaged(row: Row, found: Findings, content: bytes) -> Iterator[str]:
    may_recover = row.get("may_recover", 0)
    if not row["complete_records"] <= found.complete_records <= row["complete_records"] + may_recover:
        yield f"complete_records: {found.complete_records}, not {row['complete_records']}"
    if row["pending_bytes"] != found.pending_bytes:
        yield f"pending_bytes: {found.pending_bytes}, not {row['pending_bytes']}"
    # A line's bytes include the carriage return before its newline; the expectations leave it out.
    lines = [
        (defect.offset, content[defect.offset : defect.offset + defect.length]) for defect in found.defects
    ]
    places = [(offset, len(line.removesuffix(b"\r"))) for offset, line in lines]
    wanted = [(defect["offset"], defect["length"]) for defect in row["defects"]]
    if places != wanted:
        yield f"defects: {places}, not {wanted}"
    yield from _compare_inherited(row, found)
    if "command_executions" in row:
        yield from _differ("command_executions", row["command_executions"], found.command_executions)
    runs = [_as_tuple(run) for run in found.runner_results if not run.inherited and _is_shown(run)]
    conflicts = list(runs)
    for call, runner, passed, failed, skipped, exit_code, verdict in row["runners"]:
        # King's success has no number of its own; the expectation writes the 0 that it implies.
        implied = None if (row["provider"], verdict, exit_code) == ("king", "pass", 0) else exit_code
        run = [call, runner, passed, failed or 0, skipped or 0, implied, verdict]
        if run in runs:
            runs.remove(run)
        elif verdict != "conflict" or [call, verdict] not in [[said[0], said[-1]] for said in conflicts]:
            # Of two results that contradict each other, one that says so is enough.
            yield f"run {run}: not found"
    if row["file"] not in NEEDS_ANOTHER:
        yield from (f"run {run}: not expected" for run in runs)


def _compare_inherited(row: Row, found: Findings) -> Iterator[str]:
    """Own and copied history; as one where only another file tells them apart."""
    inherited = row.get("inherited", {"prompts": 0, "outcomes": {}})
    own, copied = Counter(found.outcomes), Counter(found.inherited.outcomes)
    if row["file"] in NEEDS_ANOTHER:
        yield from _differ(
            "outcomes", Counter(row["outcomes"]) + Counter(inherited["outcomes"]), own + copied
        )
        if row["prompts"] + inherited["prompts"] != found.prompts + found.inherited.prompts:
            yield f"prompts, copied ones too: {found.prompts + found.inherited.prompts}"
        return
    yield from _differ("outcomes", row["outcomes"], own)
    yield from _differ("inherited outcomes", inherited["outcomes"], copied)
    for what, wanted, got in (
        ("prompts", row["prompts"], found.prompts),
        ("inherited prompts", inherited["prompts"], found.inherited.prompts),
    ):
        if wanted != got:
            yield f"{what}: {got}, not {wanted}"


def _is_shown(run: RunFound) -> bool:
    """Whether a summary was seen, or something was proved: a run that was denied or cancelled before is no evidence."""
    return run.outcome in {"pass", "fail"} or any(getattr(run, name) is not None for name in _COUNTS)


def _as_tuple(run: RunFound) -> list[Any]:
    """A run as the expectations spell it."""
    return [
        run.call_id,
        run.runner,
        run.passed,
        run.failed or 0,
        run.skipped or 0,
        run.exit_code,
        verdict_of(run),
    ]


def verdict_of(run: RunFound) -> str:
    """The expectations' word for what a run proves."""
    if {"conflict", "inconsistent"} & set(run.flags):
        return "conflict"
    return run.outcome if run.outcome in {"pass", "fail"} else "shown"


def _differ(what: str, wanted: Mapping[str, int], found: Mapping[str, int]) -> Iterator[str]:
    """The names of two counts that differ; a count of zero is none."""
    for name in sorted({*wanted, *found}):
        if wanted.get(name, 0) != found.get(name, 0):
            yield f"{what} {name}: {found.get(name, 0)}, not {wanted.get(name, 0)}"


# -- files -----------------------------------------------------------------------------------------------------


def _rows(name: str) -> list[Row]:
    text = (SHARED / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


@cache
def _generations() -> dict[str, str]:
    """The format generation of each sample, from the manifest."""
    lines = (SHARED / "samples/MANIFEST.tsv").read_text(encoding="utf-8").split("\n")[1:]
    return {cells[0]: cells[2] for cells in (line.split("\t") for line in lines) if len(cells) > 2}
