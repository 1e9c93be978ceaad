"""The Merkle tree of RFC 6962, section 2: hashes, roots, inclusion and consistency proofs.

Hashes are 32 raw bytes; ``Digest`` is for text. Everything here is arithmetic: no files, no signatures, no trust.
Leaves and nodes are hashed with different prefixes, or a node could be passed off as a leaf (second preimage).
Verification follows RFC 9162, sections 2.1.3.2 and 2.1.4.2.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from sidecars.errors import BadProofError

HASH_BYTES: Final = 32
PROOF_HASHES_MAX: Final = 63
"""A tree of up to 2**63 leaves needs no more (also C2SP tlog-witness's bound)."""

EMPTY_ROOT: Final = hashlib.sha256(b"").digest()
"""Root of the tree without leaves."""


def leaf_hash(entry: bytes) -> bytes:
    """The hash of a leaf with this content."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Frontier(NamedTuple):
    """What must be known of a tree to append to it: its size and the roots of its perfect subtrees, large to small.

    ``append`` and ``root`` cost O(log size); the value itself never changes.
    """

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def append(self, leaf: bytes) -> "Frontier":
        """The frontier of the tree with one more leaf, given by its hash."""
        peaks = list(self.peaks)
        size = self.size
        while size & 1:  # every trailing one bit is a subtree that the new leaf completes
            leaf = node_hash(peaks.pop(), leaf)
            size >>= 1
        peaks.append(leaf)
        return Frontier(self.size + 1, tuple(peaks))

    def extend(self, leaves: Iterable[bytes]) -> "Frontier":
        """The frontier with all these leaves appended in order."""
        frontier = self
        for leaf in leaves:
            frontier = frontier.append(leaf)
        return frontier

    def root(self) -> bytes:
        """The root of the tree."""
        if not self.peaks:
            return EMPTY_ROOT
        root = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            root = node_hash(peak, root)
        return root


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The root over these leaf hashes."""
    return _subtree_root(leaves, 0, len(leaves)) if leaves else EMPTY_ROOT


def inclusion_proof(leaves: Sequence[bytes], index: int) -> tuple[bytes, ...]:
    """The proof that ``leaves[index]`` is in the tree over ``leaves``, from the leaf's sibling upwards.

    An index outside the tree is the caller's mistake, ``IndexError``.
    """
    if not 0 <= index < len(leaves):
        message = "there is no such leaf"
        raise IndexError(message)
    low, high = 0, len(leaves)
    proof = []
    while high - low > 1:
        middle = low + _split(high - low)
        if index < middle:
            proof.append(_subtree_root(leaves, middle, high))
            high = middle
        else:
            proof.append(_subtree_root(leaves, low, middle))
            low = middle
    return tuple(reversed(proof))


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> None:
    """Return only if the leaf hash stands at ``index`` in the tree of ``size`` leaves with this root.

    Raises:
        BadProofError: it does not, or the proof has another length than such a proof has.
    """
    if not 0 <= index < size:
        raise BadProofError("a leaf's index must be below the tree size")
    _check_hashes((leaf, root, *proof))
    position, last = index, size - 1
    for sibling in proof:
        if last == 0:
            raise BadProofError("the inclusion proof is too long for the tree size")
        if position & 1 or position == last:
            leaf = node_hash(sibling, leaf)
            while not position & 1 and position:
                position >>= 1
                last >>= 1
        else:
            leaf = node_hash(leaf, sibling)
        position >>= 1
        last >>= 1
    if last != 0:
        raise BadProofError("the inclusion proof is too short for the tree size")
    if leaf != root:
        raise BadProofError("the inclusion proof must lead to the root")


def consistency_proof(leaves: Sequence[bytes], old_size: int) -> tuple[bytes, ...]:
    """The proof that the tree over ``leaves`` continues the one over its first ``old_size``.

    Empty for equal sizes and for the empty tree. A size outside the tree is the caller's mistake, ``IndexError``.
    """
    if not 0 <= old_size <= len(leaves):
        message = "there is no such tree"
        raise IndexError(message)
    return _consistency(old_size, len(leaves), lambda low, high: _subtree_root(leaves, low, high))


def extension_proof(old: Frontier, added: Sequence[bytes]) -> tuple[bytes, ...]:
    """``consistency_proof`` from ``old.size``, once these leaf hashes were appended; needs no older leaf.

    Every node of such a proof is a peak of the old tree or lies over new leaves only.
    """
    peaks: dict[tuple[int, int], bytes] = {}
    low = 0
    for peak, bit in zip(old.peaks, _bits(old.size), strict=True):
        peaks[low, low + bit] = peak
        low += bit

    def subtree(low: int, high: int) -> bytes:
        known = peaks.get((low, high))
        return known if known is not None else _subtree_root(added, low - old.size, high - old.size)

    return _consistency(old.size, old.size + len(added), subtree)


def _consistency(old_size: int, size: int, subtree: Callable[[int, int], bytes]) -> tuple[bytes, ...]:
    """The nodes of a consistency proof (RFC 6962, 2.1.2); ``subtree`` gives the root over leaves low to high."""
    if old_size in (0, size):
        return ()
    low, high = 0, size
    proof = []
    while old_size != high:
        middle = low + _split(high - low)
        if old_size <= middle:
            proof.append(subtree(middle, high))
            high = middle
        else:
            proof.append(subtree(low, middle))
            low = middle
    if low > 0:  # otherwise the subtree is the whole old tree, whose root the verifier has
        proof.append(subtree(low, high))
    return tuple(reversed(proof))


def verify_consistency(
    old_size: int, new_size: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]
) -> None:
    """Return only if the tree (new_size, new_root) is an append-only extension of (old_size, old_root).

    The empty tree is a prefix of every tree: its root must be the empty root and its proof empty.

    Raises:
        BadProofError: it is not, or the proof has another length than such a proof has.
    """
    if not 0 <= old_size <= new_size:
        raise BadProofError("the old tree must not be larger than the new one")
    _check_hashes((old_root, new_root, *proof))
    if old_size in (0, new_size):
        if proof or old_root != (new_root if old_size == new_size else EMPTY_ROOT):
            raise BadProofError(
                "equal sizes need equal roots, size 0 the empty root, and both an empty proof"
            )
        return
    path = list(proof)
    if old_size & (old_size - 1) == 0:  # a perfect old tree is itself the first node
        path.insert(0, old_root)
    if _climb_both(old_size - 1, new_size - 1, path) != (old_root, new_root):
        raise BadProofError("the consistency proof must lead to both roots")


