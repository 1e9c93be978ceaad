"""Every stored byte, file and folder is changed in turn: no search answers from what is not what was written.

The transcript's own bytes are not among them; what changes in a transcript is the business of test_bad_sources.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.simulators.worlds import (
    World,
    answers_of,
    contents,
    is_refused,
    refusal_of,
    search_once,
    verdict_of,
)
from timeline import service

NOTE = {"malformed", "non-canonical", "unknown-key", "bad-signature", "origin-mismatch"}
"""Ways in which a changed checkpoint is none of this log."""

REASONS: dict[str, set[str]] = {
    "state/head": NOTE,
    "trust/anchor": NOTE,
    "trust/pins": {"key-mismatch"},
    "trust/keys/owner.key": {"key-mismatch"},
    "trust/keys/log.key": {"key-mismatch"},
    "trust/keys/fingerprint.key": {"key-mismatch"},
    "state/sidecars": {"digest-mismatch"},
}
"""For each private file, the reasons that a changed byte of it may be refused with."""

SPREAD = 8
"""Bytes that are changed in each page of the database, besides the whole header."""


def private_files(world: World) -> list[str]:
    """Give the names of every file below state and trust."""
    return [name for name in contents(world.folder) if name.startswith(("state/", "trust/"))]


def group_of(name: str) -> str:
    """Give the entry of ``REASONS`` that a file belongs to."""
    return "state/sidecars" if name.startswith("state/sidecars/") else name


def reason_in(answer: bytes) -> str:
    """Give the reason of a refusal; an answer that is none fails the test."""
    assert is_refused(answer), answer[:300]
    return answer.removeprefix(b"refused: ").decode()


def assert_refused(world: World, expected: set[str]) -> None:
    """Search and ``verify`` both refuse, with one of the expected reasons."""
    reason = reason_in(search_once(world))
    assert reason in expected
    verdict, reasons = verdict_of(world)
    assert verdict == "refused"
    assert reasons & expected


def flips_of(content: bytes, places: Iterator[int] | range) -> Iterator[tuple[int, bytes]]:
    """Give the content with one bit changed, another one at each place."""
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        yield place, bytes(changed)


# -- bytes -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T65", "T67", "D3", "D8")
@pytest.mark.parametrize("group", REASONS)
def test_a_changed_byte_of_a_private_file_is_refused(world: World, group: str) -> None:
    """Whichever byte of head, anchor, pins, keys or a sidecar changes: no answer, and ``verify`` says refused."""
    names = [name for name in private_files(world) if group_of(name) == group]
    assert names
    for name in names:
        path = world.folder / name
        content = path.read_bytes()
        for _, changed in flips_of(content, range(len(content))):
            path.write_bytes(changed)
            assert_refused(world, REASONS[group])
        path.write_bytes(content)
    assert not is_refused(search_once(world))


def test_every_private_file_but_the_database_is_in_the_table(world: World) -> None:
    """A file that is added to the state must be tampered with, too."""
    assert {group_of(name) for name in private_files(world)} == {*REASONS, "state/state.db"}


@pytest.mark.requirement("T67", "T69", "X14")
def test_a_changed_byte_of_the_database_gives_a_refusal_or_the_same_answer(world: World) -> None:
    """In the header and in every page: refused by an error of ours, or every answer byte for byte as before."""
    before = answers_of(world)
    database = world.locations.database
    content = database.read_bytes()
    page = int.from_bytes(content[16:18], "big")
    places = {*range(100), *range(0, len(content), page // SPREAD)}
    refused = 0
    for place, changed in flips_of(content, iter(sorted(places))):
        _put(database, changed)
        for question, answer in answers_of(world).items():
            assert is_refused(answer) or answer == before[question], (place, question, answer[:200])
            refused += is_refused(answer)
    assert refused > len(places)
    _put(database, content)
    assert answers_of(world) == before


def _put(database: Path, content: bytes) -> None:
    """Write the database as a whole, without what SQLite left beside it."""
    for suffix in ("-wal", "-shm", "-journal"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    database.write_bytes(content)


# -- files and folders -----------------------------------------------------------------------------------------

MISSING = {
    "state/head": {"state-incomplete"},
    "state/state.db": {"state-incomplete"},
    "trust/anchor": {"anchor-lost"},
    "trust/pins": {"state-incomplete"},
    "trust/keys/owner.key": {"state-incomplete"},
    "trust/keys/log.key": {"state-incomplete"},
    "trust/keys/fingerprint.key": {"state-incomplete"},
    "state/sidecars": {"store-file-missing"},
}

CUT = {
    **{name: {"key-mismatch"} for name in MISSING},
    "state/head": NOTE,
    "trust/anchor": NOTE,
    "state/state.db": {"state-corrupt"},
    "state/sidecars": {"digest-mismatch"},
}


@pytest.mark.requirement("T67", "D8")
def test_a_missing_file_is_no_fresh_start(world: World) -> None:
    """Each file below state and trust is deleted in turn: refused as missing, and nothing takes its place."""
    for name in private_files(world):
        path = world.folder / name
        content = path.read_bytes()
        path.unlink()
        assert_refused(world, MISSING[group_of(name)])
        assert not path.exists()
        path.write_bytes(content)
        path.chmod(0o600)
    assert not is_refused(search_once(world))


@pytest.mark.requirement("T67", "D8")
@pytest.mark.parametrize("keep", ["nothing", "half", "all but one"])
def test_a_truncated_file_is_refused(world: World, keep: str) -> None:
    """Each file below state and trust is cut short in turn; a database without its last byte may answer the same."""
    before = search_once(world)
    for name in private_files(world):
        path = world.folder / name
        content = path.read_bytes()
        left = {"nothing": 0, "half": len(content) // 2, "all but one": len(content) - 1}[keep]
        path.write_bytes(content[:left])
        # A last page that a crashed checkpoint left unfinished is SQLite's to fill; its rows are checked all the same.
        if (name, keep) != ("state/state.db", "all but one") or search_once(world) != before:
            assert_refused(world, CUT[group_of(name)])
        path.write_bytes(content)
    assert search_once(world) == before


@pytest.mark.requirement("T67")
@pytest.mark.parametrize("name", ["state", "trust", "trust/keys", "state/sidecars"])
def test_a_missing_folder_is_no_fresh_start(world: World, name: str) -> None:
    """A folder that is gone is refused and not made again, and ``init`` does not begin anew beside the rest."""
    shutil.rmtree(world.folder / name)
    assert_refused(world, {"state-incomplete"})
    assert refusal_of(lambda: service.init_state(world.session)) == "state-remains"
    assert not (world.folder / name).exists()


@pytest.mark.requirement("T67")
@pytest.mark.parametrize("name", ["state", "trust", "trust/keys", "state/sidecars"])
@pytest.mark.parametrize("how", ["link", "open to others", "file"])
def test_a_folder_that_is_not_private_is_refused(world: World, name: str, how: str) -> None:
    """A link in place of a folder, one that others may enter, or a file there."""
    path = world.folder / name
    if how == "open to others":
        path.chmod(0o755)
    else:
        aside = path.rename(world.folder / "aside")
        if how == "link":
            path.symlink_to(aside)
        else:
            path.write_bytes(b"")
    assert_refused(world, {"unsafe-file"})


def _link(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name("aside")))


def _hard_link(path: Path) -> None:
    os.link(path, path.parent.parent / "second name")


def _open_to_others(path: Path) -> None:
    path.chmod(0o644)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir(mode=0o700)


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


@pytest.mark.requirement("T67")
@pytest.mark.parametrize(
    "unsafe", [_link, _hard_link, _open_to_others, _folder, _fifo], ids=lambda f: f.__name__
)
def test_a_file_that_is_not_private_is_refused(
    small: World, tmp_path: Path, unsafe: Callable[[Path], None]
) -> None:
    """Each file below state and trust is linked, opened to others or replaced by no file in turn."""
    for number, name in enumerate(private_files(small)):
        world = small.copy(tmp_path / str(number))
        unsafe(world.folder / name)
        assert_refused(world, {"unsafe-file", "store-file-unsafe"})


@pytest.mark.requirement("T67")
@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("unsafe", [_link, _open_to_others], ids=lambda f: f.__name__)
def test_what_lies_beside_the_database_must_be_private_too(
    world: World, suffix: str, unsafe: Callable[[Path], None]
) -> None:
    """A write-ahead log that leads elsewhere would be read, and written, in place of ours."""
    beside = world.locations.database.with_name("state.db" + suffix)
    beside.write_bytes(b"")
    unsafe(beside)
    assert_refused(world, {"unsafe-file"})


@pytest.mark.requirement("T67")
def test_files_of_another_user_are_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it belongs to somebody else."""
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert_refused(world, {"unsafe-file"})


