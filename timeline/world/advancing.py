"""Whether a measurement moves a task on, and where to: only as agreed beforehand (T51 to T58). Pure.

One continuation and one outcome contract must be in force on the task's own route, and the contract must name the
very step that is next. Then the measurement is recorded as the last verified step. Failure keeps the agreed step and
starts nothing again; success goes where the contract says and nowhere else. The raw result is recorded before, by the
capture, and stays whatever is decided here.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from sidecars.digest import Digest
from sidecars.event import Event, Outcome
from timeline.world.assertion import Assertion, Evidence, Origin
from timeline.world.continuation import (
    Continuation,
    StepResult,
    VerifiedStep,
    parse_continuation,
)
from timeline.world.outcome_contract import OutcomeContract, parse_contract
from timeline.world.task_state import (
    Refused,
    Repeated,
    Replacement,
    TaskState,
    continuation_id,
    replace_captured,
)

CONTINUATION_MISSING: Final = "timeline-continuation-missing"
CONTINUATION_CONFLICTED: Final = "timeline-continuation-conflicted"
CONTRACT_MISSING: Final = "timeline-outcome-contract-missing"
CONTRACT_CONFLICTED: Final = "timeline-outcome-contract-conflicted"
CONTRACT_SUPERSEDED: Final = "timeline-outcome-contract-superseded"
CONTRACT_POSTDATED: Final = "timeline-outcome-contract-postdated"
EVENT_STALE: Final = "timeline-outcome-event-stale"
CONTRACT_MISMATCH: Final = "timeline-outcome-contract-mismatch"
UNDECIDED: Final = "timeline-outcome-undecided"
CORRECTION_WAITING: Final = "timeline-correction-waiting"
"""The session holds a line by which its user corrects the step, and nobody has captured it: it comes first (T57)."""

QUESTIONS_OPEN: Final = "timeline-outcome-completion-questions-open"
"""Reasons; all but ``timeline-outcome-undecided`` and ``timeline-correction-waiting`` are the reference's."""


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """One captured objective result: what it counts, and the evidence. ``observed_at`` is UTC milliseconds.

    Evidence and origin are those of the assertion that holds the raw result.
    """

    label: str
    outcome: Outcome
    total: int | None
    success_count: int | None
    evidence_id: str
    evidence_digest: Digest
    observed_at: int
    origin: Origin


class _Move(NamedTuple):
    result: StepResult
    is_success: bool


_MOVES: Final[Mapping[tuple[Outcome, bool], _Move]] = {
    # outcome, whether the counts are those of success
    (Outcome.PASS, True): _Move("passed", is_success=True),
    (Outcome.PASS, False): _Move("failed", is_success=False),
    (Outcome.FAIL, True): _Move("failed", is_success=False),
    (Outcome.FAIL, False): _Move("failed", is_success=False),
    (Outcome.ERROR, True): _Move("failed", is_success=False),
    (Outcome.ERROR, False): _Move("failed", is_success=False),
    (Outcome.TIMEOUT, True): _Move("failed", is_success=False),
    (Outcome.TIMEOUT, False): _Move("failed", is_success=False),
    (Outcome.BLOCKED, True): _Move("blocked", is_success=False),
    (Outcome.BLOCKED, False): _Move("blocked", is_success=False),
    (Outcome.SKIPPED, True): _Move("blocked", is_success=False),
    (Outcome.SKIPPED, False): _Move("blocked", is_success=False),
}
"""What a measurement does under its contract. What is not here is refused: a cancelled run has not failed, and of an
unknown one nothing is known."""


def label_of(event: Event) -> str | None:
    """Under which label a contract may name an event: its own, such as ``suite-4``, else its runner.

    ``None`` for what a person typed: that has neither and measures nothing.
    """
    return event.label if event.label is not None else event.runner


def measurement_of(
    event: Event, *, evidence_digest: Digest, observed_at: int, origin: Origin
) -> Measurement | None:
    """The measurement that an event is; ``None`` for what a person typed."""
    label, outcome = label_of(event), event.outcome
    if label is None or outcome is None:
        return None
    return Measurement(
        label=label,
        outcome=outcome,
        total=event.total,
        success_count=event.passed,
        evidence_id=event.id,
        evidence_digest=evidence_digest,
        observed_at=observed_at,
        origin=origin,
    )


def advance(state: TaskState, measurement: Measurement) -> Replacement | Repeated | Refused:
    """The continuation that follows from a measurement, or why none does.

    Raises:
        AssertionInvalidError, AuthorityShapedError, SecretShapedError: the measurement's references are not of their
            form.
    """
    id_ = continuation_id(
        "timeline-continuation", state, measurement.evidence_id, measurement.evidence_digest
    )
    if (known := state.find(id_)) is not None:
        return Repeated(known)
    agreed = _agreement(state)
    if isinstance(agreed, Refused):
        return agreed
    current, agreement = agreed
    continuation, contract = parse_continuation(current.value), parse_contract(agreement.value)
    if contract.step != continuation.next_step:
        return Refused(CONTRACT_SUPERSEDED)  # done, or corrected by the user in the meantime (T57)
    if measurement.observed_at < agreement.recorded_at:
        return Refused(CONTRACT_POSTDATED)
    if measurement.observed_at < max(current.entry.observed_at, agreement.entry.observed_at):
        return Refused(EVENT_STALE)
    following = _following(continuation, contract, measurement)
    if isinstance(following, Refused):
        return following
    evidence = Evidence(
        "objective-measurement",
        measurement.evidence_id,
        measurement.evidence_digest,
        measurement.observed_at,
    )
    return replace_captured(state, id_, following, evidence, measurement.origin)


def _agreement(state: TaskState) -> tuple[Assertion, Assertion] | Refused:
    """The one continuation and the one contract in force."""
    if not state.continuations.usable:
        return Refused(CONTINUATION_MISSING)
    if (current := state.continuations.sole) is None:
        return Refused(CONTINUATION_CONFLICTED)
    if not state.contracts.usable:
        return Refused(CONTRACT_MISSING)
    if (contract := state.contracts.sole) is None:
        return Refused(CONTRACT_CONFLICTED)
    return current, contract


def _following(
    continuation: Continuation, contract: OutcomeContract, measurement: Measurement
) -> Continuation | Refused:
    expected, then = contract.measurement, contract.on_success
    if (measurement.label, measurement.total) != (expected.test_label, expected.total):
        return Refused(CONTRACT_MISMATCH)
    if measurement.success_count is None and expected.success_count is not None:
        return Refused(CONTRACT_MISMATCH)
    is_count_reached = expected.success_count in {None, measurement.success_count}
    move = _MOVES.get((measurement.outcome, is_count_reached))
    if move is None:
        return Refused(UNDECIDED)
    verified = msgspec.structs.replace(
        continuation,
        last_verified_step=VerifiedStep(
            id=contract.step.id,
            summary=contract.step.summary,
            result=move.result,
            evidence_id=measurement.evidence_id,
            evidence_digest=str(measurement.evidence_digest),
            observed_at=measurement.observed_at,
            session_ref=measurement.origin.session,
            message_ref=measurement.origin.message,
        ),
    )
    if not move.is_success:
        return verified  # the agreed step stays, and nothing is tried again (T54)
    if then.status == "completed" and continuation.open_questions:
        return Refused(QUESTIONS_OPEN)
    return msgspec.structs.replace(verified, status=then.status, next_step=then.next_step)
