"""C2SP tlog-proof: one file that shows offline that an entry is in a log (https://c2sp.org/tlog-proof).

It holds the entry's index, the inclusion proof and the checkpoint with its signatures; who checks it needs the
entry, the log's origin and its public key. The optional extra data is not authenticated by the proof; ours is the
leaf's salt and envelope, which the leaf hash then authenticates.

It does not show that the checkpoint is the newest one.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from sidecars.checkpoint import SignedCheckpoint, open_checkpoint, parse_checkpoint
from sidecars.encoding import from_base64, parse_decimal, to_base64
from sidecars.errors import MalformedError, NonCanonicalError, UnsupportedVersionError
from sidecars.keys import Verifier
from sidecars.merkle import HASH_BYTES, PROOF_HASHES_MAX, verify_inclusion
from sidecars.note import NOTE_BYTES_MAX, parse_note

MAGIC: Final = "c2sp.org/tlog-proof@v1"
EXTRA_BYTES_MAX: Final = 512 * 1024
"""A leaf's salt and envelope at their longest, and room."""

PROOF_BYTES_MAX: Final = EXTRA_BYTES_MAX * 4 // 3 + NOTE_BYTES_MAX + 8 * 1024

_FAMILY: Final = "c2sp.org/tlog-proof@"


class TlogProof(msgspec.Struct, frozen=True):
    """A parsed proof. ``hashes`` run from the leaf's sibling upwards; ``checkpoint`` is the exact note."""

    index: int
    hashes: tuple[bytes, ...]
    checkpoint: bytes
    extra: bytes | None = None


def format_proof(proof: TlogProof) -> bytes:
    """The one spelling of a proof.

    Raises:
        MalformedError: a field is out of bounds.
    """
    if not 0 <= proof.index < 2**63:
        raise MalformedError("a proof's index must be below 2^63")
    if len(proof.hashes) > PROOF_HASHES_MAX or any(len(value) != HASH_BYTES for value in proof.hashes):
        raise MalformedError(f"a proof must have at most {PROOF_HASHES_MAX} hashes of 32 bytes")
    lines = [MAGIC]
    if proof.extra is not None:
        if not 0 < len(proof.extra) <= EXTRA_BYTES_MAX:
            raise MalformedError(f"a proof's extra data must be 1 to {EXTRA_BYTES_MAX} bytes, or left out")
        lines.append(f"extra {to_base64(proof.extra)}")
    lines.append(f"index {proof.index}")
    lines.extend(to_base64(value) for value in proof.hashes)
    parse_checkpoint(parse_note(proof.checkpoint).text)
    return "\n".join([*lines, "", ""]).encode() + proof.checkpoint


def parse_proof(content: bytes) -> TlogProof:
    """Read a proof; nothing is verified yet.

    Raises:
        MalformedError: not a proof, or too large; ``NonCanonicalError`` for another spelling.
        UnsupportedVersionError: a proof of another version.
    """
    if len(content) > PROOF_BYTES_MAX:
        raise MalformedError(f"a proof must be at most {PROOF_BYTES_MAX} bytes")
    head, border, checkpoint = content.partition(b"\n\n")
    try:
        lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError as error:
        raise MalformedError("a proof's lines must be ASCII") from error
    if lines[0] != MAGIC:
        if lines[0].startswith(_FAMILY):
            raise UnsupportedVersionError(f"the proof must be {MAGIC}")
        raise MalformedError(f"a proof must begin with the line {MAGIC}")
    if not border:
        raise MalformedError("a proof's checkpoint must follow an empty line")
    rest = lines[1:]
    extra = None
    if rest and rest[0].startswith("extra "):
        extra = from_base64(rest.pop(0).removeprefix("extra "), "extra")
    if not rest or not rest[0].startswith("index "):
        raise MalformedError("a proof must have an index line")
    if len(rest) > 1 + PROOF_HASHES_MAX:
        raise MalformedError(f"a proof must have at most {PROOF_HASHES_MAX} hashes of 32 bytes")
    index = parse_decimal(rest[0].removeprefix("index "), "index")
    proof = TlogProof(index, tuple(from_base64(line, "proof hash") for line in rest[1:]), checkpoint, extra)
    if format_proof(proof) != content:
        raise NonCanonicalError("a proof has one spelling")
    return proof


def verify_proof(
    proof: TlogProof, leaf_hash: bytes, origin: str, verifiers: Sequence[Verifier]
) -> SignedCheckpoint:
    """The checkpoint under which the leaf with this hash is included; origin and keys are the caller's.

    Raises:
        MalformedError, UnknownKeyError, BadSignatureError, OriginMismatchError: not a checkpoint of this log.
        BadProofError: the leaf is not at this index of it.
    """
    signed = open_checkpoint(proof.checkpoint, origin, verifiers)
    checkpoint = signed.checkpoint
    verify_inclusion(leaf_hash, proof.index, checkpoint.size, proof.hashes, checkpoint.root.raw)
    return signed
