"""What every host's calls have in common: ids that can be kept, and what their results prove, as bits and counts.

A call's results are told by several carriers that may contradict each other. What each says is a bit; the bits of
one call are put together, and a contradiction is unknown, never the pleasant half (T73).
"""

from hashlib import sha256
from typing import Final

from adapters.base import ID_CHARS, Outcomes
from adapters.decode import Raw, refuse, text_of
from adapters.errors import DefectKind
from adapters.record import CallStatus

SHORT_ID: Final = 48
"""Ids up to this length stand for themselves in a cursor; longer ones are replaced by a digest of that length."""

SUCCESS, FAILURE, CANCELLED = 1, 2, 4

SAYS: Final = {
    CallStatus.COMPLETED: SUCCESS,
    CallStatus.FAILED: FAILURE,
    CallStatus.TIMEOUT: FAILURE,
    CallStatus.CANCELLED: CANCELLED,
    CallStatus.DENIED: CANCELLED,
    CallStatus.RUNNING: 0,
    CallStatus.UNKNOWN: 0,
}
"""What the status of an end proves."""


def call_id_of(raw: Raw | None) -> str:
    """Return the id that joins a call's lines. Raises: ``TranscriptSyntaxError`` where there is none of that shape."""
    call_id = text_of(raw)
    if call_id is None or not 0 < len(call_id) <= ID_CHARS or not _is_visible_ascii(call_id):
        refuse(DefectKind.SHAPE, "a call has an id of visible ASCII characters")
    return call_id


def _is_visible_ascii(text: str) -> bool:
    """Say whether an id is one that a cursor can keep: no prose fits without spaces."""
    return text.isascii() and text.isprintable() and " " not in text


def key_of(call_id: str) -> str:
    """Return the short name under which a call is kept."""
    return call_id if len(call_id) <= SHORT_ID else digest_key(call_id)


def digest_key(call_id: str) -> str:
    """Return the name of a call whose id is too long, or may hold words."""
    return "#" + sha256(call_id.encode()).hexdigest()[: SHORT_ID - 1]


def count_outcome(outcomes: Outcomes, bits: int, times: int = 1) -> None:
    """Add ``times`` results with the statements ``bits`` to ``outcomes``; contradictions are unknown."""
    if bits & SUCCESS and bits & (FAILURE | CANCELLED):
        outcomes.unknown += times
    elif bits & CANCELLED:
        outcomes.cancelled += times
    elif bits & FAILURE:
        outcomes.failure += times
    elif bits & SUCCESS:
        outcomes.success += times
    else:
        outcomes.unknown += times
