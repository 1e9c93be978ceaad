"""A transcript's identity, and its re-check before every use (T11, T12, T13).

A transcript is the host's: opened without following links, read in bounded pieces, looked at before and after,
never changed and never mapped into memory (a truncation would kill the process).
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from timeline.errors import (
    SourceError,
    TranscriptChangedError,
    TranscriptLinkedError,
    TranscriptMissingError,
    TranscriptNotRegularError,
    TranscriptOutsideError,
    TranscriptOwnerError,
    TranscriptPathError,
    TranscriptReplacedError,
    TranscriptSessionError,
    TranscriptUnreadableError,
)
from timeline.limits import PATH_BYTES_MAX, PREFIX_BYTES_MAX


class Snapshot(msgspec.Struct, frozen=True):
    """What a transcript was at one moment. Sizes in bytes, times in nanoseconds.

    ``prefix_digest`` is the SHA-256 of the first ``prefix_length`` bytes, at most 4 KiB (T11).
    """

    path: str
    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    prefix_length: int
    prefix_digest: bytes


class OpenSource:
    """An open transcript that still is what its snapshot says."""

    def __init__(self, descriptor: int, snapshot: Snapshot) -> None:
        """Take over an open descriptor; ``open_source`` closes it."""
        self._descriptor = descriptor
        self.snapshot = snapshot

    def read(self, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes at ``offset``.

        Raises:
            TranscriptChangedError: the file is shorter now.
            TranscriptUnreadableError: the operating system refused.
        """
        content = bytearray(length)
        if self.read_into(memoryview(content), offset) != length:
            message = f"{self.snapshot.path}: ends before byte {offset + length}"
            raise TranscriptChangedError(message)
        return bytes(content)

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Fill ``buffer`` from ``offset`` on; fewer bytes only at the end of the file.

        Raises:
            TranscriptUnreadableError: the operating system refused.
        """
        filled = 0
        try:
            while filled < len(buffer):
                count = os.preadv(self._descriptor, [buffer[filled:]], offset + filled)
                if count == 0:
                    break
                filled += count
        except OSError as error:
            raise _unreadable(self.snapshot.path, error) from error
        return filled

    def check(self) -> None:
        """Look again: the open file and the path both still are the snapshot.

        Raises:
            SourceError: changed, replaced, linked or gone.
        """
        _check_moment(self.snapshot, _fstat(self.snapshot.path, self._descriptor))
        _check_moment(self.snapshot, _lstat(self.snapshot.path))


def take_snapshot(path: str, prefix_length: int = PREFIX_BYTES_MAX) -> Snapshot:
    """Read a transcript's metadata and at most ``prefix_length`` (≤ 4 KiB) of its bytes (T11).

    Raises:
        SourceError: not a plain private-to-us file, or it changed meanwhile.
    """
    if not 0 <= prefix_length <= PREFIX_BYTES_MAX:
        raise RuntimeError(prefix_length)
    descriptor = _open(path)
    try:
        found = _fstat(path, descriptor)
        prefix = os.pread(descriptor, min(prefix_length, found.st_size), 0)
        snapshot = Snapshot(
            path=path,
            device=found.st_dev,
            inode=found.st_ino,
            size=found.st_size,
            mtime_ns=found.st_mtime_ns,
            ctime_ns=found.st_ctime_ns,
            prefix_length=len(prefix),
            prefix_digest=hashlib.sha256(prefix).digest(),
        )
        _check_moment(snapshot, _fstat(path, descriptor))
        _check_moment(snapshot, _lstat(path))
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(descriptor)
    return snapshot


@contextmanager
def open_source(expected: Snapshot) -> Iterator[OpenSource]:
    """Open a transcript that must still be ``expected``, and check again when the block ends.

    Raises:
        SourceError: it is not, before or after (T12, T13).
    """
    descriptor = _open(expected.path)
    try:
        source = OpenSource(descriptor, expected)
        _check_moment(expected, _fstat(expected.path, descriptor))
        prefix = source.read(0, expected.prefix_length)
        if hashlib.sha256(prefix).digest() != expected.prefix_digest:
            message = f"{expected.path}: its first {expected.prefix_length} bytes were rewritten"
            raise TranscriptReplacedError(message)
        yield source
        source.check()
    finally:
        os.close(descriptor)


def check_below(path: str, root: Path, session: str) -> None:
    """The transcript must lie below the host's sessions folder and its name must hold the session id.

    Raises:
        TranscriptOutsideError: it lies elsewhere, or the folder is missing or a link.
        TranscriptSessionError: its name is another session's.
    """
    try:
        if not stat.S_ISDIR(os.lstat(root).st_mode):
            message = f"{root}: not a folder, or a link to one"
            raise TranscriptOutsideError(message)
        inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
    except OSError as error:
        message = f"{root}: cannot be looked at ({_name(error)})"
        raise TranscriptOutsideError(message) from error
    if not inside:
        message = f"{path}: not below {root}"
        raise TranscriptOutsideError(message)
    if session not in Path(path).name:
        message = f"{path}: the file name does not hold the session id"
        raise TranscriptSessionError(message)


def check_path(path: str) -> str:
    """The path, if it is one that can be recorded and opened.

    Raises:
        TranscriptPathError: relative, not normal, not UTF-8, too long, or with control characters.
    """
    try:
        encoded = path.encode()
    except UnicodeEncodeError as error:
        message = "the transcript's path is not UTF-8"
        raise TranscriptPathError(message) from error
    if any(byte < 0x20 or byte == 0x7F for byte in encoded):
        message = "the transcript's path holds control characters"
        raise TranscriptPathError(message)
    # POSIX keeps two leading slashes apart, and normpath with it; no file is recorded under both names.
    normal = os.path.normpath(path) == path and not path.startswith("//")
    if not path.startswith("/") or not normal or len(encoded) > PATH_BYTES_MAX:
        message = f"{path[:200]}: must be an absolute, normal path of at most {PATH_BYTES_MAX} bytes"
        raise TranscriptPathError(message)
    return path


def _open(path: str) -> int:
    check_path(path)
    _check_plain(path, _lstat(path))
    if os.path.realpath(os.path.dirname(path)) != os.path.dirname(path):
        message = f"{path}: a folder on the way is a symbolic link"
        raise TranscriptLinkedError(message)
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise _unreadable(path, error) from error


def _check_plain(path: str, found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        message = f"{path}: is a symbolic link"
        raise TranscriptLinkedError(message)
    if not stat.S_ISREG(found.st_mode):
        message = f"{path}: is not a regular file"
        raise TranscriptNotRegularError(message)
    if found.st_nlink != 1:
        message = f"{path}: has {found.st_nlink} links"
        raise TranscriptLinkedError(message)
    if found.st_uid != os.geteuid():
        message = f"{path}: belongs to another user"
        raise TranscriptOwnerError(message)


def _check_moment(expected: Snapshot, found: os.stat_result) -> None:
    _check_plain(expected.path, found)
    if (found.st_dev, found.st_ino) != (expected.device, expected.inode):
        message = f"{expected.path}: another file stands at the path"
        raise TranscriptReplacedError(message)
    if (found.st_size, found.st_mtime_ns, found.st_ctime_ns) != (
        expected.size,
        expected.mtime_ns,
        expected.ctime_ns,
    ):
        message = f"{expected.path}: size or times are not those of the snapshot ({expected.size} bytes)"
        raise TranscriptChangedError(message)


def _fstat(path: str, descriptor: int) -> os.stat_result:
    try:
        return os.fstat(descriptor)
    except OSError as error:
        raise _unreadable(path, error) from error


def _lstat(path: str) -> os.stat_result:
    try:
        return os.lstat(path)
    except FileNotFoundError as error:
        message = f"{path}: no such file"
        raise TranscriptMissingError(message) from error
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: OSError) -> SourceError:
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        message = f"{path}: no such file"
        return TranscriptMissingError(message)
    if error.errno == errno.ELOOP:
        message = f"{path}: is a symbolic link"
        return TranscriptLinkedError(message)
    message = f"{path}: cannot be read ({_name(error)})"
    return TranscriptUnreadableError(message)


def _name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "error")
