"""Other processes as the system shows them: who they are, who started them, their environment and their open files.

A pid is used again when its process has ended; pid and start time together name exactly one process. On Linux each
answer is read through one open directory of ``/proc``, which belongs to that process for as long as it is open, so
no two processes are mixed. Where there is no ``/proc``, ``psutil`` answers.

Nothing here decides anything, and nothing here is proof of what a process is: name and program are what the process
was given by whoever started it.
"""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

if TYPE_CHECKING:
    import psutil

_Found = TypeVar("_Found")

_PROC: Final = "/proc"

GENERATIONS_MAX: Final = 64
"""Processes of one chain; terminals inside terminals inside containers have some twenty."""

ENVIRONMENT_BYTES_MAX: Final = 8 * 1024 * 1024
"""Bytes of one environment: Linux gives arguments and environment 6 MB together with the usual stack."""

DESCRIPTORS_MAX: Final = 65536
"""Descriptors of one process that are looked at."""

_ENDED: Final = ("Z", "X", "x")
"""States of a process that has ended and only waits to be asked how (proc_pid_stat(5))."""

_UNKNOWN_GROUP: Final = -1


class Process(msgspec.Struct, frozen=True):
    """One process at the moment when it was looked at.

    ``started`` counts from a fixed moment of the system, on Linux clock ticks since it booted, elsewhere
    microseconds since 1970: it tells processes of one pid apart, and an older process from a younger one.
    ``parent`` is 0 where the parent lies outside of what can be seen. ``uid`` is the real one. ``terminal`` is the
    device number of the controlling terminal, or 0; ``foreground`` the process group in that terminal's foreground,
    or -1. ``name`` is the system's short name, cut off after 15 bytes on Linux. ``program`` is the path of the
    executable where it may be read.
    """

    pid: int
    started: int
    parent: int
    uid: int
    group: int
    session: int
    terminal: int
    foreground: int
    name: str
    program: str | None


def look(pid: int) -> Process | None:
    """The process that has this pid now; ``None`` where there is none, or where it has ended or is hidden from us."""
    if not _has_proc():
        return _ask_about(pid)
    folder = _open_folder(pid)
    if folder is None:
        return None
    try:
        return _read_process(folder, pid)
    finally:
        os.close(folder)


def chain_of(pid: int, until: Callable[[Process], object] | None = None) -> tuple[Process, ...]:
    """The process, its parent, that one's parent and so on; empty where there is no such process.

    With ``until``, it ends with the first ancestor of which that is true.

    A whole chain ends with a process whose ``parent`` is 0. One that ends before has lost a process meanwhile, hides
    one from us, or is longer than ``GENERATIONS_MAX``. A parent is older than its child: a younger process has got
    the pid of a parent that is gone, and the chain ends before it.
    """
    chain: list[Process] = []
    while len(chain) < GENERATIONS_MAX:
        found = look(pid)
        if found is None or (chain and found.started > chain[-1].started):
            break
        chain.append(found)
        if found.parent == 0 or (until is not None and len(chain) > 1 and until(found)):
            break
        pid = found.parent
    return tuple(chain)


def environment_of(process: Process) -> dict[str, str]:
    """The environment that the process was started with; empty where it cannot be read or the process is gone.

    The last of two entries of one name counts, as most programs have it. An entry without ``=`` is left out.
    """
    if not _has_proc():
        return _ask_environment_of(process)
    folder = _open_folder(process.pid)
    if folder is None:
        return {}
    try:
        content = _read(folder, "environ", ENVIRONMENT_BYTES_MAX)
        # After reading: a process that ended before would have been read as empty.
        if content is None or not _is_same(folder, process):
            return {}
    finally:
        os.close(folder)
    entries = (os.fsdecode(entry).partition("=") for entry in content.split(b"\0"))
    return {name: value for name, equals, value in entries if equals}


def open_files_of(process: Process) -> tuple[str, ...]:
    """What the descriptors of the process point to, such as paths, ``socket:[7]`` or ``pipe:[8]``; paths off Linux.

    Empty where they cannot be read or the process is gone. A path is as the process opened it; of a file that was
    removed it ends in `` (deleted)``.
    """
    if not _has_proc():
        return _ask_open_files_of(process)
    folder = _open_folder(process.pid)
    if folder is None:
        return ()
    try:
        targets = _read_descriptors(folder)
        return targets if _is_same(folder, process) else ()
    finally:
        os.close(folder)


def processes_named(names: frozenset[str]) -> tuple[Process, ...]:
    """Every process of ours that has one of these names, by pid."""
    if not _has_proc():
        pids = _ask_pids()
    else:
        listed = sorted(int(entry.name) for entry in Path(_PROC).iterdir() if entry.name.isdigit())
        pids = tuple(pid for pid in listed if _name_of(pid) in names)
    uid = os.getuid()
    found = (look(pid) for pid in pids)
    return tuple(p for p in found if p is not None and p.uid == uid and p.name in names)


def in_user_namespace() -> bool:
    """Whether the user ids that we see are not the system's own (user_namespaces(7)); never where there are none."""
    folder = _open_folder(os.getpid()) if _has_proc() else None
    if folder is None:
        return False
    try:
        content = _read(folder, "uid_map", 64 * 1024)
    finally:
        os.close(folder)
    return content is not None and content.split() != [b"0", b"0", b"4294967295"]


# -- Linux -----------------------------------------------------------------------------------------------------


def _has_proc() -> bool:
    return _is_proc(_PROC)


@cache
def _is_proc(folder: str) -> bool:
    return Path(folder, "self", "stat").exists()


