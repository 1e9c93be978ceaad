"""Capturing what the user typed: a strict correction, a quoted message, and a model's proposal of what that may mean.

Only the first changes something, and only the next step of one continuation (T59 to T62). A quote is an assumption
with its place (T37, T38); a proposal is a suggestion about quotes, of which each is read in its source again (T42).
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from adapters.objective.vocabulary import terms_of
from sidecars.event import CORRECTION
from timeline.answers import enrolled_digest, session_ref
from timeline.binding import binding_of
from timeline.capture_errors import (
    CaptureError,
    CapturePrefixError,
    CaptureTargetError,
    CaptureUncertainError,
    CaptureUnderstandingError,
)
from timeline.evidence import stored_event
from timeline.guard.request import Request
from timeline.measurement import check_dated, evidence_digest, origin_of
from timeline.prior import prior_sources
from timeline.reopening import find_proven, read_task, read_words
from timeline.search import Card, Window, search
from timeline.state import State
from timeline.terms import parse_query
from timeline.view import EnrolledSource
from timeline.world import ledger
from timeline.world.correction import Correction, correct, parse_correction
from timeline.world.feedback import Candidate, UserMessage, active_candidates, quote
from timeline.world.feedback_value import CANDIDATES_MAX
from timeline.world.interpretation import Model, interpret, parse_request
from timeline.world.ledger import Recorded
from timeline.world.task_state import Refused, Repeated, TaskState

_MESSAGES: Final = parse_query(["user", "message"])


def capture_correction(state: State, card: Card) -> Recorded | Refused:
    """Set the next step that the user's line names, if exactly one continuation stands to be corrected.

    Raises:
        CaptureError: the line is not certain, or its source not what was enrolled.
        WorldError, StateError, SidecarError: see ``ledger.record``.
    """
    if card.partly_understood:
        message = "something in the source was not understood"
        raise CaptureUnderstandingError(message)
    observed_at = _check_place(state, card)
    summary = parse_correction(read_words(state, card).text)
    if summary is None:
        message = "the line names no next step that may be kept"
        raise CaptureUncertainError(message, hint="the owner can run `timeline task correct`")
    decided = correct(
        read_task(state, card.source).state,
        Correction(
            summary=summary,
            evidence_id=card.event.id,
            evidence_digest=evidence_digest(card.event),
            observed_at=observed_at,
            origin=origin_of(card),
        ),
    )
    match decided:
        case Refused():
            return decided
        case Repeated():
            return Recorded("duplicate", decided.assertion)
        case _:
            return ledger.record(state, [decided.entry], expect_active=decided.expect_active)[0]


def capture_quote(state: State, card: Card) -> Recorded | Refused:
    """Quote the user's message beside the continuation of its task.

    Raises:
        CaptureError: the line has no time, or its source is not what was enrolled.
        WorldError, StateError, SidecarError: see ``ledger.record``.
    """
    message = _read_message(state, card)
    task = read_task(state, card.source)
    entry = quote(task.state, message, task.assertions)
    return entry if isinstance(entry, Refused) else ledger.record(state, [entry])[0]


def capture_interpretation(
    state: State, own: EnrolledSource, card: Card, request: Request, *, strict_formats: bool
) -> Recorded | Refused:
    """Record what a model proposes about the quoted message of ``card``, and all others that are open beside it.

    Raises:
        CaptureError: the message is not among them, or cannot be read again.
        WorldError, StateError, SidecarError: see ``ledger.record``.
    """
    asked = parse_request(request.interpretation)
    if isinstance(asked, Refused):
        return asked
    task = read_task(state, card.source)
    continuation = task.state.continuations.sole
    candidates = () if continuation is None else active_candidates(task.assertions, continuation)
    named = [one for one in candidates if one.assertion.id in asked.feedback_ids]
    if continuation is not None and not any(_is_quoted(one, card) for one in named):
        message = "the interpretation is about another message than the event"
        raise CaptureTargetError(message, hint="capture the message first, and give the id of its assertion")
    decided = interpret(
        task.state,
        asked,
        Model(own.enrollment.binding.host, session_ref(own.enrollment)),
        assertions=task.assertions,
        verified=_verified(state, own, card, candidates, request, strict_formats=strict_formats),
        now_ms=ledger.now_ms(state),
    )
    return decided if isinstance(decided, Refused) else ledger.record(state, [decided])[0]


def _verified(
    state: State,
    own: EnrolledSource,
    card: Card,
    candidates: Sequence[Candidate],
    request: Request,
    *,
    strict_formats: bool,
) -> list[UserMessage]:
    """The messages of all candidates, each read again in its registered source; one that cannot be is left out.

    Only sources are opened that the caller may recall: his own session's, and the other sessions' of his task.
    """
    if len(candidates) > CANDIDATES_MAX:  # refused whatever they say
        return []
    mine = binding_of(own.enrollment.binding)
    others = prior_sources(state, mine, providers=request.prior_providers)
    registered = {session_ref(one.enrollment): one for one in (*others, own, card.source)}
    found = []
    for candidate in candidates:
        entry = candidate.assertion.entry
        source = registered.get(entry.session or "")
        if source is None:
            continue
        try:
            again = (
                card
                if _is_quoted(candidate, card)
                else _find_quoted(state, source, candidate, strict_formats=strict_formats)
            )
            message = _read_message(state, again)
        except CaptureError:
            continue
        # A renewed enrollment gives its lines other events; the quote keeps those under which it was read first.
        found.append(
            msgspec.structs.replace(
                message, event_id=entry.evidence_id, source_digest=candidate.feedback.source_digest
            )
            if _is_quoted(candidate, again)
            else message
        )
    return found


def _is_quoted(candidate: Candidate, card: Card) -> bool:
    """Whether a card is the line that a quote is of: the same bytes at the same time in the same session."""
    entry = candidate.assertion.entry
    return (entry.evidence_digest, entry.observed_at, entry.session) == (
        str(evidence_digest(card.event)),
        card.event.at,
        session_ref(card.source.enrollment),
    )


def _find_quoted(state: State, source: EnrolledSource, candidate: Candidate, *, strict_formats: bool) -> Card:
    """The line of a quote in its session's source, as that is enrolled now.

    Raises:
        CaptureError: it is not there.
        StateError, SidecarError: the state is not to be believed.
    """
    entry = candidate.assertion.entry
    moment = Window(entry.observed_at, 0)
    found = search(state, [source], window=moment, query=_MESSAGES, strict_formats=strict_formats)
    id_ = next((card.event.id for card in found.cards if _is_quoted(candidate, card)), entry.evidence_id)
    return find_proven(state, source, id_, strict_formats=strict_formats)


def _read_message(state: State, card: Card) -> UserMessage:
    observed_at = _check_place(state, card)
    return UserMessage(
        event_id=card.event.id,
        digest=evidence_digest(card.event),
        observed_at=observed_at,
        session=session_ref(card.source.enrollment),
        provider=card.source.enrollment.binding.host,
        source_digest=enrolled_digest(card.source),
        text=read_words(state, card).text,
    )


def _check_place(state: State, card: Card) -> int:
    """When it was typed; the file must have been compared as a whole.

    Raises:
        CaptureError: that is not known, or not done.
    """
    if card.prefix_pending:
        message = "what stood before the file grew was not all compared since"
        raise CapturePrefixError(message)
    return check_dated(card.event, ledger.now_ms(state))


def has_correction_waiting(state: State, source: EnrolledSource, task: TaskState) -> bool:
    """Whether a session holds a user's correction that is newer than its task's continuation and not captured (T57).

    A model chooses what it captures first; what its user has said comes before what it has measured. Only what is
    indexed of the session itself is looked at, and no transcript is opened.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    current = task.continuations.usable
    if not current:
        return False
    session, wanted = session_ref(source.enrollment), terms_of((CORRECTION,))
    rows = state.store.events("WHERE source = ? AND mask & ? = ?", (source.index, wanted, wanted))
    for event in (stored_event(state, source, row) for row in rows):
        is_newer = event.at is not None and event.at >= current[0].entry.observed_at
        if is_newer and task.find_said(evidence_digest(event), session, event.at or 0) is None:
            return True
    return False
