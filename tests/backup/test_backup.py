"""Making a backup: of one moment, whoever writes meanwhile; whole, private, without receipts, and never over a file."""

import os
import select
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.backup.places import DECLARED, Backed, manifest_of, members_of, place_for, stands_in, untouched
from tests.simulators.crash_child import act_and_die_at
from tests.simulators.growth import follow
from tests.simulators.witnesses import in_child, wait_for
from tests.simulators.worlds import (
    World,
    answers_of,
    checkpoint_of,
    empty_world,
    leaves_of,
    new_world,
    prompt_event,
    refusal_of,
    rollout_of,
    verdict_of,
    write_transcript,
)
from tests.timeline.cases import Case, enroll_session
from timeline import formats, service
from timeline.backup import back_up
from timeline.epochs import change_log_key, list_log_keys
from timeline.manifest import KEYS
from timeline.restore import restore
from timeline.tlog import Step

NEW = "event_msg/new_thing"
OK = ("ok", frozenset())


def restored(backed: Backed, folder: Path) -> World:
    """Put a backup in an empty place, declared to be the newest."""
    world = backed.place(folder)
    assert restore(world.session, backed.file, DECLARED) is not None
    return world


# -- what is in it ---------------------------------------------------------------------------------------------


def test_a_backup_answers_as_the_timeline_did(backed: Backed, tmp_path: Path) -> None:
    """Byte for byte, and everything of it verifies to the last transcript line."""
    world = restored(backed, tmp_path / "place")
    assert answers_of(world) == answers_of(backed.world)
    assert verdict_of(world, deep=True) == OK


def test_making_a_backup_changes_nothing(case: Case, tmp_path: Path) -> None:
    """Neither in the timeline nor beside it; the file is the owner's alone."""
    before = untouched(case.world)
    beside = sorted(path.name for path in case.world.folder.iterdir())
    found = back_up(case.session, tmp_path / "b.tar")
    assert untouched(case.world) == before
    assert sorted(path.name for path in case.world.folder.iterdir()) == beside
    assert stat.S_IMODE(found.file.stat().st_mode) == 0o600
    assert found.file_bytes == found.file.stat().st_size
    assert (found.manifest.size, found.manifest.root) == (
        4,
        service.verify_timeline(case.session, deep=False).root,
    )
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_nothing_is_written_over(case: Case, tmp_path: Path) -> None:
    """A file, a folder, or a link to nowhere: it stays, and nothing is made beside it."""
    places = [tmp_path / "stick" / name for name in ("file", "folder", "link")]
    places[0].parent.mkdir()
    places[0].write_bytes(b"mine")
    places[1].mkdir()
    places[2].symlink_to(tmp_path / "nowhere")
    for place in places:
        assert refusal_of(lambda place=place: back_up(case.session, place)) == "backup-file-unusable"  # type: ignore[misc]  # a default binds it
    assert sorted(path.name for path in places[0].parent.iterdir()) == ["file", "folder", "link"]
    assert places[0].read_bytes() == b"mine"
    assert not (tmp_path / "nowhere").exists()


def test_a_file_that_appears_meanwhile_is_not_written_over(case: Case, tmp_path: Path) -> None:
    """It was not there when the backup began, and is when it gets its name."""
    place = tmp_path / "b.tar"
    said: list[int] = []

    def appear(done: int, _total: int) -> None:
        said.append(done)
        if not place.exists():
            place.write_bytes(b"mine")

    assert refusal_of(lambda: back_up(case.session, place, progress=appear)) == "backup-file-unusable"
    assert said
    assert place.read_bytes() == b"mine"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("name", ["missing/b.tar", "x" * 300])
def test_a_place_that_cannot_be_written_is_refused(case: Case, tmp_path: Path, name: str) -> None:
    """No such folder, or a name that is too long."""
    assert refusal_of(lambda: back_up(case.session, tmp_path / name)) == "backup-file-unusable"


