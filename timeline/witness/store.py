"""``witness.db``: what a witness remembers, in SQLite (WAL, synchronous=FULL, STRICT).

``log.note`` is the truth: the cosigned checkpoint, believed only while the witness's own cosignature on it verifies.
``log.size`` repeats its tree size, so that a change can be made on condition that nothing came between. This module
moves rows and decides nothing. One connection serves all threads, one after the other; other processes are held off
by SQLite's own lock, taken before the first read of a change.
"""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from timeline.errors import (
    StateBusyError,
    StateCorruptError,
    StateUnwritableError,
    UnsupportedStateError,
)
from timeline.limits import SQLITE_BUSY_MS
from timeline.store import Store, check_database_files
from timeline.witness.errors import WitnessMissingError
from timeline.witness.protocol import origin_digest

SCHEMA_VERSION: Final = 1
APPLICATION_ID: Final = 0x5457_4E31
"""``PRAGMA application_id``: says that this database is a witness's (``TWN1``)."""

EVIDENCE_MAX: Final = 8
"""Contradictions of one log that are kept; the first prove as much as all."""

TABLES: Final = {
    "witness": """CREATE TABLE witness (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    vkey TEXT NOT NULL
) STRICT""",
    "log": """CREATE TABLE log (
    origin TEXT PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    note BLOB
) STRICT, WITHOUT ROWID""",
    "log_key": """CREATE TABLE log_key (
    origin TEXT NOT NULL REFERENCES log (origin),
    vkey TEXT NOT NULL,
    retired INTEGER NOT NULL,
    PRIMARY KEY (origin, vkey)
) STRICT, WITHOUT ROWID""",
    "evidence": """CREATE TABLE evidence (
    origin TEXT NOT NULL REFERENCES log (origin),
    ours BLOB NOT NULL,
    theirs BLOB NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (origin, theirs)
) STRICT, WITHOUT ROWID""",
}
"""Every table and the one statement that makes it; compared at every opening."""

_PRAGMAS: Final = (
    f"PRAGMA busy_timeout = {SQLITE_BUSY_MS}",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA mmap_size = 0",
)
_JOURNAL_VERSIONS: Final = slice(18, 20)
"""Two bytes of SQLite's file header: 2 for the write-ahead log."""


class LogRow(msgspec.Struct, frozen=True):
    """A known log: its keys in force, as vkeys, and the cosigned note, ``None`` before the first."""

    origin: str
    size: int
    note: bytes | None
    vkeys: tuple[str, ...]
    retired: tuple[str, ...]


class Evidence(msgspec.Struct, frozen=True):
    """Two notes of one log for one size with two roots, and when the second came (POSIX seconds)."""

    origin: str
    ours: bytes
    theirs: bytes
    at: int


