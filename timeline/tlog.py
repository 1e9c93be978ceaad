"""The log on disk: leaves in the database, head beside it, anchor apart; read, committed, repaired.

Order of a commit, under the writer lock: sidecar files, then one database transaction with leaves and projections,
then the head, then the anchor. Whatever instruction a crash hits, anchor and head are never ahead of the state, so
that either being ahead is always an alarm. Repair goes forward by exactly one complete, linked, signed batch;
what to believe is decided by ``sidecars.trust`` alone.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from sidecars.checkpoint import Checkpoint, sign_checkpoint
from sidecars.errors import BrokenLinkError
from sidecars.leaf import SALT_BYTES, SIGNED_BY, Body, Leaf, Role, leaf_hash, seal_leaf
from sidecars.trust import AnchorRepairable, Belief, Consistent, Finding, HeadRepairable, TrustedLog
from timeline.clock import Entropy
from timeline.errors import ClockError, StateBusyError
from timeline.files import read_private, write_atomic
from timeline.keystore import Keystore
from timeline.limits import CLOCK_SKEW_MS, NOTE_BYTES_MAX
from timeline.paths import Locations
from timeline.store import Store


class Step(StrEnum):
    """The steps of a commit; each is named just before it is taken."""

    SIDECAR = "sidecar-files"
    BEGIN = "database-begin"
    LEAVES = "database-leaves"
    PROJECTION = "database-projection"
    DATABASE = "database-commit"
    HEAD = "head"
    ANCHOR = "anchor"
    DONE = "done"


Probe = Callable[[Step], None]
"""Called before each step; tests use it to stop or kill the process there."""


def no_probe(_step: Step) -> None:
    """Nothing is watching."""


class LogReading(msgspec.Struct, frozen=True):
    """A log that was read and believed: the finding, every leaf, and the bytes of the anchor."""

    finding: Finding
    leaves: tuple[Leaf, ...]
    anchor: bytes


def read_log(locations: Locations, store: Store, keystore: Keystore) -> LogReading:
    """Read anchor, head and every leaf, and verify all of it. Changes nothing.

    Raises:
        StateIncompleteError, UnsafeFileError: head or anchor is missing or not private.
        SidecarError: what is there is not to be believed; its ``reason`` is the row of the detection matrix.
        StateError: the database cannot be read.
    """
    pins = keystore.pins
    log = TrustedLog(origin=pins.origin, owner=pins.owner, log_keys=[pins.log])
    anchor = read_private(locations.anchor, size_max=NOTE_BYTES_MAX)
    log.admit_anchor(anchor)
    log.admit_head(read_private(locations.head, size_max=NOTE_BYTES_MAX))
    leaves = []
    for number, (index, salt, envelope) in enumerate(store.leaves()):
        if index != number:
            raise BrokenLinkError(f"leaf {number}: its row must bear its index")
        leaves.append(log.admit_leaf(salt, envelope))
    return LogReading(log.finish(), tuple(leaves), anchor)


def write_empty_log(locations: Locations, keystore: Keystore) -> None:
    """Write head and anchor of the empty tree, the anchor first.

    ``init`` does this before anything else: from then on a missing head or anchor is never a fresh start.

    Raises:
        StateUnwritableError: a file cannot be written.
    """
    note = _sign_head(keystore, Belief())
    write_atomic(locations.anchor, note)
    write_atomic(locations.head, note)


def repair(locations: Locations, keystore: Keystore, reading: LogReading) -> bool:
    """Take the one repair that the finding allows, under the writer lock; returns whether one was due.

    Raises:
        StateUnwritableError: a file cannot be written; the finding stays as it was.
        StateBusyError: another process moved the anchor meanwhile.
    """
    match reading.finding:
        case Consistent():
            return False
        case HeadRepairable(belief=belief):
            note = _sign_head(keystore, belief)
            write_atomic(locations.head, note)
            advance_anchor(locations, reading.anchor, note)
        case AnchorRepairable(head=head):
            advance_anchor(locations, reading.anchor, head.note)
    return True


class Batch(msgspec.Struct, frozen=True):
    """What one commit adds: sealed leaves in order, and the belief once they are in."""

    leaves: tuple[Leaf, ...]
    rows: tuple[tuple[int, bytes, bytes], ...]
    belief: Belief


def seal_batch(
    keystore: Keystore,
    belief: Belief,
    bodies: Sequence[Body],
    *,
    at_ms: int,
    newest_ms: int,
    entropy: Entropy,
) -> Batch:
    """Seal the leaves of one commit, each signed by the key its kind needs.

    Raises:
        ClockError: ``at_ms`` stands before the newest leaf by more than the allowed skew.
    """
    if at_ms < newest_ms - CLOCK_SKEW_MS:
        message = f"the clock stands {newest_ms - at_ms} ms before the newest entry of the log"
        raise ClockError(message)
    frontier = belief.frontier
    leaves, rows = [], []
    for offset, body in enumerate(bodies):
        leaf = Leaf(
            origin=keystore.pins.origin,
            index=frontier.size,
            root=_root_text(Belief(frontier)),
            batch_start=belief.size,
            batch_size=len(bodies),
            at=max(at_ms, newest_ms),
            body=body,
        )
        signer = keystore.owner if SIGNED_BY[leaf.kind] is Role.OWNER else keystore.log
        envelope, salt = seal_leaf(leaf, signer), entropy.bytes(SALT_BYTES)
        leaves.append(leaf)
        rows.append((belief.size + offset, salt, envelope))
        frontier = frontier.append(leaf_hash(salt, envelope))
    return Batch(tuple(leaves), tuple(rows), Belief(frontier, belief.policy, belief.epoch, belief.log_key))


def write_batch(
    locations: Locations,
    store: Store,
    keystore: Keystore,
    batch: Batch,
    *,
    project: Callable[[Store], None],
    probe: Probe = no_probe,
) -> None:
    """Write a batch: database, head, anchor. The sidecar files it names are on disk already.

    Raises:
        StateError: nothing was written, or a repair by this one batch is due at the next opening.
    """
    anchor = read_private(locations.anchor, size_max=NOTE_BYTES_MAX)
    probe(Step.BEGIN)
    with store.transaction():
        if store.leaf_count() != batch.rows[0][0]:
            message = f"{store.path}: another process has written meanwhile"
            raise StateBusyError(message)
        probe(Step.LEAVES)
        for index, salt, envelope in batch.rows:
            store.append_leaf(index, salt, envelope)
        probe(Step.PROJECTION)
        project(store)
        probe(Step.DATABASE)
    probe(Step.HEAD)
    note = _sign_head(keystore, batch.belief)
    write_atomic(locations.head, note)
    probe(Step.ANCHOR)
    advance_anchor(locations, anchor, note)
    probe(Step.DONE)


def advance_anchor(locations: Locations, expected: bytes, note: bytes) -> None:
    """Move the local anchor from exactly ``expected`` to ``note`` (compare-and-set).

    Raises:
        StateBusyError: it is not ``expected`` any more.
        StateUnwritableError: it cannot be written.
    """
    if read_private(locations.anchor, size_max=NOTE_BYTES_MAX) != expected:
        message = f"{locations.anchor}: another process has moved it meanwhile"
        raise StateBusyError(message)
    write_atomic(locations.anchor, note)


def _sign_head(keystore: Keystore, belief: Belief) -> bytes:
    checkpoint = Checkpoint(keystore.pins.origin, belief.size, belief.root)
    return sign_checkpoint(checkpoint, [keystore.log])


def _root_text(belief: Belief) -> str:
    return str(belief.root)
