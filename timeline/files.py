"""Private files: read and written so that a link, a stranger or a crash cannot put other bytes in their place.

A private file is regular, has one link, belongs to us and is open to nobody else; it is opened without
following links and looked at before and after. A write goes to a temporary file, is synced, renamed, and the
folder is synced: after a crash the old file stands or the new one, never a mixture.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from timeline.errors import StateBusyError, StateIncompleteError, StateUnwritableError, UnsafeFileError
from timeline.limits import FILE_READS_MAX

_FILE_MODE = 0o600
_DIRECTORY_MODE = 0o700
_TEMPORARY_SUFFIX = ".tmp"


class DirectoryIdentity(msgspec.Struct, frozen=True):
    """Which folder this is, to notice that another was put in its place."""

    path: Path
    device: int
    inode: int
    mode: int
    owner: int

    def check(self) -> None:
        """Look again.

        Raises:
            UnsafeFileError: the path now leads to another folder, or to one open to others.
            StateIncompleteError: there is no folder any more.
        """
        with suppress(OSError):  # looked at once more below, where it gets its reason
            found = os.lstat(self.path)
            if (found.st_dev, found.st_ino, found.st_mode, found.st_uid) == (
                self.device,
                self.inode,
                self.mode,
                self.owner,
            ):
                return
        if check_directory(self.path) != self:
            message = f"{self.path}: another folder was put in its place"
            raise UnsafeFileError(message)


def is_there(path: Path) -> bool:
    """Whether anything stands at a path, a link to nowhere included.

    Raises:
        UnsafeFileError: one cannot look; what a failing disk hides is not missing.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:  # a NUL in a path is a ValueError
        message = (
            f"{path}: cannot be looked at ({_name(error) if isinstance(error, OSError) else 'not a path'})"
        )
        raise UnsafeFileError(message) from error
    return True


def find_inode(path: Path) -> tuple[int, int]:
    """Device and inode at a path, no link followed: whether another file was put there.

    Raises:
        UnsafeFileError: one cannot look.
    """
    try:
        found = os.lstat(path)
    except OSError as error:
        message = f"{path}: cannot be looked at ({_name(error)})"
        raise UnsafeFileError(message) from error
    return found.st_dev, found.st_ino


