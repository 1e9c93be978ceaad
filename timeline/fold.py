"""Adding up the leaves of the log, one by one, to what they say. Pure.

Leaves were verified one by one; this fold adds the rules between them. A sidecar belongs to an enrollment that
exists and was not taken back, segments come in order, and a receipt is spent once (T6). A newer enrollment of the
same session and path replaces the older one; one that rests on a standing consent does not bring back what was
revoked. Only a followed file is extended, each time from the generation before. A sidecar that the owner has had
reduced takes the place of the one that it gives up. Assertions are tallied; the rules between them are those of
``timeline.world``. A leaf that was erased is not added: what is left adds up without it.
"""

from collections.abc import Iterable
from operator import attrgetter

import msgspec

from sidecars.consent import Consents, with_consent
from sidecars.errors import BrokenLinkError
from sidecars.leaf import (
    AnchorPolicy,
    AnchorRecovery,
    AssertionEntry,
    ConsentPolicy,
    Enrollment,
    Erasure,
    Extension,
    FormatPolicy,
    Invalidation,
    Leaf,
    Policy,
    PrefixProof,
    Revocation,
    SidecarEntry,
)
from sidecars.lineage import Fork, Restoration
from timeline.assertion_row import row_of
from timeline.errors import LogRefusedError
from timeline.register_row import register_row
from timeline.understanding import FormatDecision, FormatRules
from timeline.view import (
    AnchorDecision,
    EnrolledSource,
    ErasureMade,
    Generation,
    LogView,
    RecoveryMade,
    RestorationMade,
    Standing,
    transcript_of,
)

_digest_of, _id_of = attrgetter("digest"), attrgetter("enrollment.enrollment_id")


class LogFold:
    """Leaves being added up one by one, so that nobody has to hold all of them; ``view`` says what they add up to.

    Sidecars, of which a log has the most, are kept in lists until then: the cost is linear in their number.
    """

    def __init__(self, onto: LogView | None = None) -> None:
        """Go on from what ``onto`` has added up, or begin with the first leaf of a log."""
        before = LogView() if onto is None else onto
        self._policy, self._newest_ms, self._formats = before.policy, before.newest_ms, before.formats
        self._anchors, self._fork = before.anchors, before.fork
        self._restorations, self._recoveries = before.restorations, before.recoveries
        self._receipts, self._consents = before.receipts, before.consents
        self._assertions, self._register = before.assertions, before.register
        self._erasures = before.erasures
        self._spent: set[str] = set()
        """Receipts that were spent since."""
        self._sources = dict(zip(map(_id_of, before.sources), before.sources, strict=True))
        """Every source, without the sidecars that are in ``_added``."""
        self._added: dict[str, _Added] = {}
        self._newest: dict[tuple[str, str, str], str] | None = None
        """The newest enrollment of each transcript, once an enrollment has been met."""
        self._refused: LogRefusedError | None = None

    def add(self, leaf: Leaf, hashed: bytes) -> None:
        """Add the next leaf, whose hash in the tree is ``hashed``.

        The first that contradicts those before it ends the fold: ``view`` refuses then.
        """
        if self._refused is None:
            try:
                self._add(leaf, hashed)
            except LogRefusedError as error:
                self._refused = error

    def view(self) -> LogView:
        """What the leaves add up to.

        Raises:
            LogRefusedError: a leaf contradicts those before it.
        """
        if self._refused is not None:
            raise self._refused
        sources = self._sources
        if self._added:
            sources = sources | {key: added.settled(sources[key]) for key, added in self._added.items()}
        return LogView(
            self._policy,
            self._newest_ms,
            tuple(sources.values()),
            self._receipts | self._spent if self._spent else self._receipts,
            self._formats,
            self._anchors,
            self._fork,
            self._restorations,
            self._recoveries,
            self._consents,
            self._assertions,
            self._register,
            self._erasures,
        )

    def _add(self, leaf: Leaf, hashed: bytes) -> None:
        sources = self._sources
        self._newest_ms = max(self._newest_ms, leaf.at)
        match leaf.body:
            case SidecarEntry() as body:
                self._add_sidecar(leaf, body)
            case AssertionEntry() as body:
                self._assertions = self._assertions.with_row(row_of(leaf, body, hashed))
            case FormatPolicy() as body:
                self._formats = _with_format(self._formats, leaf, body)
            case Enrollment() as body:
                spent = body.receipt_digest in self._receipts or body.receipt_digest in self._spent
                if body.enrollment_id in sources or spent:
                    raise _contradiction(leaf, "an enrollment and its receipt must be new")
                self._spent.add(body.receipt_digest)
                self._replace_older(leaf, body)
                sources[body.enrollment_id] = EnrolledSource(leaf.index, body)
            case Revocation() as body:
                source = _known(sources, leaf, body.enrollment_id)
                sources[body.enrollment_id] = msgspec.structs.replace(source, standing=Standing.REVOKED)
            case Extension() as body:
                source = _sound(sources, leaf, body)
                sources[body.enrollment_id] = _with_extension(source, leaf, body, self._segments(source))
            case PrefixProof() as body:
                sources[body.enrollment_id] = _with_proof(_sound(sources, leaf, body), leaf, body)
            case Invalidation() as body:
                source = _followed(_sound(sources, leaf, body), leaf)
                sources[body.enrollment_id] = msgspec.structs.replace(source, broken=body)
            case _:
                self._add_statement(leaf)
                if (row := register_row(leaf, hashed)) is not None:
                    self._register = self._register.with_row(row)

    def _add_sidecar(self, leaf: Leaf, body: SidecarEntry) -> None:
        source = _of_source(self._sources, leaf, body)
        added = self._added_to(source)
        if added.is_next(body):
            _check_unbroken(source, leaf)
            added.add(leaf, source, body)
        elif self._erasures and self._erasures[-1].leaf >= leaf.batch_start:
            added.replace(leaf, source, body)
        else:
            raise _contradiction(
                leaf, "a sidecar must be the next segment of its source, or be reduced by an erasure"
            )

    def _add_statement(self, leaf: Leaf) -> None:
        """What is about the whole log and no source."""
        match leaf.body:
            case Policy() as body:
                self._policy = body
            case AnchorPolicy() as body:
                self._anchors = AnchorDecision(leaf.index, body)
            case Fork() as body:
                self._fork = body
            case Erasure() as body:
                self._erasures = (*self._erasures, ErasureMade(leaf.index, leaf.at, body))
            case Restoration() as body:
                self._restorations = (*self._restorations, RestorationMade(leaf.index, body))
            case AnchorRecovery() as body:
                self._recoveries = (*self._recoveries, RecoveryMade(leaf.index, body))
            case ConsentPolicy() as body:
                self._consents = _with_consent(self._consents, leaf, body)
            case _:
                pass

    def _replace_older(self, leaf: Leaf, newer: Enrollment) -> None:
        """At most one enrollment of a transcript is active; which one is looked up, since a log can hold many."""
        if self._newest is None:
            self._newest = {transcript_of(source.enrollment): key for key, source in self._sources.items()}
        older = self._newest.get(transcript_of(newer))
        if older is not None and newer.consent is not None:
            _check_not_revoked(self._sources[older], leaf)
        if older is not None and self._sources[older].standing is Standing.ACTIVE:
            replaced = msgspec.structs.replace(self._sources[older], standing=Standing.REPLACED)
            self._sources[older] = replaced
        self._newest[transcript_of(newer)] = newer.enrollment_id

    def _added_to(self, source: EnrolledSource) -> "_Added":
        added = self._added.get(source.enrollment.enrollment_id)
        if added is None:
            added = self._added[source.enrollment.enrollment_id] = _Added(source)
        return added

    def _segments(self, source: EnrolledSource) -> int:
        added = self._added.get(source.enrollment.enrollment_id)
        return len(source.entries) + (len(added.entries) if added else 0)


