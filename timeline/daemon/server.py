"""The daemon's socket: accepts, reads the first line within its bounds, and hands each connection on.

Everything that a client could stretch is bounded: connections, the time and the bytes of a request, the time of an
answer. The thread that accepts sleeps without a timeout; each request has a thread for as long as it lasts, and a
connection of the MCP relay is handed to whoever serves it.
"""

import errno
import os
import select
import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

import msgspec

from timeline.clock import Stopwatch
from timeline.daemon.errors import PeerError
from timeline.daemon.peer import Peer, identify
from timeline.limits import HOOK_INPUT_BYTES_MAX
from timeline.wire import (
    LINE_BYTES_MAX,
    Difference,
    Greeting,
    Kind,
    WireError,
    compare_versions,
    format_difference,
    parse_greeting,
)

CONNECTIONS_MAX: Final = 128
"""Requests under way, each with its thread; one more is closed without an answer."""

REQUEST_SECONDS: Final = 2.0
"""How long a request may take to arrive: a client has it whole before it connects."""

ANSWER_SECONDS: Final = 2.0
"""How long an answer may take to leave."""

ASK_BYTES_MAX: Final = 64 * 1024
_BACKLOG: Final = 128
_FULL: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_FULL_MS: Final = 50
_PIECE: Final = 64 * 1024


class ClientRequest(msgspec.Struct, frozen=True):
    """What one client asks: its first line, who it is, and for hooks and questions everything that followed."""

    greeting: Greeting
    peer: Peer
    body: bytes


class Desk(Protocol):
    """Who answers. Each method may be called from several threads at once."""

    version: str

    def hook(self, request: ClientRequest) -> bytes:
        """What the hook has to print."""
        ...

    def ask(self, request: ClientRequest) -> bytes:
        """One JSON object."""
        ...

    def mcp(self, request: ClientRequest, connection: socket.socket, begun: bytes) -> None:
        """Serve an MCP session and close the connection; ``begun`` are bytes that came behind the first line."""
        ...

    def refused(self, reason: str) -> None:
        """Told of a client that got no answer, for the diary."""
        ...


