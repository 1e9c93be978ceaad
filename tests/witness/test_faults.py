"""Every system call and statement of a submission fails, one after the other: nothing unsaved is ever answered."""

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

import timeline.files
import timeline.store
import timeline.witness.store
from sidecars.cosignature import open_cosignatures
from tests.simulators.faults import Faults, KilledError, _Os, _Sqlite, kill_at
from tests.simulators.witnesses import (
    ORIGIN,
    Branch,
    HandClock,
    HandStopwatch,
    in_child,
    make_folder,
    ports,
    serving,
    socket_path,
    wait_for,
    working,
)
from timeline.clock import SystemEntropy
from timeline.errors import StateError
from timeline.witness.client import Asked, submit
from timeline.witness.endpoint import UnixEndpoint
from timeline.witness.exchange import Cosigned, Unavailable
from timeline.witness.identity import Folder, init_witness, open_witness
from timeline.witness.protocol import origin_digest
from timeline.witness.server import SocketServer
from timeline.witness.service import Answer

LOG = Branch.of(9)
KINDS = (
    (errno.EIO, "SQLITE_IOERR"),
    (errno.ENOSPC, "SQLITE_FULL"),
    (errno.EROFS, "SQLITE_READONLY"),
    (errno.EAGAIN, "SQLITE_BUSY"),
)


class _LateConnection:
    """A connection that does what it is asked and then says that it failed, where ``Faults`` says."""

    def __init__(self, connection: sqlite3.Connection, faults: Faults) -> None:
        self._connection = connection
        self._faults = faults

    def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        done = self._connection.execute(statement, *values)
        self._meet(statement)
        return done

    def executemany(self, statement: str, rows: object) -> sqlite3.Cursor:
        done = self._connection.executemany(statement, rows)
        self._meet(statement)
        return done

    def close(self) -> None:
        self._connection.close()

    def _meet(self, statement: str) -> None:
        if self._faults.meet(f"sql {statement.split(maxsplit=1)[0]}"):
            error = sqlite3.OperationalError("injected")
            error.sqlite_errorname = self._faults.sqlite_name
            raise error


class _LateSqlite(_Sqlite):
    def connect(self, *args: object, **options: object) -> _LateConnection:
        return _LateConnection(sqlite3.connect(*args, **options), self._faults)


@contextmanager
def failing(faults: Faults, *, late: bool = False, statements: bool = True) -> Iterator[None]:
    """Let the witness's calls fail as ``faults`` says; ``late``: statements take effect and then fail."""
    database = (_LateSqlite if late else _Sqlite)(faults) if statements else sqlite3
    with (
        mock.patch.object(timeline.witness.store, "sqlite3", database),
        mock.patch.object(timeline.store, "os", _Os(faults)),
        mock.patch.object(timeline.files, "os", _Os(faults)),
    ):
        yield


def stored(folder: Folder) -> bytes | None:
    """Give what a fresh process would read."""
    opened = open_witness(folder)
    try:
        row = opened.store.find_log(origin_digest(ORIGIN))
        assert row is not None
        return row.note
    finally:
        opened.store.close()


def at_size_five(path: Path) -> Folder:
    """Make a witness that has cosigned size 5."""
    folder = make_folder(path)
    with working(folder) as witness:
        assert witness.add_checkpoint(LOG.body(0, 5)).status == 200
    return folder


def copied(folder: Folder, path: Path) -> Folder:
    """Give another folder with the same witness; nothing of an earlier try can be open there."""
    shutil.copytree(folder.path, path)
    return Folder(path)


