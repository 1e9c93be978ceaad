"""The file of a backup: a POSIX tar (ustar) that has one spelling for each signed manifest.

Headers, padding and end are computed from the manifest and compared, not interpreted: a link, a device, a path with
``..``, an extended header or a byte more or less is another spelling and refused, and nothing is ever extracted by
what an archive says of itself. Any tar program can read what is written here.
"""

import hashlib
import os
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from sidecars.digest import Digest
from sidecars.envelope import PAYLOAD_BYTES_MAX
from timeline.errors import BackupFileError, BackupInvalidError, StateUnwritableError, UnsafeFileError
from timeline.files import create_private, is_there, make_durable, name_new_file, open_regular
from timeline.limits import KEY_BYTES_MAX, READ_BYTES
from timeline.manifest import PINS, Member

MANIFEST: Final = "manifest"
"""The name of the manifest itself."""

_BLOCK: Final = 512
_END: Final = bytes(2 * _BLOCK)

Progress = Callable[[int, int], None]
"""Told after each piece: bytes done, bytes in all."""

Write = Callable[[Member, Iterator[bytes]], None]
"""Takes the bytes of one file; they are good only once it has returned and the next one is asked for."""


def check_new(path: Path) -> None:
    """Return only if nothing stands at ``path``.

    Raises:
        BackupFileError: something does, or one cannot look.
    """
    try:
        stands = is_there(path)
    except UnsafeFileError as error:
        raise BackupFileError(error.message) from error
    if stands:
        message = f"{path}: exists already"
        raise BackupFileError(message)


