"""The hook program as hosts run it: a whole answer or none, exit code 0 whatever happens, and nothing heavy."""

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.hooks.conftest import FAKE, Starter, has_ended, pids
from timeline import __version__, dialects, hooks, launch, starter, wire
from timeline.limits import HOOK_INPUT_BYTES_MAX

PROGRAM = hooks.__file__
ANSWER = b'{"hookSpecificOutput":{}}\n'

COUNTED = '    print(end=".", file=open(runtime + "/spawned", "a"))'

Reply = Callable[[socket.socket], None]


def command(runtime: Path | str, host: str = "codex", program: str = PROGRAM) -> list[str]:
    """Give the command that is installed in hosts."""
    return [sys.executable, "-I", "-S", "-E", "-B", program, host, str(runtime)]


def run(runtime: Path | str, given: bytes = b"{}", host: str = "codex", program: str = PROGRAM) -> bytes:
    """Run the hook; it always ends with 0 and without a word on standard error."""
    done = subprocess.run(
        command(runtime, host, program), input=given, capture_output=True, timeout=20, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


@contextmanager
def daemon(runtime: Path, reply: Reply) -> Iterator[list[bytes]]:
    """Answer one client with ``reply``, which gets the connection after all was read; give what was read."""
    heard: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(runtime / "daemon.sock"))
        listener.listen(8)
        listener.settimeout(20)

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                content = b""
                while piece := connection.recv(1 << 16):
                    content += piece
                heard.append(content)
                reply(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield heard
        finally:
            thread.join()


def say(*pieces: bytes) -> Reply:
    """Give a reply that sends these pieces and closes."""

    def reply(connection: socket.socket) -> None:
        for piece in pieces:
            connection.sendall(piece)

    return reply


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """Give a copy of the hook whose starter starts the fake daemon, and counts how often."""
    folder = tmp_path / "installed"
    folder.mkdir()
    shutil.copy(hooks.__file__, folder)
    text = Path(starter.__file__).read_text("utf-8")
    counted = text.replace(
        "    runtime, *command = arguments", "    runtime, *command = arguments\n" + COUNTED
    )
    assert counted != text
    changed = counted.replace('("-I", "-m", "timeline", "daemon", "run")', f'("-I", {FAKE!r}, "serve")')
    assert changed != counted
    (folder / "starter.py").write_text(changed, "utf-8")
    return str(folder / "hooks.py")


# -- what passes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [b"{}", b"", b"\x00\xff\n\n\xfe" * 99, b"x" * HOOK_INPUT_BYTES_MAX])
def test_input_goes_to_the_daemon_as_it_came(runtime: Path, given: bytes) -> None:
    """Behind the first line; binary, empty and the longest allowed."""
    with daemon(runtime, say(ANSWER)) as heard:
        assert run(runtime, given, "kimi") == ANSWER
    assert heard == [f"timeline/1 {__version__} hook kimi\n".encode() + given]


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (ANSWER,),
        tuple(ANSWER[i : i + 1] for i in range(len(ANSWER))),
        (b"Timeline: words\n",),
        (b"a" * (hooks.ANSWER_BYTES_MAX - 1), b"\n"),
    ],
)
def test_an_answer_is_printed_as_it_came(runtime: Path, pieces: tuple[bytes, ...]) -> None:
    """Empty, whole, in pieces, as text, and the longest allowed."""
    with daemon(runtime, say(*pieces)):
        assert run(runtime) == b"".join(pieces)


@pytest.mark.parametrize(
    "pieces",
    [
        (ANSWER[:-1],),
        (b'{"hookSpecific',),
        (b"a" * hooks.ANSWER_BYTES_MAX, b"\n"),
        (b"a" * (4 * hooks.ANSWER_BYTES_MAX), b"\n"),
        (b"two\nlines\n",),
        (wire.format_difference("9.9.9", wire.Difference.NEWER),),
    ],
)
def test_anything_else_is_not_printed(runtime: Path, pieces: tuple[bytes, ...]) -> None:
    """Cut off, too long, of several lines, or a daemon of another version: no part of it."""

    def reply(connection: socket.socket) -> None:
        try:
            say(*pieces)(connection)
        except BrokenPipeError:  # the hook has heard enough
            return

    with daemon(runtime, reply):
        assert run(runtime) == b""


