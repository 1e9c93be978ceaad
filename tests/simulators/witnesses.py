"""Logs that a witness watches, and witnesses to watch them: in memory, on a Unix socket, or in a child process.

A log can fork: its branches share leaves and keys, and each signs whatever size it is asked for, as a log does whose
state was put back.
"""

import hashlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sidecars.checkpoint import Checkpoint, sign_checkpoint
from sidecars.cosignature import WitnessVerifier
from sidecars.digest import Digest
from sidecars.keys import Signer
from sidecars.merkle import consistency_proof, leaf_hash, root_of
from timeline.clock import SystemEntropy
from timeline.witness.client import Asked, Ports
from timeline.witness.endpoint import UnixEndpoint
from timeline.witness.identity import Folder, init_witness, open_witness
from timeline.witness.protocol import format_submission
from timeline.witness.server import SocketServer
from timeline.witness.service import Answer, Witness, know_log

ORIGIN = "log.example/one"
LOG = Signer(ORIGIN, hashlib.sha256(b"watched log").digest())
OTHER = Signer(ORIGIN, hashlib.sha256(b"another key of it").digest())
START_MS = 1_790_000_000_000


@dataclass
class HandClock:
    """A clock that stands until it is moved."""

    at_ms: int = START_MS

    def now_ms(self) -> int:
        """Give the time that it stands at."""
        return self.at_ms

    @property
    def seconds(self) -> int:
        """Give the same in POSIX seconds."""
        return self.at_ms // 1000


@dataclass
class HandStopwatch:
    """A stopwatch that stands until it is moved; ``step`` moves it at every look."""

    at: float = 0.0
    step: float = 0.0

    def seconds(self) -> float:
        """Give what it shows."""
        self.at += self.step
        return self.at


@dataclass
class Branch:
    """One history of a log: leaf hashes, and the key that signs its checkpoints."""

    leaves: list[bytes] = field(default_factory=list)
    signer: Signer = LOG
    origin: str = ORIGIN

    @classmethod
    def of(cls, count: int, word: str = "leaf") -> "Branch":
        """Give a branch with this many leaves."""
        branch = cls()
        branch.grow(count, word)
        return branch

    def grow(self, count: int, word: str = "leaf") -> None:
        """Append leaves; another ``word`` makes other leaves."""
        start = len(self.leaves)
        self.leaves += [leaf_hash(f"{word} {start + number}".encode()) for number in range(count)]

    def fork(self, keep: int, word: str, grow: int) -> "Branch":
        """Give a second history that shares the first ``keep`` leaves."""
        other = Branch(self.leaves[:keep], self.signer, self.origin)
        other.grow(grow, word)
        return other

    @property
    def size(self) -> int:
        """Give the number of leaves."""
        return len(self.leaves)

    def root(self, size: int | None = None) -> bytes:
        """Give the root of the tree of the first ``size`` leaves."""
        return root_of(self.leaves[: self.size if size is None else size])

    def note(self, size: int | None = None, signer: Signer | None = None) -> bytes:
        """Give the signed checkpoint of the first ``size`` leaves."""
        count = self.size if size is None else size
        checkpoint = Checkpoint(self.origin, count, Digest(self.root(count)))
        return sign_checkpoint(checkpoint, [self.signer if signer is None else signer])

    def proof(self, old: int, size: int | None = None) -> tuple[bytes, ...]:
        """Give the consistency proof between two sizes of this branch."""
        return consistency_proof(self.leaves[: self.size if size is None else size], old)

    def prove(self, old: int) -> tuple[bytes, ...]:
        """Give the consistency proof from an older size to the present one."""
        return self.proof(old)

    def body(self, old: int, size: int | None = None) -> bytes:
        """Give a correct submission from one size to another, as far as this branch knows."""
        count = self.size if size is None else size
        proof = self.proof(old, count) if 0 < old < count else ()
        return format_submission(old, proof, self.note(count))


