"""The way back to an event's own bytes, and to its task: what every capture rests on (T28, T42).

Whoever calls this holds the writer lock: of a followed file what has grown is read and compared first.
"""

from typing import NamedTuple

from adapters.errors import AdapterError
from adapters.record import Statement
from sidecars.event import USER_MESSAGE
from timeline.binding import binding_of
from timeline.capture_errors import (
    CaptureError,
    CaptureEventError,
    CaptureEvidenceError,
    CaptureSourceError,
    CaptureUnderstandingError,
)
from timeline.errors import SourceError, StrictFormatError
from timeline.events import read_header
from timeline.evidence import read_statement_again
from timeline.extend import current
from timeline.guard.request import Request
from timeline.index import index_source
from timeline.limits import INDEX_BYTES_MAX
from timeline.prefix import open_enrolled
from timeline.prior import window_of
from timeline.projection import parse_event_id
from timeline.provider import adapter_for
from timeline.search import Answer, Card, Status, Window, find_event
from timeline.state import State
from timeline.terms import Query
from timeline.view import EnrolledSource
from timeline.world import ledger
from timeline.world.assertion import Assertion
from timeline.world.scope import Reader, reader_of
from timeline.world.task_state import TaskState, task_state

_OPERATIONS = 3
"""Head, rest and growth of a followed file, as one call of the indexing tool reads them."""

_TRIES = 5
"""How often a file that its host has written on meanwhile is read to its end anew: hosts write while they wait."""


class Task(NamedTuple):
    """The task of a source's session: all assertions about it, and what is in force."""

    assertions: tuple[Assertion, ...]
    state: TaskState


def find_card(state: State, source: EnrolledSource, request: Request, *, strict_formats: bool) -> Card:
    """The event that a request names, told again by the source's bytes.

    Raises:
        CaptureError: it is not there, does not fit the request, or the source is not what was enrolled.
        StateError, SidecarError: the state is not to be believed.
    """
    if request.event_id is None:
        message = "a capture names an event"
        raise RuntimeError(message)
    card = find_proven(
        state,
        source,
        request.event_id,
        window=window_of(request),
        query=request.query,
        strict_formats=strict_formats,
    )
    # A time alone never finds a message: only who asks for messages is told of one (T36).
    if card.event.kind == USER_MESSAGE and (request.query is None or not request.query.is_of_messages):
        message = "the selected source has no such event"
        raise CaptureEventError(message, hint="a user message is found by the query `user message`")
    return card


def find_proven(
    state: State,
    source: EnrolledSource,
    event_id: str,
    *,
    window: Window | None = None,
    query: Query | None = None,
    strict_formats: bool,
) -> Card:
    """One event; where the file has grown since all of it was compared, the rest is read and compared first.

    The card may still say that the proof is pending: a large file is compared over several calls, and a host may write
    on faster than it is read.

    Raises:
        CaptureError: it is not there, or the source is not what was enrolled.
        StateError, SidecarError: the state is not to be believed.
    """

    def look(source: EnrolledSource) -> Card:
        found = find_event(
            state,
            [source],
            event_id,
            parse_event_id(event_id),
            window=window,
            query=query,
            strict_formats=strict_formats,
        )
        if found.status is not Status.FOUND:
            raise _refusal(found)
        return found.cards[0]

    card = look(source)
    for _ in range(_TRIES):
        if not card.prefix_pending:
            break
        try:
            index_source(
                state,
                current(state, source),
                max_bytes=INDEX_BYTES_MAX,
                operations=_OPERATIONS,
                strict_formats=strict_formats,
            )
        except (SourceError, AdapterError) as error:
            message = f"the source cannot be read to its end ({error.reason})"
            raise CaptureSourceError(message, hint=error.hint or "") from error
        card = look(current(state, source))
    return card


def _refusal(found: Answer) -> CaptureError:
    """Why there is no card."""
    match found.status:
        case Status.STALE | Status.SOURCE_GONE:
            return CaptureSourceError(
                f"the source is not what was enrolled ({found.reason})", hint=found.hint
            )
        case Status.UNAVAILABLE if found.reason == StrictFormatError.reason:
            return CaptureUnderstandingError("something in the source was not understood", hint=found.hint)
        case Status.UNAVAILABLE:
            return CaptureEvidenceError(f"the lines do not tell the indexed event ({found.reason})")
        case _:
            return CaptureEventError("the selected source has no such event")


def read_words(state: State, card: Card) -> Statement:
    """What a person typed at a card's line, read again now; in memory only.

    Raises:
        CaptureError: the source is not what was enrolled, or the line does not tell the indexed statement.
    """
    source = card.source
    adapter = adapter_for(state.view.formats, source.enrollment.binding.host)
    try:
        with open_enrolled(state, source) as opened:
            found = read_statement_again(
                state, source, adapter, read_header(adapter, opened), opened, card.event
            )
    except (SourceError, AdapterError) as error:
        message = f"the source is not what was enrolled ({error.reason})"
        raise CaptureSourceError(message, hint=error.hint or "") from error
    if found is None:
        message = "the line does not tell the indexed statement"
        raise CaptureEvidenceError(message)
    return found


def reader_at(source: EnrolledSource) -> Reader:
    """The reader that a source's own session is: what it measured belongs to its task and route (T25, W47)."""
    return reader_of(binding_of(source.enrollment.binding))


def read_task(state: State, source: EnrolledSource) -> Task:
    """The task of a source's session as it is now.

    Raises:
        WorldStateError, StateError, SidecarError: the world model is not to be believed.
    """
    reader = reader_at(source)
    assertions = ledger.read_subject(state, reader.task or "", tenant=reader.tenant, project=reader.project)
    return Task(assertions, task_state(assertions, reader, ledger.now_ms(state)))
