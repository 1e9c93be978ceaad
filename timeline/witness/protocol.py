"""The words of C2SP tlog-witness on the wire: submissions, tree sizes, and the path of a log's latest checkpoint.

A submission is ``old <size>``, up to 63 hashes in base64, an empty line, and the checkpoint's note; every part has one
spelling. Unlike our own checkpoints, those of other logs may have extension lines: they are signed as they stand and
nothing depends on them. Parsed is not verified.
"""

import hashlib
import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Final

import msgspec

from sidecars.encoding import from_base64, parse_decimal, to_base64
from sidecars.errors import MalformedError, NonCanonicalError
from sidecars.merkle import HASH_BYTES, PROOF_HASHES_MAX
from sidecars.note import Note, parse_note

ADD_CHECKPOINT: Final = "/add-checkpoint"
SIZE_TYPE: Final = "text/x.tlog.size"
TEXT_TYPE: Final = "text/plain; charset=utf-8"

BODY_BYTES_MAX: Final = 64 * 1024
"""A submission with 63 hashes and 16 signatures of ML-DSA-44, which C2SP asks to accept, has some 58 KB."""

ANSWER_BYTES_MAX: Final = 64 * 1024
"""An answer: signature lines, or one checkpoint."""

ORIGIN_BYTES_MAX: Final = 255
"""An origin that a witness can be told to know; C2SP's newer signatures bound it so."""

_LATEST: Final = re.compile(r"/([0-9a-f]{64})/checkpoint")


class Status(IntEnum):
    """The codes of an answer: those of C2SP, and HTTP's own for what C2SP does not name."""

    COSIGNED = 200
    MALFORMED = 400
    UNTRUSTED = 403
    UNKNOWN = 404
    METHOD = 405
    CONFLICT = 409
    LENGTH = 411
    TOO_LARGE = 413
    INCONSISTENT = 422
    BROKEN = 500
    UNAVAILABLE = 503


class TreeHead(msgspec.Struct, frozen=True):
    """What a checkpoint's text states, of any log: ``root`` is 32 bytes, and may be wrong for size 0."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()


class Submission(msgspec.Struct, frozen=True):
    """A parsed request: the size that the client takes the witness to be at, the proof from there, the checkpoint.

    ``canonical`` is false where a signature line is another spelling of its bytes: then no signature is good.
    """

    old_size: int
    proof: tuple[bytes, ...]
    note: bytes
    text: str
    head: TreeHead
    canonical: bool


def parse_submission(body: bytes) -> Submission:
    """Read the body of ``add-checkpoint``.

    Raises:
        MalformedError: not one, or too large; ``NonCanonicalError`` for another spelling.
    """
    if len(body) > BODY_BYTES_MAX:
        raise MalformedError(f"a submission must be at most {BODY_BYTES_MAX} bytes")
    head, border, note = body.partition(b"\n\n")
    if not border:
        raise MalformedError("a submission's checkpoint must follow an empty line")
    try:
        lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError as error:
        raise MalformedError("a submission's lines before the checkpoint must be ASCII") from error
    if not lines[0].startswith("old "):
        raise MalformedError("a submission must begin with `old` and a tree size")
    if len(lines) > 1 + PROOF_HASHES_MAX:
        raise MalformedError(f"a submission must have at most {PROOF_HASHES_MAX} consistency proof lines")
    old_size = parse_decimal(lines[0].removeprefix("old "), "old size")
    proof = tuple(_parse_hash(line, "consistency proof line") for line in lines[1:])
    text, canonical = _parse_text(note)
    return Submission(old_size, proof, note, text, parse_head(text), canonical)


def format_submission(old_size: int, proof: Sequence[bytes], note: bytes) -> bytes:
    """The body of ``add-checkpoint``, read back, so that nothing malformed is ever sent.

    Raises:
        MalformedError: a part is out of bounds.
    """
    lines = [f"old {old_size}", *(to_base64(value) for value in proof), "", ""]
    body = "\n".join(lines).encode() + note
    if not parse_submission(body).canonical:
        raise NonCanonicalError("a submitted checkpoint's signatures must have their one spelling")
    return body


def parse_head(text: str) -> TreeHead:
    """Read a checkpoint's text, extension lines included.

    Raises:
        MalformedError: not origin, tree size, root and non-empty lines after them.
    """
    lines = text.split("\n")
    if len(lines) < 4 or lines.pop():
        raise MalformedError("a checkpoint must be at least origin, tree size and root")
    origin, size, root, *extensions = lines
    if not origin or not all(extensions):
        raise MalformedError("a checkpoint's origin and extension lines must not be empty")
    return TreeHead(origin, parse_decimal(size, "tree size"), _parse_hash(root, "root"), tuple(extensions))


def parse_size(body: bytes) -> int:
    """Read the body of a conflict.

    Raises:
        MalformedError: not a decimal number and a newline.
    """
    try:
        text = body.decode("ascii")
    except UnicodeDecodeError as error:
        raise MalformedError("a tree size must be ASCII") from error
    if not text.endswith("\n"):
        raise MalformedError("a tree size must end with a newline")
    return parse_decimal(text[:-1], "tree size")


def format_size(size: int) -> bytes:
    """The body of a conflict."""
    return f"{size}\n".encode()


def parse_lines(body: bytes, text: str) -> Note:
    """Read the signature lines of an answer as a note over ``text``.

    Raises:
        MalformedError: not one or more signature lines; ``NonCanonicalError`` where one is spelled otherwise.
    """
    note = parse_note(text.encode() + b"\n" + body)
    if note.text != text:  # an empty line in the answer would move the border
        raise NonCanonicalError("an answer must be signature lines only")
    return note


def origin_digest(origin: str) -> bytes:
    """How the path of a log's latest checkpoint names the log."""
    return hashlib.sha256(origin.encode()).digest()


def latest_path(origin: str) -> str:
    """The path of the latest checkpoint of a log, below the monitoring prefix."""
    return f"/{origin_digest(origin).hex()}/checkpoint"


def parse_latest_path(path: str) -> bytes | None:
    """The digest of the origin that a path names, or ``None``."""
    found = _LATEST.fullmatch(path)
    return bytes.fromhex(found[1]) if found else None


def _parse_text(note: bytes) -> tuple[str, bool]:
    """The text of a note, and whether its signature lines are in their one spelling.

    Who may sign is asked after whose checkpoint it is (404 before 403), so a signature in another spelling must not
    make the whole request unreadable; it is never accepted either.
    """
    try:
        return parse_note(note).text, True
    except NonCanonicalError:
        text, _, _ = note[:-1].rpartition(b"\n\n")
        return text.decode() + "\n", False


def _parse_hash(line: str, what: str) -> bytes:
    value = from_base64(line, what)
    if len(value) != HASH_BYTES:
        raise MalformedError(f"a {what} must be {HASH_BYTES} bytes")
    return value
