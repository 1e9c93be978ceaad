"""The HTTP side: what is answered, what is bounded, and how it stops."""

import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.simulators.witnesses import (
    ORIGIN,
    Branch,
    HandClock,
    HandStopwatch,
    Served,
    make_folder,
    serving,
    socket_path,
    working,
)
from tests.witness.talk import connected, post, read_reply, request, say
from timeline.cli.witness import _Diary
from timeline.witness.endpoint import UnixEndpoint
from timeline.witness.errors import WitnessAddressTakenError
from timeline.witness.handler import HEAD_BYTES_MAX, IDLE_SECONDS, REQUEST_SECONDS
from timeline.witness.protocol import BODY_BYTES_MAX, Status, latest_path
from timeline.witness.server import CONNECTIONS_MAX, SocketServer
from timeline.witness.service import Answer, Witness

LOG = Branch.of(6)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Give a witness that has cosigned size 3, and its socket."""
    with serving(make_folder(tmp_path / "w")) as served:
        assert post(served.endpoint, LOG.body(0, 3))[0] == 200
        served.answers.clear()
        yield served


ROWS: dict[str, tuple[bytes, int]] = {
    "submission": (request("POST", "/add-checkpoint", LOG.body(3)), 200),
    "latest": (request("GET", latest_path(ORIGIN)), 200),
    "other log": (request("GET", latest_path("nobody")), 404),
    "other path": (request("GET", "/"), 404),
    "other path with a query": (request("GET", latest_path(ORIGIN) + "?x"), 404),
    "post elsewhere": (request("POST", "/", b"x"), 404),
    "get where to post": (request("GET", "/add-checkpoint"), 405),
    "another method": (request("PUT", "/add-checkpoint", b"x"), 405),
    "get with a body": (request("GET", latest_path(ORIGIN), b"x"), 400),
    "no length": (b"POST /add-checkpoint HTTP/1.1\r\n\r\n", 411),
    "chunked": (b"POST /add-checkpoint HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
    "chunked and a length": (
        request("POST", "/add-checkpoint", LOG.body(3), "Transfer-Encoding: chunked"),
        411,
    ),
    "two lengths": (
        b"POST /add-checkpoint HTTP/1.1\r\nContent-Length: %d\r\nContent-Length: 5\r\n\r\n%s"
        % (len(LOG.body(3)), LOG.body(3)),
        400,
    ),
    "no number": (b"POST /add-checkpoint HTTP/1.1\r\nContent-Length: +5\r\n\r\nxxxxx", 400),
    "leading zero": (b"POST /add-checkpoint HTTP/1.1\r\nContent-Length: 05\r\n\r\nxxxxx", 400),
    "too large": (
        b"POST /add-checkpoint HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (BODY_BYTES_MAX + 1),
        413,
    ),
    "empty": (request("POST", "/add-checkpoint"), 400),
    "no HTTP": (b"\x16\x03\x01 hello there x\r\n\r\n", 400),
    "other version": (b"GET / HTTP/9.9\r\n\r\n", 400),
}


@pytest.mark.parametrize("name", ROWS)
def test_each_request_has_its_code(served: Served, name: str) -> None:
    """C2SP's codes for what is of the protocol, HTTP's for what is not; never a page that repeats the request."""
    content, status = ROWS[name]
    said = say(served.endpoint, content)
    assert said is not None
    assert said[0] == status
    assert said[1]["content-type"] == "text/plain; charset=utf-8"
    assert b"hello" not in said[2]
    assert b"<" not in said[2]
    assert said[1].get("server") is None
    assert post(served.endpoint, LOG.body(0, 4))[0] == 409


def test_a_large_body_is_read_up_to_the_bound(served: Served) -> None:
    """The last byte that may come still belongs to the request: it is read, and refused for its form."""
    assert post(served.endpoint, bytes(BODY_BYTES_MAX))[0] == 400


def test_a_connection_serves_one_request_after_the_other(served: Served) -> None:
    """Keep-alive, as C2SP asks, and two requests sent at once."""
    with connected(served.endpoint) as connection:
        for number in range(3):
            connection.sendall(request("POST", "/add-checkpoint", LOG.body(3, 3)))
            said = read_reply(connection)
            assert said is not None
            assert said[0] == 200, number
        connection.sendall(request("GET", latest_path(ORIGIN)) * 2)
    codes = [int(answer.status) for answer in served.answers]
    assert codes[:3] == [200, 200, 200]


def test_a_client_that_asks_to_close_is_let_go(served: Served) -> None:
    """``Connection: close`` ends it after the answer."""
    with connected(served.endpoint) as connection:
        connection.sendall(request("GET", latest_path(ORIGIN), b"", "Connection: close"))
        said = read_reply(connection)
        assert said is not None
        assert said[1]["connection"] == "close"
        assert connection.recv(1) == b""


@pytest.mark.parametrize(
    "sent",
    [b"POST /add-checkpoint HT", request("POST", "/add-checkpoint", b"old 3\n")[:-1]],
    ids=["half a head", "half a body"],
)
def test_a_request_that_takes_too_long_is_dropped(tmp_path: Path, sent: bytes) -> None:
    """The whole request has one deadline: a byte now and then does not keep a thread for ever."""
    stopwatch = _Waiting()
    with (
        serving(make_folder(tmp_path / "w"), stopwatch=stopwatch) as served,
        connected(served.endpoint) as connection,
    ):
        connection.sendall(sent)
        stopwatch.settle()
        stopwatch.at += REQUEST_SECONDS
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(b"x")
        assert read_reply(connection) is None
        assert post(served.endpoint, LOG.body(0, 3))[0] == 200


def test_a_connection_that_asks_nothing_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two requests a connection may be idle for a while, and not longer."""
    monkeypatch.setattr("timeline.witness.handler.IDLE_SECONDS", 0.01)
    with serving(make_folder(tmp_path / "w")) as served, connected(served.endpoint) as connection:
        assert connection.recv(1) == b""


