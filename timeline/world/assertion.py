"""An assertion as the world model reads it: the signed entry, its place in the log, and its value.

``entry`` holds all that is signed; ``value`` is what its text says, read once. ``make_entry`` is the one way to a new
one, ``read_assertion`` the one way from the log: both apply the same rules, so that nothing can be persisted by hand
that could not be recorded (W29, W62, W65). Pure.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from sidecars.assertion import (
    AssertionEntry,
    DerivationEntry,
    EvidenceKind,
    KnowledgeKind,
    Privacy,
    Recorder,
    check_assertion,
)
from sidecars.digest import Digest
from sidecars.errors import SidecarError
from sidecars.identity import JSON, canonical_bytes_with_floats, strict_loads_with_floats
from timeline.world.continuation import CONTINUATION_PREDICATE, check_continuation
from timeline.world.errors import (
    AssertionInvalidError,
    AuthorityShapedError,
    SecretShapedError,
    WorldError,
    WorldStateError,
)
from timeline.world.feedback_value import check_user_feedback
from timeline.world.kinds import check_knowledge
from timeline.world.names import find_authority
from timeline.world.outcome_contract import CONTRACT_PREDICATE, check_contract
from timeline.world.secrets import find_secret, find_secret_in

NAMESPACE: Final = "assertion"

_DECODER: Final = msgspec.json.Decoder(AssertionEntry)


class Evidence(msgspec.Struct, frozen=True):
    """On what an assertion rests: its kind, a stable id, the SHA-256 of its bytes, and when it was observed (ms)."""

    kind: EvidenceKind
    id: str
    digest: Digest
    observed_at: int


class RouteRefs(msgspec.Struct, frozen=True):
    """The opaque references of a portal and a thread (W47); they reveal no raw id and grant nothing."""

    portal: str
    thread: str


class Scope(msgspec.Struct, frozen=True):
    """For whom an assertion is: ``project`` is a canonical path or ``None`` for all projects of this timeline."""

    tenant: str
    user: str
    project: str | None = None
    privacy: Privacy = "private"
    group: str | None = None
    route: RouteRefs | None = None


class Origin(msgspec.Struct, frozen=True):
    """Where a piece of knowledge came from: opaque references of a session and a message (W22)."""

    session: str
    message: str


class Use(msgspec.Struct, frozen=True):
    """From when (UTC milliseconds) and for what an assertion may be used, and of which person it speaks (P33, P49)."""

    starts_at: int | None = None
    purposes: tuple[str, ...] = ()
    about: str | None = None


ANY_USE: Final = Use()


class Assertion(msgspec.Struct, frozen=True):
    """One recorded assertion: its leaf, when it was recorded (UTC milliseconds), its entry and its value."""

    leaf: int
    recorded_at: int
    entry: AssertionEntry
    value: JSON

    @property
    def id(self) -> str:
        """Its stable id."""
        return self.entry.id

    @property
    def order(self) -> tuple[int, int]:
        """Older before newer: by observation, and at one instant by the order of the log (W8)."""
        return (self.entry.observed_at, self.leaf)

    def is_stale(self, now_ms: int) -> bool:
        """Whether it does not hold now: it has expired, at the very instant of its expiry too (W14), or not begun."""
        entry = self.entry
        has_ended = entry.expires_at is not None and entry.expires_at <= now_ms
        return has_ended or (entry.starts_at is not None and now_ms < entry.starts_at)

    @property
    def value_digest(self) -> str:
        """The identity of the value: 1 and 1.0, and any order of keys, are the same (hole g)."""
        return value_digest(self.entry.value)


def value_digest(text: str) -> str:
    """The SHA-256 of a value's RFC 8785 text, as digests are spelled."""
    return str(Digest(hashlib.sha256(text.encode()).digest()))


def canonical_text(value: JSON) -> str:
    """The RFC 8785 text of a value.

    Raises:
        AssertionInvalidError: it has none.
    """
    try:
        return canonical_bytes_with_floats(value).decode()
    except SidecarError as error:
        message = f"field value: {error.rule}"
        raise AssertionInvalidError(message) from error


