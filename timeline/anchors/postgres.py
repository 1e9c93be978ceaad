"""A row of a PostgreSQL database as an anchor (``postgres.sql``): compare-and-set in one function of the server.

The server signs nothing, so its word is taken only where it can be checked: the row carries the checkpoint that our own
log has signed, and a row that does not fit it is misbehaviour. That nobody puts the row back is the server's part: an
account that could do so itself is refused, and so are a standby, which may lag behind, and a server that may forget
what it has committed.

libpq knows no deadline for a whole exchange, so that the exchange runs in a thread which is left behind when the time
is over; its connection is then ended. Nothing is raised for what the server does.
"""

import math
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sidecars.checkpoint import open_checkpoint
from sidecars.errors import SidecarError
from timeline.anchors.dsn import Dsn, parse_dsn
from timeline.anchors.errors import PostgresUnavailableError
from timeline.anchors.held import decide_held
from timeline.anchors.port import Answer, Question, Standing
from timeline.clock import Clock
from timeline.errors import StateError

if TYPE_CHECKING:
    import psycopg

ROUNDS_MAX: Final = 4
"""Compare-and-sets in one exchange: another process of ours may move the row between reading and writing."""

CONNECT_SECONDS_MIN: Final = 2
"""The shortest connection timeout that libpq knows; ours may be over before."""

_READ: Final = """
SELECT pg_is_in_recovery() AS is_standby,
       current_setting('fsync') = 'on' AS has_fsync,
       current_setting('synchronous_commit') <> 'off' AS has_synchronous_commit,
       EXISTS (
           SELECT FROM pg_roles AS role
           WHERE pg_has_role(session_user, role.oid, 'MEMBER') AND (
               has_table_privilege(
                   role.oid, 'timeline_anchor.anchor', 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER')
               OR has_any_column_privilege(role.oid, 'timeline_anchor.anchor', 'INSERT, UPDATE')
               OR role.oid IN (
                   SELECT datdba FROM pg_database WHERE datname = current_database()
                   UNION ALL SELECT nspowner FROM pg_namespace WHERE nspname = 'timeline_anchor'
                   UNION ALL SELECT relowner FROM pg_class WHERE oid = 'timeline_anchor.anchor'::regclass
                   UNION ALL SELECT proowner FROM pg_proc WHERE pronamespace = 'timeline_anchor'::regnamespace))
       ) AS role_may_write,
       held.size, held.root, held.checkpoint
FROM (SELECT) AS one LEFT JOIN timeline_anchor.anchor AS held ON held.origin = %s
"""
"""``role_may_write`` looks at every role that the account can become, whether or not it has that role's rights now
(NOINHERIT), and at the owners, who can give themselves back what was revoked. A superuser has every right, and one
with ``pg_write_all_data`` those that are asked for."""

_ADVANCE: Final = "SELECT timeline_anchor.anchor_advance(%s, %s, %s, %s, %s)"

_REFUSALS: Final = {
    "25006": "read-only",
    "3F000": "schema-missing",
    "42501": "permission-denied",
    "42703": "schema-missing",
    "42883": "schema-missing",
    "42P01": "schema-missing",
}
_CANCELLED: Final = "57014"
_LOST_RACES: Final = frozenset({"40001", "40P01"})
"""PostgreSQL, appendix A: what another transaction's success can end ours with."""


class Row(msgspec.Struct, frozen=True):
    """What the database holds of our log; ``checkpoint`` is a note that nobody has verified yet."""

    size: int
    root: bytes
    checkpoint: bytes


class Found(msgspec.Struct, frozen=True):
    """One reading: how the server stands, and the row, if there is one."""

    is_standby: bool
    has_fsync: bool
    has_synchronous_commit: bool
    role_may_write: bool
    row: Row | None


class Move(msgspec.Struct, frozen=True):
    """Move the row from this size to the checkpoint of the question; ``None``: there is none yet."""

    old_size: int | None


