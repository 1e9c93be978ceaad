"""An assertion as a row: what finds it, what it replaces, and the hash of the leaf that states it. Pure.

Rows are a projection. What makes them worth anything is the tally: while the log is verified, each assertion's row is
added to one running hash, and the stored table is used only where it adds up to the same.
"""

import hashlib

import msgspec

from sidecars.assertion import AssertionEntry, EvidenceKind, KnowledgeKind, Privacy
from sidecars.leaf import Leaf

_ENCODER = msgspec.msgpack.Encoder()


class AssertionRow(msgspec.Struct, frozen=True, array_like=True):
    """One assertion without its value and without what only a reader of it wants to know.

    ``value_digest`` is the SHA-256 of the value's text, ``hash`` the leaf's hash in the tree: of its salt and its
    exact envelope, the value and the signature with it. ``derived`` are the ids of everything that it was derived
    from, sorted. Times are UTC milliseconds.
    """

    leaf: int
    id: str
    tenant: str
    subject: str
    predicate: str
    project: str | None
    user: str
    privacy: Privacy
    group: str | None
    portal: str | None
    thread: str | None
    evidence_kind: EvidenceKind
    knowledge: KnowledgeKind | None
    observed_at: int
    expires_at: int | None
    supersedes: tuple[str, ...]
    starts_at: int | None
    purposes: tuple[str, ...]
    about: str | None
    derived: tuple[str, ...]
    value_digest: bytes
    hash: bytes

    @property
    def order(self) -> tuple[int, int]:
        """Older before newer: by observation, and at one instant by the order of the log (W8)."""
        return (self.observed_at, self.leaf)


class AssertionTally(msgspec.Struct, frozen=True):
    """How many assertions the log holds, and one running hash over their rows in its order."""

    count: int = 0
    digest: bytes = bytes(32)

    def with_row(self, row: AssertionRow) -> "AssertionTally":
        """The tally once this row is added behind the others."""
        return AssertionTally(self.count + 1, hashlib.sha256(self.digest + _ENCODER.encode(row)).digest())


def row_of(leaf: Leaf, entry: AssertionEntry, hashed: bytes) -> AssertionRow:
    """The row of the assertion ``entry`` that ``leaf`` states; ``hashed`` is the leaf's hash in the tree."""
    return AssertionRow(
        leaf=leaf.index,
        id=entry.id,
        tenant=entry.tenant,
        subject=entry.subject,
        predicate=entry.predicate,
        project=entry.project,
        user=entry.user,
        privacy=entry.privacy,
        group=entry.group,
        portal=entry.portal,
        thread=entry.thread,
        evidence_kind=entry.evidence_kind,
        knowledge=entry.knowledge,
        observed_at=entry.observed_at,
        expires_at=entry.expires_at,
        supersedes=entry.supersedes,
        starts_at=entry.starts_at,
        purposes=entry.purposes,
        about=entry.about,
        derived=() if entry.derivation is None else entry.derivation.dependencies,
        value_digest=hashlib.sha256(entry.value.encode()).digest(),
        hash=hashed,
    )


def rows_of(leaves: tuple[Leaf, ...], hashes: tuple[bytes, ...]) -> tuple[AssertionRow, ...]:
    """The rows of those leaves of a batch that state an assertion; ``hashes`` are the hashes of all its leaves."""
    return tuple(
        row_of(leaf, leaf.body, hashed)
        for leaf, hashed in zip(leaves, hashes, strict=True)
        if isinstance(leaf.body, AssertionEntry)
    )
