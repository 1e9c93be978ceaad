"""What an assertion about a user's message holds: the message itself, and a model's proposal of what it may mean.

Three closed values, those of the reference. The user's words stand in ``sourceText`` and nowhere else, as they were
written; a proposal holds a model's words and never a user's. None of them is established, says that anything is
done, or replaces anything (T38, T46, T47). Who may record which, and under which id, is checked here whenever one is
made or read. Pure.
"""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec

from sidecars.assertion import AssertionEntry, SessionRef, StableId
from sidecars.digest import Digest
from sidecars.event import EventId
from sidecars.identity import JSON, canonical_bytes
from sidecars.wire import DigestText
from timeline.statements import STATEMENT_BYTES_MAX, STEP_CHARACTERS_MAX, is_capturable, shows_something
from timeline.world.closed_value import broken, read_closed, read_moment
from timeline.world.errors import AssertionInvalidError

FEEDBACK_PREDICATE: Final = "task.user-feedback"
INTERPRETATION_PREDICATE: Final = "task.user-feedback-interpretation"

FEEDBACK_ID_PREFIX: Final = "assertion:user-feedback-"
INTERPRETATION_ID_PREFIX: Final = "assertion:user-feedback-interpretation-"
"""Ids with these beginnings are made by a capture and by nobody else."""

PROPOSAL_NAMESPACE: Final = "model-proposal"

QUESTION_CHARACTERS_MAX: Final = 300
"""Of a question (reference interface)."""

CANDIDATES_MAX: Final = 3
"""Messages of one continuation that one proposal may be about (T40)."""

_INTERPRETATION_ID_SCHEMA: Final = "timeline-user-feedback-interpretation-id/v1"
_INTERPRETATION_ID_HEX: Final = 24
_PROPOSAL_ID_HEX: Final = 32

_LINE_RULE: Final = "must be one printable line of 1 to {} characters, without space at its ends"

InterpretationKind = Literal[
    "next-step-correction", "completion-claim", "not-current-instruction", "ambiguous"
]

SourceDigest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Provider = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9-]{0,31}\Z")]


