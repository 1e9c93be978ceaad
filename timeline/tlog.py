"""The log on disk: leaves in the database, head beside it, anchor apart; read, committed, repaired.

Order of a commit, under the writer lock: sidecar files, then one database transaction with leaves and projections,
then the head, then the anchor. Whatever instruction a crash hits, anchor and head are never ahead of the state, so
that either being ahead is always an alarm. A reader holds no lock and may read them at different moments: before a
disagreement counts, it looks whether anything changed meanwhile. Repair goes forward by exactly one complete,
linked, signed batch; what to believe is decided by ``sidecars.trust`` alone.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from sidecars.checkpoint import Checkpoint, sign_checkpoint
from sidecars.errors import BrokenLinkError, SidecarError
from sidecars.leaf import SALT_BYTES, SIGNED_BY, Body, Leaf, Role, leaf_hash, seal_leaf
from sidecars.trust import AnchorRepairable, Belief, Consistent, Finding, HeadRepairable, TrustedLog
from timeline.clock import Entropy
from timeline.errors import ClockError, StateBusyError, StateRemainsError
from timeline.files import is_there, read_private, write_atomic
from timeline.keystore import Keystore
from timeline.limits import CLOCK_SKEW_MS, LOG_READS_MAX, NOTE_BYTES_MAX
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


class Sight(msgspec.Struct, frozen=True):
    """What shows whether the log has changed: anchor and head as bytes, and the database's own number of changes."""

    anchor: bytes
    head: bytes
    database: int


class Doubt(StrEnum):
    """What becomes of a reading in which state, head and anchor do not agree."""

    STANDS = "stands"
    AGAIN = "again"
    BUSY = "busy"


def decide_doubt(read: Sight, now: Sight, *, tries_left: int) -> Doubt:
    """Whether a disagreement is on disk, or comes from reading the parts at different moments.

    If nothing has changed since, all parts stood there together: what was found of them stands. Otherwise a commit
    came between, and what was found says nothing.
    """
    if read == now:
        return Doubt.STANDS
    return Doubt.AGAIN if tries_left > 0 else Doubt.BUSY


def read_log(locations: Locations, store: Store, keystore: Keystore) -> LogReading:
    """Read anchor, head and every leaf, and verify all of it. Changes nothing, and needs no lock.

    Raises:
        StateIncompleteError, UnsafeFileError: head or anchor is missing or not private.
        SidecarError: what is there is not to be believed; its ``reason`` is the row of the detection matrix.
        StateBusyError: each reading was overtaken by a commit.
        StateError: the database cannot be read.
    """
    for tries_left in reversed(range(LOG_READS_MAX)):
        sight = _look(locations, store)
        found = _verify_log(sight, store, keystore)
        if isinstance(found, LogReading) and isinstance(found.finding, Consistent):
            return found
        doubt = decide_doubt(sight, _look(locations, store), tries_left=tries_left)
        if doubt is Doubt.AGAIN:
            continue
        if isinstance(found, LogReading):  # believed either way; if it is due still, the lock shows it
            return found
        if doubt is Doubt.STANDS:
            raise found
    message = f"{locations.state}: the log changed each of the {LOG_READS_MAX} times that it was read"
    raise StateBusyError(message)


def _look(locations: Locations, store: Store) -> Sight:
    return Sight(
        read_private(locations.anchor, size_max=NOTE_BYTES_MAX),
        read_private(locations.head, size_max=NOTE_BYTES_MAX),
        store.data_version(),
    )


def _verify_log(sight: Sight, store: Store, keystore: Keystore) -> LogReading | SidecarError:
    """One reading, or why it is not to be believed: a value, since it may be worth nothing."""
    pins = keystore.pins
    log = TrustedLog(origin=pins.origin, owner=pins.owner, log_keys=[pins.log])
    leaves = []
    try:
        log.admit_anchor(sight.anchor)
        log.admit_head(sight.head)
        for number, (index, salt, envelope) in enumerate(store.leaves()):
            if index != number:
                raise BrokenLinkError(f"leaf {number}: its row must bear its index")
            leaves.append(log.admit_leaf(salt, envelope))
        return LogReading(log.finish(), tuple(leaves), sight.anchor)
    except SidecarError as error:
        return error


def write_empty_log(locations: Locations, keystore: Keystore) -> None:
    """Write head and anchor of the empty tree, the anchor first; what an interrupted call has written is kept.

    ``init`` does this before it pins the keys: once they are pinned, a missing head or anchor is never a fresh start.

    Raises:
        StateRemainsError: another head or anchor stands there; nothing is written.
        StateUnwritableError: a file cannot be written.
        UnsafeFileError: what stands there is not private.
    """
    note = _sign_head(keystore, Belief())
    missing = [path for path in (locations.anchor, locations.head) if not is_there(path)]
    for path in (locations.anchor, locations.head):
        if path not in missing and read_private(path, size_max=NOTE_BYTES_MAX) != note:
            message = f"{path}: not of the empty log that `timeline init` has begun"
            raise StateRemainsError(message)
    for path in missing:
        write_atomic(path, note)


def is_unrecorded(locations: Locations, keystore: Keystore) -> bool:
    """Whether the anchor still is that of the empty tree: no commit has come to its end yet.

    Raises:
        StateIncompleteError, UnsafeFileError: there is no anchor, or it is not private.
    """
    return read_private(locations.anchor, size_max=NOTE_BYTES_MAX) == _sign_head(keystore, Belief())


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
