"""``state.db``: log leaves and the rebuildable projections, in SQLite (WAL, synchronous=FULL, STRICT).

This module moves rows and decides nothing. What it returns is untrusted until the log has verified it.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import msgspec

from timeline.errors import (
    StateBusyError,
    StateCorruptError,
    StateError,
    StateExistsError,
    StateIncompleteError,
    StateUnwritableError,
    UnsafeFileError,
    UnsupportedStateError,
)
from timeline.files import check_private, is_there, write_atomic
from timeline.limits import SQLITE_BUSY_MS
from timeline.schema import (
    APPLICATION_ID,
    MIGRATION_OBJECTS,
    PROJECTIONS,
    SCHEMA_VERSION,
    TABLES_OF,
    empty_database,
    migrate,
    roll_back,
)

_PAGES_AT_ONCE = 4096
"""16 MiB: copied between two words about the progress."""

_BESIDE = ("", "-wal", "-shm", "-journal")
"""The database and what SQLite keeps beside it while it is open or after a crash: all of it is the state."""

_PRAGMAS = (
    f"PRAGMA busy_timeout = {SQLITE_BUSY_MS}",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA mmap_size = 0",
)


class EventRow(msgspec.Struct, frozen=True):
    """One event as the search sees it; ``start`` and ``length`` are its bytes in the sidecar file of ``segment``."""

    source: int
    pos: int
    at: int | None
    mask: int
    label: int | None
    passed: int | None
    failed: int | None
    total: int | None
    segment: int
    start: int
    length: int
    id64: int


_EVENT_COLUMNS = "source, pos, at, mask, label, passed, failed, total, segment, start, length, id64"


class Store:
    """An open database. Every ``sqlite3`` error leaves as a ``StateError``."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Take over an open connection; use ``create_store`` or ``open_store``."""
        self.path = path
        self.outdated = False
        """Whether an older program has made it: the leaves are read as they are, the rest after ``migrate``."""
        self._connection = connection

    def close(self) -> None:
        """Close, folding the write-ahead log into the file."""
        with suppress(sqlite3.Error):
            self._connection.close()

    def query(self, statement: str, values: Sequence[object] = ()) -> Iterator[tuple[object, ...]]:
        """The rows of a reading statement, one by one.

        Raises:
            StateError: the database is busy, damaged or unreadable.
        """
        with self._errors():
            # `yield from` would close the cursor with this generator, and fail if the database was closed first.
            for row in self._connection.execute(statement, values):  # noqa: UP028  (see above)
                yield row

    def events(self, condition: str, values: Sequence[object]) -> list[EventRow]:
        """Event rows that meet a condition (which may end in ORDER BY and LIMIT).

        Raises:
            StateError: see ``query``.
        """
        statement = f"SELECT {_EVENT_COLUMNS} FROM event {condition}"  # noqa: S608  (conditions are constants)
        return [EventRow(*row) for row in self.query(statement, values)]  # type: ignore[arg-type]  # STRICT columns

    def leaves(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Index, salt and envelope of each leaf, in order of their indexes, whatever these are.

        Raises:
            StateError: see ``query``.
        """
        rows = self.query("SELECT idx, salt, envelope FROM leaf ORDER BY idx")
        yield from rows  # type: ignore[misc]  # STRICT columns

    def leaf(self, index: int) -> tuple[bytes, bytes] | None:
        """Salt and envelope of one leaf, ``None`` where there is none.

        Raises:
            StateError: see ``query``.
        """
        rows = list(self.query("SELECT salt, envelope FROM leaf WHERE idx = ?", (index,)))
        return rows[0] if rows else None  # type: ignore[return-value]  # STRICT columns

    def next_index(self) -> int:
        """The index behind the newest leaf: counting a million of them would take most of a second.

        Raises:
            StateError: see ``query``.
        """
        (row,) = self.query("SELECT coalesce(max(idx) + 1, 0) FROM leaf")
        return int(row[0])  # type: ignore[call-overload, no-any-return]  # of an INTEGER column

    def data_version(self) -> int:
        """A number that changes when another connection has changed the database.

        Raises:
            StateError: see ``query``.
        """
        (row,) = self.query("PRAGMA data_version")
        return int(row[0])  # type: ignore[call-overload, no-any-return]  # PRAGMA data_version is an integer

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of the block or nothing of it; durable when it ends.

        Raises:
            StateBusyError: another process is writing.
            StateUnwritableError: read-only, full or failing disk.
            StateCorruptError: the database is damaged.
        """
        with self._errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                # Ctrl-C included: nothing half-written may stay open.
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def write(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a writing statement for each row, inside a transaction.

        Raises:
            StateError: see ``transaction``.
        """
        with self._errors():
            self._connection.executemany(statement, rows)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read one moment throughout the block, whatever other processes commit; no writer waits for it.

        Raises:
            StateError: see ``query``.
        """
        with self._errors():
            self._connection.execute("BEGIN")
            try:
                # The first reading statement fixes the moment.
                self._connection.execute("SELECT max(idx) FROM leaf").fetchall()
                yield
            finally:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")

    def copy_to(self, path: Path, progress: Callable[[int, int], None]) -> None:
        """Write all pages over the database at ``path``; inside a ``snapshot`` they are of one moment.

        ``progress`` is told pages done and pages in all.

        Raises:
            StateError: one of the two cannot be read or written.
        """
        with self._errors(), closing(sqlite3.connect(path)) as target:
            self._connection.backup(
                target, pages=_PAGES_AT_ONCE, progress=lambda _, left, total: progress(total - left, total)
            )

    def forget_deleted(self) -> None:
        """Remove every pending receipt, and the bytes of all rows that were ever deleted.

        Raises:
            StateError: see ``transaction``.
        """
        with self.transaction():
            self.write("DELETE FROM receipt", [()])
        with self._errors():
            self._connection.execute("VACUUM")

    def zero_deleted(self) -> None:
        """From here on overwrite with zeros what this connection deletes, and what a rewriting leaves unused.

        Raises:
            StateError: see ``query``.
        """
        list(self.query("PRAGMA secure_delete = ON"))

    def rewrite(self) -> bool:
        """Write every page anew, then empty the write-ahead log: neither holds then what was deleted.

        ``False`` where another connection goes on reading an older moment: the log keeps it for that long.

        Raises:
            StateError: see ``transaction``.
        """
        self.zero_deleted()
        with self._errors():
            self._connection.execute("VACUUM")
        # The new pages went through the log as well: it is emptied last.
        (row,) = self.query("PRAGMA wal_checkpoint(TRUNCATE)")
        return row[0] == 0

    def append_leaf(self, index: int, salt: bytes, envelope: bytes) -> None:
        """Add a leaf, inside a transaction; an index is never used twice.

        Raises:
            StateError: see ``transaction``.
        """
        self.write("INSERT INTO leaf (idx, salt, envelope) VALUES (?, ?, ?)", [(index, salt, envelope)])

    def drop_source(self, source: int) -> None:
        """Remove every projected row of a source, inside a transaction.

        Raises:
            StateError: see ``transaction``.
        """
        for table in PROJECTIONS:
            self.write(f"DELETE FROM {table} WHERE source = ?", [(source,)])  # noqa: S608  (constant names)

    def insert_events(self, rows: Iterable[EventRow]) -> None:
        """Add event rows, inside a transaction.

        Raises:
            StateError: see ``transaction``.
        """
        statement = f"INSERT INTO event ({_EVENT_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"  # noqa: S608  (constant)
        self.write(
            statement,
            (
                (
                    r.source,
                    r.pos,
                    r.at,
                    r.mask,
                    r.label,
                    r.passed,
                    r.failed,
                    r.total,
                    r.segment,
                    r.start,
                    r.length,
                    r.id64,
                )
                for r in rows
            ),
        )

    def check_structure(self) -> None:
        """Let SQLite look at every page: tables, indexes and types agree with each other.

        Raises:
            StateCorruptError: they do not.
        """
        rows = [str(row[0]) for row in self.query("PRAGMA integrity_check(1)")]
        if rows != ["ok"]:
            message = f"{self.path}: the database's own integrity check failed"
            raise StateCorruptError(message)

    def check_schema(self) -> None:
        """The tables are exactly those that this program makes, or has made in an earlier version.

        Raises:
            UnsupportedStateError: made by a newer program.
            StateCorruptError: not ours, or changed.
        """
        (application,) = self.query("PRAGMA application_id")
        (version,) = self.query("PRAGMA user_version")
        if application[0] != APPLICATION_ID:
            message = f"{self.path}: not a timeline database"
            raise StateCorruptError(message)
        if int(str(version[0])) > SCHEMA_VERSION:
            message = f"{self.path}: schema {version[0]}, this program knows {SCHEMA_VERSION}"
            raise UnsupportedStateError(message)
        found = {
            str(name): sql
            for kind, name, sql in self.query(
                "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
            )
            if (kind, name) not in MIGRATION_OBJECTS
        }
        if found != TABLES_OF.get(int(str(version[0]))):
            message = f"{self.path}: its tables are not those of schema {version[0]}"
            raise StateCorruptError(message)
        self.outdated = version[0] != SCHEMA_VERSION

    def migrate(self) -> None:
        """Bring an outdated database to the schema of this program, in one transaction; the caller holds the lock.

        Raises:
            StateError: see ``transaction``.
        """
        with self.transaction(), self._errors():
            migrate(self._connection)
        self.check_schema()

    def roll_back(self) -> None:
        """Bring the database back to the version before, in one transaction; the caller holds the lock.

        Raises:
            StateError: see ``transaction``.
        """
        with self.transaction(), self._errors():
            roll_back(self._connection)
        self.check_schema()

    def _errors(self) -> "_Translated":
        return _Translated(self.path)


class _Translated:
    """Inside it every ``sqlite3`` error becomes a ``StateError``; a class, since each statement enters one."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            raise _translate(self._path, error) from error
        if isinstance(error, MemoryError | OverflowError | UnicodeDecodeError):
            message = f"{self._path}: a stored value cannot be read"
            raise StateCorruptError(message) from error


def create_store(path: Path) -> Store:
    """Make a new database with mode 0600, whole or not at all; the caller lets nobody else make one meanwhile.

    Raises:
        StateExistsError: there is one.
        StateUnwritableError: it cannot be made.
    """
    if is_there(path):
        message = f"{path}: exists already"
        raise StateExistsError(message)
    write_atomic(path, empty_database())
    return _connect(path)


def open_store(path: Path) -> Store:
    """Open the database and check that it is private, ours and of this version.

    Raises:
        StateIncompleteError: there is none.
        UnsafeFileError: linked, foreign or open to others.
        StateError: damaged, newer or busy.
    """
    check_database_files(path, missing=StateIncompleteError)
    store = _connect(path)
    try:
        store.check_schema()
    except BaseException:
        store.close()
        raise
    return store


def check_database_files(path: Path, *, missing: type[StateError]) -> None:
    """Refuse a database that is not there, or that is not private with all that SQLite keeps beside it.

    Raises:
        missing: there is no database.
        UnsafeFileError: a file is linked, foreign or open to others, or cannot be looked at.
    """
    for suffix in _BESIDE:
        file = path.with_name(path.name + suffix)
        try:
            check_private(file, os.lstat(file))
        except FileNotFoundError as error:
            if not suffix:
                message = f"{file}: file is missing"
                raise missing(message) from error
        except OSError as error:
            message = f"{file}: cannot be looked at"
            raise UnsafeFileError(message) from error


def _connect(path: Path) -> Store:
    try:
        connection = sqlite3.connect(path, isolation_level=None, cached_statements=64)
        store = Store(path, connection)
        for pragma in _PRAGMAS:
            connection.execute(pragma)
    except sqlite3.Error as error:
        raise _translate(path, error) from error
    return store


def _translate(path: Path, error: sqlite3.Error) -> StateError:
    """Say in our words what SQLite reported: busy, unwritable, or damaged."""
    name = getattr(error, "sqlite_errorname", "") or type(error).__name__
    message = f"{path}: {name}"
    # PROTOCOL: a process that was stopped while it opened the write-ahead log holds it for longer than SQLite waits.
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")):
        return StateBusyError(message)
    if name.startswith(("SQLITE_FULL", "SQLITE_READONLY", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return StateUnwritableError(message)
    return StateCorruptError(message)
