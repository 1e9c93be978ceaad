"""`timeline daemon`: run it, start it, stop it, look at it."""

import json
import os
from collections.abc import Callable

import click
import msgspec

from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG, ExitCode
from timeline.cli.render import show
from timeline.diary import follow_diary, format_entry, read_diary
from timeline.launch import ask, check_may_start, start, stop
from timeline.paths import Locations, find_locations

_POLL_SECONDS = 0.5


BeDaemon = Callable[[], None]
"""What the entry point gives the command line, which does not know the daemon."""


def _locations() -> Locations:
    return find_locations(os.environ)


@click.group("daemon", epilog=EPILOG)
def daemon_group() -> None:
    """The one process per user that hears the hooks and serves the tools.

    Hooks and the MCP relay start it when they need it; you need not.

    \b
    Examples:
      timeline daemon status
      timeline daemon logs --last 20
      timeline daemon stop
    """


@daemon_group.command("run", epilog=EPILOG)
@click.pass_obj
def run_command(be_daemon: BeDaemon) -> None:
    """Be the daemon in this process, until a signal or `timeline daemon stop`.

    \b
    Example:
      timeline daemon run
    """
    be_daemon()


@daemon_group.command("start", epilog=EPILOG)
@as_json_option
def start_command(*, as_json: bool) -> None:
    """Start it, if it is not running, and wait until it answers.

    \b
    Example:
      timeline daemon start
    """
    from timeline.guard.transport import nearest_host
    from timeline.processes import chain_of

    host = nearest_host(chain_of(os.getpid()))
    check_may_start(os.environ, None if host is None else host.host)
    start(_locations().runtime)
    _show_status(as_json=as_json)


@daemon_group.command("stop", epilog=EPILOG)
@as_json_option
def stop_command(*, as_json: bool) -> None:
    """End it cleanly; the next hook or tool starts another one.

    \b
    Example:
      timeline daemon stop
    """
    was_running = stop(_locations().runtime)
    show(
        {"status": "stopped" if was_running else "not-running"},
        as_json=as_json,
        lines=["stopped" if was_running else "no daemon was running"],
    )


@daemon_group.command("status", epilog=EPILOG)
@as_json_option
def status_command(*, as_json: bool) -> None:
    """Show whether it runs, what it watches and how many tools are connected.

    \b
    Example:
      timeline daemon status --json
    """
    _show_status(as_json=as_json)


@daemon_group.command("logs", epilog=EPILOG)
@click.option("--last", default=50, show_default=True, type=click.IntRange(1, 100_000), help="Lines to show.")
@click.option("--follow", is_flag=True, help="Go on with what comes, until interrupted.")
@as_json_option
def logs_command(last: int, *, follow: bool, as_json: bool) -> None:
    """Show the daemon's diary: times, events and reason codes, and no text of a transcript.

    \b
    Examples:
      timeline daemon logs --last 5
      timeline daemon logs --follow
    """
    path = _locations().diary
    write = (lambda entry: json.dumps(msgspec.to_builtins(entry))) if as_json else format_entry
    for entry in read_diary(path, last=last):
        click.echo(write(entry))
    if follow:
        import select

        def wait() -> bool:
            select.select((), (), (), _POLL_SECONDS)
            return True

        for entry in follow_diary(path, wait):
            click.echo(write(entry))


def _show_status(*, as_json: bool) -> ExitCode:
    found = msgspec.json.decode(ask(_locations().runtime, b'{"ask": "status"}'))
    reason = f" ({found['reason']})" if found.get("reason") else ""
    lines = [
        f"daemon    {found['version']}, process {found['pid']}, since {found['started_at']}",
        f"timeline  {found['state']}{reason}",
        f"watching  {found['watching']} followed sources",
        f"tools     {found['mcp_sessions']} connections, {found['permits']} permits pending",
    ]
    show(found, as_json=as_json, lines=lines)
    return ExitCode.DONE