def write_archive(
    path: Path, envelope: bytes, members: Sequence[tuple[Member, Path]], progress: Progress
) -> int:
    """Write a new backup of these files, read it back, and only then give it its name; returns its size in bytes.

    Raises:
        BackupFileError: something stands at ``path``, or it cannot be written; then nothing new does.
        BackupInvalidError: what was written is not what was to be written.
        StateError: a file to be copied cannot be read.
    """
    check_new(path)
    temporary = path.with_name(f".{path.name[:100]}.{os.getpid()}.tmp")
    manifest_members = [member for member, _ in members]
    total = archive_bytes(len(envelope), manifest_members)
    try:
        with _writing(path, temporary), create_private(temporary) as file:
            _write_file(file, MANIFEST, len(envelope), iter([envelope]))
            for member, source in members:
                with open_regular(source) as opened:
                    _write_file(file, member.name, member.size, _pieces(opened))
                progress(file.tell(), total)
            file.write(_END)
            make_durable(file)
        _read_back(temporary, envelope, manifest_members)
        with _writing(path, path):
            name_new_file(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink()
    return total


def archive_bytes(envelope_bytes: int, members: Sequence[Member]) -> int:
    """How long the archive of a manifest is."""
    sizes = [envelope_bytes, *(member.size for member in members)]
    return sum(_BLOCK + size + len(_padding(size)) for size in sizes) + len(_END)


class Archive:
    """An opened backup, read once from its beginning to its end. What it says is not believed by itself."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        """Read the two files that say what is to be believed: the signed manifest, and the pins.

        Raises:
            BackupInvalidError: it does not begin as a backup does.
        """
        self._file = file
        self._path = path
        self.envelope = self._opening(MANIFEST, PAYLOAD_BYTES_MAX + 64 * 1024)
        self.pins = self._opening(PINS, KEY_BYTES_MAX)

    def check_size(self, members: Sequence[Member]) -> None:
        """Return only if the file is exactly as long as these files make it: asked before anything is written.

        Raises:
            BackupInvalidError: it is not.
        """
        size, needed = os.fstat(self._file.fileno()).st_size, archive_bytes(len(self.envelope), members)
        if size != needed:
            raise self._invalid(f"{size} bytes, the manifest needs {needed}")

    def unpack(self, members: Sequence[Member], write: Write, progress: Progress) -> None:
        """Give every file to ``write``, in order, and compare each with its digest.

        Raises:
            BackupInvalidError: the archive is not the one spelling of the manifest with these files.
        """
        self.check_size(members)
        total = archive_bytes(len(self.envelope), members)
        write(members[0], self._checked(members[0], iter([self.pins])))
        for member in members[1:]:
            if self._file.read(_BLOCK) != _header(member.name, member.size):
                raise self._invalid(f"{member.name}: not its header")
            pieces = self._checked(member, self._content(member))
            write(member, pieces)
            for _ in pieces:  # whatever ``write`` has left, so that no digest stays unchecked
                pass
            self._skip_padding(member.name, member.size)
            progress(self._file.tell(), total)
        if self._file.read(len(_END) + 1) != _END:
            raise self._invalid("not its end")

    def _opening(self, name: str, size_max: int) -> bytes:
        """The first files stand before anybody knows their sizes: only the size is taken from the header."""
        header = self._file.read(_BLOCK)
        try:
            size = tarfile.TarInfo.frombuf(header, "ascii", "strict").size
        except (tarfile.HeaderError, ValueError) as error:
            raise self._invalid("not a backup") from error
        if not 0 <= size <= size_max or header != _header(name, size):
            raise self._invalid(f"must begin with {MANIFEST} and {PINS}")
        content = self._file.read(size)
        if len(content) != size:
            raise self._invalid(f"{name}: cut off")
        self._skip_padding(name, size)
        return content

    def _skip_padding(self, name: str, size: int) -> None:
        padding = _padding(size)
        if self._file.read(len(padding)) != padding:
            raise self._invalid(f"{name}: not its padding")

    def _content(self, member: Member) -> Iterator[bytes]:
        left = member.size
        while left and (piece := self._file.read(min(left, READ_BYTES))):
            left -= len(piece)
            yield piece

    def _checked(self, member: Member, pieces: Iterator[bytes]) -> Iterator[bytes]:
        found, size = hashlib.sha256(), 0
        for piece in pieces:
            found.update(piece)
            size += len(piece)
            yield piece
        if size != member.size or str(Digest(found.digest())) != member.digest:
            raise self._invalid(f"{member.name}: not the bytes that the manifest states")

    def _invalid(self, rule: str) -> BackupInvalidError:
        message = f"{self._path}: {rule}"
        return BackupInvalidError(message)


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """A backup to read.

    Raises:
        BackupFileError: it cannot be read.
        BackupInvalidError: it does not begin as a backup does.
    """
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open_regular(path))
        except UnsafeFileError as error:
            raise BackupFileError(error.message) from error
        yield Archive(file, path)


def digest_file(path: Path) -> tuple[int, Digest]:
    """Size and digest of a file.

    Raises:
        UnsafeFileError: it cannot be read.
    """
    found, size = hashlib.sha256(), 0
    with open_regular(path) as file:
        for piece in _pieces(file):
            found.update(piece)
            size += len(piece)
    return size, Digest(found.digest())


def _read_back(path: Path, envelope: bytes, members: Sequence[Member]) -> None:
    """The pair of writing: a backup that the reading path would refuse is found out now."""

    def drop(_member: Member, pieces: Iterator[bytes]) -> None:
        for _ in pieces:
            pass

    with open_archive(path) as archive:
        archive.unpack(members, drop, lambda _done, _total: None)
        if archive.envelope != envelope:
            message = f"{path}: the manifest is not the one that was written"
            raise BackupInvalidError(message)


@contextmanager
def _writing(path: Path, temporary: Path) -> Iterator[None]:
    """What the file system refuses at the place of a backup is no fault of the state."""
    try:
        yield
    except StateUnwritableError as error:
        raise BackupFileError(f"{path}{error.message.removeprefix(str(temporary))}") from error


def _write_file(file: BinaryIO, name: str, size: int, pieces: Iterator[bytes]) -> None:
    file.write(_header(name, size))
    start = file.tell()
    file.writelines(pieces)
    if file.tell() - start != size:
        message = f"{name}: {file.tell() - start} bytes, the manifest states {size}"
        raise BackupInvalidError(message)
    file.write(_padding(size))


def _header(name: str, size: int) -> bytes:
    header = tarfile.TarInfo(name)
    header.size, header.mode = size, 0o600
    return header.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")


def _padding(size: int) -> bytes:
    return bytes(-size % _BLOCK)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(READ_BYTES):
        yield piece
