"""What a client makes of a witness's answers: decisions over values, the other half of ``client``.

The client has a checkpoint of its own log and wants the witness's cosignature on it. What it learns is one of the
outcomes below; the first is the only one that says that this checkpoint is the newest which the witness knows.

| outcome | means | what a log's owner does |
|---|---|---|
| `Cosigned` | this is the largest tree that the witness has seen | go on |
| `Ahead` | the witness knows a larger tree: this state is an older one | alarm, answer nothing from it |
| `Forked` | the witness knows another history | alarm, answer nothing from it, keep the evidence |
| `Regressed` | the witness has forgotten what it had signed | distrust this witness |
| `Misbehaved` | the answer breaks the protocol or is not by the pinned key | distrust this witness |
| `Refused` | the witness does not take this log or key | set it up; counts as not witnessed |
| `Unavailable` | no usable answer within the deadline | counts as not witnessed |

An answer without a signature is a claim. `Ahead` and `Forked` therefore carry the witness's latest checkpoint where
it can be had and our own log's key has signed it: that is proof, and nobody but the log's key can have made it.
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from sidecars.checkpoint import Checkpoint, parse_checkpoint
from sidecars.cosignature import Cosignature, WitnessVerifier, open_cosignatures, with_signatures
from sidecars.errors import (
    BadProofError,
    BadSignatureError,
    MalformedError,
    OriginMismatchError,
    SidecarError,
    UnknownKeyError,
)
from sidecars.keys import Verifier
from sidecars.merkle import verify_consistency
from sidecars.note import Note, format_note, open_note, parse_note
from timeline.witness.protocol import SIZE_TYPE, Status, TreeHead, parse_head, parse_lines, parse_size

SKEW_SECONDS: Final = 300
"""How far a fresh cosignature's time may differ from our clock. An older one may be replayed to hide a newer tree."""

ROUNDS_MAX: Final = 4
"""Submissions in one exchange: another process of ours may move the witness between two of them."""


class Cosigned(msgspec.Struct, frozen=True, tag=True):
    """The note with the witness's line in it, and its time (POSIX seconds, by the witness's clock)."""

    note: bytes
    at: int


class Ahead(msgspec.Struct, frozen=True, tag=True):
    """The witness says that it has cosigned ``size``, more than ours; ``evidence`` is the larger signed checkpoint."""

    size: int
    evidence: bytes | None = None


class Forked(msgspec.Struct, frozen=True, tag=True):
    """The tree of ``size`` that the witness has cosigned is not the beginning of ours."""

    size: int
    evidence: bytes | None = None


class Regressed(msgspec.Struct, frozen=True, tag=True):
    """The witness says ``size``, though it has cosigned ``known`` before."""

    size: int
    known: int


class Misbehaved(msgspec.Struct, frozen=True, tag=True):
    """The answer is none that a witness of this key may give."""

    reason: Literal[
        "malformed-answer", "no-cosignature", "bad-cosignature", "cosignature-time", "unexpected-status"
    ]
    status: int


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The witness takes neither this log nor, with ``key-not-trusted``, this key of it."""

    reason: Literal["unknown-log", "key-not-trusted", "submission-refused"]
    status: int


class Unavailable(msgspec.Struct, frozen=True, tag=True):
    """There was no answer to go by."""

    reason: Literal["unreachable", "deadline", "answer-too-large", "not-http", "busy"]


Outcome = Cosigned | Ahead | Forked | Regressed | Misbehaved | Refused | Unavailable


class Reply(msgspec.Struct, frozen=True):
    """What came back over HTTP."""

    status: int
    content_type: str
    body: bytes


class Ask(msgspec.Struct, frozen=True):
    """Submit (again) from this size."""

    old_size: int


class Request(msgspec.Struct, frozen=True):
    """What is asked for: our checkpoint, the pinned key, and what this witness has cosigned of our log before."""

    note: bytes
    parsed: Note
    checkpoint: Checkpoint
    witness: WitnessVerifier
    known: int


def make_request(note: bytes, witness: WitnessVerifier, known: int) -> Request:
    """Prepare to ask for a cosignature on our own checkpoint; ``known`` is 0 where nothing is remembered.

    Raises:
        MalformedError: not a checkpoint of ours.
    """
    parsed = parse_note(note)
    return Request(note, parsed, parse_checkpoint(parsed.text), witness, known)


def first_ask(request: Request) -> Ask | Ahead:
    """Where to begin: where the witness should be. One that has signed more than we have needs no question."""
    if request.known > request.checkpoint.size:
        return Ahead(request.known)
    return Ask(request.known)


def decide_reply(request: Request, asked: Ask, reply: Reply, now: int) -> Outcome | Ask:
    """What an answer means, ``now`` being our clock in POSIX seconds; ``Ask`` is always for a larger size."""
    match reply.status:
        case Status.COSIGNED:
            return _cosigned(request, reply, now)
        case Status.CONFLICT:
            return _conflict(request, asked, reply)
        case Status.INCONSISTENT if asked.old_size:
            return Forked(asked.old_size)
        case Status.UNTRUSTED:
            return Refused("key-not-trusted", reply.status)
        case Status.UNKNOWN:
            return Refused("unknown-log", reply.status)
        case Status.MALFORMED | Status.METHOD | Status.LENGTH | Status.TOO_LARGE:
            return Refused("submission-refused", reply.status)
        case 408 | 425 | 429 | 500 | 502 | 503 | 504:
            return Unavailable("busy")
    return Misbehaved("unexpected-status", reply.status)


def signed_head(note: bytes, origin: str, verifiers: Sequence[Verifier]) -> TreeHead | None:
    """What a checkpoint states that one of our log's keys has signed; ``None`` for anything else."""
    try:
        head = parse_head(open_note(note, verifiers).text)
    except SidecarError:
        return None
    return head if head.origin == origin else None


