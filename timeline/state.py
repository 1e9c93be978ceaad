"""An open, verified timeline: everything that a use case needs, and the one way to add to it.

Opening verifies keys, head, anchor and every leaf. A sidecar is verified when it is first needed and remembered by
digest for as long as the state is open.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

import msgspec

from sidecars.digest import Digest
from sidecars.envelope import open_envelope, seal
from sidecars.errors import DigestMismatchError
from sidecars.leaf import Body, Extension, Leaf, PrefixProof, SidecarEntry
from sidecars.sidecar import PAYLOAD_TYPE, EventRange, Sidecar, SidecarHeader, parse_sidecar
from sidecars.store import Store as SidecarStore
from sidecars.trust import Belief, Consistent
from timeline.clock import Clock, Entropy
from timeline.errors import InitInterruptedError, StateMissingError
from timeline.files import DirectoryIdentity, check_directory, hold_directory, is_there, remove_temporaries
from timeline.keystore import Keystore, load_keystore
from timeline.limits import GIVEN_UP_MAX
from timeline.lock import hold_writer_lock
from timeline.paths import Locations
from timeline.projection import SourceRows
from timeline.remains import Stage, decide_stage, find_remains
from timeline.store import Store, open_store
from timeline.tlog import LogReading, Probe, Step, no_probe, read_log, repair, seal_batch, write_batch
from timeline.view import LogView, fold_leaves

_KEEPING = (Extension, SidecarEntry, PrefixProof)
"""Leaves after which nothing has to go at once: what they give up is replaced evidence, and no consent ends."""


class Ports(msgspec.Struct, frozen=True):
    """What comes from outside: time, randomness, and (in tests) an eye on the steps of a commit."""

    clock: Clock
    entropy: Entropy
    probe: Probe = no_probe


class VerifiedSidecar(msgspec.Struct, frozen=True):
    """A sidecar whose signature, digest, count and root were checked against its leaf.

    ``payload_offset`` is where the payload begins in the file; ``ranges`` count from there.
    """

    header: SidecarHeader
    digest: Digest
    payload_offset: int
    ranges: tuple[EventRange, ...]
    leaf_hashes: bytes
    """32 bytes for each event: what a line that is read later must hash to."""


class State:
    """One opened timeline. Use ``open_state``; nothing in it outlives the block."""

    def __init__(
        self, locations: Locations, ports: Ports, keystore: Keystore, store: Store, reading: LogReading
    ) -> None:
        """Take over what ``open_state`` has verified."""
        self.locations = locations
        self.ports = ports
        self.keystore = keystore
        self.store = store
        self.repaired = False
        self.sidecars = SidecarStore(locations.sidecars)
        self._folders = _folders(locations)
        self._verified: dict[str, VerifiedSidecar] = {}
        self.accounted: dict[int, int] = {}
        """Sources whose stored rows were found to be those of their sidecars, with the number of sidecars."""
        self.followed: dict[int, tuple[int, SourceRows]] = {}
        """The rows of followed sources that were committed while this state was open, with the number of sidecars."""
        self._structure_checked = False
        self._take(reading)

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
        """Whether state, head and anchor agree; if not, exactly one repair is due."""
        return isinstance(self._reading.finding, Consistent)

    @property
    def reading(self) -> LogReading:
        """The log as it was read."""
        return self._reading

    def _take(self, reading: LogReading) -> None:
        self._reading = reading
        self.accounted.clear()
        self.followed.clear()
        self._belief = reading.finding.belief
        self._view = fold_leaves(reading.leaves)
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
        reading = read_log(self.locations, self.store, self.keystore)
        self.repaired = repair(self.locations, self.keystore, reading) or self.repaired
        self._take(read_log(self.locations, self.store, self.keystore))

    def commit(
        self,
        bodies: Sequence[Body],
        *,
        project: Callable[[Store, Sequence[Leaf]], None] | None = None,
    ) -> tuple[Leaf, ...]:
        """Add one batch of leaves; the caller holds the writer lock.

        ``project`` writes the projections in the same transaction.

        Raises:
            StateError: nothing changed, or a repair by this batch is due at the next opening.
        """
        for folder in self._folders:
            folder.check()
        batch = seal_batch(
            self.keystore,
            self._belief,
            bodies,
            at_ms=self.ports.clock.now_ms(),
            newest_ms=self._view.newest_ms,
            entropy=self.ports.entropy,
        )
        # Before anything is written: a batch that contradicts the log never is.
        view = fold_leaves(batch.leaves, self._view)
        write_batch(
            self.locations,
            self.store,
            self.keystore,
            batch,
            project=lambda store: project(store, batch.leaves) if project else None,
            probe=self.ports.probe,
        )
        self._given_up += sum(len(body.evicts) for body in bodies if isinstance(body, SidecarEntry))
        self._belief, self._view = batch.belief, view
        if self._given_up >= GIVEN_UP_MAX or not all(isinstance(body, _KEEPING) for body in bodies):
            self._remove_unneeded()
            self._given_up = 0
        return batch.leaves

    def put_sidecar(self, payload: bytes, sidecar: Sidecar) -> VerifiedSidecar:
        """Sign and store the payload that spells ``sidecar``; nothing refers to it until a leaf does.

        The store reads the file back and compares its digest, so what is returned is what is on disk.

        Raises:
            SidecarError: it cannot be written.
        """
        self.ports.probe(Step.SIDECAR)
        content = seal(PAYLOAD_TYPE, payload, [self.keystore.log])
        digest = self.sidecars.put(content)
        verified = VerifiedSidecar(
            sidecar.header,
            digest,
            len(content) - len(payload),
            sidecar.ranges,
            b"".join(sidecar.leaf_hashes),
        )
        self._verified[str(digest)] = verified
        return verified

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
        verified, sidecar = verify_sidecar(content, entry, self.keystore)
        self._verified[entry.digest] = verified
        return verified, sidecar

    def _remove_unneeded(self) -> None:
        """Delete sidecar files that no active source needs: given up, replaced, revoked, or never committed."""
        needed = self._view.kept_digests()
        for digest in self.sidecars.listing().digests:
            if str(digest) not in needed:
                self.sidecars.remove(digest)
                self._verified.pop(str(digest), None)


def verify_sidecar(
    content: bytes, entry: SidecarEntry, keystore: Keystore
) -> tuple[VerifiedSidecar, Sidecar]:
    """Check a sidecar file's bytes against the leaf that names it.

    Raises:
        SidecarError: not those of the leaf.
    """
    opened = open_envelope(content, PAYLOAD_TYPE, [keystore.pins.log])
    sidecar = parse_sidecar(opened.payload)
    header = sidecar.header
    stated = (header.origin, header.source, header.segment, header.count, header.root)
    if stated != (keystore.pins.origin, entry.source, entry.segment, entry.count, entry.root):
        raise DigestMismatchError("a sidecar's header must state what its leaf states")
    verified = VerifiedSidecar(
        header, Digest.of(content), opened.payload_offset, sidecar.ranges, b"".join(sidecar.leaf_hashes)
    )
    return verified, sidecar


@contextmanager
def open_state(locations: Locations, ports: Ports, *, may_be_empty: bool = False) -> Iterator[State]:
    """Open and verify a timeline for reading. ``may_be_empty`` is for ``init``, which fills it.

    Raises:
        StateMissingError: there is none.
        InitInterruptedError: nothing was recorded in it yet.
        StateError, SidecarError: it is not to be believed, with the reason.
    """
    if not is_there(locations.state) and not is_there(locations.trust):
        message = f"{locations.state}: no timeline here"
        raise StateMissingError(message)
    if decide_stage(find_remains(locations)) is Stage.UNPINNED:
        message = f"{locations.state}: `timeline init` was interrupted before the keys were pinned"
        raise InitInterruptedError(message)
    _folders(locations)
    keystore = load_keystore(locations)
    store = open_store(locations.database)
    try:
        state = State(locations, ports, keystore, store, read_log(locations, store, keystore))
        if state.view.policy is None and not may_be_empty:
            # Nothing can be enrolled, and a commit on top would never be believed: the first leaf must be a policy.
            message = f"{locations.state}: the log is empty, `timeline init` was interrupted"
            raise InitInterruptedError(message)
        yield state
    finally:
        store.close()


@contextmanager
def open_for_writing(locations: Locations, ports: Ports) -> Iterator[State]:
    """Open a timeline under the writer lock, and take the one repair that may be due.

    Raises:
        StateBusyError: another process is writing.
        StateError, SidecarError: see ``open_state``.
    """
    # The lock file says whom to wait for; the folder itself keeps out a writer that uses another runtime folder.
    with hold_writer_lock(locations.lock), _hold_state(locations), open_state(locations, ports) as state:
        for folder in (locations.state, locations.trust):
            remove_temporaries(folder)
        state.sidecars.remove_strays()
        if not state.consistent:
            state.repair()
        yield state


def _hold_state(locations: Locations) -> AbstractContextManager[None]:
    """Hold the state's folder, once it is there."""
    return hold_directory(locations.state) if is_there(locations.state) else nullcontext()


def _folders(locations: Locations) -> tuple[DirectoryIdentity, ...]:
    return tuple(check_directory(path) for path in (locations.state, locations.trust, locations.sidecars))
