"""The log on disk: leaves in the database, head beside it, anchor apart; read, committed, repaired.

Order of a commit, under the writer lock: sidecar files, then one database transaction with leaves and projections,
then the head, then the anchor. Whatever instruction a crash hits, anchor and head are never ahead of the state, so
that either being ahead is always an alarm. A reader holds no lock and may read them at different moments: before a
disagreement counts, it looks whether anything changed meanwhile. Repair goes forward by exactly one complete,
linked, signed batch; what to believe is decided by ``sidecars.trust`` alone.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from sidecars.checkpoint import Checkpoint, sign_checkpoint
from sidecars.erased import is_erased, stored_hash
from sidecars.errors import BrokenLinkError, SidecarError
from sidecars.leaf import SALT_BYTES, Body, Leaf, Role, leaf_hash, seal_leaf
from sidecars.trust import (
    AnchorRepairable,
    Belief,
    Consistent,
    Finding,
    HeadRepairable,
    TrustedLog,
    extend_belief,
)
from timeline.clock import Entropy
from timeline.errors import ClockError, StateBusyError, StateRemainsError
from timeline.files import is_there, read_private, write_atomic
from timeline.fold import LogFold
from timeline.keystore import Keys, Keystore, read_pins
from timeline.limits import CLOCK_SKEW_MS, LOG_READS_MAX, NOTE_BYTES_MAX
from timeline.paths import Locations
from timeline.store import Store
from timeline.view import LogView


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
    """A log that was read and believed: the finding, what its leaves add up to, and the bytes of the anchor.

    ``anchor`` is ``None`` where it is lost and another file was read in its place. ``due`` are leaves that the owner
    had erased and whose bytes stand there still, or again: nothing of them is in ``view``.

    The leaves themselves are not kept: of a long log they would take more memory than all else.
    """

    finding: Finding
    view: LogView
    anchor: bytes | None
    due: tuple[int, ...] = ()


class _Verified(msgspec.Struct, frozen=True):
    """One reading that was verified; what its leaves add up to is not asked for before it stands."""

    finding: Finding
    fold: LogFold
    anchor: bytes
    due: tuple[int, ...]

    def believed(self, *, stands_in: bool = False) -> LogReading:
        return LogReading(self.finding, self.fold.view(), None if stands_in else self.anchor, self.due)


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


def read_log(
    locations: Locations, store: Store, keystore: Keystore, *, anchor: Path | None = None
) -> LogReading:
    """Read anchor, head and every leaf, and verify all of it. Changes nothing, and needs no lock.

    ``anchor`` is where the anchor is read, if not from its own place: where it is lost, a recovery gives the head,
    and has to learn elsewhere whether that is the newest one.

    Raises:
        StateIncompleteError, UnsafeFileError: head or anchor is missing or not private.
        SidecarError: what is there is not to be believed; its ``reason`` is the row of the detection matrix.
        LogRefusedError: a leaf contradicts those before it.
        StateBusyError: each reading was overtaken by a commit.
        StateError: the database cannot be read.
    """
    for tries_left in reversed(range(LOG_READS_MAX)):
        sight = _look(locations, store, anchor or locations.anchor)
        found = _verify_log(sight, store, keystore)
        if isinstance(found, _Verified) and isinstance(found.finding, Consistent):
            return found.believed(stands_in=anchor is not None)
        doubt = decide_doubt(
            sight, _look(locations, store, anchor or locations.anchor), tries_left=tries_left
        )
        if doubt is Doubt.AGAIN:
            continue
        if isinstance(found, _Verified):  # believed either way; if it is due still, the lock shows it
            return found.believed(stands_in=anchor is not None)
        if doubt is Doubt.STANDS:
            raise found
    message = f"{locations.state}: the log changed each of the {LOG_READS_MAX} times that it was read"
    raise StateBusyError(message)


def read_with_keys(
    locations: Locations, store: Store, keys: Keys, *, anchor: Path | None
) -> tuple[Keystore, LogReading]:
    """Keys and log of one moment: a reader holds no lock, and a change of the log key may come between.

    Raises:
        StateBusyError: each reading was overtaken by such a change, or see ``read_log``.
        StateError, SidecarError: see ``read_log`` and ``load_keystore``.
    """
    for _ in range(LOG_READS_MAX):
        keystore = keys(locations)
        try:
            return keystore, read_log(locations, store, keystore, anchor=anchor)
        except SidecarError:
            if read_pins(locations) == keystore.pins:
                raise
    message = f"{locations.pins}: changed each of the {LOG_READS_MAX} times that the log was read"
    raise StateBusyError(message)


def _look(locations: Locations, store: Store, anchor: Path) -> Sight:
    return Sight(
        read_private(anchor, size_max=NOTE_BYTES_MAX),
        read_private(locations.head, size_max=NOTE_BYTES_MAX),
        store.data_version(),
    )


def _verify_log(sight: Sight, store: Store, keystore: Keystore) -> _Verified | SidecarError:
    """One reading, or why it is not to be believed: a value, since it may be worth nothing.

    Where bytes stand there of leaves that an erasure names, all is read once more as if they were gone already.
    """
    try:
        found = _verify_once(sight, store, keystore, frozenset())
        return _verify_once(sight, store, keystore, frozenset(found.due)) if found.due else found
    except SidecarError as error:
        return error


def _verify_once(sight: Sight, store: Store, keystore: Keystore, due: frozenset[int]) -> _Verified:
    pins = keystore.pins
    log = TrustedLog(origin=pins.origin, owner=pins.owner, log_keys=pins.log_keys)
    fold = LogFold()
    log.admit_anchor(sight.anchor)
    log.admit_head(sight.head)
    for number, (index, salt, envelope) in enumerate(store.leaves()):
        if index != number:
            raise BrokenLinkError(f"leaf {number}: its row must bear its index")
        if is_erased(salt):
            log.admit_erased(envelope)
        elif index in due:
            log.admit_erased(stored_hash(salt, envelope))
        else:
            fold.add(log.admit_leaf(salt, envelope), log.newest_hash)
    return _Verified(log.finish(), fold, sight.anchor, tuple(sorted(due)) or log.erasures_due)


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
        KeyMismatchError: a private log key that has to sign the head is not here.
    """
    match reading.finding:
        case Consistent():
            return False
        case HeadRepairable(belief=belief):
            note = _sign_head(keystore, belief)
            write_atomic(locations.head, note)
            if reading.anchor is not None:  # a lost anchor comes back by a recovery only
                advance_anchor(locations, reading.anchor, note)
        case AnchorRepairable(head=head):
            advance_anchor(locations, reading.anchor, head.note)
    return True


