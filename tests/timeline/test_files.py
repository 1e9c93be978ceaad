"""Private files: what is not private is refused, and a failing write leaves the old bytes."""

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from timeline import files
from timeline.errors import StateError, StateIncompleteError, StateUnwritableError, UnsafeFileError
from timeline.files import (
    check_directory,
    make_directory,
    read_private,
    read_private_range,
    remove_temporaries,
    rename_private,
    write_atomic,
)

SIZE_MAX = 1000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Give a private file of ten bytes."""
    write_atomic(tmp_path / "file", b"0123456789")
    return tmp_path / "file"


# -- what may be read ------------------------------------------------------------------------------------------


def _open_to_group(file: Path) -> None:
    file.chmod(0o640)


def _open_to_world(file: Path) -> None:
    file.chmod(0o604)


def _second_name(file: Path) -> None:
    os.link(file, file.with_name("other"))


def _symbolic_link(file: Path) -> None:
    file.rename(file.with_name("other"))
    file.symlink_to("other")


def _dangling_link(file: Path) -> None:
    file.unlink()
    file.symlink_to("nowhere")


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir(0o700)


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


def _socket(file: Path) -> None:
    file.unlink()
    here = Path.cwd()
    os.chdir(file.parent)  # a socket's path may have 107 bytes only
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(file.name)
    finally:
        os.chdir(here)


UNSAFE = (
    _open_to_group,
    _open_to_world,
    _second_name,
    _symbolic_link,
    _dangling_link,
    _folder,
    _pipe,
    _socket,
)


@pytest.mark.requirement("T67")
@pytest.mark.parametrize("change", UNSAFE, ids=lambda change: change.__name__)
def test_a_file_that_is_not_private_is_not_read(file: Path, change: Callable[[Path], None]) -> None:
    """Modes, links, folders, pipes and sockets are refused at once, by either reader."""
    change(file)
    with pytest.raises(UnsafeFileError):
        read_private(file, size_max=SIZE_MAX)
    with pytest.raises(UnsafeFileError):
        read_private_range(file, 0, 5)


def test_a_file_of_another_user_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Owner-only means owned by whoever runs this."""
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.raises(UnsafeFileError, match="belong to you"):
        read_private(file, size_max=SIZE_MAX)
    with pytest.raises(UnsafeFileError, match="belong to you"):
        read_private_range(file, 0, 1)


def test_a_missing_file_is_incomplete_and_not_empty(tmp_path: Path) -> None:
    """A file that must be there is never taken for a fresh start."""
    for read in (lambda p: read_private(p, size_max=1), lambda p: read_private_range(p, 0, 1)):
        with pytest.raises(StateIncompleteError):
            read(tmp_path / "none")


def test_a_file_of_exactly_the_bound_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    """The bound itself is inside."""
    write_atomic(tmp_path / "file", bytes(SIZE_MAX))
    assert len(read_private(tmp_path / "file", size_max=SIZE_MAX)) == SIZE_MAX
    with pytest.raises(UnsafeFileError, match="at most 999"):
        read_private(tmp_path / "file", size_max=SIZE_MAX - 1)


def test_a_range_is_read_from_its_place_and_ends_with_the_file(file: Path) -> None:
    """A range past the end is short, not an error: whoever asked compares a digest."""
    assert read_private_range(file, 3, 4) == b"3456"
    assert read_private_range(file, 8, 10) == b"89"
    assert read_private_range(file, 10, 1) == b""


@pytest.mark.parametrize("name", ["read", "fstat", "open"])
def test_a_failing_read_is_an_error_of_ours(file: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """An input/output error leaves as a refusal with its name."""

    def fail(*_: object, **__: object) -> object:
        raise OSError(errno.EIO, "injected")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, name, fail)
        with pytest.raises(UnsafeFileError, match="EIO"):
            read_private(file, size_max=SIZE_MAX)


def test_a_file_that_changes_while_it_is_read_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A racing writer is seen by the second look."""
    real = os.read

    def write_meanwhile(descriptor: int, count: int) -> bytes:
        with file.open("ab") as racing:
            racing.write(b"x")
        return real(descriptor, count)

    monkeypatch.setattr(files.os, "read", write_meanwhile)
    with pytest.raises(UnsafeFileError, match="changed while"):
        read_private(file, size_max=SIZE_MAX)


@pytest.mark.parametrize("name", ["fstat", "read"])
def test_a_file_that_is_replaced_while_it_is_read_is_read_again(
    file: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A writer renames a new file into place, once: what is read is the new one, whole."""
    real, left = getattr(os, name), [b"the new one"]

    def replace_before(*arguments: int) -> object:
        if left:
            write_atomic(file, left.pop())
        return real(*arguments)

    monkeypatch.setattr(files.os, name, replace_before)
    assert read_private(file, size_max=SIZE_MAX) == b"the new one"