def make_directory(path: Path) -> DirectoryIdentity:
    """Create a private folder, or check the one that is there; what was created survives a crash.

    Raises:
        UnsafeFileError: something else stands there.
        StateUnwritableError: it cannot be created.
    """
    try:
        missing = [above for above in path.parents if not is_there(above)]
        for folder in (*reversed(missing), path):
            with suppress(FileExistsError):
                os.mkdir(folder, _DIRECTORY_MODE)
                # Its name lies in the folder above: syncing what is put into it does not make that durable.
                sync_directory(folder.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    return check_directory(path)


def check_directory(path: Path) -> DirectoryIdentity:
    """The identity of a private folder.

    Raises:
        StateIncompleteError: there is none.
        UnsafeFileError: it is a link, belongs to another user, or is open to others.
    """
    try:
        found = os.lstat(path)
    except FileNotFoundError as error:
        message = f"{path}: folder is missing"
        raise StateIncompleteError(message) from error
    except OSError as error:
        message = f"{path}: cannot be looked at ({_name(error)})"
        raise UnsafeFileError(message) from error
    if not stat.S_ISDIR(found.st_mode):
        message = f"{path}: not a folder, or a link to one"
        raise UnsafeFileError(message)
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        message = f"{path}: folder must be yours and mode 0700"
        raise UnsafeFileError(message, hint=f"chmod 700 {path}")
    return DirectoryIdentity(path, found.st_dev, found.st_ino, found.st_mode, found.st_uid)


@contextmanager
def hold_directory(path: Path) -> Iterator[None]:
    """Be the only one who holds this folder while the block runs; does not wait, and ends with its process.

    Raises:
        StateBusyError: another process holds it.
        UnsafeFileError: it cannot be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        message = f"{path}: cannot be opened ({_name(error)})"
        raise UnsafeFileError(message) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        _close_unwritten(descriptor)
        message = f"{path}: held by another process"
        raise StateBusyError(message) from error
    try:
        yield
    finally:
        _close_unwritten(descriptor)


def read_private(path: Path, *, size_max: int) -> bytes:
    """The bytes of a private file. One that was replaced after it was opened is opened again.

    Raises:
        StateIncompleteError: there is no such file.
        UnsafeFileError: it is not private (see the module), larger than ``size_max`` bytes, or changed meanwhile.
    """
    for _ in range(FILE_READS_MAX):
        content = _read_named(path, size_max)
        if content is not None:
            return content
    message = f"{path}: changed while it was read"
    raise UnsafeFileError(message)


def _read_named(path: Path, size_max: int) -> bytes | None:
    """The bytes of a private file, ``None`` where it lost its name meanwhile: a writer renames, and needs no lock."""
    descriptor = _open_to_read(path)
    try:
        before = os.fstat(descriptor)
        if before.st_nlink == 0:
            return None
        check_private(path, before)
        if before.st_size > size_max:
            message = f"{path}: {before.st_size} bytes, at most {size_max} allowed"
            raise UnsafeFileError(message)
        content = _read_all(descriptor, before.st_size + 1)
        after = os.fstat(descriptor)
    except OSError as error:
        message = f"{path}: cannot be read ({_name(error)})"
        raise UnsafeFileError(message) from error
    finally:
        _close_unwritten(descriptor)
    if after.st_nlink == 0:
        return None
    if len(content) != before.st_size or _moment(before) != _moment(after):
        message = f"{path}: changed while it was read"
        raise UnsafeFileError(message)
    return content


def read_private_range(path: Path, start: int, length: int) -> bytes:
    """At most ``length`` bytes of a private file from byte ``start`` on; fewer at its end.

    Raises:
        StateIncompleteError, UnsafeFileError: see ``read_private``.
    """
    descriptor = _open_to_read(path)
    try:
        check_private(path, os.fstat(descriptor))
        return os.pread(descriptor, length, start)
    except OSError as error:
        message = f"{path}: cannot be read ({_name(error)})"
        raise UnsafeFileError(message) from error
    finally:
        _close_unwritten(descriptor)


def check_private(path: Path, found: os.stat_result) -> None:
    """Refuse a file that is not private.

    Raises:
        UnsafeFileError: not regular, linked, foreign, or open to others.
    """
    if not stat.S_ISREG(found.st_mode):
        rule = "must be a regular file"
    elif found.st_nlink != 1:
        rule = f"must have one link, has {found.st_nlink}"
    elif found.st_uid != os.geteuid():
        rule = "must belong to you"
    elif stat.S_IMODE(found.st_mode) & 0o077:
        rule = "must be mode 0600"
    else:
        return
    message = f"{path}: {rule}"
    raise UnsafeFileError(message)


def write_atomic(path: Path, content: bytes) -> None:
    """Replace a private file so that a crash leaves the old bytes or the new.

    Raises:
        StateUnwritableError: the disk is full, read-only or failing. The old file stands, or, where only the last
            sync of the folder failed, the new one.
    """
    _replace(path, content, os.fsync)
    try:
        sync_directory(os.path.dirname(path))
    except OSError as error:
        raise _unwritable(path, error) from error


def write_unsynced(path: Path, content: bytes) -> None:
    """Replace a private file so that a killed process leaves the old bytes or the new; a power failure, anything.

    For what is checked when it is read, and only costs a question where it is lost.

    Raises:
        StateUnwritableError: the disk is full, read-only or failing; the old file stands.
    """
    _replace(path, content, lambda _descriptor: None)


def _replace(path: Path, content: bytes, settle: Callable[[int], None]) -> None:
    temporary = f"{path}.{os.getpid()}{_TEMPORARY_SUFFIX}"
    try:
        descriptor = _create_temporary(temporary)
        try:
            _write_all(descriptor, content)
            settle(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(temporary)
        raise _unwritable(path, error) from error


@contextmanager
def create_private(path: Path) -> Iterator[BinaryIO]:
    """Write a private file that must not be there yet, in pieces; it is gone when the block fails.

    Not durable by itself: of many files, the caller says which has to be (``make_durable``).

    Raises:
        StateUnwritableError: it is there already, or cannot be written.
    """
    try:
        descriptor = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _FILE_MODE
        )
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
    except OSError as error:
        with suppress(OSError):
            os.unlink(path)
        raise _unwritable(path, error) from error
    except BaseException:
        with suppress(OSError):
            os.unlink(path)
        raise


def make_durable(file: BinaryIO) -> None:
    """Let what was written to a file survive a crash; its name is the folder's (``sync_directory``).

    Raises:
        OSError: the operating system refused.
    """
    file.flush()
    os.fsync(file.fileno())


def name_new_file(temporary: Path, path: Path) -> None:
    """Give a finished file the name that it is to have, if nothing stands there; else ``temporary`` stays.

    Raises:
        StateUnwritableError: something stands there, or it cannot be renamed.
    """
    try:
        try:
            os.link(temporary, path)
        except OSError as error:
            # A file system without hard links, as of a stick: looked at first, since a rename would replace.
            if error.errno == errno.EEXIST or is_there(path):
                raise
            os.rename(temporary, path)
        else:
            os.unlink(temporary)
        sync_directory(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error


@contextmanager
def open_regular(path: Path) -> Iterator[BinaryIO]:
    """A regular file to read, whoever owns it: what it holds is not believed for where it lies.

    Raises:
        UnsafeFileError: it cannot be opened or read, or is no regular file.
    """
    try:
        # O_NONBLOCK: a pipe must not hold us up before it is refused.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:  # a NUL in a path is a ValueError
        message = f"{path}: cannot be opened ({_name(error) if isinstance(error, OSError) else 'not a path'})"
        raise UnsafeFileError(message) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            message = f"{path}: must be a regular file"
            raise UnsafeFileError(message)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            yield file
    except OSError as error:
        message = f"{path}: cannot be read ({_name(error)})"
        raise UnsafeFileError(message) from error
    finally:
        _close_unwritten(descriptor)


def rename_private(old: Path, new: Path) -> None:
    """Give a file of a folder the name that it is to have; a crash leaves the old name or the new.

    Raises:
        StateUnwritableError: it cannot be renamed. The old name stands, or, where only the sync of the folder failed,
            the new one.
    """
    try:
        os.rename(old, new)
        sync_directory(new.parent)
    except OSError as error:
        raise _unwritable(new, error) from error


def overwrite_private(path: Path) -> None:
    """Put zeros over the bytes of a private file where they lie, before it is removed or replaced.

    What the file system, a snapshot or a backup holds elsewhere stays.

    Raises:
        UnsafeFileError: it is not private.
        StateUnwritableError: it cannot be written; some of its bytes may be gone.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            found = os.fstat(descriptor)
            check_private(path, found)
            _write_all(descriptor, bytes(found.st_size))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _unwritable(path, error) from error


def remove_private(path: Path) -> None:
    """Remove a file durably.

    Raises:
        StateUnwritableError: it cannot be removed.
    """
    try:
        os.unlink(path)
        sync_directory(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error


def sync_directory(path: Path | str) -> None:
    """Make names that were created, renamed or removed in a folder durable.

    Raises:
        OSError: the operating system refused.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_temporaries(path: Path) -> None:
    """Delete temporary files that a killed process left in a folder; nothing refers to them.

    Raises:
        StateUnwritableError: one cannot be removed.
    """
    try:
        for entry in os.scandir(path):
            if entry.name.endswith(_TEMPORARY_SUFFIX):
                os.unlink(entry.path)
    except OSError as error:
        raise _unwritable(path, error) from error


def _create_temporary(temporary: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(temporary, flags, _FILE_MODE)
    except FileExistsError:
        # Left by a killed process that had our number: never shared, so never needed.
        os.unlink(temporary)
        return os.open(temporary, flags, _FILE_MODE)


def _open_to_read(path: Path) -> int:
    try:
        # O_NONBLOCK: a pipe put in place of the file must not hold us up before fstat refuses it.
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError as error:
        message = f"{path}: file is missing"
        raise StateIncompleteError(message) from error
    except OSError as error:
        message = f"{path}: cannot be opened ({_name(error)})"
        raise UnsafeFileError(message) from error


def _close_unwritten(descriptor: int) -> None:
    """Close what was not written through: nothing can be lost, and Linux closes it whatever it answers."""
    with suppress(OSError):
        os.close(descriptor)


def _read_all(descriptor: int, limit: int) -> bytes:
    pieces = []
    while limit > 0:
        piece = os.read(descriptor, limit)
        if not piece:
            break
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _moment(found: os.stat_result) -> tuple[int, ...]:
    return (
        found.st_dev,
        found.st_ino,
        found.st_size,
        found.st_nlink,
        found.st_mtime_ns,
        found.st_ctime_ns,
    )


def _name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "error")


def _unwritable(path: Path, error: OSError) -> StateUnwritableError:
    message = f"{path}: cannot be written ({_name(error)})"
    return StateUnwritableError(message)
