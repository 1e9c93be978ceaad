"""The tools that an agent has through its host: each spends a permit for one look at the timeline (T12, T15 to T17).

The session's enrollment is checked again, the permit is taken, and only then is a transcript opened. Every tool
answers with a plain value that can be written as JSON; a refusal is such a value too, with the reason and what to do,
and says nothing about what lies outside the caller's own scope. Permits are issued in ``timeline.permitting``.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from adapters.errors import AdapterError
from timeline.account import count_events, judged
from timeline.answering import ANSWER_SCHEMA, MEDIATION_SCHEMA, answer_question, check_answer
from timeline.answers import (
    AUTHORITY,
    SEARCH_SCHEMA,
    Json,
    index_answer,
    search_answer,
    session_ref,
    source_digest,
)
from timeline.binding import binding_of
from timeline.capturing import CAPTURE_SCHEMA, Asked, capture
from timeline.clock import format_utc
from timeline.config import Config, load_config
from timeline.errors import SourceError
from timeline.extend import current
from timeline.guard.asked import ViewAsked
from timeline.guard.enrollment import Consent, check_consent, decide_consent, is_following
from timeline.guard.errors import CrossProviderError
from timeline.guard.permit import Permit, PermitBook, Spent
from timeline.guard.request import (
    Request,
    Tool,
    parse_request,
    with_project,
)
from timeline.guard.transport import Call, Caller, parse_call_names
from timeline.index import index_source
from timeline.limits import INDEX_BYTES_MAX
from timeline.prior import not_enrolled, own_source, prior_sources, window_of
from timeline.project import project_of
from timeline.remembering import SUGGESTION_SCHEMA, record_suggestion, session_briefing, world_view
from timeline.search import Answer, Status, search
from timeline.service import REFUSALS, Session, is_in_scope
from timeline.state import State
from timeline.view import EnrolledSource
from timeline.world.briefing import BRIEFING_SCHEMA
from timeline.world.context import CONTEXT_SCHEMA

INDEX_SCHEMA: Final = "agentspine.session-timeline-index/v1"
STATUS_SCHEMA: Final = "timeline-status/v1"


class ToolCall(msgspec.Struct, frozen=True):
    """A tool call as the server got it: ``host`` is what the relay was started for, ``meta`` the request's own."""

    host: str
    arguments: Mapping[str, object]
    meta: Mapping[str, object] | None
    caller: Caller


class _Admission:
    """What stands at the moment of the call: found while the permit is still there, used once it is gone."""

    def __init__(self, session: Session, state: State, request: Request, call: Call) -> None:
        self._state, self._request, self._call = state, request, call
        self.config = load_config(session.locations.settings)
        self.own: EnrolledSource | None = None
        self.selected: EnrolledSource | None = None

    def admit(self, permit: Permit) -> None:
        """The enrollment that the permit was issued under, and the selected source, still stand (T12).

        Raises:
            EnrollmentUnavailableError: one does not, or the owner has given the project another scope.
            EnrollmentExpiredError, ClockError: the session's consent has ended, or the clock went back.
            CrossProviderError: other hosts are asked for without the owner's switch.
        """
        own = own_source(self._state, permit.binding)
        if not is_in_scope(self.config, permit.binding):
            raise not_enrolled()
        if (None if own is None else own.enrollment.enrollment_id) != permit.enrollment_id:
            raise not_enrolled()
        self.own = self.selected = own
        if own is None or self._request.tool is Tool.STATUS:
            return
        check_consent(own, self._state.ports.clock.now_ms())
        providers = self._request.prior_providers
        if providers and not (permit.switched or self._call.caller.switched or self.config.cross_provider):
            message = "sessions of other hosts are not to be asked"
            raise CrossProviderError(message)
        allowed = (
            prior_sources(self._state, permit.binding, providers=providers)
            if self._request.prior_sessions
            else [own]
        )
        found = [source for source in allowed if source.enrollment.source.ref == permit.source_ref]
        if not found:
            raise not_enrolled()
        self.selected = found[0]


class _Granted(NamedTuple):
    """A call whose permit is spent: the session's own source and the selected one, as they stand."""

    own: EnrolledSource
    source: EnrolledSource
    spent: Spent
    config: Config


# -- the tools -------------------------------------------------------------------------------------------------


def index_call(session: Session, book: PermitBook, given: ToolCall) -> Json:
    """``session_timeline_index``: read on in the session's transcript, in bounded operations (T16, T19).

    Each covers at most the bytes asked for: one of a snapshot, three of a followed file, whose head, rest and growth
    are read apart.
    """

    def use() -> Json:
        request, call = _parse(Tool.INDEX, given)
        with session.writing() as state:
            source, spent, config = _spend(session, book, state, request, call)
            result = index_source(
                state,
                source,
                max_bytes=request.max_bytes,
                operations=3 if source.enrollment.mode == "follow" else 1,
                strict_formats=config.strict_formats,
            )
            return {"schema": INDEX_SCHEMA, "blocked": False, **index_answer(result), **_bond(state, spent)}

    return _answered(INDEX_SCHEMA, use)


