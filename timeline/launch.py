"""How a client finds, starts and stops the daemon (docs/spec/rpc.md).

A daemon is started through ``timeline.starter`` and nowhere else. Who starts one holds the start lock meanwhile and
hands it to the new process, which lets go of it once it listens: of ten clients that come at once, one starts a
process and nine wait for its socket. A client never removes a socket; the daemon that holds its own lock does.

Only what says that nobody listens is a reason to start: a sandbox that forbids the connection is none, or the daemon
would begin its life inside that sandbox. Light, for the relay: no ``msgspec`` and no ``subprocess``.
"""

import fcntl
import os
import select
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final

from timeline import starter
from timeline.clock import Stopwatch, SystemStopwatch
from timeline.errors import AccessError, StateUnwritableError, TimelineError
from timeline.reach import (
    CONNECT_SECONDS,
    SOCKET_NAME,
    VERSION_ASKED,
    DaemonAwayError,
    DaemonFullError,
    ending,
    exchange,
    find,
    first_line,
    pauses,
    speak,
    unreachable,
)

LOCK_NAME: Final = "daemon.lock"
START_LOCK_NAME: Final = "daemon.starting"
READY: Final = b"ready\n"
"""What a daemon that a client has started writes to its standard output once it listens."""

START_SECONDS: Final = 20.0
"""How long a new daemon may take until it listens: imports on a slow and busy machine."""

STOP_SECONDS: Final = 20.0
"""How long a daemon may take to finish what it has begun."""

_HELD: Final = "held by another"
"""With the lock's name, how a new daemon says that another one has not come, or not gone, yet."""

_COMPLAINT_BYTES_MAX: Final = 16 * 1024
_PIECE_BYTES: Final = 16 * 1024

Start = Callable[[], None]
"""Starts a daemon, or raises: ``functools.partial(start, runtime)``."""


class DaemonStartError(TimelineError):
    """A daemon was started and did not come to listen."""

    reason = "daemon-start-failed"
    default_hint = "`timeline daemon run` shows in a terminal why it ends"


class DaemonStartRefusedError(AccessError):
    """A command below a host, or with a host's variables, may not start a daemon."""

    reason = "daemon-start-refused"
    default_hint = (
        "the owner runs `timeline daemon start` in a terminal of their own; a host's hook starts it as well"
    )


def check_may_start(environment: Mapping[str, str], host_above: str | None) -> None:
    """Whether a command may start a daemon: not for a model, whose sandbox it would inherit. Pure.

    ``host_above`` names the host among the caller's ancestors, if there is one. Hook and relay are not asked: hosts
    run both outside of their sandboxes.

    Raises:
        DaemonStartRefusedError: a host's command calls.
    """
    from timeline.hosts import HOST_VARIABLES  # with msgspec, which the relay does without

    if host_above is not None:
        message = f"called below {host_above}"
        raise DaemonStartRefusedError(message)
    if found := sorted(HOST_VARIABLES.intersection(environment)):
        message = f"the environment has {found[0]}, which hosts set for what they run"
        raise DaemonStartRefusedError(message)


def connect(
    runtime: Path,
    words: Sequence[str],
    *,
    start: Start | None = None,
    wait_seconds: float = START_SECONDS + STOP_SECONDS,
    stopwatch: Stopwatch | None = None,
) -> socket.socket:
    """A blocking connection to a daemon of our own version, on which the first line is said already.

    ``words`` are the kind and what belongs to it: ``["mcp", "codex"]``. Without ``start``, none is started. One of an
    older version is waited for until it has ended.

    Raises:
        DaemonAwayError: none listens, and none is to be started.
        DaemonUnreachableError: it cannot be asked from here, or gives no answer; ``DaemonFullError`` where it has too
            many clients for too long.
        DaemonNewerError: it belongs to a newer version.
        DaemonStartError: a new one did not come.
        DaemonStopError: an older one did not end.
        StateUnwritableError: the runtime folder cannot be made.
    """
    watch = SystemStopwatch() if stopwatch is None else stopwatch
    end = watch.seconds() + wait_seconds
    for pause in pauses():
        try:
            _meet(runtime, end, watch)
            connection = find(runtime)
        except DaemonAwayError:
            if start is None or watch.seconds() >= end:
                raise
            start()
            continue
        except DaemonFullError:
            if watch.seconds() >= end:
                raise
            select.select((), (), (), pause)
            continue
        try:
            connection.sendall(first_line(words))
            connection.settimeout(None)
        except OSError as error:
            connection.close()
            raise unreachable(runtime, error) from error
        return connection
    raise AssertionError  # pauses() has no end


def ask(runtime: Path, question: bytes, *, start: Start | None = None) -> bytes:
    """The daemon's answer to one JSON object.

    Raises:
        TimelineError: as ``connect``; ``DaemonUnreachableError`` also where the answer does not come.
    """
    with closing(connect(runtime, ["ask"], start=start)) as connection:
        connection.settimeout(CONNECT_SECONDS)
        try:
            return exchange(connection, question)
        except OSError as error:
            raise unreachable(runtime, error) from error


def stop(runtime: Path, *, wait_seconds: float = STOP_SECONDS, stopwatch: Stopwatch | None = None) -> bool:
    """Let the daemon finish and end, and wait for its end; whether there was one.

    Raises:
        DaemonUnreachableError: it cannot be asked from here.
        DaemonNewerError: it belongs to a newer version, whose program has to stop it.
        DaemonStopError: it has not ended in time.
    """
    watch = SystemStopwatch() if stopwatch is None else stopwatch
    end = watch.seconds() + wait_seconds
    try:
        connection = find(runtime)
    except DaemonAwayError:
        return False
    with closing(connection), ending(connection) as ended:
        speak(runtime, connection, b'{"ask": "stop"}')  # one that is older stops for that reason
        ended(end, watch)
    return True


