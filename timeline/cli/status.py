"""``timeline status``: how things stand, on one screen."""

import os
import sys
from typing import TYPE_CHECKING, Final

import click
import msgspec

from timeline.answers import AUTHORITY, Json
from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG, ExitCode
from timeline.cli.render import show
from timeline.clock import format_utc, parse_utc
from timeline.service import session_from

if TYPE_CHECKING:
    from timeline.overview import HostSeen, Overview, SourceSeen

Tone = str
"""How a line is meant: good, quiet, look or bad."""

Row = tuple[Tone, str]
Section = tuple[str, list[Row]]

_MARKS: Final = {"good": "●", "quiet": "○", "look": "▲", "bad": "✖"}
_STYLES: Final = {"good": "green", "quiet": "dim", "look": "yellow", "bad": "bold red"}
_STANDINGS: Final = {
    "enrolled": "good",
    "grown": "good",
    "ended": "quiet",
    "changed": "look",
    "gone": "look",
    "stale": "look",
    "clock": "bad",
}
_SESSION_CHARACTERS: Final = 8
"""As much of a session's id as a person compares."""

SOURCES_SHOWN: Final = 8
"""Sources on the screen, the newest first; the JSON has them all."""


@click.command("status", epilog=EPILOG)
@click.option(
    "--root", default=".", show_default=True, metavar="FOLDER", help="The project, or a folder in it."
)
@as_json_option
def status_command(root: str, *, as_json: bool) -> int:
    """Show daemon, hosts, this project's sources, pending receipts and anchors on one screen.

    Looks at no transcript but for its size and times, asks no anchor, and works without a daemon. Ends with 0, with 10
    where there is no timeline, and with 1 where it is refused.

    \b
    Examples:
      timeline status
      timeline status --json
    """
    # Imported here: they load what no other command needs.
    from timeline.launch import ask
    from timeline.overview import find_overview

    found = find_overview(session_from(os.environ), root, ask)
    sections = sections_of(found)
    if as_json or not sys.stdout.isatty():
        show(_overview_json(found), as_json=as_json, lines=plain_lines(sections))
    else:
        _show_on_terminal(sections)
    return {"no-state": ExitCode.NO_STATE, "refused": ExitCode.FAILED}.get(found.state, ExitCode.DONE)


def _overview_json(found: "Overview") -> Json:
    status = found.daemon.status
    return {
        "schema": "timeline-status/v1",
        "at": format_utc(found.now_ms),
        "project": found.project,
        "state": found.state,
        "reason": found.reason,
        "hint": found.hint,
        "size": found.size,
        "simulatedHost": found.simulated_host,
        "daemon": None
        if status is None
        else {
            "version": status.version,
            "pid": status.pid,
            "startedAt": status.started_at,
            "state": status.state,
        },
        "daemonReason": found.daemon.reason,
        "hosts": [{"host": host.name, "hooks": host.hooks} for host in found.hosts],
        "sources": [
            {
                "source": source.ref,
                "host": source.host,
                "session": source.session,
                "mode": source.mode,
                "state": source.standing,
                "events": source.events,
                "understanding": source.understanding,
                "until": format_utc(source.until_ms),
            }
            for source in found.sources
        ],
        "pendingReceipts": found.receipts,
        "anchors": [
            {
                "name": anchor.name,
                "confirmedSize": anchor.size,
                "confirmedAt": None if anchor.at_ms is None else format_utc(anchor.at_ms),
            }
            for anchor in found.anchors
        ],
        "silent": [msgspec.to_builtins(silent) for silent in found.silent],
        "authority": AUTHORITY,
    }


# -- the screen ------------------------------------------------------------------------------------------------


def sections_of(found: "Overview") -> list[Section]:
    """What a person is shown: sections of rows, each with its tone."""
    sections = [
        ("timeline", _timeline_rows(found)),
        ("hosts", [_host_row(host, found) for host in found.hosts]),
    ]
    if found.state == "ready":
        sections.append((f"sources of {found.project}", _source_rows(found)))
    sections.append(("silent sessions", _silent_rows(found)))
    return [(title, rows) for title, rows in sections if rows]


