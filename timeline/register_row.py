"""The register: which leaves of the evidence there are, by kind and by what they are about. Pure.

It holds what is neither a source's nor an assertion: policies, revocations, consents, claims, credibility, verdicts,
traces. A leaf is in it when its body says what it is about (``abouts``). As with assertions, a running hash over the
rows, the tally, says whether the stored table is the one of the log.
"""

import hashlib

import msgspec

from sidecars.leaf import Leaf

_ENCODER = msgspec.msgpack.Encoder()


class RegisterRow(msgspec.Struct, frozen=True, array_like=True):
    """One leaf: its kind, the short texts by which it is found (sorted), and its hash in the tree."""

    leaf: int
    kind: str
    abouts: tuple[str, ...]
    hash: bytes


class RegisterTally(msgspec.Struct, frozen=True):
    """How many leaves are in the register, and one running hash over their rows in the log's order."""

    count: int = 0
    digest: bytes = bytes(32)

    def with_row(self, row: RegisterRow) -> "RegisterTally":
        """The tally once this row is added behind the others."""
        return RegisterTally(self.count + 1, hashlib.sha256(self.digest + _ENCODER.encode(row)).digest())


def register_row(leaf: Leaf, hashed: bytes) -> RegisterRow | None:
    """The row of a leaf whose hash in the tree is ``hashed``; ``None`` for one that the register does not hold."""
    if not hasattr(type(leaf.body), "abouts"):  # asked of every leaf: the class says it without a call
        return None
    abouts: tuple[str, ...] = leaf.body.abouts  # type: ignore[union-attr]  # asked above
    return RegisterRow(leaf.index, leaf.kind.value, tuple(sorted(set(abouts))), hashed)


def register_rows(leaves: tuple[Leaf, ...], hashes: tuple[bytes, ...]) -> tuple[RegisterRow, ...]:
    """The rows of a batch; ``hashes`` are the hashes of all its leaves."""
    found = (register_row(leaf, hashed) for leaf, hashed in zip(leaves, hashes, strict=True))
    return tuple(row for row in found if row is not None)