def search_call(session: Session, book: PermitBook, given: ToolCall) -> Json:
    """``session_timeline_search``: the session itself, or one prior session of its task (T17, T20 to T26)."""

    def use() -> Json:
        request, call = _parse(Tool.SEARCH, given)
        with session.reading() as state:
            source, spent, config = _spend(session, book, state, request, call)
            goes_on = is_following(source.enrollment, state.ports.clock.now_ms()) and _has_grown(source)
            if not goes_on:
                return _look(state, source, request, spent, config)
        _read_on(session, source, config)
        with session.reading() as state:  # once more: the owner may have taken the consent back meanwhile
            return _look(state, source, request, spent, config)

    return _answered(SEARCH_SCHEMA, use)


def _look(state: State, source: EnrolledSource, request: Request, spent: Spent, config: Config) -> Json:
    found = search(
        state,
        [current(state, source)],
        window=window_of(request),
        query=request.query,
        strict_formats=config.strict_formats,
    )
    return _found(state, found, request, source, spent)


def _has_grown(source: EnrolledSource) -> bool:
    """Whether the file has another size than what was committed; nothing of it is read."""
    try:
        return Path(source.enrollment.source.path).stat().st_size != source.newest.size
    except OSError:  # the search says what it is
        return False


def _read_on(session: Session, source: EnrolledSource, config: Config) -> None:
    """Read what a followed session's host has written since, the very call included: else no miss would be a miss.

    What cannot be read is no reason here; the search says what it is.
    """
    with session.writing() as state, suppress(SourceError, AdapterError):
        index_source(
            state,
            current(state, source),
            max_bytes=INDEX_BYTES_MAX,
            proof_bytes=0,
            strict_formats=config.strict_formats,
        )


def capture_call(session: Session, book: PermitBook, given: ToolCall) -> Json:
    """``session_timeline_capture``: one event into the world model, read again in its source (T18, T27 to T32)."""

    def use() -> Json:
        request, call = _parse(Tool.CAPTURE, given)
        with session.writing() as state:
            granted = _grant(session, book, state, request, call)
            asked = Asked(granted.own, granted.source, request, granted.config.strict_formats)
            return {**capture(state, asked), **_bond(state, granted.spent)}

    return _answered(CAPTURE_SCHEMA, use)


def record_call(session: Session, book: PermitBook, given: ToolCall) -> Json:
    """``record_world_assertion``: what a model suggests, and no more than that (W1 to W4)."""

    def use() -> Json:
        request, call = _parse(Tool.RECORD, given)
        with session.writing() as state:
            granted = _grant(session, book, state, request, call)
            if request.suggestion is None:
                message = "a request of this tool has a suggestion"
                raise RuntimeError(message)
            tool_use = granted.spent.permit.tool_use
            recorded = record_suggestion(state, granted.own, request.suggestion, tool_use=tool_use)
            return {**recorded, **_bond(state, granted.spent)}

    return _answered(SUGGESTION_SCHEMA, use)


def context_call(session: Session, book: PermitBook, given: ToolCall) -> Json:
    """``world_context``: facts, conflicts, proposals and stale items, each apart (W10 to W18)."""

    def use() -> Json:
        request, call = _parse(Tool.CONTEXT, given)
        with session.reading() as state:
            granted = _grant(session, book, state, request, call)
            return {
                **world_view(state, granted.own, request.view or ViewAsked()),
                **_bond(state, granted.spent),
            }

    return _answered(CONTEXT_SCHEMA, use)


def briefing_call(session: Session, book: PermitBook, given: ToolCall) -> Json:
    """``session_briefing``: where the session's task stands, in one short view (W19, W49)."""

    def use() -> Json:
        request, call = _parse(Tool.BRIEFING, given)
        with session.reading() as state:
            granted = _grant(session, book, state, request, call)
            return {**session_briefing(state, granted.own), **_bond(state, granted.spent)}

    return _answered(BRIEFING_SCHEMA, use)


def resolve_call(session: Session, book: PermitBook, given: ToolCall) -> Json:
    """``world_resolve``: what may be said about a question, and on whose word (P21 to P31)."""

    def use() -> Json:
        request, call = _parse(Tool.RESOLVE, given)
        with session.reading() as state:
            granted = _grant(session, book, state, request, call)
            if request.question is None:
                message = "a request of this tool has a question"
                raise RuntimeError(message)
            return {**answer_question(state, granted.own, request.question), **_bond(state, granted.spent)}

    return _answered(ANSWER_SCHEMA, use)


def mediate_call(session: Session, book: PermitBook, given: ToolCall) -> Json:
    """``world_mediate``: an answer checked unit by unit before it is given (P36 to P42)."""

    def use() -> Json:
        request, call = _parse(Tool.MEDIATE, given)
        with session.writing() as state:
            granted = _grant(session, book, state, request, call)
            if request.answer is None:
                message = "a request of this tool has an answer"
                raise RuntimeError(message)
            tool_use = granted.spent.permit.tool_use
            checked = check_answer(state, granted.own, request.answer, tool_use=tool_use)
            return {**checked, **_bond(state, granted.spent)}

    return _answered(MEDIATION_SCHEMA, use)


