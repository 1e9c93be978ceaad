"""C2SP checkpoints: origin, tree size and root, signed as a note (https://c2sp.org/tlog-checkpoint).

Extension lines are refused: nobody can audit them, so nothing may depend on them. A parsed checkpoint is not
believed; ``open_checkpoint`` verifies one, and only ``trust`` decides whether it is the newest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sidecars.digest import Digest
from sidecars.encoding import from_base64, parse_decimal, to_base64
from sidecars.errors import MalformedError, NonCanonicalError, OriginMismatchError
from sidecars.keys import KeyRef, Signer, Verifier
from sidecars.merkle import EMPTY_ROOT
from sidecars.note import open_note, sign_note

_LINES: Final = 3


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a log at one size.

    Raises:
        MalformedError: an origin that is no line, or the empty tree with another root than the empty one.
    """

    origin: str
    size: int
    root: Digest

    def __post_init__(self) -> None:
        """Refuse values that no log can have."""
        if not self.origin or any(character < " " for character in self.origin):
            raise MalformedError("a checkpoint's origin must be one non-empty line")
        if not 0 <= self.size < 2**63:
            raise MalformedError("a checkpoint's tree size must be below 2^63")
        if self.size == 0 and self.root.raw != EMPTY_ROOT:
            raise MalformedError("the empty tree must have the empty root")


class SignedCheckpoint(NamedTuple):
    """A verified checkpoint, who signed it, and the exact note."""

    checkpoint: Checkpoint
    keys: tuple[KeyRef, ...]
    note: bytes


def format_checkpoint(checkpoint: Checkpoint) -> str:
    """The note text of a checkpoint."""
    return f"{checkpoint.origin}\n{checkpoint.size}\n{to_base64(checkpoint.root.raw)}\n"


def parse_checkpoint(text: str) -> Checkpoint:
    """Read the note text of a checkpoint.

    Raises:
        MalformedError: not three lines of origin, size and root, or another spelling.
    """
    lines = text.split("\n")
    if len(lines) != _LINES + 1 or lines[-1]:
        raise MalformedError("a checkpoint must be exactly origin, tree size and root")
    size = parse_decimal(lines[1], "tree size")
    checkpoint = Checkpoint(lines[0], size, Digest(from_base64(lines[2], "root")))
    if format_checkpoint(checkpoint) != text:
        raise NonCanonicalError("a checkpoint has one spelling")
    return checkpoint


def sign_checkpoint(checkpoint: Checkpoint, signers: Sequence[Signer]) -> bytes:
    """The signed note of a checkpoint.

    Raises:
        MalformedError: no or too many signers.
    """
    return sign_note(format_checkpoint(checkpoint), signers)


def open_checkpoint(note: bytes, origin: str, verifiers: Sequence[Verifier]) -> SignedCheckpoint:
    """Verify a checkpoint of the log ``origin``, which the caller has pinned and never reads from the note.

    Raises:
        MalformedError: not a checkpoint.
        BadSignatureError, UnknownKeyError: not signed by ``verifiers``.
        OriginMismatchError: of another log.
    """
    opened = open_note(note, verifiers)
    checkpoint = parse_checkpoint(opened.text)
    if checkpoint.origin != origin:
        raise OriginMismatchError("the checkpoint's origin must be the pinned one")
    return SignedCheckpoint(checkpoint, opened.keys, note)
