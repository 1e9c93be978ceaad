"""What was done to one file of a host, so that it can be undone byte for byte: one private file each.

A record holds no copy of the host's file, only how to get from what we wrote to what stood there before. It is written
before the host's file is, so that a crash between the two leaves a record of a change that did not happen, which is
recognised: the file's digest is the earlier one.
"""

import base64
import hashlib
from pathlib import Path
from typing import Final

import msgspec

from timeline.errors import StateIncompleteError
from timeline.files import is_there, make_directory, read_private, remove_private, write_atomic
from timeline.install.errors import InstallRecordError
from timeline.install.places import InstallScope
from timeline.limits import HOST_FILE_BYTES_MAX

_VERSION: Final = 1
_STEPS_MAX: Final = 2
"""The change that stands and the one that is being made: after a crash either may be there."""


class UndoStep(msgspec.Struct, frozen=True):
    """From the bytes that we wrote back to the earlier ones: the middle between the two equal ends is replaced."""

    after: str
    start: int
    tail: int
    middle: str


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One changed file: ``before`` is the digest of the earlier bytes, ``None`` where there was no file.

    ``folders`` are those that we made for it, ``kept`` the containers that were there and empty.
    """

    version: int
    path: str
    before: str | None
    steps: tuple[UndoStep, ...]
    folders: tuple[str, ...] = ()
    kept: tuple[tuple[str | int, ...], ...] = ()


def digest(content: bytes) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def make_step(before: bytes, after: bytes) -> UndoStep:
    """How to get back from ``after`` to ``before``."""
    start = _common(before, after)
    tail = _common(before[start:][::-1], after[start:][::-1])
    middle = before[start : len(before) - tail]
    return UndoStep(digest(after), start, tail, base64.b64encode(middle).decode())


def make_record(
    path: Path,
    before: bytes | None,
    after: bytes,
    *,
    folders: tuple[Path, ...],
    kept: tuple[tuple[str | int, ...], ...],
) -> Record:
    """The record of a first change."""
    return Record(
        _VERSION,
        str(path),
        None if before is None else digest(before),
        (make_step(before or b"", after),),
        tuple(map(str, folders)),
        kept,
    )


def with_step(record: Record, before: bytes, after: bytes) -> Record:
    """The record of a further change, after which the same earlier bytes are restored."""
    step = make_step(before, after)
    others = [old for old in record.steps if old.after != step.after]
    return msgspec.structs.replace(record, steps=(*others, step)[-_STEPS_MAX:])


def is_before(record: Record, content: bytes | None) -> bool:
    """Whether these are the bytes before our change: it was never made, or was undone already."""
    return record.before is None if content is None else record.before == digest(content)


def undo(record: Record, content: bytes) -> bytes | None:
    """The earlier bytes, empty where there was no file; ``None`` where others have changed what we wrote."""
    step = next((step for step in record.steps if step.after == digest(content)), None)
    if step is None:
        return None
    before = content[: step.start] + base64.b64decode(step.middle) + content[len(content) - step.tail :]
    return before if digest(before) == (record.before or digest(b"")) else None


class Records:
    """The folder of records."""

    def __init__(self, folder: Path) -> None:
        """``folder`` is made when the first record is."""
        self.folder = folder

    def find(self, host: str, scope: InstallScope, path: Path) -> Record | None:
        """The record of a file, if it was changed by us.

        Raises:
            InstallRecordError: what stands there is none.
            UnsafeFileError: it is not private.
        """
        place = self._place(host, scope, path)
        if not is_there(place):
            return None
        try:
            content = read_private(place, size_max=2 * HOST_FILE_BYTES_MAX)
            record = msgspec.json.decode(content, type=Record)
        except StateIncompleteError:
            return None
        except (msgspec.DecodeError, RecursionError) as error:
            message = f"{place}: not a record"
            raise InstallRecordError(message) from error
        if record.version != _VERSION or record.path != str(path):
            message = f"{place}: a record of another file, or of a newer program"
            raise InstallRecordError(message)
        return record

    def keep(self, host: str, scope: InstallScope, record: Record, copy: bytes | None) -> None:
        """Write a record, and beside it the earlier bytes for the owner to look at, if there are any to keep.

        Raises:
            StateUnwritableError, UnsafeFileError: it cannot be written.
        """
        make_directory(self.folder)
        place = self._place(host, scope, Path(record.path))
        if copy is not None:
            write_atomic(place.with_suffix(".before"), copy)
        write_atomic(place, msgspec.json.format(msgspec.json.encode(record)))

    def drop(self, host: str, scope: InstallScope, path: Path) -> None:
        """Forget a file that holds nothing of ours any more.

        Raises:
            StateUnwritableError: the record cannot be removed.
        """
        place = self._place(host, scope, path)
        for file in (place.with_suffix(".before"), place):
            if is_there(file):
                remove_private(file)

    def _place(self, host: str, scope: InstallScope, path: Path) -> Path:
        # The same file name stands in many projects.
        folder = digest(str(path.parent).encode("utf-8", "surrogateescape"))[:16]
        return self.folder / f"{host}-{scope}-{folder}-{path.name.lstrip('.')}.json"


def _common(one: bytes, other: bytes) -> int:
    """How many bytes at the beginning are equal."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
