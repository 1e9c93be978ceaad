"""A daemon that knows only the wire, run as a program of its own: ``fake_daemon.py MODE [ARGUMENT]``.

``serve VERSION`` serves as a program of that version; ``late PIPE`` holds the lock and listens once somebody has
written to the pipe; ``held PIPE`` fails as one that finds the lock held, and writes to the pipe; ``fail`` ends with an
error; ``mute`` says nothing and waits until its standard error has no reader; ``stay`` serves and never stops.
"""

import fcntl
import json
import os
import select
import socket
import sys
from contextlib import suppress
from pathlib import Path

from timeline import __version__
from timeline.launch import settle
from timeline.wire import Kind, compare_versions, format_difference, parse_greeting

RUNTIME = Path(os.environ["TIMELINE_RUNTIME_DIR"])


def describe() -> dict[str, object]:
    """Say what a process inherits."""
    os.umask(umask := os.umask(0))
    return {
        "environment": dict(os.environ),
        "cwd": str(Path.cwd()),
        "umask": umask,
        "session": os.getsid(0),
        "parent": os.getppid(),
        "descriptors": {
            fd: target
            for fd in (path.name for path in Path("/proc/self/fd").iterdir())
            if (target := str(Path("/proc/self/fd", fd).resolve())) and not target.startswith("/proc/")
        },
        "ignored": [
            line for line in Path("/proc/self/status").read_text("ascii").split("\n") if "SigIgn" in line
        ],
    }


def hold() -> None:
    """Hold the daemon's lock, or fail as the real one does; one that is about to end is waited for."""
    path = RUNTIME / "daemon.lock"
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if (RUNTIME / "daemon.sock").exists():
                sys.exit(f"timeline: error: {path}: held by another daemon")
            select.select((), (), (), 0.01)
        else:
            return


def serve(version: str, *, stops: bool) -> None:
    """Answer one client after the other until one says stop."""
    path = RUNTIME / "daemon.sock"
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(64)
    (RUNTIME / f"started-{os.getpid()}").touch()
    settle(RUNTIME)
    going = True
    while going:
        connection, _ = listener.accept()
        with connection, suppress(BrokenPipeError):  # a client that has gone already
            going = answer(connection, version) or not stops
    path.unlink()


def answer(connection: socket.socket, version: str) -> bool:
    """Answer one client; whether to go on."""
    with connection.makefile("rb") as given:
        line = given.readline()
        if not line:
            return True
        greeting = parse_greeting(line.removesuffix(b"\n"))
        difference = compare_versions(version, greeting.version)
        if difference is not None:
            connection.sendall(format_difference(version, difference))
            return difference == "newer"
        if greeting.kind is Kind.ASK:
            question = json.loads(given.read())["ask"]
            said = describe() if question == "describe" else {"asked": question, "version": version}
            connection.sendall(json.dumps(said).encode())
            return bool(question != "stop")
        connection.sendall(given.read())
        return True


if __name__ == "__main__":
    mode, argument = sys.argv[1], (sys.argv[2:] or [__version__])[0]
    if mode == "fail":
        sys.exit(
            "a traceback's line\ntimeline: error: config.toml: field tenant: must be a text\ntimeline: hint: no"
        )
    if mode == "held":
        Path(argument).write_bytes(b".")
        sys.exit(f"timeline: error: {RUNTIME / 'daemon.lock'}: held by another daemon")
    if mode == "mute":
        sys.stdin.buffer.read()
        os.read(os.open(RUNTIME / "mute", os.O_RDONLY), 1)
        sys.exit(0)
    hold()
    if mode == "late":
        Path(argument).read_bytes()
    serve(__version__ if mode == "late" else argument, stops=mode != "stay")
