"""Finding, starting, replacing and stopping the daemon: once for ten clients, never from a sandbox."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.hooks.conftest import FAKE, Starter, end, has_ended, pids
from timeline import __version__, launch, starter
from timeline.errors import StateUnwritableError
from timeline.hosts import HOST_VARIABLES
from timeline.launch import DaemonStartError, DaemonStartRefusedError, check_may_start
from timeline.reach import (
    DaemonAwayError,
    DaemonFullError,
    DaemonNewerError,
    DaemonStopError,
    DaemonUnreachableError,
    find,
    first_line,
    speak,
)
from timeline.wire import Difference, Greeting, Kind, format_difference, format_greeting

OLDER, NEWER = "0.0.1", "999.0.0"


class Jumping:
    """A stopwatch on which every look costs seconds."""

    def __init__(self, step: float) -> None:
        self._now, self._step = 0.0, step

    def seconds(self) -> float:
        self._now += self._step
        return self._now


def asked(runtime: Path, question: str = "status", **options: Callable[[], None]) -> dict[str, Any]:
    """Ask, and parse the answer."""
    return json.loads(launch.ask(runtime, json.dumps({"ask": question}).encode(), **options))


def never() -> None:
    """Fail where a client starts a daemon and must not."""
    raise AssertionError("started")


# -- starting --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X1")
def test_ten_clients_at_once_start_one_daemon(runtime: Path, begin: Starter) -> None:
    """All ten are answered, by the same process."""
    gate = threading.Barrier(10)
    answers: list[object] = []

    def client() -> None:
        gate.wait()
        answers.append(asked(runtime, start=begin))

    threads = [threading.Thread(target=client) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [{"asked": "status", "version": __version__}] * 10
    assert len(pids(runtime)) == 1


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system has no /proc")
def test_a_daemon_inherits_nothing_of_its_client(
    runtime: Path, begin: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own session, no terminal, no file, default signals, and an environment of a few names."""
    private = tmp_path / "private"
    private.mkdir(0o700)
    for name, value in {
        "CODEX_THREAD_ID": "t", "AWS_SECRET_ACCESS_KEY": "s", "PYTHONPATH": "/x", "LD_PRELOAD": "",
        "XDG_SESSION_ID": "1", "LC_TIME": "C", "TIMELINE_STATE_DIR": "/s", "TMPDIR": str(private), "PATH": "/bin",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    with (tmp_path / "leak").open("wb") as leak:
        os.set_inheritable(leak.fileno(), True)
        before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        try:
            begin()
        finally:
            signal.signal(signal.SIGUSR1, before)
    [pid] = pids(runtime)
    found = asked(runtime, "describe")
    environment = found["environment"]
    assert set(environment) <= starter.KEPT | {"TMPDIR", "LC_TIME", "LC_CTYPE"}
    assert environment["TIMELINE_RUNTIME_DIR"] == str(runtime)
    assert (environment["TIMELINE_STATE_DIR"], environment["LC_TIME"], environment["TMPDIR"]) == (
        "/s", "C", str(private),
    )  # fmt: skip
    assert (found["cwd"], found["umask"]) == ("/", 0o077)
    assert found["session"] not in {pid, os.getsid(0)}
    assert found["parent"] != os.getpid()
    files = {int(fd): target for fd, target in found["descriptors"].items()}
    assert {files[fd] for fd in (0, 1, 2)} == {"/dev/null"}
    assert str(tmp_path / "leak") not in files.values()
    assert not any("daemon.starting" in target or "pipe:" in target for target in files.values())
    assert not int(found["ignored"][0].split()[1], 16) & (1 << (signal.SIGUSR1 - 1))
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_daemon_that_is_there_is_used(runtime: Path, begin: Starter) -> None:
    """Starting again starts nothing, and a connection needs no start."""
    begin()
    begin("fail")
    launch.start(runtime, command=["/nonexistent"])
    with closing(launch.connect(runtime, ["hook", "codex"], start=never)) as connection:
        connection.sendall(b"{}")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(64) == b"{}"
        assert connection.gettimeout() is None
    assert len(pids(runtime)) == 1


def test_a_dead_daemons_socket_is_left_to_the_next_daemon(runtime: Path, begin: Starter) -> None:
    """A client that may not start one is told, and removes nothing; the next start replaces it."""
    begin()
    [pid] = pids(runtime)
    end(pid)
    with pytest.raises(DaemonAwayError):
        asked(runtime)
    assert (runtime / "daemon.sock").is_socket()
    assert asked(runtime, start=begin) == {"asked": "status", "version": __version__}


def test_no_runtime_folder_is_no_daemon(runtime: Path, begin: Starter) -> None:
    """Whoever starts one makes the folder, private; whoever may not, is told."""
    runtime.rmdir()
    with pytest.raises(DaemonAwayError):
        asked(runtime)
    assert not runtime.exists()
    begin()
    assert runtime.stat().st_mode & 0o777 == 0o700


def test_a_daemon_that_fails_says_why(runtime: Path, begin: Starter) -> None:
    """Its own error is in ours, nothing else it printed, and nothing stays locked."""
    for _ in range(2):
        with pytest.raises(DaemonStartError, match="field tenant: must be a text") as refused:
            begin("fail")
        assert "traceback" not in refused.value.message
        assert "hint" not in refused.value.message
    begin()


def test_a_daemon_that_never_listens_is_waited_for_until_the_deadline(runtime: Path, begin: Starter) -> None:
    """The client goes on; who comes meanwhile starts no second one."""
    os.mkfifo(runtime / "mute")
    with pytest.raises(DaemonStartError, match="does not listen yet"):
        begin("mute", wait_seconds=0.2, stopwatch=Jumping(0.1))
    with pytest.raises(DaemonStartError, match=r"no daemon listens after 0\.2 s"):
        begin("serve", wait_seconds=0.2, stopwatch=Jumping(0.1))
    assert pids(runtime) == []
    (runtime / "mute").write_bytes(b".")
    begin()


def test_a_program_that_cannot_be_run_is_a_failed_start(runtime: Path) -> None:
    """As an installation that was removed meanwhile."""
    with pytest.raises(DaemonStartError):
        launch.start(runtime, command=["/nonexistent/python"])


def test_a_daemon_of_another_origin_is_waited_for(runtime: Path, begin: Starter) -> None:
    """A service manager's daemon holds the lock and does not listen yet: ours fails, and theirs is used."""
    os.mkfifo(runtime / "go")
    late = subprocess.Popen([sys.executable, "-I", FAKE, "late", str(runtime / "go")])
    try:
        begin("held", str(runtime / "go"))
        assert pids(runtime) == [late.pid]
    finally:
        late.kill()
        late.wait()


def test_a_start_that_brings_nothing_is_not_tried_for_ever(runtime: Path) -> None:
    """As where each new daemon dies as soon as it listens."""
    tries: list[None] = []
    with pytest.raises(DaemonAwayError):
        launch.connect(
            runtime, ["ask"], start=lambda: tries.append(None), wait_seconds=5.0, stopwatch=Jumping(1.0)
        )
    assert 1 < len(tries) < 6


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_folder_is_an_error_of_ours(runtime: Path, begin: Starter) -> None:
    """The lock cannot be made, so nothing is started."""
    runtime.chmod(0o500)
    with pytest.raises(StateUnwritableError):
        begin()


def test_a_file_where_the_folder_should_be_is_an_error_of_ours(runtime: Path) -> None:
    """Nothing is started."""
    (runtime / "file").write_bytes(b"")
    with pytest.raises(StateUnwritableError):
        launch.start(runtime / "file" / "r")


# -- from where a daemon may be started ------------------------------------------------------------------------


@pytest.mark.parametrize("error", [PermissionError(1, "not permitted"), PermissionError(13, "denied")])
def test_a_forbidden_connection_is_no_reason_to_start(
    runtime: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    """That is how a host's sandbox looks from inside."""

    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(os, "posix_spawn", lambda *_, **__: never())
    with pytest.raises(DaemonUnreachableError):
        asked(runtime, start=never)
    with pytest.raises(DaemonUnreachableError):
        launch.start(runtime)


@pytest.mark.parametrize("mode", [0o755, 0o710, 0o702])
def test_a_folder_that_others_may_enter_is_refused(runtime: Path, begin: Starter, mode: int) -> None:
    """Somebody else's socket could stand there."""
    begin()
    runtime.chmod(mode)
    with pytest.raises(DaemonUnreachableError, match="0700"):
        asked(runtime, start=never)
    runtime.chmod(0o700)


def test_a_link_is_no_runtime_folder(runtime: Path, tmp_path: Path) -> None:
    """Whoever can make a link can turn it."""
    (tmp_path / "link").symlink_to(runtime)
    with pytest.raises(DaemonUnreachableError):
        find(tmp_path / "link")


@pytest.mark.parametrize("name", sorted(HOST_VARIABLES))
def test_a_command_with_a_hosts_variable_may_not_start_one(name: str) -> None:
    """The model runs it, perhaps in its sandbox."""
    with pytest.raises(DaemonStartRefusedError, match=name):
        check_may_start({"HOME": "/", name: ""}, None)


def test_a_command_below_a_host_may_not_start_one() -> None:
    """A clean environment does not help it; a terminal of the owner's may."""
    with pytest.raises(DaemonStartRefusedError, match="codex"):
        check_may_start({}, "codex")
    check_may_start({"HOME": "/", "CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/d"}, None)


# -- versions --------------------------------------------------------------------------------------------------


def test_an_older_daemon_is_replaced(runtime: Path, begin: Starter) -> None:
    """It ends, lets go of its lock, and ours is started."""
    with suppress(DaemonNewerError):
        begin("serve", OLDER)
    [older] = pids(runtime)
    assert asked(runtime, start=begin) == {"asked": "status", "version": __version__}
    assert len(pids(runtime)) == 2
    assert has_ended(older)


def test_an_older_daemon_ends_also_where_none_may_be_started(runtime: Path, begin: Starter) -> None:
    """The client is told that there is none, when there is none any more."""
    begin("serve", OLDER)
    [older] = pids(runtime)
    with pytest.raises(DaemonAwayError):
        asked(runtime)
    assert has_ended(older)


def test_nobody_begins_another_while_an_older_daemon_ends(
    runtime: Path, begin: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client of the older version would begin an older daemon again."""
    begin("serve", OLDER)
    real, free = launch.ending, []

    @contextmanager
    def ending(connection: socket.socket):
        with real(connection) as ended:

            def looked(end: float, watch: object) -> None:
                free.append(launch._take_start_lock(runtime))
                ended(end, watch)

            yield looked

    monkeypatch.setattr(launch, "ending", ending)
    assert asked(runtime, start=begin)["version"] == __version__
    assert free == [None]


def test_a_newer_daemon_stays(runtime: Path, begin: Starter) -> None:
    """An older client neither uses nor stops nor replaces it."""
    begin("serve", NEWER)
    with pytest.raises(DaemonNewerError, match=NEWER):
        asked(runtime, start=never)
    with pytest.raises(DaemonNewerError):
        launch.stop(runtime)
    [pid] = pids(runtime)
    assert not has_ended(pid)


@pytest.mark.parametrize(
    ("answer", "is_older"),
    [
        (format_difference(OLDER, Difference.OLDER), True),
        (b'{"asked": "version"}', False),
        (b"timeline/1 older\n", False),
        (b"\xff timeline/1 older", False),
    ],
)
def test_a_daemon_says_whether_it_is_older(runtime: Path, answer: bytes, *, is_older: bool) -> None:
    """By the line of `timeline.wire`, and by no other answer."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(answer)
        theirs.shutdown(socket.SHUT_WR)
        assert speak(runtime, ours, b"{}") is is_older


def test_the_first_line_is_the_wires() -> None:
    """The light client writes what `timeline.wire` defines."""
    assert first_line(["mcp", "codex"]) == format_greeting(Greeting(__version__, Kind.MCP, ("codex",)))


# -- stopping and being full -----------------------------------------------------------------------------------


def test_a_daemon_is_stopped(runtime: Path, begin: Starter) -> None:
    """When the call comes back its process has ended; where none was, that is said."""
    assert launch.stop(runtime) is False
    for version in (__version__, OLDER):
        begin("serve", version)
        assert launch.stop(runtime) is True
        assert launch.stop(runtime) is False
    assert len(pids(runtime)) == 2
    assert all(map(has_ended, pids(runtime)))


def test_a_daemon_that_does_not_end_is_reported(runtime: Path, begin: Starter) -> None:
    """The caller is not kept beyond the deadline, and nothing is killed."""
    begin("stay")
    with pytest.raises(DaemonStopError):
        launch.stop(runtime, wait_seconds=1.0, stopwatch=Jumping(0.9))
    [pid] = pids(runtime)
    assert not has_ended(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux refuses at once when the queue is full")
def test_a_full_daemon_is_asked_again(runtime: Path) -> None:
    """Until the deadline, and no other one is started."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(runtime / "daemon.sock"))
        listener.listen(0)
        waiting = find(runtime)
        with pytest.raises(DaemonFullError):
            launch.connect(runtime, ["ask"], start=never, wait_seconds=3.0, stopwatch=Jumping(1.0))
        waiting.close()


def test_a_daemon_that_closes_at_once_is_full(runtime: Path) -> None:
    """An end without an answer is no answer."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(runtime / "daemon.sock"))
        listener.listen(8)

        def close() -> None:
            for _ in range(3):
                listener.accept()[0].close()

        thread = threading.Thread(target=close)
        thread.start()
        with pytest.raises(DaemonFullError):
            launch.connect(runtime, ["ask"], start=never, wait_seconds=2.0, stopwatch=Jumping(0.9))
        thread.join()


# -- what is loaded, kept and left -----------------------------------------------------------------------------


def test_a_light_client_stays_light() -> None:
    """The relay loads this once for every session of every host."""
    program = "import sys, timeline.launch; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, check=True)
    heavy = {"msgspec", "subprocess", "asyncio", "json", "logging", "click", "filelock", "typing_extensions"}
    assert heavy & set(done.stdout.decode().split()) == set()


def test_a_daemon_that_no_client_started_keeps_its_output(runtime: Path) -> None:
    """A person or a service manager reads on."""
    (runtime / launch.START_LOCK_NAME).write_bytes(b"")
    program = "import sys, pathlib, timeline.launch as l; l.settle(pathlib.Path(sys.argv[1])); print(1)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, str(runtime)], capture_output=True, check=True, input=b""
    )
    assert done.stdout == b"1\n"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"HOME": "/h", "LANG": "C", "TZ": "UTC", "LC_ALL": "C"}, {"HOME", "LANG", "TZ", "LC_ALL"}),
        ({"TIMELINE_TRUST_DIR": "/t", "TIMELINE_OTHER": "x"}, {"TIMELINE_TRUST_DIR"}),
        ({"XDG_STATE_HOME": "/s", "XDG_SESSION_ID": "1"}, {"XDG_STATE_HOME"}),
        ({"CODEX_HOME": "/c", "CLAUDECODE": "1", "API_KEY": "k", "LD_PRELOAD": "x", "PYTHONPATH": "p"}, set()),
        ({"TMPDIR": "/tmp", "TEMP": "/tmp"}, set()),
    ],
)  # fmt: skip
def test_the_environment_is_a_list_of_names(given: dict[str, str], kept: set[str]) -> None:
    """What is not on it does not pass, whatever it is called."""
    scrubbed = starter.scrub(given, "/r", temporary_is_private=False)
    assert set(scrubbed) == kept | {"TIMELINE_RUNTIME_DIR"}
    assert scrubbed["TIMELINE_RUNTIME_DIR"] == "/r"


def test_a_folder_for_temporary_files_is_kept_where_it_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one that others can write to, not a link, not a relative path."""
    private, shared = tmp_path / "private", tmp_path / "shared"
    private.mkdir(0o700)
    shared.mkdir()
    shared.chmod(0o1777)
    (tmp_path / "link").symlink_to(private)
    assert starter.is_private(str(private))
    monkeypatch.chdir(tmp_path)
    assert not starter.is_private("private")
    assert not any(map(starter.is_private, ["", str(shared), str(tmp_path / "link"), str(tmp_path / "none")]))
    assert starter.scrub({"TMPDIR": str(private)}, "/r", temporary_is_private=True)["TMPDIR"] == str(private)


def test_the_real_program_is_what_is_run() -> None:
    """``python -m timeline daemon run``, isolated from the working folder and the user's settings."""
    assert starter.COMMAND == ("-I", "-m", "timeline", "daemon", "run")
    done = subprocess.run(
        [sys.executable, "-I", "-m", "timeline", "--version"], capture_output=True, check=True
    )
    assert __version__ in done.stdout.decode()
    assert partial(launch.start, Path("/r")).keywords == {}
