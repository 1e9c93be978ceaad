"""``timeline anchor postgres-schema``: what the administrator of a database runs before it is an anchor."""

import click

from timeline.anchors.schema import ROLE_DEFAULT, format_schema
from timeline.cli.exit import EPILOG


@click.command("postgres-schema", epilog=EPILOG)
@click.option(
    "--role",
    metavar="NAME",
    default=ROLE_DEFAULT,
    show_default=True,
    help="The role that the timeline logs in as; it is made where it does not exist.",
)
def schema_command(role: str) -> None:
    """Print the SQL that makes a PostgreSQL database an anchor. It touches neither the state nor a database.

    An administrator of the database runs it, never the role itself: the role may then read, and move a checkpoint
    forward, and nothing else. PostgreSQL 14 or newer.

    \b
    Example:
      timeline anchor postgres-schema --role timeline | psql --set ON_ERROR_STOP=1 anchors
    """
    click.echo(format_schema(role), nl=False)