def read_cosigned(note: bytes, origin: str, witness: WitnessVerifier) -> tuple[Cosignature, TreeHead]:
    """What a witness has cosigned of a log; the log's own signature is not looked at.

    Raises:
        MalformedError: not a checkpoint.
        OriginMismatchError: of another log.
        UnknownKeyError, BadSignatureError: without a good line of the pinned key.
    """
    head = parse_head(parse_note(note).text)
    if head.origin != origin:
        raise OriginMismatchError("the checkpoint's origin must be the one that was asked for")
    found = open_cosignatures(note, [witness])
    if not found:
        raise UnknownKeyError("no line of the checkpoint is by the pinned witness")
    return found[0], head


def proves(request: Request, outcome: Ahead | Forked, head: TreeHead, proof: Sequence[bytes]) -> bool:
    """Whether a signed head shows that the witness was right; ``proof`` leads from its size to our checkpoint.

    For ``Ahead`` a larger size is enough. For ``Forked`` our own tree must not continue the signed one.
    """
    ours = request.checkpoint
    if isinstance(outcome, Ahead):
        return head.size > ours.size
    if head.size > ours.size:
        return False
    try:
        verify_consistency(head.size, ours.size, head.root, ours.root.raw, proof)
    except BadProofError:
        return True
    return False


def _cosigned(request: Request, reply: Reply, now: int) -> Outcome:
    text = request.parsed.text
    try:
        lines = parse_lines(reply.body, text).signatures
    except MalformedError:
        return Misbehaved("malformed-answer", reply.status)
    ours = [line for line in lines if line.key == request.witness.ref]
    if not ours:
        return Misbehaved("no-cosignature", reply.status)
    if len(ours) > 1:
        return Misbehaved("malformed-answer", reply.status)
    try:
        at = request.witness.verify(text, ours[0].signature)
    except BadSignatureError:
        return Misbehaved("bad-cosignature", reply.status)
    if abs(at - now) > SKEW_SECONDS:
        return Misbehaved("cosignature-time", reply.status)
    return Cosigned(format_note(with_signatures(request.parsed, ours)), at)


def _conflict(request: Request, asked: Ask, reply: Reply) -> Outcome | Ask:
    ours = request.checkpoint.size
    try:
        size = parse_size(reply.body) if reply.content_type == SIZE_TYPE else None
    except MalformedError:
        size = None
    if size is None or size == asked.old_size:
        # Older witnesses answer so, not with 422, where one size has two roots.
        return Forked(ours) if asked.old_size == ours else Misbehaved("malformed-answer", reply.status)
    if size > ours:
        return Ahead(size)
    if size < asked.old_size:  # which it has signed for us, or has just said
        return Regressed(size, asked.old_size)
    return Ask(size)