def give(folder: Folder) -> Answer | None:
    """Open the witness and submit once; ``None`` where it could not even be opened."""
    try:
        with working(folder) as witness:
            return witness.add_checkpoint(LOG.body(5, 9))
    except StateError:
        return None


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("persistent", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("kind", KINDS, ids=[name for _, name in KINDS])
def test_no_failing_call_lets_an_unsaved_cosignature_out(
    tmp_path: Path, kind: tuple[int, str], *, persistent: bool, late: bool
) -> None:
    """From the first call to the last: 200 only with what is on disk, and afterwards the old or the new state."""
    begun = at_size_five(tmp_path / "begun")
    old, points = stored(begun), 0
    while True:
        folder = copied(begun, tmp_path / f"w{points}")
        faults = Faults(points + 1, kind[0], kind[1], persistent)
        with failing(faults, late=late):
            answer = give(folder)
        if not faults.fired:
            assert answer is not None
            assert answer.status == 200
            break
        points += 1
        now = stored(folder)
        if answer is not None and answer.status == 200:
            assert now == LOG.note(9) + answer.body
        else:
            assert answer is None or (answer.status in {500, 503} and b"\xe2\x80\x94" not in answer.body)
            assert now == old or (late and now is not None and now.startswith(LOG.note(9)))
    assert points > 15
    assert stored(folder) == LOG.note(9) + answer.body


def test_a_full_disk_refuses_and_room_helps(tmp_path: Path) -> None:
    """SQLite's own SQLITE_FULL, not one of ours: refused, nothing moved, and signed once there is room."""
    folder = make_folder(tmp_path / "w")
    with working(folder) as witness:
        assert witness.add_checkpoint(LOG.body(0, 5)).status == 200
        before = stored(folder)
        rows = witness._store._rows
        (pages,) = next(rows.query("PRAGMA page_count"))
        list(rows.query(f"PRAGMA max_page_count = {pages}"))
        # A note with many lines would need another page; keys of the log itself are the only lines that are kept.
        filler = "x" * 200_000
        with pytest.raises(StateError, match="SQLITE_FULL"), witness._store.transaction():
            rows.write("UPDATE witness SET vkey = ?", [(filler,)])
        assert stored(folder) == before
        assert witness.add_checkpoint(LOG.body(5, 9)).status == 200


def test_evidence_that_cannot_be_kept_does_not_change_the_answer(tmp_path: Path) -> None:
    """The refusal of a contradiction stands without its proof."""
    folder = make_folder(tmp_path / "w")
    fork = LOG.fork(3, "other", 6)
    with working(folder) as witness:
        assert witness.add_checkpoint(LOG.body(0, 9)).status == 200
    faults = Faults(1, errno.ENOSPC, "SQLITE_FULL", persistent=True, names=frozenset(("sql INSERT",)))
    with failing(faults), working(folder) as witness:
        assert witness.add_checkpoint(fork.body(9, 9)).status == 422
    assert faults.fired
    with working(folder) as witness:
        assert witness._store.evidence() == ()
        assert witness.add_checkpoint(fork.body(9, 9)).status == 422
        assert len(witness._store.evidence()) == 1


# -- the end of the process ------------------------------------------------------------------------------------


def serve_and_die(folder: Folder, path: str, submissions: int) -> bytes:
    """Serve; kill this process after the last submission was stored and before it is answered."""
    clock = HandClock()
    with working(folder, clock) as witness:
        left = submissions
        real = witness.add_checkpoint

        def add_checkpoint(body: bytes) -> Answer:
            nonlocal left
            answer = real(body)
            left -= 1
            if left == 0:
                os.kill(os.getpid(), 9)
            return answer

        witness.add_checkpoint = add_checkpoint
        server = SocketServer(UnixEndpoint(path), 0o600, witness, HandStopwatch(), lambda _: None)
        server.run()
    return b""


@pytest.mark.parametrize("submissions", [1, 2])
def test_a_kill_between_storing_and_answering_is_caught_up(tmp_path: Path, submissions: int) -> None:
    """The client has no answer; the witness remembers, says 409 to the same request, and the client gets there."""
    folder = make_folder(tmp_path / "w")
    sizes = [5, 9][:submissions]
    with socket_path() as path:
        child, reading = in_child(lambda: serve_and_die(folder, path, submissions))
        wait_for_socket(path)
        with working(folder) as witness:
            asked = Asked(UnixEndpoint(path), witness.verifier)
        outcomes = [ask(asked, size, known=known) for known, size in zip([0, *sizes], sizes, strict=False)]
        _, killed = wait_for(child, reading)
    assert killed
    assert [type(outcome) for outcome in outcomes] == [Cosigned, Unavailable][2 - submissions :]
    signed = stored(folder)
    assert signed is not None
    assert signed.startswith(LOG.note(sizes[-1]))
    with serving(folder) as served:
        again = ask(served.asked, sizes[-1], known=0)
        assert isinstance(again, Cosigned)
        assert open_cosignatures(again.note, [served.key])
        assert [answer.status for answer in served.answers] == [409, 200]


def ask(asked: Asked, size: int, known: int) -> object:
    """Ask for a cosignature on a size of the log."""
    return submit(
        asked,
        LOG.note(size),
        lambda old: LOG.proof(old, size),
        verifiers=[LOG.signer.verifier],
        known=known,
        deadline_seconds=30,
        ports=ports(),
    )


def wait_for_socket(path: str) -> None:
    """Wait, by connecting, until a child serves; bounded by its life."""
    import select
    import socket

    for _ in range(3000):
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(path)
            except (FileNotFoundError, ConnectionRefusedError):
                select.select([], [], [], 0.01)
            else:
                return
    raise TimeoutError(path)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_at_any_statement_leaves_the_old_or_the_new(tmp_path: Path, when: str) -> None:
    """Not an error but the end: nothing is rolled back by us, and the next process finds one of the two."""
    begun = at_size_five(tmp_path / "begun")
    old, point, outcomes = stored(begun), 0, set()
    while True:
        point += 1
        folder = copied(begun, tmp_path / f"w{point}")
        child, reading = in_child(lambda at=point, place=folder: die_at(place, at, late=when == "after"))
        said, killed = wait_for(child, reading)
        now = stored(folder)
        assert now == old or (now is not None and now.startswith(LOG.note(9)))
        if not killed:
            assert said == b"200"
            break
        outcomes.add(now == old)
    assert point > 10
    assert outcomes == {True, False} if when == "after" else outcomes == {True}


class _Killing(Faults):
    """The process really ends where another would fail: no handler runs, nothing is closed."""

    def meet(self, name: str) -> bool:
        if super().meet(name):
            os.kill(os.getpid(), 9)
        return False


def die_at(folder: Folder, point: int, *, late: bool) -> bytes:
    """Submit, and end the process at a call."""
    with failing(_Killing(point, 0, "", persistent=False), late=late):
        answer = give(folder)
    return b"%d" % (0 if answer is None else answer.status)


def test_making_a_witness_can_be_interrupted_anywhere(tmp_path: Path) -> None:
    """At every call: the next ``init`` completes it, or there is a witness; never a key without its memory."""
    points = 0
    while True:
        folder = Folder(tmp_path / f"w{points}")
        faults = kill_at(points + 1)
        try:
            with failing(faults, statements=False):
                init_witness(folder, "witness.example/w", SystemEntropy())
        except KilledError:
            pass
        if not faults.fired:
            break
        points += 1
        assert not folder.key.exists() or folder.database.exists()
        if not folder.key.exists():
            init_witness(folder, "witness.example/w", SystemEntropy())
        open_witness(folder).store.close()
    assert points > 15
