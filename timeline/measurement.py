"""An objective result as a measurement: whether a re-checked event establishes one, and the assertion it makes. Pure.

Nothing uncertain becomes established: an event with any flag, without an outcome or a time, or from a source of which
something was not understood or not compared is refused with its reason (T28, T29, T31). It can be seen in the answers
of a search all the same. Two results that contradict each other are both measured, and the world model shows them as
a conflict.
"""

import hashlib
import re
from typing import Any, Final, cast

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.event import Event, Outcome
from sidecars.identity import JSON, canonical_bytes
from timeline.answers import enrolled_digest, event_count, session_ref
from timeline.binding import binding_of
from timeline.capture_errors import (
    CaptureEvidenceError,
    CapturePrefixError,
    CaptureTargetError,
    CaptureUncertainError,
    CaptureUndatedError,
    CaptureUnderstandingError,
)
from timeline.search import Card
from timeline.view import EnrolledSource
from timeline.world.assertion import Evidence, Origin, Scope, make_entry
from timeline.world.scope import route_refs, task_subject

RESULT_SCHEMA: Final = "agentspine.timeline-objective-result/v1"
PREDICATE_PREFIX: Final = "task.timeline-result."
ID_PREFIX: Final = "assertion:timeline-"

_UNLABELED: Final = "unlabeled"
_REF_HEX: Final = 32
_LABEL_CHARACTERS: Final = 64
_SUFFIX_HEX: Final = 8
_UNFIT: Final = re.compile(r"[^a-z0-9.-]")
_OPEN: Final = frozenset({Outcome.UNKNOWN, Outcome.CANCELLED})
"""Outcomes that say nothing of what was tested."""


def check_certain(card: Card, now_ms: int) -> int:
    """Return the time of a card's event (UTC milliseconds) if the card is certain enough to be remembered as it is.

    Raises:
        CaptureError: it is not, with the first reason.
    """
    event = card.event
    run = event.run
    if run is None:
        message = "the event is no result"
        raise CaptureTargetError(message)
    if card.partly_understood:
        message = "something in the source was not understood"
        raise CaptureUnderstandingError(message)
    if card.prefix_pending:
        message = "what stood before the file grew was not all compared since"
        raise CapturePrefixError(message)
    doubts = [*event.flags, *([f"outcome {run.outcome}"] if run.outcome in _OPEN else [])]
    if doubts:
        message = f"the event does not say for certain how the run ended: {', '.join(doubts)}"
        raise CaptureUncertainError(
            message, hint=f"{', '.join(doubts)}: run it again by itself, and capture that"
        )
    return check_dated(event, now_ms)


def check_dated(event: Event, now_ms: int) -> int:
    """Return the time of an event (UTC milliseconds).

    Raises:
        CaptureUndatedError: it has none.
        CaptureEvidenceError: it lies in the future.
    """
    if event.at is None:
        message = "the event has no time"
        raise CaptureUndatedError(message)
    if event.at > now_ms:
        message = "the event's time lies in the future"
        raise CaptureEvidenceError(message, hint="look at the clocks of this machine and of the host")
    return event.at


def measurement_of(card: Card, now_ms: int) -> AssertionEntry:
    """The measurement that a card establishes at ``now_ms`` (UTC milliseconds).

    The same event of the same enrollment makes the same assertion, at any time and in any process (T32).

    Raises:
        CaptureError: it establishes none.
        WorldError: the world model does not take it, such as a label that reads like a credential.
    """
    at = check_certain(card, now_ms)
    event, enrollment = card.event, card.source.enrollment
    binding = binding_of(enrollment.binding)
    return make_entry(
        id=capture_id(ID_PREFIX, card),
        recorder="capture",
        subject=task_subject(binding.task),
        predicate=PREDICATE_PREFIX + fitted_label(event.label or event.runner or _UNLABELED),
        value=result_value(event),
        evidence=Evidence("objective-measurement", event.id, evidence_digest(event), at),
        scope=scope_of(card.source),
        knowledge="task-state",
        origin=origin_of(card),
    )


def result_value(event: Event) -> dict[str, JSON]:
    """What is kept of a result: closed words, numbers and a short label (T29).

    Where it was seen is its evidence and no part of it: two sessions that saw the same agree (ADR 0025).
    """
    return {
        "schema": RESULT_SCHEMA,
        "outcome": None if event.outcome is None else event.outcome.value,
        "count": cast("JSON", event_count(event)),
        "testLabel": event.label,
    }


def fitted_label(label: str) -> str:
    """A label as the end of a predicate; one that does not fit as it is gets a suffix of its own."""
    kept = _UNFIT.sub("-", label)[:_LABEL_CHARACTERS]
    if kept == label:
        return kept
    return f"{kept}-{hashlib.sha256(label.encode()).hexdigest()[:_SUFFIX_HEX]}"


def capture_id(prefix: str, card: Card) -> str:
    """The id of what a capture makes of an event: of its task, route, source, line and event, and of nothing else."""
    binding = binding_of(card.source.enrollment.binding)
    route = route_refs(binding)
    identity: dict[str, Any] = {
        "taskId": task_subject(binding.task),
        "projectId": binding.project,
        "portalRef": route.portal,
        "threadRef": route.thread,
        "sourceDigest": enrolled_digest(card.source),
        "messageDigest": str(evidence_digest(card.event)),
        "eventId": card.event.id,
    }
    return prefix + hashlib.sha256(canonical_bytes(identity)).hexdigest()[:_REF_HEX]


def evidence_digest(event: Event) -> Digest:
    """The digest of the line that tells how it ended: the last of the event's. Its id covers all of them."""
    return Digest.parse(event.lines[-1].sha256)


def scope_of(source: EnrolledSource) -> Scope:
    """For whom it is: the private task and route of the session whose transcript it comes from (T25, W47)."""
    binding = binding_of(source.enrollment.binding)
    return Scope(binding.tenant, binding.user, binding.project, "private", None, route_refs(binding))


def origin_of(card: Card) -> Origin:
    """Where it comes from, as opaque references."""
    return Origin(session_ref(card.source.enrollment), card.event.id)
