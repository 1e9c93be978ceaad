"""``timeline exclude``: what is never to be taken in."""

from typing import TYPE_CHECKING, Any, Final

import click

from adapters.registry import ADAPTERS
from timeline.answers import AUTHORITY, Json
from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG
from timeline.cli.presence import owner_session
from timeline.cli.render import show
from timeline.cli.tables import printable
from timeline.clock import format_utc
from timeline.errors import UsageError

if TYPE_CHECKING:
    from timeline.forgetting.intake import ExclusionMade

EXCLUSION_SCHEMA: Final = "timeline-exclusions/v1"


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
    from timeline.exclude_use import list_exclusions

    _show_exclusions(list_exclusions(owner_session()), as_json=as_json, nothing="nothing is excluded")


def _set(
    *, excluded: bool, as_json: bool, provider: str | None, session_id: str | None, **named: str | None
) -> None:
    from timeline.exclude_use import exclusions_named, set_exclusions

    if (session_id is None) != (provider is None):
        message = "--session and --provider come together"
        raise UsageError(message)
    session = owner_session()
    pair = None if session_id is None or provider is None else (provider, session_id)
    wanted = exclusions_named(session, session_id=pair, excluded=excluded, **named)
    _show_exclusions(set_exclusions(session, wanted), as_json=as_json, nothing="")


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
