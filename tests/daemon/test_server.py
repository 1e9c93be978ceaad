"""The daemon's socket: who is heard, within which bounds, and what becomes of everybody else."""

import errno
import os
import select
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from timeline import __version__
from timeline.clock import SystemStopwatch
from timeline.daemon import server as module
from timeline.daemon.server import ClientRequest, Server
from timeline.wire import Greeting, Kind, format_greeting

SECONDS = 30.0
"""A deadline of tests: it is never waited for unless something is wrong."""


@dataclass
class FakeDesk:
    """Answers with what it was asked, and keeps it."""

    version: str = "1.2.3"
    requests: list[ClientRequest] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    told: threading.Event = field(default_factory=threading.Event)

    def hook(self, request: ClientRequest) -> bytes:
        """Say it back."""
        self.requests.append(request)
        return b"heard " + request.body

    def ask(self, request: ClientRequest) -> bytes:
        """Say it back."""
        self.requests.append(request)
        return b"asked " + request.body

    def mcp(self, request: ClientRequest, connection: socket.socket, begun: bytes) -> None:
        """Say back what came behind the first line."""
        self.requests.append(request)
        connection.sendall(b"begun " + begun)
        connection.close()

    def refused(self, reason: str) -> None:
        """Keep it."""
        self.reasons.append(reason)
        self.told.set()


@dataclass
class Running:
    """A server in a thread."""

    path: Path
    desk: FakeDesk
    server: Server
    thread: threading.Thread

    def connect(self) -> socket.socket:
        """A connection to it."""
        found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        found.settimeout(SECONDS)
        found.connect(str(self.path))
        return found

    def say(self, content: bytes, *, end: bool = True) -> bytes:
        """Say something and give the whole answer."""
        with self.connect() as connection:
            try:
                connection.sendall(content)
                if end:
                    connection.shutdown(socket.SHUT_WR)
                return read_all(connection)
            except (BrokenPipeError, ConnectionResetError):
                return b""


def read_all(connection: socket.socket) -> bytes:
    """Everything to the end."""
    pieces = []
    while piece := connection.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


@pytest.fixture
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Give a running server; its folder has a short name, as a socket needs."""
    path = tmp_path_factory.mktemp("s") / "daemon.sock"
    desk = FakeDesk()
    server = Server(path, desk, SystemStopwatch())
    thread = threading.Thread(target=server.run)
    thread.start()
    yield Running(path, desk, server, thread)
    server.stop()
    thread.join(SECONDS)
    assert not thread.is_alive()


def greeting(kind: Kind, *words: str, version: str = "1.2.3") -> bytes:
    """A client's first line."""
    return format_greeting(Greeting(version, kind, words))


@pytest.mark.parametrize(
    ("kind", "answer"), [(Kind.HOOK, b"heard {}"), (Kind.ASK, b"asked {}"), (Kind.MCP, b"begun {}")]
)
def test_each_kind_goes_to_its_desk(running: Running, kind: Kind, answer: bytes) -> None:
    """With its words and the client's process, as the system names it."""
    assert running.say(greeting(kind, "codex") + b"{}") == answer
    (request,) = running.desk.requests
    assert request.greeting.words == ("codex",)
    assert request.peer.process.pid == os.getpid()
    assert request.peer.environment.get("PATH") == os.environ.get("PATH")
    assert [process.pid for process in request.peer.chain][1] == os.getppid()


def test_the_socket_is_for_its_owner_alone(running: Running) -> None:
    """Nobody else may connect, at any moment."""
    assert running.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "line",
    [
        b"timeline/2 1.2.3 hook codex\n",
        b"timeline/1 1.2 hook codex\n",
        b"timeline/1 1.2.3 other\n",
        b"timeline/1 1.2.3\n",
        b"timeline/1  1.2.3 hook\n",
        b"GET / HTTP/1.1\n",
        b"\n",
        b"\xff\xfe\n",
        b"timeline/1 1.2.3 hook " + b"x" * 300 + b"\n",
        b"x" * 100_000,
    ],
)
def test_what_is_no_greeting_gets_no_answer(running: Running, line: bytes) -> None:
    """And the server goes on."""
    assert running.say(line) == b""
    assert running.desk.told.wait(SECONDS)
    assert running.desk.reasons == ["wire-malformed"]
    assert running.desk.requests == []
    assert running.say(greeting(Kind.ASK) + b"still") == b"asked still"


