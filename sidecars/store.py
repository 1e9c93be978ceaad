"""A folder of write-once files, each named by the SHA-256 of its bytes. The only module here that touches files.

A file goes in whole or not at all: temporary file, sync, rename, sync of the folder, then it is read back through
the checking path. Of several, all are written before the first is synced, and the folder is synced once.

A file comes out only if it is regular, has one link, belongs to us, is open to nobody else and hashes to its name.
The caller holds the writer lock; readers need none, since files never change.

System calls go through a narrow ``FileSystem``, so that tests can make the n-th one fail.
"""

import errno
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol

import msgspec

from sidecars.digest import Digest
from sidecars.encoding import from_hex
from sidecars.errors import (
    DigestMismatchError,
    MalformedError,
    StoreError,
    StoreMissingError,
    StoreUnsafeError,
    StoreUnwritableError,
)

FILE_BYTES_MAX: Final = 65 * 1024 * 1024
"""An envelope with the largest payload and its header."""

_PREFIX: Final = "sha256-"
_TEMPORARY: Final = "tmp-"
_FILE_MODE: Final = 0o600
_DIRECTORY_MODE: Final = 0o700
_READ_BYTES: Final = 1024 * 1024


class FileSystem(Protocol):
    """The system calls that the store makes, narrowed to how it makes them; they raise ``OSError``."""

    def open_folder(self, path: Path) -> int:
        """Open a folder without following a link at its end."""

    def open_file(self, name: str, flags: int, folder: int) -> int:
        """Open or create (mode 0600) ``name`` in the open folder."""

    def close(self, descriptor: int) -> None:
        """As ``os.close``."""

    def read(self, descriptor: int, size: int) -> bytes:
        """As ``os.read``."""

    def write(self, descriptor: int, content: memoryview) -> int:
        """As ``os.write``; may write less than all."""

    def fsync(self, descriptor: int) -> None:
        """As ``os.fsync``."""

    def fstat(self, descriptor: int) -> os.stat_result:
        """As ``os.fstat``."""

    def rename(self, old: str, new: str, folder: int) -> None:
        """Rename within the open folder."""

    def unlink(self, name: str, folder: int) -> None:
        """Remove ``name`` from the open folder."""

    def names(self, folder: int) -> list[str]:
        """The names in the open folder."""


class SystemCalls:
    """``FileSystem`` on the operating system."""

    def open_folder(self, path: Path) -> int:
        """Open a folder without following a link at its end."""
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)

    def open_file(self, name: str, flags: int, folder: int) -> int:
        """Open or create (mode 0600) ``name`` in the open folder."""
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, _FILE_MODE, dir_fd=folder)

    def close(self, descriptor: int) -> None:
        """As ``os.close``."""
        os.close(descriptor)

    def read(self, descriptor: int, size: int) -> bytes:
        """As ``os.read``."""
        return os.read(descriptor, size)

    def write(self, descriptor: int, content: memoryview) -> int:
        """As ``os.write``; may write less than all."""
        return os.write(descriptor, content)

    def fsync(self, descriptor: int) -> None:
        """As ``os.fsync``."""
        os.fsync(descriptor)

    def fstat(self, descriptor: int) -> os.stat_result:
        """As ``os.fstat``."""
        return os.fstat(descriptor)

    def rename(self, old: str, new: str, folder: int) -> None:
        """Rename within the open folder."""
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)

    def unlink(self, name: str, folder: int) -> None:
        """Remove ``name`` from the open folder."""
        os.unlink(name, dir_fd=folder)

    def names(self, folder: int) -> list[str]:
        """The names in the open folder."""
        return os.listdir(folder)


class Listing(msgspec.Struct, frozen=True):
    """What lies in the folder: digests by their file names (not checked), and names that are not ours."""

    digests: frozenset[Digest]
    strays: tuple[str, ...]


