"""A log in memory that commits as the daemon does, and lies on demand.

Tests change it directly, take its ``View`` and show that to a ``TrustedLog``. What it can do wrong: stop a commit
half way, put back older parts, fork, sign with an old or a strange key, drop or swap leaves, and write a leaf
without signing it.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Literal

from sidecars.checkpoint import Checkpoint, sign_checkpoint
from sidecars.digest import Digest
from sidecars.keys import Signer, Verifier
from sidecars.leaf import (
    Body,
    ConsentPolicy,
    EpochReason,
    KeyEpoch,
    Leaf,
    Policy,
    Revocation,
    Role,
    SidecarEntry,
    leaf_hash,
    seal_leaf,
)
from sidecars.merkle import Frontier
from sidecars.trust import Belief, Finding, TrustedLog
from tests.sidecars.samples import AT, ENROLLMENT, LOG, ORIGIN, OWNER, SOURCE, digest_text


class Until(Enum):
    """How far a commit gets before the machine dies."""

    STATE = auto()
    HEAD = auto()
    ANCHOR = auto()


@dataclass(frozen=True)
class View:
    """What lies on disk: leaves as salt and envelope, head and anchor as notes."""

    leaves: tuple[tuple[bytes, bytes], ...]
    head: bytes
    anchor: bytes


def policy(*, simulated: bool = False, presence: Literal["terminal", "any"] = "terminal") -> Policy:
    """Give the owner's rules."""
    return Policy(owner_presence=presence, simulated_host=simulated)


def key_epoch(
    epoch: int = 0, log: Signer = LOG, owner: Signer = OWNER, *, reason: EpochReason | None = None
) -> KeyEpoch:
    """Give the leaf that puts a log key in force, by rotation unless it is the first or told otherwise."""
    why = reason or ("rotation" if epoch else "first")
    return KeyEpoch(epoch=epoch, log_key=str(log.verifier), owner_key=str(owner.verifier), reason=why)


def entry(word: object) -> SidecarEntry:
    """Give the entry of some sidecar file."""
    return SidecarEntry(
        digest=digest_text(word),
        source=SOURCE,
        segment=0,
        enrollment_id=ENROLLMENT,
        count=0,
        root=digest_text(0),
    )


def standing(*, allowed: bool = True, follow: bool = False, **where: str) -> ConsentPolicy:
    """Give the owner's standing consent for Codex in the project of the sample enrollment, unless told otherwise."""
    place = {"host": "codex", "project": "/srv/u/projekt-ü"} | where
    return ConsentPolicy(follow=follow, allowed=allowed, **place)


REVOCATION = Revocation(enrollment_id=ENROLLMENT)


class LogSimulator:
    """One log; ``view`` is what it shows."""

    def __init__(self, *, started: bool = True) -> None:
        """Write head and anchor of the empty tree, then, unless told not to, the first batch."""
        self.owner = OWNER
        self.log = LOG
        self.frontier = Frontier()
        note = self.sign(self.log)
        self.view = View((), note, note)
        self._salts = 0
        if started:
            self.commit([policy(), key_epoch()])

    def commit(self, bodies: Sequence[Body], until: Until = Until.ANCHOR) -> View:
        """Append one batch and publish it as far as ``until``."""
        start = self.frontier.size
        for body in bodies:
            self.append(self.make_leaf(body, start, len(bodies)))
        if until is not Until.STATE:
            self.publish_head()
        if until is Until.ANCHOR:
            self.publish_anchor()
        return self.view

    def make_leaf(self, body: Body, batch_start: int, batch_size: int) -> Leaf:
        """Give the next leaf, correctly linked."""
        return Leaf(
            origin=ORIGIN,
            index=self.frontier.size,
            root=str(Digest(self.frontier.root())),
            batch_start=batch_start,
            batch_size=batch_size,
            at=AT + self.frontier.size,
            body=body,
        )

    def append(self, leaf: Leaf, signer: Signer | None = None) -> None:
        """Sign a leaf, with the key that it needs unless told otherwise, and append it."""
        needed = self.owner if leaf.signed_by is Role.OWNER else self.log
        self.append_bytes(seal_leaf(leaf, needed if signer is None else signer))

    def append_bytes(self, envelope: bytes) -> None:
        """Append an envelope as it is, signed or not."""
        self._salts += 1
        salt = hashlib.sha256(b"salt %d" % self._salts).digest()
        self.frontier = self.frontier.append(leaf_hash(salt, envelope))
        self.view = replace(self.view, leaves=(*self.view.leaves, (salt, envelope)))

    def sign(self, *signers: Signer) -> bytes:
        """Give a checkpoint of the present tree."""
        return sign_checkpoint(
            Checkpoint(ORIGIN, self.frontier.size, Digest(self.frontier.root())), list(signers)
        )

    def publish_head(self, *signers: Signer) -> None:
        """Sign the present tree as head, with the present log key unless told otherwise."""
        self.view = replace(self.view, head=self.sign(*(signers or (self.log,))))

    def rotate(self, epoch: int, log: Signer, until: Until = Until.ANCHOR) -> View:
        """Change the log key in an orderly way: the first head is signed by the old key and the new one."""
        self.commit([key_epoch(epoch, log)], Until.STATE)
        old, self.log = self.log, log
        if until is not Until.STATE:
            self.publish_head(old, log)
        if until is Until.ANCHOR:
            self.publish_anchor()
        return self.view

    def publish_anchor(self) -> None:
        """Remember the head outside."""
        self.view = replace(self.view, anchor=self.view.head)

    def fork(self, keep: int) -> "LogSimulator":
        """Give a second log that shares the first ``keep`` leaves and then goes its own way."""
        other = LogSimulator(started=False)
        other._salts = 1000 + keep  # other salts, hence other hashes even for equal leaves
        for salt, envelope in self.view.leaves[:keep]:
            other.frontier = other.frontier.append(leaf_hash(salt, envelope))
            other.view = replace(other.view, leaves=(*other.view.leaves, (salt, envelope)))
        other.publish_head()
        other.publish_anchor()
        return other


def examine(
    view: View,
    *,
    log_keys: Sequence[Verifier] = (LOG.verifier,),
    believed: Belief | None = None,
    skip: int = 0,
) -> Finding:
    """Show a view to a fresh ``TrustedLog``; ``skip`` leaves are the ones already believed."""
    log = TrustedLog(origin=ORIGIN, owner=OWNER.verifier, log_keys=log_keys, believed=believed)
    log.admit_anchor(view.anchor)
    log.admit_head(view.head)
    for salt, envelope in view.leaves[skip:]:
        log.admit_leaf(salt, envelope)
    return log.finish()
