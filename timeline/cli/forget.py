"""``timeline forget`` and ``timeline exclude``: what is to go, and what is never to be taken in."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import click

from adapters.registry import ADAPTERS
from timeline.answers import AUTHORITY, Json
from timeline.cli.asking import may_ask
from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG, ExitCode
from timeline.cli.presence import owner_session
from timeline.cli.render import show
from timeline.cli.tables import Cell, Table, printable, show_tables
from timeline.clock import format_utc
from timeline.errors import UsageError
from timeline.forgetting.plan import Rule

if TYPE_CHECKING:
    from timeline.forget_use import Planned, PlanStatus, Verified
    from timeline.forgetting.applying import Applied
    from timeline.forgetting.intake import ExclusionMade
    from timeline.forgetting.plan import Plan

PLAN_SCHEMA: Final = "timeline-forget-plan/v1"
REPORT_SCHEMA: Final = "timeline-forget-report/v1"
VERIFY_SCHEMA: Final = "timeline-forget-verify/v1"
STATUS_SCHEMA: Final = "timeline-forget-status/v1"
EXCLUSION_SCHEMA: Final = "timeline-exclusions/v1"

_WHY: Final = {
    "named": "named",
    "of-the-source": "of that source",
    "captured": "captured from it",
    "would-come-back": "replaced by one that goes, and would come back",
    "derived": "rests on it alone",
    "mixed": "rests on it and on other things",
    "made-anew": "made anew from its other sources",
    "mixed-source": "rests on other things too",
    "lineage-unknown": "a suggestion of which no session is recorded",
}
"""Why something is a target, or stays, for a person."""

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
        show(_planned_json(planned), as_json=True, lines=[])
    else:
        _show_planned(planned)


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
    from timeline.forget_use import apply_plan, load_plan

    session = owner_session()
    plan = load_plan(session, digest)
    if not confirmed and may_ask(yes=False, as_json=as_json):
        for line in _question_lines(plan):
            click.echo(line)
        confirmed = (
            click.prompt("Type yes to forget this for good", default="no", show_default=False) == "yes"
        )
        if not confirmed:
            click.echo("Nothing was forgotten.")
            return ExitCode.DONE
    applied = apply_plan(session, digest, confirmed=confirmed)
    show(_applied_json(applied), as_json=as_json, lines=_applied_lines(applied))
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
    show(_verified_json(verified), as_json=as_json, lines=_verified_lines(verified))
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
        "plans": [_status_json(status) for status in found],
        "authority": AUTHORITY,
    }
    lines = [line for status in found for line in _status_lines(status)]
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
    from timeline.forget_use import accept_lost_key
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


@click.group("exclude")
def exclude_group() -> None:
    """Say what is never to be taken in: a session, a path or a project. What is held already stays held."""


def _exclusion_options(command: Any) -> Any:  # noqa: ANN401  (a decorator of click)
    for option in reversed(
        (
            click.option("--source", metavar="REF", default=None, help="A source: its session and its path."),
            click.option(
                "--session", "session_id", metavar="ID", default=None, help="A session, with --provider."
            ),
            click.option("--provider", type=click.Choice(list(ADAPTERS)), default=None, help="Its host."),
            click.option("--path", metavar="FILE", default=None, help="A transcript's path."),
            click.option("--project", metavar="FOLDER", default=None, help="A project, or a folder in it."),
        )
    ):
        command = option(command)
    return command


@exclude_group.command("add", epilog=EPILOG)
@_exclusion_options
@as_json_option
def add_command(**options: Any) -> None:  # noqa: ANN401  (what click hands over)
    """Take nothing in any more: prompts give no receipt, nothing is enrolled, and indexing refuses.

    \b
    Examples:
      timeline exclude add --project .
      timeline exclude add --provider codex --session 0198c2f0-...
    """
    _set(excluded=True, **options)


@exclude_group.command("remove", epilog=EPILOG)
@_exclusion_options
@as_json_option
def remove_command(**options: Any) -> None:  # noqa: ANN401  (what click hands over)
    """End an exclusion. What was forgotten stays out all the same.

    \b
    Example:
      timeline exclude remove --project .
    """
    _set(excluded=False, **options)


@exclude_group.command("list", epilog=EPILOG)
@as_json_option
def list_command(*, as_json: bool) -> None:
    """Show what is excluded.

    \b
    Example:
      timeline exclude list
    """
    from timeline.forget_use import list_exclusions

    _show_exclusions(list_exclusions(owner_session()), as_json=as_json, nothing="nothing is excluded")


def _set(
    *, excluded: bool, as_json: bool, provider: str | None, session_id: str | None, **named: str | None
) -> None:
    from timeline.forget_use import exclusions_named, set_exclusions

    if (session_id is None) != (provider is None):
        message = "--session and --provider come together"
        raise UsageError(message)
    session = owner_session()
    pair = None if session_id is None or provider is None else (provider, session_id)
    wanted = exclusions_named(session, session_id=pair, excluded=excluded, **named)
    _show_exclusions(set_exclusions(session, wanted), as_json=as_json, nothing="")


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


# -- what is shown ---------------------------------------------------------------------------------------------


def _planned_json(planned: "Planned") -> Json:
    plan = planned.plan
    return {
        "schema": PLAN_SCHEMA,
        "plan": planned.digest,
        "rule": plan.rule,
        "size": plan.size,
        "targets": [
            {"leaf": one.leaf, "kind": one.kind, "why": one.why, "what": one.what} for one in planned.targets
        ],
        "files": list(plan.files),
        "retained": [
            {"leaf": one.leaf, "kind": one.kind, "why": one.why, "what": one.what} for one in planned.retained
        ],
        "suppressed": len(plan.suppressed),
        "authorisation": {"key": plan.authorised_by, "presence": plan.presence},
        "covered": list(plan.coverage),
        "notCovered": _not_covered(),
        "authority": AUTHORITY,
    }


def _not_covered() -> list[Json]:
    from timeline.forgetting.coverage import NOT_COVERED

    return [{"name": one.name, "what": one.what, "advice": one.advice} for one in NOT_COVERED]


def _show_planned(planned: "Planned") -> None:
    plan = planned.plan

    def rows(found: Any) -> list[tuple[Cell, ...]]:  # noqa: ANN401  (planned leaves)
        return [
            (Cell(f"leaf {one.leaf}"), Cell(one.kind), Cell(one.what), Cell(_WHY.get(one.why, one.why)))
            for one in found
        ]

    tables = [Table("would be erased", (), rows(planned.targets))]
    if planned.retained:
        tables.append(Table("stays", (), rows(planned.retained)))
    show_tables(tables)
    click.echo()
    for line in (*_plan_lines(plan), "", *_not_covered_lines()):
        click.echo(line)
    click.echo()
    click.echo(f"plan {planned.digest}")
    click.echo(f"carry it out with: timeline forget apply --plan {planned.digest}")


def _plan_lines(plan: "Plan") -> list[str]:
    return [
        f"{len(plan.targets)} leaves and {len(plan.files)} sidecar files, with their rows in the index",
        f"items of several sources: {plan.rule}",
        f"{len(plan.suppressed)} keyed digests keep it from being taken in again",
        f"on whose word: the owner key {plan.authorised_by}, presence: {plan.presence}",
    ]


def _not_covered_lines() -> list[str]:
    return [
        "not covered, and left as it is:",
        *(
            f"  {one['name']}: {one['what']}{'; ' if one['advice'] else ''}{one['advice']}"
            for one in _not_covered()
        ),
    ]


def _question_lines(plan: "Plan") -> list[str]:
    return [*_plan_lines(plan), *_not_covered_lines(), ""]


def _applied_json(applied: "Applied") -> Json:
    report = applied.report
    return {
        "schema": REPORT_SCHEMA,
        "plan": applied.plan,
        "report": applied.leaf,
        "recorded": applied.is_new,
        "complete": applied.is_complete,
        "erasures": list(report.erasures),
        "changed": {one.what: one.count for one in report.changed},
        "retained": [{"target": one.target, "why": one.why} for one in report.retained],
        "retainedCount": report.retained_count,
        "failed": [{"target": one.target, "why": one.why} for one in report.failed],
        "failedCount": report.failed_count,
        "covered": list(report.coverage),
        "notCovered": list(report.not_covered),
        "authority": AUTHORITY,
    }


def _applied_lines(applied: "Applied") -> list[str]:
    report = applied.report
    changed = ", ".join(f"{one.count} {one.what}" for one in report.changed) or "nothing"
    lines = [f"forgotten: {changed}"]
    if report.retained_count:
        lines.append(f"stays: {report.retained_count}, as the plan said")
    lines += [f"failed: {one.target}  {one.why}" for one in report.failed]
    if not applied.is_complete:
        lines.append(f"run it again for what is left: timeline forget apply --plan {applied.plan}")
    lines.append(f"report: leaf {applied.leaf}" + ("" if applied.is_new else ", recorded before"))
    lines.append(f"not covered: {', '.join(report.not_covered)}")
    lines.append(f"look for what is left: timeline forget verify --plan {applied.plan}")
    return lines


def _verified_json(verified: "Verified") -> Json:
    return {
        "schema": VERIFY_SCHEMA,
        "plan": verified.plan,
        "gone": verified.ok,
        "checks": [
            {"name": one.name, "ok": one.ok, "detail": one.detail, "reason": one.reason or None}
            for one in verified.checks
        ],
        "found": [
            {
                "value": hit.number,
                "file": hit.file,
                "offset": hit.offset,
                "encoding": hit.encoding,
                "whole": hit.whole,
            }
            for hit in verified.hits
        ],
        "notChecked": list(verified.not_checked),
        "authority": AUTHORITY,
    }


def _verified_lines(verified: "Verified") -> list[str]:
    lines = [f"verdict: {'nothing is left' if verified.ok else 'something is left'}"]
    lines += [
        f"{'ok  ' if one.ok else 'FAIL'} {one.name}: {one.detail}"
        + (f" [{one.reason}]" if one.reason else "")
        for one in verified.checks
    ]
    lines += [
        f"     value {hit.number + 1}: {hit.file} at byte {hit.offset}, {hit.encoding}"
        + ("" if hit.whole else ", a half of it")
        for hit in verified.hits
    ]
    return [*lines, "not checked:", *(f"  - {one}" for one in verified.not_checked)]


def _status_json(status: "PlanStatus") -> Json:
    return {
        "plan": status.plan,
        "standing": status.standing,
        "targets": status.targets,
        "erased": status.erased,
        "failed": status.failed,
        "report": status.report,
        "lastStep": status.last_step or None,
    }


_NEXT: Final = {
    "planned": "carried out by `timeline forget apply`",
    "begun": "was interrupted before anything was erased; `timeline forget apply` goes on",
    "erased": "was interrupted behind the erasure; `timeline forget apply` goes on",
    "unfinished": "something failed; `timeline forget apply` tries again",
    "done": "reported",
}


def _status_lines(status: "PlanStatus") -> list[str]:
    return [
        f"{status.plan}  {status.standing}: {_NEXT[status.standing]}",
        f"    {status.erased} of {status.targets} leaves erased"
        + (f", {status.failed} failed" if status.failed else "")
        + ("" if status.report is None else f", report in leaf {status.report}"),
    ]


def _show_exclusions(found: "tuple[ExclusionMade, ...]", *, as_json: bool, nothing: str) -> None:
    answer: Json = {
        "schema": EXCLUSION_SCHEMA,
        "exclusions": [
            {
                "about": one.exclusion.about,
                "host": one.exclusion.host,
                "name": one.exclusion.name,
                "excluded": one.exclusion.excluded,
                "leaf": one.leaf,
                "since": format_utc(one.at),
            }
            for one in found
        ],
        "authority": AUTHORITY,
    }
    lines = [
        " ".join(filter(None, (one.exclusion.about, one.exclusion.host, printable(one.exclusion.name))))
        + ("" if one.exclusion.excluded else "  (not excluded any more)")
        + f"  leaf {one.leaf}, {format_utc(one.at)}"
        for one in found
    ]
    show(answer, as_json=as_json, lines=lines or [nothing])
