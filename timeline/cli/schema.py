"""``timeline schema``: of which version the database is, and the way back to the version before."""

from typing import TYPE_CHECKING, Final

import click

from timeline.answers import AUTHORITY, Json
from timeline.cli.asking import may_ask
from timeline.cli.commands import as_json_option, yes_option
from timeline.cli.exit import EPILOG
from timeline.cli.presence import owner_session
from timeline.cli.render import show

if TYPE_CHECKING:
    from timeline.schema_back import SchemaStanding

SCHEMA_SCHEMA: Final = "timeline-schema/v1"


@click.group("schema")
def schema_group() -> None:
    """The version of the database, and the way back to an older program. The log itself is the same in each."""


@schema_group.command("show", epilog=EPILOG)
@as_json_option
def show_command(*, as_json: bool) -> None:
    """Show of which version the database is, and whether an older program could still read the log.

    \b
    Example:
      timeline schema show
    """
    from timeline.schema_back import show_schema

    standing = show_schema(owner_session())
    answer: Json = {
        "schema": SCHEMA_SCHEMA,
        "version": standing.version,
        "newest": standing.newest,
        "backTo": standing.back_to,
        "canGoBack": standing.can_go_back,
        "obstacles": dict(standing.obstacles),
        "authority": AUTHORITY,
    }
    show(answer, as_json=as_json, lines=[f"version {standing.version}", _way_back(standing)])


def _way_back(standing: "SchemaStanding") -> str:
    if standing.version < standing.newest:
        return f"this program brings it to version {standing.newest} with the next command that writes"
    if not standing.obstacles:
        return f"the program of version {standing.back_to} could read this log: timeline schema back"
    named = ", ".join(f"{name} ({count})" for name, count in standing.obstacles)
    return f"no way back to version {standing.back_to}; its program does not know: {named}"


@schema_group.command("back", epilog=EPILOG)
@click.option("--to", "to", type=int, required=True, help="The version of the older program.")
@yes_option
@as_json_option
def back_command(to: int, *, yes: bool, as_json: bool) -> None:
    """Bring the database back to an older version, so that the older program can go on with it.

    Make a backup first: `timeline backup FILE`. No leaf is changed or lost. Where the log holds what the older program
    does not know, this is refused. Stop the daemon, and install the older program right afterwards: the next command
    of this one brings the database forward again.

    \b
    Example:
      timeline schema back --to 2
    """
    from timeline.schema_back import go_back

    session = owner_session()
    if may_ask(yes=yes, as_json=as_json):
        click.echo("make a backup first, if you have none: timeline backup FILE")
        click.confirm(f"Bring the database back to version {to}?", default=False, abort=True)
    go_back(session, to)
    answer: Json = {"schema": SCHEMA_SCHEMA, "version": to, "authority": AUTHORITY}
    lines = [
        f"the database is of version {to} now; no leaf was changed",
        "install the older program before anything else: this one brings it forward again",
    ]
    show(answer, as_json=as_json, lines=lines)
