"""``timeline forget``: what is to go is shown as a plan, carried out, and looked for."""

import sys
from pathlib import Path
from typing import Any, get_args

import click

from timeline.answers import AUTHORITY
from timeline.cli.asking import may_ask
from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG, ExitCode
from timeline.cli.forget_render import (
    STATUS_SCHEMA,
    applied_json,
    applied_lines,
    planned_json,
    question_lines,
    show_planned,
    status_json,
    status_lines,
    verified_json,
    verified_lines,
)
from timeline.cli.presence import owner_session
from timeline.cli.render import show
from timeline.errors import UsageError
from timeline.forgetting.plan import Rule

_digest_option = click.option("--plan", "digest", required=True, metavar="DIGEST", help="The plan.")


@click.group("forget")
def forget_group() -> None:
    """Have something forgotten: look at a plan, carry it out, and look for what is left.

    What is forgotten is taken out of the log, the index and every file that this program writes, and is not taken in
    again. Transcripts, backups and what was given away stay; every plan says so.
    """


@forget_group.command("plan", epilog=EPILOG)
@click.option("--source", metavar="REF", default=None, help="A source, with its whole session.")
@click.option("--enrollment", metavar="ID", default=None, help="The same, named by an enrollment.")
@click.option(
    "--assertion", "assertions", metavar="ID", multiple=True, help="An assertion; can be given again."
)
@click.option("--subject", metavar="ID", default=None, help="All that is held about a subject.")
@click.option("--event", metavar="ID", default=None, help="One event of a source that is not followed.")
@click.option("--work", metavar="ID", default=None, help="The claims of a work.")
@click.option(
    "--all-of-session", "session_id", metavar="ID", default=None, help="A session, by its host's id."
)
@click.option(
    "--rule",
    type=click.Choice(get_args(Rule)),
    default="redact",
    show_default=True,
    help="What becomes of items that rest on other sources too.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=None, help="Write the plan to a new file as well."
)
@as_json_option
def plan_command(**options: Any) -> None:  # noqa: ANN401  (what click hands over)
    """Show exactly what would be forgotten, and keep it as a plan. Nothing is forgotten yet.

    The plan names leaves and digests and none of the values. `timeline forget apply` carries out exactly this plan, or
    refuses if anything that it is about has changed.

    \b
    Examples:
      timeline forget plan --source source:0123...
      timeline forget plan --assertion assertion:timeline-0123... --rule keep
      timeline forget plan --subject service:api --json
    """
    from timeline.forget_use import Named, plan_forgetting
    from timeline.forgetting.plan import format_plan

    named = Named(
        source=options["source"],
        enrollment=options["enrollment"],
        assertions=options["assertions"],
        subject=options["subject"],
        event=options["event"],
        work=options["work"],
        session=options["session_id"],
    )
    planned = plan_forgetting(owner_session(), named, options["rule"])
    if options["out"] is not None:
        _write_new(options["out"], format_plan(planned.plan))
    if options["as_json"]:
        show(planned_json(planned), as_json=True, lines=[])
    else:
        show_planned(planned)


@forget_group.command("apply", epilog=EPILOG)
@_digest_option
@click.option(
    "--confirmed", is_flag=True, help="You, the owner, have seen this plan and want it carried out."
)
@as_json_option
def apply_command(digest: str, *, confirmed: bool, as_json: bool) -> ExitCode:
    """Carry out a plan, or go on with one that was interrupted. There is no way back.

    On a terminal it asks; a script says --confirmed. What came of it is recorded as a signed report, which says what
    was erased, what stays and why, what failed and why, and which stores are not covered.

    \b
    Example:
      timeline forget apply --plan 3q2-7w...
    """
    from timeline.forget_use import apply_plan
    from timeline.forgetting.standing import load_plan

    session = owner_session()
    plan = load_plan(session.locations, digest)
    if not confirmed and may_ask(yes=False, as_json=as_json):
        for line in question_lines(plan):
            click.echo(line)
        confirmed = (
            click.prompt("Type yes to forget this for good", default="no", show_default=False) == "yes"
        )
        if not confirmed:
            click.echo("Nothing was forgotten.")
            return ExitCode.DONE
    applied = apply_plan(session, digest, confirmed=confirmed)
    show(applied_json(applied), as_json=as_json, lines=applied_lines(applied))
    return ExitCode.DONE if applied.is_complete else ExitCode.PARTLY


