"""What is asked on a terminal, and what a scope's name may be. Where there is no terminal, nothing is asked."""

import sys

import click

from timeline import service
from timeline.binding import is_scope_id
from timeline.config import Scope
from timeline.errors import UsageError


class ScopeIdType(click.ParamType[str]):
    """A tenant, user or task as bindings take it."""

    name = "name"

    def convert(  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """The value itself, if it is one."""
        if not is_scope_id(value):
            self.fail(
                "must be 1 to 128 letters, digits or : _ . @ / -, the first a letter or digit",
                param,
                ctx,
            )
        return value


SCOPE_ID = ScopeIdType()


def has_terminal() -> bool:
    """Whether somebody can be asked: both ends are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def may_ask(*, yes: bool, as_json: bool) -> bool:
    """Whether a command asks before it records: at a terminal, unless it was told not to, or speaks to a program."""
    return not yes and not as_json and has_terminal()


def choose_scope(
    session: service.Session, *, tenant: str | None, user: str | None, task: str | None, may_ask: bool
) -> Scope | None:
    """The scope that a first configuration gives to sessions: as told, else as answered, else as it is by default.

    ``None`` where there is a configuration already: it is kept as it is.

    Raises:
        UsageError: there is one, and something else was told.
    """
    told = {"tenant": tenant, "user": user, "task": task}
    offered = service.offered_scope(session)
    if offered is None:
        if any(told.values()):
            message = f"{session.locations.settings}: exists, and is kept as it is"
            raise UsageError(
                message, hint="change the table [scope] there, and leave --tenant, --user and --task out"
            )
        return None
    if may_ask and not any(told.values()):
        click.echo("Hosts do not say whose and what their sessions are. Enter keeps what stands in brackets.")
        told = {name: click.prompt(name, default=getattr(offered, name), type=SCOPE_ID) for name in told}
    return Scope(**{name: value or getattr(offered, name) for name, value in told.items()})
