"""Why a capture keeps nothing: the event, its source, or what it shows is not enough to establish a measurement.

Reason codes are interface, as those of ``timeline.errors``; where the reference has one, it is the same. No message
quotes a transcript. Whatever refuses a capture, recall goes on without it.
"""

from timeline.errors import AccessError, StateError

_SEARCH = "search once more, and capture a card of that answer with the same `at` or `query`"


class CaptureError(AccessError):
    """A result is not captured."""

    reason = "timeline-capture-refused"


class CaptureTargetError(CaptureError):
    """What is asked for is nothing that can be captured in this way."""

    reason = "timeline-capture-target-invalid"
    default_hint = "an interpretation belongs to a user message; a result and a correction take none"


class CaptureSourceError(CaptureError):
    """The transcript cannot be opened again as what was enrolled."""

    reason = "timeline-capture-source-unavailable"


class CaptureEventError(CaptureError):
    """The selected source holds no such event, or it does not fit the time and the terms."""

    reason = "timeline-capture-event-not-found"
    default_hint = _SEARCH


class CaptureEvidenceError(CaptureError):
    """The transcript's lines no longer tell the event that was indexed."""

    reason = "timeline-capture-evidence-invalid"
    default_hint = "run session_timeline_index, then search once more"


class CaptureUnderstandingError(CaptureError):
    """Not everything in the source was understood: a line beside this one may say otherwise."""

    reason = "timeline-capture-source-partly-understood"
    default_hint = (
        "the owner runs `timeline sources`, and `timeline formats accept` for what holds no evidence"
    )


class CaptureUncertainError(CaptureError):
    """The event does not say for certain how the run ended."""

    reason = "timeline-capture-evidence-uncertain"


class CaptureUndatedError(CaptureError):
    """The transcript does not say when it happened, and nothing can be older or newer than it."""

    reason = "timeline-capture-evidence-undated"


class CapturePrefixError(CaptureError):
    """The file has grown, and what stood before has not all been compared since."""

    reason = "timeline-capture-prefix-proof-pending"
    default_hint = "run session_timeline_index until `prefixProof` says `proven`, then capture again"


class WorldStateUnavailableError(StateError):
    """The world model cannot be read or written; nothing was captured."""

    reason = "timeline-capture-world-state-unavailable"
