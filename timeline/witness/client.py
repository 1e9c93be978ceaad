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


class Held:
    """A connection to one witness that stays open between questions, where the witness lets it."""

    def __init__(self) -> None:
        """Nothing is open yet."""
        self._connection: socket.socket | None = None

    def take(self) -> socket.socket | None:
        """The connection, which is the caller's from now on."""
        found, self._connection = self._connection, None
        return found

    def keep(self, connection: socket.socket) -> None:
        """Keep a connection on which a whole answer has come."""
        self._connection = connection

    def close(self) -> None:
        """Close what is open."""
        found = self.take()
        if found is not None:
            found.close()


class Asked(msgspec.Struct, frozen=True):
    """Which witness: where it is, the key that is pinned for it, and the connection that is kept to it, if one is."""

    endpoint: Endpoint
    witness: WitnessVerifier
    held: Held | None = None


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
    line = _Line(asked, ports.stopwatch, ports.stopwatch.seconds() + deadline_seconds)
    outcome = _exchange(request, prove, line, ports.clock)
    if isinstance(outcome, Ahead | Forked):
        return _with_evidence(request, outcome, prove, verifiers, line)
    return outcome


def fetch_latest(
    asked: Asked, origin: str, *, deadline_seconds: float, stopwatch: Stopwatch
) -> Reply | Unavailable:
    """The answer to a question for the latest cosigned checkpoint of a log; nothing in it is verified."""
    line = _Line(asked, stopwatch, stopwatch.seconds() + deadline_seconds)
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
    """The way to one witness until a deadline."""

    def __init__(self, asked: Asked, stopwatch: Stopwatch, end: float) -> None:
        self._endpoint = asked.endpoint
        self._held = asked.held
        self._stopwatch = stopwatch
        self._end = end

    def ask(self, method: str, path: str, body: bytes) -> Reply | Unavailable:
        """One question and its answer. Redirections are not followed."""
        # Imported here: only a question over HTTP needs it.
        import http.client

        request = _request_bytes(self._endpoint, method, path, body, keep=self._held is not None)
        try:
            kept = None if self._held is None else self._held.take()
            # A witness may have closed what was kept: then nothing of an answer comes, and it is asked anew.
            reply = None if kept is None else self._ask_on(kept, request, method, was_kept=True)
            return (
                reply
                or self._ask_on(self._connect(), request, method, was_kept=False)
                or Unavailable("not-http")
            )
        except (_DeadlineError, TimeoutError):
            return Unavailable("deadline")
        except _TooLargeError:
            return Unavailable("answer-too-large")
        except (http.client.HTTPException, ValueError):
            return Unavailable("not-http")
        except OSError:
            return Unavailable("unreachable")

    def _ask_on(
        self, connection: socket.socket, request: bytes, method: str, *, was_kept: bool
    ) -> Reply | None:
        """The answer on this connection; ``None`` where one that was kept gave nothing at all."""
        import http.client

        source = _Source(connection, self._remaining)
        finished = False
        try:
            connection.settimeout(self._remaining())
            connection.sendall(request)
            response = http.client.HTTPResponse(source, method=method)  # type: ignore[arg-type]  # only makefile is used
            response.begin()
            content = response.read(ANSWER_BYTES_MAX + 1)
            if len(content) > ANSWER_BYTES_MAX:
                raise _TooLargeError
            if response.length:
                raise http.client.IncompleteRead(content, response.length)
            finished = self._held is not None and not response.will_close
        except (OSError, http.client.HTTPException):
            if was_kept and not source.count:
                return None
            raise
        finally:
            if finished and self._held is not None:
                self._held.keep(connection)
            else:
                connection.close()
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


class _Source(io.RawIOBase):
    """What a witness sends, until the deadline or too much of it has come; in the shape ``http.client`` reads from."""

    def __init__(self, connection: socket.socket, remaining: Callable[[], float]) -> None:
        super().__init__()
        self._connection = connection
        self._remaining = remaining
        self.count = 0

    def makefile(self, mode: str) -> io.BufferedReader:
        """The answer as a file."""
        del mode
        return io.BufferedReader(self)

    def readable(self) -> bool:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        """Yes."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override, explicit-override]  # the stub's buffer is wider
        """What has come, at most the buffer full."""
        self._connection.settimeout(self._remaining())
        found = self._connection.recv_into(buffer)
        self.count += found
        if self.count > _HEAD_BYTES_MAX + ANSWER_BYTES_MAX:
            raise _TooLargeError
        return found


def _request_bytes(endpoint: Endpoint, method: str, path: str, body: bytes, *, keep: bool) -> bytes:
    prefix, host = "", "localhost"
    if isinstance(endpoint, NetworkEndpoint):
        prefix = endpoint.prefix
        host = str(endpoint).partition("://")[2].removesuffix(prefix)
    lines = [
        f"{method} {prefix}{path} HTTP/1.1",
        f"Host: {host}",
        *([] if keep else ["Connection: close"]),
    ]
    if method == "POST":
        lines += [f"Content-Length: {len(body)}", "Content-Type: text/plain; charset=utf-8"]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body