def test_a_body_beyond_its_bound_is_not_heard(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in one piece nor in many."""
    monkeypatch.setattr(module, "HOOK_INPUT_BYTES_MAX", 1000)
    assert running.say(greeting(Kind.HOOK, "codex") + b"x" * 1000).startswith(b"heard x")
    assert running.say(greeting(Kind.HOOK, "codex") + b"x" * 1001) == b""
    assert len(running.desk.requests) == 1


def test_who_takes_too_long_is_left(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that sends a byte now and then gets no more time for it."""
    monkeypatch.setattr(module, "REQUEST_SECONDS", 0.05)
    assert running.say(greeting(Kind.HOOK, "codex") + b"and never ends", end=False) == b""
    assert running.desk.requests == []


def test_who_says_nothing_is_left(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same before the first line."""
    monkeypatch.setattr(module, "REQUEST_SECONDS", 0.05)
    assert running.say(b"timeline/1", end=False) == b""


def test_one_connection_too_many_is_closed(running: Running) -> None:
    """The others go on."""
    held = [running.connect() for _ in range(module.CONNECTIONS_MAX)]
    assert running.say(b"") == b""
    assert running.desk.told.wait(SECONDS)
    assert running.desk.reasons == ["too-many-connections"]
    for connection in held:
        connection.sendall(greeting(Kind.ASK) + b"x")
        connection.shutdown(socket.SHUT_WR)
        assert read_all(connection) == b"asked x"
        connection.close()


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE])
def test_without_a_descriptor_left_one_client_is_closed(
    running: Running, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """The daemon goes on, and serves the next one."""
    assert running.say(greeting(Kind.ASK) + b"x") == b"asked x"
    listener, refusals = running.server._listener, [OSError(code, "full")]

    class Full:
        def accept(self) -> tuple[socket.socket, object]:
            # Not where it only looks whether there is one more, after the client before.
            if refusals and select.select((listener,), (), (), 0)[0]:
                raise refusals.pop()
            return listener.accept()

    with monkeypatch.context() as patch:
        patch.setattr(running.server, "_listener", Full())
        assert running.say(greeting(Kind.ASK) + b"x") == b""
    assert not refusals
    assert running.say(greeting(Kind.ASK) + b"x") == b"asked x"


def test_without_a_thread_left_a_client_is_closed(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where the system starts no further thread; its place is free again."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError

    assert running.say(greeting(Kind.ASK) + b"x") == b"asked x"
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(module.CONNECTIONS_MAX + 1):
            assert running.say(greeting(Kind.ASK) + b"x") == b""
    assert set(running.desk.reasons) == {"too-many-connections"}
    assert running.say(greeting(Kind.ASK) + b"x") == b"asked x"


def test_an_older_client_is_told(running: Running) -> None:
    """The daemon stays."""
    assert running.say(greeting(Kind.ASK, version="1.2.2") + b"{}") == b"timeline/1 1.2.3 newer\n"
    assert running.desk.requests == []
    assert running.say(greeting(Kind.ASK)) == b"asked "


def test_a_newer_client_replaces_the_daemon(running: Running) -> None:
    """It is told that the daemon is older, and the daemon ends; its name is free."""
    assert running.say(greeting(Kind.HOOK, "codex", version="1.3.0") + b"{}") == b"timeline/1 1.2.3 older\n"
    running.thread.join(SECONDS)
    assert not running.thread.is_alive()
    assert not running.path.exists()


def test_a_request_under_way_ends_before_the_server_does(running: Running) -> None:
    """Nothing that was accepted is lost."""
    with running.connect() as connection:
        connection.sendall(greeting(Kind.ASK))
        while not running.server._threads:  # until it is accepted
            threading.Event().wait(0.001)
        running.server.stop()
        connection.sendall(b"late")
        connection.shutdown(socket.SHUT_WR)
        assert read_all(connection) == b"asked late"
    running.thread.join(SECONDS)
    assert not running.path.exists()


def test_a_dead_socket_is_replaced(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The lock says that its owner is gone; the name is taken over."""
    path = tmp_path_factory.mktemp("s") / "daemon.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))
    server = Server(path, FakeDesk(), SystemStopwatch())
    server.stop()
    server.run()
    assert not path.exists()


def test_the_version_here_is_one_that_the_wire_takes() -> None:
    """Three numbers, whatever the release is called."""
    assert format_greeting(Greeting(__version__, Kind.ASK)).count(b" ") == 2
    assert running_version(__version__)


def running_version(version: str) -> bool:
    """Whether every part is a number."""
    return all(part.isdigit() for part in version.split(".")) and version.count(".") == 2


def test_the_socket_of_a_later_daemon_is_left_to_it(running: Running) -> None:
    """Where somebody has removed the runtime folder, another daemon may listen under the same name by then."""
    running.path.unlink()
    with socket.socket(socket.AF_UNIX) as later:
        later.bind(str(running.path))
        running.server.stop()
        running.thread.join(SECONDS)
        assert running.path.exists()
