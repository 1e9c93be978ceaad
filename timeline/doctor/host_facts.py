"""Looks at the hosts that are here: their configuration, what it runs, and when they wrote a transcript last.

Of a transcript only its name and times are looked at.
"""

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import timeline
from timeline.doctor.facts import CommandFact, HookFact, HostFact, ProbeFact, ServerFact
from timeline.doctor.settings import HostSettings, ServerSetting, parse_settings
from timeline.errors import UnsafeFileError
from timeline.files import is_there, open_regular
from timeline.hosts import HOSTS, Host, home_folder
from timeline.install.command import find_program
from timeline.install.errors import InstallScopeError
from timeline.install.places import InstallScope, host_files
from timeline.limits import HOST_FILE_BYTES_MAX
from timeline.service import Session

ENTRIES_MAX: Final = 20_000
"""Files and folders of a host's sessions that are looked at: thousands of sessions, in a tenth of a second."""

_ASSIGNMENT: Final = re.compile(r"[A-Z_]+=")

Speak = Callable[[tuple[str, ...], Mapping[str, str]], ProbeFact]


def find_hosts(session: Session, root: str, speak: Speak | None, *, python: str) -> tuple[HostFact, ...]:
    """The hosts whose folder is there or whose program is on PATH; ``speak`` asks an MCP server of ours."""
    found = (_find_host(session, host, root, speak, python) for host in HOSTS.values())
    return tuple(host for host in found if host is not None)


def _find_host(session: Session, host: Host, root: str, speak: Speak | None, python: str) -> HostFact | None:
    environment = session.environment
    user_home = Path(environment.get("HOME") or Path.home())
    home = home_folder(host, environment, user_home)
    paths = (shutil.which(name, path=environment.get("PATH")) for name in host.programs)
    program = next((path for path in paths if path is not None), None)
    if program is None and not home.is_dir():
        return None
    files, unreadable = _read_files(session, host.name, root, python, user_home)
    settings = parse_settings(host.name, files)
    server = None if settings.server is None else _server(settings.server, session)
    return HostFact(
        name=host.name,
        home=str(home),
        program=program,
        hooks=tuple(_hooks(settings, session)),
        server=server,
        unreadable=unreadable + settings.unreadable,
        unknown_events=settings.unknown_events,
        newest_ms=find_newest(home / host.sessions),
        probe=None if speak is None else _spoken_to(settings.server, server, speak),
    )


def _spoken_to(setting: ServerSetting | None, fact: ServerFact | None, speak: Speak) -> ProbeFact | None:
    """What our server says; one that is not ours, or that others can write, is never started."""
    if setting is None or fact is None or not fact.ours or fact.command.missing or fact.command.unsafe:
        return None
    return speak(setting.words, setting.variables)


def _read_files(
    session: Session, host: str, root: str, python: str, home: Path
) -> tuple[dict[str, bytes], tuple[tuple[str, str], ...]]:
    """What stands in the host's files, the user's first, and those that cannot be read."""
    environment = session.environment
    program = find_program(python, str(package_folder()), str(session.locations.runtime), environment)
    paths: list[Path] = []
    for scope in InstallScope:
        try:
            found = host_files(host, scope, program, home=home, project=Path(root), environment=environment)
        except InstallScopeError:
            continue
        paths += [file.path for file in found]
    files, unreadable = {}, []
    for path in dict.fromkeys(paths):
        try:
            if is_there(path):
                with open_regular(path) as file:
                    files[str(path)] = file.read(HOST_FILE_BYTES_MAX)
        except UnsafeFileError:
            unreadable.append((str(path), "cannot be read"))
    return files, tuple(unreadable)


def package_folder() -> Path:
    """Where this installation lies."""
    return Path(timeline.__file__).parent


# -- commands --------------------------------------------------------------------------------------------------


def _hooks(settings: HostSettings, session: Session) -> Iterator[HookFact]:
    for hook in settings.hooks:
        words = shlex.split(hook.command)
        while words and _ASSIGNMENT.match(words[0]):
            del words[0]
        command = look_at_command(words, session.locations.runtime)
        yield HookFact(hook.event, hook.file, command, hook.trusted)


def _server(server: ServerSetting, session: Session) -> ServerFact:
    if not server.ours:
        return ServerFact(server.file, ours=False)
    return ServerFact(
        server.file, ours=True, command=look_at_command(server.words, session.locations.runtime)
    )


def look_at_command(words: Sequence[str], runtime: Path) -> CommandFact:
    """What a command of ours runs: ``<interpreter> <flags…> <file of ours> <host> <runtime folder>``."""
    interpreter, script = words[0], words[-3]
    missing = tuple(path for path in (interpreter, script) if not _is_file(path))
    ours = package_folder() / Path(script).name
    return CommandFact(
        missing=missing,
        unsafe=tuple(path for path in (interpreter, script) if path not in missing and _is_unsafe(path)),
        here=os.path.realpath(script) == os.path.realpath(ours),
        runtime_here=os.path.realpath(words[-1]) == os.path.realpath(runtime),
    )


def _is_file(path: str) -> bool:
    return Path(path).is_absolute() and Path(path).is_file()


def _is_unsafe(path: str) -> bool:
    """Whether somebody else could change what is run: a stranger's file, or one that strangers may write.

    A group of one's own may write: many systems give every user one, and every file to it.
    """
    found = Path(path).stat()
    if found.st_uid not in {0, os.geteuid()}:
        return True
    return bool(found.st_mode & 0o002) or (bool(found.st_mode & 0o020) and found.st_gid != os.getegid())


# -- transcripts -----------------------------------------------------------------------------------------------


def find_newest(folder: Path) -> int | None:
    """When a transcript below a folder was written last, in UTC milliseconds; looks at a bounded number of entries."""
    left, newest = ENTRIES_MAX, 0
    waiting = [folder]
    while waiting and left > 0:
        try:
            entries = sorted(
                waiting.pop().iterdir()
            )  # folders that are named for days: the newest is popped first
        except OSError:
            continue
        left -= len(entries)
        for entry in entries:
            try:
                if entry.suffix == ".jsonl":
                    newest = max(newest, entry.lstat().st_mtime_ns // 1_000_000)
                elif entry.is_dir() and not entry.is_symlink():
                    waiting.append(entry)
            except OSError:
                continue
    return newest or None
