"""The text by which systemd or launchd keeps the daemon running for one user. Pure.

The first line of ours in it names this program and the digest of everything else, so that a file which somebody else
wrote, or changed since, is told from ours and never replaced.

What the unit does not ask for: a mount or user namespace (``ProtectSystem``, ``PrivateTmp``, ``PrivateUsers``). In a
user's own manager each of them needs a user namespace, and from inside one the daemon could not look at the host
processes that its answers are bound to.
"""

import hashlib
import plistlib
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec

UNIT_NAME: Final = "timeline.service"
AGENT_LABEL: Final = "org.transcript-timeline.daemon"
"""A label must be unlike everybody else's, so that it begins with a reversed domain name."""

KEPT_VARIABLES: Final = (
    "TIMELINE_STATE_DIR",
    "TIMELINE_TRUST_DIR",
    "TIMELINE_CONFIG_DIR",
    "TIMELINE_RUNTIME_DIR",
    "XDG_STATE_HOME",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
)
"""Variables that move the folders: where the owner's shell sets one, the daemon must be told the same.

``XDG_RUNTIME_DIR`` is not among them: the manager sets it, and the one of a forgotten session would lead elsewhere.
"""

_BUSY: Final = 11
"""The exit code of a daemon that finds another one: no reason to start it again."""


class Supervisor(StrEnum):
    """What keeps programs running for a user."""

    SYSTEMD = "systemd"
    LAUNCHD = "launchd"


class UnitStanding(StrEnum):
    """Whose file stands where ours belongs."""

    ABSENT = "absent"
    CURRENT = "current"
    """Ours, and just as it would be written now."""

    OTHER = "other-version"
    """Ours and unchanged, but it would be written differently now."""

    CHANGED = "changed"
    """Ours once, and changed by somebody since."""

    FOREIGN = "foreign"
    """None of ours."""


class Daemon(msgspec.Struct, frozen=True):
    """How the daemon is started: the interpreter's path, and the variables that it needs."""

    interpreter: str
    variables: Mapping[str, str]

    @property
    def command(self) -> tuple[str, ...]:
        """The command line; isolated, so that no folder or variable of its surroundings adds code."""
        return (self.interpreter, "-I", "-m", "timeline", "daemon", "run")


_UNIT: Final = """\
[Unit]
Description=Timeline: what happened in coding agents' sessions

[Service]
Type=exec
ExecStart={command}
{variables}Restart=on-failure
RestartPreventExitStatus={busy}
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
MemoryMax=1G
TasksMax=128

[Install]
WantedBy=default.target
"""


_REFUSED: Final = re.compile(r"""["'\\\\\x00-\x1f\x7f]""")
"""What systemd does not take in the path of a program, however it is escaped; a shell does."""


def format_unit(daemon: Daemon) -> bytes:
    """A systemd unit for the user's own manager, with our mark in its first line."""
    variables = "".join(
        f"Environment={_quoted(f'{name}={value}')}\n" for name, value in sorted(daemon.variables.items())
    )
    program, *arguments = daemon.command
    if _REFUSED.search(program):
        program, arguments = "/bin/sh", ["-c", 'exec "$0" "$@"', program, *arguments]
    # A program's own path is not searched for variables; its arguments are.
    command = " ".join([_word(program), *(_word(argument.replace("$", "$$")) for argument in arguments)])
    body = _UNIT.format(command=command, variables=variables, busy=_BUSY)
    return _mark_line(body.encode(), "# {}\n") + body.encode()


def format_agent(daemon: Daemon) -> bytes:
    """A launchd property list, with our mark in a comment after its first line."""
    found = {
        "Label": AGENT_LABEL,
        "ProgramArguments": list(daemon.command),
        "EnvironmentVariables": dict(daemon.variables),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ProcessType": "Background",
        "Umask": 0o077,
    }
    first, _, rest = plistlib.dumps(found).partition(b"\n")
    body = first + b"\n" + rest
    return first + b"\n" + _mark_line(body, "<!-- {} -->\n") + rest


def format_file(manager: Supervisor, daemon: Daemon) -> bytes:
    """What the manager of this system reads."""
    return format_unit(daemon) if manager is Supervisor.SYSTEMD else format_agent(daemon)


def decide_standing(found: bytes | None, wanted: bytes) -> UnitStanding:
    """Whose file ``found`` is (``None``: there is none), and whether it is what would be written now."""
    if found is None:
        return UnitStanding.ABSENT
    if found == wanted:
        return UnitStanding.CURRENT
    marks = list(_MARK.finditer(found))
    if not marks:
        return UnitStanding.FOREIGN
    mark = marks[0]
    body = found[: mark.start()] + found[mark.end() :]
    return UnitStanding.OTHER if mark["digest"].decode() == _digest(body) else UnitStanding.CHANGED


def commands_to_enable(manager: Supervisor, path: str, user: int) -> tuple[tuple[str, ...], ...]:
    """The commands that make the manager start the daemon now and at each login; ``user`` is the numeric user id."""
    if manager is Supervisor.SYSTEMD:
        return (
            ("systemctl", "--user", "daemon-reload"),
            ("systemctl", "--user", "enable", "--now", UNIT_NAME),
        )
    return (("launchctl", "bootstrap", f"gui/{user}", path),)


def commands_to_disable(manager: Supervisor, user: int) -> tuple[tuple[str, ...], ...]:
    """The commands before the file is removed."""
    if manager is Supervisor.SYSTEMD:
        return (("systemctl", "--user", "disable", "--now", UNIT_NAME),)
    return (("launchctl", "bootout", f"gui/{user}/{AGENT_LABEL}"),)


def commands_after_removal(manager: Supervisor) -> tuple[tuple[str, ...], ...]:
    """What the manager must be told once the file is gone."""
    return (("systemctl", "--user", "daemon-reload"),) if manager is Supervisor.SYSTEMD else ()


def kept_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those variables of the owner's shell that say where the timeline lies."""
    return {name: environment[name] for name in KEPT_VARIABLES if environment.get(name)}


_WORDS: Final = "Written by `timeline service install`; changes are kept, and end its care. sha256"
_MARK: Final = re.compile(
    rb"^(?:# |<!-- )" + re.escape(_WORDS.encode()) + rb" (?P<digest>[0-9a-f]{64})(?: -->)?\n", re.MULTILINE
)


def _mark_line(body: bytes, form: str) -> bytes:
    return form.format(f"{_WORDS} {_digest(body)}").encode()


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _word(word: str) -> str:
    """A word as systemd reads it: its own signs escaped, in quotes where it needs them."""
    return _quoted(word) if re.search(r"[^A-Za-z0-9_./+:@=-]", word) else word


def _quoted(word: str) -> str:
    """A word in quotes; systemd would replace ``%``, and a backslash, quote or line's end would end it."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + "".join(_escaped(character) for character in escaped) + '"'


def _escaped(character: str) -> str:
    return f"\\x{ord(character):02x}" if ord(character) < 0x20 or character == "\x7f" else character
