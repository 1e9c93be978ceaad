"""The hook as a whole process, from its start to its end, against a Python that does nothing.

The daemon is played by a process that answers at once: what the real one adds is its own figure.
"""

import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Figure, alternate, percentile, ratio
from timeline import hooks

_ROUNDS = 401
_QUICK_ROUNDS = 61
_INPUT = b'{"prompt":"' + b"x" * 800 + b'"}'
_ANSWER = b'{"hookSpecificOutput":{"x":"' + b"x" * 900 + b'"}}\n'


def figures(*, quick: bool) -> list[Figure]:
    """The two ratios of the issue, and what a shell with OpenBSD's `nc` would take, if it is there."""
    with tempfile.TemporaryDirectory(prefix="tl-") as folder:
        python = [sys.executable, "-I", "-S", "-E", "-B"]
        with subprocess.Popen(
            [sys.executable, "-m", "benchmarks.hook", f"{folder}/daemon.sock"], stdout=subprocess.PIPE
        ) as daemon:
            try:
                if daemon.stdout is None or daemon.stdout.readline() != b"ready\n":
                    raise RuntimeError("the playing daemon does not listen")
                return _measure(python, folder, _QUICK_ROUNDS if quick else _ROUNDS)
            finally:
                daemon.kill()


def _measure(python: Sequence[str], folder: str, rounds: int) -> list[Figure]:
    hook = [*python, hooks.__file__, "codex", folder]
    takes = [
        lambda: _take([*python[:3], "-c", "pass"], b""),
        lambda: _take(hook, _ANSWER),
    ]
    nc = _find_nc()
    if nc is not None:
        first = f"timeline/1 {hooks.VERSION} hook codex"
        pipeline = f"{{ printf '{first}\\n'; cat; }} | {nc} -NU {folder}/daemon.sock"
        takes.append(lambda: _take(["/bin/sh", "-c", pipeline], _ANSWER))
    bare, ours, *others = alternate(rounds, *takes)
    p99, bare_p99 = percentile(ours, 0.99), percentile(bare, 0.99)
    found = [
        Figure(
            "hook, whole process, p50 / python -I -S -c pass", ratio(ours, bare), "x", 1.2, _ms(ours, bare)
        ),
        Figure(
            "the same, p99 / p99",
            p99 / bare_p99,
            "x",
            2.0,
            f"{1000 * p99:.1f} ms against {1000 * bare_p99:.1f} ms",
        ),
    ]
    name = "sh with nc -NU, p50 / python -I -S -c pass"
    if not others:
        return [*found, Figure(name, None, "x", None, "reference missing: install netcat-openbsd")]
    return [*found, Figure(name, ratio(others[0], bare), "x", None, _ms(others[0], bare))]


def _ms(ours: Sequence[float], theirs: Sequence[float]) -> str:
    return f"{1000 * statistics.median(ours):.1f} ms against {1000 * statistics.median(theirs):.1f} ms"


def _find_nc() -> str | None:
    """OpenBSD's: the others know no Unix sockets, or not when their input has ended."""
    found = shutil.which("nc.openbsd") or shutil.which("nc")
    return found if found is not None and "openbsd" in str(Path(found).resolve()) else None


def _take(command: Sequence[str], expected: bytes) -> float:
    """Seconds from the start of a process to its end, its input given and its output read through pipes."""
    given_end, giving_end = os.pipe()
    reading_end, read_end = os.pipe()
    began = time.perf_counter()
    child = os.posix_spawn(
        command[0],
        command,
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, given_end, 0), (os.POSIX_SPAWN_DUP2, read_end, 1)],
    )
    os.close(given_end)
    os.close(read_end)
    os.write(giving_end, _INPUT)
    os.close(giving_end)
    output = b""
    while piece := os.read(reading_end, 65536):
        output += piece
    os.close(reading_end)
    _, status = os.waitpid(child, 0)
    took = time.perf_counter() - began
    if status or output != expected:
        raise RuntimeError(f"{command[0]} ended with status {status} and {len(output)} bytes")
    return took


def _play(path: str) -> None:
    """Answer every client at once, for ever."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(8)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            connection, _ = listener.accept()
            with connection:
                while connection.recv(65536):
                    pass
                connection.sendall(_ANSWER)


if __name__ == "__main__":
    _play(sys.argv[1])