def status_call(session: Session, book: PermitBook, given: ToolCall) -> Json:
    """``timeline_status``: what is enrolled for this session, in numbers; no transcript is opened."""

    def use() -> Json:
        request, call = _parse(Tool.STATUS, given)
        with session.reading() as state:
            admission = _Admission(session, state, request, call)
            spent = book.spend(request, call, session.ports.clock.now_ms(), admission.admit)
            base: Json = {"schema": STATUS_SCHEMA, "blocked": False, "freshness": "source-not-read"}
            return {**base, **_standing(state, admission.own), **_bond(state, spent), "authority": AUTHORITY}

    return _answered(STATUS_SCHEMA, use)


def _parse(tool: Tool, given: ToolCall) -> tuple[Request, Call]:
    request = with_project(parse_request(tool, given.arguments), project_of)
    return request, Call(given.host, given.caller, parse_call_names(given.host, given.meta))


def _spend(
    session: Session, book: PermitBook, state: State, request: Request, call: Call
) -> tuple[EnrolledSource, Spent, Config]:
    """As ``_grant``, for tools that do not care whose session asks."""
    granted = _grant(session, book, state, request, call)
    return granted.source, granted.spent, granted.config


def _grant(session: Session, book: PermitBook, state: State, request: Request, call: Call) -> _Granted:
    """Spend the permit of a call; nothing of a transcript was opened yet.

    Raises:
        AccessError, ClockError: there is none, or what it was issued under stands no longer.
    """
    admission = _Admission(session, state, request, call)
    spent = book.spend(request, call, session.ports.clock.now_ms(), admission.admit)
    if admission.own is None or admission.selected is None:
        message = "a permit for a transcript names one"
        raise RuntimeError(message)
    return _Granted(admission.own, admission.selected, spent, admission.config)


def _found(state: State, found: Answer, request: Request, source: EnrolledSource, spent: Spent) -> Json:
    said = state.external.found
    answer = found if said is None else msgspec.structs.replace(found, anchored=str(said.verdict))
    more: Json = {"mode": "prior-verified-index" if request.prior_sessions else "verified-index"}
    if request.prior_sessions:
        if answer.status is Status.NOT_FOUND:
            more["mode"] = "prior-index"
        more["priorSession"] = session_ref(source.enrollment)
        if source.enrollment.binding.host != spent.permit.binding.host:
            more["priorProvider"] = source.enrollment.binding.host
    base = search_answer(answer, state.view, at_ms=request.at_ms, query=request.query)
    return {**base, **more, **_bond(state, spent)}


def _standing(state: State, own: EnrolledSource | None) -> Json:
    """What is enrolled for a session, from the signed state alone."""
    if own is None:
        return {"status": "not-enrolled", "hint": not_enrolled().hint}
    enrollment = own.enrollment
    is_indexed = bool(own.entries)
    now_ms = state.ports.clock.now_ms()
    return {
        "status": "enrolled" if decide_consent(own, now_ms) is Consent.HOLDS else "ended",
        "mode": enrollment.mode,
        "sessionRef": session_ref(enrollment),
        "sourceDigest": source_digest(own),
        "size": own.newest.size,
        "indexedBytes": state.sidecar(own.entries[-1]).header.end if is_indexed else 0,
        "events": count_events(state, own),
        "understanding": judged(state, own).understanding if is_indexed else None,
        "priorSessions": len(prior_sources(state, binding_of(enrollment.binding), providers=False)),
        "confirmedAt": format_utc(enrollment.confirmed_at),
        "expiresAt": format_utc(enrollment.expires_at),
        "recallUntil": format_utc(enrollment.recall_until),
    }


def _bond(state: State, spent: Spent) -> Json:
    """How the call was attributed; and of a state that `timeline demo` has made, that it is one."""
    return {"transport": spent.bond.value} | ({"simulatedHost": True} if state.view.simulated_host else {})


def _answered(schema: str, use: Callable[[], Json]) -> Json:
    """The answer, or the refusal as one."""
    try:
        return use()
    except REFUSALS as error:
        return {
            "schema": schema,
            "blocked": True,
            "status": "unavailable",
            "reason": error.reason,
            "hint": error.hint or "",
            "transport": None,
            "authority": AUTHORITY,
        }


TOOLS: Final[Mapping[Tool, Callable[[Session, PermitBook, ToolCall], Json]]] = {
    Tool.INDEX: index_call,
    Tool.SEARCH: search_call,
    Tool.CAPTURE: capture_call,
    Tool.STATUS: status_call,
    Tool.RECORD: record_call,
    Tool.CONTEXT: context_call,
    Tool.BRIEFING: briefing_call,
    Tool.RESOLVE: resolve_call,
    Tool.MEDIATE: mediate_call,
}
"""Every tool with what answers it."""