def _climb_both(position: int, last: int, path: Sequence[bytes]) -> tuple[bytes, bytes]:
    """The old and the new root that a consistency path leads to (RFC 9162, section 2.1.4.2, steps 2 to 6)."""
    if not path:
        raise BadProofError("the consistency proof is too short")
    while position & 1:
        position >>= 1
        last >>= 1
    old = new = path[0]
    for sibling in path[1:]:
        if last == 0:
            raise BadProofError("the consistency proof is too long")
        if position & 1 or position == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while not position & 1 and position:
                position >>= 1
                last >>= 1
        else:
            new = node_hash(new, sibling)
        position >>= 1
        last >>= 1
    if last != 0:
        raise BadProofError("the consistency proof is too short")
    return old, new


def _check_hashes(hashes: Sequence[bytes]) -> None:
    if len(hashes) > PROOF_HASHES_MAX + 2:
        raise BadProofError(f"a proof must have at most {PROOF_HASHES_MAX} hashes")
    if any(len(value) != HASH_BYTES for value in hashes):
        raise BadProofError("a hash must be 32 bytes")


def _bits(size: int) -> list[int]:
    """The powers of two that add up to ``size``, large to small."""
    return [1 << place for place in reversed(range(size.bit_length())) if size >> place & 1]


def _split(size: int) -> int:
    """The largest power of two below ``size`` (at least 2)."""
    return 1 << ((size - 1).bit_length() - 1)


def _subtree_root(leaves: Sequence[bytes], low: int, high: int) -> bytes:
    if high - low == 1:
        return leaves[low]
    middle = low + _split(high - low)
    return node_hash(_subtree_root(leaves, low, middle), _subtree_root(leaves, middle, high))
