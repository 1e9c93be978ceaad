"""What the leaves of the log add up to: which sources are enrolled, which sidecars describe them. Pure.

Leaves were verified one by one; this fold adds the rules between them. A sidecar belongs to an enrollment that
exists and was not taken back, segments come in order, and a receipt is spent once (T6). A newer enrollment of the
same session and path replaces the older one.
"""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from sidecars.leaf import Enrollment, Leaf, Policy, Revocation, SidecarEntry
from timeline.errors import LogRefusedError


class Standing(StrEnum):
    """Whether an enrollment is still the one that counts; expiry is a question of the clock and not here."""

    ACTIVE = "active"
    REPLACED = "replaced"
    REVOKED = "revoked"


class EnrolledSource(msgspec.Struct, frozen=True):
    """One enrollment with the sidecars that were committed under it.

    ``index`` is the enrollment's leaf and names the source in the projections. ``evicted`` are digests of sidecars
    that were given up since; their files may be gone.
    """

    index: int
    enrollment: Enrollment
    standing: Standing = Standing.ACTIVE
    entries: tuple[SidecarEntry, ...] = ()
    evicted: frozenset[str] = frozenset()

    @property
    def kept(self) -> tuple[SidecarEntry, ...]:
        """The sidecars whose files must be there, in segment order."""
        if self.standing is not Standing.ACTIVE:
            return ()
        return tuple(entry for entry in self.entries if entry.digest not in self.evicted)


class LogView(msgspec.Struct, frozen=True):
    """Everything that the log says at one size."""

    policy: Policy | None = None
    newest_ms: int = 0
    sources: tuple[EnrolledSource, ...] = ()
    receipts: frozenset[str] = msgspec.field(default_factory=frozenset)

    @property
    def active(self) -> tuple[EnrolledSource, ...]:
        """Sources whose enrollment still counts, oldest first."""
        return tuple(source for source in self.sources if source.standing is Standing.ACTIVE)

    def kept_digests(self) -> frozenset[str]:
        """Digests of every sidecar file that must be there."""
        return frozenset(entry.digest for source in self.sources for entry in source.kept)


def fold_leaves(leaves: Iterable[Leaf]) -> LogView:
    """Add up all leaves of a log, from the first on.

    Raises:
        LogRefusedError: a leaf contradicts those before it.
    """
    policy: Policy | None = None
    newest_ms = 0
    sources: dict[str, EnrolledSource] = {}
    receipts: set[str] = set()
    for leaf in leaves:
        newest_ms = max(newest_ms, leaf.at)
        match leaf.body:
            case Policy() as body:
                policy = body
            case Enrollment() as body:
                if body.enrollment_id in sources or body.receipt_digest in receipts:
                    raise _contradiction(leaf, "an enrollment and its receipt must be new")
                receipts.add(body.receipt_digest)
                _replace_older(sources, body)
                sources[body.enrollment_id] = EnrolledSource(leaf.index, body)
            case Revocation() as body:
                source = _known(sources, leaf, body.enrollment_id)
                sources[body.enrollment_id] = msgspec.structs.replace(source, standing=Standing.REVOKED)
            case SidecarEntry() as body:
                source = _known(sources, leaf, body.enrollment_id)
                sources[body.enrollment_id] = _with_sidecar(source, leaf, body)
            case _:
                pass
    return LogView(policy, newest_ms, tuple(sources.values()), frozenset(receipts))


def same_transcript(one: Enrollment, other: Enrollment) -> bool:
    """Whether two enrollments are of the same session and path."""
    return (one.binding.host, one.binding.session, one.source.path) == (
        other.binding.host,
        other.binding.session,
        other.source.path,
    )


def _replace_older(sources: dict[str, EnrolledSource], newer: Enrollment) -> None:
    for key, source in sources.items():
        if source.standing is Standing.ACTIVE and same_transcript(source.enrollment, newer):
            sources[key] = msgspec.structs.replace(source, standing=Standing.REPLACED)


def _known(sources: dict[str, EnrolledSource], leaf: Leaf, enrollment_id: str) -> EnrolledSource:
    source = sources.get(enrollment_id)
    if source is None or source.standing is not Standing.ACTIVE:
        raise _contradiction(leaf, "it must belong to an active enrollment")
    return source


def _with_sidecar(source: EnrolledSource, leaf: Leaf, entry: SidecarEntry) -> EnrolledSource:
    if entry.source != source.enrollment.source.ref or entry.segment != len(source.entries):
        raise _contradiction(leaf, "a sidecar must be the next segment of its source")
    known = {earlier.digest for earlier in source.entries}
    if entry.digest in known or not known.issuperset(entry.evicts):
        raise _contradiction(leaf, "a sidecar must be new and may give up only earlier ones of its source")
    return msgspec.structs.replace(
        source, entries=(*source.entries, entry), evicted=source.evicted | frozenset(entry.evicts)
    )


def _contradiction(leaf: Leaf, rule: str) -> LogRefusedError:
    message = f"leaf {leaf.index} ({leaf.kind}): {rule}"
    return LogRefusedError(message)
