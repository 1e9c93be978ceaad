"""What the external anchors say for one open state: asked when it is opened, and with each commit.

Everything about anchors is loaded only where the owner requires one; a timeline without them pays nothing.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from sidecars.checkpoint import Checkpoint
from sidecars.erased import stored_hash
from sidecars.leaf import AnchorEntry, AnchorPolicy, leaf_hash
from sidecars.merkle import Frontier
from sidecars.trust import Belief
from timeline.anchors.errors import StaleError, UnwitnessedError
from timeline.anchors.pin import PinnedPolicy, check_pin, read_pin, write_pin
from timeline.clock import Clock, Stopwatch
from timeline.paths import Locations
from timeline.ports import Ports
from timeline.store import Store
from timeline.tlog import Batch
from timeline.view import LogView

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from timeline.anchors.asking import Asker
    from timeline.anchors.memory import Remembered
    from timeline.anchors.port import MonotonicAnchor
    from timeline.anchors.proving import Subject
    from timeline.anchors.rules import Confirmation


class Present(msgspec.Struct, frozen=True):
    """The log as it is now: what is believed, what its leaves add up to, and the newest head."""

    belief: Belief
    view: LogView
    head: bytes


class External:
    """The external anchors of one open state, and the pin that says which policy of them is in force."""

    def __init__(self, locations: Locations, ports: Ports, store: Store, origin: str) -> None:
        """Nobody is asked yet."""
        self._locations = locations
        self._ports = ports
        self._store = store
        self._origin = origin
        self._known: dict[str, Remembered] = {}
        self._open: dict[AnchorEntry, MonotonicAnchor] = {}
        self._asking: ThreadPoolExecutor | None = None
        self.found: Confirmation | None = None
        """What the anchors said last; ``None`` where none is required, or none was asked."""

    def asker(self, now: Present) -> "Asker":
        """What it takes to ask about this log."""
        from timeline.anchors.asking import Asker

        verifiers = tuple(epoch.log_key for epoch in now.belief.epochs)
        ports = self._ports
        return Asker(self._locations, verifiers, ports.clock, ports.stopwatch, self._connect, self._known)

    def close(self) -> None:
        """Give back what the anchors hold open; a question that is still under way is waited for."""
        if self._asking is not None:
            self._asking.shutdown()
            self._asking = None
        for anchor in self._open.values():
            anchor.close()
        self._open.clear()

    def confirm(self, now: Present) -> None:
        """Ask whether this state is the newest.

        Raises:
            ExternalAheadError, ExternalForkedError: it is not, or there is another history.
            AnchorDistrustedError, StaleError, UnwitnessedError: too few anchors confirm it, or did lately.
            StateError: what is remembered of an anchor cannot be read, or a confirmation not be stored.
        """
        policy = _required(now.view)
        if policy is None:
            self.found = None
            return
        from timeline.anchors.asking import confirm_newest

        now_ms, counts_from = self._ports.clock.now_ms(), now.view.vouched_from
        self.found = confirm_newest(
            self.asker(now), policy, self._subject(now), now_ms=now_ms, counts_from=counts_from
        )

    def has_room(self, count: int) -> bool:
        """Whether so many more leaves may follow without a further question."""
        return self.found is None or self.found.has_room(count)

    def make_room(self, now: Present, count: int) -> None:
        """Refuse leaves that would leave the state unusable until an anchor answers; ask once more before.

        Raises:
            UnwitnessedError: there is no room for so many.
            StateError: see ``confirm``.
        """
        if self.has_room(count):
            return
        self.confirm(now)
        if not self.has_room(count):
            message = f"{count} more leaves are more than may follow what the external anchors have confirmed"
            raise UnwitnessedError(message)

    @contextmanager
    def confirming(self, now: Present, before: Frontier, batch: Batch) -> Iterator[None]:
        """Ask about a batch whose head is on disk while the block runs, which moves the local anchor to that head.

        What was written stays written, whether or not an anchor answers. An external anchor that knows the batch before
        the local one does is no alarm after a crash in between: state and head hold it, so that a repair is due.

        Raises:
            ExternalAheadError, ExternalForkedError, AnchorDistrustedError: an anchor objects.
            StateError: see ``confirm``.
        """
        count = len(batch.leaves)
        decided = any(isinstance(leaf.body, AnchorPolicy) for leaf in batch.leaves)
        policy = _required(now.view)
        if policy is None or (self.found is not None and self.found.is_silent and not decided):
            yield
            self.found = (
                self.found.followed_by(count) if policy is not None and self.found is not None else None
            )
            return
        from timeline.anchors.asking import question_all, recall_all, settle, store_answers

        added = [leaf_hash(salt, envelope) for _, salt, envelope in batch.rows]
        asker, subject = self.asker(now), self._subject(now, before, added)
        remembered = recall_all(asker, policy, self._origin)
        asked = self._beside().submit(question_all, asker, policy, subject, remembered)
        yield
        reports = store_answers(asker, policy, subject, remembered, asked.result())
        now_ms, counts_from = self._ports.clock.now_ms(), now.view.vouched_from
        try:
            self.found = settle(policy, reports, subject, now_ms=now_ms, counts_from=counts_from)
        except (StaleError, UnwitnessedError):
            self.found = None if self.found is None else self.found.followed_by(count)

    def _subject(
        self, now: Present, before: Frontier | None = None, added: Sequence[bytes] = ()
    ) -> "Subject":
        from timeline.anchors.proving import Subject

        checkpoint = Checkpoint(self._origin, now.belief.size, now.belief.root)
        return Subject(self._locations.database, checkpoint, now.head, before=before, added=added)

    def _beside(self) -> "ThreadPoolExecutor":
        """The one thread that asks while this one writes; made when first needed."""
        if self._asking is None:
            from concurrent.futures import ThreadPoolExecutor

            self._asking = ThreadPoolExecutor(max_workers=1)
        return self._asking

    def confirmed_notes(self, now: Present) -> tuple[bytes, ...]:
        """The newest checkpoints that the anchors have confirmed, with the signatures of those that sign.

        Raises:
            UnsafeFileError: what is remembered of an anchor is not private.
        """
        policy = _required(now.view)
        if policy is None:
            return ()
        from timeline.anchors.asking import recall_notes

        return recall_notes(self.asker(now), policy, self._origin)

    def check_pin(self, now: Present) -> None:
        """Compare the pinned policy with the log; the pin may be behind by what a crash has left.

        Raises:
            AnchorPinMissingError, AnchorPinError, UnsafeFileError: there is no pin, or it is not one of this log.
            StateBehindPinError: the log does not hold the pinned policy.
        """
        pinned = read_pin(self._locations.anchor_pin, self._origin)
        check_pin(pinned, now.belief.size, self._leaf_hash(now, pinned.index) if pinned else None)

    def move_pin(self, now: Present, *, anew: bool = False) -> None:
        """Pin the policy that is in force, where another one is pinned; the caller holds the writer lock.

        ``anew`` is for a recovery: there is no pin to compare with.

        Raises:
            StateUnwritableError: it cannot be written.
        """
        decision, path = now.view.anchors, self._locations.anchor_pin
        found = self._leaf_hash(now, decision.leaf) if decision is not None else None
        wanted = None if decision is None or found is None else PinnedPolicy(decision.leaf, found)
        if anew or read_pin(path, self._origin) != wanted:
            write_pin(path, self._origin, wanted)

    def _connect(self, entry: AnchorEntry, clock: Clock, stopwatch: Stopwatch) -> "MonotonicAnchor":
        """The anchor of an entry: one for as long as the state is open."""
        found = self._open.get(entry)
        if found is None:
            found = self._open[entry] = self._ports.connect(entry, clock, stopwatch)
        return found

    def _leaf_hash(self, now: Present, index: int) -> bytes | None:
        row = self._store.leaf(index) if index < now.belief.size else None
        return None if row is None else stored_hash(*row)


def _required(view: LogView) -> AnchorPolicy | None:
    """The policy in force, if it names any anchor."""
    return None if view.anchors is None or not view.anchors.policy.anchors else view.anchors.policy