def start(
    runtime: Path,
    *,
    command: Sequence[str] = (),
    wait_seconds: float = START_SECONDS,
    stopwatch: Stopwatch | None = None,
) -> None:
    """Come back when a daemon listens: one that is there, one that another client starts, or our own.

    ``command`` is run in place of ``timeline daemon run``.

    Raises:
        DaemonStartError: none came to listen in time, or the new one ended; then with what it said.
        DaemonUnreachableError: one may be there, and cannot be asked from here.
        StateUnwritableError: the runtime folder cannot be made or written.
    """
    watch = SystemStopwatch() if stopwatch is None else stopwatch
    end = watch.seconds() + wait_seconds
    _make_runtime(runtime)
    for pause in pauses():
        if _listens(runtime):
            return
        lock = _take_start_lock(runtime)
        if lock is not None:
            with _closed_after(lock):
                if _listens(runtime) or _run_starter(runtime, command, lock, end, watch):
                    return
        if watch.seconds() >= end:
            message = f"{runtime / SOCKET_NAME}: no daemon listens after {wait_seconds:g} s"
            raise DaemonStartError(message)
        select.select((), (), (), pause)


def settle(runtime: Path) -> None:
    """For the daemon, once clients are answered: tell the client that started it, and keep nothing of that client.

    Does nothing where no client did: a service manager or a person reads on.
    """
    try:
        handed = os.path.samestat(os.fstat(0), os.lstat(runtime / START_LOCK_NAME))
    except OSError:
        return
    if not handed:
        return
    with suppress(OSError):  # that client has waited long enough, or is gone
        os.write(1, READY)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)


# -- versions --------------------------------------------------------------------------------------------------


def _meet(runtime: Path, end: float, watch: Stopwatch) -> None:
    """Come back when a daemon of our version has answered. One that is older ends for us, and is waited for."""
    connection = find(runtime)
    with closing(connection), ending(connection) as ended:
        if speak(runtime, connection, VERSION_ASKED):
            # Meanwhile nobody begins another one, least of all a client of that version.
            lock = _take_start_lock(runtime)
            with nullcontext() if lock is None else _closed_after(lock):
                ended(end, watch)
            message = f"{runtime / SOCKET_NAME}: an older daemon has ended"
            raise DaemonAwayError(message)


# -- starting --------------------------------------------------------------------------------------------------


def _run_starter(runtime: Path, command: Sequence[str], lock: int, end: float, watch: Stopwatch) -> bool:
    """Start a process that holds ``lock``, and wait until it listens; ``False``: a daemon of another origin is coming.

    Raises:
        DaemonStartError: it ended, or was not ready in time.
    """
    reading, writing = os.pipe()
    with _closed_after(reading):
        with _closed_after(writing):
            high = fcntl.fcntl(writing, fcntl.F_DUPFD_CLOEXEC, 3)
        with _closed_after(high):
            child = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", "-E", "-B", starter.__file__, os.fspath(runtime), *command],
                os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, lock, 0),
                    *((os.POSIX_SPAWN_DUP2, high, n) for n in (1, 2)),
                ],
            )
        os.waitpid(child, 0)
        said = _listen_until_ready(reading, end, watch)
    if said is None:
        return True
    complaint = said.decode("utf-8", "replace")
    if LOCK_NAME in complaint and _HELD in complaint:
        return False
    lines = [line for line in complaint.split("\n") if line.startswith("timeline: error: ")]
    message = "the daemon ended before it listened" + "".join(
        f": {line.removeprefix('timeline: error: ')}" for line in lines[-1:]
    )
    raise DaemonStartError(message)


def _listen_until_ready(reading: int, end: float, watch: Stopwatch) -> bytes | None:
    """``None`` once the new daemon is ready, else what it said before it ended.

    Raises:
        DaemonStartError: it has not said anything in time.
    """
    said = b""
    while True:
        if not select.select((reading,), (), (), max(0.0, end - watch.seconds()))[0]:
            message = "the daemon has started and does not listen yet"
            raise DaemonStartError(message, hint="wait and look at `timeline daemon status`")
        piece = os.read(reading, _PIECE_BYTES)
        said = (said + piece)[-_COMPLAINT_BYTES_MAX:]
        if said.endswith(READY):
            return None
        if not piece:
            return said


def _take_start_lock(runtime: Path) -> int | None:
    """A descriptor above the standard ones that holds the lock while a copy of it is open; ``None``: another has it."""
    path = runtime / START_LOCK_NAME
    try:
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with _closed_after(opened):
            lock = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, 3)
    except OSError as error:
        message = f"{path}: cannot be opened"
        raise StateUnwritableError(message) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _listens(runtime: Path) -> bool:
    try:
        with closing(find(runtime)) as connection, suppress(OSError):
            connection.sendall(first_line(["ask"]) + VERSION_ASKED)
    except DaemonAwayError:
        return False
    return True


def _make_runtime(runtime: Path) -> None:
    try:
        for folder in (*reversed(runtime.parents), runtime):
            if not folder.is_dir():
                with suppress(FileExistsError):
                    folder.mkdir(0o700)
    except OSError as error:
        message = f"{runtime}: cannot be made"
        raise StateUnwritableError(message) from error


@contextmanager
def _closed_after(descriptor: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(descriptor)
