"""A transcript's identity, and its re-check before every use (T11, T12, T13).

A transcript is the host's: opened without following links, read in bounded pieces, looked at before and after,
never changed and never mapped into memory (a truncation would kill the process).
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
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
    TranscriptTouchedError,
    TranscriptTruncatedError,
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


Rule = Callable[[Snapshot, os.stat_result], None]
"""Raises a ``SourceError`` unless a file that was looked at may still be used for a snapshot of it."""


class OpenSource:
    """An open transcript that still is what its snapshot says, or has grown from it where ``rule`` allows that."""

    def __init__(
        self, descriptor: int, snapshot: Snapshot, now: Snapshot | None = None, rule: Rule | None = None
    ) -> None:
        """Take over an open descriptor; ``open_source`` closes it."""
        self._descriptor = descriptor
        self._rule = check_same if rule is None else rule
        self.snapshot = snapshot
        self.now = snapshot if now is None else now
        """What the file was when it was opened."""

    def read(self, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes at ``offset``.

        Raises:
            TranscriptChangedError: the file is shorter now.
            TranscriptUnreadableError: the operating system refused.
        """
        content = bytearray(length)
        self.read_all_into(memoryview(content), offset)
        return bytes(content)

    def read_all_into(self, buffer: memoryview, offset: int) -> None:
        """Fill all of ``buffer`` from ``offset`` on.

        Raises:
            TranscriptChangedError: the file is shorter now.
            TranscriptUnreadableError: the operating system refused.
        """
        if self.read_into(buffer, offset) != len(buffer):
            self.check()  # says by its own rule what became of the file
            message = f"{self.snapshot.path}: ends before byte {offset + len(buffer)}"
            raise TranscriptChangedError(message)

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
        """Look again: the open file and the path both still are what was opened, by the rule it was opened with.

        Raises:
            SourceError: changed, replaced, linked or gone.
        """
        self._rule(self.now, _fstat(self.now.path, self._descriptor))
        self._rule(self.now, _lstat(self.now.path))


def take_snapshot(path: str, prefix_length: int = PREFIX_BYTES_MAX, rule: Rule | None = None) -> Snapshot:
    """Read a transcript's metadata and at most ``prefix_length`` (≤ 4 KiB) of its bytes (T11).

    ``rule`` says what may become of it meanwhile; without one, nothing (``check_same``).

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
        check = check_same if rule is None else rule
        check(snapshot, _fstat(path, descriptor))
        check(snapshot, _lstat(path))
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(descriptor)
    return snapshot


@contextmanager
def open_source(expected: Snapshot, rule: Rule | None = None) -> Iterator[OpenSource]:
    """Open a transcript that must still be ``expected``, and check again when the block ends.

    ``rule`` says what still is; without one, nothing but the very same (``check_same``).

    Raises:
        SourceError: it is not, before or after (T12, T13).
    """
    descriptor = _open(expected.path)
    try:
        found = _fstat(expected.path, descriptor)
        (check_same if rule is None else rule)(expected, found)
        now = msgspec.structs.replace(
            expected, size=found.st_size, mtime_ns=found.st_mtime_ns, ctime_ns=found.st_ctime_ns
        )
        source = OpenSource(descriptor, expected, now, rule)
        prefix = source.read(0, expected.prefix_length)
        if hashlib.sha256(prefix).digest() != expected.prefix_digest:
            message = f"{expected.path}: its first {expected.prefix_length} bytes were rewritten"
            raise TranscriptReplacedError(message)
        yield source
        source.check()
    finally:
        os.close(descriptor)


@contextmanager
def open_any(path: str) -> Iterator[OpenSource]:
    """Open any regular file as it is now, to look at it once; it may grow meanwhile, and links to it are followed.

    Nothing is bound to it, and nobody has consented: evidence needs ``open_source``.

    Raises:
        SourceError: missing, not regular, or not readable.
    """
    # A path that no file can have is refused before the operating system is asked.
    real = os.path.realpath(path) if "\0" not in path else check_path(path)
    _check_regular(real, _lstat(real))
    try:
        descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise _unreadable(real, error) from error
    try:
        found = _fstat(real, descriptor)
        _check_regular(real, found)
        yield OpenSource(
            descriptor,
            Snapshot(
                path=real,
                device=found.st_dev,
                inode=found.st_ino,
                size=found.st_size,
                mtime_ns=found.st_mtime_ns,
                ctime_ns=found.st_ctime_ns,
                prefix_length=0,
                prefix_digest=hashlib.sha256().digest(),
            ),
        )
    finally:
        os.close(descriptor)


def look_at_source(expected: Snapshot, rule: Rule) -> int:
    """The size of a transcript that is not opened; it must be what ``rule`` makes of ``expected``.

    Raises:
        SourceError: it is not.
    """
    found = _lstat(expected.path)
    rule(expected, found)
    return found.st_size


def check_below(path: str, root: Path) -> None:
    """The transcript must lie below the host's sessions folder.

    Raises:
        TranscriptOutsideError: it lies elsewhere, or the folder is missing or a link.
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


def check_names(
    path: str, root: Path, session: str, names_session: Callable[[tuple[str, ...], str], bool]
) -> None:
    """The path below the sessions folder must name the session, as this host's paths do.

    Raises:
        TranscriptSessionError: it is another session's, or none's.
    """
    try:
        parts = Path(path).relative_to(os.path.realpath(root)).parts
    except ValueError:
        parts = ()
    if not names_session(parts, session):
        message = f"{path}: the path is not that of the session"
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
    _check_regular(path, found)
    if found.st_nlink != 1:
        message = f"{path}: has {found.st_nlink} links"
        raise TranscriptLinkedError(message)
    if found.st_uid != os.geteuid():
        message = f"{path}: belongs to another user"
        raise TranscriptOwnerError(message)


def _check_regular(path: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        message = f"{path}: is not a regular file"
        raise TranscriptNotRegularError(message)


def check_same(expected: Snapshot, found: os.stat_result) -> None:
    """The file must be the one of the snapshot and must not have been written since (T13).

    Raises:
        SourceError: it is not.
    """
    _check_file(expected, found)
    if (found.st_size, found.st_mtime_ns, found.st_ctime_ns) != (
        expected.size,
        expected.mtime_ns,
        expected.ctime_ns,
    ):
        message = f"{expected.path}: size or times are not those of the snapshot ({expected.size} bytes)"
        raise TranscriptChangedError(message)


def check_grown(expected: Snapshot, found: os.stat_result) -> None:
    """The file must be the one of the snapshot, and longer if it was written since; its bytes are another question.

    Raises:
        SourceError: it is not.
    """
    _check_file(expected, found)
    if found.st_size < expected.size:
        message = f"{expected.path}: {found.st_size} bytes, {expected.size} were committed"
        raise TranscriptTruncatedError(message)
    times = (found.st_mtime_ns, found.st_ctime_ns)
    if found.st_size == expected.size and times != (expected.mtime_ns, expected.ctime_ns):
        message = f"{expected.path}: other times at the same {expected.size} bytes"
        raise TranscriptTouchedError(message)


def _check_file(expected: Snapshot, found: os.stat_result) -> None:
    _check_plain(expected.path, found)
    if (found.st_dev, found.st_ino) != (expected.device, expected.inode):
        message = f"{expected.path}: another file stands at the path"
        raise TranscriptReplacedError(message)


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