def test_too_much_input_is_read_and_dropped(runtime: Path) -> None:
    """The host can write it all, and no daemon hears of it."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(runtime / "daemon.sock"))
        listener.listen(1)
        listener.setblocking(False)
        assert run(runtime, b"x" * (HOOK_INPUT_BYTES_MAX + 1)) == b""
        with pytest.raises(BlockingIOError):
            listener.accept()


# -- what fails ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X9")
def test_a_daemon_that_never_answers_is_left(runtime: Path) -> None:
    """After the deadline, with half an answer in hand; so is one that does not even accept."""

    def wait(connection: socket.socket) -> None:
        connection.sendall(ANSWER[:5])
        assert connection.recv(1) == b""
        connection.settimeout(20)
        with pytest.raises(OSError, match="pipe"):
            while True:  # until the hook is gone
                connection.sendall(b"-" * 4096)

    with daemon(runtime, wait):
        assert run(runtime) == b""
    (runtime / "daemon.sock").unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(runtime / "daemon.sock"))
        listener.listen(1)
        assert run(runtime) == b""


def test_a_host_that_keeps_its_end_open_is_left(runtime: Path) -> None:
    """The deadline counts from the start, and a host may forget to close; a blocked signal does not stop it."""
    import signal

    child = subprocess.Popen(
        command(runtime),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]),  # noqa: PLW1509  # no threads
    )
    assert child.wait(20) == 0
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.read() == b""
    child.stdin.close()
    child.stdout.close()


def test_a_dying_daemon_is_silence(runtime: Path) -> None:
    """A reset connection in the middle of the answer."""

    def die(connection: socket.socket) -> None:
        connection.sendall(ANSWER[:9])
        import struct

        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with daemon(runtime, die):
        assert run(runtime) == b""


def test_a_daemon_that_closes_without_reading_is_silence(runtime: Path) -> None:
    """The input is longer than the socket takes, so that sending fails."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(runtime / "daemon.sock"))
        listener.listen(1)

        def close() -> None:
            listener.accept()[0].close()

        thread = threading.Thread(target=close)
        thread.start()
        assert run(runtime, b"x" * HOOK_INPUT_BYTES_MAX) == b""
        thread.join()


