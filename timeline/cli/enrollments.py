"""``timeline enroll``: by a receipt that a script names, or by choosing from the sessions that wait, on a terminal."""

import shlex
from collections.abc import Sequence

import click

from sidecars.leaf import Enrollment
from timeline import answers, consenting, service
from timeline.cli.asking import has_terminal
from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG
from timeline.cli.presence import owner_session
from timeline.cli.render import show
from timeline.clock import format_utc
from timeline.config import Config, load_config
from timeline.consenting import PendingSession
from timeline.errors import UsageError
from timeline.project import canonical_root

_KIB = 1024
_MINUTE, _HOUR, _DAY = 60, 3600, 24 * 3600
_SHORT = 8
"""Characters of a session's id that are shown: enough to tell some thirty apart."""

_follow_option = click.option(
    "--follow",
    is_flag=True,
    help="The session goes on: each `timeline index` reads what was added, for 12 hours (follow_seconds).",
)


@click.command("enroll", epilog=EPILOG)
@click.option(
    "--root", default=".", show_default=True, metavar="FOLDER", help="The project, or a folder in it."
)
@click.option(
    "--receipt",
    "receipt_id",
    default=None,
    metavar="ID",
    help="For scripts: the receipt, asthr_... ; spent by the attempt.",
)
@click.option(
    "--confirm-local-timeline",
    "confirmed",
    is_flag=True,
    help="With --receipt: you, the owner, consent to reading this session.",
)
@_follow_option
@as_json_option
def enroll_command(
    root: str, receipt_id: str | None, *, confirmed: bool, follow: bool, as_json: bool
) -> None:
    """Consent to reading one session's transcript, as it is now, or with --follow as it grows.

    Without --receipt it shows which sessions of the project wait, what would be enrolled and what is kept of it, and
    asks. A followed file may only grow; anything else that happens to it ends its recall, and says so.

    \b
    Examples:
      timeline enroll
      timeline enroll --follow
      timeline enroll --root . --receipt asthr_... --confirm-local-timeline
    """
    session = owner_session()
    if receipt_id is None:
        _check_may_ask(root, follow=follow, as_json=as_json, confirmed=confirmed)
        _enroll_by_choice(session, root, follow=follow)
        return
    _show_enrolled(
        service.enroll(session, root, receipt_id, confirmed=confirmed, follow=follow), as_json=as_json
    )


@click.command("timeline-enroll", epilog=EPILOG)
@click.option("--root", required=True, metavar="FOLDER", help="The project.")
@click.option(
    "--receipt", "receipt_id", required=True, metavar="ID", help="The receipt; spent by the attempt."
)
@click.option("--confirm-local-timeline", "confirmed", is_flag=True, help="You, the owner, consent.")
@_follow_option
@as_json_option
def receipt_enroll_command(
    root: str, receipt_id: str, *, confirmed: bool, follow: bool, as_json: bool
) -> None:
    """Consent to reading one session's transcript, by its receipt, which must be named (T10)."""
    session = owner_session()
    _show_enrolled(
        service.enroll(session, root, receipt_id, confirmed=confirmed, follow=follow), as_json=as_json
    )


def _check_may_ask(root: str, *, follow: bool, as_json: bool, confirmed: bool) -> None:
    """Without a receipt, the owner is asked; where nobody can be, the exact way for a script is named.

    Raises:
        UsageError: nobody can be asked.
    """
    if not as_json and not confirmed and has_terminal():
        return
    place = shlex.quote(root)
    by_hand = f"timeline enroll --root {place} --receipt asthr_... --confirm-local-timeline"
    message = "--receipt is missing, and there is no terminal to ask on"
    if as_json or confirmed:
        message = f"--receipt is missing: {'--json' if as_json else '--confirm-local-timeline'} asks nothing"
    hint = f"timeline receipt --root {place} shows the receipt; then {by_hand}{' --follow' if follow else ''}"
    raise UsageError(message, hint=hint)


