"""System calls as the interposer wrote them down: what was asked, of which file, and what came of it.

``tests/simulators/interposer.c`` holds the other side of the record's form.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, auto
from typing import Final


class Kind(IntEnum):
    """What a call asks for; the order is that of ``enum kind``."""

    OPEN = 0
    CREATE = auto()
    READ = auto()
    WRITE = auto()
    TRUNCATE = auto()
    SYNC = auto()
    RENAME = auto()
    UNLINK = auto()
    MKDIR = auto()
    CLOSE = auto()
    STAT = auto()
    LIST = auto()
    LOCK = auto()
    MAP = auto()
    OTHER = auto()
    MARK = auto()


CHANGING: Final = frozenset(
    (Kind.CREATE, Kind.WRITE, Kind.TRUNCATE, Kind.SYNC, Kind.RENAME, Kind.UNLINK, Kind.MKDIR)
)
"""Calls after which the disk may be another; between any two of them a crash finds the same."""

_ENTRY: Final = struct.Struct("=IiiiiIQQQqQIIII")
_TEMPORARY: Final = re.compile(r"\.[0-9]+\.tmp$")


@dataclass(frozen=True, slots=True)
class Call:
    """One call. Paths are relative to the folder that is watched; ``""`` is that folder itself.

    ``made`` says of an opening that it made the file, ``emptied`` that it cut it to nothing; ``inode``, ``folder``
    and ``folder_new`` (of a rename) are inode numbers. ``shared`` says of a mapping that writing needs no call.
    """

    kind: Kind
    path: str
    path_new: str
    result: int
    error: int
    injected: bool
    mode: int
    inode: int
    folder: int
    folder_new: int
    offset: int
    length: int
    data: bytes

    @property
    def done(self) -> bool:
        """Whether it took effect."""
        return self.result >= 0

    @property
    def made(self) -> bool:
        """Whether this opening made the file."""
        return self.kind is Kind.CREATE and self.offset == 1

    @property
    def emptied(self) -> bool:
        """Whether this opening cut the file to nothing."""
        return self.kind in {Kind.OPEN, Kind.CREATE} and self.offset == 2

    @property
    def role(self) -> str:
        """Which kind of file it is about."""
        return role_of(self.path)


def role_of(path: str) -> str:
    """Which kind of file a path below a timeline's or a witness's folder names: what differs by chance left out."""
    folder, _, name = path.rpartition("/")
    plain = _TEMPORARY.sub("", name)
    temporary = " being written" if plain != name or name.startswith("tmp-") else ""
    if name.startswith(("sha256-", "tmp-")):
        plain = "sidecar"
    elif plain.endswith(".key"):
        plain = "key"
    elif folder.rpartition("/")[2] in {"", "state", "trust", "config"} and "." not in plain and not temporary:
        plain = plain if plain in {"head", "anchor", "pins"} else f"folder {plain or 'above'}"
    return plain + temporary


def parse_calls(content: bytes, root: str) -> Iterator[Call]:
    """The calls of a record, in order, with paths relative to ``root``."""
    at = 0
    while at < len(content):
        fields = _ENTRY.unpack_from(content, at)
        total, kind, result, error, injected, mode, inode, folder, folder_new, offset, length = fields[:11]
        sizes = fields[11:14]
        place = at + _ENTRY.size
        pieces = []
        for size in sizes:
            pieces.append(content[place : place + size])
            place += size
        at += total
        path, path_new = (piece.decode() for piece in pieces[:2])
        if kind != Kind.MARK:
            path, path_new = _below(path, root), _below(path_new, root)
        yield Call(
            Kind(kind), path, path_new, result, error, bool(injected), mode,
            inode, folder, folder_new, offset, length, pieces[2],
        )  # fmt: skip


def _below(path: str, root: str) -> str:
    return path.removeprefix(root).lstrip("/")