def test_a_file_that_is_replaced_each_time_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of readings has a bound."""
    real, readings = os.read, []

    def replace_before(descriptor: int, count: int) -> bytes:
        readings.append(descriptor)
        write_atomic(file, b"another")
        return real(descriptor, count)

    monkeypatch.setattr(files.os, "read", replace_before)
    with pytest.raises(UnsafeFileError, match="changed while"):
        read_private(file, size_max=SIZE_MAX)
    assert len(readings) < 100


def test_a_file_that_is_removed_while_it_is_read_is_missing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bytes are nobody's any more."""
    real = os.read

    def remove_before(descriptor: int, count: int) -> bytes:
        file.unlink(missing_ok=True)
        return real(descriptor, count)

    monkeypatch.setattr(files.os, "read", remove_before)
    with pytest.raises(StateIncompleteError):
        read_private(file, size_max=SIZE_MAX)


# -- writing ---------------------------------------------------------------------------------------------------


def test_a_written_file_is_private_and_whole(tmp_path: Path) -> None:
    """Whatever the umask says, the file is for its owner only; nothing is left beside it."""
    before = os.umask(0)
    try:
        write_atomic(tmp_path / "file", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "file").read_bytes() == b"new"
    assert (tmp_path / "file").stat().st_mode & 0o7777 == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == ["file"]


@pytest.mark.parametrize("name", ["open", "write", "fsync", "rename"])
def test_a_failing_write_leaves_the_old_bytes(file: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A full disk at any call: our error, the old file, no temporary file."""

    def fail(*_: object, **__: object) -> object:
        raise OSError(errno.ENOSPC, "injected")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, name, fail)
        with pytest.raises(StateUnwritableError, match="ENOSPC"):
            write_atomic(file, b"new")
    assert file.read_bytes() == b"0123456789"
    assert [path.name for path in file.parent.iterdir() if path.name != "home"] == ["file"]


@pytest.mark.parametrize("name", ["rename", "fsync"])
def test_a_failing_rename_is_an_error_of_ours(file: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """One of the two names stands, with all the bytes."""

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "injected")

    new = file.with_name("new")
    with monkeypatch.context() as patch:
        patch.setattr(files.os, name, fail)
        with pytest.raises(StateUnwritableError, match="EIO"):
            rename_private(file, new)
    standing = file if file.exists() else new
    assert standing.read_bytes() == b"0123456789"
    assert file.exists() is (name == "rename")


def test_a_short_write_is_continued(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system may take one byte at a time."""
    real = os.write
    monkeypatch.setattr(files.os, "write", lambda descriptor, rest: real(descriptor, rest[:1]))
    write_atomic(file, b"byte by byte")
    assert file.read_bytes() == b"byte by byte"


def test_writing_replaces_a_link_and_leaves_its_target(file: Path) -> None:
    """A link put in the file's place does not lead the bytes elsewhere."""
    target = file.with_name("target")
    target.write_bytes(b"theirs")
    file.unlink()
    file.symlink_to(target)
    write_atomic(file, b"ours")
    assert target.read_bytes() == b"theirs"
    assert read_private(file, size_max=SIZE_MAX) == b"ours"


def test_temporaries_of_a_killed_process_are_no_obstacle_and_are_removed(file: Path) -> None:
    """A process with our number may have been killed between writing and renaming."""
    left = file.with_name(f"file.{os.getpid()}.tmp")
    left.write_bytes(b"half")
    write_atomic(file, b"new")
    assert not left.exists()
    other = file.with_name("head.1.tmp")
    other.write_bytes(b"half")
    remove_temporaries(file.parent)
    assert not other.exists()
    assert file.read_bytes() == b"new"


# -- folders ---------------------------------------------------------------------------------------------------


def test_a_new_folder_is_private_and_its_identity_is_stable(tmp_path: Path) -> None:
    """Parents are made; making it again is looking at it."""
    folder = tmp_path / "a" / "b"
    identity = make_directory(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert make_directory(folder) == identity
    identity.check()


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o750, 0o755, 0o777])
def test_a_folder_that_is_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    """Even the right to pass through is too much; the hint is the command that mends it."""
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(UnsafeFileError) as refused:
        check_directory(folder)
    assert refused.value.hint == f"chmod 700 {folder}"


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    """A file, a link to a folder, and a path through a file."""
    real = make_directory(tmp_path / "real").path
    (tmp_path / "link").symlink_to(real)
    (tmp_path / "file").write_bytes(b"")
    for name in ("link", "file"):
        with pytest.raises(UnsafeFileError):
            check_directory(tmp_path / name)
        with pytest.raises(StateError):
            make_directory(tmp_path / name)
    with pytest.raises(StateUnwritableError):
        make_directory(tmp_path / "file" / "below")
    with pytest.raises(StateIncompleteError):
        check_directory(tmp_path / "none")


@pytest.mark.requirement("T67")
def test_another_folder_at_the_same_path_is_noticed(tmp_path: Path) -> None:
    """A folder that was swapped is not the one that was checked."""
    identity = make_directory(tmp_path / "folder")
    (tmp_path / "folder").rename(tmp_path / "aside")
    (tmp_path / "folder").mkdir(0o700)
    with pytest.raises(UnsafeFileError, match="put in its place"):
        identity.check()
    (tmp_path / "folder").rmdir()
    with pytest.raises(StateIncompleteError):
        identity.check()
