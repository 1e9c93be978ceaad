"""One conformance case as a file: its closed schema, and the graph, question and candidate that it describes. Pure.

The file is for others too: what it holds and what each field means stands in ``docs/spec/conformance.md``.
"""

from typing import Annotated, Any, Final, Literal

import msgspec

from sidecars.errors import MalformedError
from sidecars.identity import canonical_bytes, strict_loads
from timeline.reasoning.errors import CaseInvalidError
from timeline.reasoning.graph import Unavailability
from timeline.reasoning.metrics import Disposition
from timeline.reasoning.proposition import Modality, Proposition
from timeline.reasoning.roles import OriginClass, Role

CASE_BYTES_MAX: Final = 256 * 1024
"""The largest of ours has 5 KB."""

Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9:_.@/-]{0,127}\Z")]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
Moment = Annotated[int, msgspec.Meta(ge=0, le=253402300799999)]
"""UTC milliseconds, up to the end of the year 9999."""
Count = Annotated[int, msgspec.Meta(ge=1, le=64)]
Alternative = Annotated[list[Name], msgspec.Meta(min_length=1)]


class _Closed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An object in which no other field may stand."""


class Statement(_Closed, frozen=True):
    """What a record says; ``value`` is any JSON value without fractions."""

    subject: Name
    predicate: Name
    value: Any
    modality: Modality = "asserted"

    @property
    def proposition(self) -> Proposition:
        """The same with its value as RFC 8785 text."""
        return Proposition(self.subject, self.predicate, canonical_bytes(self.value).decode(), self.modality)


class Audience(_Closed, frozen=True):
    """For whom a record may be used; a list that is left out means for all."""

    principals: list[Name] | None = None
    purposes: list[Name] | None = None
    tasks: list[Name] | None = None


class _Record(_Closed, frozen=True, kw_only=True):
    """What evidence and claims have in common."""

    id: Name
    role: Role
    observed_at: Moment
    says: Statement | None = None
    start: Moment | None = None
    end: Moment | None = None
    scope: Audience = Audience()
    supersedes: list[Name] = []


class Evidence(_Record, frozen=True, kw_only=True):
    """A root: where it came from, and on which root it is counted; ``unavailable`` makes a marker of it.

    ``fields`` are checked by the recording path but for those that ``unchecked`` names.
    """

    origin: OriginClass
    fields: dict[Name, Text] = {}
    unchecked: list[Name] = []
    root: Name | None = None
    unavailable: Unavailability | None = None


class Claim(_Record, frozen=True, kw_only=True):
    """What is derived from records that stand before it; the members of one alternative suffice together."""

    rule: Name
    evaluator: Name = "evaluator:case"
    bindings: dict[Name, Text] = {}
    alternatives: Annotated[list[Alternative], msgspec.Meta(min_length=1)]


class CasePolicy(_Closed, frozen=True):
    """The policy of the case; the fields are those of an evidence policy."""

    roots: Count
    required: dict[Name, Count] = {}
    collapse: bool = True
    snapshot: bool = False


class Question(_Closed, frozen=True):
    """What is asked, and of which moment."""

    subject: Name
    predicate: Name
    at: Moment
    modality: Modality = "asserted"


class Reader(_Closed, frozen=True):
    """Who asks, for what purpose, in which task."""

    principal: Name
    purpose: Name | None = None
    task: Name | None = None


class Candidate(_Closed, frozen=True):
    """What somebody wants to say; it has the question's subject, predicate and modality."""

    value: Any
    as_of: Moment | None = None


class CaseHead(_Closed, frozen=True):
    """Size and root of a log; the root is any text, since only equality counts."""

    size: Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
    root: Name


class Heads(_Closed, frozen=True):
    """The heads of prompt and emission; ``emitted_at`` is the question's moment unless it is given."""

    prompt: CaseHead
    emission: CaseHead
    emitted_at: Moment | None = None


class Expected(_Closed, frozen=True):
    """What the resolver and the mediator have to come to."""

    status: Literal["supported", "unknown", "unavailable"]
    disposition: Disposition
    flags: list[Literal["conflicted", "withheld", "stale"]] = []


