"""``timeline formats``: what the owner says about record types that were never reviewed."""

import click

from adapters.registry import ADAPTERS
from timeline import answers, formats
from timeline.answers import Json
from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG
from timeline.cli.presence import owner_session
from timeline.cli.render import show

_host_argument = click.argument("host", type=click.Choice(sorted(ADAPTERS)))
_type_argument = click.argument("type_name", metavar="TYPE")


@click.group("formats")
def formats_group() -> None:
    """Record types that were never reviewed: a source that has one is partly understood until its owner accepts it."""


@formats_group.command("list", epilog=EPILOG)
@as_json_option
def list_command(*, as_json: bool) -> None:
    """List every unreviewed record type that was met or decided about.

    \b
    Example:
      timeline formats list
    """
    found = [answers.type_answer(status) for status in formats.list_types(owner_session())]
    lines = [line for answer in found for line in type_lines(answer)[:1]]
    show(found, as_json=as_json, lines=lines or ["no unreviewed record type was met"])


@formats_group.command("show", epilog=EPILOG)
@_host_argument
@_type_argument
@as_json_option
def show_command(host: str, type_name: str, *, as_json: bool) -> None:
    """Show what was decided about records of TYPE that HOST writes, and which sources have them.

    \b
    Example:
      timeline formats show codex event_msg/new_thing
    """
    _show(answers.type_answer(formats.show_type(owner_session(), host, type_name)), as_json=as_json)


@formats_group.command("accept", epilog=EPILOG)
@_host_argument
@_type_argument
@as_json_option
def accept_command(host: str, type_name: str, *, as_json: bool) -> None:
    """Accept records of TYPE that HOST writes: you, the owner, say that they cannot concern a result.

    Recorded in the log under the owner key, and can be taken back. Sources that hold no other unreviewed type then
    count as understood, those that are indexed already too.

    A protocol that King or Kimi Code declares and that was never reviewed can be accepted as a reviewed one.

    \b
    Example:
      timeline formats accept codex event_msg/new_thing
      timeline formats accept king protocol/1.6-blun:1.4
    """
    _show(answers.type_answer(formats.accept_type(owner_session(), host, type_name)), as_json=as_json)


@formats_group.command("revoke", epilog=EPILOG)
@_host_argument
@_type_argument
@as_json_option
def revoke_command(host: str, type_name: str, *, as_json: bool) -> None:
    """Take the acceptance of TYPE back: sources with such records are partly understood again.

    \b
    Example:
      timeline formats revoke codex event_msg/new_thing
    """
    _show(answers.type_answer(formats.revoke_type(owner_session(), host, type_name)), as_json=as_json)


def _show(answer: Json, *, as_json: bool) -> None:
    show(answer, as_json=as_json, lines=type_lines(answer))


def type_lines(answer: Json) -> list[str]:
    """One record type for a person: how it stands, then every decision about it."""
    count = len(answer["sources"])
    met = f"in {count} source{'' if count == 1 else 's'}" if count else "in no indexed source"
    lines = [f"{answer['host']} {answer['type']}  {answer['standing']}, {met}"]
    lines += [f"    {d['at']}  {d['standing']} by leaf {d['leaf']}" for d in answer["decisions"]]
    return [*lines, *(f"    {ref}" for ref in answer["sources"])]