def test_a_failing_disk_leaves_no_file(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be made durable has no name that somebody could rely on."""

    def failing(_file: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("timeline.archive.make_durable", failing)
    (tmp_path / "stick").mkdir()
    assert refusal_of(lambda: back_up(case.session, tmp_path / "stick" / "b.tar")) == "backup-file-unusable"
    assert list((tmp_path / "stick").iterdir()) == []


def test_a_file_that_reads_back_differently_is_refused(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that says it has written and has not is found out before anybody relies on it."""

    def truncate(file: object) -> None:
        file.flush()  # type: ignore[attr-defined]  # an open file
        os.ftruncate(file.fileno(), 40_000)  # type: ignore[attr-defined]  # as above

    monkeypatch.setattr("timeline.archive.make_durable", truncate)
    (tmp_path / "stick").mkdir()
    assert refusal_of(lambda: back_up(case.session, tmp_path / "stick" / "b.tar")) == "backup-invalid"
    assert list((tmp_path / "stick").iterdir()) == []


# -- what is not in it -----------------------------------------------------------------------------------------


def test_receipts_do_not_come_back(case: Case, tmp_path: Path) -> None:
    """One was pending when the backup was made, and was spent since: it cannot be spent in what comes back."""
    rollout = rollout_of(case.world, seed=5)
    path = write_transcript(case.world, rollout)
    event = prompt_event(case.world, rollout.thread_id, str(path))
    receipt = service.receive_prompt(case.session, "codex", event)
    file = tmp_path / "b.tar"
    back_up(case.session, file)
    assert receipt.id.encode() not in file.read_bytes()
    assert service.list_receipts(case.session, case.world.root) == (receipt,)
    world = restored(Backed(case.world, file), tmp_path / "place")
    assert service.list_receipts(world.session, world.root) == ()
    spent = refusal_of(lambda: service.enroll(world.session, world.root, receipt.id, confirmed=True))
    assert spent == "host-transcript-receipt-unavailable"


def test_a_backup_that_brings_a_receipt_is_refused(case: Case, backed: Backed, tmp_path: Path) -> None:
    """However it came in: the database of an older copy, signed again with the stolen key."""
    from tests.backup.places import signed_again
    from timeline.keystore import load_keystore

    members = members_of(backed.file)[1:]
    database = tmp_path / "state.db"
    database.write_bytes(dict(members)["state/state.db"])
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("INSERT INTO receipt VALUES (x'00', x'00')")
    changed = [(n, database.read_bytes() if n == "state/state.db" else c) for n, c in members]
    file, world = tmp_path / "b.tar", backed.place(tmp_path / "place")
    file.write_bytes(signed_again(backed.file, load_keystore(case.world.locations).log, changed))
    assert refusal_of(lambda: restore(world.session, file, DECLARED)) == "backup-invalid"
    assert stands_in(world) == []


def test_deleted_rows_are_not_in_it(case: Case, tmp_path: Path) -> None:
    """SQLite leaves the bytes of deleted rows in its pages; the copy is made without them."""
    marker = b"MARKER-of-a-deleted-row" * 40
    with closing(sqlite3.connect(case.world.locations.database)) as connection:
        connection.execute("PRAGMA secure_delete = OFF")
        for statement in (
            "INSERT INTO setting VALUES (77, ?)",
            "DELETE FROM setting WHERE value = ?",
        ):
            with connection:
                connection.execute(statement, (marker,))
    assert marker[:400] in case.world.locations.database.read_bytes()
    file = tmp_path / "b.tar"
    back_up(case.session, file)
    assert marker[:23] not in file.read_bytes()


def test_without_keys_none_is_in_it(keyless: Backed, backed: Backed) -> None:
    """Neither their files nor their bytes; everything else is."""
    assert {name for name, _ in members_of(backed.file)} - {
        name for name, _ in members_of(keyless.file)
    } == set(KEYS)
    assert not keyless.manifest().has_keys
    content = keyless.file.read_bytes()
    for key in keyless.world.locations.keys.iterdir():
        assert key.read_bytes().split(b"\n")[1] not in content


def test_files_that_no_leaf_needs_are_not_in_it(case: Case, tmp_path: Path) -> None:
    """Sidecars that were given up, temporary files, strangers."""
    sidecars = case.world.locations.sidecars
    (sidecars / ("sha256-" + "0" * 64)).write_bytes(b"given up")
    (sidecars / "tmp-1").write_bytes(b"temporary")
    (case.world.locations.trust / "notes.txt").write_bytes(b"mine")
    file = tmp_path / "b.tar"
    back_up(case.session, file)
    assert manifest_of(file).names == manifest_of(file).names - {"trust/notes.txt"}
    assert sum(name.startswith("state/sidecars/") for name in manifest_of(file).names) == 1


# -- of which state --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [Step.HEAD, Step.ANCHOR, Step.DATABASE])
def test_an_interrupted_commit_is_finished_in_the_copy(case: Case, tmp_path: Path, step: Step) -> None:
    """The timeline itself stays as the crash left it: a backup repairs nothing."""
    assert act_and_die_at(case.world, step, lambda session: formats.accept_type(session, "codex", NEW))
    before = (parts_of(case.world), leaves_of(case.world))
    file = tmp_path / "b.tar"
    size = back_up(case.session, file).manifest.size
    assert size == (4 if step is Step.DATABASE else 5)
    assert (parts_of(case.world), leaves_of(case.world)) == before
    world = restored(Backed(case.world, file), tmp_path / "place")
    assert verdict_of(world, deep=True) == OK


@pytest.mark.parametrize("step", [Step.HEAD, Step.ANCHOR, Step.DONE])
def test_an_interrupted_key_change_is_settled_in_the_copy(case: Case, tmp_path: Path, step: Step) -> None:
    """Two log keys are pinned in the timeline, one in the backup."""
    assert act_and_die_at(case.world, step, lambda session: change_log_key(session, "rotation"))
    file = tmp_path / "b.tar"
    back_up(case.session, file)
    world = restored(Backed(case.world, file), tmp_path / "place")
    assert verdict_of(world, deep=True) == OK
    assert [standing.usable for standing in list_log_keys(world.session).log] == [False, True]


def test_nothing_is_no_backup(tmp_path: Path) -> None:
    """No timeline, or one that was never begun to the end."""
    world = empty_world(tmp_path / "world")
    assert refusal_of(lambda: back_up(world.session, tmp_path / "b.tar")) == "state-missing"
    made = new_world(tmp_path / "made")
    made.locations.pins.rename(made.locations.begun)
    made.locations.database.unlink()
    assert refusal_of(lambda: back_up(made.session, tmp_path / "b.tar")) == "init-interrupted"
    assert not (tmp_path / "b.tar").exists()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda world: world.locations.anchor.unlink(), "state-incomplete"),
        (lambda world: world.locations.head.write_bytes(b""), "malformed"),
        (lambda world: next(world.locations.sidecars.iterdir()).unlink(), "store-file-missing"),
        (lambda world: next(world.locations.sidecars.iterdir()).write_bytes(b"x"), "digest-mismatch"),
        (lambda world: (world.locations.keys / "owner.key").unlink(), "state-incomplete"),
        (lambda world: drop_leaf(world, 2), "broken-link"),
    ],
)
def test_a_state_that_is_refused_is_not_backed_up(
    case: Case, tmp_path: Path, damage: Callable[[World], object], reason: str
) -> None:
    """Nobody shall rely on a copy of what nobody believes."""
    damage(case.world)
    assert refusal_of(lambda: back_up(case.session, tmp_path / "b.tar")) == reason
    assert not (tmp_path / "b.tar").exists()
    assert not list(case.world.folder.glob("*.backing-up"))


