"""What the leaves of the log add up to: which sources are enrolled, which sidecars describe them. Pure.

Leaves were verified one by one; this fold adds the rules between them. A sidecar belongs to an enrollment that
exists and was not taken back, segments come in order, and a receipt is spent once (T6). A newer enrollment of the
same session and path replaces the older one. Only a followed file is extended, each time from the generation before.
"""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from sidecars.leaf import (
    Enrollment,
    Extension,
    FormatPolicy,
    Invalidation,
    Leaf,
    Policy,
    PrefixProof,
    Revocation,
    SidecarEntry,
)
from timeline.errors import LogRefusedError
from timeline.understanding import FormatDecision, FormatRules


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

    ``index`` is the enrollment's leaf and names the source in the projections. ``evicted`` are digests of sidecars
    that were given up since; their files may be gone. ``extensions`` and ``proof`` (the newest step) are those of a
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


class LogView(msgspec.Struct, frozen=True):
    """Everything that the log says at one size."""

    policy: Policy | None = None
    newest_ms: int = 0
    sources: tuple[EnrolledSource, ...] = ()
    receipts: frozenset[str] = msgspec.field(default_factory=frozenset)
    formats: FormatRules = FormatRules()

    @property
    def active(self) -> tuple[EnrolledSource, ...]:
        """Sources whose enrollment still counts, oldest first."""
        return tuple(source for source in self.sources if source.standing is Standing.ACTIVE)

    def kept_digests(self) -> frozenset[str]:
        """Digests of every sidecar file that must be there."""
        return frozenset(entry.digest for source in self.sources for entry in source.kept)


def fold_leaves(leaves: Iterable[Leaf], onto: LogView | None = None) -> LogView:
    """Add up all leaves of a log from the first on, or those that follow on what ``onto`` has added up.

    Raises:
        LogRefusedError: a leaf contradicts those before it.
    """
    before = LogView() if onto is None else onto
    policy, newest_ms, receipts = before.policy, before.newest_ms, set(before.receipts)
    formats = before.formats
    sources = {source.enrollment.enrollment_id: source for source in before.sources}
    digests: dict[str, set[str]] = {}
    for leaf in leaves:
        newest_ms = max(newest_ms, leaf.at)
        match leaf.body:
            case Policy() as body:
                policy = body
            case FormatPolicy() as body:
                formats = _with_format(formats, leaf, body)
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
                source = _sound(sources, leaf, body)
                known = digests.get(body.enrollment_id)
                if known is None:
                    known = digests[body.enrollment_id] = {entry.digest for entry in source.entries}
                sources[body.enrollment_id] = _with_sidecar(source, leaf, body, known)
            case Extension() as body:
                sources[body.enrollment_id] = _with_extension(_sound(sources, leaf, body), leaf, body)
            case PrefixProof() as body:
                sources[body.enrollment_id] = _with_proof(_sound(sources, leaf, body), leaf, body)
            case Invalidation() as body:
                source = _followed(_sound(sources, leaf, body), leaf)
                sources[body.enrollment_id] = msgspec.structs.replace(source, broken=body)
            case _:
                pass
    return LogView(policy, newest_ms, tuple(sources.values()), frozenset(receipts), formats)


def same_transcript(one: Enrollment, other: Enrollment) -> bool:
    """Whether two enrollments are of the same session and path."""
    return (one.binding.host, one.binding.session, one.source.path) == (
        other.binding.host,
        other.binding.session,
        other.source.path,
    )


def _with_format(formats: FormatRules, leaf: Leaf, body: FormatPolicy) -> FormatRules:
    if not formats.is_change(body):
        raise _contradiction(leaf, "a decision about a format must change something")
    return formats.with_decision(FormatDecision(leaf.index, leaf.at, body))


def _replace_older(sources: dict[str, EnrolledSource], newer: Enrollment) -> None:
    for key, source in sources.items():
        if source.standing is Standing.ACTIVE and same_transcript(source.enrollment, newer):
            sources[key] = msgspec.structs.replace(source, standing=Standing.REPLACED)


def _known(sources: dict[str, EnrolledSource], leaf: Leaf, enrollment_id: str) -> EnrolledSource:
    source = sources.get(enrollment_id)
    if source is None or source.standing is not Standing.ACTIVE:
        raise _contradiction(leaf, "it must belong to an active enrollment")
    return source


def _sound(
    sources: dict[str, EnrolledSource],
    leaf: Leaf,
    body: SidecarEntry | Extension | PrefixProof | Invalidation,
) -> EnrolledSource:
    """The active source that the log key speaks about, unless it was found changed before."""
    source = _known(sources, leaf, body.enrollment_id)
    if body.source != source.enrollment.source.ref:
        raise _contradiction(leaf, "it must name the source of its enrollment")
    if source.broken is not None:
        raise _contradiction(leaf, "nothing may follow for a source that was found changed")
    return source


def _followed(source: EnrolledSource, leaf: Leaf) -> EnrolledSource:
    if source.enrollment.mode != "follow":
        raise _contradiction(leaf, "the owner must have consented to following")
    return source


def _with_extension(source: EnrolledSource, leaf: Leaf, body: Extension) -> EnrolledSource:
    newest = _followed(source, leaf).newest
    if body.generation != newest.number + 1 or body.size <= newest.size:
        raise _contradiction(leaf, "an extension must be the next generation and longer than the one before")
    added = Generation(
        body.generation, body.size, int(body.mtime_ns), int(body.ctime_ns), first_segment=len(source.entries)
    )
    return msgspec.structs.replace(source, extensions=(*source.extensions, added))


def _with_proof(source: EnrolledSource, leaf: Leaf, body: PrefixProof) -> EnrolledSource:
    generations = source.generations
    if not body.generation < len(generations) or body.proven > generations[body.generation - 1].size:
        raise _contradiction(leaf, "a proof must be of a generation and of no more than stood before it")
    before = source.proof
    if before is not None and (body.generation, body.proven) <= (before.generation, before.proven):
        raise _contradiction(leaf, "a proof must go on from the one before")
    return msgspec.structs.replace(source, proof=body)


def _with_sidecar(source: EnrolledSource, leaf: Leaf, entry: SidecarEntry, known: set[str]) -> EnrolledSource:
    """``known`` are the digests of the source's sidecars so far; this one's is added."""
    if entry.segment != len(source.entries):
        raise _contradiction(leaf, "a sidecar must be the next segment of its source")
    if entry.digest in known or not known.issuperset(entry.evicts):
        raise _contradiction(leaf, "a sidecar must be new and may give up only earlier ones of its source")
    known.add(entry.digest)
    return msgspec.structs.replace(
        source, entries=(*source.entries, entry), evicted=source.evicted | frozenset(entry.evicts)
    )


def _contradiction(leaf: Leaf, rule: str) -> LogRefusedError:
    message = f"leaf {leaf.index} ({leaf.kind}): {rule}"
    return LogRefusedError(message)