class _Added:
    """The sidecars of one source that a fold has added, with the leaf of each."""

    __slots__ = ("_before", "_evicted", "_known", "_reduced", "_segment", "entries", "leaves")

    def __init__(self, source: EnrolledSource) -> None:
        self.entries: list[SidecarEntry] = []
        self.leaves: list[int] = []
        self._segment = len(source.entries)
        self._before = source.entries
        self._known: set[str] | None = None
        """Digests of every sidecar of the source, once more than one is added: a commit adds one as a rule."""
        self._evicted: set[str] = set(source.evicted)
        self._reduced: dict[int, tuple[SidecarEntry, int]] = {}
        """What takes the place of a sidecar among ``_before``, by its segment, with its leaf."""

    def is_next(self, entry: SidecarEntry) -> bool:
        """Whether a sidecar claims to be of what follows, and not to stand in for an earlier one."""
        return entry.segment >= self._segment

    def replace(self, leaf: Leaf, source: EnrolledSource, entry: SidecarEntry) -> None:
        """Put a sidecar in the place of the one of its segment, of whose events it holds some."""
        place, later = entry.segment, entry.segment - len(self._before)
        older = self.entries[later] if later >= 0 else self._reduced.get(place, (self._before[place],))[0]
        if entry.evicts != (older.digest,) or older.digest in self._evicted or entry.count > older.count:
            raise _contradiction(leaf, "a reduced sidecar must give up the one of its segment, and no other")
        if not self._is_new(entry):
            raise _contradiction(leaf, "a reduced sidecar must be new")
        self._evicted.update(entry.evicts)
        entry = msgspec.structs.replace(
            entry, source=source.enrollment.source.ref, enrollment_id=source.enrollment.enrollment_id
        )
        if later >= 0:
            self.entries[later], self.leaves[later] = entry, leaf.index
        else:
            self._reduced[place] = (entry, leaf.index)

    def add(self, leaf: Leaf, source: EnrolledSource, entry: SidecarEntry) -> None:
        if entry.segment != self._segment:
            raise _contradiction(leaf, "a sidecar must be the next segment of its source")
        if not self._is_new(entry):
            raise _contradiction(
                leaf, "a sidecar must be new and may give up only earlier ones of its source"
            )
        self._segment += 1
        self._evicted.update(entry.evicts)
        enrolled = source.enrollment
        # Equal text, shared: of a million sidecars the names alone would otherwise take 200 MB.
        self.entries.append(
            SidecarEntry(
                entry.digest,
                enrolled.source.ref,
                entry.segment,
                enrolled.enrollment_id,
                entry.count,
                entry.root,
                entry.evicts,
            )
        )
        self.leaves.append(leaf.index)

    def _is_new(self, entry: SidecarEntry) -> bool:
        """Whether its digest is no earlier one's, and those that it gives up are."""
        if self._known is None and not self.entries and not entry.evicts:
            return entry.digest not in self._evicted and entry.digest not in map(_digest_of, self._before)
        if self._known is None:
            self._known = {earlier.digest for earlier in (*self._before, *self.entries)} | self._evicted
        known = self._known
        fits = entry.digest not in known and known.issuperset(entry.evicts)
        known.add(entry.digest)
        return fits

    def settled(self, source: EnrolledSource) -> EnrolledSource:
        """``source`` with what was added."""
        entries, leaves = [*source.entries, *self.entries], [*source.leaves, *self.leaves]
        for place, reduced in self._reduced.items():
            entries[place], leaves[place] = reduced
        return msgspec.structs.replace(
            source, entries=tuple(entries), leaves=tuple(leaves), evicted=frozenset(self._evicted)
        )