class Flip(_Closed, frozen=True):
    """The attribute that decides the case, as an RFC 6901 pointer, and what comes of the case with another value."""

    at: Annotated[str, msgspec.Meta(pattern=r"^(/[A-Za-z0-9_]+)+\Z")]
    value: Any
    disposition: Disposition


class Case(_Closed, frozen=True, kw_only=True):
    """One case."""

    schema: Literal["timeline-conformance-case/v1"]
    id: Name
    track: Name
    kind: Literal["unsafe", "control"]
    condition: Text
    check: Text
    policy: CasePolicy
    evidence: list[Evidence]
    claims: list[Claim] = []
    revoked: list[Name] = []
    inscribed: list[tuple[Name, Name]] = []
    query: Question
    reader: Reader
    candidate: Candidate
    heads: Heads
    expected: Expected
    flip: Flip

    @property
    def roots(self) -> tuple[str, ...]:
        """The roots of its evidence, each once, in their order."""
        return tuple(dict.fromkeys(one.root or one.id for one in self.evidence))

    @property
    def records(self) -> "tuple[Evidence | Claim, ...]":
        """Evidence, then claims: none depends on one behind it."""
        return (*self.evidence, *self.claims)


def parse_case(content: bytes, name: str) -> Case:
    """The case in the file ``name``.

    Raises:
        CaseInvalidError: it is none; the message names file, field and rule.
    """
    return _convert(_load(content, name), name)


def flip_case(content: bytes, name: str) -> Case:
    """The case in the file ``name`` with its deciding attribute flipped, and what is then expected of it.

    Raises:
        CaseInvalidError: it is no case, the pointer leads nowhere, or the flipped one is no case.
    """
    value = _load(content, name)
    flip = _convert(value, name).flip
    parts = flip.at.split("/")[1:]
    place: Any = value
    try:
        for part in parts[:-1]:
            place = place[int(part)] if isinstance(place, list) else place[part]
        place[int(parts[-1]) if isinstance(place, list) else parts[-1]] = flip.value
    except (LookupError, TypeError, ValueError) as error:
        raise CaseInvalidError(f"{name}: flip.at: must lead to a place in the case") from error
    flipped = _convert(value, name)
    expected = msgspec.structs.replace(flipped.expected, disposition=flip.disposition)
    return msgspec.structs.replace(flipped, expected=expected)


def _load(content: bytes, name: str) -> Any:  # noqa: ANN401  (JSON, given its type by _convert)
    if len(content) > CASE_BYTES_MAX:
        raise CaseInvalidError(f"{name}: must be at most {CASE_BYTES_MAX} bytes")
    try:
        return strict_loads(content)
    except MalformedError as error:
        raise CaseInvalidError(f"{name}: {error}") from error


def _convert(value: Any, name: str) -> Case:  # noqa: ANN401  (JSON, given its type here)
    try:
        case = msgspec.convert(value, Case)
    except msgspec.ValidationError as error:
        raise CaseInvalidError(f"{name}: {error}") from error
    _check_names(case, name)
    return case


def _check_names(case: Case, name: str) -> None:
    """Each id is given once, before it is used; so nothing can depend on itself."""
    known: set[str] = set()
    for record in case.records:
        field = "claims" if isinstance(record, Claim) else "evidence"
        if record.id in known:
            raise CaseInvalidError(f"{name}: {field}: id {record.id}: must be given once")
        needed = (
            {one for alternative in record.alternatives for one in alternative}
            if isinstance(record, Claim)
            else ()
        )
        for one in (*needed, *record.supersedes):
            if one not in known:
                raise CaseInvalidError(
                    f"{name}: {field}: {record.id}: {one}: must be the id of a record before it"
                )
        known.add(record.id)
    roots = {one.root for one in case.evidence if one.root is not None}
    for one in case.revoked:
        if one not in known | roots:
            raise CaseInvalidError(f"{name}: revoked: {one}: must be an id or a root of the case")
    for pair in case.inscribed:
        if not known.issuperset(pair) or len(set(pair)) != len(pair):
            raise CaseInvalidError(f"{name}: inscribed: must be pairs of two ids of the case")
