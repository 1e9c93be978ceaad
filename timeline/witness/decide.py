"""What a witness answers to a submission: a decision over values, with C2SP's checks in C2SP's order.

Nothing here reads a clock, a key or a file. The caller holds the log's row while this decides and until the answer
is stored, or two answers could contradict each other.
"""

from typing import Final

import msgspec

from sidecars.errors import BadProofError, BadSignatureError, UnknownKeyError
from sidecars.keys import Verifier
from sidecars.merkle import EMPTY_ROOT, verify_consistency
from sidecars.note import NoteSignature, open_note, parse_note
from timeline.witness.protocol import Status, Submission

CLOCK_BACK_SECONDS_MAX: Final = 5
"""How far the clock may stand before the last cosignature of a log: a correction by a time service, not a mistake."""


class Latest(msgspec.Struct, frozen=True):
    """The largest tree of a log that was cosigned, and when (POSIX seconds)."""

    size: int
    root: bytes
    at: int


class KnownLog(msgspec.Struct, frozen=True):
    """A log that this witness was told to know: the keys in force, and what was cosigned last, if anything was."""

    origin: str
    verifiers: tuple[Verifier, ...]
    latest: Latest | None


class Cosign(msgspec.Struct, frozen=True):
    """Sign it. ``signatures`` are the log's own good lines, one for each known key."""

    signatures: tuple[NoteSignature, ...]


class Conflict(msgspec.Struct, frozen=True):
    """The witness is at another size than the client said. ``equivocates``: and has another root for that size."""

    size: int
    equivocates: bool


class Refuse(msgspec.Struct, frozen=True):
    """Not signed. ``equivocates``: the log has signed two roots for one size, and both notes prove it."""

    status: Status
    reason: str
    detail: str
    equivocates: bool = False


UNKNOWN_LOG: Final = Refuse(
    Status.UNKNOWN, "unknown-log", "unknown log: this witness was not told of this origin"
)
"""The answer where there is no ``KnownLog`` of the submission's origin; it comes before every check but the form."""


def decide_submission(submission: Submission, log: KnownLog) -> Cosign | Conflict | Refuse:
    """The answer to a well-formed submission about this log."""
    if not submission.canonical:
        return Refuse(Status.UNTRUSTED, "bad-signature", "invalid signature: not in its one spelling")
    try:
        signatures = _good_lines(submission.note, log.verifiers)
    except BadSignatureError:
        return Refuse(Status.UNTRUSTED, "bad-signature", "invalid signature by a known key of this log")
    except UnknownKeyError:
        return Refuse(Status.UNTRUSTED, "unknown-key", "no signature is by a known key of this log")
    head = submission.head
    if submission.old_size > head.size:
        return Refuse(Status.MALFORMED, "malformed", "old size must not exceed the checkpoint's tree size")
    size, root = (0, EMPTY_ROOT) if log.latest is None else (log.latest.size, log.latest.root)
    equivocates = head.size == size and head.root != root
    if submission.old_size != size:
        return Conflict(size, equivocates and log.latest is not None)
    if equivocates:
        rule = "the same tree size with another root" if size else "the empty tree must have the empty root"
        proven = log.latest is not None
        return Refuse(Status.INCONSISTENT, "inconsistent-root", f"no consistency proof: {rule}", proven)
    try:
        verify_consistency(size, head.size, root, head.root, submission.proof)
    except BadProofError as error:
        return Refuse(Status.INCONSISTENT, error.reason, f"consistency proof refused: {error.rule}")
    return Cosign(signatures)


def decide_time(now: int, log: KnownLog) -> int | None:
    """The time of the next cosignature, in POSIX seconds; ``None`` where the clock has gone back too far to say.

    A time before that of the last cosignature would state that the log was smaller when it was larger.
    """
    last = 0 if log.latest is None else log.latest.at
    return max(now, last) if last - now <= CLOCK_BACK_SECONDS_MAX else None


def _good_lines(note: bytes, verifiers: tuple[Verifier, ...]) -> tuple[NoteSignature, ...]:
    """One verified line for each known key that signed.

    Raises:
        BadSignatureError, UnknownKeyError: see ``open_note``.
    """
    keys = open_note(note, verifiers).keys
    lines = {line.key: line for line in reversed(parse_note(note).signatures)}
    return tuple(lines[key] for key in keys)
