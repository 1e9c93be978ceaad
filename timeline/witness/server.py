"""The witness over HTTP/1.1, on a loopback port or a Unix socket; standard library only.

``POST /add-checkpoint`` and ``GET /<hex digest of the origin>/checkpoint``, and nothing else. Everything that a
client could stretch is bounded: connections, the time and the bytes of a request, the time of an answer. No address,
header or byte of a client is kept or logged.
"""

import os
import selectors
import socket
import socketserver
import stat
import sys
import threading
from contextlib import suppress
from http.server import HTTPServer
from pathlib import Path
from typing import Final

from timeline.clock import Stopwatch
from timeline.witness.endpoint import Endpoint, NetworkEndpoint, UnixEndpoint
from timeline.witness.errors import WitnessAddressTakenError
from timeline.witness.handler import Handler, Listener
from timeline.witness.service import Witness

CONNECTIONS_MAX: Final = 32
"""Open connections, each with its thread; one more is told to come back."""

_FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
)
_BACKLOG: Final = 64


class WitnessServer(socketserver.ThreadingMixIn, HTTPServer):
    """A bound server; ``run`` serves until ``stop``. Made as one of the two below."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = _BACKLOG

    def __init__(
        self, address: tuple[str, int] | str, witness: Witness, stopwatch: Stopwatch, listener: Listener
    ) -> None:
        """Bind and listen.

        Raises:
            WitnessAddressTakenError: the address cannot be had.
        """
        self.witness = witness
        self.stopwatch = stopwatch
        self.listener = listener
        self.stopping = False
        self._slots = threading.BoundedSemaphore(CONNECTIONS_MAX)
        self._open: set[socket.socket] = set()
        self._open_turn = threading.Lock()
        self._woken, self._waker = socket.socketpair()
        self._waker.setblocking(False)  # as a signal's handler needs it
        try:
            super().__init__(address, Handler)  # type: ignore[arg-type]  # a Unix socket's path too
        except OSError as error:
            message = f"{address}: cannot be served on"
            raise WitnessAddressTakenError(message) from error
        # A client that is gone before it is accepted must not hold the loop.
        self.socket.setblocking(False)
        self.timeout = 0

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens; a port 0 has become a real one."""
        raise NotImplementedError

    def server_bind(self) -> None:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        """Bind without asking a name server for our own name, as ``HTTPServer`` does."""
        socketserver.TCPServer.server_bind(self)

    def run(self) -> None:
        """Serve until ``stop``, then let running requests end, and close. Nothing runs while nobody asks."""
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self.socket, selectors.EVENT_READ)
                selector.register(self._woken, selectors.EVENT_READ)
                while not self.stopping:
                    selector.select()
                    self.handle_request()
        finally:
            self._end_reading()
            self.server_close()

    def waker(self) -> int:
        """The descriptor on which a byte ends the waiting, for ``signal.set_wakeup_fd``.

        A signal may be taken by a thread that serves a connection; the one that waits here would sleep on.
        """
        return self._waker.fileno()

    def stop(self) -> None:
        """Take no further request; from any thread, and from a signal's handler."""
        self.stopping = True
        with suppress(OSError):
            self._waker.send(b"x")

    def server_close(self) -> None:  # type: ignore[explicit-override]  # as above
        """Stop listening, and wait for the answers under way."""
        super().server_close()
        self._woken.close()
        self._waker.close()

    def process_request(self, request: socket.socket, client_address: object) -> None:  # type: ignore[override, explicit-override]  # the stub knows datagrams
        """Give a connection its thread, or send it away."""
        if not self._slots.acquire(blocking=False):
            request.settimeout(1)
            with suppress(OSError):
                request.sendall(_FULL)
            self.shutdown_request(request)
            return
        with self._open_turn:
            self._open.add(request)
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread could be started
            self._leave(request)
            self.shutdown_request(request)

    def process_request_thread(self, request: socket.socket, client_address: object) -> None:  # type: ignore[override, explicit-override]  # as above
        """Serve one connection to its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._leave(request)

    def handle_error(self, request: object, client_address: object) -> None:  # type: ignore[explicit-override]  # as above
        """A client that went away is no fault; anything else is ours and is shown."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # passed on as it came

    def _leave(self, request: socket.socket) -> None:
        with self._open_turn:
            self._open.discard(request)
        self._slots.release()

    def _end_reading(self) -> None:
        """Wake the threads that wait for another request; those that answer one go on."""
        with self._open_turn:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RD)


class PortServer(WitnessServer):
    """On a port of this machine."""

    def __init__(
        self, endpoint: NetworkEndpoint, witness: Witness, stopwatch: Stopwatch, listener: Listener
    ) -> None:
        """Bind and listen.

        Raises:
            WitnessAddressTakenError: the port cannot be had.
        """
        self.address_family = socket.AF_INET6 if ":" in endpoint.host else socket.AF_INET
        super().__init__((endpoint.host, endpoint.port), witness, stopwatch, listener)

    @property
    def endpoint(self) -> Endpoint:  # type: ignore[explicit-override]  # as above
        """Where it listens; a port 0 has become a real one."""
        host, port = self.server_address[:2]
        return NetworkEndpoint("http", str(host), int(port))


class SocketServer(WitnessServer):
    """On a Unix socket, whose mode says who may ask."""

    address_family = socket.AF_UNIX

    def __init__(
        self, endpoint: UnixEndpoint, mode: int, witness: Witness, stopwatch: Stopwatch, listener: Listener
    ) -> None:
        """Bind and listen; a socket that nobody serves any more is replaced.

        Raises:
            WitnessAddressTakenError: somebody serves there, or something else stands there.
        """
        self._mode = mode
        self._path = Path(endpoint.path)
        self._bound = False
        _remove_dead(self._path)
        super().__init__(endpoint.path, witness, stopwatch, listener)

    @property
    def endpoint(self) -> Endpoint:  # type: ignore[explicit-override]  # as above
        """Where it listens."""
        return UnixEndpoint(str(self._path))

    def server_bind(self) -> None:  # type: ignore[explicit-override]  # as above
        """Bind with a mode that lets nobody in before it is the one that was asked for."""
        before = os.umask(0o177)
        try:
            self.socket.bind(str(self._path))
            self._bound = True
        finally:
            os.umask(before)
        self._path.chmod(self._mode)

    def server_close(self) -> None:  # type: ignore[explicit-override]  # as above
        """Take the socket's name away, then close: the other way round the name could be another server's by then."""
        if self._bound:
            with suppress(OSError):
                self._path.unlink()
            self._bound = False
        super().server_close()


def _remove_dead(path: Path) -> None:
    """Remove a socket that nobody serves.

    Raises:
        WitnessAddressTakenError: somebody serves there, or it is no socket.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        message = f"{path}: cannot be looked at"
        raise WitnessAddressTakenError(message) from error
    if not stat.S_ISSOCK(found.st_mode):
        message = f"{path}: something else than a socket stands there"
        raise WitnessAddressTakenError(message)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            with suppress(FileNotFoundError):
                path.unlink()
            return
        except OSError as error:
            message = f"{path}: cannot be asked whether it is served"
            raise WitnessAddressTakenError(message) from error
    message = f"{path}: another process serves there"
    raise WitnessAddressTakenError(message)
