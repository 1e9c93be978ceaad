"""Where the daemon starts and ends: its lock, its folders, its signals.

One per user: the lock is the operating system's and is held for as long as the process lives, so that a killed
daemon leaves nothing behind that could be stuck. Whoever holds it owns the socket's name.

The socket listens before anything else is loaded: a host calls its first hooks within a few milliseconds, and the
first of them may have started this process. Who asks is looked at when he connects; the answer waits for the rest.
"""

import os
import select
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from timeline import __version__
from timeline.clock import SystemStopwatch
from timeline.daemon.errors import DaemonError, DaemonRunningError, DaemonStoppingError
from timeline.daemon.server import ClientRequest, Desk, Server
from timeline.errors import TimelineError
from timeline.files import make_directory
from timeline.launch import STOP_SECONDS, settle
from timeline.lock import hold_lock
from timeline.paths import Locations
from timeline.reach import pauses

SOCKET_PATH_BYTES_MAX: Final = 100
"""A socket's path has at most 108 bytes on Linux and 104 on macOS, with its zero."""

LOAD_SECONDS: Final = 30.0
"""How long a request waits for a daemon that has just been started."""

OpenDesk = Callable[[Callable[[], None]], "tuple[Desk, Callable[[], None]]"]
"""Loads and opens everything behind the socket; gives who answers, and what closes it. It is given what stops us."""


def run(locations: Locations, open_desk: OpenDesk) -> None:
    """Be the daemon until a signal or a client says stop.

    Raises:
        DaemonRunningError: there is one already.
        DaemonError: the socket cannot be bound, or what answers behind it cannot be opened.
        StateError: the runtime folder is not private.
    """
    make_directory(locations.runtime)
    with _hold_daemon_lock(locations):
        path = locations.socket
        _check_length(path)
        entrance = Entrance()
        try:
            server = Server(path, entrance, SystemStopwatch())
        except OSError as error:
            message = f"{path}: cannot be listened on"
            raise DaemonError(message) from error
        loader = threading.Thread(target=entrance.load, args=(open_desk, server.stop), name="load")
        with _signals(server):
            settle(locations.runtime)
            loader.start()
            try:
                server.run()
            finally:
                loader.join()
                entrance.close()
    entrance.check()


class Entrance:
    """A ``Desk`` whose requests wait until the one behind it is open."""

    version = __version__

    def __init__(self) -> None:
        """Nothing is open yet."""
        self._ready = threading.Event()
        self._desk: Desk | None = None
        self._close: Callable[[], None] = lambda: None
        self._error: Exception | None = None

    def load(self, open_desk: OpenDesk, stop: Callable[[], None]) -> None:
        """Open the desk; where that fails, nothing can be answered and the daemon ends."""
        try:
            self._desk, self._close = open_desk(stop)
        except Exception as error:  # noqa: BLE001  # raised again by `check`, in the thread that can end the process
            self._error = error
            stop()
        finally:
            self._ready.set()

    def close(self) -> None:
        """Close what was opened."""
        self._close()

    def check(self) -> None:
        """Raise what kept the desk from being opened, if anything did.

        Raises:
            Exception: that.
        """
        if self._error is not None:
            raise self._error

    def hook(self, request: ClientRequest) -> bytes:
        """See ``Desk``; a hook whose daemon cannot be opened prints nothing."""
        try:
            return self._behind().hook(request)
        except TimelineError:
            return b""

    def ask(self, request: ClientRequest) -> bytes:
        """See ``Desk``."""
        try:
            return self._behind().ask(request)
        except DaemonStoppingError:
            return b""

    def mcp(self, request: ClientRequest, connection: socket.socket, begun: bytes) -> None:
        """See ``Desk``."""
        try:
            desk = self._behind()
        except DaemonStoppingError:
            connection.close()
            return
        desk.mcp(request, connection, begun)

    def refused(self, reason: str) -> None:
        """See ``Desk``."""
        with suppress(DaemonStoppingError):
            self._behind().refused(reason)

    def _behind(self) -> Desk:
        if not self._ready.wait(LOAD_SECONDS) or self._desk is None:
            message = "the daemon could not be opened"
            raise DaemonStoppingError(message)
        return self._desk


@contextmanager
def _hold_daemon_lock(locations: Locations) -> Iterator[None]:
    """Hold the daemon's lock. One that is about to end has given up the socket's name already, and is waited for.

    Raises:
        DaemonRunningError: another one has both, or does not end.
    """
    watch = SystemStopwatch()
    end = watch.seconds() + STOP_SECONDS
    for pause in pauses():
        with hold_lock(locations.daemon_lock) as held:
            if held:
                yield
                return
            if locations.socket.exists() or watch.seconds() >= end:
                message = f"{locations.daemon_lock}: held by another daemon"
                raise DaemonRunningError(message)
        select.select((), (), (), pause)


@contextmanager
def _signals(server: Server) -> Iterator[None]:
    """Let the usual signals stop the server, whichever thread takes them."""

    def stop(_number: int, _frame: object) -> None:
        server.stop()

    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers}
    woken = signal.set_wakeup_fd(server.waker(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken)
        for number, handler in before.items():
            signal.signal(number, handler)


def _check_length(path: Path) -> None:
    if len(os.fsencode(path)) > SOCKET_PATH_BYTES_MAX:
        message = f"{path}: longer than {SOCKET_PATH_BYTES_MAX} bytes, which a socket's name may not be"
        raise DaemonError(message, hint="set TIMELINE_RUNTIME_DIR to a folder with a shorter path")