def parts_of(world: World) -> dict[str, bytes]:
    """Give every file but the database: whoever opens it folds in what a killed process has left beside it."""
    return {name: content for name, content in untouched(world).items() if name != "state/state.db"}


def drop_leaf(world: World, index: int) -> None:
    """Take one leaf out of the database."""
    with closing(sqlite3.connect(world.locations.database)) as connection, connection:
        connection.execute("DELETE FROM leaf WHERE idx = ?", (index,))


# -- while others write ----------------------------------------------------------------------------------------


@contextmanager
def writing(write: Callable[[], object]) -> Iterator[None]:
    """Let another process write without a pause while the block runs."""
    stop_reading, stop_writing = os.pipe()
    begun_reading, begun_writing = os.pipe()

    def go_on() -> bytes:
        os.close(stop_writing)
        count = 0
        while not select.select([stop_reading], [], [], 0)[0]:
            write()
            count += 1
            if count == 1:
                os.write(begun_writing, b".")
        return str(count).encode()

    child, reading = in_child(go_on)
    os.close(stop_reading)
    os.close(begun_writing)
    try:
        assert os.read(begun_reading, 1) == b"."
        yield
    finally:
        os.close(stop_writing)
        os.close(begun_reading)
        said, _ = wait_for(child, reading)
    assert int(said) > 1


