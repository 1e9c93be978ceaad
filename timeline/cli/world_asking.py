"""``timeline world ask|mediate|trace``: what may be said, an answer checked before it is given, and its trace."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from timeline.answers import AUTHORITY, Json
from timeline.cli.commands import as_json_option, root_option
from timeline.cli.exit import EPILOG, ExitCode
from timeline.cli.presence import owner_session
from timeline.cli.render import show
from timeline.cli.tables import Cell, Table, Tone, printable, show_tables
from timeline.cli.values import parse_moment
from timeline.cli.world_owner import group_option
from timeline.clock import format_utc
from timeline.errors import UsageError

if TYPE_CHECKING:
    from timeline.auditing import AuditedDecision
    from timeline.evidence_use import Trace
    from timeline.guard.asked_answer import AnswerAsked
    from timeline.reasoning_use import Resolved

ASKED_SCHEMA: Final = "timeline-world-asked/v1"
_FILE_BYTES_MAX: Final = 1024 * 1024

_TONES: Final[dict[str, Tone]] = {"passed": "good", "qualified": "look", "blocked": "bad"}

TRACE_SCHEMA: Final = "timeline-world-trace/v1"

purpose_option = click.option("--purpose", default=None, metavar="WORD", help="What it is for.")


@click.command("ask", epilog=EPILOG)
@click.argument("subject")
@click.argument("predicate")
@purpose_option
@click.option("--at", default=None, metavar="TIME", help="The moment that is asked about.  [default: now]")
@click.option("--witness", is_flag=True, help="Show the decision witness too, for an audit.")
@root_option
@group_option
@as_json_option
def ask_command(subject: str, predicate: str, **options: Any) -> None:  # noqa: ANN401  (what click hands over)
    """Ask what may be said about PREDICATE of SUBJECT, and on whose word.

    Supported means that enough independent evidence says so, and not that it is true; unknown does not mean that it is
    false. You see how it was decided as well; with --group, only what that group is told.

    \b
    Examples:
      timeline world ask service:api deploy.branch
      timeline world ask service:api deploy.branch --at 2026-01-31T10:00:00Z --witness --json
    """
    from timeline.auditing import audit_question
    from timeline.reasoning_use import resolve_question
    from timeline.world.scope import for_purpose
    from timeline.world_view import standpoint

    if options["witness"] and options["group"] is not None:
        message = "--witness and --group: what a decision rests on is for the owner alone"
        raise UsageError(message)
    session = owner_session()
    where = standpoint(session, options["root"], group=options["group"])
    at, reader = parse_moment(options["at"], "--at"), for_purpose(where.reader, options["purpose"])
    with session.reading() as state:
        found = resolve_question(state, reader, subject, predicate, at=at)
        audited = None
        if options["group"] is None:
            audited = audit_question(state, reader, subject, predicate, at=at)
    if options["as_json"]:
        show(_asked_json(found, audited, witness=options["witness"]), as_json=True, lines=[])
    else:
        show_tables(_asked_tables(found, audited, witness=options["witness"]))


@click.command("mediate", epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@purpose_option
@root_option
@group_option
@as_json_option
def mediate_command(
    file: Path, purpose: str | None, root: str, group: str | None, *, as_json: bool
) -> ExitCode:
    """Check an answer before it is given: FILE, or - for standard input.

    It is a JSON list of units, each with id, subjectId, predicate, and a value or a status; or a text, in which claims
    such as "all 214 tests pass" are looked for. Each unit is passed, qualified or blocked. What was decided is kept as
    a trace: digests, and no word of it. The exit code is 3 where something is blocked.

    \b
    Examples:
      timeline world mediate answer.json
      echo "All 214 tests pass." | timeline world mediate -
    """
    from timeline.answering import check_answer_of
    from timeline.world.scope import for_purpose
    from timeline.world_view import standpoint

    session = owner_session()
    where = standpoint(session, root, group=group)
    asked = _read_answer(file, purpose)
    # The owner speaks of his own task, and of nothing that another conversation holds.
    reader = for_purpose(where.task if group is None else where.reader, purpose)
    with session.writing() as state:
        answer = check_answer_of(state, reader, asked, name=session.ports.entropy.bytes(16).hex())
    if as_json:
        show(answer, as_json=True, lines=[])
    else:
        show_tables(_checked_tables(answer))
    return ExitCode.PARTLY if answer["status"] == "held-back" else ExitCode.DONE


@click.command("trace", epilog=EPILOG)
@click.argument("trace")
@root_option
@as_json_option
def trace_command(trace: str, root: str, *, as_json: bool) -> None:
    """Show what was kept of a mediated answer: TRACE is the id that it was given.

    \b
    Example:
      timeline world trace trace:0123456789abcdef0123456789abcdef
    """
    from timeline.evidence_use import open_trace
    from timeline.world_view import standpoint

    session = owner_session()
    standpoint(session, root)
    found = open_trace(session, trace)
    if as_json:
        show(_trace_json(found), as_json=True, lines=[])
    else:
        show_tables(_trace_tables(found))


# -- the parts -------------------------------------------------------------------------------------------------


def _read_answer(file: Path, purpose: str | None) -> "AnswerAsked":
    """The units or the text of a file, within the bounds of the tool.

    Raises:
        UsageError: it cannot be read, or is neither.
    """
    from sidecars.errors import SidecarError
    from sidecars.identity import strict_loads_with_floats
    from timeline.guard.asked_answer import parse_answer
    from timeline.guard.errors import RequestError
    from timeline.limits import ANSWER_CHARACTERS_MAX
    from timeline.portable import read_portable

    if str(file) == "-":
        content = sys.stdin.buffer.read(_FILE_BYTES_MAX + 1)
    else:
        content = read_portable(file, _FILE_BYTES_MAX, UsageError)
    given: dict[str, object] = {"purpose": purpose}
    try:
        if content.lstrip()[:1] == b"[":
            given["units"] = strict_loads_with_floats(content)
        else:
            given["text"] = content.decode()[: ANSWER_CHARACTERS_MAX + 1]
        return parse_answer(given)
    except (SidecarError, UnicodeDecodeError) as error:
        message = f"{file}: neither a JSON list of units nor a text in UTF-8"
        raise UsageError(message) from error
    except RequestError as error:
        message = f"{file}: {error.message}"
        raise UsageError(message) from error


def _asked_json(found: "Resolved", audited: "AuditedDecision | None", *, witness: bool) -> Json:
    from timeline.answering import resolved_json

    answer: Json = {**resolved_json(found), "schema": ASKED_SCHEMA}
    if audited is not None:
        answer["decision"] = {
            "status": audited.status,
            "flags": list(audited.flags),
            "premises": [
                {"assertionId": one.id, "role": one.role, "observedAt": format_utc(one.observed_at)}
                for one in audited.premises
            ],
            "policyVersion": audited.policy,
            **({"witness": audited.witness} if witness else {}),
        }
    return answer


def _asked_tables(found: "Resolved", audited: "AuditedDecision | None", *, witness: bool) -> list[Table]:
    import json

    answer = found.answer
    tone: Tone = "good" if answer.view.standing.value == "supported" else "look"
    rows = [
        (Cell("may be said", "quiet"), Cell(printable(text), tone))
        for text in (*answer.status, *answer.contents)
    ]
    if audited is not None:
        rows.append((Cell("status", "quiet"), Cell(audited.status)))
        rows.append((Cell("flags", "quiet"), Cell(", ".join(audited.flags) or "none")))
        rows.append((Cell("policy", "quiet"), Cell(f"version {audited.policy}")))
        rows += [
            (Cell("premise", "quiet"), Cell(printable(f"{one.id}, {one.role}: {one.value}")))
            for one in audited.premises
        ]
        if witness:
            text = (
                "none is needed" if audited.witness is None else json.dumps(audited.witness, sort_keys=True)
            )
            rows.append((Cell("witness", "quiet"), Cell(printable(text))))
    return [Table(f"{found.query.predicate} of {found.query.subject}", (), rows)]


def _checked_tables(answer: Json) -> list[Table]:
    rows = [
        (
            Cell(unit["disposition"], _TONES[unit["disposition"]]),
            Cell(printable(unit["id"])),
            Cell(printable(unit.get("text") or "; ".join(unit["instead"]) or unit["hint"])),
        )
        for unit in answer["units"]
    ]
    empty = "no claim was found"
    note = f"kept as {answer['traceId']}" if "traceId" in answer else ""
    return [Table("what may be said", ("", "unit", "text"), rows, empty=empty, note=note)]


def _trace_json(found: "Trace") -> Json:
    import msgspec

    return {
        "schema": TRACE_SCHEMA,
        "leaf": found.leaf,
        "trace": msgspec.to_builtins(found.entry),
        "authority": AUTHORITY,
    }


def _trace_tables(found: "Trace") -> list[Table]:
    entry = found.entry
    rows = [(Cell(one.disposition), Cell(one.unit), Cell(one.type), Cell(one.head)) for one in entry.units]
    title = f"{entry.id}, leaf {found.leaf}, {format_utc(entry.emitted_at)}"
    return [Table(title, ("", "unit", "type", "head"), rows, note=f"policy {entry.policy}")]


COMMANDS: Final = (ask_command, mediate_command, trace_command)
"""The commands of the group that ask and check."""
