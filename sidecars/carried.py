"""Carried anchors: one size and root of a log in a minisign file, kept by a person where no restore reaches it.

The signed file is the note text of a checkpoint (origin, size, root); the trusted comment repeats it with a time, so
that the signature file alone is enough. ``docs/spec/carried-anchor.md`` is the specification.

What it shows: a log that does not contain this tree is not the one that was carried, or is an older state of it.
What it cannot show: what came after that size, and that there is nothing newer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sidecars.checkpoint import Checkpoint, format_checkpoint
from sidecars.digest import Digest
from sidecars.encoding import from_base64, parse_decimal, to_base64
from sidecars.errors import (
    BadSignatureError,
    EquivocationError,
    MalformedError,
    OriginMismatchError,
    RollbackError,
    UnknownKeyError,
)
from sidecars.keys import Signer, Verifier
from sidecars.merkle import root_of
from sidecars.minisign import (
    MinisignKey,
    MinisignSignature,
    parse_signature,
    sign_file,
    verify_comment,
    verify_file,
)

UNTRUSTED_COMMENT: Final = "timeline carried anchor"
"""Nobody signs this line, so that it may not say anything else: it would be read by a person."""

SECONDS_MAX: Final = 253_402_300_799
"""The end of year 9999, as for every other time that a person may be shown."""

_NAMES: Final = ("origin", "size", "root", "time")


@dataclass(frozen=True, slots=True)
class CarriedAnchor:
    """A checkpoint that was given to a person at ``at`` (POSIX seconds, by the clock of the log's machine).

    Raises:
        MalformedError: a tree without leaves, which every log contains; an origin with a space; a time out of bounds.
    """

    checkpoint: Checkpoint
    at: int

    def __post_init__(self) -> None:
        """Refuse what says nothing or cannot be written."""
        if self.checkpoint.size == 0:
            raise MalformedError("a carried anchor must be of a tree with leaves")
        if " " in self.checkpoint.origin:
            raise MalformedError("a carried anchor's origin must hold no space")
        if not 0 <= self.at <= SECONDS_MAX:
            raise MalformedError("a carried anchor's time must be POSIX seconds up to the year 9999")

    @property
    def text(self) -> bytes:
        """The file that is signed: the note text of the checkpoint."""
        return format_checkpoint(self.checkpoint).encode()


class OpenedAnchor(NamedTuple):
    """An anchor whose signatures are good, and the key that made them."""

    anchor: CarriedAnchor
    key: Verifier


def format_statement(anchor: CarriedAnchor) -> str:
    """The trusted comment."""
    checkpoint = anchor.checkpoint
    root = to_base64(checkpoint.root.raw)
    return f"origin {checkpoint.origin} size {checkpoint.size} root {root} time {anchor.at}"


def parse_statement(comment: str) -> CarriedAnchor:
    """Read a trusted comment.

    Raises:
        MalformedError: not ``origin <origin> size <n> root <base64> time <seconds>``, or another spelling.
    """
    words = comment.split(" ")
    if tuple(words[::2]) != _NAMES or len(words) != 2 * len(_NAMES):
        raise MalformedError("a carried anchor's trusted comment must be origin, size, root and time")
    origin, size, root, at = words[1::2]
    checkpoint = Checkpoint(origin, parse_decimal(size, "tree size"), Digest(from_base64(root, "root")))
    # Each word has one spelling, so the comment has: it need not be written again to compare.
    return CarriedAnchor(checkpoint, parse_decimal(at, "time"))


def sign_carried(anchor: CarriedAnchor, signer: Signer) -> bytes:
    """The minisign file of an anchor; the file that it signs is ``anchor.text``."""
    return sign_file(anchor.text, format_statement(anchor), UNTRUSTED_COMMENT, signer)


def open_carried(content: bytes, origin: str, log_keys: Sequence[Verifier]) -> OpenedAnchor:
    """Verify the minisign file of an anchor of the log ``origin``.

    ``log_keys`` are all that the log's leaves name, not only the one in force: an anchor outlives a key change. Whether
    the key was in force at the anchor's size is to be asked once the log is known to contain its tree.

    Raises:
        MalformedError, UnsupportedVersionError: not such a file.
        OriginMismatchError: of another log.
        UnknownKeyError: signed by no key of this log.
        BadSignatureError: a signature does not fit.
    """
    found = parse_signature(content)
    if found.untrusted_comment != UNTRUSTED_COMMENT:
        raise MalformedError(f"a carried anchor's untrusted comment must be: {UNTRUSTED_COMMENT}")
    key = next((key for key in map(MinisignKey.of, log_keys) if key.key_id == found.key_id), None)
    if key is None:
        raise _unknown(found, origin)
    anchor = parse_statement(verify_comment(found, key))
    verify_file(found, anchor.text, key)
    if anchor.checkpoint.origin != origin:
        raise OriginMismatchError("the carried anchor's origin must be that of this log")
    return OpenedAnchor(anchor, key.verifier)


def check_text(anchor: CarriedAnchor, text: bytes) -> None:
    """Return only if ``text`` is the file that the anchor's signature is over.

    Raises:
        BadSignatureError: it is another one.
    """
    if text != anchor.text:
        raise BadSignatureError("the carried anchor's text must be the one that was signed")


def check_contained(opened: OpenedAnchor, leaf_hashes: Sequence[bytes], log_key: Verifier | None) -> None:
    """Return only if the log with these leaves contains the tree that was carried.

    ``log_key`` is the one that the log had in force at the anchor's size: a retired key speaks for no later tree.

    Raises:
        RollbackError: the log has fewer leaves.
        EquivocationError: its first leaves have another root.
        UnknownKeyError: the anchor is signed by another log key than the one in force at its size.
    """
    checkpoint = opened.anchor.checkpoint
    size = checkpoint.size
    if len(leaf_hashes) < size:
        raise RollbackError(
            f"the log has {len(leaf_hashes)} leaves, the carried anchor remembers {size}",
            hint="this state is an older one that was put back; restore the newest, and write nothing to this one",
        )
    if root_of(leaf_hashes[:size]) != checkpoint.root.raw:
        raise EquivocationError(f"the carried anchor has another root for size {size} than this log")
    if opened.key != log_key:
        raise UnknownKeyError(f"the carried anchor must be signed by the log key in force at size {size}")


def _unknown(found: MinisignSignature, origin: str) -> OriginMismatchError | UnknownKeyError:
    """Which refusal helps more; the comment is not verified and decides nothing else."""
    if parse_statement(found.trusted_comment).checkpoint.origin != origin:
        return OriginMismatchError("the carried anchor names another log, and none of this log's keys")
    return UnknownKeyError(
        "the carried anchor must be signed by a log key that the leaves of this log name",
        hint=(
            "an older state that was put back does not name the keys of later times; restore the newest state, or find "
            "out who made the file"
        ),
    )
