"""What a work claims, as a file that its owner writes: one JSON object a line, the work first, then its claims (G25).

The class of the work decides how a statement is meant, from how far it is told and how well it was verified
(``grading.work``); of a conversation the wording may decide how a sentence is meant, by labelled rules, and no sentence
is kept. Secrets and names of authority are refused as in every assertion. Pure; the format is in
``docs/spec/claims-file.md``. A refusal names the line, the field and the rule, and quotes nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec

from sidecars.assertion import Predicate, StableId
from sidecars.errors import MalformedError
from sidecars.graded import (
    CLAIMS_MAX,
    GRADED_BYTES_MAX,
    HOPS_MAX,
    SOURCES_MAX,
    Claim,
    ClaimsEntry,
    ClaimSource,
    Domain,
    Intent,
    Millionths,
    Mutability,
    SourceType,
    WorkClass,
    check_claims,
)
from sidecars.identity import JSON, canonical_bytes_with_floats, strict_loads_with_floats
from timeline.clock import parse_utc
from timeline.grading.backfill import OlderFact, fill_up
from timeline.grading.credibility import GLOBAL
from timeline.grading.errors import ClaimsFileError
from timeline.grading.work import (
    RELIABILITY_MAX,
    Extract,
    Extracted,
    Work,
    decide_verification,
    make_claim,
)
from timeline.reasoning.intent import CLASSIFIER, SENTENCE_CHARACTERS_MAX, find_intent
from timeline.world.errors import AuthorityShapedError, SecretShapedError
from timeline.world.names import find_authority
from timeline.world.secrets import find_secret, find_secret_in

SCHEMA: Final = "timeline-claims/v1"
FILE_BYTES_MAX: Final = 64 * 1024 * 1024
LINE_BYTES_MAX: Final = 64 * 1024
CLAIMS_IN_FILE_MAX: Final = 200_000
TITLE_CHARACTERS_MAX: Final = 500
_PAGE_BYTES: Final = GRADED_BYTES_MAX - 8 * 1024
"""Of the claims of one leaf; the rest is for what it says of the work."""

Progress = Callable[[int, int], None]
_Line = TypeVar("_Line", bound=msgspec.Struct)


class WorkFile(msgspec.Struct, frozen=True):
    """A file as it was read. ``classified`` counts the claims whose intent the wording has decided."""

    work: Work
    claims: tuple[Claim, ...]
    classified: int

    def pages(self, claims: Sequence[Claim]) -> Iterator[ClaimsEntry]:
        """The bodies of leaves that record these of its claims, each as full as its bounds allow."""
        page: list[Claim] = []
        size = 0
        for claim in claims:
            length = len(msgspec.json.encode(claim)) + 1
            if page and (len(page) == CLAIMS_MAX or size + length > _PAGE_BYTES):
                yield self._entry(page)
                page, size = [], 0
            page.append(claim)
            size += length
        if page:
            yield self._entry(page)

    def _entry(self, claims: Sequence[Claim]) -> ClaimsEntry:
        return ClaimsEntry(self.work.id, self.work.work_class, self.work.author, tuple(claims))


# -- the two kinds of lines ------------------------------------------------------------------------------------


class _WorkLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    schema: Literal["timeline-claims/v1"]
    id: StableId
    work_class: WorkClass = msgspec.field(name="class")
    author: StableId
    title: Annotated[str, msgspec.Meta(max_length=TITLE_CHARACTERS_MAX)] | None = None
    root: StableId | None = None
    domain: Domain = GLOBAL
    said_at: str | None = None
    older: bool = False
    reliability: Annotated[int, msgspec.Meta(ge=0, le=RELIABILITY_MAX)] | None = None
    peer_reviewed: bool | None = None
    citations: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] | None = None


class _SourceLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    entity: StableId
    source_type: SourceType
    hops: Annotated[int, msgspec.Meta(ge=0, le=HOPS_MAX)] | None = None
    session: StableId | None = None
    verification: Millionths | None = None
    root: StableId | None = None


class _ClaimLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    id: StableId
    extract: Extract = "statement"
    subject: StableId | None = None
    key: Predicate
    domain: Domain | None = None
    value: Any
    mutability: Mutability = "slow_changing"
    said_at: str | None = None
    valid_from: str | None = None
    valid_until: str | None = None
    intent: Intent | None = None
    sentence: Annotated[str, msgspec.Meta(min_length=1, max_length=SENTENCE_CHARACTERS_MAX)] | None = None
    reader: StableId | None = None
    session: StableId | None = None
    sources: Annotated[tuple[_SourceLine, ...], msgspec.Meta(max_length=SOURCES_MAX)] = ()


_STABLE_ID = "must be a namespace and a name, such as person:ada"
_FORMS: Final = {
    "schema": f"must be {SCHEMA}",
    "id": _STABLE_ID,
    "author": _STABLE_ID,
    "root": _STABLE_ID,
    "subject": _STABLE_ID,
    "reader": _STABLE_ID,
    "session": _STABLE_ID,
    "entity": _STABLE_ID,
    "class": f"must be one of {', '.join(WorkClass.__args__)}",  # type: ignore[attr-defined]  # a Literal has them
    "extract": f"must be one of {', '.join(Extract.__args__)}",  # type: ignore[attr-defined]  # a Literal has them
    "intent": f"must be one of {', '.join(Intent.__args__)}",  # type: ignore[attr-defined]  # a Literal has them
    "mutability": f"must be one of {', '.join(Mutability.__args__)}",  # type: ignore[attr-defined]  # a Literal has them
    "sourceType": f"must be one of {', '.join(SourceType.__args__)}",  # type: ignore[attr-defined]  # a Literal has them
    "key": "must be lowercase letters, digits, dots and dashes, at most 128",
    "domain": f"must be {GLOBAL}, or lowercase letters, digits, dots and dashes, at most 64",
    "title": f"must be a text of at most {TITLE_CHARACTERS_MAX} characters",
    "sentence": f"must be a text of 1 to {SENTENCE_CHARACTERS_MAX} characters",
    "reliability": f"must be a whole number from 0 to {RELIABILITY_MAX}",
    "peerReviewed": "must be true or false",
    "older": "must be true or false",
    "citations": "must be a whole number from 0 to 1000000",
    "hops": f"must be a whole number from 0 to {HOPS_MAX}",
    "verification": "must be a whole number of millionths, from 0 to 1000000",
    "sources": f"must be a list of at most {SOURCES_MAX} sources",
}
"""The rule that a field breaks whose value is not of its form."""


_GRADED_FIELDS: Final = ("domain", "intent", "reader", "sentence", "valid_from", "valid_until")
"""What a line of an older work cannot know."""

# -- reading ---------------------------------------------------------------------------------------------------


def read_work_file(content: bytes, progress: Progress = lambda _done, _all: None) -> WorkFile:
    """The work and every claim of a file, or nothing of it; ``progress`` is told lines done and lines in all.

    Raises:
        ClaimsFileError: the file is too large, or a line is not of its form.
        SecretShapedError: a line holds what looks like a secret.
        AuthorityShapedError: a name reads like a permission, a credential or a payment.
    """
    if len(content) > FILE_BYTES_MAX:
        message = f"the file must be at most {FILE_BYTES_MAX} bytes"
        raise ClaimsFileError(message)
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if not 2 <= len(lines) <= CLAIMS_IN_FILE_MAX + 1:
        message = f"the file must be one line for the work and 1 to {CLAIMS_IN_FILE_MAX} for its claims"
        raise ClaimsFileError(message)
    head = _Reader(1).read(lines[0], _WorkLine)
    work = Work(
        head.id,
        head.work_class,
        head.author,
        head.root,
        decide_verification(
            reliability=head.reliability, peer_reviewed=head.peer_reviewed, citations=head.citations
        ),
    )
    _Reader(1).check_texts(None, id=head.id, author=head.author, root=head.root)
    _Reader(1).time("saidAt", head.said_at)
    claims: dict[str, Claim] = {}
    for number, line in enumerate(lines[1:], start=2):
        reader = _Reader(number)
        claim = reader.claim(reader.read(line, _ClaimLine), head, work)
        if claim.id in claims:
            raise reader.refused("id", "must not be that of an earlier line")
        claims[claim.id] = claim
        if number % CLAIMS_MAX == 0:
            progress(number, len(lines))
    classified = sum(claim.classifier is not None for claim in claims.values())
    return WorkFile(work, tuple(claims.values()), classified)


class _Reader:
    """Reads one line; every refusal names it."""

    def __init__(self, number: int) -> None:
        self._number = number

    def refused(self, field: str | None, rule: str) -> ClaimsFileError:
        where = f"line {self._number}" if field is None else f"line {self._number}, field {field}"
        return ClaimsFileError(f"{where}: {rule}")

    def read(self, line: bytes, form: type[_Line]) -> _Line:
        if len(line) > LINE_BYTES_MAX:
            raise self.refused(None, f"must be at most {LINE_BYTES_MAX} bytes")
        try:
            found = strict_loads_with_floats(line)
        except MalformedError as error:
            raise self.refused(None, error.rule) from None
        if not isinstance(found, dict):
            raise self.refused(None, "must be a JSON object")
        try:
            return msgspec.convert(found, form)
        except msgspec.ValidationError as error:
            raise self._misformed(str(error)) from None

    def _misformed(self, said: str) -> ClaimsFileError:
        """What msgspec says, without what it quotes of the line: a missing field is one of ours."""
        rule, _, path = said.rpartition(" - at ") if " - at " in said else (said, "", "")
        place = path.strip("`").removeprefix("$").removeprefix(".")
        if rule.startswith("Object missing required field `"):
            field = rule.split("`")[1]
            return self.refused(f"{place}.{field}" if place else field, "is missing")
        if rule.startswith("Object contains unknown field"):
            return self.refused(place or None, "has a field that the format does not know")
        name = place.rpartition(".")[2]
        return self.refused(place or None, _FORMS.get(name, "is not of its form"))

    def time(self, field: str, text: str | None) -> int | None:
        if text is None:
            return None
        try:
            at_ms = parse_utc(text)
        except (ValueError, OverflowError):
            at_ms = -1
        if at_ms < 0:
            raise self.refused(field, "must be a UTC time from 1970 on, such as 2026-08-20T10:00:00Z")
        return at_ms

    def claim(self, line: _ClaimLine, head: _WorkLine, work: Work) -> Claim:
        self._check_fields(line, head)
        value = self._value(line.value)
        said_at = self.time("saidAt", head.said_at if line.said_at is None else line.said_at)
        if said_at is None:
            raise self.refused("saidAt", "is missing, here and in the line of the work")
        if head.older:
            return self._checked(line, work, self._filled_up(line, head, value, said_at))
        intent, classifier = _meant(line)
        in_conversation = work.work_class == "conversation" and work.root is None
        made = make_claim(
            # Where a talk has no root of its own, each session of it is one witness (G21, G26).
            work._replace(root=line.session) if in_conversation else work,
            Extracted(
                id=line.id,
                extract=line.extract,
                subject=line.subject or work.id,
                key=line.key,
                domain=line.domain or head.domain,
                value=value,
                mutability=line.mutability,
                said_at=said_at,
                intent=intent,
                reader=line.reader,
                session=line.session,
            ),
        )
        claim = msgspec.structs.replace(
            made,
            sources=tuple(map(_source, line.sources)) or made.sources,
            valid_from=self.time("validFrom", line.valid_from),
            valid_until=self.time("validUntil", line.valid_until),
            classifier=classifier,
        )
        return self._checked(line, work, claim)

    def _filled_up(self, line: _ClaimLine, head: _WorkLine, value: str, said_at: int) -> Claim:
        """A fact that was recorded before there were grades (G26)."""
        given = {name for name in _GRADED_FIELDS if getattr(line, name) is not None}
        if given or line.sources or line.extract != "statement" or line.mutability != "slow_changing":
            raise self.refused(
                None, "of an older work must be id, subject, key, value, saidAt and session alone"
            )
        fact = OlderFact(
            id=line.id,
            subject=line.subject or "",
            key=line.key,
            value=value,
            said_at=said_at,
            entity=head.author,
            session=line.session,
        )
        return fill_up(fact)

    def _checked(self, line: _ClaimLine, work: Work, claim: Claim) -> Claim:
        """A claim that its work can make, without a secret and without a name of authority."""
        said_by = {
            f"sources[{number}].{name}": text
            for number, source in enumerate(line.sources)
            for name, text in (("entity", source.entity), ("session", source.session), ("root", source.root))
        }
        self.check_texts(
            line.value,
            id=line.id,
            subject=line.subject,
            key=line.key,
            reader=line.reader,
            session=line.session,
            **said_by,
        )
        self._check_names(line)
        try:
            check_claims(ClaimsEntry(work.id, work.work_class, work.author, (claim,)))
        except MalformedError as error:
            raise self.refused(None, error.rule) from None
        return claim

    def _check_fields(self, line: _ClaimLine, head: _WorkLine) -> None:
        """What the fields of a line may say beside each other."""
        if (line.extract == "statement") == (line.subject is None):
            raise self.refused("subject", "must be there for a statement, and for nothing else")
        if (line.extract == "reaction") == (line.reader is None):
            raise self.refused("reader", "must be there for a reaction, and for nothing else")
        if line.sources and line.extract != "statement":
            raise self.refused("sources", "must be left out where it is the author or a reader who says it")
        if line.sentence is not None and head.work_class != "conversation":
            raise self.refused("sentence", "must be left out unless the work is a conversation")

    def _value(self, value: JSON) -> str:
        try:
            return canonical_bytes_with_floats(value).decode()
        except MalformedError as error:
            raise self.refused("value", error.rule) from None

    def check_texts(self, value: JSON, **texts: str | None) -> None:
        """Refuse what looks like a secret, wherever it stands (W29)."""
        given = {name: text for name, text in texts.items() if text is not None}
        family = find_secret_in(value, *given.values())
        if family is None:
            return
        field = next((name for name, text in given.items() if find_secret(text) is not None), "value")
        message = (
            f"line {self._number}, field {field}: must hold no secret, and this looks like one ({family})"
        )
        raise SecretShapedError(message)

    def _check_names(self, line: _ClaimLine) -> None:
        """Refuse what reads like a permission, a credential or a payment (W62)."""
        place = find_authority(line.key, line.value)
        if place is not None:
            field = "key" if place == "predicate" else place
            message = (
                f"line {self._number}, field {field}: "
                "must not be named like a permission, a credential or a payment"
            )
            raise AuthorityShapedError(message)


def _meant(line: _ClaimLine) -> tuple[Intent, str | None]:
    """How a line is meant, and by which rules that was told, if it was: what somebody has said goes before them."""
    if line.intent is not None or line.sentence is None:
        return line.intent or "asserted", None
    return find_intent(line.sentence).intent, CLASSIFIER


def _source(line: _SourceLine) -> ClaimSource:
    nearest = 0 if line.source_type in {"self", "unstated"} else 1
    return ClaimSource(
        entity=line.entity,
        source_type=line.source_type,
        hops=nearest if line.hops is None else line.hops,
        session=line.session,
        verification=line.verification,
        root=line.root,
    )
