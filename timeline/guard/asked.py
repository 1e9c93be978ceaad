"""What the tools of the world model are asked, as data: a suggestion, a view, an interpretation. Pure.

Only form and bounds are checked here. Whether something may be said or seen is decided where it is, and nothing in the
guard depends on what is remembered (W63).
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from sidecars.assertion import (
    ALTERNATIVES_MAX,
    DEPENDENCIES_MAX,
    PURPOSES_MAX,
    REASON_CHARACTERS_MAX,
    VALUE_BYTES_MAX,
    DerivedRole,
    KnowledgeKind,
)
from sidecars.identity import JSON
from timeline.guard.errors import GroupSuppressedError, RequestError
from timeline.guard.fields import (
    read_flag,
    read_integer,
    read_json,
    read_optional_text,
    read_text,
    read_time,
    read_word,
    refuse_unknown,
)
from timeline.limits import (
    INTERPRETATION_BYTES_MAX,
    PREDICATE_CHARACTERS_MAX,
    STABLE_ID_CHARACTERS_MAX,
    WORLD_ITEMS_DEFAULT,
    WORLD_ITEMS_MAX,
)

_WORD_CHARACTERS: Final = 64
_PURPOSE_CHARACTERS: Final = 32
_HEX_DIGITS: Final = 64
KNOWLEDGE_KINDS: Final = ("fact", "user-preference", "decision", "task-state", "error-lesson")
DERIVED_ROLES: Final = ("memory-interpretation", "probabilistic-interpretation", "hypothesis")
"""As what a model may derive something; an observation or the user's word it never can (P15, P46)."""

_DERIVATION_FIELDS: Final = frozenset({"role", "rule", "alternatives"})
_RULE: Final = "rule.model"
"""The rule by which a model derives, where it names none."""

PRIVACIES: Final = ("private", "shared")
"""Whom a suggestion may be for; nothing is recorded for a group."""

SUGGESTION_FIELDS: Final = frozenset(
    {
        *(
            "id",
            "subjectId",
            "predicate",
            "value",
            "evidenceKind",
            "evidenceId",
            "evidenceDigest",
            "observedAt",
        ),
        *("expiresAt", "knowledgeKind", "privacy", "reason", "supersedes"),
        *("startsAt", "purposes", "about", "derivation"),
    }
)
VIEW_FIELDS: Final = frozenset(
    {"subjectId", "includePrivate", "includeKnowledgeHistory", "continuationTaskId", "maxItems"}
)
INTERPRETATION_FIELDS: Final = frozenset(
    {
        *("schema", "feedbackAssertionId", "feedbackAssertionIds", "targetAssertionId", "kind"),
        *("proposedNextStepSummary", "clarificationQuestion"),
    }
)
"""Those of both requests; which of them belong together is the schema's matter."""


class DerivationAsked(msgspec.Struct, frozen=True):
    """From what a model says that its suggestion follows: the ids of each of ``alternatives`` suffice together."""

    role: DerivedRole
    rule: str
    alternatives: tuple[tuple[str, ...], ...]

    def fields(self) -> JSON:
        """The fields by their names in the interface."""
        return {
            "role": self.role,
            "rule": self.rule,
            "alternatives": [list(one) for one in self.alternatives],
        }


class SuggestionAsked(msgspec.Struct, frozen=True):
    """An assertion that a model wants recorded; times in UTC milliseconds, ``evidence_digest`` in hex.

    What is ``None`` was not given, and comes from the call itself.
    """

    id: str
    subject: str
    predicate: str
    value: JSON
    evidence_kind: str
    evidence_id: str | None
    evidence_digest: str | None
    observed_at: int | None
    expires_at: int | None
    knowledge: KnowledgeKind | None
    privacy: Literal["private", "shared"]
    reason: str | None
    starts_at: int | None = None
    purposes: tuple[str, ...] = ()
    about: str | None = None
    derivation: DerivationAsked | None = None

    def fields(self) -> dict[str, JSON]:
        """The fields by their names in the interface."""
        return {
            "id": self.id,
            "subjectId": self.subject,
            "predicate": self.predicate,
            "value": self.value,
            "evidenceKind": self.evidence_kind,
            "evidenceId": self.evidence_id,
            "evidenceDigest": self.evidence_digest,
            "observedAt": self.observed_at,
            "expiresAt": self.expires_at,
            "knowledgeKind": self.knowledge,
            "privacy": self.privacy,
            "reason": self.reason,
            "startsAt": self.starts_at,
            "purposes": list(self.purposes) or None,
            "about": self.about,
            "derivation": None if self.derivation is None else self.derivation.fields(),
        }


class ViewAsked(msgspec.Struct, frozen=True):
    """Which part of the world model is asked for; ``subject`` ``None`` asks for all that the session may see."""

    subject: str | None = None
    private: bool = False
    history: bool = False
    continuation_task: str | None = None
    items_max: int = WORLD_ITEMS_DEFAULT

    def fields(self) -> dict[str, JSON]:
        """The fields by their names in the interface."""
        return {
            "subjectId": self.subject,
            "includePrivate": self.private,
            "includeKnowledgeHistory": self.history,
            "continuationTaskId": self.continuation_task,
            "maxItems": self.items_max,
        }


