"""What the owner says about evidence, and what the daemon notes of an answer that it mediated: five kinds of leaves.

The owner key signs how much support a claim needs (``EvidencePolicyEntry``), that a piece of evidence no longer counts
(``EvidenceRevocation``), that two assertions contradict each other (``ConflictInscription``), and what a person who is
spoken of has consented to (``PersonConsent``). The log key signs which units of an answer were released and on what
(``MediationTraceEntry``): digests alone, no word of the answer.

Each body says by ``abouts`` under which short texts the register finds it. What follows from them is decided in
``timeline.reasoning``; the format is in ``docs/spec/reasoned-leaves.md``. Pure.
"""

from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from sidecars.assertion import REASON_CHARACTERS_MAX, Evaluator, Predicate, Purpose, StableId
from sidecars.errors import MalformedError
from sidecars.kind import Kind
from sidecars.wire import Count, DigestText, TimeMs

ROOTS_MAX: Final = 8
"""The most independent roots that a policy may ask for."""

EVALUATORS_MAX: Final = 16
"""Evaluators that one policy may accept."""

REQUIRED_MAX: Final = 64
"""Predicates for which one policy may ask for another number of roots."""

UNITS_MAX: Final = 20
"""Units of one mediated answer."""

RootCount = Annotated[int, msgspec.Meta(ge=1, le=ROOTS_MAX)]
ReaderName = Annotated[str, msgspec.Meta(pattern=r"^(user|group):[A-Za-z0-9][A-Za-z0-9:_.@/-]{0,127}\Z")]
"""Whom a consent is for: a user or a group of this timeline."""

Reason = Annotated[str, msgspec.Meta(min_length=1, max_length=REASON_CHARACTERS_MAX)]
TraceId = Annotated[str, msgspec.Meta(pattern=r"^trace:[0-9a-f]{32}\Z")]
UnitId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]


class EvidencePolicyEntry(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag="evidence-policy",
    tag_field="kind",
):
    """The rules of release from here on (P3). Versions count from 1 without gaps.

    ``roots`` is how many independent roots a predicate needs, ``required`` its exceptions. ``collapse`` makes unknown,
    withheld and unavailable look alike; ``snapshot`` permits content of an older head that says so. ``evaluators``
    are those whose interpretations may support, sorted; without one nobody's do.
    """

    version: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    roots: RootCount
    required: dict[Predicate, RootCount]
    collapse: bool
    snapshot: bool
    evaluators: Annotated[tuple[Evaluator, ...], msgspec.Meta(max_length=EVALUATORS_MAX)] = ()

    @property
    def abouts(self) -> tuple[str, ...]:
        """Its version."""
        return (f"version:{self.version}",)


class EvidenceRevocation(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="evidence-revocation", tag_field="kind"
):
    """An assertion or a root no longer counts as evidence, nor does what rests on it alone (P34). Never taken back."""

    revoked: StableId
    reason: Reason

    @property
    def abouts(self) -> tuple[str, ...]:
        """What is revoked."""
        return (self.revoked,)


class ConflictInscription(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="conflict", tag_field="kind"
):
    """Two assertions contradict each other, whatever their predicates are (P35). ``assertions`` is sorted."""

    assertions: tuple[StableId, StableId]
    reason: Reason

    @property
    def abouts(self) -> tuple[str, ...]:
        """Both assertions."""
        return self.assertions


class PersonConsent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="person-consent", tag_field="kind"
):
    """What a person who is spoken of has said about who may be told (P49); the newest that covers a question counts.

    ``reader`` ``None`` is everybody, ``purpose`` ``None`` any purpose. ``granted`` false takes back.
    """

    person: StableId
    reader: ReaderName | None
    purpose: Purpose | None
    granted: bool

    @property
    def abouts(self) -> tuple[str, ...]:
        """The person."""
        return (self.person,)


class TracedHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The log at which something was decided."""

    size: Count
    root: DigestText


class TracedUnit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One unit of an answer, and what its release was decided on (P42), in digests.

    ``support`` is of the premises used; ``head`` says whether the log was still the one of the prompt.
    """

    unit: UnitId
    digest: DigestText
    type: Literal["content", "status"]
    query: DigestText
    decision: DigestText
    support: DigestText
    witness: DigestText
    disposition: Literal["passed", "qualified", "blocked"]
    head: Literal["same", "snapshot", "moved"]


class MediationTraceEntry(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="mediation-trace", tag_field="kind"
):
    """What became of the units of one answer, in their order (P42).

    ``prompted`` is the head that the answer was written from, ``emitted`` the one that it was checked at, at
    ``emitted_at`` (UTC milliseconds); ``policy`` and ``output`` are digests.
    """

    id: TraceId
    units: Annotated[tuple[TracedUnit, ...], msgspec.Meta(min_length=1, max_length=UNITS_MAX)]
    prompted: TracedHead
    emitted: TracedHead
    emitted_at: TimeMs
    policy: DigestText
    output: DigestText

    @property
    def abouts(self) -> tuple[str, ...]:
        """Its own id."""
        return (self.id,)


ReasonedBody: TypeAlias = (
    EvidencePolicyEntry | EvidenceRevocation | ConflictInscription | PersonConsent | MediationTraceEntry
)

REASONED: Final[dict[type, Kind]] = {
    EvidencePolicyEntry: Kind.EVIDENCE_POLICY,
    EvidenceRevocation: Kind.EVIDENCE_REVOCATION,
    ConflictInscription: Kind.CONFLICT,
    PersonConsent: Kind.PERSON_CONSENT,
    MediationTraceEntry: Kind.MEDIATION_TRACE,
}


def check_reasoned(body: ReasonedBody) -> None:
    """Return only if a body is one that can be said.

    Raises:
        MalformedError: two fields do not fit each other.
    """
    match body:
        case EvidencePolicyEntry(required=required, evaluators=evaluators):
            if list(evaluators) != sorted(set(evaluators)):
                raise MalformedError("the evaluators of a policy must be sorted and unique")
            if len(required) > REQUIRED_MAX:
                raise MalformedError(f"a policy must have at most {REQUIRED_MAX} exceptions")
            if body.roots in required.values():
                raise MalformedError("an exception of a policy must differ from its rule")
        case ConflictInscription(assertions=(first, second)):
            if first >= second:
                raise MalformedError("the assertions of a conflict must be two, sorted")
        case MediationTraceEntry(units=units):
            if len({unit.unit for unit in units}) != len(units):
                raise MalformedError("the units of a trace must have ids of their own")
        case _:
            pass
