"""What is believed of a log up to one size: its tree, the rules in force, every log key; and how a leaf changes it.

Pure. That a leaf stands where it belongs and is signed by whom it must be was checked before (``sidecars.trust``).
"""

from bisect import bisect_left
from collections.abc import Sequence

import msgspec

from sidecars.consent import ConsentPolicy, Consents, check_consented, with_consent
from sidecars.digest import Digest
from sidecars.erased import ERASABLE
from sidecars.errors import BrokenLinkError, UnknownKeyError
from sidecars.keys import Verifier
from sidecars.leaf import Enrollment, EpochReason, Erasure, KeyEpoch, Leaf, Policy
from sidecars.lineage import FORK_INDEX, Fork
from sidecars.merkle import Frontier


class Epoch(msgspec.Struct, frozen=True):
    """One key epoch: ``log_key`` is in force from the leaf after ``leaf`` to the leaf that begins the next epoch.

    ``at`` is the time of ``leaf`` (UTC milliseconds), the log's own word.
    """

    number: int
    leaf: int
    at: int
    reason: EpochReason
    log_key: Verifier


class Belief(msgspec.Struct, frozen=True):
    """What the leaves up to one size establish: the tree, the rules in force and every log key with its place.

    ``consents`` are the standing consents in force: they say what the log key may enroll. ``erased`` are the leaves
    that erasures name, ``lasting`` those that none may name.
    """

    frontier: Frontier = msgspec.field(default_factory=Frontier)
    policy: Policy | None = None
    epochs: tuple[Epoch, ...] = ()
    consents: Consents = ()
    erased: frozenset[int] = frozenset()
    lasting: frozenset[int] = frozenset()

    @property
    def size(self) -> int:
        """Leaves that are believed."""
        return self.frontier.size

    @property
    def root(self) -> Digest:
        """Root of the tree over them."""
        return Digest(self.frontier.root())

    @property
    def log_key(self) -> Verifier | None:
        """The log key in force, ``None`` before the first epoch."""
        return self.epochs[-1].log_key if self.epochs else None

    @property
    def head_keys(self) -> tuple[Verifier, ...]:
        """The keys that must all sign a head of this size; right after a rotation the key before it is one of them."""
        last = self.epochs[-2:]
        if len(last) > 1 and last[-1].reason == "rotation" and last[-1].leaf + 1 == self.size:
            return tuple(epoch.log_key for epoch in last)
        return tuple(epoch.log_key for epoch in last[-1:])

    def key_at(self, index: int) -> Verifier | None:
        """The log key in force at a leaf, ``None`` before the first epoch: no newer key speaks for an older leaf."""
        before = bisect_left(self.epochs, index, key=lambda epoch: epoch.leaf)
        return self.epochs[before - 1].log_key if before else None


def extend_belief(belief: Belief, leaf: Leaf, hashed: bytes, owner: Verifier) -> Belief:
    """What is believed with one more leaf, whose signature and place were checked; rules and keys change only here.

    ``hashed`` is the leaf's hash in the tree.

    Raises:
        BrokenLinkError: against the rules for policies, epochs, standing consents and erasures.
        UnknownKeyError: a key epoch or a fork names another owner key than ``owner``.
    """
    policy, epochs, consents = belief.policy, belief.epochs, belief.consents
    erased, lasting = belief.erased, belief.lasting
    if leaf.kind not in ERASABLE:
        lasting |= {leaf.index}
    match leaf.body:
        case Policy() as body:
            if policy is not None and policy.simulated_host != body.simulated_host:
                raise BrokenLinkError(
                    f"leaf {leaf.index}: only the first leaf says whether a host is simulated"
                )
            policy = body
        case KeyEpoch() as body:
            epochs = (*epochs, _check_epoch(epochs, leaf, body, owner))
        case Fork() as body:
            _check_declaration(leaf, body, owner)
        case Erasure() as body:
            _check_erasable(belief, leaf, body)
            erased |= frozenset(body.leaves)
        case ConsentPolicy() as body:
            consents = with_consent(consents, leaf.index, leaf.at, body)
        case Enrollment(consent=int(named)) as body:
            # Signed by the log key, as its signature was checked: nothing but the named consent speaks for it.
            bound, follow = body.binding, body.mode == "follow"
            check_consented(
                consents, leaf.index, named, host=bound.host, project=bound.project, follow=follow
            )
        case _:
            pass
    if policy is None:
        raise BrokenLinkError("leaf 0: the first leaf must be a policy")
    return Belief(belief.frontier.append(hashed), policy, epochs, consents, erased, lasting)


def _check_epoch(epochs: Sequence[Epoch], leaf: Leaf, body: KeyEpoch, owner: Verifier) -> Epoch:
    log_key = Verifier.parse(body.log_key)
    if body.epoch != len(epochs):
        raise BrokenLinkError(f"leaf {leaf.index}: key epochs must count from 0 without gaps")
    if body.owner_key != str(owner):
        raise UnknownKeyError(f"leaf {leaf.index}: a key epoch must name the pinned owner key")
    if log_key.name != leaf.origin:
        raise BrokenLinkError(f"leaf {leaf.index}: a log key must bear the log's origin as its name")
    if log_key.ref in {epoch.log_key.ref for epoch in epochs}:
        # A revoked key that came back would speak again, and signatures of two epochs could not be told apart.
        raise BrokenLinkError(f"leaf {leaf.index}: a log key must not come into force twice")
    if epochs and leaf.batch_size != 1:
        # The head of exactly this leaf is the one that both keys sign.
        raise BrokenLinkError(f"leaf {leaf.index}: a key change must be a batch of its own")
    return Epoch(body.epoch, leaf.index, leaf.at, body.reason, log_key)


def _check_erasable(belief: Belief, leaf: Leaf, body: Erasure) -> None:
    """Prevent rules, keys and what the owner has erased from being erased, and a leaf from being erased twice."""
    for index in body.leaves:
        if index in belief.lasting:
            raise BrokenLinkError(f"leaf {leaf.index}: leaf {index} is of a kind that must not be erased")
        if index in belief.erased:
            raise BrokenLinkError(f"leaf {leaf.index}: leaf {index} must be erased once")


def _check_declaration(leaf: Leaf, body: Fork, owner: Verifier) -> None:
    """Prevent a log from changing its descent later, and one owner's fork from being taken over by another."""
    if leaf.index != FORK_INDEX:
        raise BrokenLinkError(f"leaf {leaf.index}: a fork must be declared by leaf {FORK_INDEX}")
    if body.owner_key != str(owner):
        raise UnknownKeyError(f"leaf {leaf.index}: a fork must name the pinned owner key")