class PostgresAnchor(msgspec.Struct, frozen=True):
    """One database at one address."""

    dsn: Dsn
    clock: Clock

    def advance(self, question: Question) -> Answer:
        """Move the row to the checkpoint if that continues what it holds, within the deadline."""
        exchange = _Exchange(self.dsn, question, self.clock)
        Thread(target=exchange.run, name="timeline-postgres", daemon=True).start()
        return exchange.wait()

    def close(self) -> None:
        """Nothing is held: each question has a connection of its own."""


def postgres_anchor(address: str, clock: Clock) -> PostgresAnchor:
    """The database at ``address``; nothing is asked yet.

    Raises:
        AnchorAddressError: not an address of one.
        PostgresUnavailableError: the extra ``postgres`` is not installed.
    """
    dsn = parse_dsn(address)
    try:
        import psycopg  # noqa: F401  (whether it is there is the question)
    except ImportError as error:  # also where it finds no libpq
        message = "a PostgreSQL anchor needs the extra `postgres`"
        raise PostgresUnavailableError(message) from error
    return PostgresAnchor(dsn, clock)


def decide_found(found: Found, question: Question, known: int) -> Answer | Move | None:
    """What a reading means; ``None``: it holds our checkpoint. ``known`` is the largest size that it has shown us.

    Raises:
        StateError: the proof cannot be made, because our own leaves cannot be read.
    """
    refusals = (
        (found.is_standby, "standby"),
        (not found.has_fsync, "fsync-off"),
        (not found.has_synchronous_commit, "synchronous-commit-off"),
        (found.role_may_write, "role-may-write"),
    )
    for is_so, reason in refusals:
        if is_so:
            return Answer(Standing.REFUSED, reason=reason)
    row, ours = found.row, question.checkpoint
    if row is None:
        return Answer(Standing.REGRESSED, size=0, reason="row-missing") if known else Move(None)
    try:
        held = open_checkpoint(row.checkpoint, ours.origin, question.verifiers)
    except SidecarError as error:
        return Answer(Standing.MISBEHAVED, reason=error.reason)
    if (held.checkpoint.size, held.checkpoint.root.raw) != (row.size, row.root):
        return Answer(Standing.MISBEHAVED, reason="row-contradicts-checkpoint")
    objection = decide_held(held, question, known)
    if objection is not None:
        return objection
    return None if row.size == ours.size else Move(row.size)


