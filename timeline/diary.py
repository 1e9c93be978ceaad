"""The daemon's diagnostics: one JSON object a line, in one bounded file that only its owner can read.

Each event has a closed list of fields, and each field is a count or one word of a bounded form. So neither a prompt,
nor a tool's arguments, nor a line of a transcript can get in, whatever a caller hands over: a field that is not on the
list is a fault of ours and raises, a value of another form is written as ``?``. A path never stands here; a source is
named by its reference.

The file is ``daemon.log`` in the runtime folder; when it is full it becomes ``daemon.log.1`` and replaces the one
before. What cannot be written is counted and said with the next line that can: diagnostics never stop the daemon.
"""

import os
import re
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

import msgspec

from timeline.clock import Clock, SystemClock, format_utc
from timeline.errors import StateIncompleteError
from timeline.files import is_there, read_private, write_atomic

DIARY_BYTES_MAX: Final = 1024 * 1024
"""Bytes of one file: some 8,000 lines, days of work. There are two files at most."""

LINE_BYTES_MAX: Final = 4096
"""Bytes of one line with all its fields; a longer one was not written by this program."""

_ROTATED: Final = ".1"
_FORGOTTEN: Final = "forgotten"
"""The reason of a refusal that names nobody: what was forgotten must not stand here either."""

_UNSHAPED: Final = "?"
_COUNT_MAX: Final = 2**53

Level = Literal["info", "warning", "error"]
Value = str | int | bool | None

_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+/-]{0,127}", re.ASCII)
"""An id, a name, a version or a reason code. It has no spaces, so that a sentence is none."""

FIELDS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        name: frozenset(fields.split())
        for name, fields in {
            "started": "version pid",
            "stopped": "pid reason seconds",
            "state": "state reason size",
            "client": "kind version difference",
            "refused": "kind reason",
            "hook": "host session hook answer reason milliseconds",
            "receipt": "host session standing reason",
            "permit": "host session tool standing reason",
            "connection": "host pid standing reason",
            "call": "host session tool status reason milliseconds bytes",
            "watching": "sources",
            "extension": "host source generation bytes events reason milliseconds",
            "silent": "host session bytes",
            "commit": "leaves size milliseconds reason",
            "fault": "kind error place",
            "lost": "lines",
        }.items()
    }
)
"""Every event, and the only fields that it may have beside its time and level.

``fault`` names the class of an unexpected error and where in our own code it was raised, never its message.
"""


class Entry(msgspec.Struct, frozen=True):
    """One line: UTC text, level, event, and the event's fields."""

    at: str
    level: str
    event: str
    fields: dict[str, Value]


class Diary:
    """Writes the file; threads may share one."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        """Nothing is opened yet: the folder may not be there before the first line."""
        self._path = path
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._lost = 0

    def write(self, event: str, level: Level = "info", **fields: Value) -> None:
        """Write one line.

        Raises:
            RuntimeError: the event, or one of its fields, is not on the list.
        """
        allowed = FIELDS.get(event)
        if allowed is None or not allowed.issuperset(fields):
            message = f"diary event {event}: not on the list, or with a field that is not"
            raise RuntimeError(message)
        if fields.get("reason") == _FORGOTTEN:
            fields = {name: value for name, value in fields.items() if name not in {"session", "source"}}
        with self._lock:
            lines = [self._line(event, level, fields)]
            if self._lost:
                lines.insert(0, self._line("lost", "warning", {"lines": self._lost}))
            try:
                _append(self._path, b"".join(lines))
            except OSError:
                self._lost += 1
            else:
                self._lost = 0

    def _line(self, event: str, level: Level, fields: Mapping[str, Value]) -> bytes:
        shaped = {name: _shaped(value) for name, value in fields.items() if value is not None}
        head = {"at": format_utc(self._clock.now_ms()), "level": level, "event": event}
        return msgspec.json.encode({**head, **shaped}) + b"\n"


def _shaped(value: Value) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_COUNT_MAX <= value <= _COUNT_MAX else _UNSHAPED
    return value if isinstance(value, str) and _WORD.fullmatch(value) else _UNSHAPED


def _append(path: Path, content: bytes) -> None:
    """Append whole lines with one write, so that a kill leaves no half of one before the next.

    Raises:
        OSError: it cannot be written, or what stands there is not a private file.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        found = os.fstat(descriptor)
        foreign = found.st_uid != os.geteuid() or found.st_nlink != 1 or found.st_mode & 0o077
        if foreign or not stat.S_ISREG(found.st_mode):
            raise PermissionError(path)
        if found.st_size + len(content) <= DIARY_BYTES_MAX or not found.st_size:
            os.write(descriptor, content)
            return
    finally:
        os.close(descriptor)
    path.replace(_rotated(path))
    _append(path, content)