class UserFeedback(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """One message of the user, quoted; what it means is open (T38)."""

    schema: Literal["agentspine.timeline-user-feedback/v1"]
    source_text: str
    speaker_role: Literal["user"]
    source_provider: Provider
    source_digest: SourceDigest
    target_assertion_id: StableId
    interpretation_status: Literal["unresolved"]
    completion_verified: bool


class Interpretation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """A model's proposal of what the only message of a continuation means (T39, T46)."""

    schema: Literal["agentspine.timeline-user-feedback-interpretation/v1"]
    source_feedback_assertion_id: StableId
    target_assertion_id: StableId
    source_provider: Provider
    source_digest: SourceDigest
    model_provider: Provider
    interpretation_status: Literal["model-proposed"]
    interpretation_kind: InterpretationKind
    proposed_next_step_summary: str | None
    clarification_question: str | None
    replaced_next_step_id: StableId
    completion_verified: bool

    @property
    def feedback_ids(self) -> tuple[str, ...]:
        """The messages that it is about."""
        return (self.source_feedback_assertion_id,)


class SourceBinding(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """One message of several with all of its provenance (T41); ``message_ref`` is the event's id."""

    feedback_assertion_id: StableId
    event_id: EventId
    message_digest: DigestText
    source_provider: Provider
    source_digest: SourceDigest
    session_ref: SessionRef
    message_ref: EventId
    observed_at: str


class Clarification(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """A model's question about all the messages of a continuation, of which there are two or three (T40, T46)."""

    schema: Literal["agentspine.timeline-user-feedback-clarification/v2"]
    source_bindings: Annotated[
        tuple[SourceBinding, ...], msgspec.Meta(min_length=2, max_length=CANDIDATES_MAX)
    ]
    target_assertion_id: StableId
    model_provider: Provider
    interpretation_status: Literal["model-proposed"]
    clarification_question: str
    replaced_next_step_id: StableId
    completion_verified: bool

    @property
    def feedback_ids(self) -> tuple[str, ...]:
        """The messages that it is about, sorted."""
        return tuple(binding.feedback_assertion_id for binding in self.source_bindings)


Proposal = Interpretation | Clarification

_RULES: Final = {
    "schema": "must be that of its predicate",
    "speakerRole": "must be user",
    "sourceProvider": "must be a provider's name",
    "modelProvider": "must be a provider's name",
    "sourceDigest": "must be a SHA-256 in lower-case hex",
    "messageDigest": "must be a SHA-256 in unpadded base64url",
    "interpretationStatus": "must be unresolved in a quote, and model-proposed in a proposal",
    "interpretationKind": "must be next-step-correction, completion-claim, not-current-instruction or ambiguous",
    "sourceBindings": f"must be 2 to {CANDIDATES_MAX} messages",
    "eventId": "must be an event's id",
    "messageRef": "must be an event's id",
    "sessionRef": "must be `session-ref:` and 32 hex digits",
    "completionVerified": "must be false",
}
"""For the name of a field what it must be."""


# -- reading and writing ---------------------------------------------------------------------------------------


def parse_feedback(value: JSON) -> UserFeedback:
    """The quoted message that a value is.

    Raises:
        AssertionInvalidError: a field is missing, unknown or not of its form.
    """
    found = read_closed(value, UserFeedback, _RULES)
    if not is_capturable(found.source_text):
        raise broken(
            ".sourceText", f"must be one line of 1 to {STATEMENT_BYTES_MAX} bytes with nothing hidden"
        )
    _check_not_completed(completed=found.completion_verified)
    return found


def parse_proposal(value: JSON) -> Proposal:
    """The proposal that a value is, of either form.

    Raises:
        AssertionInvalidError: a field is missing, unknown, not of its form, or does not fit another.
    """
    found: Proposal
    if isinstance(value, dict) and "sourceBindings" in value:
        found = read_closed(value, Clarification, _RULES)
        _check_bindings(found.source_bindings)
        if not is_line(found.clarification_question, QUESTION_CHARACTERS_MAX):
            raise broken(".clarificationQuestion", _LINE_RULE.format(QUESTION_CHARACTERS_MAX))
    else:
        found = read_closed(value, Interpretation, _RULES)
        rule = broken_kind_rule(
            found.interpretation_kind, found.proposed_next_step_summary, found.clarification_question
        )
        if rule is not None:
            raise broken(".interpretationKind", rule)
    _check_not_completed(completed=found.completion_verified)
    return found


def format_value(value: UserFeedback | Proposal) -> JSON:
    """A value as it stands in an assertion."""
    found: JSON = msgspec.json.decode(msgspec.json.encode(value))
    return found


def is_line(text: str, characters_max: int) -> bool:
    """Whether a model's text is such as a step's summary can be: one printable line, within its bound."""
    is_line = text.isprintable() and text == text.strip() and shows_something(text)
    return is_line and len(text) <= characters_max


def broken_kind_rule(kind: InterpretationKind, summary: str | None, question: str | None) -> str | None:
    """The rule between a kind and its two texts that is broken; nothing if none is."""
    if (summary is not None) != (kind == "next-step-correction"):
        return "a next step is proposed by next-step-correction, and by no other kind"
    if (question is not None) != (kind == "ambiguous"):
        return "a question is asked by ambiguous, and by no other kind"
    if summary is not None and not is_line(summary, STEP_CHARACTERS_MAX):
        return "the proposed next step " + _LINE_RULE.format(STEP_CHARACTERS_MAX)
    if question is not None and not is_line(question, QUESTION_CHARACTERS_MAX):
        return "the question " + _LINE_RULE.format(QUESTION_CHARACTERS_MAX)
    return None


# -- identities ------------------------------------------------------------------------------------------------


def interpretation_id(feedback_ids: Sequence[str], target: str) -> str:
    """The one id of a proposal about this set of messages and this continuation (T44, T45)."""
    identity = canonical_bytes(
        {
            "schema": _INTERPRETATION_ID_SCHEMA,
            "feedbackAssertionIds": [*sorted(feedback_ids)],
            "targetAssertionId": target,
        }
    )
    return INTERPRETATION_ID_PREFIX + hashlib.sha256(identity).hexdigest()[:_INTERPRETATION_ID_HEX]


def proposal_digest(proposal: Proposal) -> Digest:
    """The digest of what was proposed about what: neither of which model said it, nor in which session, nor when.

    So the same words after a restart are the same proposal, and other words are another one.
    """
    words = msgspec.to_builtins(proposal)
    del words["modelProvider"]
    return Digest.of(canonical_bytes(words))


def proposal_evidence_id(digest: Digest) -> str:
    """The id of a model's words as evidence: the beginning of their digest."""
    return f"{PROPOSAL_NAMESPACE}:{digest.hex()[:_PROPOSAL_ID_HEX]}"


# -- the rules of the assertion around a value -----------------------------------------------------------------


def check_user_feedback(entry: AssertionEntry, value: JSON) -> None:
    """Return only if an assertion about a user's message is one of the two forms, or if it is about none.

    What was imported is never one of them, and is read as the bare value that it is (W27).

    Raises:
        AssertionInvalidError: it breaks a rule of its form.
    """
    if entry.recorder == "import":
        return
    is_quote = entry.predicate == FEEDBACK_PREDICATE
    is_proposal = entry.predicate == INTERPRETATION_PREDICATE
    if is_quote != (entry.evidence_kind == "uninterpreted-user-message"):
        raise _refused("evidenceKind", f"an uninterpreted user message is a {FEEDBACK_PREDICATE}")
    if entry.id.startswith(FEEDBACK_ID_PREFIX) and not (is_quote or is_proposal):
        raise _refused("id", "ids of this form are those of captured user messages")
    if is_quote:
        _check_around(entry)
        _check_quote(entry, value)
    elif is_proposal:
        _check_around(entry)
        _check_proposal(entry, value)


def _check_quote(entry: AssertionEntry, value: JSON) -> None:
    parse_feedback(value)
    if not entry.id.startswith(FEEDBACK_ID_PREFIX) or entry.id.startswith(INTERPRETATION_ID_PREFIX):
        raise _refused("id", f"must begin with {FEEDBACK_ID_PREFIX}")
    if entry.message != entry.evidence_id:
        raise _refused("messageRef", "must be the event that is the evidence")


def _check_proposal(entry: AssertionEntry, value: JSON) -> None:
    proposal = parse_proposal(value)
    if entry.evidence_kind != "model-suggestion":
        raise _refused("evidenceKind", "an interpretation is a model's suggestion")
    if entry.id != interpretation_id(proposal.feedback_ids, proposal.target_assertion_id):
        raise _refused("id", "must be the one id of a proposal about these messages and this continuation")
    if entry.evidence_digest != str(proposal_digest(proposal)):
        raise _refused("evidenceDigest", "must be that of the proposal")


def _check_around(entry: AssertionEntry) -> None:
    if entry.privacy != "private":
        raise _refused("privacy", "must be private")
    if entry.knowledge != "task-state":
        raise _refused("knowledgeKind", "must be task-state")
    if entry.portal is None:
        raise _refused("portalRef", "a route is required")
    if entry.session is None:
        raise _refused("sessionRef", "session and message are required")
    if entry.expires_at is not None:
        raise _refused("expiresAt", "must be absent")


def _check_bindings(bindings: Sequence[SourceBinding]) -> None:
    ids = [binding.feedback_assertion_id for binding in bindings]
    if ids != sorted(set(ids)):
        raise broken(".sourceBindings", "must be sorted by the message's assertion and unique")
    for number, binding in enumerate(bindings):
        place = f".sourceBindings[{number}]"
        if binding.message_ref != binding.event_id:
            raise broken(f"{place}.messageRef", "must be the event's id")
        read_moment(f"{place}.observedAt", binding.observed_at)


def _check_not_completed(*, completed: bool) -> None:
    if completed:
        raise broken(".completionVerified", "must be false: no words verify that something is done")


def _refused(field: str, rule: str) -> AssertionInvalidError:
    return AssertionInvalidError(f"field {field}: {rule}")