class WitnessStore:
    """An open database. Every ``sqlite3`` error leaves as a ``StateError``. Threads may share it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Take over an open connection; use ``open_store``."""
        self.path = path
        self._rows = Store(path, connection)
        self._turn = threading.RLock()

    def close(self) -> None:
        """Close, folding the write-ahead log into the file."""
        with self._turn:
            self._rows.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of the block or nothing of it, durable when it ends; no other thread or process writes meanwhile.

        Raises:
            StateBusyError: others kept it.
            StateUnwritableError, StateCorruptError: see ``timeline.store``.
        """
        if not self._turn.acquire(timeout=SQLITE_BUSY_MS / 1000):
            message = f"{self.path}: held by another request"
            raise StateBusyError(message)
        try:
            with self._rows.transaction():
                yield
        finally:
            self._turn.release()

    def vkey(self) -> str:
        """The key that this memory belongs to.

        Raises:
            StateError: the database cannot be read, or has none.
        """
        rows = self._query("SELECT vkey FROM witness")
        if len(rows) != 1:
            message = f"{self.path}: names no witness"
            raise StateCorruptError(message)
        return str(rows[0][0])

    def set_vkey(self, vkey: str) -> None:
        """Give the memory to another key, inside a transaction.

        Raises:
            StateError: the database cannot be written.
        """
        self._rows.write("UPDATE witness SET vkey = ?", [(vkey,)])

    def find_log(self, digest: bytes) -> LogRow | None:
        """The log whose origin has this digest.

        Raises:
            StateError: the database cannot be read.
        """
        rows = self._query("SELECT origin, size, note FROM log WHERE digest = ?", (digest,))
        return self._log_row(*rows[0]) if rows else None

    def logs(self) -> tuple[LogRow, ...]:
        """Every known log, in order of origins.

        Raises:
            StateError: the database cannot be read.
        """
        rows = self._query("SELECT origin, size, note FROM log ORDER BY origin")
        return tuple(self._log_row(*row) for row in rows)

    def add_log(self, origin: str) -> None:
        """Add a log that nothing was cosigned of; one that is there stays. Inside a transaction.

        Raises:
            StateError: the database cannot be written.
        """
        statement = "INSERT INTO log (origin, digest, size) VALUES (?, ?, 0) ON CONFLICT DO NOTHING"
        self._rows.write(statement, [(origin, origin_digest(origin))])

    def put_key(self, origin: str, vkey: str, *, retired: bool) -> None:
        """Add or change a key of a log, inside a transaction.

        Raises:
            StateError: the database cannot be written.
        """
        statement = (
            "INSERT INTO log_key (origin, vkey, retired) VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET retired = excluded.retired"
        )
        self._rows.write(statement, [(origin, vkey, int(retired))])

    def advance(self, before: LogRow, size: int, note: bytes) -> None:
        """Replace what was cosigned of a log, inside a transaction, if it still is what ``before`` says.

        Raises:
            StateBusyError: something came between.
            StateError: the database cannot be written.
        """
        statement = "UPDATE log SET size = ?, note = ? WHERE origin = ? AND size = ? AND note IS ?"
        self._rows.write(statement, [(size, note, before.origin, before.size, before.note)])
        if self._query("SELECT changes()") != [(1,)]:
            message = f"{self.path}: another request came between"
            raise StateBusyError(message)

    def add_evidence(self, evidence: Evidence) -> None:
        """Keep a contradiction, up to the bound, inside a transaction.

        Raises:
            StateError: the database cannot be written.
        """
        statement = (
            "INSERT INTO evidence (origin, ours, theirs, at) SELECT ?, ?, ?, ? "
            "WHERE (SELECT count(*) FROM evidence WHERE origin = ?) < ? ON CONFLICT DO NOTHING"
        )
        values = (evidence.origin, evidence.ours, evidence.theirs, evidence.at, evidence.origin, EVIDENCE_MAX)
        self._rows.write(statement, [values])

    def evidence(self) -> tuple[Evidence, ...]:
        """Every contradiction that was kept, in order of origin and time.

        Raises:
            StateError: the database cannot be read.
        """
        rows = self._query("SELECT origin, ours, theirs, at FROM evidence ORDER BY origin, at, theirs")
        return tuple(Evidence(*row) for row in rows)  # type: ignore[arg-type]  # STRICT columns

    def check_schema(self) -> None:
        """The tables are exactly those that this program makes.

        Raises:
            UnsupportedStateError: made by a newer program.
            StateCorruptError: not a witness's, or changed.
        """
        (application,), (version,) = self._query("PRAGMA application_id"), self._query("PRAGMA user_version")
        if application != (APPLICATION_ID,):
            message = f"{self.path}: not a witness's database"
            raise StateCorruptError(message)
        if int(str(version[0])) > SCHEMA_VERSION:
            message = f"{self.path}: schema {version[0]}, this program knows {SCHEMA_VERSION}"
            raise UnsupportedStateError(message)
        found = {
            str(name): sql
            for name, sql in self._query("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        }
        if version != (SCHEMA_VERSION,) or found != TABLES:
            message = f"{self.path}: its tables are not those of schema {SCHEMA_VERSION}"
            raise StateCorruptError(message)

    def prepare(self) -> None:
        """Set how the connection writes; before anything else.

        Raises:
            StateError: the database cannot be opened.
        """
        for pragma in _PRAGMAS:
            self._query(pragma)

    def _log_row(self, origin: object, size: object, note: object) -> LogRow:
        keys = self._query("SELECT vkey, retired FROM log_key WHERE origin = ? ORDER BY vkey", (origin,))
        return LogRow(
            origin,  # type: ignore[arg-type]  # STRICT columns
            size,  # type: ignore[arg-type]  # as above
            note,  # type: ignore[arg-type]  # as above
            tuple(str(vkey) for vkey, retired in keys if not retired),
            tuple(str(vkey) for vkey, retired in keys if retired),
        )

    def _query(self, statement: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        with self._turn:
            return list(self._rows.query(statement, values))


def empty_database(vkey: str) -> bytes:
    """The file of a new memory that belongs to a key, whole, so that no interruption leaves half of it."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in TABLES.values():
            connection.execute(statement)
        connection.execute("INSERT INTO witness (id, vkey) VALUES (1, ?)", (vkey,))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        content = bytearray(connection.serialize())
    # What `PRAGMA journal_mode = WAL` writes; a database in memory does not take the pragma.
    content[_JOURNAL_VERSIONS] = b"\x02\x02"
    return bytes(content)


def open_store(path: Path) -> WitnessStore:
    """Open the database and check that it is private, a witness's, and of this version. It is never made here.

    Raises:
        WitnessMissingError: there is none.
        UnsafeFileError: linked, foreign or open to others.
        StateError: damaged, newer or busy.
    """
    check_database_files(path, missing=WitnessMissingError)
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        message = f"{path}: cannot be opened"
        raise StateUnwritableError(message) from error
    store = WitnessStore(path, connection)
    try:
        store.prepare()
        store.check_schema()
    except BaseException:
        store.close()
        raise
    return store
