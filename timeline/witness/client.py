"""Asking a witness, whichever it is, for a cosignature on our log's checkpoint, within a deadline.

``submit`` does it all and always returns an outcome of ``exchange``; no answer of a witness and no state of the
network is an exception. ``prove`` gives the consistency proof from an older size of our log to the checkpoint. Nothing
is written: the caller keeps the cosigned note, and with it the size that this witness has signed (``known``).
"""

import io
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from sidecars.cosignature import WitnessVerifier
from sidecars.keys import Verifier
from timeline.clock import Clock, Stopwatch
from timeline.witness.endpoint import Endpoint, NetworkEndpoint, UnixEndpoint, is_loopback
from timeline.witness.exchange import (
    ROUNDS_MAX,
    Ahead,
    Ask,
    Forked,
    Outcome,
    Reply,
    Request,
    Unavailable,
    decide_reply,
    first_ask,
    make_request,
    proves,
    signed_head,
)
from timeline.witness.protocol import ADD_CHECKPOINT, ANSWER_BYTES_MAX, format_submission, latest_path

Prove = Callable[[int], Sequence[bytes]]
"""The consistency proof from this older size to the checkpoint that is submitted."""

_HEAD_BYTES_MAX: Final = 16 * 1024
_READ_BYTES: Final = 16 * 1024


class Asked(msgspec.Struct, frozen=True):
    """Which witness: where it is, and the key that is pinned for it."""

    endpoint: Endpoint
    witness: WitnessVerifier


class Ports(msgspec.Struct, frozen=True):
    """What comes from outside."""

    clock: Clock
    stopwatch: Stopwatch


def submit(
    asked: Asked,
    note: bytes,
    prove: Prove,
    *,
    verifiers: Sequence[Verifier],
    known: int,
    deadline_seconds: float,
    ports: Ports,
) -> Outcome:
    """Ask for a cosignature on ``note``, our log's own checkpoint, signed by one of ``verifiers``.

    ``known`` is the largest size that this witness has cosigned of our log, 0 where none is remembered. Where the
    witness objects, its latest checkpoint is fetched as evidence.

    Raises:
        MalformedError: ``note`` is not a checkpoint of ours, or ``prove`` gave what is no proof.
    """
    request = make_request(note, asked.witness, known)
    line = _Line(asked.endpoint, ports.stopwatch, ports.stopwatch.seconds() + deadline_seconds)
    outcome = _exchange(request, prove, line, ports.clock)
    if isinstance(outcome, Ahead | Forked):
        return _with_evidence(request, outcome, prove, verifiers, line)
    return outcome


def fetch_latest(
    asked: Asked, origin: str, *, deadline_seconds: float, stopwatch: Stopwatch
) -> Reply | Unavailable:
    """The answer to a question for the latest cosigned checkpoint of a log; nothing in it is verified."""
    line = _Line(asked.endpoint, stopwatch, stopwatch.seconds() + deadline_seconds)
    return line.ask("GET", latest_path(origin), b"")


