"""``store``: write-once files that come out as they went in, or not at all."""

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import sidecars.store
from sidecars.digest import Digest
from sidecars.errors import (
    DigestMismatchError,
    MalformedError,
    SidecarError,
    StoreError,
    StoreMissingError,
    StoreUnsafeError,
    StoreUnwritableError,
)
from sidecars.store import Store, SystemCalls

CONTENT = b"some content" * 100


class Faults(SystemCalls):
    """System calls of which the n-th fails with an error of choice, or writes less than asked."""

    def __init__(self, fails_at: int = 0, error: int = errno.EIO) -> None:
        self.fails_at = fails_at
        self.error = error
        self.calls: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        attribute = super().__getattribute__(name)
        if name.startswith("_") or not callable(attribute):
            return attribute

        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            # close is left out: an error from it after a good fsync has no meaning that anyone could act on.
            if len(self.calls) == self.fails_at and name != "close":
                raise OSError(self.error, os.strerror(self.error))
            if name == "write":
                return attribute(arguments[0], arguments[1][: max(1, len(arguments[1]) // 2)])
            return attribute(*arguments)

        return call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a private folder."""
    path = tmp_path / "sidecars"
    path.mkdir(mode=0o700)
    return path


def file_of(folder: Path, content: bytes = CONTENT) -> Path:
    """Give the path under which content is kept."""
    return folder / f"sha256-{Digest.of(content).hex()}"


def names(folder: Path) -> list[str]:
    """Give the names in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_what_goes_in_comes_out(folder: Path) -> None:
    """A file is kept under its digest with mode 0600, twice is once, and it can be removed."""
    store = Store(folder)
    digest = store.put(CONTENT)
    assert digest == Digest.of(CONTENT)
    assert store.put(CONTENT) == digest
    assert store.get(digest) == CONTENT
    assert file_of(folder).stat().st_mode & 0o777 == 0o600
    assert names(folder) == [file_of(folder).name]
    assert store.listing().digests == {digest}
    store.remove(digest)
    store.remove(digest)
    assert names(folder) == []
    with pytest.raises(StoreMissingError):
        store.get(digest)


def test_an_empty_file_is_a_file(folder: Path) -> None:
    """No content is content too."""
    store = Store(folder)
    assert store.get(store.put(b"")) == b""


@pytest.mark.requirement("T67")
def test_every_flipped_byte_is_noticed(folder: Path) -> None:
    """A file that does not hash to its name is not given out."""
    store = Store(folder)
    content = b"short content"
    digest = store.put(content)
    for place in range(len(content)):
        file_of(folder, content).write_bytes(
            content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        )
        with pytest.raises(DigestMismatchError):
            store.get(digest)
        with pytest.raises(DigestMismatchError):
            store.put(content)
    for wrong in (content[:-1], content + b"x", b""):
        file_of(folder, content).write_bytes(wrong)
        with pytest.raises(DigestMismatchError):
            store.get(digest)


def symlink(path: Path) -> None:
    """Put a link to the good bytes in place."""
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def hard_link(path: Path) -> None:
    """Give the good file a second name."""
    os.link(path, path.with_name("second"))


def fifo(path: Path) -> None:
    """Put a pipe in place, which would block a careless reader."""
    path.unlink()
    os.mkfifo(path, 0o600)


def directory(path: Path) -> None:
    """Put a folder in place."""
    path.unlink()
    path.mkdir(mode=0o700)


def readable(path: Path) -> None:
    """Open the file to others."""
    path.chmod(0o644)


@pytest.mark.requirement("T67")
@pytest.mark.parametrize("spoil", [symlink, hard_link, fifo, directory, readable])
def test_what_is_not_a_private_regular_file_is_refused(folder: Path, spoil: Callable[[Path], None]) -> None:
    """Right bytes behind a link, a second name, a pipe, a folder or open rights are not taken."""
    store = Store(folder)
    digest = store.put(CONTENT)
    spoil(file_of(folder))
    with pytest.raises(StoreUnsafeError):
        store.get(digest)


def test_a_strangers_file_or_folder_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who we are is compared, not whether we can read it: root could read everything."""
    store = Store(folder)
    store.put(CONTENT)
    monkeypatch.setattr(sidecars.store.os, "geteuid", lambda: 12345)
    with pytest.raises(StoreUnsafeError):
        Store(folder)


def test_a_strangers_file_in_our_folder_is_refused(folder: Path) -> None:
    """The owner of each file is compared too."""

    class Foreign(SystemCalls):
        def fstat(self, descriptor: int) -> os.stat_result:
            found = super().fstat(descriptor)
            if stat.S_ISDIR(found.st_mode):
                return found
            fields = list(found)
            fields[stat.ST_UID] += 1
            return os.stat_result(fields)

    digest = Store(folder).put(CONTENT)
    with pytest.raises(StoreUnsafeError, match="must be ours"):
        Store(folder, Foreign()).get(digest)


def test_another_folder_in_its_place_is_refused(folder: Path) -> None:
    """A folder swapped under the store is noticed by its identity, even with the same files in it."""
    store = Store(folder)
    digest = store.put(CONTENT)
    folder.rename(folder.with_name("old"))
    folder.mkdir(mode=0o700)
    with pytest.raises(StoreUnsafeError):
        store.get(digest)
    folder.rmdir()
    with pytest.raises(StoreMissingError):
        store.get(digest)
    folder.symlink_to(folder.with_name("old"))
    with pytest.raises(StoreUnsafeError):
        store.get(digest)


def test_a_folder_that_is_missing_open_or_no_folder_is_refused(tmp_path: Path) -> None:
    """A store is never created by looking for it."""
    with pytest.raises(StoreMissingError):
        Store(tmp_path / "none")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreUnsafeError):
        Store(tmp_path / "file")
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "open").chmod(0o755)
    with pytest.raises(StoreUnsafeError):
        Store(tmp_path / "open")


def test_strange_names_are_listed_and_temporary_ones_removed(folder: Path) -> None:
    """What is not ours is reported and left alone; what a crash left is cleaned up when asked."""
    store = Store(folder)
    digest = store.put(CONTENT)
    for name in ("notes.txt", "sha256-XY", "sha256-" + "A" * 64, "tmp-left"):
        (folder / name).write_bytes(b"")
    assert store.listing().digests == {digest}
    assert store.listing().strays == ("notes.txt", "sha256-" + "A" * 64, "sha256-XY")
    store.remove_strays()
    assert "tmp-left" not in names(folder)
    assert "notes.txt" in names(folder)


def test_a_file_larger_than_the_bound_is_neither_kept_nor_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hostile file cannot fill the memory of a reader."""
    store = Store(folder)
    digest = store.put(CONTENT)
    monkeypatch.setattr(sidecars.store, "FILE_BYTES_MAX", len(CONTENT) - 1)
    with pytest.raises(StoreUnsafeError):
        store.get(digest)
    with pytest.raises(MalformedError):
        store.put(CONTENT)


def test_a_file_that_changes_while_it_is_read_is_refused(folder: Path) -> None:
    """The file is looked at before and after."""

    class Racing(SystemCalls):
        def read(self, descriptor: int, size: int) -> bytes:
            file_of(folder).touch()
            os.utime(file_of(folder), ns=(1, 1))
            return super().read(descriptor, size)

    digest = Store(folder).put(CONTENT)
    with pytest.raises(StoreUnsafeError):
        Store(folder, Racing()).get(digest)


def count_calls(folder: Path, action: Callable[[Store], object]) -> int:
    """Give how many system calls an action makes."""
    faults = Faults()
    store = Store(folder, faults)
    faults.calls.clear()
    action(store)
    return len(faults.calls)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_whichever_call_fails_the_file_is_there_whole_or_not_at_all(tmp_path: Path, error: int) -> None:
    """Each system call of a put fails once: our error, no half file under the name, and the next put works."""
    whole = tmp_path / "whole"
    whole.mkdir(mode=0o700)
    total = count_calls(whole, lambda store: store.put(CONTENT))
    assert total > 12
    failed = 0
    for number in range(1, total + 1):
        folder = tmp_path / f"{number}"
        folder.mkdir(mode=0o700)
        faults = Faults(error=error)
        store = Store(folder, faults)
        faults.calls.clear()
        faults.fails_at = number
        try:
            store.put(CONTENT)
        except StoreError:
            failed += 1
        if file_of(folder).exists():
            assert Store(folder).get(Digest.of(CONTENT)) == CONTENT
        assert Store(folder).get(Store(folder).put(CONTENT)) == CONTENT
        assert names(folder) == [file_of(folder).name]
    assert failed > total // 2


@pytest.mark.parametrize("action", ["get", "remove", "listing", "remove_strays"])
def test_whichever_call_fails_only_our_error_leaves(folder: Path, action: str) -> None:
    """Reading, removing and listing give a value or a ``StoreError``."""
    digest = Store(folder).put(CONTENT)
    arguments = (digest,) if action in ("get", "remove") else ()
    total = count_calls(folder, lambda store: getattr(store, action)(*arguments))
    for number in range(1, total + 1):
        Store(folder).put(CONTENT)
        faults = Faults()
        store = Store(folder, faults)
        faults.calls.clear()
        faults.fails_at = number
        try:
            getattr(store, action)(*arguments)
        except SidecarError:
            assert faults.calls[number - 1] != "close"


def test_the_file_is_synced_before_it_gets_its_name_and_the_folder_after(folder: Path) -> None:
    """Write, sync, rename, sync of the folder, then read back: in this order, or a crash could tear it."""
    faults = Faults()
    Store(folder, faults).put(CONTENT)
    order = [name for name in faults.calls if name in ("write", "fsync", "rename", "read")]
    assert order[: order.index("fsync") + 1] == ["write"] * order.index("fsync") + ["fsync"]
    after = order[order.index("fsync") + 1 :]
    assert after[:3] == ["rename", "fsync", "read"]


def test_a_full_disk_says_what_to_do(folder: Path) -> None:
    """The error names its reason and a way out."""
    faults = Faults(error=errno.ENOSPC)
    store = Store(folder, faults)
    faults.calls.clear()
    faults.fails_at = 1 + [*sequence(folder)].index("write")
    with pytest.raises(StoreUnwritableError) as caught:
        store.put(CONTENT)
    assert caught.value.reason == "store-unwritable"
    assert caught.value.hint


def sequence(folder: Path) -> list[str]:
    """Give the calls of a put."""
    faults = Faults()
    store = Store(folder, faults)
    faults.calls.clear()
    store.put(CONTENT)
    store.remove(Digest.of(CONTENT))
    return faults.calls


SEVERAL = tuple(bytes([number]) * 1000 for number in range(5))


def test_several_are_all_written_before_the_first_is_synced_and_the_folder_once(folder: Path) -> None:
    """What one sync takes to the disk the next need not; names come after every sync, and the folder's comes last."""
    faults = Faults()
    assert Store(folder, faults).put_all(SEVERAL) == tuple(map(Digest.of, SEVERAL))
    order = [name for name in faults.calls if name in ("write", "fsync", "rename", "unlink")]
    count = len(SEVERAL)
    assert order[:count] == ["unlink"] * count
    written = order.index("fsync")
    assert set(order[count:written]) == {"write"}
    assert order[written:] == ["fsync"] * count + ["rename"] * count + ["fsync"]
    assert names(folder) == sorted(file_of(folder, content).name for content in SEVERAL)


def test_those_that_are_there_are_not_written_again(folder: Path) -> None:
    """One that stands twice among them is written once; none at all is no error."""
    store = Store(folder)
    store.put(SEVERAL[0])
    stood = file_of(folder, SEVERAL[0]).stat()
    assert store.put_all([*SEVERAL[:2], SEVERAL[1]]) == tuple(map(Digest.of, (*SEVERAL[:2], SEVERAL[1])))
    assert file_of(folder, SEVERAL[0]).stat() == stood
    assert len(names(folder)) == 2
    assert store.put_all([]) == ()


def test_one_that_is_too_large_keeps_all_of_them_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written."""
    monkeypatch.setattr(sidecars.store, "FILE_BYTES_MAX", 1000)
    with pytest.raises(MalformedError):
        Store(folder).put_all([*SEVERAL, b"x" * 1001])
    assert names(folder) == []


def test_whichever_call_fails_each_of_several_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """No half file bears a name, no temporary file stays for good, and the next put brings all in."""
    whole = tmp_path / "whole"
    whole.mkdir(mode=0o700)
    for number in range(1, count_calls(whole, lambda store: store.put_all(SEVERAL)) + 1):
        folder = tmp_path / f"{number}"
        folder.mkdir(mode=0o700)
        faults = Faults()
        store = Store(folder, faults)
        faults.calls.clear()
        faults.fails_at = number
        with suppress(StoreError):
            store.put_all(SEVERAL)
        for digest in Store(folder).listing().digests:
            assert Store(folder).get(digest) in SEVERAL
        Store(folder).put_all(SEVERAL)
        assert names(folder) == sorted(file_of(folder, content).name for content in SEVERAL)