def make_folder(
    path: Path, *, origins: tuple[str, ...] = (ORIGIN,), name: str = "witness.example/w"
) -> Folder:
    """Make a witness that knows the logs above."""
    folder = Folder(path)
    init_witness(folder, name, SystemEntropy())
    opened = open_witness(folder)
    for origin in origins:
        know_log(opened.store, str(LOG.verifier), origin)
    opened.store.close()
    return folder


@contextmanager
def working(folder: Folder, clock: HandClock | None = None) -> Iterator[Witness]:
    """Open a witness for the block."""
    opened = open_witness(folder)
    try:
        yield Witness(opened.signer, opened.store, clock or HandClock())
    finally:
        opened.store.close()


@dataclass
class Served:
    """A witness on a Unix socket, in this process."""

    endpoint: UnixEndpoint
    key: WitnessVerifier
    server: SocketServer
    answers: list[Answer]
    clock: HandClock

    @property
    def asked(self) -> Asked:
        """Give what a client has pinned."""
        return Asked(self.endpoint, self.key)


@contextmanager
def serving(
    folder: Folder,
    *,
    clock: HandClock | None = None,
    stopwatch: HandStopwatch | None = None,
    at: str | None = None,
) -> Iterator[Served]:
    """Serve a witness on a Unix socket (``at``, or a new one) while the block runs, and stop it as a signal would."""
    place = socket_path() if at is None else nullcontext(at)
    with working(folder, clock := clock or HandClock()) as witness, place as path:
        answers: list[Answer] = []
        endpoint = UnixEndpoint(path)
        server = SocketServer(endpoint, 0o600, witness, stopwatch or HandStopwatch(), answers.append)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield Served(endpoint, witness.verifier, server, answers, clock)
        finally:
            server.stop()
            thread.join()


@contextmanager
def socket_path() -> Iterator[str]:
    """Give a path that is short enough for a Unix socket; pytest's own folders may not be."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="tw-", dir="/tmp") as folder:
        yield f"{folder}/s"


def ports(clock: HandClock | None = None) -> Ports:
    """Give the clock and stopwatch of a client."""
    return Ports(clock or HandClock(), HandStopwatch())


@contextmanager
def canned(*replies: bytes) -> Iterator[tuple[UnixEndpoint, list[bytes]]]:
    """Answer one connection after the other with these bytes, whatever is asked; what was asked is kept."""
    asked: list[bytes] = []
    with socket_path() as path, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(8)

        def answer() -> None:
            for reply in replies:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    asked.append(_read_request(connection))
                    try:
                        connection.sendall(reply)
                    except OSError:
                        continue

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield UnixEndpoint(path), asked
        finally:
            # Ends the waiting for a connection that nobody makes; what was accepted is answered first.
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _read_request(connection: socket.socket) -> bytes:
    content = b""
    while b"\r\n\r\n" not in content:
        piece = connection.recv(65536)
        if not piece:
            return content
        content += piece
    head, _, body = content.partition(b"\r\n\r\n")
    lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    length = int(lengths[0].partition(b":")[2]) if lengths else 0
    while len(body) < length:
        piece = connection.recv(65536)
        if not piece:
            break
        body += piece
    return head + b"\r\n\r\n" + body


def http_reply(status: int, body: bytes, content_type: str = "text/plain; charset=utf-8") -> bytes:
    """Give the bytes of an HTTP answer."""
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def in_child(action: Callable[[], bytes]) -> tuple[int, int]:
    """Run something in a fork; give its process id and the end of a pipe on which its bytes come."""
    reading, writing = os.pipe()
    import warnings

    with warnings.catch_warnings():
        # Python 3.12 warns where other threads are alive; ours hold no lock that the child needs.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    code = 70
    try:
        os.close(reading)
        os.write(writing, action())
        code = 0
    finally:
        os._exit(code)


def wait_for(child: int, reading: int) -> tuple[bytes, bool]:
    """Give what a child has said, and whether it was killed; any other failure of it fails the test."""
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    if not killed and os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError(status)
    return said, killed