@pytest.mark.requirement("T67")
def test_one_file_of_another_user_is_refused(
    small: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file below state and trust belongs to somebody else in turn; folders and the rest stay ours."""
    real_fstat, real_lstat = os.fstat, os.lstat
    for number, name in enumerate(private_files(small)):
        world = small.copy(tmp_path / str(number))
        foreign = (world.folder / name).stat().st_ino

        def given(found: os.stat_result, foreign: int = foreign) -> object:
            if found.st_ino != foreign:
                return found
            fields = {field: getattr(found, field) for field in dir(found) if field.startswith("st_")}
            return SimpleNamespace(**{**fields, "st_uid": found.st_uid + 1})

        with monkeypatch.context() as patch:
            patch.setattr(os, "fstat", lambda fd, given=given: given(real_fstat(fd)))
            patch.setattr(os, "lstat", lambda path, given=given, **kw: given(real_lstat(path, **kw)))
            assert_refused(world, {"unsafe-file", "store-file-unsafe"})


@pytest.mark.requirement("T67")
def test_files_that_nothing_refers_to_change_no_answer(world: World) -> None:
    """Strangers' files below state and trust are ignored, as is a sidecar that no leaf names."""
    before = answers_of(world)
    for name in ("state/notes", "state/sidecars/notes", "state/sidecars/sha256-" + "0" * 64, "trust/notes"):
        (world.folder / name).write_bytes(b"not ours")
    assert answers_of(world) == before
    assert verdict_of(world)[0] == "ok"


@pytest.mark.requirement("T67")
@pytest.mark.parametrize("name", ["quiet", "_sqlite_migrations_quiet", "idx__sqlite_migrations"])
def test_a_database_with_something_of_its_own_is_refused(world: World, name: str) -> None:
    """A trigger would act on the next commit, whatever it is called."""
    with closing(sqlite3.connect(world.locations.database)) as database:
        database.execute(f"CREATE TRIGGER {name} AFTER INSERT ON leaf BEGIN DELETE FROM event; END")
        database.commit()
    assert_refused(world, {"state-corrupt"})