def _enroll_by_choice(session: service.Session, root: str, *, follow: bool) -> None:
    waiting = consenting.list_pending(session, root)
    project = canonical_root(root)
    if not waiting:
        click.echo(f"No session of {project} waits to be enrolled.")
        click.echo("Prompt once in the session; it then waits here for 15 minutes.")
        return
    count = "1 session waits" if len(waiting) == 1 else f"{len(waiting)} sessions wait"
    click.echo(f"{count} to be enrolled in {project}:\n")
    for line in waiting_lines(waiting):
        click.echo(line)
    click.echo()
    chosen = waiting[0] if len(waiting) == 1 else _choose(waiting)
    if chosen.size is None:
        click.echo(
            "Its transcript is not there yet: hosts write it with the first answer. Then run this again."
        )
        return
    config = load_config(session.locations.settings)
    for line in offer_lines(chosen, config, session.ports.clock.now_ms(), follow=follow):
        click.echo(line)
    click.echo()
    if not click.confirm("Enroll this session?", default=False):
        click.echo("Nothing was enrolled; the session waits on.")
        return
    enrollment = service.enroll(session, root, chosen.receipt.id, confirmed=True, follow=follow)
    _show_enrolled(enrollment, as_json=False)
    click.echo("Next: timeline index")


def _choose(waiting: Sequence[PendingSession]) -> PendingSession:
    number = click.prompt("Which one?", type=click.IntRange(1, len(waiting)), default=1)
    return waiting[int(number) - 1]


def waiting_lines(waiting: Sequence[PendingSession]) -> list[str]:
    """The sessions that wait, numbered from 1, for a person. No receipt is among them."""
    rows = [
        (
            one.receipt.binding.host,
            short_session(one.receipt.binding.session),
            f"prompted {age_text(one.age_seconds)} ago",
            "not written yet" if one.size is None else size_text(one.size),
            "enrolled already" if one.enrolled else "",
            "" if one.receipt.attested else "reported by a command, or an agent has started it",
        )
        for one in waiting
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        f"  {number}  " + "  ".join(map(str.ljust, row, widths)).rstrip()
        for number, row in enumerate(rows, start=1)
    ]


def offer_lines(chosen: PendingSession, config: Config, now_ms: int, *, follow: bool) -> list[str]:
    """What enrolling a session means, before the owner is asked, for a person."""
    recall_until = format_utc(now_ms + config.recall_seconds * 1000)
    if follow:
        how = f"as it grows, for {duration_text(config.follow_seconds)}; it may do nothing but grow"
    else:
        how = f"as it is now, {size_text(chosen.size or 0)}; any later change ends it (--follow lets it grow)"
    return [
        f"{chosen.receipt.binding.host} session {chosen.receipt.binding.session}",
        f"  read    {how}",
        f"  recall  for {duration_text(config.recall_seconds)}, until {recall_until}",
        "  kept    of each test or check that ran: time, runner, outcome, counts, exit code, duration,",
        "          a keyed fingerprint of the command, and where its lines stand; of each line that you typed,",
        "          when and where; no text of the conversation, but for single lines of yours that an agent",
        "          captures: these stay in the log until you have them forgotten",
        "  end     timeline revoke",
    ]


def short_session(session: str) -> str:
    """The end of a session's id: ids of hosts begin with a time, which many have in common."""
    return session if len(session) <= _SHORT else f"…{session[-_SHORT:]}"


def age_text(seconds: int) -> str:
    """How long ago, for a person."""
    return f"{seconds} s" if seconds < _MINUTE else f"{seconds // _MINUTE} min"


def duration_text(seconds: int) -> str:
    """How long, in the largest unit that leaves no rest worth saying, for a person."""
    for unit, word in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")):
        count = seconds // unit
        if count and (seconds % unit == 0 or count > 1):
            return f"{count} {word}{'' if count == 1 else 's'}"
    return f"{seconds} seconds"


def size_text(size: int) -> str:
    """A size in bytes, for a person."""
    if size < _KIB:
        return f"{size} bytes"
    return f"{size / _KIB:.1f} KiB" if size < _KIB * _KIB else f"{size / _KIB / _KIB:.1f} MiB"


def _show_enrolled(enrollment: Enrollment, *, as_json: bool) -> None:
    answer = answers.enrollment_answer(enrollment)
    followed = f"followed until {answer['expiresAt']}, recalled " if enrollment.mode == "follow" else ""
    lines = [
        f"enrolled {answer['source']}  {answer['bytes']} bytes, {followed}until {answer['recallUntil']}",
        f"    {answer['id']}",
    ]
    show(answer, as_json=as_json, lines=lines)
