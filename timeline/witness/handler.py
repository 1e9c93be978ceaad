"""One connection to a witness: HTTP/1.1 as ``http.server`` reads it, within bounds.

A request that takes too long or says too much ends its connection; no answer repeats a byte of it, and no address or
header is kept.
"""

import io
import socket
from http.server import BaseHTTPRequestHandler
from typing import Final, Protocol

from sidecars.encoding import parse_decimal
from sidecars.errors import MalformedError
from timeline.clock import Stopwatch
from timeline.witness.protocol import ADD_CHECKPOINT, BODY_BYTES_MAX, TEXT_TYPE, Status, parse_latest_path
from timeline.witness.service import Answer, Witness

IDLE_SECONDS: Final = 15.0
"""How long a connection may stay open between two requests."""

REQUEST_SECONDS: Final = 10.0
"""How long a request may take to arrive, from its first byte on."""

ANSWER_SECONDS: Final = 10.0
"""How long an answer may take to leave."""

HEAD_BYTES_MAX: Final = 16 * 1024
"""Request line and headers."""

_NO_SUCH_METHOD: Final = 501
"""What ``http.server`` says of a method that it finds no function for."""


class Listener(Protocol):
    """Told of every answer to a well-formed HTTP request, for the owner's diary."""

    def __call__(self, answer: Answer, /) -> object:
        """An answer is about to leave."""
        ...


class Office(Protocol):
    """What a connection needs of the server that accepted it."""

    witness: Witness
    stopwatch: Stopwatch
    listener: Listener
    stopping: bool


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Office  # type: ignore[assignment]  # a server in any case
    protocol_version = "HTTP/1.1"
    server_version = "timeline-witness"
    sys_version = ""

    def setup(self) -> None:  # type: ignore[explicit-override]  # as above
        """Read through the bounds below."""
        super().setup()
        self.rfile.close()
        self._bounds = _BoundedInput(self.connection, self.server.stopwatch)
        self.rfile = io.BufferedReader(self._bounds)

    def handle_one_request(self) -> None:  # type: ignore[explicit-override]  # as above
        """Each request has its own time and its own bytes."""
        self._bounds.begin()
        super().handle_one_request()
        if self.server.stopping:
            self.close_connection = True

    def do_POST(self) -> None:
        """``add-checkpoint``."""
        length = self._length()
        if length is None:
            return
        if self.path != ADD_CHECKPOINT:
            self._end(Status.UNKNOWN, "no such path")
            return
        body = self.rfile.read(length)
        if len(body) != length:
            self.close_connection = True
            return
        self._answer(self.server.witness.add_checkpoint(body))

    def do_GET(self) -> None:
        """The latest cosigned checkpoint of a log."""
        if self.headers.get("Transfer-Encoding") or self.headers.get("Content-Length", "0") != "0":
            self._end(Status.MALFORMED, "a GET must have no body")
            return
        digest = parse_latest_path(self.path)
        if digest is None:
            post = self.path == ADD_CHECKPOINT
            self._end(Status.METHOD if post else Status.UNKNOWN, "must be POST" if post else "no such path")
            return
        self._answer(self.server.witness.latest(digest))

    def send_error(  # type: ignore[explicit-override]  # as above
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """What ``http.server`` refuses by itself, without repeating what the client wrote."""
        del message, explain
        status = Status.METHOD if code == _NO_SUCH_METHOD else Status.MALFORMED
        self._end(status, "not a request that a witness takes")

    def log_message(self, *args: object) -> None:  # type: ignore[explicit-override]  # as above
        """Say nothing: clients are not written down."""

    def _length(self) -> int | None:
        """The length of the body, once: where there is none, or too much of it, the answer is given here."""
        lengths = self.headers.get_all("Content-Length") or []
        if self.headers.get("Transfer-Encoding") is not None or not lengths:
            self._end(Status.LENGTH, "a body must come with Content-Length")
            return None
        try:
            length = parse_decimal(lengths[0], "Content-Length")
        except MalformedError as error:
            self._end(Status.MALFORMED, error.rule)
            return None
        if len(lengths) > 1:
            self._end(Status.MALFORMED, "Content-Length must come once")
            return None
        if length > BODY_BYTES_MAX:
            self._end(Status.TOO_LARGE, f"a submission must be at most {BODY_BYTES_MAX} bytes")
            return None
        return length

    def _end(self, status: Status, detail: str) -> None:
        """Answer what has no place in the protocol, and read nothing more from this connection."""
        self.close_connection = True
        self._send(Answer(status, f"{detail}\n".encode(), TEXT_TYPE, "http"))

    def _answer(self, answer: Answer) -> None:
        self.server.listener(answer)
        self._send(answer)

    def _send(self, answer: Answer) -> None:
        # In one piece: head and body in two would wait for each other's acknowledgement (Nagle), 40 ms for each answer.
        connection, self.wfile = self.wfile, (gathered := io.BytesIO())
        # What was no request at all would be answered as HTTP/0.9, without a code.
        self.request_version = self.protocol_version
        self.send_response_only(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        if self.command != "POST":  # whose answer nobody keeps
            self.send_header("Cache-Control", "no-store")
        if answer.status is Status.UNAVAILABLE:
            self.send_header("Retry-After", "1")
        if self.close_connection or self.server.stopping:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile = connection
        self.connection.settimeout(ANSWER_SECONDS)
        self.wfile.write(gathered.getvalue() + answer.body)


class _BoundedInput(io.RawIOBase):
    """What a connection sends, until a request has taken too long or too much; then ``TimeoutError``.

    That error is the one on which ``http.server`` ends a connection without a word.
    """

    def __init__(self, connection: socket.socket, stopwatch: Stopwatch) -> None:
        """Read from ``connection``."""
        super().__init__()
        self._connection = connection
        self._stopwatch = stopwatch
        self.begin()

    def begin(self) -> None:
        """Another request begins: it may be waited for."""
        self._left = HEAD_BYTES_MAX + BODY_BYTES_MAX
        self._end = self._stopwatch.seconds() + IDLE_SECONDS
        self._waiting = True

    def readable(self) -> bool:  # type: ignore[explicit-override]  # as above
        """Yes."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override, explicit-override]  # the stub's buffer is wider
        """What has come, at most the buffer full."""
        remaining = self._end - self._stopwatch.seconds()
        if remaining <= 0 or self._left <= 0:
            raise TimeoutError
        self._connection.settimeout(remaining)
        count = self._connection.recv_into(buffer)
        now = self._stopwatch.seconds()
        if now >= self._end:
            raise TimeoutError
        if self._waiting:
            self._waiting = False
            self._end = now + REQUEST_SECONDS
        self._left -= count
        return count
