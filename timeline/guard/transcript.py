"""Where the transcript of a prompt lies: below the host's own sessions folder, under a name that is the session's.

The host's home comes from the environment, never from the event. Hosts that do not say the path in their event keep
an index of their sessions; what it says is believed no more than an event: the same checks follow.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from sidecars.errors import SidecarError
from sidecars.identity import strict_loads
from timeline.errors import SourceError, TranscriptOutsideError, TranscriptUnnamedError
from timeline.guard.receipt import PromptEvent
from timeline.hosts import MAIN_WIRE, Host, home_folder
from timeline.limits import SESSION_INDEX_BYTES_MAX
from timeline.source import check_below, check_names, check_path, open_any


def locate_transcript(host: Host, event: PromptEvent, environment: Mapping[str, str]) -> str:
    """The canonical path of the transcript that an event is about; the file may not exist yet.

    Raises:
        SourceError: the path is not known, not one that can be recorded, or not below the host's sessions folder;
            or it does not name this session (T7, T70, T71).
    """
    home = home_of(host, environment)
    root = home / host.sessions
    given = event.transcript_path or _from_environment(host, environment) or _from_index(host, home, event)
    if given is None:
        message = f"{home}: the host does not say where it writes this session"
        raise TranscriptUnnamedError(message)
    path = _canonical(given)
    try:
        check_below(path, root)
    except TranscriptOutsideError as error:
        hint = f"set {host.home_variable} if the host's home is not the default"
        raise TranscriptOutsideError(error.message, hint=hint) from error
    check_names(path, root, event.session, host.names_session)
    return path


def home_of(host: Host, environment: Mapping[str, str]) -> Path:
    """The host's home, with links resolved.

    Raises:
        TranscriptOutsideError: the environment names none: what lies below the working folder is nobody's home.
    """
    home = home_folder(host, environment, Path(environment.get("HOME", "")))
    if not home.is_absolute() or "\0" in str(home):
        message = f"{host.home_variable} and HOME: one must be an absolute path"
        raise TranscriptOutsideError(message)
    return Path(os.path.realpath(home))


def _canonical(path: str) -> str:
    """The path with links in its folders resolved; the file itself may not be one."""
    check_path(path)
    return str(Path(os.path.realpath(Path(path).parent)) / Path(path).name)


def _from_environment(host: Host, environment: Mapping[str, str]) -> str | None:
    return environment.get(host.path_variable) or None if host.path_variable is not None else None


def _from_index(host: Host, home: Path, event: PromptEvent) -> str | None:
    """The transcript in the folder that the host's index names last for this session."""
    if host.session_index is None:
        return None
    try:
        lines = list(_lines_naming(str(home / host.session_index), event.session))
    except SourceError:
        return None
    for line in reversed(lines):
        try:
            found = strict_loads(line)
        except SidecarError:
            continue  # the host may be writing it
        if isinstance(found, dict) and found.get("sessionId") == event.session:
            folder = found.get("sessionDir")
            return str(Path(folder, *MAIN_WIRE)) if isinstance(folder, str) else None
    return None


def _lines_naming(path: str, session: str) -> Iterator[bytes]:
    """Whole lines at the end of an index that hold the session's name."""
    with open_any(path) as opened:
        size = opened.snapshot.size
        begin = max(0, size - SESSION_INDEX_BYTES_MAX)
        lines = opened.read(begin, size - begin).split(b"\n")
    name = session.encode("utf-8", "surrogatepass")
    # A piece from the middle begins inside a line; the last line is not finished unless a newline ends it.
    for line in lines[1 if begin else 0 : -1]:
        if name in line:
            yield line