def parse_suggestion(given: Mapping[str, object]) -> SuggestionAsked:
    """A suggestion from arguments without their scope.

    Raises:
        RequestError: a field is missing, of another type or outside its bounds, or it would replace something.
        GroupSuppressedError: it is to be for a group.
    """
    if given.get("privacy") == "group":
        message = "field privacy: a session records nothing for a group"
        raise GroupSuppressedError(message)
    if given.get("supersedes") not in (None, [], ()):
        message = "field supersedes: a suggestion replaces nothing"
        raise RequestError(message)
    digest = read_optional_text(given, "evidenceDigest", _HEX_DIGITS)
    if digest is not None and (len(digest) != _HEX_DIGITS or not set(digest) <= set("0123456789abcdef")):
        message = "field evidenceDigest: must be 64 lower-case hex digits"
        raise RequestError(message)
    return SuggestionAsked(
        id=read_text(given, "id", STABLE_ID_CHARACTERS_MAX),
        subject=read_text(given, "subjectId", STABLE_ID_CHARACTERS_MAX),
        predicate=read_text(given, "predicate", PREDICATE_CHARACTERS_MAX),
        value=read_json(given, "value", VALUE_BYTES_MAX),
        evidence_kind=read_text(given, "evidenceKind", _WORD_CHARACTERS),
        evidence_id=read_optional_text(given, "evidenceId", STABLE_ID_CHARACTERS_MAX),
        evidence_digest=digest,
        observed_at=read_time(given, "observedAt"),
        expires_at=read_time(given, "expiresAt"),
        knowledge=read_word(given, "knowledgeKind", KNOWLEDGE_KINDS, None),  # type: ignore[arg-type]  # its words
        privacy=read_word(given, "privacy", PRIVACIES, "private"),  # type: ignore[arg-type]  # as above
        reason=read_optional_text(given, "reason", REASON_CHARACTERS_MAX),
        starts_at=read_time(given, "startsAt"),
        purposes=_read_purposes(given, "purposes"),
        about=read_optional_text(given, "about", STABLE_ID_CHARACTERS_MAX),
        derivation=_parse_derivation(given),
    )


def _parse_derivation(given: Mapping[str, object]) -> DerivationAsked | None:
    found = given.get("derivation")
    if found is None:
        return None
    if not isinstance(found, Mapping):
        message = "field derivation: must be an object"
        raise RequestError(message)
    refuse_unknown("derivation", (str(name) for name in found), _DERIVATION_FIELDS)
    role = read_word(found, "role", DERIVED_ROLES, None)
    if role is None:
        message = f"field role: must be one of {', '.join(DERIVED_ROLES)}"
        raise RequestError(message)
    return DerivationAsked(
        role=role,  # type: ignore[arg-type]  # one of its words
        rule=read_optional_text(found, "rule", PREDICATE_CHARACTERS_MAX) or _RULE,
        alternatives=_read_alternatives(found, "alternatives"),
    )


def _read_purposes(given: Mapping[str, object], name: str) -> tuple[str, ...]:
    """Different short words in their order; none where the field is absent."""
    value = given.get(name)
    if value is None:
        return ()
    words = _texts(value, PURPOSES_MAX, _PURPOSE_CHARACTERS)
    if not words:
        message = f"field {name}: must be 1 to {PURPOSES_MAX} words"
        raise RequestError(message)
    return tuple(sorted(set(words)))


def _read_alternatives(given: Mapping[str, object], name: str) -> tuple[tuple[str, ...], ...]:
    """Lists of ids, each of which suffices."""
    value = given.get(name)
    found = (
        [_texts(family, DEPENDENCIES_MAX, STABLE_ID_CHARACTERS_MAX) for family in value]
        if isinstance(value, Sequence) and not isinstance(value, str)
        else []
    )
    if not 1 <= len(found) <= ALTERNATIVES_MAX or not all(found):
        message = f"field {name}: must be 1 to {ALTERNATIVES_MAX} lists of 1 to {DEPENDENCIES_MAX} ids of assertions"
        raise RequestError(message)
    return tuple(sorted({tuple(sorted(set(family))) for family in found}))


def _texts(value: object, most: int, characters_max: int) -> tuple[str, ...]:
    """The texts of a list; nothing where it is none, or has too many or too long ones."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > most:
        return ()
    texts = tuple(one for one in value if isinstance(one, str) and 0 < len(one) <= characters_max)
    return texts if len(texts) == len(value) and all(one.isprintable() for one in texts) else ()


def parse_view(given: Mapping[str, object]) -> ViewAsked:
    """A view from arguments without their scope.

    Raises:
        RequestError: a field is of another type or outside its bounds.
    """
    return ViewAsked(
        subject=read_optional_text(given, "subjectId", STABLE_ID_CHARACTERS_MAX),
        private=read_flag(given, "includePrivate"),
        history=read_flag(given, "includeKnowledgeHistory"),
        continuation_task=read_optional_text(given, "continuationTaskId", STABLE_ID_CHARACTERS_MAX),
        items_max=read_integer(given, "maxItems", WORLD_ITEMS_DEFAULT, 1, WORLD_ITEMS_MAX),
    )


def parse_interpretation(given: Mapping[str, object]) -> dict[str, JSON] | None:
    """The interpretation of a capture, whole, ``null`` fields included; ``None`` where none is given.

    Raises:
        RequestError: it is no object of these fields, or too large.
    """
    found = given.get("interpretation")
    if found is None:
        return None
    if not isinstance(found, Mapping):
        message = "field interpretation: must be an object"
        raise RequestError(message)
    refuse_unknown("interpretation", (str(name) for name in found), INTERPRETATION_FIELDS)
    read_json(given, "interpretation", INTERPRETATION_BYTES_MAX)
    return dict(found)
