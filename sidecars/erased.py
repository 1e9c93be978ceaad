"""What is stored of a leaf that was erased, and which kinds of leaves may be.

A stored leaf is a salt and an envelope. Once it was erased the salt is empty, and where the envelope stood stands the
leaf's hash in the tree. Nothing can pass for the other: a salt has 32 bytes. Pure.
"""

from typing import Final

from sidecars.errors import MalformedError
from sidecars.kind import Kind
from sidecars.leaf import leaf_hash
from sidecars.merkle import HASH_BYTES

ERASED_SALT: Final = b""
"""Where a salt stood."""

ERASABLE: Final = frozenset(
    {
        Kind.ASSERTION,
        Kind.ENROLLMENT,
        Kind.EXTENSION,
        Kind.SIDECAR,
        Kind.PREFIX_PROOF,
        Kind.INVALIDATION,
        Kind.REVOCATION,
        Kind.EVIDENCE_REVOCATION,
        Kind.CONFLICT,
        Kind.PERSON_CONSENT,
        Kind.MEDIATION_TRACE,
        Kind.CLAIMS,
        Kind.CREDENTIAL,
        Kind.CREDIBILITY,
        Kind.VERDICT,
        Kind.EXCLUSION,
    }
)
"""Kinds that may be erased: what was taken in, and what was said about it.

No other may: what it says is needed to read the leaves behind it, or is what the owner has decided and done.
"""


def is_erased(salt: bytes) -> bool:
    """Whether a stored leaf was erased, by its salt."""
    return salt == ERASED_SALT


def stored_hash(salt: bytes, envelope: bytes) -> bytes:
    """The hash in the tree of a stored leaf, erased or not.

    Raises:
        MalformedError: the salt is neither empty nor 32 bytes, or what stands for an erased leaf is no hash.
    """
    if not is_erased(salt):
        return leaf_hash(salt, envelope)
    if len(envelope) != HASH_BYTES:
        raise MalformedError(f"what is kept of an erased leaf must be a hash of {HASH_BYTES} bytes")
    return envelope