class Store:
    """The folder at ``path``, which must exist, be ours and be private; another folder put there is refused."""

    def __init__(self, path: Path, calls: FileSystem | None = None) -> None:
        """Look at the folder and remember which one it is.

        Raises:
            StoreMissingError, StoreUnsafeError, StoreError: there is none, or not a private one.
        """
        self._path = path
        self._calls: FileSystem = SystemCalls() if calls is None else calls
        self._identity: tuple[int, int] | None = None
        with self._folder():
            pass

    def put(self, content: bytes) -> Digest:
        """Keep ``content``; after this returns it survives a crash. Putting it again changes nothing.

        Raises:
            StoreUnwritableError: the file system did not take it; nothing is left under its name.
            StoreUnsafeError, DigestMismatchError: something else stands under its name.
            MalformedError: larger than ``FILE_BYTES_MAX``.
        """
        (digest,) = self.put_all([content])
        return digest

    def put_all(self, contents: Sequence[bytes]) -> tuple[Digest, ...]:
        """Keep each of ``contents``; after this returns all survive a crash. Their digests, in order.

        Raises:
            StoreUnwritableError: the file system did not take one; of the others some may be there.
            StoreUnsafeError, DigestMismatchError: something else stands under the name of one.
            MalformedError: one is larger than ``FILE_BYTES_MAX``; nothing was written.
        """
        if any(len(content) > FILE_BYTES_MAX for content in contents):
            raise MalformedError(f"a stored file must be at most {FILE_BYTES_MAX} bytes")
        digests = tuple(Digest.of(content) for content in contents)
        with self._folder() as folder:
            wanted = dict(zip(digests, contents, strict=True))
            missing = {digest: wanted[digest] for digest in wanted if not self._holds(folder, digest)}
            if missing:
                self._write(folder, missing)
            else:
                self._sync(folder)  # a put that was cut short may not have got this far
            for digest in missing:
                # Pair assertion: nothing may refer to a file that the checking path does not give back.
                self._read(folder, digest)
        return digests

    def get(self, digest: Digest) -> bytes:
        """The bytes with this digest.

        Raises:
            StoreMissingError: there is no such file.
            StoreUnsafeError: not a private regular file with one link.
            DigestMismatchError: other bytes stand there.
        """
        with self._folder() as folder:
            return self._read(folder, digest)

    def remove(self, digest: Digest) -> None:
        """Forget a file; that it is gone survives a crash. A missing file is no error.

        Raises:
            StoreUnwritableError: the file system refused.
        """
        with self._folder() as folder:
            self._unlink(folder, _name(digest))
            self._sync(folder)

    def remove_strays(self) -> None:
        """Remove temporary files that a crash left; the caller holds the writer lock.

        Raises:
            StoreUnwritableError: the file system refused.
        """
        with self._folder() as folder:
            for name in self._names(folder):
                if name.startswith(_TEMPORARY):
                    self._unlink(folder, name)

    def listing(self) -> Listing:
        """What lies in the folder, temporary files left out.

        Raises:
            StoreError: the folder cannot be read.
        """
        with self._folder() as folder:
            names = self._names(folder)
        digests, strays = set(), []
        for name in sorted(names):
            digest = _digest_of(name)
            if digest is not None:
                digests.add(digest)
            elif not name.startswith(_TEMPORARY):
                strays.append(name)
        return Listing(frozenset(digests), tuple(strays))

    # -- files -------------------------------------------------------------------------------------------------

    @contextmanager
    def _folder(self) -> Iterator[int]:
        """The folder, held open for one operation: a path swapped meanwhile cannot redirect it."""
        calls = self._calls
        try:
            descriptor = calls.open_folder(self._path)
        except OSError as error:
            raise _refusal(error, "the store's folder") from error
        try:
            found = self._stat(descriptor)
            if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) != _DIRECTORY_MODE:
                raise StoreUnsafeError("the store's folder must be ours with mode 0700")
            identity = (found.st_dev, found.st_ino)
            if self._identity not in (None, identity):
                raise StoreUnsafeError("another folder was put in place of the store's")
            self._identity = identity
            yield descriptor
        finally:
            with suppress(OSError):
                calls.close(descriptor)

    def _read(self, folder: int, digest: Digest) -> bytes:
        name = _name(digest)
        try:
            # Without blocking: a FIFO put there would otherwise hold the reader for ever.
            descriptor = self._calls.open_file(name, os.O_RDONLY | os.O_NONBLOCK, folder)
        except OSError as error:
            raise _refusal(error, f"file {name}") from error
        try:
            before = self._stat(descriptor)
            _check_private(before, name)
            content = self._read_all(descriptor, name, before.st_size)
            after = self._stat(descriptor)
        finally:
            with suppress(OSError):
                self._calls.close(descriptor)
        if _fingerprint(before) != _fingerprint(after):
            raise StoreUnsafeError(f"file {name} changed while it was read")
        if Digest.of(content) != digest:
            raise DigestMismatchError(f"file {name} must hash to its name")
        return content

    def _read_all(self, descriptor: int, name: str, size: int) -> bytes:
        pieces = []
        left = size + 1  # one more than expected, to notice growth
        try:
            while left > 0 and (piece := self._calls.read(descriptor, min(left, _READ_BYTES))):
                pieces.append(piece)
                left -= len(piece)
        except OSError as error:
            raise _refusal(error, f"file {name}") from error
        return b"".join(pieces)

    def _holds(self, folder: int, digest: Digest) -> bool:
        with suppress(StoreMissingError):
            self._read(folder, digest)
            return True
        return False

    def _write(self, folder: int, contents: Mapping[Digest, bytes]) -> None:
        temporaries = {digest: _TEMPORARY + digest.hex() for digest in contents}
        for temporary in temporaries.values():
            self._unlink(folder, temporary)
        try:
            with ExitStack() as opened:
                descriptors = []
                for digest, content in contents.items():
                    descriptor = self._create(temporaries[digest], folder)
                    opened.callback(self._calls.close, descriptor)
                    descriptors.append(descriptor)
                    self._fill(descriptor, content)
                # After the last was written: what the first sync takes to the disk, the others need not.
                for descriptor in descriptors:
                    self._calls.fsync(descriptor)
            for digest, temporary in temporaries.items():
                self._calls.rename(temporary, _name(digest), folder)
            self._calls.fsync(folder)
        except OSError as error:
            for temporary in temporaries.values():
                with suppress(StoreError):
                    self._unlink(folder, temporary)
            raise _unwritable(error) from error

    def _create(self, name: str, folder: int) -> int:
        return self._calls.open_file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, folder)

    def _fill(self, descriptor: int, content: bytes) -> None:
        left = memoryview(content)
        while left:
            left = left[self._calls.write(descriptor, left) :]

    def _unlink(self, folder: int, name: str) -> None:
        try:
            self._calls.unlink(name, folder)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unwritable(error) from error

    def _sync(self, folder: int) -> None:
        try:
            self._calls.fsync(folder)
        except OSError as error:
            raise _unwritable(error) from error

    def _stat(self, descriptor: int) -> os.stat_result:
        try:
            return self._calls.fstat(descriptor)
        except OSError as error:
            raise _refusal(error, "an open file") from error

    def _names(self, folder: int) -> list[str]:
        try:
            return self._calls.names(folder)
        except OSError as error:
            raise _refusal(error, "the store's folder") from error


