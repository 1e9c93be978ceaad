"""``merkle``: every proof of every small tree, and nothing else."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.errors import BadProofError
from sidecars.merkle import (
    EMPTY_ROOT,
    Frontier,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    node_hash,
    root_of,
    verify_consistency,
    verify_inclusion,
)

SIZE = 33
LEAVES = [leaf_hash(b"leaf %d" % number) for number in range(SIZE)]


def defined_root(leaves: list[bytes]) -> bytes:
    """Give the root as RFC 6962 section 2.1 defines it, word for word."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    split = max(2**power for power in range(10) if 2**power < len(leaves))
    return hashlib.sha256(b"\x01" + defined_root(leaves[:split]) + defined_root(leaves[split:])).digest()


def test_roots_are_those_of_the_definition() -> None:
    """Root and frontier agree with RFC 6962 for every size."""
    frontier = Frontier()
    for size in range(SIZE + 1):
        assert root_of(LEAVES[:size]) == frontier.root() == defined_root(LEAVES[:size])
        assert frontier.size == size
        if size < SIZE:
            frontier = frontier.append(LEAVES[size])
    assert Frontier().extend(LEAVES) == frontier


def test_a_leaf_is_not_a_node() -> None:
    """The prefixes differ: an inner node cannot be passed off as a leaf of its children."""
    left, right = LEAVES[:2]
    assert leaf_hash(left + right) != node_hash(left, right)
    assert EMPTY_ROOT not in (leaf_hash(b""), root_of([leaf_hash(b"")]))


def test_every_leaf_of_every_tree_proves_and_no_other_does() -> None:
    """For all sizes up to 33: each leaf verifies at its index, and no other leaf or index does with its proof."""
    for size in range(1, SIZE + 1):
        leaves, root = LEAVES[:size], root_of(LEAVES[:size])
        for index in range(size):
            proof = inclusion_proof(leaves, index)
            verify_inclusion(leaves[index], index, size, proof, root)
            for other in range(size):
                if other == index:
                    continue
                with pytest.raises(BadProofError):
                    verify_inclusion(leaves[other], index, size, proof, root)
                with pytest.raises(BadProofError):
                    verify_inclusion(leaves[index], other, size, proof, root)


def test_every_tree_continues_every_smaller_one_and_no_other() -> None:
    """For all pairs of sizes up to 33 the proof verifies, and fails for any other root of either size."""
    roots = [root_of(LEAVES[:size]) for size in range(SIZE + 1)]
    for new in range(SIZE + 1):
        for old in range(new + 1):
            proof = consistency_proof(LEAVES[:new], old)
            verify_consistency(old, new, roots[old], roots[new], proof)
            with pytest.raises(BadProofError):
                verify_consistency(old, new, leaf_hash(b"x"), roots[new], proof)
            if old:
                with pytest.raises(BadProofError):
                    verify_consistency(old, new, roots[old], leaf_hash(b"x"), proof)


def test_a_history_with_one_leaf_changed_is_not_consistent() -> None:
    """Whichever old leaf is changed, no honest proof of the new tree leads to the old root."""
    for changed in range(7):
        forged = [*LEAVES]
        forged[changed] = leaf_hash(b"forged")
        with pytest.raises(BadProofError):
            verify_consistency(7, SIZE, root_of(LEAVES[:7]), root_of(forged), consistency_proof(forged, 7))


@given(st.integers(1, SIZE), st.data())
def test_a_proof_of_another_length_or_with_another_hash_fails(size: int, data: st.DataObject) -> None:
    """Cut, lengthened, reordered or altered proofs of inclusion and consistency are refused."""
    leaves, root = LEAVES[:size], root_of(LEAVES[:size])
    index, old = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size))
    inclusion, consistency = inclusion_proof(leaves, index), consistency_proof(leaves, old)
    for proof in altered(inclusion, data):
        with pytest.raises(BadProofError):
            verify_inclusion(leaves[index], index, size, proof, root)
    for proof in altered(consistency, data):
        with pytest.raises(BadProofError):
            verify_consistency(old, size, root_of(leaves[:old]), root, proof)


def altered(proof: tuple[bytes, ...], data: st.DataObject) -> list[tuple[bytes, ...]]:
    """Give wrong forms of a proof."""
    extra = leaf_hash(b"extra")
    wrong = [(*proof, extra), (extra, *proof), (*proof, b""), (*proof,) + (extra,) * 70]
    if proof:
        place = data.draw(st.integers(0, len(proof) - 1))
        wrong += [proof[:-1], proof[1:], (*proof[:place], extra, *proof[place + 1 :])]
        wrong.append((*proof[:place], proof[place][:-1], *proof[place + 1 :]))
    if len(proof) > 1:
        wrong.append(proof[::-1])
    return wrong


def test_sizes_and_indices_outside_the_tree_are_refused() -> None:
    """Verifiers raise our error, makers the caller's."""
    for index, size in ((-1, 1), (1, 1), (0, 0)):
        with pytest.raises(BadProofError):
            verify_inclusion(LEAVES[0], index, size, (), LEAVES[0])
    for old, new in ((-1, 1), (2, 1)):
        with pytest.raises(BadProofError):
            verify_consistency(old, new, EMPTY_ROOT, EMPTY_ROOT, ())
    for call in (
        lambda: inclusion_proof([], 0),
        lambda: inclusion_proof(LEAVES, SIZE),
        lambda: consistency_proof([], 1),
        lambda: consistency_proof(LEAVES, -1),
        lambda: inclusion_proof(LEAVES, -1),
    ):
        with pytest.raises(IndexError):
            call()


def test_the_empty_tree_is_a_prefix_of_every_tree_but_only_with_the_empty_root() -> None:
    """Size 0 proves nothing by itself, so its root is fixed and its proof empty."""
    verify_consistency(0, 1, EMPTY_ROOT, LEAVES[0], ())
    for root, proof in ((LEAVES[0], ()), (EMPTY_ROOT, (LEAVES[0],))):
        with pytest.raises(BadProofError):
            verify_consistency(0, 1, root, LEAVES[0], proof)