def test_closed_streams_are_silence(runtime: Path) -> None:
    """A host that has gone: output without a reader, and no streams at all."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        with daemon(runtime, say(ANSWER)):
            done = subprocess.run(
                command(runtime), input=b"{}", stdout=writing, stderr=subprocess.PIPE, check=False
            )
        assert (done.returncode, done.stderr) == (0, b"")
    finally:
        os.close(writing)
    (runtime / "daemon.sock").unlink()
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(runtime / "daemon.sock"))
            listener.listen(1)
            shell = ["sh", "-c", f'exec "$@" {closed}', "sh"]
            done = subprocess.run([*shell, *command(runtime)], input=b"{}", capture_output=True, check=False)
        (runtime / "daemon.sock").unlink()
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("mode", [0o755, 0o701, 0o720])
def test_a_folder_that_others_may_enter_gets_nothing(runtime: Path, mode: int) -> None:
    """Not the input either: somebody else could listen there."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(runtime / "daemon.sock"))
        listener.listen(1)
        listener.setblocking(False)
        runtime.chmod(mode)
        assert run(runtime) == b""
        runtime.chmod(0o700)
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.mark.parametrize("arguments", [["codex"], ["codex", "RUNTIME", "x"], ["c\u00f6dex", "RUNTIME"], []])
def test_wrong_arguments_are_silence(runtime: Path, arguments: list[str]) -> None:
    """As of an installation that somebody has edited."""
    said = [str(runtime) if argument == "RUNTIME" else argument for argument in arguments]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(runtime / "daemon.sock"))
        listener.listen(1)
        done = subprocess.run([*command("/")[:6], *said], input=b"{}", capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("place", ["relative", "file", "below/nothing", "link"])
def test_no_daemon_is_started_where_none_can_be(tmp_path: Path, installed: str, place: str) -> None:
    """No folder is made below the project, in a folder that is missing, or behind a link."""
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "private").mkdir(0o700)
    (tmp_path / "link").symlink_to(tmp_path / "private")
    before = sorted(tmp_path.rglob("*"))
    given = place if place == "relative" else str(tmp_path / place)
    done = subprocess.run(
        command(given, program=installed), input=b"{}", capture_output=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert sorted(tmp_path.rglob("*")) == before


# -- starting the daemon ---------------------------------------------------------------------------------------


def wait_until_listening(runtime: Path) -> None:
    """Come back when the daemon that somebody has started can be asked."""
    launch.start(runtime, command=["/nonexistent"])


@pytest.mark.parametrize("left", ["nothing", "folder", "dead socket"])
def test_a_hook_without_a_daemon_starts_one(runtime: Path, installed: str, left: str) -> None:
    """And says nothing, and leaves its output to nobody; the next hook is answered."""
    if left == "nothing":
        runtime.rmdir()
    if left == "dead socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(runtime / "daemon.sock"))
    done = subprocess.run(
        command(runtime, program=installed), input=b"{}", capture_output=True, timeout=20, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    wait_until_listening(runtime)
    assert len(pids(runtime)) == 1
    assert runtime.stat().st_mode & 0o777 == 0o700
    assert run(runtime, b"again\n") == b"again\n"


def test_ten_hooks_at_once_start_one_daemon(runtime: Path, installed: str) -> None:
    """The start lock is taken before a process is started, so that nine start none."""
    children = [
        subprocess.Popen(command(runtime, program=installed), stdin=subprocess.DEVNULL) for _ in range(10)
    ]
    assert [child.wait(20) for child in children] == [0] * 10
    wait_until_listening(runtime)
    assert len(pids(runtime)) == 1
    assert (runtime / "spawned").read_bytes() == b"."


@pytest.mark.requirement("X1")
def test_a_hook_that_meets_an_older_daemon_starts_the_next(
    runtime: Path, installed: str, begin: Starter
) -> None:
    """Or hooks of the older version would begin the older daemon again."""
    begin("serve", "0.0.1")
    (older,) = pids(runtime)
    assert run(runtime, b"x\n", program=installed) == b""
    while not has_ended(older):
        threading.Event().wait(0.001)
    wait_until_listening(runtime)
    assert run(runtime, b"again\n") == b"again\n"
    assert (runtime / "spawned").read_bytes() == b"."


@pytest.mark.requirement("X1")
def test_a_hook_that_meets_a_newer_daemon_starts_none(runtime: Path, installed: str, begin: Starter) -> None:
    """It stays as it is."""
    begin("serve", "999.0.0")
    assert run(runtime, b"x\n", program=installed) == b""
    assert not (runtime / "spawned").exists()
    assert len(pids(runtime)) == 1


def test_a_start_that_is_under_way_is_left_to_it(runtime: Path, installed: str) -> None:
    """Whoever holds the start lock is starting one."""
    import fcntl

    with (runtime / launch.START_LOCK_NAME).open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        (Path(installed).parent / "starter.py").write_text("raise SystemExit('started')\n", "utf-8")
        assert subprocess.run(command(runtime, program=installed), input=b"{}", check=False).returncode == 0
    assert pids(runtime) == []


# -- what it is ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X9")
def test_it_loads_almost_nothing(runtime: Path) -> None:
    """Beyond what the interpreter has loaded by itself, only modules in C."""

    def loaded(*program: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-E", "-B", "-X", "importtime", *program],
            input=b"{}",
            capture_output=True,
            check=True,
        )
        return {line.rpartition("|")[2].strip() for line in done.stderr.decode().split("\n") if "|" in line}

    with daemon(runtime, say(ANSWER)):
        assert loaded(PROGRAM, "codex", str(runtime)) - loaded("-c", "pass") <= {
            "_socket",
            "_signal",
            "posix",
        }


def test_what_stands_in_it_once_more_is_the_same() -> None:
    """The version, the bounds, the first line and the names of the files."""
    assert __version__ == hooks.VERSION
    assert hooks.INPUT_BYTES_MAX == HOOK_INPUT_BYTES_MAX
    source = Path(hooks.__file__).read_text("utf-8")
    for name in (launch.SOCKET_NAME, launch.START_LOCK_NAME):
        assert f'"/{name}"' in source
    greeting = wire.parse_greeting(f"timeline/1 {hooks.VERSION} hook codex".encode())
    assert greeting == wire.Greeting(__version__, wire.Kind.HOOK, ("codex",))
    assert wire.PROTOCOL.encode() + b" " == hooks._REFUSAL
    assert 6 * dialects.CONTEXT_CHARACTERS_MAX < hooks.ANSWER_BYTES_MAX
