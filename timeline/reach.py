"""The way to the daemon: one connection, the first line, and what the daemon says to another version.

Nothing here starts or looks for anything (``timeline.launch``). Light, for the relay: no ``msgspec``, so that the
lines of ``timeline.wire`` are written and read once more here; a test compares the two.
"""

import os
import select
import socket
import stat
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from timeline import __version__
from timeline.clock import Stopwatch
from timeline.errors import TimelineError

SOCKET_NAME: Final = "daemon.sock"
CONNECT_SECONDS: Final = 2.0
"""How long one exchange with a daemon that listens may take, where its answer needs no work."""

ANSWER_BYTES_MAX: Final = 8 * 1024 * 1024
"""The answer to a question; a status has some 100 KB, and 256 sessions with the longest paths twice 4 MiB at most."""

_PROTOCOL: Final = "timeline/1"
VERSION_ASKED: Final = b'{"ask": "version"}'
"""The question that costs a daemon nothing; whether it knows it does not matter."""

_PIECE_BYTES: Final = 64 * 1024
_PAUSES: Final = (0.005, 0.01, 0.02, 0.05, 0.1)


class DaemonAwayError(TimelineError):
    """No daemon listens."""

    reason = "daemon-away"
    default_hint = "run `timeline daemon start` in a terminal of your own; a host's hook starts it as well"


class DaemonUnreachableError(TimelineError):
    """The daemon may be there, and cannot be asked from here."""

    reason = "daemon-unreachable"
    default_hint = (
        "inside a host's sandbox this is so by design; elsewhere the runtime folder must be yours and mode 0700, and "
        "TIMELINE_RUNTIME_DIR names another one"
    )


class DaemonFullError(DaemonUnreachableError):
    """The daemon has more clients than it takes at once."""

    reason = "daemon-full"
    default_hint = "try again in a moment; `timeline daemon status` shows who is connected"


class DaemonNewerError(TimelineError):
    """The running daemon belongs to a newer version of this program."""

    reason = "daemon-newer"
    default_hint = "run the newer program; a host that is running still has to be started again"


class DaemonStopError(TimelineError):
    """The daemon was told to stop and still finishes something."""

    reason = "daemon-still-stopping"
    default_hint = "wait and look at `timeline daemon status`"


def find(runtime: Path, *, wait_seconds: float = CONNECT_SECONDS) -> socket.socket:
    """A connection to whatever daemon listens, with this deadline for each step; nothing is said on it.

    Raises:
        DaemonAwayError: none listens.
        DaemonFullError: one listens, and takes no more clients at present.
        DaemonUnreachableError: the system refuses the connection, or the folder is not ours alone.
    """
    path = runtime / SOCKET_NAME
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        check_runtime(runtime)
        connection.settimeout(wait_seconds)
        connection.connect(os.fspath(path))
    except (FileNotFoundError, ConnectionRefusedError) as error:
        connection.close()
        message = f"{path}: no daemon listens"
        raise DaemonAwayError(message) from error
    except BlockingIOError as error:  # the queue before `accept` is full
        connection.close()
        message = f"{path}: too many clients wait"
        raise DaemonFullError(message) from error
    except OSError as error:
        connection.close()
        raise unreachable(runtime, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def speak(runtime: Path, connection: socket.socket, question: bytes) -> bool:
    """Ask one JSON object on a new connection; whether the daemon is older than we are, and therefore ends.

    Raises:
        DaemonFullError: it closed without an answer.
        DaemonNewerError: it belongs to a newer version.
        DaemonUnreachableError: no answer in time.
    """
    try:
        answer = exchange(connection, first_line(["ask"]) + question)
    except OSError as error:
        raise unreachable(runtime, error) from error
    if not answer:
        message = f"{runtime / SOCKET_NAME}: the daemon closed without an answer"
        raise DaemonFullError(message)
    words = answer.decode("ascii", "replace").removesuffix("\n").split(" ")
    if len(words) != 3 or words[0] != _PROTOCOL:
        return False
    if words[2] == "newer":
        message = f"the daemon is of version {words[1]}, this program of {__version__}"
        raise DaemonNewerError(message)
    return words[2] == "older"


def first_line(words: Iterable[str]) -> bytes:
    """What a client says first; ``words`` are the kind and what belongs to it."""
    return " ".join((_PROTOCOL, __version__, *words)).encode("ascii") + b"\n"


def exchange(connection: socket.socket, request: bytes) -> bytes:
    """Send all of a request and read the answer to its end.

    Raises:
        OSError: it takes too long, is too long, or the other side is gone.
    """
    # A daemon that refuses has answered and closed already: its answer can be read though nothing more can be sent.
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(request)
    with suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
    answer = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(_PIECE_BYTES):
            answer += piece
            if len(answer) > ANSWER_BYTES_MAX:
                message = f"the answer has more than {ANSWER_BYTES_MAX} bytes"
                raise OSError(message)
    return answer


@contextmanager
def ending(connection: socket.socket) -> Iterator[Callable[[float, Stopwatch], None]]:
    """A function that waits for the end of the process at the other end, which is held from here on.

    A held process cannot be mistaken for a later one of the same pid. Where the system cannot hold one, the pid is
    looked at again and again; where it does not say the pid, there is nothing to wait for.
    """
    pid = _peer_pid(connection)
    held = -1
    if pid and hasattr(os, "pidfd_open"):
        with suppress(OSError):
            held = os.pidfd_open(pid)

    def ended(end: float, watch: Stopwatch) -> None:
        for pause in pauses():
            left = max(0.0, end - watch.seconds())
            if held >= 0:
                if select.select((held,), (), (), left)[0]:
                    return
            elif not pid or not _lives(pid):
                return
            else:
                select.select((), (), (), min(pause, left))
            if not left:
                message = f"process {pid} has not ended"
                raise DaemonStopError(message)

    try:
        yield ended
    finally:
        if held >= 0:
            os.close(held)


def _peer_pid(connection: socket.socket) -> int:
    """The process that listens; 0 if the system does not say."""
    with suppress(OSError):
        if sys.platform == "darwin":
            return connection.getsockopt(0, 2)  # SOL_LOCAL, LOCAL_PEERPID
        pid, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return int(pid)
    return 0


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def check_runtime(runtime: Path) -> None:
    """Only its owner can have put a socket into a private folder.

    Raises:
        DaemonUnreachableError: the folder is a link, another user's, or open to others.
        OSError: there is none, or one cannot look.
    """
    found = os.lstat(runtime)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        message = f"{runtime}: must be a folder of yours with mode 0700"
        raise DaemonUnreachableError(message)


def unreachable(runtime: Path, error: OSError) -> DaemonUnreachableError:
    """What the system's error means to a client."""
    return DaemonUnreachableError(f"{runtime / SOCKET_NAME}: {error.strerror or 'no answer in time'}")


def pauses() -> Iterator[float]:
    """Seconds between looks at what cannot be waited for: short ones first, without end."""
    yield from _PAUSES
    while True:
        yield _PAUSES[-1]
