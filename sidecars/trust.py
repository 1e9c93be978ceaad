"""``TrustedLog``: what is believed of a log so far, and the only ways to believe more.

It decides and does no I/O: the caller reads the files, hands over bytes in order and acts on the result. Where
rules come from: TUF's client workflow (rollback, mix-and-match), RFC 6962 (append-only), and the crash states that
the commit order state, head, anchor can leave (``docs/spec/log.md``).

What it cannot see, and does not claim: a complete restore of state, head and anchor together, and a log that is
frozen. Both need someone outside who remembers (a witness).
"""

from collections.abc import Sequence
from enum import Enum, auto

import msgspec

from sidecars.belief import Belief, Epoch, extend_belief
from sidecars.checkpoint import SignedCheckpoint, open_checkpoint
from sidecars.erased import ERASED_SALT, stored_hash
from sidecars.errors import (
    AnchorAheadError,
    BrokenLinkError,
    DigestMismatchError,
    EquivocationError,
    ErasureUnstatedError,
    LagError,
    OriginMismatchError,
    RollbackError,
    StateBehindError,
    UnknownKeyError,
)
from sidecars.keys import Verifier
from sidecars.leaf import Leaf, leaf_hash, open_leaf

__all__ = [
    "AnchorRepairable",
    "Belief",
    "Consistent",
    "Epoch",
    "Finding",
    "HeadRepairable",
    "TrustedLog",
    "extend_belief",
]


class Consistent(msgspec.Struct, frozen=True):
    """State, head and anchor agree."""

    belief: Belief
    head: SignedCheckpoint


class HeadRepairable(msgspec.Struct, frozen=True):
    """The state is one complete, linked, signed batch ahead: sign a head for ``belief``, then move the anchor."""

    belief: Belief
    head: SignedCheckpoint


class AnchorRepairable(msgspec.Struct, frozen=True):
    """State and head agree and the anchor is one batch behind: move it to ``head``."""

    belief: Belief
    head: SignedCheckpoint
    anchor_size: int


Finding = Consistent | HeadRepairable | AnchorRepairable


class _Stage(Enum):
    ANCHOR = auto()
    HEAD = auto()
    LEAVES = auto()
    DONE = auto()


