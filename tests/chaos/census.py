"""Which processes belong to one runtime folder, who holds its locks, and who listens: as the system says it (Linux)."""

import fcntl
import os
import select
import socket
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

from timeline.launch import START_LOCK_NAME
from timeline.paths import Locations
from timeline.reach import DaemonAwayError, DaemonUnreachableError, find
from timeline.wire import PROTOCOL

SECONDS: Final = 30.0
"""A deadline: it is never waited for unless something is wrong."""


class Member(NamedTuple):
    """One process: ``kind`` is daemon, starter, relay, finder, hook, host or other."""

    pid: int
    kind: str
    command: str


def members(runtime: Path) -> list[Member]:
    """The processes that name the folder in their command or environment, but for this one."""
    found: list[Member] = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            command = Path(entry.path, "cmdline").read_bytes()
            said = command + b"\0" + Path(entry.path, "environ").read_bytes()
            if command and os.fsencode(runtime) + b"\0" in said + b"\0":
                words = command.rstrip(b"\0").decode("utf-8", "replace").split("\0")
                found.append(Member(int(entry.name), _kind(words), " ".join(words)[:200]))
    relays = {member.pid for member in found if member.kind == "relay"}
    return [
        member._replace(kind="finder")
        if member.kind == "relay" and parent_of(member.pid) in relays
        else member
        for member in found
    ]


def _kind(words: list[str]) -> str:
    names = {Path(word).name for word in words}
    if words[-2:] == ["daemon", "run"]:
        return "daemon"
    for script in ("starter", "relay", "hooks"):
        if f"{script}.py" in names:
            return script.removesuffix("s") if script == "hooks" else script
    return "host" if Path(words[0]).name == "codex" else "other"


def parent_of(pid: int) -> int:
    """The parent's pid; 0 where the process is gone."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    return 0


def await_members(runtime: Path, expected: Mapping[str, int], seconds: float = SECONDS) -> list[str]:
    """Wait until exactly so many processes of each kind are there; what differs if that does not come."""
    end = time.monotonic() + seconds
    while True:
        found = members(runtime)
        counts = Counter(member.kind for member in found)
        if counts == Counter(expected):
            return []
        if time.monotonic() >= end:
            return [
                f"{kind}: {counts[kind]} and not {expected.get(kind, 0)}: "
                + "; ".join(f"{m.pid} {m.command}" for m in found if m.kind == kind)
                for kind in sorted({*counts, *expected})
                if counts[kind] != expected.get(kind, 0)
            ]
        pause(0.02)


# -- locks -----------------------------------------------------------------------------------------------------


def holders(path: Path) -> set[int]:
    """The processes that hold a lock on this file, by the system's table."""
    try:
        status = path.stat()
    except OSError:
        return set()
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    found = set()
    for line in Path("/proc/locks").read_text("ascii").splitlines():
        words = line.split()
        if place in words and "->" not in words:
            found.add(int(words[words.index(place) - 1]))
    return found


def is_free(path: Path) -> bool:
    """Whether a lock file can be locked, or is not there."""
    try:
        opened = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(opened)
    return True


def complaints(locations: Locations) -> Iterator[str]:
    """What is wrong with the socket and the locks of a daemon that runs and has nothing to do."""
    daemons = [member.pid for member in members(locations.runtime) if member.kind == "daemon"]
    if holders(locations.daemon_lock) != set(daemons):
        yield f"daemons {daemons}, daemon.lock held by {sorted(holders(locations.daemon_lock))}"
    for path in (locations.runtime / START_LOCK_NAME, locations.lock):
        end = time.monotonic() + SECONDS
        while not is_free(path):  # a starter that is about to end, a reading that nobody waits for
            if time.monotonic() >= end:
                yield f"{path.name} is held by {sorted(holders(path))}"
                break
            pause(0.02)
    try:
        with closing(find(locations.runtime)) as connection:
            pid = int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 4), "little")
            if [pid] != daemons:
                yield f"daemons {daemons}, process {pid} listens"
            connection.sendall(f"{PROTOCOL} 0.0.0 ask\n".encode())  # a request that is answered at once
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
    except (DaemonAwayError, DaemonUnreachableError) as error:
        yield f"the socket: {error}"


# -- numbers of one process ------------------------------------------------------------------------------------


class Measures(NamedTuple):
    """What a process takes: resident KiB, threads, open descriptors."""

    resident_kib: int
    threads: int
    descriptors: int


def measure(pid: int) -> Measures:
    """Look at a living process.

    Raises:
        OSError: it is gone.
    """
    status = dict(
        line.split(":", 1)
        for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
        if ":" in line
    )
    descriptors = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return Measures(int(status["VmRSS"].split()[0]), int(status["Threads"]), descriptors)


def pause(seconds: float) -> None:
    """Wait."""
    select.select((), (), (), seconds)