def _exchange(request: Request, prove: Prove, line: "_Line", clock: Clock) -> Outcome:
    step: Outcome | Ask = first_ask(request)
    for _ in range(ROUNDS_MAX):
        if not isinstance(step, Ask):
            return step
        size = request.checkpoint.size
        proof = prove(step.old_size) if 0 < step.old_size < size else ()
        reply = line.ask("POST", ADD_CHECKPOINT, format_submission(step.old_size, proof, request.note))
        if isinstance(reply, Unavailable):
            return reply
        step = decide_reply(request, step, reply, clock.now_ms() // 1000)
    return Unavailable("busy") if isinstance(step, Ask) else step


def _with_evidence(
    request: Request, outcome: Ahead | Forked, prove: Prove, verifiers: Sequence[Verifier], line: "_Line"
) -> Outcome:
    origin, size = request.checkpoint.origin, request.checkpoint.size
    reply = line.ask("GET", latest_path(origin), b"")
    if isinstance(reply, Unavailable) or reply.status != 200:
        return outcome
    head = signed_head(reply.body, origin, verifiers)
    if head is None:
        return outcome
    proof = prove(head.size) if 0 < head.size < size else ()
    if not proves(request, outcome, head, proof):
        return outcome
    return msgspec.structs.replace(outcome, evidence=reply.body)


class _DeadlineError(Exception):
    """The time is over."""


class _TooLargeError(Exception):
    """More came than may come."""


class _Line:
    """The way to one witness until a deadline; each question has a connection of its own."""

    def __init__(self, endpoint: Endpoint, stopwatch: Stopwatch, end: float) -> None:
        self._endpoint = endpoint
        self._stopwatch = stopwatch
        self._end = end

    def ask(self, method: str, path: str, body: bytes) -> Reply | Unavailable:
        """One question and its answer. Redirections are not followed."""
        # Imported here: only a question over HTTP needs it.
        import http.client

        try:
            with self._connect() as connection:
                connection.settimeout(self._remaining())
                connection.sendall(_request_bytes(self._endpoint, method, path, body))
                received = self._receive(connection)
        except (_DeadlineError, TimeoutError):
            return Unavailable("deadline")
        except _TooLargeError:
            return Unavailable("answer-too-large")
        except (OSError, UnicodeError):
            return Unavailable("unreachable")
        try:
            response = http.client.HTTPResponse(_Received(received), method=method)  # type: ignore[arg-type]  # only makefile is used
            response.begin()
            content = response.read()
        except (http.client.HTTPException, ValueError, OSError):
            return Unavailable("not-http")
        content_type = response.headers.get("Content-Type") or ""
        return Reply(response.status, content_type.partition(";")[0].strip().lower(), content)

    def _remaining(self) -> float:
        left = self._end - self._stopwatch.seconds()
        if left <= 0:
            raise _DeadlineError
        return left

    def _connect(self) -> socket.socket:
        if isinstance(self._endpoint, UnixEndpoint):
            return self._connect_to(socket.AF_UNIX, self._endpoint.path)
        error: OSError | None = None
        for family, address in self._addresses(self._endpoint):
            try:
                connection = self._connect_to(family, address)
            except OSError as failed:
                error = failed
                continue
            return self._secured(connection, self._endpoint)
        raise error or OSError

    def _connect_to(self, family: int, address: object) -> socket.socket:
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(self._remaining())
            connection.connect(address)  # type: ignore[arg-type]  # a path or what getaddrinfo gave
        except BaseException:
            connection.close()
            raise
        return connection

    def _secured(self, connection: socket.socket, endpoint: NetworkEndpoint) -> socket.socket:
        if endpoint.scheme == "http":
            return connection
        import ssl

        try:
            connection.settimeout(self._remaining())
            return ssl.create_default_context().wrap_socket(connection, server_hostname=endpoint.host)
        except BaseException:
            connection.close()
            raise

    def _addresses(self, endpoint: NetworkEndpoint) -> list[tuple[int, object]]:
        """Look a name up; the system's own call knows no deadline, so it is left behind when ours has come."""
        found: list[tuple[int, object]] = []
        done = threading.Event()

        def look_up() -> None:
            with suppress(OSError, UnicodeError):
                rows = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
                # A name for this machine must not lead plain HTTP elsewhere.
                found.extend(
                    (row[0], row[4])
                    for row in rows
                    if endpoint.scheme == "https" or is_loopback(str(row[4][0]))
                )
            done.set()

        threading.Thread(target=look_up, daemon=True).start()
        if not done.wait(self._remaining()):
            raise _DeadlineError
        return list(found)

    def _receive(self, connection: socket.socket) -> bytes:
        """Everything up to the end of the connection, which we asked the witness to close."""
        pieces: list[bytes] = []
        count = 0
        while True:
            connection.settimeout(self._remaining())
            piece = connection.recv(_READ_BYTES)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)
            count += len(piece)
            if count > _HEAD_BYTES_MAX + ANSWER_BYTES_MAX:
                raise _TooLargeError


class _Received:
    """What came, in the shape that ``http.client`` reads from."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def makefile(self, mode: str) -> io.BytesIO:
        """The content as a file."""
        del mode
        return io.BytesIO(self._content)


def _request_bytes(endpoint: Endpoint, method: str, path: str, body: bytes) -> bytes:
    prefix, host = "", "localhost"
    if isinstance(endpoint, NetworkEndpoint):
        prefix = endpoint.prefix
        host = str(endpoint).partition("://")[2].removesuffix(prefix)
    lines = [f"{method} {prefix}{path} HTTP/1.1", f"Host: {host}", "Connection: close"]
    if method == "POST":
        lines += [f"Content-Length: {len(body)}", "Content-Type: text/plain; charset=utf-8"]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body
