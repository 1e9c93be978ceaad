"""``timeline doctor``: what works, what does not, and the command that mends it (X10)."""

import os
from collections import Counter
from typing import Final

import click

from timeline.answers import AUTHORITY, Json
from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG, ExitCode
from timeline.cli.render import show
from timeline.clock import format_utc
from timeline.doctor.findings import Finding, Level, worst_of
from timeline.project import canonical_root
from timeline.service import session_from

_CODES: Final = {Level.WARNING: ExitCode.PARTLY, Level.ERROR: ExitCode.FAILED}
_MARKS: Final = {Level.FINE: "ok  ", Level.NOTE: "note", Level.WARNING: "WARN", Level.ERROR: "FAIL"}


@click.command("doctor", epilog=EPILOG)
@click.option(
    "--root", default=".", show_default=True, metavar="FOLDER", help="The project whose settings count too."
)
@click.option("--quiet", is_flag=True, help="Show only what asks for something to be done.")
@as_json_option
def doctor_command(root: str, *, quiet: bool, as_json: bool) -> int:
    """Look at folders, keys, anchors, daemon, hosts and sources, and say how to mend what does not work.

    Says of each host whether its hooks really ran, and not only whether they are written down. Changes nothing, and
    works without a daemon. Ends with 0 where nothing has to be done, 3 where something is missing or has ended, 1 where
    something does not work, 10 where there is no timeline.

    \b
    Examples:
      timeline doctor
      timeline doctor --quiet
      timeline doctor --json
    """
    # Imported here: they load what no other command needs.
    from timeline.doctor.checks import examine
    from timeline.doctor.gather import gather
    from timeline.launch import ask

    session = session_from(os.environ)
    facts = gather(session, canonical_root(root), ask)
    findings = examine(facts)
    shown = [f for f in findings if not quiet or f.level in _CODES]
    worst = worst_of(findings)
    answer: Json = {
        "schema": "timeline-doctor/v1",
        "at": format_utc(facts.now_ms),
        "worst": str(worst),
        "findings": [_finding_json(finding) for finding in shown],
        "authority": AUTHORITY,
    }
    lines = [line for finding in shown for line in _finding_lines(finding)]
    show(answer, as_json=as_json, lines=[*lines, _summary(findings)])
    if facts.state is None:
        return ExitCode.NO_STATE
    return _CODES.get(worst, ExitCode.DONE)


def _finding_json(finding: Finding) -> Json:
    return {
        "level": str(finding.level),
        "code": finding.code,
        "about": finding.about,
        "message": finding.message,
        "remedy": finding.remedy,
    }


def _finding_lines(finding: Finding) -> list[str]:
    lines = [f"{_MARKS[finding.level]} {finding.about}: {finding.message} [{finding.code}]"]
    return [*lines, f"     mend: {finding.remedy}"] if finding.remedy else lines


def _summary(findings: tuple[Finding, ...]) -> str:
    counts = Counter(finding.level for finding in findings)
    named = [(Level.ERROR, "error"), (Level.WARNING, "warning"), (Level.NOTE, "note")]
    said = [f"{counts[level]} {word}{'s' * (counts[level] != 1)}" for level, word in named if counts[level]]
    return ", ".join(said) or "everything that was looked at works"
