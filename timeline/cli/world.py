"""``timeline world``: what is held to be so and on whose word, and the owner's own word about it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from timeline.cli import grading, world_asking, world_evidence, world_exchange, world_owner
from timeline.cli.commands import as_json_option, root_option
from timeline.cli.exit import EPILOG
from timeline.cli.presence import owner_session
from timeline.cli.render import show
from timeline.cli.tables import show_tables
from timeline.cli.world_owner import group_option, options_of
from timeline.limits import WORLD_ITEMS_DEFAULT, WORLD_ITEMS_MAX

if TYPE_CHECKING:
    from timeline.cli.tables import Table
    from timeline.world.context import Context

_limit_option = click.option(
    "--limit",
    type=click.IntRange(1, WORLD_ITEMS_MAX),
    default=WORLD_ITEMS_DEFAULT,
    show_default=True,
    help="At most so many.",
)
_view_options = options_of(
    click.argument("subject", required=False), root_option, group_option, _limit_option, as_json_option
)


@click.group("world")
def world_group() -> None:
    """What is held to be so: facts, conflicts, proposals, what has expired, and the owner's word about them.

    All of it is context: it permits nothing and starts nothing. Facts are measured or said by the owner, in force and
    disputed by nothing; what a model says is a proposal, however often it says it.

    \b
    Examples:
      timeline world facts
      timeline world resolve service:api deploy.branch
    """


def _view(
    name: str,
    draw: "Callable[[Context, int], list[Table]]",
    subject: str | None,
    **options: Any,  # noqa: ANN401  (what click hands over)
) -> None:
    # Imported here, as in the commands below: only they need it.
    from timeline.cli.world_render import context_json
    from timeline.world_view import standpoint, view_world

    session = owner_session()
    where = standpoint(session, options["root"], group=options["group"])
    context = view_world(session, where, subject=subject, max_items=options["limit"])
    if options["as_json"]:
        show(context_json(context, [name]), as_json=True, lines=[])
    else:
        show_tables(draw(context, session.ports.clock.now_ms()))


@world_group.command("facts", epilog=EPILOG)
@_view_options
def facts_command(subject: str | None, **options: Any) -> None:  # noqa: ANN401  (what click hands over)
    """List what is established: measured or said by the owner, in force, and disputed by nothing.

    \b
    Examples:
      timeline world facts
      timeline world facts service:api --json
    """
    from timeline.cli.world_render import fact_table

    _view("facts", lambda context, now_ms: [fact_table(context, now_ms)], subject, **options)


@world_group.command("conflicts", epilog=EPILOG)
@_view_options
def conflicts_command(subject: str | None, **options: Any) -> None:  # noqa: ANN401  (what click hands over)
    """List what is disputed: established values of one subject and predicate that differ.

    No count of votes settles a conflict; `timeline world resolve` does.

    \b
    Example:
      timeline world conflicts
    """
    from timeline.cli.world_render import conflict_tables

    _view("conflicts", conflict_tables, subject, **options)


@world_group.command("proposals", epilog=EPILOG)
@_view_options
def proposals_command(subject: str | None, **options: Any) -> None:  # noqa: ANN401  (what click hands over)
    """List what models have suggested, and the user's messages that were quoted. None of it is established.

    \b
    Examples:
      timeline world proposals
      timeline world confirm assertion:...
    """
    from timeline.cli.world_render import proposal_table

    _view("proposals", lambda context, now_ms: [proposal_table(context, now_ms)], subject, **options)


@world_group.command("stale", epilog=EPILOG)
@_view_options
def stale_command(subject: str | None, **options: Any) -> None:  # noqa: ANN401  (what click hands over)
    """List what has passed its stated end and was not replaced. It is not used any more.

    \b
    Example:
      timeline world stale
    """
    from timeline.cli.world_render import stale_table

    _view("stale", lambda context, now_ms: [stale_table(context, now_ms)], subject, **options)


@world_group.command("history", epilog=EPILOG)
@click.argument("subject")
@click.argument("predicate", required=False)
@root_option
@group_option
@as_json_option
def history_command(
    subject: str, predicate: str | None, root: str, group: str | None, *, as_json: bool
) -> None:
    """List everything that was ever said about SUBJECT, newest first, with what replaced what.

    \b
    Example:
      timeline world history service:api deploy.branch
    """
    from timeline.cli.world_render import history_json, history_table
    from timeline.world_view import standpoint, view_history

    session = owner_session()
    placed = view_history(session, standpoint(session, root, group=group), subject, predicate)
    if as_json:
        show(history_json(subject, predicate, placed), as_json=True, lines=[])
    else:
        show_tables([history_table(f"history of {subject}", placed, session.ports.clock.now_ms())])


@world_group.command("show", epilog=EPILOG)
@click.argument("assertion")
@root_option
@group_option
@as_json_option
def show_command(assertion: str, root: str, group: str | None, *, as_json: bool) -> None:
    """Show everything about one ASSERTION by its id, and look at its evidence again where that can be done.

    \b
    Example:
      timeline world show assertion:timeline-0123...
    """
    from timeline.cli.world_render import explained_json, explained_tables
    from timeline.world_view import explain, standpoint

    session = owner_session()
    found = explain(session, standpoint(session, root, group=group), assertion)
    if as_json:
        show(explained_json(found), as_json=True, lines=[])
    else:
        show_tables(explained_tables(found, session.ports.clock.now_ms()))


for _command in (
    *world_owner.COMMANDS,
    *world_asking.COMMANDS,
    *world_evidence.COMMANDS,
    *grading.COMMANDS,
    *world_exchange.COMMANDS,
):
    world_group.add_command(_command)
