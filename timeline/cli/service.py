"""``timeline service``: let systemd or launchd keep the daemon running."""

import os
import shlex
from typing import TYPE_CHECKING

import click

from timeline.answers import Json
from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG, ExitCode
from timeline.cli.render import show

if TYPE_CHECKING:
    from timeline.unit_file import Command, Service, ServiceChange

_dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would be written and run, and change nothing."
)


@click.group("service")
def service_group() -> None:
    """Let systemd (a unit of your own user) or launchd keep the daemon running.

    Nothing needs it: the daemon is started by its first client. With it, the daemon stands before the first host does.
    """


@service_group.command("install", epilog=EPILOG)
@_dry_run_option
@as_json_option
def install_command(*, dry_run: bool, as_json: bool) -> int:
    """Write the unit and start the daemon, now and at each login.

    A file that this program did not write, or that was changed since, is never replaced. Where the manager does not
    answer, the commands that you have to run are printed, and the end is 3.

    \b
    Examples:
      timeline service install --dry-run
      timeline service install
    """
    from timeline import unit_file
    from timeline.service_unit import commands_to_enable

    service = unit_file.find_service(os.environ)
    if dry_run:
        commands = commands_to_enable(service.manager, str(service.path), os.getuid())
        return _show_plan(service, commands, as_json=as_json)
    outcome = unit_file.install(service, unit_file.run_command)
    said = "wrote" if outcome.changed else "unchanged"
    return _show_outcome(service, "installed", f"{said} {service.path}", outcome, as_json=as_json)


@service_group.command("uninstall", epilog=EPILOG)
@_dry_run_option
@as_json_option
def uninstall_command(*, dry_run: bool, as_json: bool) -> int:
    """Stop the daemon, and remove the unit.

    \b
    Example:
      timeline service uninstall
    """
    from timeline import unit_file
    from timeline.service_unit import commands_after_removal, commands_to_disable

    service = unit_file.find_service(os.environ)
    if dry_run:
        removal: tuple[Command, ...] = (("rm", str(service.path)),)
        before, after = (
            commands_to_disable(service.manager, os.getuid()),
            commands_after_removal(service.manager),
        )
        answer: Json = {
            "status": "dry-run",
            "path": str(service.path),
            "run": _typed(before + removal + after),
        }
        show(answer, as_json=as_json, lines=answer["run"])
        return ExitCode.DONE
    outcome = unit_file.uninstall(service, unit_file.run_command)
    said = f"removed {service.path}" if outcome.changed else f"{service.path}: not installed"
    return _show_outcome(service, "removed" if outcome.changed else "absent", said, outcome, as_json=as_json)


@service_group.command("status", epilog=EPILOG)
@as_json_option
def status_command(*, as_json: bool) -> int:
    """Show whether the unit is installed, is ours, and runs.

    \b
    Example:
      timeline service status
    """
    from timeline import unit_file

    status = unit_file.look_at(unit_file.find_service(os.environ), unit_file.run_command)
    answer: Json = {
        "schema": "timeline-service/v1",
        "manager": str(status.manager),
        "path": str(status.path),
        "standing": str(status.standing),
        "answers": status.answers,
        "enabled": status.enabled,
        "active": status.active,
    }
    runs = f"{status.enabled}, {status.active}" if status.answers else "does not answer"
    lines = [f"{status.path}: {status.standing}", f"{status.manager}: {runs}"]
    show(answer, as_json=as_json, lines=lines)
    return ExitCode.DONE


def _typed(commands: "tuple[Command, ...]") -> list[str]:
    return [shlex.join(command) for command in commands]


def _show_plan(service: "Service", commands: "tuple[Command, ...]", *, as_json: bool) -> int:
    answer: Json = {
        "status": "dry-run",
        "path": str(service.path),
        "content": service.content.decode(),
        "run": _typed(commands),
    }
    lines = [f"would write {service.path}:", *answer["content"].rstrip("\n").split("\n"), "would run:"]
    show(answer, as_json=as_json, lines=[*lines, *answer["run"]])
    return ExitCode.DONE


def _show_outcome(
    service: "Service", status: str, said: str, outcome: "ServiceChange", *, as_json: bool
) -> int:
    answer: Json = {
        "status": status,
        "manager": str(service.manager),
        "path": str(service.path),
        "changed": outcome.changed,
        "ran": _typed(outcome.ran),
        "left": _typed(outcome.left),
    }
    lines = [said, *(f"ran  {command}" for command in answer["ran"])]
    if outcome.left:
        lines += [f"{service.manager} does not answer, or refused; run yourself:", *answer["left"]]
    show(answer, as_json=as_json, lines=lines)
    return ExitCode.PARTLY if outcome.left else ExitCode.DONE
