"""Becomes the daemon: a program of its own, run by path as ``python -I -S -E -B starter.py RUNTIME [COMMAND…]``.

Hook, relay and command line start a daemon through this one place, so that it never inherits what its client had:
a session of its own, no terminal, no open file, default signals, umask 077, the root folder, and of the environment
only the names below. A host's variables, secrets and Python settings do not pass. The daemon is no child of the
client, which would have to wait for its end.

Standard input is the lock (``timeline.rendezvous``) and stays; so do standard output and error, on which the daemon
says that it is ready, or why not. Imports nothing of ours.
"""

import os
import signal
import stat
import sys

KEPT = frozenset(
    (
        "HOME USER LOGNAME PATH LANG TZ "
        "XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR "
        "TIMELINE_STATE_DIR TIMELINE_TRUST_DIR TIMELINE_CONFIG_DIR TIMELINE_RUNTIME_DIR"
    ).split()
)
KEPT_PREFIX = "LC_"
COMMAND = ("-I", "-m", "timeline", "daemon", "run")


def scrub(environment: dict[str, str], runtime: str, *, temporary_is_private: bool) -> dict[str, str]:
    """What the daemon's environment is to be: the names above, and the runtime folder that the client uses."""
    kept = {
        name: value for name, value in environment.items() if name in KEPT or name.startswith(KEPT_PREFIX)
    }
    if temporary_is_private:
        kept["TMPDIR"] = environment["TMPDIR"]
    return kept | {"TIMELINE_RUNTIME_DIR": runtime}


def is_private(folder: str) -> bool:
    """Whether a folder is ours and open to nobody else."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return (
        os.path.isabs(folder)  # noqa: PTH117 - pathlib would be imported for this alone
        and stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.geteuid()
        and not found.st_mode & 0o077
    )


def main(arguments: list[str]) -> None:
    """Become the daemon, or what ``COMMAND`` names instead; the calling process ends at once.

    Raises:
        OSError: the program cannot be run.
    """
    runtime, *command = arguments
    command = command or [sys.executable, *COMMAND]
    environment = scrub(
        dict(os.environ), runtime, temporary_is_private=is_private(os.environ.get("TMPDIR", ""))
    )
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():  # who leads no session can never get a terminal
        os._exit(0)
    os.umask(0o077)
    os.chdir("/")
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        try:
            signal.signal(number, signal.SIG_DFL)
        except OSError:  # one that the system keeps for itself
            continue
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.execve(command[0], command, environment)  # noqa: S606 - no shell is wanted: our own interpreter, or the test's


if __name__ == "__main__":
    main(sys.argv[1:])