class Batch(msgspec.Struct, frozen=True):
    """What one commit adds: sealed leaves in order with their hashes, and the belief once they are in."""

    leaves: tuple[Leaf, ...]
    hashes: tuple[bytes, ...]
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
    """Seal the leaves of one commit, each signed by the key that it needs.

    Raises:
        ClockError: ``at_ms`` stands before the newest leaf by more than the allowed skew.
        KeyMismatchError: the private log key is not here.
        BrokenLinkError, UnknownKeyError: a body is against the rules for policies, epochs and standing consents.
    """
    if at_ms < newest_ms - CLOCK_SKEW_MS:
        message = f"the clock stands {newest_ms - at_ms} ms before the newest entry of the log"
        raise ClockError(message)
    start = belief.size
    leaves, hashes, rows = [], [], []
    for offset, body in enumerate(bodies):
        leaf = Leaf(
            origin=keystore.pins.origin,
            index=start + offset,
            root=str(belief.root),
            batch_start=start,
            batch_size=len(bodies),
            at=max(at_ms, newest_ms),
            body=body,
        )
        signer = keystore.owner if leaf.signed_by is Role.OWNER else keystore.log
        envelope, salt = seal_leaf(leaf, signer), entropy.bytes(SALT_BYTES)
        leaves.append(leaf)
        hashes.append(leaf_hash(salt, envelope))
        rows.append((leaf.index, salt, envelope))
        belief = extend_belief(belief, leaf, hashes[-1], keystore.pins.owner)
    return Batch(tuple(leaves), tuple(hashes), tuple(rows), belief)


def write_batch(
    locations: Locations,
    store: Store,
    keystore: Keystore,
    batch: Batch,
    *,
    project: Callable[[Store], None],
    probe: Probe = no_probe,
) -> bytes:
    """Write a batch, database and head; returns the head, to which the caller moves the anchor (``advance_anchor``).

    The sidecar files that it names are on disk already.

    Raises:
        StateError: nothing was written, or a repair by this one batch is due at the next opening.
    """
    # Signed before anything is written: a key that is not there stops the commit and leaves no half of it.
    note = _sign_head(keystore, batch.belief)
    probe(Step.BEGIN)
    with store.transaction():
        if store.next_index() != batch.rows[0][0]:
            message = f"{store.path}: another process has written meanwhile"
            raise StateBusyError(message)
        probe(Step.LEAVES)
        for index, salt, envelope in batch.rows:
            store.append_leaf(index, salt, envelope)
        probe(Step.PROJECTION)
        project(store)
        probe(Step.DATABASE)
    probe(Step.HEAD)
    write_atomic(locations.head, note)
    return note


def advance_anchor(locations: Locations, expected: bytes | None, note: bytes) -> None:
    """Move the local anchor from exactly ``expected`` (``None``: it is lost) to ``note`` (compare-and-set).

    Raises:
        StateBusyError: it is not ``expected`` any more.
        StateUnwritableError: it cannot be written.
    """
    path = locations.anchor
    check_anchor(path, expected)
    write_atomic(path, note)


def check_anchor(path: Path, expected: bytes | None) -> None:
    """Return only if the local anchor is exactly ``expected``, or missing where that is ``None``.

    Raises:
        StateBusyError: it is not.
        StateIncompleteError, UnsafeFileError: it is missing or not private.
    """
    lost = expected is None and not is_there(path)
    if not lost and read_private(path, size_max=NOTE_BYTES_MAX) != expected:
        message = f"{path}: another process has moved it meanwhile"
        raise StateBusyError(message)


def _sign_head(keystore: Keystore, belief: Belief) -> bytes:
    """Signed by every key that a head of this size needs; the empty tree, by the pinned one."""
    checkpoint = Checkpoint(keystore.pins.origin, belief.size, belief.root)
    return sign_checkpoint(checkpoint, keystore.signers_of(belief.head_keys or (keystore.pins.log,)))
