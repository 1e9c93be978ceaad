"""One kill in the midst of something: a child process waits for its moment, stops the victim, looks at it, kills it.

The victim stands still while it is looked at, so that what is said of the moment is true: which locks it holds, what
of a commit is on disk, whether it listens already. The child tells by a pipe; it touches nothing else.
"""

import json
import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

from tests.chaos.census import holders, members, parent_of, pause
from timeline.launch import START_LOCK_NAME
from timeline.paths import Locations

PATIENCE_SECONDS: Final = 1.5
"""How long a moment is waited for that may not come; then the victim is killed as it is, if it is there."""


class Order(NamedTuple):
    """Whom to kill and when.

    ``pid`` is 0 where the victim is the first new process of ``kind``. ``moment`` is ``any`` (after the delay),
    ``commit`` (the victim holds the writer lock), ``write`` (something of a commit has just been written) or ``birth``
    (it has just begun); then after the delay, in seconds.
    """

    kind: str
    pid: int
    moment: str
    delay: float


class Struck(NamedTuple):
    """What was hit: the kind of the victim, and what it was about to do. Empty where nobody was there."""

    victim: str
    doing: str


class Striker:
    """A child that carries out one order."""

    def __init__(self, locations: Locations, order: Order) -> None:
        """Fork, and wait until the child is ready."""
        before = {member.pid for member in members(locations.runtime)}
        reading, writing = os.pipe()
        self._child = os.fork()
        if not self._child:
            code = 1
            try:
                os.write(writing, b".")
                os.write(writing, json.dumps(_strike(locations, order, before)).encode())
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        self._reading = reading
        os.read(reading, 1)

    def wait(self) -> Struck:
        """What it has done."""
        with os.fdopen(self._reading, "rb") as pipe:
            said = pipe.read()
        os.waitpid(self._child, 0)
        return Struck(*json.loads(said))


def random_delay(chance: random.Random, most: float) -> float:
    """Short ones oftener than long ones: most of what is interesting is over soon."""
    return most * chance.random() ** 2


def _strike(locations: Locations, order: Order, before: set[int]) -> Struck:
    end = time.monotonic() + PATIENCE_SECONDS
    pid = order.pid or _first_new(locations.runtime, order.kind, before, end)
    if order.moment == "commit":
        while pid not in holders(locations.lock) and time.monotonic() < end:
            pass
    if order.moment == "write":
        began = _written(locations)
        while _written(locations) == began and time.monotonic() < end:
            pass
    _spin(order.delay)
    if not pid:
        return Struck("", "")
    try:
        os.kill(pid, signal.SIGSTOP)
    except ProcessLookupError:
        return Struck("", "")
    _await_state(pid, b"TZX")
    doing = ""
    with suppress(OSError, ValueError):
        doing = _LOOKS.get(order.kind, lambda *_: "at work")(locations, pid)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _await_state(pid, b"ZX")
    return Struck(order.kind, doing) if doing else Struck("", "")


def _first_new(runtime: Path, kind: str, before: set[int], end: float) -> int:
    # A starter becomes the daemon by execve, so that the pid alone does not say what is new.
    while time.monotonic() < end:
        for member in members(runtime):
            if member.kind == kind and member.pid not in before:
                return member.pid
    return 0


def _written(locations: Locations) -> list[int]:
    """Changes with every step of a commit: the sidecars' folder, the database's log, the folders of head and anchor."""
    found = []
    for path in (locations.sidecars, Path(f"{locations.database}-wal"), locations.state, locations.trust):
        with suppress(OSError):
            status = path.stat()
            found += [status.st_mtime_ns, status.st_size]
    return found


def _spin(seconds: float) -> None:
    if seconds > 0.002:
        pause(seconds)
        return
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def _await_state(pid: int, states: bytes) -> None:
    """Wait until the process stands still, or is no more."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
        except OSError:
            return
        if state in states:
            return


# -- what a victim is about to do ------------------------------------------------------------------------------


def _look_at_daemon(locations: Locations, pid: int) -> str:
    if _is_gone(pid):
        return ""
    if pid not in holders(locations.daemon_lock):
        return "begins or ends: not its lock"
    if not locations.socket.exists():
        return "begins or ends: its lock, no socket's name"
    if not _has_started(locations, pid):
        return "listens, still loads"
    if pid in holders(locations.lock):
        return _stage_of_commit(locations)
    if pid in holders(locations.runtime / START_LOCK_NAME):
        return "has the start lock still"
    return "serves"


def _is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}/cmdline").read_bytes()


def _has_started(locations: Locations, pid: int) -> bool:
    words = b'"event":"started"', b'"pid":%d' % pid
    with suppress(OSError):
        return any(all(word in line for word in words) for line in locations.diary.read_bytes().split(b"\n"))
    return False


def _stage_of_commit(locations: Locations) -> str:
    head, anchor = (_size_of_note(path) for path in (locations.head, locations.anchor))
    leaves = _count_leaves(locations.database)
    temporary = [
        path.name
        for folder in (locations.state, locations.trust, locations.sidecars)
        for path in folder.iterdir()
        if path.name.endswith(".tmp")
    ]
    if leaves is None:
        return "commit: in the database's transaction"
    if head is None or anchor is None:
        return "commit: notes are being replaced"
    if leaves > head:
        return "commit: leaves before head"
    if head > anchor:
        return "commit: head before anchor"
    if temporary:
        return "commit: a file half written"
    # Behind a commit the head is the newest but for the anchor; what is newer than it belongs to the next one.
    if _changed_at(Path(f"{locations.database}-wal")) > _changed_at(locations.head):
        return "commit: in the database's transaction"
    if _changed_at(locations.sidecars) > _changed_at(locations.head):
        return "commit: sidecar before leaves"
    return "writer lock: before or behind a commit"


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _size_of_note(path: Path) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        return int(path.read_bytes().split(b"\n")[1])
    return None


def _count_leaves(path: Path) -> int | None:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=0)) as connection:
            return int(connection.execute("SELECT count(*) FROM leaf").fetchone()[0])
    except sqlite3.Error:
        return None


def _look_at_client(_locations: Locations, pid: int) -> str:
    if _is_gone(pid):
        return ""
    if any(parent_of(int(entry.name)) == pid for entry in os.scandir("/proc") if entry.name.isdigit()):
        return "has a child that looks for a daemon or starts one"
    held = [str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    if any(START_LOCK_NAME in target for target in held):
        return "has the start lock"
    sockets = sum(target.startswith("socket:") for target in held)
    return "connected" if sockets > _OWN_SOCKETS else "not connected"


_OWN_SOCKETS: Final = 2
"""Standard input and output of a client below a simulated host."""

_LOOKS: Final[dict[str, Callable[[Locations, int], str]]] = {
    "daemon": _look_at_daemon,
    "relay": _look_at_client,
    "hook": _look_at_client,
    "starter": lambda _locations, pid: "" if _is_gone(pid) else "becomes the daemon",
    "finder": lambda _locations, pid: "" if _is_gone(pid) else "looks for a daemon or starts one",
}
