"""A transcript is opened only while it is exactly the file that was enrolled."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeline import source
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
from timeline.source import (
    Snapshot,
    check_below,
    check_names,
    check_path,
    open_any,
    open_source,
    take_snapshot,
)

CONTENT = bytes(range(256)) * 40


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Give a transcript of 10,240 bytes in a folder of its own."""
    path = tmp_path / "sessions" / "rollout-s1.jsonl"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    return path


def read(snapshot: Snapshot) -> bytes:
    """Read the whole transcript as it was enrolled."""
    with open_source(snapshot) as opened:
        return opened.read(0, snapshot.size)


@pytest.mark.requirement("T1", "T11")
def test_an_unchanged_file_is_read_in_place(file: Path) -> None:
    """The snapshot holds metadata and the digest of at most 4 KiB; reading changes nothing."""
    snapshot = take_snapshot(str(file))
    before = file.stat()
    assert snapshot.prefix_length == 4096
    assert read(snapshot) == CONTENT
    after = file.stat()
    assert (after.st_mtime_ns, after.st_ctime_ns, after.st_size) == (
        before.st_mtime_ns,
        before.st_ctime_ns,
        before.st_size,
    )


def test_a_short_or_empty_file_has_a_short_prefix(file: Path) -> None:
    """A prefix is never longer than the file."""
    file.write_bytes(b"abc")
    assert take_snapshot(str(file)).prefix_length == 3
    file.write_bytes(b"")
    snapshot = take_snapshot(str(file))
    assert snapshot.prefix_length == 0
    assert read(snapshot) == b""


@pytest.mark.requirement("T11")
@pytest.mark.parametrize("length", [-1, 4097, 1 << 20])
def test_a_longer_prefix_cannot_be_asked_for(file: Path, length: int) -> None:
    """The bound is not an argument."""
    with pytest.raises(RuntimeError):
        take_snapshot(str(file), length)


# -- every kind of change --------------------------------------------------------------------------------------


def _append(file: Path) -> None:
    with file.open("ab") as appended:
        appended.write(b"\n")


def _truncate(file: Path) -> None:
    os.truncate(file, 5000)


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _one_byte(file: Path) -> None:
    with file.open("r+b") as changed:
        changed.seek(9000)
        changed.write(b"!")


def _times_only(file: Path) -> None:
    os.utime(file, ns=(1, 1))


def _times_put_back(file: Path) -> None:
    before = file.stat()
    _one_byte(file)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _replaced_by_equal(file: Path) -> None:
    shutil.copy2(file, file.with_name("copy"))
    file.with_name("copy").rename(file)


def _deleted(file: Path) -> None:
    file.unlink()


def _folder_gone(file: Path) -> None:
    shutil.rmtree(file.parent)


def _folder_is_a_file(file: Path) -> None:
    shutil.rmtree(file.parent)
    file.parent.write_bytes(b"")


def _hard_link(file: Path) -> None:
    os.link(file, file.with_name("second"))


def _symbolic_link(file: Path) -> None:
    file.rename(file.with_name("real"))
    file.symlink_to("real")


def _link_to_nowhere(file: Path) -> None:
    file.unlink()
    file.symlink_to("nowhere")