@forget_group.command("verify", epilog=EPILOG)
@_digest_option
@click.option(
    "--value-file",
    "files",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A file whose bytes are searched for; - is standard input. Can be given again.",
)
@as_json_option
def verify_command(digest: str, files: tuple[Path, ...], *, as_json: bool) -> ExitCode:
    """Look whether anything is left of what a plan was to forget. Changes nothing.

    Checks that the leaves are hashes alone and the files gone. A value that is given is searched for in the raw bytes
    of every file that this program writes: as it is, escaped as in JSON, in base64, in hex and in UTF-16. It is neither
    shown nor kept.

    \b
    Examples:
      timeline forget verify --plan 3q2-7w... --value-file secret.txt
      printf %s "$OLD_NAME" | timeline forget verify --plan 3q2-7w... --value-file -
    """
    from timeline.forget_use import verify_plan

    session = owner_session()
    verified = verify_plan(session, digest, [_read_value(file) for file in files])
    show(verified_json(verified), as_json=as_json, lines=verified_lines(verified))
    return ExitCode.DONE if verified.ok else ExitCode.FAILED


@forget_group.command("status", epilog=EPILOG)
@as_json_option
def status_command(*, as_json: bool) -> None:
    """Say where each plan stands.

    \b
    Example:
      timeline forget status
    """
    from timeline.forget_use import list_plans

    found = list_plans(owner_session())
    answer = {
        "schema": STATUS_SCHEMA,
        "plans": [status_json(status) for status in found],
        "authority": AUTHORITY,
    }
    lines = [line for status in found for line in status_lines(status)]
    show(answer, as_json=as_json, lines=lines or ["no plan is kept"])


@forget_group.command("accept-lost-key", epilog=EPILOG)
@click.option(
    "--confirmed", is_flag=True, help="You, the owner, go on without the list of what was forgotten."
)
@as_json_option
def accept_lost_key_command(*, confirmed: bool, as_json: bool) -> None:
    """Take sources in again although suppression.key is lost. What was forgotten can come back then.

    The file is in every backup that was made after the forgetting; restoring it is the better way.

    \b
    Example:
      timeline forget accept-lost-key
    """
    from timeline.exclude_use import accept_lost_key
    from timeline.forgetting.errors import ForgetConfirmationError

    if not confirmed and may_ask(yes=False, as_json=as_json):
        click.echo(
            "What was forgotten is not recognised any more, and comes back where it is taken in again."
        )
        confirmed = click.prompt("Type yes to go on without it", default="no", show_default=False) == "yes"
    if not confirmed:
        message = "the owner has not confirmed to go on without the list"
        raise ForgetConfirmationError(message)
    count = accept_lost_key(owner_session())
    answer = {"status": "accepted", "givenUp": count, "authority": AUTHORITY}
    show(answer, as_json=as_json, lines=[f"{count} digests are given up; a new key was made"])


# -- what is read and written ----------------------------------------------------------------------------------


def _read_value(file: Path) -> bytes:
    """The bytes of a file, without one newline at their end: nobody means that one."""
    from timeline.forgetting.scan import VALUE_BYTES_MAX
    from timeline.portable import read_portable

    if str(file) == "-":
        content = sys.stdin.buffer.read(VALUE_BYTES_MAX + 2)
    else:
        content = read_portable(file, VALUE_BYTES_MAX + 1, UsageError)
    return content.removesuffix(b"\n")


def _write_new(file: Path, content: bytes) -> None:
    from timeline.portable import write_portable

    write_portable(file, content, UsageError)