class _Exchange:
    """One question on a connection of its own, in a thread of its own that can be left behind."""

    def __init__(self, dsn: Dsn, question: Question, clock: Clock) -> None:
        self._dsn = dsn
        self._question = question
        self._clock = clock
        self._answer: Answer | None = None
        self._done = Event()
        self._is_over = False
        # Guards the handle: whoever shuts it down must not meet a number that another file has by then.
        self._lock = Lock()
        self._handle: socket.socket | None = None

    def wait(self) -> Answer:
        """The answer, or that there was none in time."""
        if not self._done.wait(self._question.deadline_seconds):
            with self._lock:
                self._is_over = True
                if self._handle is not None:
                    with suppress(OSError):  # ended already
                        self._handle.shutdown(socket.SHUT_RDWR)
            return Answer(Standing.UNAVAILABLE, reason="deadline")
        if self._answer is None:
            message = "an exchange with PostgreSQL ended without an answer"
            raise RuntimeError(message)
        return self._answer

    def run(self) -> None:
        """Ask, in the other thread."""
        try:
            self._answer = self._ask()
        finally:
            self._done.set()

    def _ask(self) -> Answer:
        import psycopg

        try:
            connection = self._connect()
        except psycopg.errors.ConnectionTimeout:
            return Answer(Standing.UNAVAILABLE, reason="deadline")
        except (psycopg.Error, OSError, UnicodeError) as error:
            return _no_connection(error)
        try:
            with self._held(connection):
                return self._advance(connection)
        except psycopg.Error as error:
            return _failed(error)
        except OSError:  # of the second descriptor
            return Answer(Standing.UNAVAILABLE, reason="no-connection")
        except StateError as error:  # of our own leaves, when a proof was made
            return Answer(Standing.UNAVAILABLE, reason=error.reason)
        finally:
            connection.close()

    @contextmanager
    def _held(self, connection: "psycopg.Connection[Any]") -> Iterator[None]:
        """Let the connection be ended from outside while the block runs."""
        # A second descriptor, because libpq closes the first when it likes.
        with socket.socket(fileno=os.dup(connection.fileno())) as handle:
            with self._lock:
                self._handle = handle
            try:
                self._check_time()
                yield
            finally:
                with self._lock:
                    self._handle = None

    def _check_time(self) -> None:
        import psycopg

        with self._lock:
            if self._is_over:
                message = "nobody waits for the answer any more"
                raise psycopg.OperationalError(message)

    def _connect(self) -> "psycopg.Connection[Any]":
        import psycopg

        seconds = self._question.deadline_seconds
        settings = f"-c statement_timeout={max(1, round(seconds * 1000))} -c search_path=pg_catalog"
        parameters: dict[str, Any] = {
            **self._dsn.parameters(),
            "application_name": "timeline",
            "client_encoding": "UTF8",
            "connect_timeout": max(CONNECT_SECONDS_MIN, math.ceil(seconds)),
            "options": settings,
        }
        # Autocommit: an advance that was answered is committed. No prepared statements: a pooler may stand between.
        return psycopg.connect(autocommit=True, prepare_threshold=None, **parameters)

    def _advance(self, connection: "psycopg.Connection[Any]") -> Answer:
        question, known = self._question, self._question.known
        for _ in range(ROUNDS_MAX):
            found = _read(connection, question.checkpoint.origin)
            if isinstance(found, Answer):
                return found
            step = decide_found(found, question, known)
            if isinstance(step, Answer):
                return step
            if step is None or self._move(connection, step):
                at = self._clock.now_ms() // 1000
                return Answer(Standing.CONFIRMED, size=question.checkpoint.size, note=question.note, at=at)
            known = max(known, step.old_size or 0)
        return Answer(Standing.UNAVAILABLE, reason="busy")

    def _move(self, connection: "psycopg.Connection[Any]", move: Move) -> bool:
        """Whether the row was where it should be, and has been moved."""
        import psycopg

        self._check_time()
        ours = self._question.checkpoint
        values = (ours.origin, move.old_size, ours.size, ours.root.raw, self._question.note)
        try:
            answer = connection.execute(_ADVANCE, values).fetchone()
        except psycopg.Error as error:
            if error.sqlstate in _LOST_RACES:
                return False
            raise
        return answer == (True,)


def _read(connection: "psycopg.Connection[Any]", origin: str) -> Found | Answer:
    """The server's settings and the row, or that they are none."""
    from psycopg.rows import dict_row

    try:
        values = connection.cursor(row_factory=dict_row).execute(_READ, (origin,)).fetchone() or {}
        row = {name: values.pop(name, None) for name in Row.__struct_fields__}
        values["row"] = None if row["size"] is None else row
        return msgspec.convert(values, Found)
    except (ValueError, msgspec.ValidationError):
        return Answer(Standing.MISBEHAVED, reason="malformed-row")


def _no_connection(error: Exception) -> Answer:
    """Why there is none: libpq says only whether a password was wanted; all else is text in the server's language."""
    connection = getattr(error, "pgconn", None)
    if connection is not None and (connection.needs_password or connection.used_password):
        return Answer(Standing.REFUSED, reason="login-refused")
    return Answer(Standing.UNAVAILABLE, reason="no-connection")


def _failed(error: "psycopg.Error") -> Answer:
    state = error.sqlstate
    if state in _REFUSALS:
        return Answer(Standing.REFUSED, reason=_REFUSALS[state])
    if state == _CANCELLED:
        return Answer(Standing.UNAVAILABLE, reason="deadline")
    return Answer(Standing.UNAVAILABLE, reason="connection-lost" if state is None else "server-error")
