"""The one writer's lock, and the one daemon's: held by the operating system, so that each ends with its holder.

Readers need none. A second writer waits a bounded time and is then told so. A writer that uses another runtime
folder does not meet this lock; it meets the one on the state's own folder (``timeline.files.hold_directory``).
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from timeline.errors import StateBusyError, StateUnwritableError
from timeline.files import hold_directory, is_there, make_directory
from timeline.limits import LOCK_WAIT_SECONDS
from timeline.paths import Locations


@contextmanager
def hold_for_writing(locations: Locations) -> Iterator[None]:
    """Be the one writer while the block runs.

    The lock file says whom to wait for; the folder itself keeps out a writer that uses another runtime folder.

    Raises:
        StateBusyError: another process is writing.
        StateUnwritableError, UnsafeFileError: the lock cannot be had.
    """
    with hold_writer_lock(locations.lock), _hold_state(locations):
        yield


def _hold_state(locations: Locations) -> AbstractContextManager[None]:
    """Hold the state's folder, once it is there."""
    return hold_directory(locations.state) if is_there(locations.state) else nullcontext()


@contextmanager
def hold_writer_lock(path: Path, *, wait_seconds: float = LOCK_WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock while the block runs.

    Raises:
        StateBusyError: another process kept it for ``wait_seconds``.
        StateUnwritableError: the lock file cannot be created.
    """
    # Imported here: it costs as much as everything else a reading command loads.
    import filelock

    make_directory(path.parent)
    lock = filelock.FileLock(path, timeout=wait_seconds, mode=0o600)
    try:
        lock.acquire()
    except filelock.Timeout as error:
        message = f"{path}: held by another process"
        raise StateBusyError(message) from error
    except OSError as error:
        message = f"{path}: cannot be locked"
        raise StateUnwritableError(message) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def hold_lock(path: Path) -> Iterator[bool]:
    """Hold a lock while the block runs, if nobody else does: whether we do. Does not wait.

    For the daemon, whose start a host waits for; the library that waits would cost a fifth of it.

    Raises:
        StateUnwritableError: the lock file cannot be created.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        message = f"{path}: cannot be locked"
        raise StateUnwritableError(message) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
    finally:
        os.close(descriptor)
