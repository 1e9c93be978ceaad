"""``timeline inspect``: what a host's adapter makes of one file, before anybody has consented to anything."""

from pathlib import Path

import click

from adapters.registry import ADAPTERS
from timeline import answers
from timeline.answers import Json
from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG, ExitCode
from timeline.cli.render import show
from timeline.inspection import inspect_file
from timeline.provider import check_protocols

_CODES = {"understood": ExitCode.DONE, "partly-understood": ExitCode.PARTLY}


@click.command("inspect", epilog=EPILOG)
@click.argument("file", type=click.Path())
@click.option(
    "--host", required=True, type=click.Choice(sorted(ADAPTERS)), help="The host that wrote the file."
)
@click.option(
    "--protocol",
    metavar="DECLARED:REVIEWED",
    help="Read a King or Kimi wire that declares one protocol as another that was reviewed.",
)
@as_json_option
def inspect_command(file: str, host: str, *, protocol: str | None, as_json: bool) -> int:
    """Say whether FILE is a transcript that is understood, what is in it, and if not, why.

    Reads the file once and changes nothing. Needs no state and no consent, and prints no text of the transcript:
    counts, places and closed words. Ends with 0 if all was understood, 3 if a part was, 1 if the file is refused.

    \b
    Examples:
      timeline inspect ~/.codex/sessions/2026/01/31/rollout-....jsonl --host codex
      timeline inspect transcript.jsonl --host codex --json
      timeline inspect wire.jsonl --host king --protocol 1.6-blun:1.4
    """
    declared, _, meant = (protocol or "").rpartition(":")
    adapter = ADAPTERS[host] if protocol is None else check_protocols(host, {declared: meant})
    found = answers.inspection_answer(inspect_file(adapter, str(Path.cwd() / file)))
    show(found, as_json=as_json, lines=inspection_lines(file, found))
    return _CODES.get(found["verdict"], ExitCode.FAILED)


def inspection_lines(file: str, found: Json) -> list[str]:
    """A report for a person: the verdict and its remedy first, then what was counted."""
    rows = [("file", f"{file}, {found['bytes']} bytes"), ("format", found["format"])]
    if found["app_version"]:
        rows[1] = ("format", f"{found['format']}, written by version {found['app_version']}")
    rows.append(("verdict", found["verdict"] + (f" [{found['reason']}]" if found["reason"] else "")))
    rows += [(name, found[key]) for name, key in (("why", "detail"), ("remedy", "hint")) if found[key]]
    if found["records"]:
        rows += _counted_rows(found)
    lines = [f"{name:<9} {value}" for name, value in rows]
    lines += [_run_line(run) for run in found["runner_results"][:_LISTED]]
    lines += _defect_lines(found)
    return lines


_LISTED = 20
"""Runs, and defects, that a person is shown; the JSON has them all."""


def _counted_rows(found: Json) -> list[tuple[str, str]]:
    inherited = found["inherited"]
    copied = sum(inherited["outcomes"].values())
    rows = [
        ("records", f"{found['complete_records']} of {len(found['records'])} types"),
        ("prompts", f"{found['prompts']} own, {inherited['prompts']} copied from another session"),
        ("calls", f"{sum(found['tool_calls'].values())}, {found['calls_without_result']} without a result"),
        (
            "results",
            _numbers(found["tool_results"])
            + (f"; {copied} of them copied from another session" if copied else "")
            + f"; {found['results_without_call']} without a call",
        ),
        ("runs", str(len(found["runner_results"]) + found["runner_results_left_out"])),
    ]
    if any(found["command_executions"].values()):
        rows.insert(4, ("commands", _numbers(found["command_executions"])))
    if found["pending_bytes"]:
        rows.append(("pending", f"{found['pending_bytes']} bytes of an unfinished last line"))
    return rows


def _numbers(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _run_line(run: Json) -> str:
    counts = ", ".join(
        f"{run[name]} {name}" for name in ("passed", "failed", "errors", "skipped") if run[name] is not None
    )
    marks = [*(["copied"] if run["inherited"] else []), *run["flags"]]
    facts = [f"byte {run['offset']}", run["runner"], run["outcome"].upper(), counts, ", ".join(marks)]
    return "  run     " + "  ".join(fact for fact in facts if fact)


def _defect_lines(found: Json) -> list[str]:
    lines = [
        f"  defect  byte {d['offset']}, {d['length']} bytes: {d['kind']}" for d in found["defects"][:_LISTED]
    ]
    more = len(found["defects"]) - len(lines) + found["defects_left_out"]
    return [*lines, f"  defect  {more} more"] if more else lines
