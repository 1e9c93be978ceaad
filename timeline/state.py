"""An open, verified timeline: everything that a use case needs, and the one way to add to it.

Opening verifies keys, head, anchor and every leaf. A sidecar is verified when it is first needed and remembered by
digest for as long as the state is open.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from sidecars.digest import Digest
from sidecars.envelope import seal
from sidecars.errors import StoreUnwritableError
from sidecars.keys import Verifier
from sidecars.leaf import AnchorPolicy, AssertionEntry, Body, Extension, Leaf, PrefixProof, SidecarEntry
from sidecars.sidecar import PAYLOAD_TYPE, Sidecar
from sidecars.store import Store as SidecarStore
from sidecars.trust import Belief, Consistent
from timeline.accounted import AccountedTable
from timeline.anchors.errors import AnchorLostError
from timeline.assertion_row import rows_of
from timeline.assertions import StoredAssertions
from timeline.errors import (
    InitInterruptedError,
    StateBusyError,
    StateError,
    StateMissingError,
)
from timeline.external import External, Present
from timeline.files import (
    DirectoryIdentity,
    check_directory,
    find_inode,
    is_there,
    read_private,
    remove_temporaries,
)
from timeline.fold import fold_leaves
from timeline.keystore import Keys, Keystore, load_keystore, settle_keys
from timeline.limits import GIVEN_UP_MAX, LOG_READS_MAX, NOTE_BYTES_MAX
from timeline.lock import hold_for_writing
from timeline.paths import Locations
from timeline.ports import Ports
from timeline.projection import SourceRows
from timeline.register import StoredRegister
from timeline.register_row import register_rows
from timeline.remains import Stage, decide_stage, find_remains
from timeline.rewriting import Erasing, Pages, are_pages_due, erase_rows, rewrite_pages
from timeline.store import Store, open_store
from timeline.tlog import (
    Batch,
    LogReading,
    Step,
    advance_anchor,
    read_log,
    read_with_keys,
    repair,
    seal_batch,
    write_batch,
)
from timeline.verified import SealedSidecar, VerifiedSidecar, verify_sidecar
from timeline.view import EnrolledSource, LogView

_KEEPING = (Extension, SidecarEntry, PrefixProof, AssertionEntry)
"""Leaves after which nothing has to go at once: what they give up is replaced evidence, and no consent ends."""


class State:
    """One opened timeline. Use ``open_state``; nothing in it outlives the block."""

    def __init__(
        self, locations: Locations, ports: Ports, keystore: Keystore, store: Store, reading: LogReading
    ) -> None:
        """Take over what ``open_state`` has verified."""
        self.locations = locations
        self.ports = ports
        self.keystore = keystore.asking(ports.unlock)
        self.store = store
        self.repaired = False
        self.sidecars = SidecarStore(locations.sidecars)
        self._folders = _folders(locations)
        self._verified: dict[str, VerifiedSidecar] = {}
        self._enrolled: dict[str, EnrolledSource] = {}
        self.accounted: dict[int, int] = {}
        """Sources whose stored rows were found to be those of their sidecars, with the number of sidecars."""
        self.followed: dict[int, tuple[int, SourceRows]] = {}
        """The rows of followed sources that were committed while this state was open, with the number of sidecars."""
        self._structure_checked = False
        self.assertions = AccountedTable(store, StoredAssertions())
        self.register = AccountedTable(store, StoredRegister())
        self.external = External(locations, ports, store, keystore.pins.origin)
        self._take(reading)
        self._database = (store.data_version(), find_inode(locations.database))

    @property
    def belief(self) -> Belief:
        """Size, root and rules in force."""
        return self._belief

    @property
    def view(self) -> LogView:
        """What the log says."""
        return self._view

    @property
    def consistent(self) -> bool:
        """Whether state, head and anchor agree, and no change of key or schema and no erasure is unfinished.

        Else a repair is due.
        """
        agrees = isinstance(self._reading.finding, Consistent)
        return agrees and self.keystore.settled and not self.store.outdated and not self._reading.due

    @property
    def reading(self) -> LogReading:
        """The log as it was read."""
        return self._reading

    def _take(self, reading: LogReading) -> None:
        self._reading = reading
        self._enrolled.clear()
        self._anchor, self._head = reading.anchor, reading.finding.head.note
        self.accounted.clear()
        self.followed.clear()
        self.assertions.forget()
        self.register.forget()
        self._belief = reading.finding.belief
        self._view = reading.view
        self._given_up = GIVEN_UP_MAX
        """Files that no leaf needs any more and that still lie there; at the beginning it is not known."""

    def check_structure(self) -> None:
        """Let the database check its own pages, once while this state is open.

        A damaged index would hide rows that the tables hold; comparing rows alone would not show it.

        Raises:
            StateCorruptError: damaged.
        """
        if not self._structure_checked:
            self.store.check_structure()
            self._structure_checked = True

    def repair(self) -> None:
        """Take the one repair that is due; the caller holds the writer lock.

        Raises:
            StateError, SidecarError: the state is not repairable, or cannot be written.
        """
        if self.store.outdated:
            self.store.migrate()
        stand_in = self.locations.head if self._anchor is None else None
        reading = read_log(self.locations, self.store, self.keystore, anchor=stand_in)
        self.repaired = repair(self.locations, self.keystore, reading) or bool(reading.due) or self.repaired
        reading = read_log(self.locations, self.store, self.keystore, anchor=stand_in)
        if reading.due:
            erase_rows(self.store, reading, self.ports.erasing)
            reading = read_log(self.locations, self.store, self.keystore, anchor=stand_in)
        self._take(reading)
        self.settle()

    def make_ready(self) -> None:
        """Clear what a killed writer left, and take the one repair that may be due; the caller holds the writer lock.

        Raises:
            StateError, SidecarError: the state is not repairable, or cannot be written.
        """
        for folder in (self.locations.state, self.locations.trust, self.locations.keys):
            remove_temporaries(folder)
        self.sidecars.remove_strays()
        if not self.consistent:
            self.repair()
        self.finish_erasure()
        self.external.move_pin(self.present)

    def finish_erasure(self) -> Pages:
        """Remove files and rewrite pages that may hold what was erased; the caller holds the writer lock.

        Raises:
            StateError, SidecarError: they cannot be written; the next writing command tries again.
        """
        if not are_pages_due(self.store):
            return Pages.CLEAN
        self.ports.erasing(Erasing.FILES)
        try:
            self._remove_unneeded()
        except StoreUnwritableError:  # it stays due: one file keeps nobody from recording
            return Pages.RETAINED
        return rewrite_pages(self.store, self.ports.erasing)

    def settle(self) -> None:
        """Finish or take back a change of the log key that was begun; the caller holds the writer lock.

        Raises:
            StateUnwritableError, UnsafeFileError: a file cannot be written; the next writing command goes on.
        """
        if self._belief.log_key is not None:
            self.keystore = settle_keys(self.locations, self.keystore, self._belief.log_key)

    @property
    def present(self) -> Present:
        """The log as it is now, as the external anchors are asked about it."""
        return Present(self._belief, self._view, self._head)

    def confirm(self) -> None:
        """Let the external anchors confirm that this state is the newest; nothing happens where none is required.

        Raises:
            StateError: they do not, with the reason (``external.External.confirm``).
        """
        self.external.confirm(self.present)

    def confirm_unless_overtaken(self, *, may_read_again: bool) -> bool:
        """Confirm; ``False`` where another process has committed since this was read: it must be read again.

        Raises:
            StateBusyError: that is so, and it was read often enough.
            StateError: see ``confirm``.
        """
        try:
            self.confirm()
        except StateError as error:
            # An anchor that knows more may know what another process has committed since we read.
            if not self.is_overtaken():
                raise
            if not may_read_again:
                message = f"{self.locations.state}: each time another process had committed before it was asked about"
                raise StateBusyError(message) from error
            return False
        return True

    def is_overtaken(self) -> bool:
        """Whether another process has committed since this state was read.

        Raises:
            StateIncompleteError, UnsafeFileError: the anchor is missing or not private.
        """
        return read_private(self.locations.anchor, size_max=NOTE_BYTES_MAX) != self._anchor

    def stands(self) -> bool:
        """Whether everything on disk still is what was verified: anchor, head, folders, and the database as we left it.

        Raises:
            StateError: one of them is missing, not private or cannot be looked at.
        """
        for folder in self._folders:
            folder.check()
        head = read_private(self.locations.head, size_max=NOTE_BYTES_MAX)
        return (
            not self.is_overtaken()
            and head == self._head
            and self._database == (self.store.data_version(), find_inode(self.locations.database))
        )

    def commit(
        self,
        bodies: Sequence[Body],
        *,
        sidecars: Sequence[SealedSidecar] = (),
        project: Callable[[Store, Sequence[Leaf]], None] | None = None,
    ) -> tuple[Leaf, ...]:
        """Add one batch of leaves; the caller holds the writer lock.

        ``sidecars`` are those that the leaves name and that are not stored yet. ``project`` writes the search index in
        the same transaction as the leaves; the rows of assertions are written with them always.

        Raises:
            SidecarError: a sidecar cannot be written; nothing changed.
            StateError: nothing changed, or a repair by this batch is due at the next opening.
            ExternalAheadError, ExternalForkedError, AnchorDistrustedError: it is committed, and an anchor objects.
        """
        for folder in self._folders:
            folder.check()
        self.external.make_room(self.present, len(bodies))
        batch = seal_batch(
            self.keystore,
            self._belief,
            bodies,
            at_ms=self.ports.clock.now_ms(),
            newest_ms=self._view.newest_ms,
            entropy=self.ports.entropy,
        )
        # Before anything is written: a batch that contradicts the log never is.
        view, before = fold_leaves(batch.leaves, batch.hashes, self._view), self._belief.frontier
        self._put(sidecars)

        def write_projections(store: Store) -> None:
            self._append_rows(batch)
            if project is not None:
                project(store, batch.leaves)

        note = write_batch(
            self.locations,
            self.store,
            self.keystore,
            batch,
            project=write_projections,
            probe=self.ports.probe,
        )
        present = Present(batch.belief, view, note)
        with self.external.confirming(present, before, batch):
            self.ports.probe(Step.ANCHOR)
            advance_anchor(self.locations, self._anchor, note)
            self.ports.probe(Step.DONE)
            self._given_up += sum(len(body.evicts) for body in bodies if isinstance(body, SidecarEntry))
            self.assertions.committed(self._view.assertions, view.assertions)
            self.register.committed(self._view.register, view.register)
            self._belief, self._view, self._anchor, self._head = batch.belief, view, note, note
            if any(isinstance(body, AnchorPolicy) for body in bodies):
                self.external.move_pin(present)
        if self._given_up >= GIVEN_UP_MAX or not all(isinstance(body, _KEEPING) for body in bodies):
            self._remove_unneeded()
            self._given_up = 0
        return batch.leaves

    def _append_rows(self, batch: Batch) -> None:
        self.assertions.append(self._belief.size, rows_of(batch.leaves, batch.hashes))
        self.register.append(self._belief.size, register_rows(batch.leaves, batch.hashes))

    def seal_sidecar(self, payload: bytes, sidecar: Sidecar) -> SealedSidecar:
        """Sign the payload that spells ``sidecar``; it is stored by the commit whose leaf names it.

        Raises:
            KeyMismatchError: the private log key is not here.
        """
        content = seal(PAYLOAD_TYPE, payload, [self.keystore.log])
        verified = VerifiedSidecar(
            sidecar.header,
            Digest.of(content),
            len(content) - len(payload),
            sidecar.ranges,
            b"".join(sidecar.leaf_hashes),
        )
        return SealedSidecar(verified, content)

    def _put(self, sidecars: Sequence[SealedSidecar]) -> None:
        """Store sidecars before any leaf names them; the store reads each back and compares its digest."""
        if not sidecars:
            return
        self.ports.probe(Step.SIDECAR)
        self.sidecars.put_all([sealed.content for sealed in sidecars])
        self._verified.update({str(sealed.verified.digest): sealed.verified for sealed in sidecars})

    def sidecar(self, entry: SidecarEntry) -> VerifiedSidecar:
        """The sidecar that a leaf names, verified now or earlier while this state was open.

        Raises:
            SidecarError: missing, changed, not signed by the log key, or not what its leaf says.
        """
        found = self._verified.get(entry.digest)
        return self.open_sidecar(entry)[0] if found is None else found

    def open_sidecar(self, entry: SidecarEntry) -> tuple[VerifiedSidecar, Sidecar]:
        """The same, read and verified now, with its events.

        Raises:
            SidecarError: see ``sidecar``.
        """
        content = self.sidecars.get(Digest.parse(entry.digest))
        verified, sidecar = verify_sidecar(
            content, entry, origin=self.keystore.pins.origin, log_key=self._log_key_of(entry)
        )
        self._verified[entry.digest] = verified
        return verified, sidecar

    def _log_key_of(self, entry: SidecarEntry) -> Verifier:
        """The log key in force at the leaf that names a sidecar of this log."""
        source = self._enrolled.get(entry.enrollment_id)
        if source is None or len(source.leaves) <= entry.segment:  # committed since they were looked up
            self._enrolled = {found.enrollment.enrollment_id: found for found in self._view.sources}
            source = self._enrolled[entry.enrollment_id]
        key = self._belief.key_at(source.leaves[entry.segment])
        if key is None:
            message = "a sidecar's leaf follows a key epoch"
            raise RuntimeError(message)
        return key

    def _remove_unneeded(self) -> None:
        """Delete sidecar files that no active source needs: given up, replaced, revoked, or never committed."""
        needed = self._view.kept_digests()
        for digest in self.sidecars.listing().digests:
            if str(digest) not in needed:
                self.sidecars.remove(digest)
                self._verified.pop(str(digest), None)


@contextmanager
def open_local(
    locations: Locations, ports: Ports, *, may_be_empty: bool = False, keys: Keys = load_keystore
) -> Iterator[State]:
    """Open and verify a timeline for reading, with what stands on this machine alone.

    For what answers nothing from it, or asks the external anchors itself. ``may_be_empty`` is for ``init``, which
    fills it; ``keys`` loads the keys, and lets who needs no log key open a timeline that has lost it.

    Raises:
        StateMissingError: there is none.
        InitInterruptedError: nothing was recorded in it yet.
        StateError, SidecarError: it is not to be believed, with the reason.
    """
    if not is_there(locations.state) and not is_there(locations.trust):
        message = f"{locations.state}: no timeline here"
        raise StateMissingError(message)
    found = find_remains(locations)
    if decide_stage(found) is Stage.UNPINNED:
        message = f"{locations.state}: `timeline init` was interrupted before the keys were pinned"
        raise InitInterruptedError(message)
    if found.pins and not found.anchor:
        message = f"{locations.anchor}: file is missing"
        raise AnchorLostError(message)
    with _opened(locations, ports, keys=keys) as state:
        if state.view.policy is None and not may_be_empty:
            # Nothing can be enrolled, and a commit on top would never be believed: the first leaf must be a policy.
            message = f"{locations.state}: the log is empty, `timeline init` was interrupted"
            raise InitInterruptedError(message)
        state.external.check_pin(state.present)
        yield state


@contextmanager
def open_lost(locations: Locations, ports: Ports) -> Iterator[State]:
    """Open a timeline whose local anchor or pin is lost, under the writer lock; only a recovery may.

    The head stands in for a missing anchor: state and head are verified, and nothing says that they are the newest.

    Raises:
        StateBusyError: another process is writing.
        StateError, SidecarError: what is left is not to be believed, with the reason.
    """
    anchor = None if is_there(locations.anchor) else locations.head
    with hold_for_writing(locations), _opened(locations, ports, anchor) as state:
        if not state.consistent:
            state.repair()
        yield state


@contextmanager
def _opened(
    locations: Locations, ports: Ports, anchor: Path | None = None, *, keys: Keys = load_keystore
) -> Iterator[State]:
    _folders(locations)
    store = open_store(locations.database)
    try:
        keystore, reading = read_with_keys(locations, store, keys, anchor=anchor)
        state = State(locations, ports, keystore, store, reading)
        with closing(state.external):
            yield state
    finally:
        store.close()


@contextmanager
def open_state(locations: Locations, ports: Ports) -> Iterator[State]:
    """Open and verify a timeline for reading, and let the external anchors confirm that it is the newest.

    A state on which a repair is due is not asked about: nothing is answered from it.

    Raises:
        StateMissingError, InitInterruptedError: see ``open_local``.
        StateError, SidecarError: it is not to be believed, with the reason.
    """
    for tries_left in reversed(range(LOG_READS_MAX)):
        with open_local(locations, ports) as state:
            if state.consistent and not state.confirm_unless_overtaken(may_read_again=tries_left > 0):
                continue
            yield state
            return


@contextmanager
def open_local_for_writing(
    locations: Locations, ports: Ports, *, keys: Keys = load_keystore
) -> Iterator[State]:
    """Open a timeline under the writer lock, take the one repair that may be due, and ask no external anchor.

    Raises:
        StateBusyError: another process is writing.
        StateError, SidecarError: see ``open_local``.
    """
    with hold_for_writing(locations), open_local(locations, ports, keys=keys) as state:
        state.make_ready()
        yield state


@contextmanager
def open_for_writing(locations: Locations, ports: Ports, *, keys: Keys = load_keystore) -> Iterator[State]:
    """Open a timeline under the writer lock, repaired, and confirmed by the external anchors.

    Raises:
        StateBusyError: another process is writing.
        StateError, SidecarError: see ``open_state``.
    """
    with open_local_for_writing(locations, ports, keys=keys) as state:
        state.confirm()
        yield state


def _folders(locations: Locations) -> tuple[DirectoryIdentity, ...]:
    return tuple(check_directory(path) for path in (locations.state, locations.trust, locations.sidecars))
