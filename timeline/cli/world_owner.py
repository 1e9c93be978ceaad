"""``timeline world record|confirm|correct|resolve``: the owner's own word, signed by the owner key."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

import click

from sidecars.assertion import SUPERSEDES_MAX, KnowledgeKind
from timeline.cli.asking import may_ask
from timeline.cli.commands import as_json_option, root_option, yes_option
from timeline.cli.exit import EPILOG
from timeline.cli.presence import owner_session
from timeline.cli.render import show
from timeline.cli.tables import printable, show_tables
from timeline.cli.values import Given, given_value, needed_value, parse_moment
from timeline.clock import format_utc
from timeline.errors import UsageError

if TYPE_CHECKING:
    from sidecars.identity import JSON
    from timeline.service import Session
    from timeline.world.assertion import Assertion
    from timeline.world.standing import Group
    from timeline.world_use import Spoken

_ANOTHER: Final = 0
"""What is typed for a value that nobody has said."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def options_of(*options: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """Several options and arguments as one decorator, in this order."""

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


group_option = click.option(
    "--group", default=None, metavar="ID", help="What this group sees: its own and shared, nothing private."
)
_value_options = options_of(
    click.option("--value", "as_value", default=None, metavar="JSON", help="The value: any JSON."),
    click.option("--text", default=None, help="The value, where it is a text."),
)
_reason_option = click.option("--reason", default=None, help="Why; a decision must say it.")
_expires_option = click.option(
    "--expires", default=None, metavar="TIME", help="From when it is stale, 2026-01-31T10:00:00Z."
)


@click.command("record", epilog=EPILOG)
@click.argument("subject")
@click.argument("predicate")
@_value_options
@click.option(
    "--kind",
    type=click.Choice(get_args(KnowledgeKind)),
    default=None,
    help="Make it an item of the typed view.",
)
@click.option("--shared", is_flag=True, help="For everybody of the tenant.  [default: private]")
@click.option("--everywhere", is_flag=True, help="For all projects, not only this one.")
@click.option(
    "--purpose", "purposes", multiple=True, metavar="WORD", help="For this use only; can be repeated."
)
@click.option("--about", default=None, metavar="PERSON", help="Whom it speaks of, such as person:kim.")
@click.option(
    "--from",
    "derived_from",
    multiple=True,
    metavar="ID",
    help="An interpretation that you take up as your own belief; can be repeated.",
)
@click.option("--starts", default=None, metavar="TIME", help="From when it holds, 2026-01-31T10:00:00Z.")
@_expires_option
@_reason_option
@root_option
@group_option
@as_json_option
def record_command(subject: str, predicate: str, **options: Any) -> None:  # noqa: ANN401  (what click hands over)
    """Say that PREDICATE of SUBJECT has a value. The owner key signs it, and the statement is its evidence.

    It replaces nothing: where something else is held, that is a conflict from now on. SUBJECT is a namespace and a
    name, such as service:api; PREDICATE a dotted name, such as deploy.branch.

    \b
    Examples:
      timeline world record service:api deploy.branch --text main
      timeline world record user:me editor.tabs --value 4 --kind user-preference --everywhere
    """
    from timeline.world.assertion import Use
    from timeline.world_use import OwnerStatement, record_statement
    from timeline.world_view import standpoint

    group = options["group"]
    if options["shared"] and group is not None:
        message = "--shared and --group: it is for everybody, or for a group"
        raise UsageError(message)
    session = owner_session()
    statement = OwnerStatement(
        subject=subject,
        predicate=predicate,
        value=needed_value(options["as_value"], options["text"]),
        knowledge=options["kind"],
        privacy="shared" if options["shared"] else "private" if group is None else "group",
        group=group,
        everywhere=options["everywhere"],
        expires_at=parse_moment(options["expires"]),
        reason=options["reason"],
        use=Use(parse_moment(options["starts"], "--starts"), options["purposes"], options["about"]),
        derived_from=options["derived_from"],
    )
    where = standpoint(session, options["root"], group=group)
    _show_spoken(session, record_statement(session, where, statement), as_json=options["as_json"])


@click.command("confirm", epilog=EPILOG)
@click.argument("assertion")
@_reason_option
@yes_option
@root_option
@group_option
@as_json_option
def confirm_command(  # each option is one
    assertion: str, reason: str | None, root: str, group: str | None, *, yes: bool, as_json: bool
) -> None:
    """Say yourself what a model has suggested. The suggestion, ASSERTION, stays one; your own word is recorded.

    \b
    Example:
      timeline world confirm assertion:branch-suggestion
    """
    from timeline.cli.world_render import history_table
    from timeline.world_use import check_to_confirm, confirm_proposal
    from timeline.world_view import find_one, standpoint

    session = owner_session()
    where = standpoint(session, root, group=group)
    if may_ask(yes=yes, as_json=as_json):
        found = find_one(session, where, assertion)
        check_to_confirm(found)
        about = f"suggested about {found.assertion.entry.subject}"
        show_tables([history_table(about, [found], session.ports.clock.now_ms())])
        for line in _signed_lines(found.assertion):
            click.echo(line)
        if not click.confirm("Say so yourself?", default=False):
            click.echo("Nothing was recorded; it stays a suggestion.")
            return
    _show_spoken(session, confirm_proposal(session, where, assertion, reason=reason), as_json=as_json)


@click.command("correct", epilog=EPILOG)
@click.argument("assertions", nargs=-1, required=True, metavar="ASSERTION...")
@_value_options
@_expires_option
@_reason_option
@yes_option
@root_option
@group_option
@as_json_option
def correct_command(assertions: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401  (what click hands over)
    """Replace every ASSERTION that is named, of one subject and predicate, by another value.

    \b
    Example:
      timeline world correct assertion:timeline-0123... --text release --reason "main is frozen"
    """
    from timeline.cli.world_render import history_table
    from timeline.world_use import correct_value
    from timeline.world_view import find_one, standpoint

    value = needed_value(options["as_value"], options["text"])
    expires_at = parse_moment(options["expires"])
    session = owner_session()
    where = standpoint(session, options["root"], group=options["group"])
    if may_ask(yes=options["yes"], as_json=options["as_json"]):
        found = [find_one(session, where, one) for one in assertions]
        about = f"to be replaced, about {found[0].assertion.entry.subject}"
        show_tables([history_table(about, found, session.ports.clock.now_ms())])
        if not click.confirm(f"Replace by {_text_of(value)}?", default=False):
            click.echo("Nothing was recorded.")
            return
    spoken = correct_value(session, where, assertions, value, reason=options["reason"], expires_at=expires_at)
    _show_spoken(session, spoken, as_json=options["as_json"])


@click.command("resolve", epilog=EPILOG)
@click.argument("subject")
@click.argument("predicate")
@click.option("--choose", default=None, metavar="ID", help="Take the value of this assertion.")
@_value_options
@_reason_option
@yes_option
@root_option
@group_option
@as_json_option
def resolve_command(subject: str, predicate: str, **options: Any) -> None:  # noqa: ANN401  (what click hands over)
    """Settle a conflict about PREDICATE of SUBJECT: choose one value, or give another.

    Shows what disagrees and on whose word, names what is superseded, and asks. What is recorded replaces all of it; if
    the conflict is another one by then, nothing is recorded.

    \b
    Examples:
      timeline world resolve service:api deploy.branch
      timeline world resolve service:api deploy.branch --choose assertion:timeline-0123... --yes
    """
    from timeline.cli.world_render import conflict_table
    from timeline.world.context import Conflict
    from timeline.world_use import check_general, resolve_dispute
    from timeline.world_view import find_dispute, standpoint

    check_general(predicate)
    choose, reason = options["choose"], options["reason"]
    given = given_value(options["as_value"], options["text"])
    if choose is not None and given is not None:
        message = "--choose and a value: one of them settles it"
        raise UsageError(message)
    session = owner_session()
    where = standpoint(session, options["root"], group=options["group"])
    shown = find_dispute(session, where, subject, predicate, holding=choose)
    asks = may_ask(yes=options["yes"], as_json=options["as_json"])
    if asks:
        show_tables([conflict_table(Conflict(shown), session.ports.clock.now_ms())])
    value, chosen = _settled(shown, choose, given, asks=asks)
    if asks:
        if reason is None and chosen is None and any(one.entry.knowledge == "decision" for one in shown):
            reason = click.prompt("Why?")
        if not _confirm_resolution(shown, value):
            click.echo("Nothing was recorded; the conflict stays.")
            return
    spoken = resolve_dispute(session, where, shown, value, chosen=chosen, reason=reason)
    _show_spoken(session, spoken, as_json=options["as_json"])


# -- the parts -------------------------------------------------------------------------------------------------


def _settled(
    shown: "Group", choose: str | None, given: Given | None, *, asks: bool
) -> "tuple[JSON, Assertion | None]":
    """The value that settles a conflict, and whose it is."""
    if choose is not None:
        chosen = next(one for one in shown if one.id == choose)
        return chosen.value, chosen
    if given is not None:
        return given.value, None
    if not asks:
        message = "--choose or --value is missing, and nothing can be asked"
        raise UsageError(message, hint=f"--choose {shown[0].id}, or another of `timeline world conflicts`")
    number = click.prompt(
        f"Which one holds? (1 to {len(shown)}, {_ANOTHER} for another value)",
        type=click.IntRange(_ANOTHER, len(shown)),
    )
    if number != _ANOTHER:
        return shown[number - 1].value, shown[number - 1]
    typed = given_value(click.prompt("The value, as JSON"), None)
    return (None if typed is None else typed.value), None


def _confirm_resolution(shown: "Group", value: "JSON") -> bool:
    from timeline.world_use import resolution_parts

    parts = resolution_parts(shown, value)
    click.echo()
    click.echo(f"By your word {_text_of(value)} holds. This supersedes, for everybody who sees them:")
    for one in (one for part in parts for one in part):
        click.echo(f"  {printable(one.id)}  {_text_of(one.value)}")
    if len(parts) > 1:
        click.echo(
            f"This takes {len(parts)} assertions: one for each scope, and for each {SUPERSEDES_MAX} of them."
        )
    return click.confirm("Record this?", default=False)


def _text_of(value: "JSON") -> str:
    from timeline.world.assertion import canonical_text

    return printable(canonical_text(value))


def _signed_lines(assertion: "Assertion") -> list[str]:
    """Everything that the owner key is about to sign of a suggestion, in full."""
    entry = assertion.entry
    end = "never" if entry.expires_at is None else format_utc(entry.expires_at)
    return [
        f"By your word about {printable(entry.subject)} {printable(entry.predicate)}:",
        f"  value    {_text_of(assertion.value)}",
        f"  kind     {entry.knowledge or 'none'}, {entry.privacy}, expires {end}",
    ]


def _show_spoken(session: "Session", spoken: "Spoken", *, as_json: bool) -> None:
    from timeline.cli.world_render import spoken_json, spoken_tables

    if as_json:
        show(spoken_json(spoken), as_json=True, lines=[])
    else:
        show_tables(spoken_tables(spoken, session.ports.clock.now_ms()))


COMMANDS: Final = (record_command, confirm_command, correct_command, resolve_command)
"""The owner's commands of the group."""