def _name(digest: Digest) -> str:
    return _PREFIX + digest.hex()


def _digest_of(name: str) -> Digest | None:
    if not name.startswith(_PREFIX):
        return None
    try:
        return Digest(from_hex(name.removeprefix(_PREFIX), "file name"))
    except MalformedError:
        return None


def _check_private(found: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise StoreUnsafeError(f"file {name} must be a regular file")
    if found.st_nlink != 1:
        raise StoreUnsafeError(f"file {name} must have one link")
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) != _FILE_MODE:
        raise StoreUnsafeError(f"file {name} must be ours with mode 0600")
    if found.st_size > FILE_BYTES_MAX:
        raise StoreUnsafeError(f"file {name} must be at most {FILE_BYTES_MAX} bytes")


def _fingerprint(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_dev, found.st_ino, found.st_nlink, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _refusal(error: OSError, what: str) -> StoreError:
    if error.errno == errno.ENOENT:
        return StoreMissingError(f"{what} is missing")
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO):
        return StoreUnsafeError(f"{what} must not be a link or another kind of file")
    return StoreError(f"{what} cannot be read (errno {error.errno})")


def _unwritable(error: OSError) -> StoreUnwritableError:
    return StoreUnwritableError(f"the store's folder cannot be written (errno {error.errno})")