def _timeline_rows(found: "Overview") -> list[Row]:
    rows: list[Row] = []
    if found.state == "ready":
        rows.append(("good", f"log      {found.size} leaves, verified"))
        rows += _anchor_rows(found)
    else:
        rows.append(("bad", f"log      {found.state} ({found.reason}): {found.hint}"))
    status = found.daemon.status
    if status is not None:
        tone = "good" if status.state == "ready" else "look"
        since = ago(found.now_ms, parse_utc(status.started_at))
        rows.append((tone, f"daemon   {status.state}, version {status.version}, started {since}"))
    elif found.daemon.is_away:
        rows.append(("quiet", "daemon   not running; the next hook starts it"))
    else:
        rows.append(("bad", f"daemon   {found.daemon.reason}: {found.daemon.hint}"))
    if found.simulated_host:
        rows.append(("look", "simulated host: this state was made by `timeline demo`"))
    return rows


def _anchor_rows(found: "Overview") -> list[Row]:
    if not found.anchors:
        return [("quiet", "anchors  none outside this machine")]
    rows: list[Row] = []
    for anchor in found.anchors:
        if anchor.size is None or anchor.at_ms is None:
            rows.append(("look", f"anchor   {anchor.name}: has confirmed nothing yet"))
            continue
        tone = "good" if anchor.size >= found.size else "look"
        said = f"{anchor.size} of {found.size} leaves confirmed {ago(found.now_ms, anchor.at_ms)}"
        rows.append((tone, f"anchor   {anchor.name}: {said}"))
    return rows


def _host_row(host: "HostSeen", found: "Overview") -> Row:
    name = f"{host.name:<8} "
    if host.last is not None:
        newest = max(host.hooks, key=lambda event: host.hooks[event])
        return "good", f"{name}last hook {newest}, {ago(found.now_ms, parse_utc(host.last))}"
    if found.daemon.status is None:
        return "quiet", f"{name}hooks not known without the daemon"
    return "quiet", f"{name}no hook seen since the daemon started; see `timeline doctor`"


def _source_rows(found: "Overview") -> list[Row]:
    rows = [(_STANDINGS[source.standing], _source_line(source)) for source in found.sources]
    more = len(rows) - SOURCES_SHOWN
    rows = rows[:SOURCES_SHOWN]
    if more > 0:
        rows.append(("quiet", f"and {more} more; `timeline sources --root .` lists them"))
    if not rows:
        rows.append(("quiet", "nothing is enrolled"))
    if found.receipts:
        plural = "receipts wait" if found.receipts > 1 else "receipt waits"
        rows.append(("look", f"{found.receipts} {plural} for your consent: `timeline enroll`"))
    return rows


def _source_line(source: "SourceSeen") -> str:
    understood = source.understanding or "not indexed"
    until = "ended" if source.standing == "ended" else f"until {format_utc(source.until_ms)[:16]}Z"
    return (
        f"{source.host:<8} {_short(source.session)}  {source.mode:<8}  {source.standing:<8}  "
        f"{source.events} events, {understood}, {until}"
    )


def _short(session: str) -> str:
    """The end of an id: ids that begin with a time begin alike."""
    return session[-_SESSION_CHARACTERS:].rjust(_SESSION_CHARACTERS)


def _silent_rows(found: "Overview") -> list[Row]:
    rows: list[Row] = []
    for silent in found.silent:
        since = ago(found.now_ms, parse_utc(silent.since))
        said = f"grew by {silent.grown // 1024} KiB without a hook since {since}; see `timeline doctor`"
        rows.append(("bad", f"{silent.host:<8} {_short(silent.session)}  {said}"))
    return rows


def ago(now_ms: int, then_ms: int) -> str:
    """How long ago something was, in one unit."""
    seconds = max(0, now_ms - then_ms) // 1000
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit} ago"
    return f"{seconds} s ago"


def plain_lines(sections: list[Section]) -> list[str]:
    """The screen without a terminal's colours."""
    lines: list[str] = []
    for title, rows in sections:
        lines += ["", title] if lines else [title]
        lines += [f"  {_MARKS[tone]} {text}" for tone, text in rows]
    return lines


def _show_on_terminal(sections: list[Section]) -> None:
    # Imported here: only a terminal needs it, and it costs as much as the rest of a command.
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for number, (title, rows) in enumerate(sections):
        if number:
            console.print()
        console.print(Text(title, style="bold"))
        for tone, text in rows:
            line = Text.assemble(
                "  ", (_MARKS[tone], _STYLES[tone]), " ", (text, "dim" if tone == "quiet" else "")
            )
            console.print(line, soft_wrap=True)
