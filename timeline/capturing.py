"""Capturing one event into the world model: read again in its source, decided, and recorded, in one go (T27 to T32).

The caller has spent a permit and holds the writer lock. The one source is opened anew, the event's exact lines are
compared and told again, and only then is decided what follows: a result becomes a measurement, a strict correction
another next step, a user's message a quote. What is not certain leaves nothing. All of it is context only.
"""

from typing import Final, NamedTuple

from sidecars.errors import SidecarError
from sidecars.event import CORRECTION, USER_MESSAGE
from timeline.answers import AUTHORITY, Json, enrolled_digest
from timeline.capture_errors import CaptureTargetError, WorldStateUnavailableError
from timeline.clock import format_utc
from timeline.errors import StateError
from timeline.guard.request import Request
from timeline.measurement import evidence_digest, measurement_of, origin_of
from timeline.reopening import find_card, read_task, reader_at
from timeline.search import Card
from timeline.service import REFUSALS
from timeline.state import State
from timeline.statement_capture import (
    capture_correction,
    capture_interpretation,
    capture_quote,
    has_correction_waiting,
)
from timeline.view import EnrolledSource
from timeline.world import ledger
from timeline.world.advancing import CORRECTION_WAITING, advance
from timeline.world.advancing import measurement_of as measured
from timeline.world.assertion import Assertion
from timeline.world.continuation import parse_continuation
from timeline.world.correction import CORRECTION_HINTS
from timeline.world.errors import WorldError
from timeline.world.feedback import HINTS
from timeline.world.ledger import Recorded
from timeline.world.presentation import format_scope
from timeline.world.task_state import Refused, Repeated, Replacement

CAPTURE_SCHEMA: Final = "agentspine.timeline-world-capture/v1"
UPDATE_SCHEMA: Final = "agentspine.timeline-continuation-update/v1"
SOURCE_SCHEMA: Final = "agentspine.timeline-capture-source/v1"
UPDATE_UNAVAILABLE: Final = "timeline-continuation-update-unavailable"


class Asked(NamedTuple):
    """Whose call it is, which source it may open, and what it asks."""

    own: EnrolledSource
    source: EnrolledSource
    request: Request
    strict_formats: bool


class _Update(NamedTuple):
    """What came of the outcome contract, and the continuation that is in force by it."""

    status: str
    reason: str | None = None
    assertion: Assertion | None = None


def capture(state: State, asked: Asked) -> Json:
    """Capture the event that is asked for, and say what was recorded.

    Raises:
        CaptureError: the event is not one that can be captured, or not certain enough; nothing was recorded.
        WorldError: the world model does not take it; nothing was recorded.
        WorldStateUnavailableError: the world model cannot be read or written.
        StateError, SidecarError: the state is not to be believed.
    """
    request = asked.request
    if reader_at(asked.source).route != reader_at(asked.own).route:
        # A goal may look at the results of its task without one; what is known of that is another conversation's.
        message = "the selected session belongs to another conversation of this task"
        raise CaptureTargetError(message, hint="capture it in a session that has the same goal")
    card = find_card(state, asked.source, request, strict_formats=asked.strict_formats)
    is_message = card.event.kind == USER_MESSAGE
    if request.interpretation is not None and not is_message:
        message = "the event is no user message"
        raise CaptureTargetError(message)
    try:
        if request.interpretation is not None:
            found = capture_interpretation(
                state, asked.own, card, request, strict_formats=asked.strict_formats
            )
        elif is_message:
            found = capture_quote(state, card)
        elif card.event.kind == CORRECTION:
            found = capture_correction(state, card)
        else:
            return _capture_result(state, card)
    except (StateError, SidecarError) as error:
        raise _unavailable(error) from error
    return _refused(found) if isinstance(found, Refused) else _answer(card, found)


def _unavailable(error: StateError | SidecarError) -> WorldStateUnavailableError:
    message = f"the world model cannot be read or written ({error.reason})"
    return WorldStateUnavailableError(message, hint=error.hint or "")


# -- an objective result ---------------------------------------------------------------------------------------


