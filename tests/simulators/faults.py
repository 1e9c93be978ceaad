"""The N-th call fails: system calls and SQLite statements, counted together, in one process.

SQLite's own crash tests work so: the failing call moves from the first upward until an operation gets through
without meeting it. A failure is one call's, or that of every call from there on (a disk that stays full), or the end
of the process: then nothing is cleaned up either.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from unittest import mock

import sidecars.store
import timeline.files
import timeline.store

SYSTEM_CALLS = (
    "open",
    "write",
    "fsync",
    "rename",
    "unlink",
    "mkdir",
    "read",
    "fstat",
    "lstat",
    "scandir",
    "listdir",
)
"""What the modules that hold private files ask of the operating system."""

WRITES = frozenset(("write", "fsync", "rename", "unlink", "mkdir", "sql BEGIN IMMEDIATE"))
"""What a read-only or full disk refuses."""

_MODULES = (timeline.files, timeline.store, sidecars.store)


class KilledError(BaseException):
    """Stands for the end of the process: nothing of ours catches it, and no call works after it."""


@dataclass(slots=True)
class Faults:
    """Which call fails, with which ``errno`` and SQLite name, and what was made to fail.

    ``names`` are the calls that count, ``None`` for all: system calls by name, statements as ``sql INSERT``, what
    begins a transaction whole. ``kills`` ends the process there instead.
    """

    fail_at: int
    errno: int
    sqlite_name: str
    persistent: bool
    names: frozenset[str] | None = None
    kills: bool = False
    count: int = 0
    failed: list[str] = field(default_factory=list)

    @property
    def fired(self) -> bool:
        """Whether any call was made to fail."""
        return bool(self.failed)

    def meet(self, name: str) -> bool:
        """Count a call; whether it is to fail."""
        if self.names is not None and name not in self.names:
            return False
        self.count += 1
        due = self.count >= self.fail_at if self.persistent else self.count == self.fail_at
        if due:
            self.failed.append(name)
            if self.kills:
                raise KilledError(name)
        return due


def kill_at(number: int) -> Faults:
    """The process ends at its ``number``-th call."""
    return Faults(number, 0, "", persistent=True, kills=True)


class _Os:
    """``os``, with the listed calls failing as ``Faults`` says."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def __getattr__(self, name: str) -> object:
        real = getattr(os, name)
        return self._wrap(name, real) if name in SYSTEM_CALLS else real

    def _wrap(self, name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            if self._faults.meet(name):
                raise OSError(self._faults.errno, os.strerror(self._faults.errno))
            return real(*args, **options)

        return call


class _Connection:
    """A connection whose statements fail as ``Faults`` says; closing always works."""

    def __init__(self, connection: sqlite3.Connection, faults: Faults) -> None:
        self._connection = connection
        self._faults = faults

    def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        self._meet(statement)
        return self._connection.execute(statement, *values)

    def executemany(self, statement: str, rows: object) -> sqlite3.Cursor:
        self._meet(statement)
        return self._connection.executemany(statement, rows)

    def close(self) -> None:
        self._connection.close()

    def _meet(self, statement: str) -> None:
        # A reader begins too, and needs no disk to write to.
        named = statement if statement.startswith("BEGIN") else statement.split(maxsplit=1)[0]
        if self._faults.meet(f"sql {named}"):
            error = sqlite3.OperationalError("injected")
            error.sqlite_errorname = self._faults.sqlite_name
            raise error


class _Sqlite:
    """``sqlite3``, whose connections fail."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def __getattr__(self, name: str) -> object:
        return getattr(sqlite3, name)

    def connect(self, *args: object, **options: object) -> _Connection:
        return _Connection(sqlite3.connect(*args, **options), self._faults)


@contextmanager
def injected(faults: Faults, *, statements: bool = True) -> Iterator[None]:
    """Let the calls of the block fail; ``statements`` says whether SQLite's are among them."""
    database = _Sqlite(faults) if statements else sqlite3
    with mock.patch.multiple(timeline.store, sqlite3=database), _each_os(_Os(faults), _MODULES):
        yield


@contextmanager
def pages_limited(extra: int) -> Iterator[None]:
    """Let every database that is opened grow by at most ``extra`` pages: a real SQLITE_FULL."""

    class Limited:
        def __getattr__(self, name: str) -> object:
            return getattr(sqlite3, name)

        def connect(self, *args: object, **options: object) -> sqlite3.Connection:
            connection = sqlite3.connect(*args, **options)
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages + extra}")
            return connection

    with mock.patch.object(timeline.store, "sqlite3", Limited()):
        yield


@contextmanager
def _each_os(replacement: _Os, modules: tuple[ModuleType, ...]) -> Iterator[None]:
    patches = [mock.patch.object(module, "os", replacement) for module in modules]
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in patches:
            patch.stop()