class _Waiting(HandStopwatch):
    """A stopwatch that says when it was looked at, so that a test moves it while the server waits."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = threading.Semaphore(0)

    def seconds(self) -> float:
        self.looks.release()
        return super().seconds()

    def settle(self) -> None:
        """Wait until what was sent has been taken: the server looks four times until it has its first bytes."""
        for _ in range(4):
            assert self.looks.acquire(timeout=30)


@pytest.mark.parametrize(
    ("start", "filler", "count"),
    [
        (b"GET /", b"x", HEAD_BYTES_MAX + BODY_BYTES_MAX + 100),
        (b"GET / HTTP/1.1\r\n", b"X-Header: filler\r\n", 10_000),
        (b"GET / HTTP/1.1\r\n", b"X-Header: " + b"f" * 2000 + b"\r\n", 90),
    ],
    ids=["a line", "many headers", "long headers"],
)
def test_a_head_without_end_is_dropped(served: Served, start: bytes, filler: bytes, count: int) -> None:
    """Request line and headers are bounded together, whatever they are made of."""
    with connected(served.endpoint) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(start + filler * count + b"\r\n")
        said = read_reply(connection)
        assert said is None or said[0] == 400
    assert post(served.endpoint, LOG.body(3))[0] == 200


def test_connections_are_counted_and_one_too_many_is_told_so(served: Served) -> None:
    """503 at once, without a thread, and service again when one has gone."""
    connections = []
    try:
        for _ in range(CONNECTIONS_MAX):
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(30)
            connection.connect(served.endpoint.path)
            connections.append(connection)
            connection.sendall(request("GET", latest_path(ORIGIN)))
            assert (read_reply(connection) or (0,))[0] == 200
        said = say(served.endpoint, request("GET", latest_path(ORIGIN)))
        assert said is not None
        assert (said[0], said[1]["retry-after"], said[2]) == (503, "1", b"")
        connections.pop().close()
        _until(lambda: (say(served.endpoint, request("GET", latest_path(ORIGIN))) or (0,))[0] == 200)
    finally:
        for connection in connections:
            connection.close()


def _until(done: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if done():
            return
    raise TimeoutError


def test_stopping_lets_a_running_request_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is being answered is answered; one that waits for a request is let go; then the socket is gone."""
    inside, go_on = threading.Event(), threading.Event()
    real = Witness.add_checkpoint

    def slow(self: Witness, body: bytes) -> Answer:
        inside.set()
        assert go_on.wait(30)
        return real(self, body)

    monkeypatch.setattr(Witness, "add_checkpoint", slow)
    with working(make_folder(tmp_path / "w")) as witness, socket_path() as path:
        server = SocketServer(UnixEndpoint(path), 0o600, witness, HandStopwatch(), lambda _: None)
        thread = threading.Thread(target=server.run)
        thread.start()
        with connected(UnixEndpoint(path)) as idle, connected(UnixEndpoint(path)) as busy:
            idle.sendall(request("GET", latest_path(ORIGIN)))
            assert (read_reply(idle) or (0,))[0] == 404
            busy.sendall(request("POST", "/add-checkpoint", LOG.body(0, 3)))
            assert inside.wait(30)
            server.stop()
            idle.settimeout(IDLE_SECONDS / 3)  # woken, and not only at the end of its time
            assert idle.recv(1) == b""
            go_on.set()
            said = read_reply(busy)
            assert said is not None
            assert (said[0], said[1]["connection"]) == (200, "close")
            assert busy.recv(1) == b""
        thread.join()
        assert not Path(path).exists()


