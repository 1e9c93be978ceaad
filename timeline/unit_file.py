"""The file by which systemd or launchd keeps the daemon running: written, removed, and looked at.

Nothing but a file that this program wrote, and that nobody changed since, is replaced or removed. The manager itself
is asked to enable or disable it where it answers; else the commands that do so are given back to be shown.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from timeline.errors import StateUnwritableError, TimelineError
from timeline.files import is_there, open_regular, remove_private, write_atomic
from timeline.service_unit import (
    AGENT_LABEL,
    UNIT_NAME,
    Daemon,
    Supervisor,
    UnitStanding,
    commands_after_removal,
    commands_to_disable,
    commands_to_enable,
    decide_standing,
    format_file,
    kept_variables,
)

UNIT_BYTES_MAX: Final = 64 * 1024
"""Bytes of such a file that are read; ours has one or two thousand."""

COMMAND_SECONDS: Final = 20.0
"""How long the manager may take for one command; starting the daemon is part of it."""

Command = tuple[str, ...]

Runs = Callable[[Sequence[str]], tuple[bool, str]]
"""Runs a command of the manager: whether it ended well, and the first line that it printed."""


class UnitForeignError(TimelineError):
    """The file of the service was not written by this program, or was changed since."""

    reason = "service-file-foreign"
    default_hint = (
        "compare it with `timeline service install --dry-run`; move it away, then run the command again"
    )


class SupervisorMissingError(TimelineError):
    """Neither systemd nor launchd keeps programs running here."""

    reason = "service-manager-missing"
    default_hint = "nothing is needed: the daemon is started on demand by its first client"


class Service(msgspec.Struct, frozen=True):
    """The service of one user: what keeps it, where its file lies, and what is written there."""

    manager: Supervisor
    path: Path
    content: bytes


class ServiceStatus(msgspec.Struct, frozen=True):
    """How the service stands. ``answers`` says whether the manager does; the other two are ``None`` where not.

    ``enabled`` is whether it starts at login, ``active`` whether it runs now, each in the manager's own word.
    """

    manager: Supervisor
    path: Path
    standing: UnitStanding
    answers: bool
    enabled: str | None = None
    active: str | None = None


class ServiceChange(msgspec.Struct, frozen=True):
    """What was done: whether the file changed, the commands that ran, and those that the owner has to run."""

    changed: bool
    ran: tuple[Command, ...] = ()
    left: tuple[Command, ...] = ()


def find_service(environment: Mapping[str, str], *, platform: str = sys.platform) -> Service:
    """The service as it would be installed now, for this interpreter and this environment.

    Raises:
        SupervisorMissingError: nothing here would start it.
    """
    home = Path(environment.get("HOME") or Path.home())
    if platform == "darwin":
        manager, path = Supervisor.LAUNCHD, home / "Library" / "LaunchAgents" / f"{AGENT_LABEL}.plist"
    elif shutil.which("systemctl", path=environment.get("PATH")) is not None:
        manager, path = Supervisor.SYSTEMD, _config_home(environment, home) / "systemd" / "user" / UNIT_NAME
    else:
        message = "there is no systemctl on PATH"
        raise SupervisorMissingError(message)
    daemon = Daemon(sys.executable, kept_variables(environment))
    return Service(manager, path, format_file(manager, daemon))


def look_at(service: Service, runs: Runs) -> ServiceStatus:
    """How it stands.

    Raises:
        UnsafeFileError: something that is no file stands in its place.
    """
    standing = decide_standing(_read(service.path), service.content)
    if not answers(service.manager, runs):
        return ServiceStatus(service.manager, service.path, standing, answers=False)
    if service.manager is Supervisor.SYSTEMD:
        _, enabled = runs(("systemctl", "--user", "is-enabled", UNIT_NAME))
        _, active = runs(("systemctl", "--user", "is-active", UNIT_NAME))
    else:
        loaded, _ = runs(("launchctl", "print", f"gui/{os.getuid()}/{AGENT_LABEL}"))
        enabled = active = "loaded" if loaded else "not loaded"
    return ServiceStatus(service.manager, service.path, standing, True, enabled or None, active or None)


def install(service: Service, runs: Runs) -> ServiceChange:
    """Write the file, and let the manager start the daemon now and at each login.

    Raises:
        UnitForeignError: another file stands in its place; nothing is changed.
        StateUnwritableError: it cannot be written.
    """
    changed = _check_ours(service) is not UnitStanding.CURRENT
    if changed:
        try:
            service.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"{service.path.parent}: cannot be made"
            raise StateUnwritableError(message) from error
        write_atomic(service.path, service.content)
    commands = commands_to_enable(service.manager, str(service.path), os.getuid())
    return _run_all(service.manager, commands, runs, changed=changed)


def uninstall(service: Service, runs: Runs) -> ServiceChange:
    """Let the manager stop the daemon and forget it, and remove the file; where there is none, do nothing.

    Raises:
        UnitForeignError: the file is none of ours, or was changed; nothing is changed.
        StateUnwritableError: it cannot be removed.
    """
    if _check_ours(service) is UnitStanding.ABSENT:
        return ServiceChange(changed=False)
    disabled = _run_all(
        service.manager, commands_to_disable(service.manager, os.getuid()), runs, changed=True
    )
    remove_private(service.path)
    told = _run_all(service.manager, commands_after_removal(service.manager), runs, changed=True)
    return ServiceChange(True, disabled.ran + told.ran, disabled.left + told.left)


def answers(manager: Supervisor, runs: Runs) -> bool:
    """Whether the user's own manager can be asked: in a container or a bare session there is none."""
    if manager is Supervisor.SYSTEMD:
        return runs(("systemctl", "--user", "show", "--property=Version"))[0]
    return runs(("launchctl", "print", f"gui/{os.getuid()}"))[0]


def run_command(command: Sequence[str]) -> tuple[bool, str]:
    """Run a command of the manager, within a deadline; one that is missing or silent has failed."""
    try:
        done = subprocess.run(  # noqa: S603  # words of ours, and no shell
            command, capture_output=True, timeout=COMMAND_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return False, ""
    return done.returncode == 0, done.stdout.decode(errors="replace").partition("\n")[0].strip()


def _run_all(manager: Supervisor, commands: Sequence[Command], runs: Runs, *, changed: bool) -> ServiceChange:
    """Run commands until one fails; that one and the rest are left to the owner."""
    if not answers(manager, runs):
        return ServiceChange(changed, left=tuple(commands))
    for number, command in enumerate(commands):
        if not runs(command)[0]:
            return ServiceChange(changed, tuple(commands[:number]), tuple(commands[number:]))
    return ServiceChange(changed, tuple(commands))


def _check_ours(service: Service) -> UnitStanding:
    standing = decide_standing(_read(service.path), service.content)
    if standing in {UnitStanding.FOREIGN, UnitStanding.CHANGED}:
        rule = "was changed since" if standing is UnitStanding.CHANGED else "was not written by this program"
        message = f"{service.path}: {rule}"
        raise UnitForeignError(message)
    return standing


def _read(path: Path) -> bytes | None:
    """What stands there; a link is somebody else's arrangement, so that its content does not count as ours."""
    if not is_there(path):
        return None
    if path.is_symlink():
        return b""
    with open_regular(path) as file:
        return file.read(UNIT_BYTES_MAX)


def _config_home(environment: Mapping[str, str], home: Path) -> Path:
    given = Path(environment.get("XDG_CONFIG_HOME", ""))
    return given if given.is_absolute() else home / ".config"