class TrustedLog:
    """One pass over anchor, head and leaves of the log that the caller has pinned.

    Order of admission
        1. ``admit_anchor``: what was believed last time, kept apart from the state;
        2. ``admit_head``: what the state claims; it may not be older than the anchor;
        3. ``admit_leaf``, or ``admit_erased`` for one whose bytes are gone: every leaf in index order;
        4. ``finish``: the three must agree, or differ by exactly the one batch that a crash can leave.

    Out of order is ``RuntimeError``: the caller's mistake, not the log's. A refusal raises ``SidecarError`` and
    moves nothing: the object believes what it believed before. Nothing is to be used before ``finish`` returns.

    Origin and keys are the caller's, never read from what is being verified: who may name the trust root can
    replace it. ``log_keys`` are the log keys that head and anchor may be signed with, one as a rule, two while a
    key change is being committed; which of them was in force is decided by the key-epoch leaves.

    ``believed`` is an earlier ``Consistent.belief`` of the same process: only newer leaves are then admitted. Where one
    of them erases an older leaf (``erasures_due``), the log has to be read again from its first leaf on.
    """

    def __init__(
        self,
        *,
        origin: str,
        owner: Verifier,
        log_keys: Sequence[Verifier],
        believed: Belief | None = None,
    ) -> None:
        """Start with what is pinned."""
        self._origin = origin
        self._owner = owner
        self._log_keys = tuple(log_keys)
        self._belief = Belief() if believed is None else believed
        self._base = self._belief
        self._stage = _Stage.ANCHOR
        self._anchor: SignedCheckpoint | None = None
        self._head: SignedCheckpoint | None = None
        self._batch: tuple[int, int] | None = None
        """Start and size of the batch that the last admitted leaf belongs to; ``None`` where no leaf says so."""
        self._unbatched_from: int | None = None
        """Where the erased leaves begin that were admitted last, as far as no leaf says which batches they were of."""
        self._gone: set[int] = set()
        """Leaves whose bytes are gone."""
        self._newest_hash = b""
        self._ends: dict[int, Belief] = {self._base.size: self._base}
        """What was believed at the ends of batches, where head or anchor stand."""

    @property
    def size(self) -> int:
        """Leaves admitted so far."""
        return self._belief.size

    @property
    def newest_hash(self) -> bytes:
        """The hash in the tree of the leaf that was admitted last; empty before the first."""
        return self._newest_hash

    def admit_anchor(self, note: bytes) -> SignedCheckpoint:
        """Take the last accepted checkpoint.

        Raises:
            MalformedError, UnknownKeyError, BadSignatureError, OriginMismatchError: not a checkpoint of this log.
            RollbackError: older than ``believed``.
        """
        self._expect(_Stage.ANCHOR)
        anchor = self._open(note)
        self._refuse_older_than_base(anchor, "anchor")
        self._anchor = anchor
        self._stage = _Stage.HEAD
        return anchor

    def admit_head(self, note: bytes) -> SignedCheckpoint:
        """Take the checkpoint that the state shows as its newest.

        Raises:
            MalformedError, UnknownKeyError, BadSignatureError, OriginMismatchError: not a checkpoint of this log.
            AnchorAheadError: older than the anchor (an old head or an old state was put back).
            RollbackError: older than ``believed``.
            EquivocationError: the anchor's size with another root.
        """
        self._expect(_Stage.HEAD)
        anchor = self._anchor_now()
        head = self._open(note)
        self._refuse_older_than_base(head, "head")
        if head.checkpoint.size < anchor.checkpoint.size:
            raise AnchorAheadError(
                f"the head has size {head.checkpoint.size}, the anchor remembers {anchor.checkpoint.size}"
            )
        if head.checkpoint.size == anchor.checkpoint.size and head.checkpoint != anchor.checkpoint:
            raise EquivocationError(
                f"head and anchor have different roots for size {head.checkpoint.size}",
                evidence=(anchor.note, head.note),
            )
        self._head = head
        self._stage = _Stage.LEAVES
        return head

    def admit_leaf(self, salt: bytes, envelope: bytes) -> Leaf:
        """Take the next leaf.

        Raises:
            MalformedError, PayloadTypeError: not a leaf.
            UnknownKeyError, BadSignatureError: not signed by the key that its kind needs at this place.
            OriginMismatchError: of another log.
            BrokenLinkError: wrong index, root before it or batch; or against the rules for policies, epochs and
                standing consents.
            LagError: beyond the one batch that may follow the head.
        """
        self._expect(_Stage.LEAVES)
        leaf = open_leaf(envelope, self._owner, self._belief.log_key)
        self._check_link(leaf)
        self._check_lag(leaf)
        hashed = leaf_hash(salt, envelope)
        belief = extend_belief(self._belief, leaf, hashed, self._owner)
        # All checks are done: from here on nothing raises.
        self._belief, self._newest_hash = belief, hashed
        self._batch, self._unbatched_from = (leaf.batch_start, leaf.batch_size), None
        for size in range(leaf.batch_start + 1, leaf.index + 1):
            self._ends.pop(size, None)  # taken for an end while the leaves before it said nothing
        if leaf.is_last_of_batch and belief.size in self._marks():
            self._ends[belief.size] = belief
        return leaf

    def admit_erased(self, kept: bytes) -> None:
        """Take the next leaf where its bytes are gone; ``kept`` stands where its envelope stood.

        Raises:
            MalformedError: it is no hash.
            BrokenLinkError: it is the first leaf.
            LagError: it stands behind the head. No leaf goes before the head signs the erasure that names it.
        """
        self._expect(_Stage.LEAVES)
        hashed, place = stored_hash(ERASED_SALT, kept), self._belief.size
        if self._belief.policy is None:
            raise BrokenLinkError("leaf 0: the first leaf must be a policy")
        if place >= self._head_now().checkpoint.size:
            raise LagError(f"leaf {place}: an erased leaf must stand before the head's size")
        if not self._is_inside_batch():
            self._batch = None
            self._unbatched_from = place if self._unbatched_from is None else self._unbatched_from
        belief = msgspec.structs.replace(self._belief, frontier=self._belief.frontier.append(hashed))
        self._belief, self._newest_hash = belief, hashed
        self._gone.add(place)
        # A batch may end at any erased leaf, until a leaf behind it says that its own had begun before.
        if belief.size in self._marks() and not self._is_inside_batch():
            self._ends[belief.size] = belief

    @property
    def erasures_due(self) -> tuple[int, ...]:
        """Leaves that erasures name and whose bytes were admitted all the same, or were not looked at now; in order.

        Nothing may be answered from a log in which one is due.
        """
        return tuple(sorted(self._belief.erased - self._base.erased - self._gone))

    def finish(self) -> Finding:
        """Compare what was admitted; believe it, or say which one repair is due.

        Raises:
            StateBehindError: fewer leaves than the head signs.
            BrokenLinkError: the last batch is not complete, or head or anchor stand inside one.
            ErasureUnstatedError: the bytes of a leaf are gone that no erasure names.
            DigestMismatchError: the leaves do not lead to the head's root.
            UnknownKeyError: head or anchor are not signed by the keys that their size needs, or the log key in force
                is not a pinned one.
            EquivocationError: the anchor signs another history than the head.
            LagError: more than one batch apart.
        """
        self._expect(_Stage.LEAVES)
        anchor, head = self._anchor_now(), self._head_now()
        self._refuse_unfinished(head)
        self._refuse_unpinned()
        self._refuse_unstated()
        if self._end_at(head, "head").root != head.checkpoint.root:
            raise DigestMismatchError(
                f"the leaves must lead to the head's root at size {head.checkpoint.size}"
            )
        if self._end_at(anchor, "anchor").root != anchor.checkpoint.root:
            raise EquivocationError(
                f"the anchor has another root for size {anchor.checkpoint.size} than the log that the head signs",
                evidence=(anchor.note, head.note),
            )
        finding = self._compare_sizes(head, anchor)
        self._stage = _Stage.DONE
        return finding

    # -- order -------------------------------------------------------------------------------------------------

    def _expect(self, stage: _Stage) -> None:
        if self._stage is not stage:
            message = (
                f"a TrustedLog takes anchor, head, leaves and finish in this order, now {self._stage.name}"
            )
            raise RuntimeError(message)

    def _anchor_now(self) -> SignedCheckpoint:
        return _present(self._anchor)

    def _head_now(self) -> SignedCheckpoint:
        return _present(self._head)

    def _marks(self) -> tuple[int, int]:
        return (self._anchor_now().checkpoint.size, self._head_now().checkpoint.size)

    # -- rules -------------------------------------------------------------------------------------------------

    def _open(self, note: bytes) -> SignedCheckpoint:
        return open_checkpoint(note, self._origin, self._log_keys)

    def _refuse_older_than_base(self, signed: SignedCheckpoint, what: str) -> None:
        if signed.checkpoint.size < self._base.size:
            raise RollbackError(
                f"the {what} has size {signed.checkpoint.size}, {self._base.size} leaves are already believed"
            )

    def _check_link(self, leaf: Leaf) -> None:
        """Prevent moving, dropping, inserting or re-using a leaf, and a batch that is adopted in part."""
        belief = self._belief
        if leaf.origin != self._origin:
            raise OriginMismatchError(f"leaf {belief.size}: its origin must be the pinned one")
        if leaf.index != belief.size:
            raise BrokenLinkError(f"leaf {belief.size}: its index must be its place")
        if leaf.root != str(belief.root):
            raise BrokenLinkError(f"leaf {belief.size}: its root must be that of the tree before it")
        batch = (leaf.batch_start, leaf.batch_size)
        if self._unbatched_from is not None:
            if leaf.batch_start < self._unbatched_from:
                raise BrokenLinkError(f"leaf {belief.size}: a batch must not reach into the one before it")
            return
        if self._is_inside_batch() and batch != self._batch:
            raise BrokenLinkError(f"leaf {belief.size}: the batch before it must be complete")
        if not self._is_inside_batch() and leaf.batch_start != leaf.index:
            raise BrokenLinkError(f"leaf {belief.size}: a batch must start where the one before it ends")

    def _is_inside_batch(self) -> bool:
        return self._batch is not None and self.size < sum(self._batch)

    def _check_lag(self, leaf: Leaf) -> None:
        size = self._head_now().checkpoint.size
        if leaf.index >= size and leaf.batch_start != size:
            if leaf.batch_start < size:
                raise BrokenLinkError(f"the head's size {size} must be the end of a batch")
            raise LagError(f"leaf {leaf.index}: at most one batch may follow the head's size {size}")

    def _refuse_unpinned(self) -> None:
        """Prevent an older trust folder from passing under a newer state: its key is in force no more."""
        key = self._belief.log_key
        if key is not None and key not in self._log_keys:
            raise UnknownKeyError(
                f"the log key in force after leaf {self._belief.epochs[-1].leaf} must be a pinned one",
                hint="state and trust are of different key epochs: restore the newest of both",
            )

    def _refuse_unstated(self) -> None:
        """Prevent whoever can write the database from taking out what he wishes unsaid."""
        unstated = sorted(self._gone - self._belief.erased)
        if unstated:
            raise ErasureUnstatedError(
                f"leaf {unstated[0]}: its bytes are gone, an erasure signed by the owner must name it"
            )

    def _refuse_unfinished(self, head: SignedCheckpoint) -> None:
        if self.size < head.checkpoint.size:
            raise StateBehindError(f"there are {self.size} leaves, the head signs {head.checkpoint.size}")
        if self._is_inside_batch():
            raise BrokenLinkError(f"the batch at the end, at leaf {self.size}, must be complete")

    def _end_at(self, signed: SignedCheckpoint, what: str) -> Belief:
        """What was believed at a checkpoint's size, once its signature is by the key in force there."""
        size = signed.checkpoint.size
        end = self._ends.get(size)
        if end is None:
            raise BrokenLinkError(f"the {what}'s size {size} must be the end of a batch")
        # Before the first epoch no leaf names a key; the pinned one signs the empty tree.
        if size > 0:
            self._check_signers(signed, end.head_keys, f"the {what} of size {size}")
        return end

    def _check_signers(self, signed: SignedCheckpoint, keys: Sequence[Verifier], what: str) -> None:
        """Verified again, with the keys that the leaves name: a retired one is not pinned, but has to have signed."""
        rule = f"{what} must be signed by the log key in force, right after a rotation also by the one before"
        try:
            found = open_checkpoint(signed.note, self._origin, keys).keys
        except UnknownKeyError as error:
            raise UnknownKeyError(rule) from error
        if not keys or any(key.ref not in found for key in keys):
            raise UnknownKeyError(rule)

    def _compare_sizes(self, head: SignedCheckpoint, anchor: SignedCheckpoint) -> Finding:
        head_size, anchor_size = head.checkpoint.size, anchor.checkpoint.size
        last_start = self._base.size if self._batch is None else self._batch[0]
        if self.size == head_size == anchor_size:
            return Consistent(self._belief, head)
        if head_size == anchor_size:  # _check_lag allowed exactly one batch beyond the head
            return HeadRepairable(self._belief, head)
        if self.size == head_size and anchor_size == last_start:
            return AnchorRepairable(self._belief, head, anchor_size)
        raise LagError(
            f"state {self.size}, head {head_size} and anchor {anchor_size} are more than one batch apart"
        )


def _present(signed: SignedCheckpoint | None) -> SignedCheckpoint:
    """What the stage guarantees to be there."""
    if signed is None:
        message = "anchor and head are admitted before leaves"
        raise RuntimeError(message)
    return signed