def test_a_backup_is_of_one_moment_while_another_process_commits(case: Case, tmp_path: Path) -> None:
    """Each one verifies, is no older than what stood before it, and the writer was never kept waiting for long."""

    def toggle() -> None:
        formats.accept_type(case.session, "codex", NEW)
        formats.revoke_type(case.session, "codex", NEW)

    sizes = []
    with writing(toggle):
        for number in range(6):
            least, _ = checkpoint_of(case.world.locations.anchor)
            size = back_up(case.session, tmp_path / f"{number}.tar").manifest.size
            most, _ = checkpoint_of(case.world.locations.anchor)
            assert least <= size <= most + 1
            sizes.append(size)
    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 1
    for number in range(6):
        world = restored(Backed(case.world, tmp_path / f"{number}.tar"), tmp_path / f"place-{number}")
        assert verdict_of(world, deep=True) == OK


def test_the_moment_is_the_beginning_of_the_copy(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is committed while pages are copied is not in it, and does not begin the copy anew."""
    pages: list[int] = []

    def commit(done: int, _total: int) -> None:
        pages.append(done)
        if len(pages) == 2:
            formats.accept_type(case.session, "codex", NEW)

    monkeypatch.setattr("timeline.store._PAGES_AT_ONCE", 1)
    assert back_up(case.session, tmp_path / "b.tar", progress=commit).manifest.size == 4
    assert pages[:4] == [1, 2, 3, 4]
    assert checkpoint_of(case.world.locations.anchor)[0] == 5


def test_sidecars_that_go_meanwhile_are_no_gap(case: Case, tmp_path: Path) -> None:
    """A file is followed, indexed, revoked and enrolled again without a pause: sidecars come and go."""

    def churn() -> None:
        growing = follow(case.world, first=4000, seed=7)
        growing.index()
        growing.write(2000)
        growing.index()
        service.revoke(case.session, growing.ref)
        growing.path.unlink()

    with writing(churn):
        for number in range(4):
            back_up(case.session, tmp_path / f"{number}.tar")
    for number in range(4):
        world = restored(Backed(case.world, tmp_path / f"{number}.tar"), tmp_path / f"place-{number}")
        assert service.verify_timeline(world.session, deep=False).verdict == "ok"


def test_a_change_of_the_log_key_meanwhile_is_no_mixture(case: Case, tmp_path: Path) -> None:
    """Keys, pins and leaves are of one epoch, whichever it is."""

    def change() -> None:
        change_log_key(case.session, "rotation")
        for _ in range(3):
            formats.accept_type(case.session, "codex", NEW)
            formats.revoke_type(case.session, "codex", NEW)

    with writing(change):
        for number in range(4):
            back_up(case.session, tmp_path / f"{number}.tar")
    for number in range(4):
        world = restored(Backed(case.world, tmp_path / f"{number}.tar"), tmp_path / f"place-{number}")
        assert verdict_of(world) == OK


def test_one_backup_at_a_time(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second one is told so, and does not disturb the first."""
    from timeline.lock import hold_writer_lock

    monkeypatch.setattr(
        "timeline.backup.hold_writer_lock", lambda path: hold_writer_lock(path, wait_seconds=0)
    )
    with hold_writer_lock(case.world.locations.runtime / "backup.lock"):
        assert refusal_of(lambda: back_up(case.session, tmp_path / "b.tar")) == "state-busy"
    enroll_session(case.world, seed=3)
    assert back_up(case.session, tmp_path / "b.tar").manifest.size == 5


def test_private_keys_do_not_stay_in_the_copy(case: Case, tmp_path: Path) -> None:
    """Zeros are put over their bytes where they lie."""
    copied = case.world.folder / "trust.backing-up" / "keys" / "owner.key"
    opened = []

    def look(_done: int, _total: int) -> None:
        if copied.exists() and not opened:
            opened.append(copied.open("rb"))

    back_up(case.session, tmp_path / "b.tar", progress=look)
    (file,) = opened
    with file:
        content = file.read()
    assert content == bytes(len(content))
    assert len(content) == (case.world.locations.keys / "owner.key").stat().st_size


def test_what_a_killed_backup_has_left_is_removed_by_the_next(case: Case, tmp_path: Path) -> None:
    """Private keys among it."""
    left = case.world.folder / "trust.backing-up" / "keys"
    left.parent.mkdir(mode=0o700)
    left.mkdir(mode=0o700)
    (left / "owner.key").touch(mode=0o600)
    back_up(case.session, tmp_path / "b.tar")
    assert not left.parent.exists()
    assert place_for(case.world, tmp_path / "place").folder.is_dir()