def _capture_result(state: State, card: Card) -> Json:
    """Record the measurement, and what was agreed to follow from it; the raw result stays whatever follows (T53)."""
    entry = measurement_of(card, ledger.now_ms(state))
    update: Replacement | _Update | None = None
    try:
        update = _decide_update(state, card)
    finally:
        if update is None:  # a fault of our own is no reason to lose what was measured
            ledger.record(state, [entry])
    if isinstance(update, Replacement):
        try:
            recorded, moved = ledger.record(state, [entry, update.entry], expect_active=update.expect_active)
        except WorldError:
            # Another writer came first, or the continuation may not stand: nothing of both was written.
            update = _Update("unavailable", UPDATE_UNAVAILABLE)
        else:
            status = "updated" if moved.status == "recorded" else "duplicate"
            return _answer(card, recorded, _Update(status, None, moved.assertion))
    (recorded,) = ledger.record(state, [entry])
    return _answer(card, recorded, update)


def _decide_update(state: State, card: Card) -> Replacement | _Update:
    """What the outcome contract makes of a result."""
    event = card.event
    measurement = measured(
        event,
        evidence_digest=evidence_digest(event),
        observed_at=event.at or 0,
        origin=origin_of(card),
    )
    if measurement is None:
        return _Update("unavailable", UPDATE_UNAVAILABLE)
    try:
        task = read_task(state, card.source).state
        decided = advance(task, measurement)
        if isinstance(decided, Replacement) and has_correction_waiting(state, card.source, task):
            return _Update("unavailable", CORRECTION_WAITING)
    except REFUSALS:
        return _Update("unavailable", UPDATE_UNAVAILABLE)
    match decided:
        case Refused():
            return _Update("unavailable", decided.reason)
        case Repeated():
            return _Update("duplicate", None, decided.assertion)
        case Replacement():
            return decided


# -- the answer ------------------------------------------------------------------------------------------------


def _refused(found: Refused) -> Json:
    return {
        "schema": CAPTURE_SCHEMA,
        "blocked": True,
        "status": "unavailable",
        "reason": found.reason,
        "hint": {**HINTS, **CORRECTION_HINTS}.get(found.reason, ""),
        "authority": AUTHORITY,
    }


def _answer(card: Card, recorded: Recorded, update: _Update | None = None) -> Json:
    entry = recorded.assertion.entry
    return {
        "schema": CAPTURE_SCHEMA,
        "blocked": False,
        "status": "captured" if recorded.status == "recorded" else "duplicate",
        "reason": None,
        "timeline": {
            "schema": SOURCE_SCHEMA,
            "sourceDigest": enrolled_digest(card.source),
            "sourceProvider": card.source.enrollment.binding.host,
            "sessionRef": entry.session,
            "messageRef": entry.message,
            "portalRef": entry.portal,
            "threadRef": entry.thread,
        },
        "captured": {
            "assertionId": entry.id,
            "subjectId": entry.subject,
            "predicate": entry.predicate,
            "value": recorded.assertion.value,
            "source": {"kind": entry.evidence_kind, "id": entry.evidence_id, "digest": entry.evidence_digest},
            "observedAt": format_utc(entry.observed_at),
            "scope": format_scope(entry),
            "status": "confirmed" if entry.is_established else "assumption",
            "authority": AUTHORITY,
        },
        "completionVerified": update is not None and _is_completed(update),
        "deliveryConfirmed": False,
        "automaticRetry": False,
        **({} if update is None else {"continuationUpdate": _update_answer(update)}),
        "authority": AUTHORITY,
    }


def _is_completed(update: _Update) -> bool:
    """Whether the measurement has completed its task, as agreed beforehand."""
    return update.assertion is not None and parse_continuation(update.assertion.value).is_completed


def _update_answer(update: _Update) -> Json:
    found: Json = {
        "schema": UPDATE_SCHEMA,
        "status": update.status,
        "reason": update.reason,
        "authority": AUTHORITY,
    }
    if update.assertion is not None:
        continuation = parse_continuation(update.assertion.value)
        step = continuation.last_verified_step
        found |= {
            "assertionId": update.assertion.id,
            "taskStatus": continuation.status,
            "lastVerifiedResult": None if step is None else step.result,
            "nextStepId": None if continuation.next_step is None else continuation.next_step.id,
        }
    return found
