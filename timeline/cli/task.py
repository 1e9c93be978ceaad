"""``timeline task``: where the project's task stands, and what its owner says about it."""

from typing import TYPE_CHECKING, Any, Final, Literal

import click

from timeline.cli.asking import has_terminal, may_ask
from timeline.cli.commands import as_json_option, root_option, yes_option
from timeline.cli.exit import EPILOG
from timeline.cli.presence import owner_session
from timeline.cli.render import show
from timeline.cli.tables import printable, show_tables
from timeline.cli.world_owner import options_of
from timeline.errors import UsageError

if TYPE_CHECKING:
    from timeline.service import Session
    from timeline.task_use import TaskView
    from timeline.world.ledger import Recorded
    from timeline.world_view import Standpoint

_STATUSES: Final = ("active", "blocked", "paused")

_ask_options = options_of(yes_option, root_option, as_json_option)


@click.group("task")
def task_group() -> None:
    """The task of this project: what it is for, what was verified last, and what its next step is.

    Which task that is, config.toml says. What stands here is context for every session of the task, and no order.
    Nobody's word completes a task: a captured result does, under an outcome contract that was agreed on before.

    \b
    Examples:
      timeline task start --objective "Ship the importer" --next-step "Make tests/importer pass"
      timeline task contract --label pytest --total 12 --success 12 --completes
      timeline task show
    """


@task_group.command("show", epilog=EPILOG)
@root_option
@as_json_option
def show_command(root: str, *, as_json: bool) -> None:
    """Show the task on one screen: objective, status, last verified step, next step, contract, open questions.

    Models' suggestions and the user's messages that wait for an answer are listed apart; neither moves the task.

    \b
    Example:
      timeline task show
    """
    from timeline.cli.task_render import task_json, task_tables
    from timeline.task_use import view_task
    from timeline.world_view import standpoint

    session = owner_session()
    view = view_task(session, standpoint(session, root))
    if as_json:
        show(task_json(view), as_json=True, lines=[])
    else:
        show_tables(task_tables(view, session.ports.clock.now_ms()))


@task_group.command("start", epilog=EPILOG)
@click.option("--objective", default=None, help="What the task is for, in one line.")
@click.option("--next-step", default=None, help="What is to be done next, in one line.")
@click.option("--question", "questions", multiple=True, help="What is still open. Can be given again.")
@root_option
@as_json_option
def start_command(
    objective: str | None, next_step: str | None, questions: tuple[str, ...], root: str, *, as_json: bool
) -> None:
    """Begin the task, or a completed one anew. On a terminal it asks for what was not given.

    \b
    Example:
      timeline task start --objective "Ship the importer" --next-step "Make tests/importer pass"
    """
    from timeline.task_use import begin_task
    from timeline.world_view import standpoint

    asks = not as_json and has_terminal()
    session = owner_session()
    where = standpoint(session, root)
    objective = _line(objective, "--objective", "What is the task for?", asks=asks)
    next_step = _line(next_step, "--next-step", "What is to be done next?", asks=asks)
    recorded = begin_task(session, where, objective=objective, next_step=next_step, questions=questions)
    _show(session, where, recorded, as_json=as_json)


@task_group.command("confirm", epilog=EPILOG)
@click.argument("continuation", required=False)
@_ask_options
def confirm_command(continuation: str | None, root: str, *, yes: bool, as_json: bool) -> None:
    """Say yourself where the task stands: as a model has suggested, or as one of several that differ says.

    Without CONTINUATION, an id, it is the only one that waits. What a model says was verified is not taken over.

    \b
    Examples:
      timeline task confirm
      timeline task confirm assertion:continuation-of-monday
    """
    from timeline.cli.task_render import continuation_table
    from timeline.task_use import confirm_continuation, find_choice, view_task
    from timeline.world_view import standpoint

    session = owner_session()
    where = standpoint(session, root)
    view = view_task(session, where)
    chosen = find_choice(view, continuation)
    if may_ask(yes=yes, as_json=as_json):
        show_tables([continuation_table("to be confirmed", chosen, session.ports.clock.now_ms())])
        if not _confirm(view, "Does the task stand so?"):
            return
    recorded = confirm_continuation(session, where, chosen.id, shown=_in_force(view))
    _show(session, where, recorded, as_json=as_json)