def _link_to_itself(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


def _linked_folder(file: Path) -> None:
    file.parent.rename(file.parent.with_name("moved"))
    file.parent.symlink_to("moved")


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


CHANGES: tuple[tuple[Callable[[Path], None], type[SourceError]], ...] = (
    (_append, TranscriptChangedError),
    (_truncate, TranscriptChangedError),
    (_empty, TranscriptChangedError),
    (_one_byte, TranscriptChangedError),
    (_times_only, TranscriptChangedError),
    (_times_put_back, TranscriptChangedError),
    (_replaced_by_equal, TranscriptReplacedError),
    (_deleted, TranscriptMissingError),
    (_folder_gone, TranscriptMissingError),
    (_folder_is_a_file, TranscriptMissingError),
    (_hard_link, TranscriptLinkedError),
    (_symbolic_link, TranscriptLinkedError),
    (_link_to_nowhere, TranscriptLinkedError),
    (_link_to_itself, TranscriptLinkedError),
    (_linked_folder, TranscriptLinkedError),
    (_folder, TranscriptNotRegularError),
    (_pipe, TranscriptNotRegularError),
)
IDS = [change.__name__.strip("_") for change, _ in CHANGES]


@pytest.mark.requirement("T12", "T13", "T14")
@pytest.mark.parametrize(("change", "error"), CHANGES, ids=IDS)
def test_a_changed_file_is_not_opened(
    file: Path, change: Callable[[Path], None], error: type[SourceError]
) -> None:
    """Each kind of change has its reason, and nothing is read."""
    snapshot = take_snapshot(str(file))
    change(file)
    with pytest.raises(error):
        read(snapshot)


# A folder renamed and linked meanwhile leads to the same file; the next opening refuses it.
WHILE_OPEN = [change for change in CHANGES if change[0] is not _linked_folder]


@pytest.mark.requirement("T12", "T13")
@pytest.mark.parametrize(
    ("change", "error"), WHILE_OPEN, ids=[name for name in IDS if name != "linked_folder"]
)
def test_a_change_while_the_file_is_open_is_noticed_at_the_end(
    file: Path, change: Callable[[Path], None], error: type[SourceError]
) -> None:
    """What was read meanwhile must not be used: the block ends with the refusal."""
    snapshot = take_snapshot(str(file))
    with pytest.raises(SourceError) as refused, open_source(snapshot) as opened:
        opened.read(0, 100)
        change(file)
    assert isinstance(refused.value, (error, TranscriptLinkedError, TranscriptChangedError))


@pytest.mark.requirement("T13")
def test_another_beginning_under_the_same_metadata_is_noticed(file: Path) -> None:
    """Whoever can forge size and times still has the digest of the prefix against him."""
    snapshot = take_snapshot(str(file))
    forged = msgspec.structs.replace(snapshot, prefix_digest=bytes(32))
    with pytest.raises(TranscriptReplacedError):
        read(forged)


@pytest.mark.requirement("T12")
@pytest.mark.parametrize("field", ["device", "inode", "size", "mtime_ns", "ctime_ns"])
def test_every_field_of_a_snapshot_is_compared(file: Path, field: str) -> None:
    """One more in any of them is another file, or another moment."""
    snapshot = take_snapshot(str(file))
    other = msgspec.structs.replace(snapshot, **{field: getattr(snapshot, field) + 1})
    with pytest.raises((TranscriptReplacedError, TranscriptChangedError)):
        read(other)


@pytest.mark.requirement("T12")
def test_a_file_of_another_user_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, and when it is enrolled already."""
    snapshot = take_snapshot(str(file))
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.raises(TranscriptOwnerError):
        take_snapshot(str(file))
    with pytest.raises(TranscriptOwnerError):
        read(snapshot)


def test_reading_past_the_end_is_a_change(file: Path) -> None:
    """A line that should be there and is not means that the file is shorter."""
    with open_source(take_snapshot(str(file))) as opened:
        assert opened.read(10_000, 240) == CONTENT[10_000:]
        with pytest.raises(TranscriptChangedError):
            opened.read(10_000, 241)


@pytest.mark.parametrize("call", ["open", "fstat", "pread", "preadv"])
def test_an_operating_system_that_refuses_gives_an_error_of_ours(
    file: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """An input/output error is a refusal of this file, with its name."""
    snapshot = take_snapshot(str(file))

    def fail(*_: object, **__: object) -> object:
        raise OSError(5, "injected")

    with monkeypatch.context() as patch:
        patch.setattr(source.os, call, fail)
        with pytest.raises(TranscriptUnreadableError, match="EIO"):
            _ = take_snapshot(str(file)) if call == "pread" else read(snapshot)


@pytest.mark.parametrize("name", ["x" * 300, "a/" * 50 + "b"])
def test_a_path_that_cannot_exist_is_a_refusal(file: Path, name: str) -> None:
    """A component over the file system's bound is no crash."""
    with pytest.raises(SourceError):
        take_snapshot(str(file.parent / name))


# -- where it may lie ------------------------------------------------------------------------------------------


@pytest.mark.requirement("T70")
def test_a_file_below_the_root_that_names_its_session_is_taken(file: Path) -> None:
    """Root and name both fit."""
    check_below(str(file), file.parent)
    check_names(str(file), file.parent, "s1", lambda parts, session: parts == (f"rollout-{session}.jsonl",))


@pytest.mark.requirement("T70", "T8")
def test_a_file_elsewhere_is_refused(file: Path, tmp_path: Path) -> None:
    """Beside the root, through a link out of it, or under a linked or missing root."""
    outside = tmp_path / "sessions-too" / "rollout-s1.jsonl"
    outside.parent.mkdir()
    outside.write_bytes(b"")
    with pytest.raises(TranscriptOutsideError):
        check_below(str(outside), file.parent)
    (file.parent / "out").symlink_to(outside.parent)
    with pytest.raises(TranscriptOutsideError):
        check_below(str(file.parent / "out" / "rollout-s1.jsonl"), file.parent)
    (tmp_path / "link").symlink_to(file.parent)
    with pytest.raises(TranscriptOutsideError):
        check_below(str(file), tmp_path / "link")
    with pytest.raises(TranscriptOutsideError):
        check_below(str(file), tmp_path / "none")
    with pytest.raises(TranscriptOutsideError):
        check_below(str(file), file)


@pytest.mark.requirement("T70", "T8")
def test_a_file_of_another_session_is_refused(file: Path) -> None:
    """What the host's naming rule denies, and a file that is not below the root at all."""
    with pytest.raises(TranscriptSessionError):
        check_names(str(file), file.parent, "s2", lambda parts, session: session in parts[-1])
    with pytest.raises(TranscriptSessionError):
        check_names("/elsewhere/rollout-s1.jsonl", file.parent, "s1", lambda parts, _: bool(parts))


# -- any file --------------------------------------------------------------------------------------------------


def test_any_regular_file_can_be_looked_at(file: Path, tmp_path: Path) -> None:
    """Links are followed, and growth meanwhile is no matter: nothing is bound to it."""
    (tmp_path / "link").symlink_to(file)
    with open_any(str(tmp_path / "link")) as opened:
        size = opened.snapshot.size
        with file.open("ab") as more:
            more.write(b"more")
        assert opened.read(0, size) == file.read_bytes()[:size]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: None])