class Server:
    """A bound socket; ``run`` serves until ``stop``."""

    def __init__(self, path: Path, desk: Desk, stopwatch: Stopwatch) -> None:
        """Bind and listen. The caller holds the daemon's lock: a socket that is there is a dead one's.

        Raises:
            OSError: the socket cannot be bound.
        """
        self._desk = desk
        self._stopwatch = stopwatch
        self._path = path
        self._slots = threading.BoundedSemaphore(CONNECTIONS_MAX)
        self._threads: set[threading.Thread] = set()
        self._turn = threading.Lock()
        self._stopping = False
        self._woken, self._waker = socket.socketpair()
        self._waker.setblocking(False)  # as a signal's handler needs it
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with suppress(FileNotFoundError):
            path.unlink()
        before = os.umask(0o177)  # nobody else may connect, not even before the mode could be set
        try:
            self._listener.bind(str(path))
        finally:
            os.umask(before)
        self._name = _identity(path)
        self._spare: int | None = os.dup(self._woken.fileno())
        self._listener.listen(_BACKLOG)
        self._listener.setblocking(False)

    def waker(self) -> int:
        """The descriptor on which a byte ends the waiting, for ``signal.set_wakeup_fd``."""
        return self._waker.fileno()

    def stop(self) -> None:
        """Accept nothing more; from any thread, and from a signal's handler."""
        self._stopping = True
        with suppress(OSError):
            self._waker.send(b"x")

    def run(self) -> None:
        """Serve until ``stop``; then let the requests under way end, and close."""
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._listener, selectors.EVENT_READ)
                selector.register(self._woken, selectors.EVENT_READ)
                while not self._stopping:
                    selector.select()
                    self._accept()
        finally:
            # The name goes first: the other way round it could be another daemon's by then. It is one already where
            # somebody has removed our folder: whoever came after us would keep its lock and never be found again.
            with suppress(OSError):
                if _identity(self._path) == self._name:
                    self._path.unlink()
            self._listener.close()
            for thread in list(self._threads):
                thread.join()
            self._woken.close()
            self._waker.close()
            if self._spare is not None:
                os.close(self._spare)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                self._turn_away()
                return
            if not self._slots.acquire(blocking=False):
                connection.close()
                self._desk.refused("too-many-connections")
                continue
            thread = threading.Thread(target=self._serve, args=(connection,), name="request")
            with self._turn:
                self._threads.add(thread)
            try:
                thread.start()
            except RuntimeError:  # the system gives no further thread
                with self._turn:
                    self._threads.discard(thread)
                self._slots.release()
                connection.close()
                self._desk.refused("too-many-connections")

    def _turn_away(self) -> None:
        """The system gives no further descriptor: one that is kept for this lets the next client be closed.

        Otherwise it would wait, and the thread that accepts would be woken for it again and again. Whoever is served
        already goes on.
        """
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None
        with suppress(OSError):
            self._listener.accept()[0].close()
        with suppress(OSError):
            self._spare = os.dup(self._woken.fileno())
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        poll.poll(_FULL_MS)

    def _serve(self, connection: socket.socket) -> None:
        try:
            if not self._answer(connection):
                connection.close()
        except (WireError, PeerError) as error:
            connection.close()
            self._desk.refused(error.reason)
        except OSError:  # a client that went away is no fault
            connection.close()
        finally:
            self._slots.release()
            with self._turn:
                self._threads.discard(threading.current_thread())

    def _answer(self, connection: socket.socket) -> bool:
        """Answer one request; whether somebody else has the connection now."""
        reading = _Reading(connection, self._stopwatch)
        peer = identify(connection)
        line, begun = reading.line()
        greeting = parse_greeting(line)
        difference = compare_versions(self._desk.version, greeting.version)
        if difference is not None:
            _send(connection, format_difference(self._desk.version, difference))
            if difference is Difference.OLDER:
                self.stop()
            return False
        if greeting.kind is Kind.MCP:
            connection.settimeout(None)
            self._desk.mcp(ClientRequest(greeting, peer, b""), connection, begun)
            return True
        bound = HOOK_INPUT_BYTES_MAX if greeting.kind is Kind.HOOK else ASK_BYTES_MAX
        request = ClientRequest(greeting, peer, reading.rest(begun, bound))
        respond: Callable[[ClientRequest], bytes] = (
            self._desk.hook if greeting.kind is Kind.HOOK else self._desk.ask
        )
        _send(connection, respond(request))
        return False


def _identity(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino


class _Reading:
    """What a client sends, until its time is over; a client that sends a byte now and then gets no more of it."""

    def __init__(self, connection: socket.socket, stopwatch: Stopwatch) -> None:
        self._connection = connection
        self._stopwatch = stopwatch
        self._end = stopwatch.seconds() + REQUEST_SECONDS

    def line(self) -> tuple[bytes, bytes]:
        """The first line without its newline, and what came behind it."""
        found = b""
        while b"\n" not in found:
            piece = self._piece()
            if not piece or len(found) > LINE_BYTES_MAX:
                message = "a client must begin with a line"
                raise WireError(message)
            found += piece
        line, _, rest = found.partition(b"\n")
        if len(line) >= LINE_BYTES_MAX:
            message = f"a client's first line must be shorter than {LINE_BYTES_MAX} bytes"
            raise WireError(message)
        return line, rest

    def rest(self, begun: bytes, bound: int) -> bytes:
        """Everything to the end, ``begun`` included."""
        pieces, size = [], 0
        piece = begun
        while True:
            size += len(piece)
            if size > bound:
                message = f"a request must be at most {bound} bytes"
                raise WireError(message)
            pieces.append(piece)
            piece = self._piece()
            if not piece:
                return b"".join(pieces)

    def _piece(self) -> bytes:
        left = self._end - self._stopwatch.seconds()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv(_PIECE)


def _send(connection: socket.socket, content: bytes) -> None:
    connection.settimeout(ANSWER_SECONDS)
    connection.sendall(content)
    with suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
