"""What an agent is reminded of before it answers: ``agentspine.pre-answer-recall/v1`` (T48). Pure.

A packet is made of recorded assertions alone, so that a restart and a compaction lose nothing of it, and no
transcript is read for it. It says where the task stands, quotes what the user has said since, and shows what a model
has proposed about that. Each kind of words has its own place: the user's stand in ``sourceText`` and nowhere else, a
model's in ``modelInterpretation`` or ``modelClarification`` with the status ``model-proposed``, and neither is a
fact, an order or a permission.

How it is fitted into a host's field: ``timeline.world.recall_form``.
"""

from collections.abc import Sequence
from typing import Any, Final

from timeline.clock import format_utc
from timeline.world.assertion import Assertion
from timeline.world.capsules import Capsule
from timeline.world.feedback import Candidate, active_candidates
from timeline.world.feedback_value import CANDIDATES_MAX, Interpretation, Proposal
from timeline.world.interpretation import current_proposal
from timeline.world.presentation import AUTHORITY, format_legacy, format_scope

RECALL_SCHEMA: Final = "agentspine.pre-answer-recall/v1"
ORDER: Final = "review-before-claims-and-actions"

FACTS_MAX: Final = 3
"""Facts in one packet; `world_context` gives the others."""

CORRECTED_STEP_ID_PREFIX: Final = "step:user-correction-"
"""Of a next step that a captured correction of the user has set; a measurement that fails keeps it."""


def recall_packet(
    capsule: Capsule, assertions: Sequence[Assertion], facts: Sequence[Assertion] = ()
) -> dict[str, Any]:
    """The packet of a task at its continuation in force.

    ``assertions`` are all about the task, ``facts`` the newest facts that are to be shown, newest first; both only as
    far as the reader may see them.
    """
    candidates = active_candidates(assertions, capsule.assertion)
    proposal = current_proposal(assertions, candidates)
    return {
        "schema": RECALL_SCHEMA,
        "order": ORDER,
        "authority": AUTHORITY,
        "task": _task(capsule) | ({} if candidates else _provenance(capsule)),
        **_feedback(capsule, candidates, proposal),
        **({"facts": [_fact(fact) for fact in facts[:FACTS_MAX]]} if facts else {}),
    }


def _task(capsule: Capsule) -> dict[str, Any]:
    continuation = capsule.continuation
    last, following = continuation.last_verified_step, continuation.next_step
    return {
        "taskId": continuation.task_id,
        "status": continuation.status,
        "objective": continuation.objective,
        "lastVerifiedStep": None if last is None else {"summary": last.summary, "result": last.result},
        "nextStep": None if following is None else {"summary": following.summary},
    }


def _provenance(capsule: Capsule) -> dict[str, Any]:
    """Where the continuation comes from; beside quoted messages there is no room, and they name it as their target."""
    entry, following = capsule.assertion.entry, capsule.continuation.next_step
    is_corrected = (
        entry.recorder == "capture"
        and following is not None
        and following.id.startswith(CORRECTED_STEP_ID_PREFIX)
    )
    return {
        "assertionId": entry.id,
        "observedAt": format_utc(entry.observed_at),
        "source": {"kind": entry.evidence_kind, "sessionRef": entry.session, "messageRef": entry.message},
        "scope": format_scope(entry),
        "correctionStatus": "applied-source-verified" if is_corrected else "none-current",
    }


def _feedback(
    capsule: Capsule, candidates: Sequence[Candidate], proposal: tuple[Assertion, Proposal] | None
) -> dict[str, Any]:
    target = capsule.assertion.id
    proposed = {} if proposal is None else {_proposal_name(proposal[1]): _proposal(*proposal)}
    if not candidates:
        return {}
    if len(candidates) == 1:
        (candidate,) = candidates
        wanted = {"feedbackAssertionId": candidate.assertion.id, "targetAssertionId": target}
        return {
            "feedback": {**_candidate(candidate), "interpretationStatus": "unresolved"},
            **({} if capsule.continuation.is_completed else {"interpretationInput": wanted}),
            **proposed,
        }
    left_out = len(candidates) - CANDIDATES_MAX
    return {
        "feedbackCandidates": [_candidate(candidate) for candidate in candidates[:CANDIDATES_MAX]],
        "feedbackReview": {
            "status": "multiple-unresolved",
            "completionVerified": False,
            "targetAssertionId": target,
            **proposed,
            **({"omitted": left_out} if left_out > 0 else {}),
        },
    }


def _candidate(candidate: Candidate) -> dict[str, str]:
    entry, feedback = candidate.assertion.entry, candidate.feedback
    return {
        "assertionId": entry.id,
        "sourceText": feedback.source_text,
        "observedAt": format_utc(entry.observed_at),
        "messageRef": entry.evidence_id,
        "sessionRef": entry.session or "",
        "sourceProvider": feedback.source_provider,
        "sourceDigest": feedback.source_digest,
    }


def _proposal_name(proposal: Proposal) -> str:
    return "modelInterpretation" if isinstance(proposal, Interpretation) else "modelClarification"


def _proposal(assertion: Assertion, proposal: Proposal) -> dict[str, Any]:
    words: dict[str, Any] = {"clarificationQuestion": proposal.clarification_question}
    if isinstance(proposal, Interpretation):
        words = {
            "kind": proposal.interpretation_kind,
            "proposedNextStepSummary": proposal.proposed_next_step_summary,
            **words,
        }
    return {
        "status": proposal.interpretation_status,
        **words,
        "modelProvider": proposal.model_provider,
        "assertionId": assertion.id,
    }


def _fact(fact: Assertion) -> dict[str, Any]:
    entry = fact.entry
    return {
        "subjectId": entry.subject,
        "predicate": entry.predicate,
        "value": fact.value,
        "evidenceKind": entry.evidence_kind,
        "observedAt": format_utc(entry.observed_at),
        **format_legacy(is_legacy=entry.recorder == "import"),
    }
