"""What a host runs at its events, by path: ``python -I -S -E -B hooks.py HOST RUNTIME`` (docs/spec/hooks.md).

Hands the host's input to the daemon as it came, and prints the daemon's answer, whole or not at all. Whatever goes
wrong, it prints nothing and exits with 0: hosts then go on as if there were no hook, and the user's work with them.
One timer ends everything that could wait. Where no daemon listens, one is started and not waited for.

Imports a few modules that are written in C and nothing else: the rest of this program would cost more than all of its
work. So the version and the first line stand here once more; a test compares them.
"""

import _signal  # type: ignore[import-not-found]  # typeshed knows `signal` only, which imports enum
import _socket
import posix
import sys

VERSION = "0.1.0"

DEADLINE_SECONDS = 0.13
"""150 ms for the whole process, of which 20 are left to the interpreter's start before it comes here."""

INPUT_BYTES_MAX = 1024 * 1024
"""As ``timeline.limits.HOOK_INPUT_BYTES_MAX``: a prompt may be long. More is read to its end and dropped."""

ANSWER_BYTES_MAX = 64 * 1024
"""What a pipe takes at once: an answer is written without waiting for the host."""

_PIECE_BYTES = 64 * 1024
_PAUSE_SECONDS = 0.003
_PROMPT = b'"UserPromptSubmit"'
"""The one event that is worth waiting for a daemon: its receipt is the way to consent."""

_REFUSAL = b"timeline/1 "
_OLDER = b" older\n"
"""How a daemon of another version begins, and how one ends that is older: it stops, and is replaced by ours."""


def main(arguments: list[str]) -> None:
    """Answer one event. Raises whatever goes wrong; the caller ends the process without a word."""
    host, runtime = arguments
    content = _read_input()
    if content is None or not runtime.startswith("/"):
        return
    try:
        found = posix.lstat(runtime)
    except FileNotFoundError:
        posix.mkdir(runtime, 0o700)
        found = posix.lstat(runtime)
    if found.st_uid != posix.geteuid() or found.st_mode & 0o170077 != 0o040000:
        return  # not a private folder: somebody else could listen there
    connection = _connect(runtime) or _start(runtime)
    if connection is None and _PROMPT in content:
        connection = _connect_later(runtime)
    if connection is None:
        return
    connection.sendall(f"timeline/1 {VERSION} hook {host}\n".encode("ascii") + content)
    connection.shutdown(_socket.SHUT_WR)
    answer = b""
    while piece := connection.recv(_PIECE_BYTES):
        answer += piece
        if len(answer) > ANSWER_BYTES_MAX:
            return
    if answer.startswith(_REFUSAL):
        if answer.endswith(_OLDER):
            # It ends, and the next is to be ours: clients of its own version would begin it again and again.
            _start_daemon(runtime, _take_start_lock(runtime))
        return
    # Empty, or one line to its newline: what a dying daemon has left unfinished is neither.
    if answer.find(b"\n") == len(answer) - 1:
        _signal.setitimer(_signal.ITIMER_REAL, 0)  # what has begun to be printed is printed whole
        while answer:
            answer = answer[posix.write(1, answer) :]


def _read_input() -> bytes | None:
    """Standard input to its end, since a host takes an early end for a failure; ``None`` where it was too much."""
    content, size = b"", 0
    while piece := posix.read(0, _PIECE_BYTES):
        size += len(piece)
        content = content + piece if size <= INPUT_BYTES_MAX else b""
    return content if size <= INPUT_BYTES_MAX else None


def _connect(runtime: str) -> _socket.socket | None:
    """A connection to whoever listens; ``None`` where nobody does, and only then."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect(runtime + "/daemon.sock")
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    return connection


def _start(runtime: str) -> _socket.socket | None:
    """Start a daemon, unless somebody is about to; a connection where somebody just has."""
    try:
        lock = _take_start_lock(runtime)
    except BlockingIOError:
        return None
    connection = _connect(runtime)
    if connection is None:
        _start_daemon(runtime, lock)
    posix.close(lock)
    return connection


def _connect_later(runtime: str) -> _socket.socket:
    """Connect as soon as the new daemon listens; the timer ends the waiting.

    A host that was just started has its first prompt a few milliseconds after its session began, often its only one.
    """
    import select

    while (connection := _connect(runtime)) is None:
        select.select((), (), (), _PAUSE_SECONDS)
    return connection


def _take_start_lock(runtime: str) -> int:
    """The lock under which a daemon is started (``timeline.launch``); raises where somebody has it already."""
    import fcntl

    flags = posix.O_RDWR | posix.O_CREAT | posix.O_NOFOLLOW | posix.O_CLOEXEC
    opened = posix.open(runtime + "/daemon.starting", flags, 0o600)
    lock = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, 3)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def _start_daemon(runtime: str, lock: int) -> None:
    """Start a daemon, hand it the lock, and do not wait."""
    starter = __file__[: __file__.rindex("/") + 1] + "starter.py"
    posix.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", "-E", "-B", starter, runtime],
        posix.environ,
        file_actions=[
            (posix.POSIX_SPAWN_DUP2, lock, 0),
            # The host waits for the end of the hook's output: a daemon that held it open would stop the host.
            (posix.POSIX_SPAWN_OPEN, 1, "/dev/null", posix.O_WRONLY, 0),
            (posix.POSIX_SPAWN_OPEN, 2, "/dev/null", posix.O_WRONLY, 0),
        ],
    )


def _end() -> None:
    posix._exit(0)  # noqa: SLF001 - public as `os._exit`, whose module would have to be imported


if __name__ == "__main__":
    try:
        _signal.signal(_signal.SIGALRM, lambda *_: _end())
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGALRM,))
        _signal.setitimer(_signal.ITIMER_REAL, DEADLINE_SECONDS)
        main(sys.argv[1:])
    finally:
        _end()  # before an error could be printed
