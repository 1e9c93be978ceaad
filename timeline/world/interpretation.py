"""What a model may propose about a user's quoted words: a meaning for one message, a question about two or three. Pure.

A proposal is about all messages that are linked to the current continuation at once, and is taken only while each of
them stands in its registered source as it was quoted (T39 to T43). It is a suggestion for ever and moves nothing
(T46, T47). About one set of messages there is one: the same words are that one again, whichever model says them in
whichever session (T44); other words are refused (T45).
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

import msgspec

from sidecars.assertion import AssertionEntry, StableId
from timeline.clock import format_utc
from timeline.world.assertion import Assertion, Evidence, Origin, make_entry
from timeline.world.continuation import parse_continuation
from timeline.world.feedback import (
    AMBIGUOUS_SET,
    CONFLICTED,
    INTERPRETATION_INVALID,
    SOURCE_MISMATCH,
    TARGET_UNRESOLVED,
    TASK_COMPLETED,
    Candidate,
    UserMessage,
    active_candidates,
)
from timeline.world.feedback_value import (
    CANDIDATES_MAX,
    INTERPRETATION_PREDICATE,
    QUESTION_CHARACTERS_MAX,
    Clarification,
    Interpretation,
    InterpretationKind,
    Proposal,
    SourceBinding,
    broken_kind_rule,
    format_value,
    interpretation_id,
    is_line,
    parse_proposal,
    proposal_digest,
    proposal_evidence_id,
)
from timeline.world.task_state import Refused, TaskState

INTERPRETATION_REQUEST: Final = "agentspine.timeline-user-feedback-interpretation-request/v1"
CLARIFICATION_REQUEST: Final = "agentspine.timeline-user-feedback-clarification-request/v2"


class Model(msgspec.Struct, frozen=True):
    """Which model proposes: its host, and the opaque reference of its session."""

    provider: str
    session: str


class InterpretationRequest(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True
):
    """What a model proposes about the only open message (T39)."""

    schema: Literal["agentspine.timeline-user-feedback-interpretation-request/v1"]
    feedback_assertion_id: StableId
    target_assertion_id: StableId
    kind: InterpretationKind
    proposed_next_step_summary: str | None
    clarification_question: str | None

    @property
    def feedback_ids(self) -> tuple[str, ...]:
        """The messages that it is about."""
        return (self.feedback_assertion_id,)


class ClarificationRequest(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True
):
    """What a model asks about two or three open messages (T40)."""

    schema: Literal["agentspine.timeline-user-feedback-clarification-request/v2"]
    feedback_assertion_ids: Annotated[
        tuple[StableId, ...], msgspec.Meta(min_length=2, max_length=CANDIDATES_MAX)
    ]
    target_assertion_id: StableId
    clarification_question: str

    @property
    def feedback_ids(self) -> tuple[str, ...]:
        """The messages that it is about, sorted."""
        return self.feedback_assertion_ids


Request = InterpretationRequest | ClarificationRequest


# -- proposals -------------------------------------------------------------------------------------------------


def parse_request(value: object) -> Request | Refused:
    """What a model asks to have recorded, of either form, or why it is neither."""
    found: Request
    try:
        if isinstance(value, Mapping) and value.get("schema") == CLARIFICATION_REQUEST:
            found = msgspec.convert(value, ClarificationRequest)
            ids = list(found.feedback_assertion_ids)
            is_good = ids == sorted(set(ids)) and is_line(
                found.clarification_question, QUESTION_CHARACTERS_MAX
            )
        else:
            found = msgspec.convert(value, InterpretationRequest)
            texts = (found.proposed_next_step_summary, found.clarification_question)
            is_good = broken_kind_rule(found.kind, *texts) is None
    except msgspec.ValidationError:
        is_good = False
    return found if is_good else Refused(INTERPRETATION_INVALID)


def interpret(
    state: TaskState,
    request: Request,
    model: Model,
    *,
    assertions: Sequence[Assertion],
    verified: Sequence[UserMessage],
    now_ms: int,
) -> AssertionEntry | Refused:
    """The entry of a model's proposal, or of the one that says the same already (T39 to T46).

    ``assertions`` are all about the task. ``verified`` are the messages of the candidates, each re-derived from its
    registered source just now (T42); one that could not be is left out.

    Raises:
        SecretShapedError, AuthorityShapedError: the words hold what the world model never does.
    """
    continuation = state.continuations.sole
    if continuation is None:
        return Refused(TARGET_UNRESOLVED)
    candidates = active_candidates(assertions, continuation)
    ids = sorted(candidate.assertion.id for candidate in candidates)
    if request.target_assertion_id != continuation.id or not set(request.feedback_ids) <= set(ids):
        return Refused(INTERPRETATION_INVALID)
    replaced = parse_continuation(continuation.value).next_step
    if replaced is None:
        return Refused(TASK_COMPLETED)
    if list(request.feedback_ids) != ids:
        return Refused(AMBIGUOUS_SET)
    messages = {message.event_id: message for message in verified}
    if not all(_stands(candidate, messages) for candidate in candidates):
        return Refused(SOURCE_MISMATCH)
    proposal = _proposal(request, candidates, model, replaced.id)
    return _recorded_or_new(state, proposal, model, assertions, now_ms)


def current_proposal(
    assertions: Sequence[Assertion], candidates: Sequence[Candidate]
) -> tuple[Assertion, Proposal] | None:
    """The proposal about exactly these messages, if there is one; about a smaller or larger set there may be others."""
    if not candidates:
        return None
    target = candidates[0].feedback.target_assertion_id
    id_ = interpretation_id([candidate.assertion.id for candidate in candidates], target)
    for assertion in assertions:
        if assertion.id == id_ and assertion.entry.recorder == "model":
            return assertion, parse_proposal(assertion.value)
    return None


def _recorded_or_new(
    state: TaskState, proposal: Proposal, model: Model, assertions: Sequence[Assertion], now_ms: int
) -> AssertionEntry | Refused:
    id_ = interpretation_id(proposal.feedback_ids, proposal.target_assertion_id)
    digest = proposal_digest(proposal)
    for known in assertions:
        if known.id == id_:
            is_same = known.entry.recorder == "model" and known.entry.evidence_digest == str(digest)
            return known.entry if is_same else Refused(CONFLICTED)
    evidence_id = proposal_evidence_id(digest)
    return make_entry(
        id=id_,
        recorder="model",
        subject=state.task,
        predicate=INTERPRETATION_PREDICATE,
        value=format_value(proposal),
        evidence=Evidence("model-suggestion", evidence_id, digest, now_ms),
        scope=state.scope,
        knowledge="task-state",
        origin=Origin(model.session, evidence_id),
    )


def _proposal(
    request: Request, candidates: Sequence[Candidate], model: Model, replaced_step: str
) -> Proposal:
    if isinstance(request, ClarificationRequest):
        return Clarification(
            schema="agentspine.timeline-user-feedback-clarification/v2",
            source_bindings=tuple(sorted(map(_binding, candidates), key=_binding_order)),
            target_assertion_id=request.target_assertion_id,
            model_provider=model.provider,
            interpretation_status="model-proposed",
            clarification_question=request.clarification_question,
            replaced_next_step_id=replaced_step,
            completion_verified=False,
        )
    (candidate,) = candidates
    return Interpretation(
        schema="agentspine.timeline-user-feedback-interpretation/v1",
        source_feedback_assertion_id=request.feedback_assertion_id,
        target_assertion_id=request.target_assertion_id,
        source_provider=candidate.feedback.source_provider,
        source_digest=candidate.feedback.source_digest,
        model_provider=model.provider,
        interpretation_status="model-proposed",
        interpretation_kind=request.kind,
        proposed_next_step_summary=request.proposed_next_step_summary,
        clarification_question=request.clarification_question,
        replaced_next_step_id=replaced_step,
        completion_verified=False,
    )


def _binding(candidate: Candidate) -> SourceBinding:
    entry = candidate.assertion.entry
    return SourceBinding(
        feedback_assertion_id=entry.id,
        event_id=entry.evidence_id,
        message_digest=entry.evidence_digest,
        source_provider=candidate.feedback.source_provider,
        source_digest=candidate.feedback.source_digest,
        session_ref=entry.session or "",  # every quote has one; without, the value would be refused
        message_ref=entry.evidence_id,
        observed_at=format_utc(entry.observed_at),
    )


def _binding_order(binding: SourceBinding) -> str:
    return binding.feedback_assertion_id


def _stands(candidate: Candidate, messages: Mapping[str, UserMessage]) -> bool:
    """Whether a quoted message is in its registered source, byte for byte, where and when it was (T42)."""
    entry, feedback = candidate.assertion.entry, candidate.feedback
    message = messages.get(entry.evidence_id)
    return message is not None and (
        str(message.digest) == entry.evidence_digest
        and message.observed_at == entry.observed_at
        and message.session == entry.session
        and message.provider == feedback.source_provider
        and message.source_digest == feedback.source_digest
        and message.text == feedback.source_text
    )