def fold_leaves(leaves: Iterable[Leaf], hashes: Iterable[bytes], onto: LogView | None = None) -> LogView:
    """Add up all leaves of a log from the first on, or those that follow on what ``onto`` has added up.

    ``hashes`` are the hashes of the leaves in the tree.

    Raises:
        LogRefusedError: a leaf contradicts those before it.
    """
    fold = LogFold(onto)
    for leaf, hashed in zip(leaves, hashes, strict=True):
        fold.add(leaf, hashed)
    return fold.view()


def _with_format(formats: FormatRules, leaf: Leaf, body: FormatPolicy) -> FormatRules:
    if not formats.is_change(body):
        raise _contradiction(leaf, "a decision about a format must change something")
    return formats.with_decision(FormatDecision(leaf.index, leaf.at, body))


def _with_consent(consents: Consents, leaf: Leaf, body: ConsentPolicy) -> Consents:
    try:
        return with_consent(consents, leaf.index, leaf.at, body)
    except BrokenLinkError as error:  # whoever verified the leaves has refused it before
        raise _contradiction(leaf, "a decision about a standing consent must change something") from error


def _check_not_revoked(older: EnrolledSource, leaf: Leaf) -> None:
    """What the owner took back by hand is given again by hand: a standing consent is the weaker word."""
    if older.standing is Standing.REVOKED:
        raise _contradiction(leaf, "a standing consent must not bring back a session that was revoked")


def _known(sources: dict[str, EnrolledSource], leaf: Leaf, enrollment_id: str) -> EnrolledSource:
    source = sources.get(enrollment_id)
    if source is None or source.standing is not Standing.ACTIVE:
        raise _contradiction(leaf, "it must belong to an active enrollment")
    return source


def _sound(
    sources: dict[str, EnrolledSource],
    leaf: Leaf,
    body: Extension | PrefixProof | Invalidation,
) -> EnrolledSource:
    """The active source that the log key speaks about, unless it was found changed before."""
    source = _of_source(sources, leaf, body)
    _check_unbroken(source, leaf)
    return source


def _of_source(
    sources: dict[str, EnrolledSource],
    leaf: Leaf,
    body: SidecarEntry | Extension | PrefixProof | Invalidation,
) -> EnrolledSource:
    source = _known(sources, leaf, body.enrollment_id)
    if body.source != source.enrollment.source.ref:
        raise _contradiction(leaf, "it must name the source of its enrollment")
    return source


def _check_unbroken(source: EnrolledSource, leaf: Leaf) -> None:
    if source.broken is not None:
        raise _contradiction(leaf, "nothing may follow for a source that was found changed")


def _followed(source: EnrolledSource, leaf: Leaf) -> EnrolledSource:
    if source.enrollment.mode != "follow":
        raise _contradiction(leaf, "the owner must have consented to following")
    return source


def _with_extension(source: EnrolledSource, leaf: Leaf, body: Extension, segments: int) -> EnrolledSource:
    newest = _followed(source, leaf).newest
    if body.generation != newest.number + 1 or body.size <= newest.size:
        raise _contradiction(leaf, "an extension must be the next generation and longer than the one before")
    added = Generation(
        body.generation, body.size, int(body.mtime_ns), int(body.ctime_ns), first_segment=segments
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


def _contradiction(leaf: Leaf, rule: str) -> LogRefusedError:
    message = f"leaf {leaf.index} ({leaf.kind}): {rule}"
    return LogRefusedError(message)
