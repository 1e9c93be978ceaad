"""What the leaves of the log add up to: which sources are enrolled, which sidecars describe them. Values only.

``timeline.fold`` makes them.
"""

from enum import StrEnum
from functools import cached_property

import msgspec

from sidecars.consent import Consents
from sidecars.leaf import (
    AnchorPolicy,
    AnchorRecovery,
    Enrollment,
    Erasure,
    Invalidation,
    Policy,
    PrefixProof,
    SidecarEntry,
)
from sidecars.lineage import Fork, Restoration
from timeline.assertion_row import AssertionTally
from timeline.register_row import RegisterTally
from timeline.understanding import FormatRules


class Standing(StrEnum):
    """Whether an enrollment is still the one that counts; expiry is a question of the clock and not here."""

    ACTIVE = "active"
    REPLACED = "replaced"
    REVOKED = "revoked"


class Generation(msgspec.Struct, frozen=True):
    """The snapshot of a source at one moment: generation 0 is the enrollment, each extension adds one.

    ``first_segment`` is the number of sidecars committed before; size in bytes, times in nanoseconds.
    """

    number: int
    size: int
    mtime_ns: int
    ctime_ns: int
    first_segment: int


class EnrolledSource(msgspec.Struct, frozen=True):
    """One enrollment with the sidecars that were committed under it.

    ``index`` is the enrollment's leaf and names the source in the projections. ``leaves`` are the leaves of
    ``entries``, in the same order. ``evicted`` are digests of sidecars that were given up since; their files may be
    gone. ``extensions`` and ``proof`` (the newest step) are those of a
    followed file; ``broken`` says that it was found not to be what was committed.
    """

    index: int
    enrollment: Enrollment
    standing: Standing = Standing.ACTIVE
    entries: tuple[SidecarEntry, ...] = ()
    evicted: frozenset[str] = frozenset()
    extensions: tuple[Generation, ...] = ()
    proof: PrefixProof | None = None
    broken: Invalidation | None = None
    leaves: tuple[int, ...] = ()

    @property
    def generations(self) -> tuple[Generation, ...]:
        """Every snapshot that was committed, the enrolled one first."""
        wire = self.enrollment.source
        return (Generation(0, wire.size, int(wire.mtime_ns), int(wire.ctime_ns), 0), *self.extensions)

    @property
    def newest(self) -> Generation:
        """The snapshot that counts."""
        return self.extensions[-1] if self.extensions else self.generations[0]

    @property
    def proven(self) -> int:
        """How many bytes from the beginning were compared since the newest generation; 0 before the first extension."""
        return self.proof.proven if self.proof and self.proof.generation == self.newest.number else 0

    @property
    def is_prefix_proven(self) -> bool:
        """Whether all that was committed before the newest generation was compared since."""
        return self.proven == self.to_prove

    @property
    def to_prove(self) -> int:
        """How many bytes the newest generation has to be proven over: all that were there before it."""
        return self.generations[-2].size if self.extensions else 0

    @property
    def kept(self) -> tuple[SidecarEntry, ...]:
        """The sidecars whose files must be there, in segment order."""
        if self.standing is not Standing.ACTIVE:
            return ()
        return tuple(entry for entry in self.entries if entry.digest not in self.evicted)


class AnchorDecision(msgspec.Struct, frozen=True):
    """The owner's policy of external anchors, and the leaf that states it."""

    leaf: int
    policy: AnchorPolicy


class RestorationMade(msgspec.Struct, frozen=True):
    """A state that was put back from a backup without a confirmation, and the leaf that says so."""

    leaf: int
    restoration: Restoration


class RecoveryMade(msgspec.Struct, frozen=True):
    """A state that was accepted as the newest although local anchor or pin was lost, and the leaf that says so."""

    leaf: int
    recovery: AnchorRecovery


class ErasureMade(msgspec.Struct, frozen=True):
    """What the owner had erased, the leaf that says so, and the log's time at it (UTC milliseconds)."""

    leaf: int
    at: int
    body: Erasure


class LogView(msgspec.Struct, frozen=True, dict=True):
    """Everything that the log says at one size. ``anchors`` is the newest policy of external anchors, if any.

    ``fork`` says from which log this one goes on, if it is a fork; ``restorations`` and ``recoveries`` are all that it
    states, oldest first, as are ``erasures``; ``consents`` are the standing consents in force; ``assertions`` and
    ``register`` are tallied, and no more is kept of them.
    """

    policy: Policy | None = None
    newest_ms: int = 0
    sources: tuple[EnrolledSource, ...] = ()
    receipts: frozenset[str] = msgspec.field(default_factory=frozenset)
    formats: FormatRules = FormatRules()
    anchors: AnchorDecision | None = None
    fork: Fork | None = None
    restorations: tuple[RestorationMade, ...] = ()
    recoveries: tuple[RecoveryMade, ...] = ()
    consents: Consents = ()
    assertions: AssertionTally = AssertionTally()
    register: RegisterTally = RegisterTally()
    erasures: tuple[ErasureMade, ...] = ()

    @property
    def simulated_host(self) -> bool:
        """Whether this is the log of a simulated host, as `timeline demo` makes it; every answer says so."""
        return self.policy is not None and self.policy.simulated_host

    @cached_property
    def active(self) -> tuple[EnrolledSource, ...]:
        """Sources whose enrollment still counts, oldest first."""
        return tuple(source for source in self.sources if source.standing is Standing.ACTIVE)

    @property
    def vouched_from(self) -> int:
        """The smallest size whose confirmation counts: what was remembered of a smaller tree may have been put back.

        It is the size after the newest leaf that accepted a state which no external anchor confirmed; 0 without one.
        """
        restored = (made.leaf for made in self.restorations)
        recovered = (made.leaf for made in self.recoveries if made.recovery.basis != "external")
        return 1 + max((*restored, *recovered), default=-1)

    @cached_property
    def erased(self) -> frozenset[int]:
        """Every leaf that the owner had erased."""
        return frozenset(index for made in self.erasures for index in made.body.leaves)

    @cached_property
    def suppressed(self) -> frozenset[str]:
        """The keyed digests of everything that must not be taken in again."""
        return frozenset(digest for made in self.erasures for digest in made.body.suppressed)

    def kept_digests(self) -> frozenset[str]:
        """Digests of every sidecar file that must be there."""
        return frozenset(entry.digest for source in self.sources for entry in source.kept)


def same_transcript(one: Enrollment, other: Enrollment) -> bool:
    """Whether two enrollments are of the same session and path."""
    return transcript_of(one) == transcript_of(other)


def transcript_of(enrollment: Enrollment) -> tuple[str, str, str]:
    """Host, session and path: what one transcript is known by."""
    return (enrollment.binding.host, enrollment.binding.session, enrollment.source.path)