def _open_folder(pid: int) -> int | None:
    try:
        return os.open(f"{_PROC}/{int(pid)}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None


def _read(folder: int, name: str, size_max: int) -> bytes | None:
    """The whole file, or ``None`` where it cannot be read or is longer than ``size_max`` bytes."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    try:
        pieces: list[bytes] = []
        size = 0
        while piece := os.read(descriptor, 64 * 1024):
            pieces.append(piece)
            size += len(piece)
            if size > size_max:
                return None
        return b"".join(pieces)
    except OSError:  # the process has ended
        return None
    finally:
        os.close(descriptor)


def _read_process(folder: int, pid: int) -> Process | None:
    stat = _read(folder, "stat", 64 * 1024)
    uid = _read_uid(folder)
    if not stat or uid is None:
        return None
    return _parse_process(pid, stat, uid, _read_program(folder))


def _parse_process(pid: int, stat: bytes, uid: int, program: str | None) -> Process | None:
    """Read ``pid (name) state ppid …``: the name may hold spaces and parentheses, and ends with the last one."""
    name, _, rest = stat.partition(b"(")[2].rpartition(b")")
    fields = rest.split()
    if len(fields) < 20 or fields[0].decode() in _ENDED:
        return None
    # The numbers are those of proc_pid_stat(5) less 3: the first of these fields is the third there.
    return Process(
        pid=pid,
        started=int(fields[19]),
        parent=int(fields[1]),
        uid=uid,
        group=int(fields[2]),
        session=int(fields[3]),
        terminal=int(fields[4]),
        foreground=int(fields[5]),
        name=os.fsdecode(name),
        program=program,
    )


def _read_uid(folder: int) -> int | None:
    """The real user id. Not the owner of the folder: a process can make it root's (``PR_SET_DUMPABLE``)."""
    status = _read(folder, "status", 64 * 1024)
    if not status:
        return None
    # The name stands before, and its control characters are written as escapes: no line of it can begin so.
    line = status.partition(b"\nUid:\t")[2].partition(b"\n")[0]
    return int(line.split()[0]) if line else None


def _read_program(folder: int) -> str | None:
    try:
        return os.readlink("exe", dir_fd=folder)
    except OSError:  # a process of somebody else, or of the kernel
        return None


def _is_same(folder: int, process: Process) -> bool:
    found = _read_process(folder, process.pid)
    return found is not None and found.started == process.started


def _read_descriptors(folder: int) -> tuple[str, ...]:
    try:
        descriptors = os.open("fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return ()
    targets: list[str] = []
    try:
        with os.scandir(descriptors) as entries:
            names = sorted((entry.name for entry in entries), key=int)[:DESCRIPTORS_MAX]
        for name in names:
            try:
                targets.append(os.readlink(name, dir_fd=descriptors))
            except OSError:  # closed meanwhile
                continue
    except OSError:  # the process has ended
        return ()
    finally:
        os.close(descriptors)
    return tuple(targets)


def _name_of(pid: int) -> str | None:
    folder = _open_folder(pid)
    if folder is None:
        return None
    try:
        content = _read(folder, "comm", 4096)
    finally:
        os.close(folder)
    return None if content is None else os.fsdecode(content.removesuffix(b"\n"))


# -- elsewhere: psutil, which is loaded only there -------------------------------------------------------------


def _ask_about(pid: int) -> Process | None:
    import psutil

    found = _find(pid)
    if found is None:
        return None
    with found.oneshot():
        started, parent, uids = _ask(found.create_time), _ask(found.ppid), _ask(found.uids)
        name, status = _ask(found.name), _ask(found.status)
        terminal = _device(_ask(found.terminal))
    ended = status in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    if started is None or parent is None or uids is None or name is None or ended:
        return None
    session = _ask_number(os.getsid, pid)
    return Process(
        pid=pid,
        started=_microseconds(started),
        parent=parent,
        uid=uids.real,
        group=_ask_number(os.getpgid, pid),
        session=session,
        terminal=terminal,
        foreground=_ask_foreground() if terminal and session == os.getsid(0) else _UNKNOWN_GROUP,
        name=name,
        program=_ask(found.exe) or None,
    )


def _ask_environment_of(process: Process) -> dict[str, str]:
    found = _find_same(process)
    return {} if found is None else dict(_ask(found.environ) or {})


def _ask_open_files_of(process: Process) -> tuple[str, ...]:
    found = _find_same(process)
    return () if found is None else tuple(file.path for file in _ask(found.open_files) or ())


def _ask_pids() -> tuple[int, ...]:
    import psutil

    return tuple(sorted(psutil.pids()))


def _find(pid: int) -> "psutil.Process | None":
    import psutil

    try:
        return psutil.Process(pid)
    except (psutil.Error, ValueError, OverflowError):
        return None


def _find_same(process: Process) -> "psutil.Process | None":
    found = _find(process.pid)
    started = None if found is None else _ask(found.create_time)
    return found if started is not None and _microseconds(started) == process.started else None


def _ask(question: Callable[[], _Found]) -> _Found | None:
    import psutil

    try:
        return question()
    except (psutil.Error, OSError):  # it has ended, or is somebody else's
        return None


def _microseconds(seconds: float) -> int:
    return round(seconds * 1_000_000)


def _ask_number(question: Callable[[int], int], pid: int) -> int:
    try:
        return question(pid)
    except OSError:
        return _UNKNOWN_GROUP


def _device(path: str | None) -> int:
    try:
        return 0 if path is None else Path(path).stat().st_rdev
    except OSError:
        return 0


def _ask_foreground() -> int:
    """The foreground group of our own terminal; of another one the system does not say."""
    try:
        descriptor = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return _UNKNOWN_GROUP
    try:
        return os.tcgetpgrp(descriptor)
    except OSError:
        return _UNKNOWN_GROUP
    finally:
        os.close(descriptor)
