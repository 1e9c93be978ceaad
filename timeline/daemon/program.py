"""Where the daemon starts and ends: its lock, its folders, its signals (DESIGN 5).

One per user: the lock is the operating system's and is held for as long as the process lives, so that a killed
daemon leaves nothing behind that could be stuck. Whoever holds it owns the socket's name.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import filelock

from timeline.daemon.desk import FrontDesk, MakeMcp
from timeline.daemon.errors import DaemonError, DaemonRunningError
from timeline.daemon.server import Server
from timeline.diary import Diary
from timeline.files import make_directory
from timeline.launch import settle
from timeline.service import Session

SOCKET_PATH_BYTES_MAX: Final = 100
"""A socket's path has at most 108 bytes on Linux and 104 on macOS, with its zero."""


def run(session: Session, make_mcp: MakeMcp) -> None:
    """Be the daemon until a signal or a client says stop.

    Raises:
        DaemonRunningError: there is one already.
        DaemonError: the socket cannot be bound.
        StateError: the runtime folder is not private.
    """
    locations = session.locations
    make_directory(locations.runtime)
    with _hold_lock(locations.daemon_lock):
        path = locations.socket
        _check_length(path)
        diary = Diary(locations.diary)
        desk = FrontDesk(session, diary, make_mcp)
        try:
            server = Server(path, desk)
        except OSError as error:
            message = f"{path}: cannot be listened on"
            raise DaemonError(message) from error
        desk.on_stop = server.stop
        with _signals(server):
            desk.start()
            settle(locations.runtime)
            diary.write("started", pid=os.getpid(), version=desk.version)
            try:
                server.run()
            finally:
                desk.close()
                diary.write("stopped", pid=os.getpid())


@contextmanager
def _hold_lock(path: Path) -> Iterator[None]:
    lock = filelock.FileLock(path, timeout=0, mode=0o600)
    try:
        lock.acquire()
    except filelock.Timeout as error:
        message = f"{path}: held by another daemon"
        raise DaemonRunningError(message) from error
    try:
        yield
    finally:
        lock.release()


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
