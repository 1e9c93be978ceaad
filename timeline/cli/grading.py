"""``timeline world import-claims|recompute|grade|grades|credential|verdict``: what works claim, and what it weighs."""

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sidecars.graded import MILLION
from timeline.answers import AUTHORITY, Json
from timeline.cli.asking import may_ask
from timeline.cli.commands import as_json_option, root_option, yes_option
from timeline.cli.exit import EPILOG, ExitCode
from timeline.cli.presence import owner_session
from timeline.cli.render import progress, show
from timeline.cli.tables import printable, show_tables
from timeline.cli.values import parse_moment
from timeline.cli.world_owner import group_option
from timeline.errors import UsageError

if TYPE_CHECKING:
    from timeline.claims_file import WorkFile
    from timeline.claims_use import ClaimsPlan

CLAIMS_SCHEMA: Final = "timeline-world-claims/v1"
_SHOWN_MAX: Final = 20


@click.command("import-claims", epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Say what would be recorded, and record nothing.")
@yes_option
@root_option
@as_json_option
def import_claims_command(file: Path, root: str, **options: bool) -> ExitCode:
    """Record what a work claims: a file of JSON lines, the work first, then each claim.

    The class of the work decides how its claims are meant and from how far they are told; what a novel tells is fiction
    and touches nobody. The same file again records nothing new, and goes on where it was interrupted. What you have had
    forgotten is left out. docs/spec/claims-file.md describes the lines.

    \b
    Examples:
      timeline world import-claims lives.jsonl --dry-run
      timeline world import-claims lives.jsonl
    """
    from timeline.claims_file import FILE_BYTES_MAX, read_work_file
    from timeline.claims_use import import_claims, plan_claims
    from timeline.portable import read_portable
    from timeline.world_view import standpoint

    session = owner_session()
    where = standpoint(session, root)
    content = read_portable(file, FILE_BYTES_MAX, UsageError)
    with progress("reading") as advance:
        read = read_work_file(content, advance)
    as_json, is_dry = options["as_json"], options["dry_run"]
    if is_dry:
        _show_claims(read, plan_claims(session, where, read), as_json=as_json, is_recorded=False)
        return ExitCode.DONE
    if may_ask(yes=options["yes"], as_json=as_json):
        _show_claims(read, plan_claims(session, where, read), as_json=False, is_recorded=False)
        click.confirm("Record them?", default=False, abort=True)
    with progress("recording") as advance:
        plan = import_claims(session, where, read, advance)
    _show_claims(read, plan, as_json=as_json, is_recorded=True)
    return ExitCode.PARTLY if plan.left_out else ExitCode.DONE


def _show_claims(file: "WorkFile", plan: "ClaimsPlan", *, as_json: bool, is_recorded: bool) -> None:
    from timeline.reasoning.intent import CLASSIFIER

    answer: Json = {
        "schema": CLAIMS_SCHEMA,
        "work": file.work.id,
        "workClass": file.work.work_class,
        "recorded" if is_recorded else "wouldRecord": len(plan.new),
        "duplicates": plan.duplicates,
        "leftOut": [{"id": name, "reason": reason} for name, reason in plan.left_out],
        "classified": file.classified,
        "classifier": CLASSIFIER if file.classified else None,
        "authority": AUTHORITY,
    }
    verb = "recorded" if is_recorded else "to be recorded"
    counts = f"claims {verb}: {len(plan.new)}; there already: {plan.duplicates}"
    lines = [f"{printable(file.work.id)}, {file.work.work_class}, {counts}"]
    if file.classified:
        lines.append(f"sentences read for how they are meant, by {CLASSIFIER}: {file.classified}")
    lines += [f"left out: {printable(name)}  {reason}" for name, reason in plan.left_out[:_SHOWN_MAX]]
    if (more := len(plan.left_out) - _SHOWN_MAX) > 0:
        lines.append(f"and {more} more; --json names them all")
    if is_recorded and plan.new:
        lines.append("timeline world recompute brings the credibilities up to date")
    show(answer, as_json=as_json, lines=lines)


# -- computing -------------------------------------------------------------------------------------------------


@click.command("recompute", epilog=EPILOG)
@click.option(
    "--version",
    "version",
    type=click.IntRange(1, 2),
    default=1,
    show_default=True,
    help="Of the computation; grades use 1, and 2 is there to be compared.",
)
@click.option("--dry-run", is_flag=True, help="Say what it gives, and record nothing.")
@click.option("--history", metavar="ENTITY", default=None, help="Show every score of one source instead.")
@click.option(
    "--audit", metavar="RUN", default=None, help="Compute a recorded run again instead, and compare."
)
@root_option
@as_json_option
def recompute_command(version: int, root: str, **options: Any) -> ExitCode:  # noqa: ANN401  (what click hands over)
    """Compute how credible each source has been, from all claims and credentials, and record the run.

    Nobody can state a score. The same claims at the same moment give the same run on every machine; older runs stay.
    Oddities are told, and change no score.

    \b
    Examples:
      timeline world recompute
      timeline world recompute --history person:ada
    """
    from timeline.cli.credibility_render import (
        audited_json,
        audited_lines,
        computed_json,
        computed_tables,
        history_json,
        history_tables,
    )
    from timeline.grading_use import audit_run, compute_credibilities, read_history
    from timeline.world_view import standpoint

    as_json = options["as_json"]
    if sum((options["history"] is not None, options["audit"] is not None, options["dry_run"])) > 1:
        message = "--history, --audit and --dry-run: one at a time"
        raise UsageError(message)
    session = owner_session()
    standpoint(session, root)
    if options["history"] is not None:
        history = read_history(session, options["history"])
        if as_json:
            show(history_json(history), as_json=True, lines=[])
        else:
            show_tables(history_tables(history))
        return ExitCode.DONE
    if options["audit"] is not None:
        audited = audit_run(session, options["audit"])
        show(audited_json(audited), as_json=as_json, lines=audited_lines(audited))
        return ExitCode.DONE if audited.is_same else ExitCode.FAILED
    computed = compute_credibilities(session, version=version, is_dry=options["dry_run"])
    if as_json:
        show(computed_json(computed), as_json=True, lines=[])
    else:
        show_tables(computed_tables(computed))
    return ExitCode.DONE


# -- grades ----------------------------------------------------------------------------------------------------


@click.command("grade", epilog=EPILOG)
@click.argument("name", metavar="ID")
@click.option("--explain", is_flag=True, help="Show S, D and V of each source, and what each rests on.")
@root_option
@group_option
@as_json_option
def grade_command(name: str, root: str, group: str | None, *, explain: bool, as_json: bool) -> None:
    """Show what one claim weighs, by the ID of a claim or of an assertion, and why.

    S is how credible the source has been, D how far it stood from what it says, V how well that was checked. What is
    unknown is named. A grade orders and explains: it makes no fact of anything, and settles no conflict.

    \b
    Example:
      timeline world grade claim:lives-1 --explain
    """
    from timeline.cli.grading_render import grade_json, grade_tables
    from timeline.grades_use import grade_one
    from timeline.world_view import standpoint

    session = owner_session()
    found = grade_one(session, standpoint(session, root, group=group), name)
    if as_json:
        show(grade_json(found), as_json=True, lines=[])
    else:
        show_tables(grade_tables(found, explains=explain))


@click.command("grades", epilog=EPILOG)
@click.argument("subject")
@click.argument("key", required=False)
@root_option
@as_json_option
def grades_command(subject: str, key: str | None, root: str, *, as_json: bool) -> None:
    """List what works claim about SUBJECT, the heaviest value first, and how what changes came to be so.

    \b
    Examples:
      timeline world grades person:ada
      timeline world grades person:ada born
    """
    from timeline.cli.grading_render import grades_json, grades_tables
    from timeline.grades_use import grade_subject
    from timeline.world_view import standpoint

    session = owner_session()
    standpoint(session, root)
    found = grade_subject(session, subject, key)
    if as_json:
        show(grades_json(found), as_json=True, lines=[])
    else:
        show_tables(grades_tables(found))


# -- credentials -----------------------------------------------------------------------------------------------


@click.group("credential")
def credential_group() -> None:
    """Credentials of sources that you have checked yourself.

    \b
    Examples:
      timeline world credential add person:ada chemistry --quality 0.9 --basis "doctorate, seen"
      timeline world credential list
    """


@credential_group.command("add", epilog=EPILOG)
@click.argument("entity")
@click.argument("domain")
@click.option("--quality", required=True, metavar="0..1", help="How good it is; 0 is one that failed.")
@click.option("--basis", required=True, help="What you have checked; it is signed with it.")
@click.option("--id", "name", metavar="ID", default=None, help="Of a credential that this one replaces.")
@click.option(
    "--from", "valid_from", metavar="TIME", default=None, help="From when it counts.  [default: now]"
)
@click.option("--until", "valid_until", metavar="TIME", default=None, help="From when it counts no longer.")
@root_option
@as_json_option
def credential_add_command(entity: str, domain: str, root: str, **options: Any) -> None:  # noqa: ANN401  (what click hands over)
    """Record a credential of ENTITY in a DOMAIN. It counts as two observations, with the next `recompute`.

    \b
    Example:
      timeline world credential add person:ada chemistry --quality 0.9 --basis "doctorate, seen"
    """
    from timeline.cli.credibility_render import credentials_json, credentials_tables
    from timeline.grades_use import add_credential, list_credentials
    from timeline.world_view import standpoint

    quality = parse_quality(options["quality"])
    session = owner_session()
    standpoint(session, root)
    entry = add_credential(
        session,
        entity=entity,
        domain=domain,
        quality=quality,
        basis=options["basis"],
        name=options["name"],
        valid_from=parse_moment(options["valid_from"], "--from"),
        valid_until=parse_moment(options["valid_until"], "--until"),
    )
    found = list_credentials(session, entry.entity)
    if options["as_json"]:
        show(credentials_json(found), as_json=True, lines=[])
    else:
        show_tables(credentials_tables(found))


@credential_group.command("list", epilog=EPILOG)
@click.argument("entity", required=False)
@root_option
@as_json_option
def credential_list_command(entity: str | None, root: str, *, as_json: bool) -> None:
    """List credentials, or those of ENTITY, oldest first.

    \b
    Example:
      timeline world credential list person:ada
    """
    from timeline.cli.credibility_render import credentials_json, credentials_tables
    from timeline.grades_use import list_credentials
    from timeline.world_view import standpoint

    session = owner_session()
    standpoint(session, root)
    found = list_credentials(session, entity)
    if as_json:
        show(credentials_json(found), as_json=True, lines=[])
    else:
        show_tables(credentials_tables(found))


def parse_quality(text: str) -> int:
    """The millionths of a number from 0 to 1 with at most six digits behind the point. Pure.

    Raises:
        UsageError: it is none.
    """
    try:
        millionths = Decimal(text) * MILLION
    except InvalidOperation:
        millionths = Decimal(-1)
    if not (millionths.is_finite() and 0 <= millionths <= MILLION and millionths == int(millionths)):
        message = "--quality: must be a number from 0 to 1 with at most six digits behind the point"
        raise UsageError(message)
    return int(millionths)


# -- verdicts --------------------------------------------------------------------------------------------------


@click.command("verdict", epilog=EPILOG)
@click.argument("subject")
@click.argument("key")
@click.option("--choose", "chosen", multiple=True, metavar="ID", help="A claim that holds. Can be repeated.")
@click.option("--none", "is_open", is_flag=True, help="None of the claims: it stays open.")
@click.option("--reason", required=True, help="Why; it is signed with it.")
@root_option
@as_json_option
def verdict_command(
    subject: str, key: str, chosen: tuple[str, ...], reason: str, root: str, **options: bool
) -> None:
    """Settle for now what works claim about KEY of SUBJECT, having seen the grades. A newer verdict replaces it.

    It changes no score and no assertion; `verdicts` says when the grades have changed since.

    \b
    Examples:
      timeline world verdict person:ada born --choose claim:lives-1 --reason "the register is the older record"
      timeline world verdict person:ada born --none --reason "both copies are damaged"
    """
    from timeline.cli.credibility_render import verdicts_json, verdicts_tables
    from timeline.grades_use import Given, give_verdict
    from timeline.world_view import standpoint

    if bool(chosen) == options["is_open"]:
        message = "--choose ID or --none: one of them"
        raise UsageError(message)
    session = owner_session()
    standpoint(session, root)
    verdict, _ = give_verdict(session, subject, key, chosen=chosen, reason=reason)
    given = (Given(verdict, is_in_force=True, is_outdated=False),)
    if options["as_json"]:
        show(verdicts_json(given), as_json=True, lines=[])
    else:
        show_tables(verdicts_tables(given))


@click.command("verdicts", epilog=EPILOG)
@click.argument("subject", required=False)
@root_option
@as_json_option
def verdicts_command(subject: str | None, root: str, *, as_json: bool) -> None:
    """List verdicts, or those on SUBJECT, oldest first, with what has replaced them and whether grades have changed.

    \b
    Example:
      timeline world verdicts person:ada
    """
    from timeline.cli.credibility_render import verdicts_json, verdicts_tables
    from timeline.grades_use import list_verdicts
    from timeline.world_view import standpoint

    session = owner_session()
    standpoint(session, root)
    found = list_verdicts(session, subject)
    if as_json:
        show(verdicts_json(found), as_json=True, lines=[])
    else:
        show_tables(verdicts_tables(found))


COMMANDS: Final = (
    import_claims_command,
    recompute_command,
    grade_command,
    grades_command,
    credential_group,
    verdict_command,
    verdicts_command,
)
"""The commands of the group about what works claim."""