@task_group.command("correct", epilog=EPILOG)
@click.option("--next-step", default=None, help="What is to be done next instead.")
@click.option("--objective", default=None, help="What the task is for instead.")
@click.option("--status", type=click.Choice(_STATUSES), default=None, help="How it goes.")
@click.option(
    "--question", "questions", multiple=True, help="What is open, instead of what was. Can be given again."
)
@click.option("--no-questions", is_flag=True, help="Nothing is open any more.")
@_ask_options
def correct_command(**options: Any) -> None:  # noqa: ANN401  (what click hands over)
    """Change the next step of the task, or another part of where it stands; the rest stays as it is.

    A contract that was agreed on for another step counts no more.

    \b
    Example:
      timeline task correct --next-step "Write the migration first"
    """
    from timeline.task_use import change_task, view_task
    from timeline.world.owner_task import TaskChange
    from timeline.world_view import standpoint

    change = TaskChange(
        status=options["status"],
        objective=options["objective"],
        next_step=options["next_step"],
        questions=_questions(options["questions"], none=options["no_questions"]),
    )
    if change == TaskChange():
        message = "nothing to change was given"
        raise UsageError(message, hint="timeline task correct --next-step TEXT")
    session = owner_session()
    where = standpoint(session, options["root"])
    view = view_task(session, where)
    if may_ask(yes=options["yes"], as_json=options["as_json"]) and not _confirm(view, "Change it?"):
        return
    recorded = change_task(session, where, change, shown=_in_force(view))
    _show(session, where, recorded, as_json=options["as_json"])


@task_group.command("contract", epilog=EPILOG)
@click.option(
    "--label", required=True, help="Which result counts: its label, such as suite-4, or its runner."
)
@click.option("--total", type=click.IntRange(min=1), default=None, help="How many it has to count.")
@click.option("--success", type=click.IntRange(min=0), default=None, help="How many of them have to pass.")
@click.option("--then", default=None, metavar="TEXT", help="Success leads to this next step.")
@click.option("--completes", is_flag=True, help="Success completes the task.")
@click.option("--paused", is_flag=True, help="With --then: the task rests then, until you go on.")
@click.option("--step", default=None, metavar="TEXT", help="The step that is next now, to make sure.")
@_ask_options
def contract_command(**options: Any) -> None:  # noqa: ANN401  (what click hands over)
    """Agree beforehand which result completes the next step, and where success leads.

    Only a result that ran after this counts. A failure keeps the step; a correction of the step ends the contract.

    \b
    Examples:
      timeline task contract --label pytest --total 12 --success 12 --then "Write the changelog"
      timeline task contract --label suite-4 --total 40 --success 40 --completes
    """
    from timeline.task_use import agree_outcome, view_task
    from timeline.world.outcome_contract import Expected
    from timeline.world_view import standpoint

    then, completes = options["then"], options["completes"]
    if completes == (then is not None) or (completes and options["paused"]):
        message = "where success leads: --then TEXT (with --paused or without), or --completes"
        raise UsageError(message)
    if (options["total"] is None) != (options["success"] is None):
        message = "--total and --success come together or not at all"
        raise UsageError(message)
    session = owner_session()
    where = standpoint(session, options["root"])
    view = view_task(session, where)
    _check_step(view, options["step"])
    if may_ask(yes=options["yes"], as_json=options["as_json"]) and not _confirm(view, "Agree on this?"):
        return
    status: Literal["active", "paused", "completed"] = (
        "completed" if completes else "paused" if options["paused"] else "active"
    )
    recorded = agree_outcome(
        session,
        where,
        Expected(options["label"], options["total"], options["success"]),
        status=status,
        next_step=then,
        shown=_in_force(view),
    )
    _show(session, where, recorded, as_json=options["as_json"])


# -- the parts -------------------------------------------------------------------------------------------------


def _in_force(view: "TaskView") -> frozenset[str]:
    return frozenset(view.state.continuations.ids)


def _line(given: str | None, option: str, question: str, *, asks: bool) -> str:
    if given is not None:
        return given
    if not asks:
        message = f"{option} is missing, and nothing can be asked"
        raise UsageError(message)
    return str(click.prompt(question))


def _questions(given: tuple[str, ...], *, none: bool) -> tuple[str, ...] | None:
    if none and given:
        message = "--question and --no-questions: one of them"
        raise UsageError(message)
    return given if given or none else None


def _check_step(view: "TaskView", step: str | None) -> None:
    """That the step which is next is the one that was meant."""
    continuation = view.continuation
    now = None if continuation is None else continuation.next_step
    if step is not None and now is not None and step not in {now.id, now.summary}:
        message = "--step: another step is next now"
        raise UsageError(message, hint="`timeline task show` shows it; `timeline task correct` changes it")


def _confirm(view: "TaskView", question: str) -> bool:
    """Ask, with what is in force named."""
    ids = view.state.continuations.ids
    if ids:
        click.echo(f"In force: {', '.join(map(printable, ids))}")
    if click.confirm(question, default=False):
        return True
    click.echo("Nothing was recorded; the task stays where it is.")
    return False


def _show(session: "Session", where: "Standpoint", recorded: "Recorded", *, as_json: bool) -> None:
    """What was recorded, and where the task stands with it."""
    from timeline.cli.task_render import task_json, task_tables
    from timeline.task_use import view_task

    view = view_task(session, where)
    if as_json:
        found = {**task_json(view), "status": recorded.status, "assertionId": recorded.assertion.id}
        show(found, as_json=True, lines=[])
        return
    click.echo(f"{recorded.status} {recorded.assertion.id}")
    show_tables(task_tables(view, session.ports.clock.now_ms()))