def make_entry(  # noqa: PLR0913  # each is a field of its own (W2), given by name
    *,
    id: str,  # noqa: A002  # the field's name in the interface
    recorder: Recorder,
    subject: str,
    predicate: str,
    value: JSON,
    evidence: Evidence,
    scope: Scope,
    expires_at: int | None = None,
    knowledge: KnowledgeKind | None = None,
    origin: Origin | None = None,
    supersedes: tuple[str, ...] = (),
    reason: str | None = None,
    use: Use = ANY_USE,
    derivation: DerivationEntry | None = None,
) -> AssertionEntry:
    """A new assertion, checked against every rule that it has to keep alone.

    Raises:
        AssertionInvalidError: a field is missing or not of its form.
        AuthorityShapedError, SecretShapedError: it holds what the world model never does.
    """
    route = scope.route
    entry = AssertionEntry(
        id=id,
        recorder=recorder,
        subject=subject,
        predicate=predicate,
        value=canonical_text(value),
        evidence_kind=evidence.kind,
        evidence_id=evidence.id,
        evidence_digest=str(evidence.digest),
        observed_at=evidence.observed_at,
        tenant=scope.tenant,
        user=scope.user,
        privacy=scope.privacy,
        project=scope.project,
        group=scope.group,
        portal=None if route is None else route.portal,
        thread=None if route is None else route.thread,
        expires_at=expires_at,
        knowledge=knowledge,
        session=None if origin is None else origin.session,
        message=None if origin is None else origin.message,
        supersedes=tuple(sorted(set(supersedes))),
        reason=reason,
        starts_at=use.starts_at,
        purposes=tuple(sorted(set(use.purposes))),
        about=use.about,
        derivation=derivation,
    )
    _check_form(entry)
    check_meaning(entry, _read_again(entry.value))
    return entry


def read_assertion(leaf: int, recorded_at: int, entry: AssertionEntry) -> Assertion:
    """A recorded assertion, checked as when it was made.

    Raises:
        WorldStateError: it is against a rule (W65).
    """
    try:
        value = strict_loads_with_floats(entry.value.encode())
        if canonical_text(value) != entry.value:
            message = f"leaf {leaf}: field value: must be in RFC 8785 form"
            raise WorldStateError(message)
        check_meaning(entry, value)
    except SidecarError as error:
        message = f"leaf {leaf}: field value: {error.rule}"
        raise WorldStateError(message) from error
    except WorldError as error:
        message = f"leaf {leaf}: {error.message}"
        raise WorldStateError(message) from error
    return Assertion(leaf, recorded_at, entry, value)


def check_meaning(entry: AssertionEntry, value: JSON) -> None:
    """The rules about what an assertion may say, beyond its form.

    Raises:
        AssertionInvalidError, AuthorityShapedError, SecretShapedError: it breaks one.
    """
    _check_filters(entry, value)
    check_knowledge(entry)
    check_user_feedback(entry, value)
    if entry.predicate == CONTINUATION_PREDICATE:
        check_continuation(entry, value)
    if entry.predicate == CONTRACT_PREDICATE:
        check_contract(entry, value)


def _check_filters(entry: AssertionEntry, value: JSON) -> None:
    """Refuse secrets and names of authority in every assertion, of a kind of knowledge or not (W29, W62, hole e)."""
    texts = dict(_texts_of(entry))
    # Secrets first: the message about a key shows it, and must not show one.
    family = find_secret_in(value, *texts.values())
    if family is not None:
        field = next((name for name, text in texts.items() if find_secret(text) is not None), "value")
        message = f"field {field}: must hold no secret, and this looks like one ({family})"
        raise SecretShapedError(message)
    place = find_authority(entry.predicate, value)
    if place is not None:
        message = f"field {place}: must not be named like a permission, a credential or a payment"
        raise AuthorityShapedError(message)


def _texts_of(entry: AssertionEntry) -> Iterator[tuple[str, str]]:
    """The fields beside the value in which whoever records may write what he likes."""
    for field in ("reason", "id", "subject", "predicate", "evidence_id", "message", "group", "about"):
        text = getattr(entry, field)
        if text is not None:
            yield field, text


def _read_again(text: str) -> JSON:
    """The value as every later reader finds it; 2**53 as a fraction has a text that none of them takes."""
    try:
        return strict_loads_with_floats(text.encode())
    except SidecarError as error:
        message = f"field value: {error.rule}"
        raise AssertionInvalidError(message) from error


def _check_form(entry: AssertionEntry) -> None:
    try:
        _DECODER.decode(msgspec.json.encode(entry))
        check_assertion(entry)
    except msgspec.ValidationError as error:
        _, found, path = str(error).rpartition(" - at ")
        message = (
            f"field {path.removeprefix('$.').strip('`$.') if found else 'of an assertion'}: not of its form"
        )
        raise AssertionInvalidError(message) from None
    except (UnicodeEncodeError, SidecarError) as error:
        rule = error.rule if isinstance(error, SidecarError) else "must hold no lone surrogates"
        raise AssertionInvalidError(rule) from error


def fields_of(value: JSON) -> dict[str, Any]:
    """The members of a value that is an object; empty for any other."""
    return dict(value) if isinstance(value, dict) else {}