def _rotated(path: Path) -> Path:
    return path.with_name(path.name + _ROTATED)


def read_diary(path: Path, *, last: int | None = None) -> tuple[Entry, ...]:
    """The lines of both files, oldest first; with ``last`` only so many. A line that is not ours is left out.

    Raises:
        UnsafeFileError: a file is not private.
    """
    found = [entry for file in (_rotated(path), path) for entry in _entries(_content(file))]
    return tuple(found if last is None else found[max(0, len(found) - last) :])


def drop_entries(path: Path, is_gone: Callable[[Entry], bool]) -> int:
    """Take lines out of both files, and every line that is not ours; how many. What is added meanwhile may be lost.

    Raises:
        UnsafeFileError: a file is not private.
        StateUnwritableError: it cannot be rewritten.
    """
    dropped = 0
    for file in (_rotated(path), path):
        lines = [line for line in _content(file).split(b"\n") if line]
        kept = [line for line in lines if any(not is_gone(entry) for entry in _entries(line))]
        if len(kept) < len(lines):
            write_atomic(file, b"".join(line + b"\n" for line in kept))
            dropped += len(lines) - len(kept)
    return dropped


def follow_diary(path: Path, wait: Callable[[], bool]) -> Iterator[Entry]:
    """The lines that are added from now on, until ``wait`` gives false.

    ``wait`` is called whenever there is nothing more to give; it waits for a while or for a signal.

    Raises:
        UnsafeFileError: the file is not private.
    """
    # By its inode: after a rotation the rest of the old file is read first, and then the new one from its beginning.
    inode, offset = _inode(path), len(_content(path))
    while wait():
        if _inode(path) != inode:
            rotated = _rotated(path)
            if _inode(rotated) == inode:
                yield from _entries(_content(rotated)[offset:])
            inode, offset = _inode(path), 0
        content = _content(path)[offset:]
        whole = content.rfind(b"\n") + 1
        offset += whole
        yield from _entries(content[:whole])


def format_entry(entry: Entry) -> str:
    """One line for a person."""
    fields = "".join(f" {name}={value}" for name, value in entry.fields.items())
    return f"{entry.at} {entry.level:<7} {entry.event}{fields}"


def _content(path: Path) -> bytes:
    # Twice the bound: one write may end a file that was nearly full.
    with suppress(StateIncompleteError):
        if is_there(path):
            return read_private(path, size_max=2 * DIARY_BYTES_MAX)
    return b""


def _inode(path: Path) -> int | None:
    try:
        return path.lstat().st_ino
    except OSError:
        return None


def _entries(content: bytes) -> Iterator[Entry]:
    for line in content.split(b"\n"):
        entry = _parse(line) if 0 < len(line) <= LINE_BYTES_MAX else None
        if entry is not None:
            yield entry


_LINE: Final = msgspec.json.Decoder(dict[str, Any])


def _parse(line: bytes) -> Entry | None:
    """A line as it was written, ``None`` for any other: what is shown to a person is of the list as well."""
    try:
        found = _LINE.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    at, level, event = (found.pop(name, None) for name in ("at", "level", "event"))
    texts = isinstance(at, str) and isinstance(level, str) and isinstance(event, str)
    if not texts or not FIELDS.get(event, frozenset()).issuperset(found):
        return None
    return Entry(at, level, event, {name: _shaped(value) for name, value in found.items()})