def test_the_socket_has_the_mode_that_was_asked_for(tmp_path: Path) -> None:
    """Nobody else may ask by default, and no moment is wider than the end."""
    with working(make_folder(tmp_path / "w")) as witness, socket_path() as path:
        for mode in (0o600, 0o660, 0o666):
            before = os.umask(0)
            try:
                server = SocketServer(UnixEndpoint(path), mode, witness, HandStopwatch(), lambda _: None)
            finally:
                os.umask(before)
            assert stat.S_IMODE(os.lstat(path).st_mode) == mode
            server.server_close()
            assert not Path(path).exists()


def test_no_moment_of_the_socket_is_open_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its making and the mode that was asked for it is the owner's alone."""
    before: list[int] = []
    real = Path.chmod

    def chmod(self: Path, mode: int) -> None:
        before.append(stat.S_IMODE(self.lstat().st_mode))
        real(self, mode)

    with working(make_folder(tmp_path / "w")) as witness, socket_path() as path:
        monkeypatch.setattr(Path, "chmod", chmod)
        SocketServer(UnixEndpoint(path), 0o660, witness, HandStopwatch(), lambda _: None).server_close()
    assert before == [0o600]


def test_a_dead_socket_is_replaced_and_a_living_one_is_not(served: Served, tmp_path: Path) -> None:
    """A killed witness leaves its socket; a second witness must not take a first one's."""
    with working(make_folder(tmp_path / "second")) as witness, socket_path() as path:
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(path)
        SocketServer(UnixEndpoint(path), 0o600, witness, HandStopwatch(), lambda _: None).server_close()
        for taken in (served.endpoint.path, str(tmp_path)):
            with pytest.raises(WitnessAddressTakenError):
                SocketServer(UnixEndpoint(taken), 0o600, witness, HandStopwatch(), lambda _: None)
        with pytest.raises(WitnessAddressTakenError):
            SocketServer(UnixEndpoint(f"{path}/absent"), 0o600, witness, HandStopwatch(), lambda _: None)
    assert post(served.endpoint, LOG.body(3))[0] == 200


def test_the_diary_names_known_logs_only(served: Served) -> None:
    """What a stranger wrote is not repeated, not even as the origin of a log."""
    post(served.endpoint, LOG.body(3))
    post(served.endpoint, LOG.body(3).replace(ORIGIN.encode(), b"a stranger's words", 1))
    post(served.endpoint, b"junk")
    assert [(answer.reason, answer.origin) for answer in served.answers] == [
        ("cosigned", ORIGIN),
        ("unknown-log", None),
        ("malformed", None),
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.sampled_from([b"", b"POST /add-checkpoint HTTP/1.1\r\n", b"GET /"]))
def test_any_bytes_are_answered_or_dropped(served: Served, junk: bytes, start: bytes) -> None:
    """No request takes the server down, and none of these is cosigned."""
    with connected(served.endpoint) as connection:
        connection.sendall(start + junk)
        connection.shutdown(socket.SHUT_WR)
        reply = b""
        try:
            while piece := connection.recv(65536):
                reply += piece
        except ConnectionResetError:
            pass
    assert b"\xe2\x80\x94" not in reply
    assert post(served.endpoint, LOG.body(0, 3))[2] == b"3\n"


def test_a_broken_memory_is_said_without_its_place(served: Served, tmp_path: Path) -> None:
    """What is stored is believed only under our own signature; an edited row is 500, and no path leaves the machine."""
    store = served.server.witness._store
    note = store.find_log(bytes.fromhex(latest_path(ORIGIN)[1:65])).note  # type: ignore[union-attr]  # it is known
    edits = {
        "another time": ("note", note[:-20] + b"AAAA" + note[-16:]),
        "our line left out": ("note", LOG.note(3)),
        "another size": ("size", 2),
        "not a note": ("note", b"x"),
    }
    for name, (column, value) in edits.items():
        with store.transaction():
            store._rows.write(f"UPDATE log SET size = 3, note = ? WHERE origin = '{ORIGIN}'", [(note,)])
            store._rows.write(f"UPDATE log SET {column} = ? WHERE origin = '{ORIGIN}'", [(value,)])
        for content in (request("POST", "/add-checkpoint", LOG.body(3)), request("GET", latest_path(ORIGIN))):
            said = say(served.endpoint, content)
            assert said is not None
            assert said[0] == 500, name
            assert str(tmp_path).encode() not in said[2]


def test_the_answer_goes_out_where_the_diary_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads the lines may go away; the command's diary swallows that."""
    said: list[str] = []

    def gone(text: str) -> None:
        said.append(text)
        raise BrokenPipeError

    monkeypatch.setattr("sys.stdout", SimpleNamespace(write=gone, flush=lambda: None))
    for as_json in (False, True):
        _Diary(HandClock(), as_json=as_json)(Answer(Status.COSIGNED, b"", reason="cosigned", origin=ORIGIN))
    assert said == [
        f"2026-09-21T14:13:20.000Z  200  cosigned  {ORIGIN}\n",
        f'{{"at":"2026-09-21T14:13:20.000Z","code":200,"reason":"cosigned","origin":"{ORIGIN}"}}\n',
    ]