def test_what_is_no_file_is_not_looked_at(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A folder, a pipe and nothing at all are refusals, and nobody waits for a writer."""
    make(tmp_path / "thing")
    with pytest.raises(SourceError), open_any(str(tmp_path / "thing")):
        pass
    with pytest.raises(SourceError), open_any(str(tmp_path / "a\0b")):
        pass


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "a",
        "./a",
        "/a/",
        "//a",
        "/a//b",
        "/a/../b",
        "/a/./b",
        "/a\n",
        "/a\0b",
        "/\x7f",
        "/\udcff",
        "/" + "a" * 4096,
    ],
)
def test_a_path_that_cannot_be_recorded_is_refused(path: str) -> None:
    """Relative, not normal, not UTF-8, too long, or with control characters."""
    with pytest.raises(TranscriptPathError):
        check_path(path)
    with pytest.raises(TranscriptPathError):
        take_snapshot(path)


@given(st.text(max_size=60).map(lambda text: "/" + text))
def test_an_accepted_path_is_absolute_normal_and_printable(path: str) -> None:
    """Whatever is accepted can be stored in a leaf and shown in one line."""
    try:
        assert check_path(path) == path
    except TranscriptPathError as error:
        assert "\n" not in error.message  # noqa: PT017  (a message is one line)
        return
    assert os.path.normpath(path) == path
    assert "\n" not in path
