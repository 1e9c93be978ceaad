"""What an agent may do through its host: get a permit, and use it up for one look at the timeline (T12, T15 to T17).

The hook's part, ``permit_call``, resolves who asks and which source is meant, and issues the permit. The tools' parts
spend it: the session's enrollment is checked again, the permit is taken, and only then is a transcript opened. Every
one answers with a plain value that can be written as JSON; a refusal is such a value too, with the reason and what to
do, and says nothing about what lies outside the caller's own scope.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from adapters.errors import AdapterError
from timeline.account import judged
from timeline.answers import (
    AUTHORITY,
    SEARCH_SCHEMA,
    index_answer,
    search_answer,
    session_ref,
    source_digest,
)
from timeline.binding import Binding, binding_of
from timeline.clock import format_utc
from timeline.config import Config, load_config
from timeline.errors import EnrollmentUnavailableError, HookInputError, SourceError
from timeline.extend import current
from timeline.guard.enrollment import Consent, check_consent, decide_consent, is_following
from timeline.guard.errors import (
    CrossProviderError,
    PriorSessionError,
    TransportUnprovenError,
    WorldStateUnavailableError,
)
from timeline.guard.permit import Grant, Permit, PermitBook, Spent
from timeline.guard.request import (
    Request,
    Tool,
    bound_input,
    check_claims,
    parse_request,
    parse_tool_input,
    tool_named,
    with_project,
)
from timeline.guard.transport import Call, Caller, Transport, bind_transport, parse_call_names
from timeline.hosts import HOSTS
from timeline.index import index_source
from timeline.limits import INDEX_BYTES_MAX
from timeline.search import Answer, Status, Window, best_source, search
from timeline.service import REFUSALS, Session, is_in_scope, project_at, project_of
from timeline.state import State
from timeline.view import EnrolledSource

INDEX_SCHEMA: Final = "agentspine.session-timeline-index/v1"
CAPTURE_SCHEMA: Final = "agentspine.timeline-world-capture/v1"
STATUS_SCHEMA: Final = "timeline-status/v1"

Json = dict[str, Any]


class Permitted(msgspec.Struct, frozen=True):
    """The hook lets the call through. ``tool_input`` is what a host that takes changed arguments may hand on."""

    permit: Permit
    tool_input: Json


class Denied(msgspec.Struct, frozen=True):
    """The hook stops the call; ``reason`` is stable, ``hint`` says what to do and may be empty."""

    reason: str
    hint: str


class ToolCall(msgspec.Struct, frozen=True):
    """A tool call as the server got it: ``host`` is what the relay was started for, ``meta`` the request's own."""

    host: str
    arguments: Mapping[str, object]
    meta: Mapping[str, object] | None
    caller: Caller


# -- the hook --------------------------------------------------------------------------------------------------


def permit_call(  # noqa: PLR0913  # each is a fact of its own about the call, given by name
    session: Session,
    book: PermitBook,
    *,
    host: str,
    hook_session: str,
    thread: str | None,
    cwd: str,
    tool: str,
    tool_input: Mapping[str, object],
    tool_use_id: str,
    caller: Caller,
) -> Permitted | Denied | None:
    """A host is about to call a tool: permit it, or say why not; ``None`` where the tool is none of ours.

    ``thread`` is the agent within the session that calls, ``None`` for the session itself; ``cwd`` the folder that the
    host works in; ``tool_use_id`` the host's id of this use.
    """
    asked = tool_named(tool)
    if asked is None:
        return None
    try:
        if host not in HOSTS:
            message = f"host {host[:40]!r}: not a reviewed host"
            raise HookInputError(message)
        request = with_project(parse_tool_input(asked, tool_input), project_of)
        config = load_config(session.locations.settings)
        binding = config.bind(host=host, session=hook_session, project=project_at(cwd))
        transport = bind_transport(host, hook_session, thread or hook_session, caller)
        # A permit opens nothing yet: the external anchors are asked when it is spent, not while the host waits.
        with session.reading_local() as state:
            grant = _grant(state, request, binding, transport, caller)
            permit = book.issue(request, grant, tool_use_id, session.ports.clock.now_ms())
        return Permitted(permit, bound_input(request, binding, permit.enrollment_id))
    except REFUSALS as error:
        return Denied(error.reason, error.hint or "")


def _grant(state: State, request: Request, binding: Binding, transport: Transport, caller: Caller) -> Grant:
    own = _own_source(state, binding)
    enrollment_id = None if own is None else own.enrollment.enrollment_id
    check_claims(request, binding, enrollment_id)
    if own is None or request.tool is Tool.STATUS:
        if request.tool is not Tool.STATUS:
            raise _not_enrolled()
        return Grant(binding, enrollment_id, None, transport, caller.switched)
    check_consent(own, state.ports.clock.now_ms())
    _check_transcript(transport, own)
    selected = _prior_source(state, own, request) if request.prior_sessions else own
    return Grant(binding, enrollment_id, selected.enrollment.source.ref, transport, caller.switched)


def _check_transcript(transport: Transport, own: EnrolledSource) -> None:
    """Where the host proves its threads: what it holds open must be the enrolled transcript, or an agent's beside it.

    Raises:
        TransportUnprovenError: it is another file of that name.
    """
    if transport.rollout is None:
        return
    enrolled = own.enrollment.source.path
    sessions = f"/{HOSTS[transport.host].sessions}/"
    is_same = (
        transport.rollout == enrolled
        if transport.thread == transport.session
        else transport.rollout.rpartition(sessions)[0] == enrolled.rpartition(sessions)[0]
    )
    if not is_same:
        message = f"the process of {transport.host} holds another transcript of this session"
        raise TransportUnprovenError(message)


# -- which sources ---------------------------------------------------------------------------------------------


def _not_enrolled() -> EnrollmentUnavailableError:
    message = "the session is not enrolled"
    return EnrollmentUnavailableError(
        message, hint="the owner runs `timeline enroll` after the next prompt of this session"
    )


def _own_source(state: State, binding: Binding) -> EnrolledSource | None:
    """The newest active enrollment of exactly this binding; its time is not looked at."""
    found = [s for s in state.view.active if binding_of(s.enrollment.binding) == binding]
    return found[-1] if found else None


def _prior_sources(state: State, own: EnrolledSource, *, providers: bool) -> list[EnrolledSource]:
    """Other sessions of the same private task, each under a consent of its own that holds now (T25)."""
    mine, now_ms = binding_of(own.enrollment.binding), state.ports.clock.now_ms()
    return [
        source
        for source in state.view.active
        if _is_prior(mine, binding_of(source.enrollment.binding), providers=providers)
        and decide_consent(source, now_ms) is Consent.HOLDS
    ]


def _is_prior(mine: Binding, other: Binding, *, providers: bool) -> bool:
    """Same user, tenant, project, task and route; a goal that is the same or none; another session."""
    return (
        (other.user, other.tenant, other.project, other.task, other.route)
        == (mine.user, mine.tenant, mine.project, mine.task, mine.route)
        and other.goal in {None, mine.goal}
        and (other.host == mine.host or providers)
        and (other.host, other.session) != (mine.host, mine.session)
    )


def _prior_source(state: State, own: EnrolledSource, request: Request) -> EnrolledSource:
    """The one prior session that is asked: the best by the index, else the one that was written last.

    Raises:
        PriorSessionError: there is none.
    """
    candidates = _prior_sources(state, own, providers=request.prior_providers)
    if not candidates:
        message = "no other session of this task"
        raise PriorSessionError(message)
    found = best_source(state, candidates, window=_window(request), query=request.query)
    return found or max(candidates, key=lambda source: (source.newest.mtime_ns, source.index))


def _window(request: Request) -> Window | None:
    return None if request.at_ms is None else Window(request.at_ms, request.window_seconds * 1000)


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
        own = _own_source(self._state, permit.binding)
        if not is_in_scope(self.config, permit.binding):
            raise _not_enrolled()
        if (None if own is None else own.enrollment.enrollment_id) != permit.enrollment_id:
            raise _not_enrolled()
        self.own = self.selected = own
        if own is None or self._request.tool is Tool.STATUS:
            return
        check_consent(own, self._state.ports.clock.now_ms())
        providers = self._request.prior_providers
        if providers and not (permit.switched or self._call.caller.switched or self.config.cross_provider):
            message = "sessions of other hosts are not to be asked"
            raise CrossProviderError(message)
        allowed = (
            _prior_sources(self._state, own, providers=providers) if self._request.prior_sessions else [own]
        )
        found = [source for source in allowed if source.enrollment.source.ref == permit.source_ref]
        if not found:
            raise _not_enrolled()
        self.selected = found[0]


# -- the tools -------------------------------------------------------------------------------------------------


def index_call(session: Session, book: PermitBook, given: ToolCall) -> Json:
    """``session_timeline_index``: read on in the session's transcript, by at most the bytes asked for (T16, T19)."""

    def use() -> Json:
        request, call = _parse(Tool.INDEX, given)
        with session.writing() as state:
            source, spent, config = _spend(session, book, state, request, call)
            result = index_source(
                state,
                source,
                max_bytes=request.max_bytes,
                # A followed file: its head, the rest of the old generation, and then what it has grown by.
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
        if goes_on:
            _read_on(session, source, config)
        with session.reading() as state:
            source = current(state, source)
            found = search(
                state,
                [source],
                window=_window(request),
                query=request.query,
                strict_formats=config.strict_formats,
            )
            return _found(state, found, request, source, spent)

    return _answered(SEARCH_SCHEMA, use)


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
    """``session_timeline_capture``: spends its permit, and answers that there is no world model yet."""

    def use() -> Json:
        request, call = _parse(Tool.CAPTURE, given)
        with session.reading() as state:
            _spend(session, book, state, request, call)
        message = "there is no world model to capture into"
        raise WorldStateUnavailableError(message)

    return _answered(CAPTURE_SCHEMA, use)


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
    """Spend the permit of a call; nothing of a transcript was opened yet.

    Raises:
        AccessError, ClockError: there is none, or what it was issued under stands no longer.
    """
    admission = _Admission(session, state, request, call)
    spent = book.spend(request, call, session.ports.clock.now_ms(), admission.admit)
    if admission.selected is None:
        message = "a permit for a transcript names one"
        raise RuntimeError(message)
    return admission.selected, spent, admission.config


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


def lifecycle_hint(session: Session, *, host: str, hook_session: str, cwd: str) -> str | None:
    """What a session that begins or was compacted may know without a permit: counts from the signed state alone.

    ``None`` where neither it nor another session of its task is enrolled: then nothing is said. No transcript is
    opened, and no external anchor is asked while the host waits.

    Raises:
        TimelineError, SidecarError: the state cannot be used, or the scope is not complete.
    """
    config = load_config(session.locations.settings)
    binding = config.bind(host=host, session=hook_session, project=project_at(cwd))
    with session.reading_local() as state:
        own, now_ms = _own_source(state, binding), state.ports.clock.now_ms()
        prior = [
            source
            for source in state.view.active
            if _is_prior(binding, binding_of(source.enrollment.binding), providers=False)
            and decide_consent(source, now_ms) is Consent.HOLDS
        ]
        if own is None and not prior:
            return None
        events = 0 if own is None else sum(entry.count for entry in own.kept)
        origin = ", of a simulated host" if _is_simulated(state) else ""
    said = "not enrolled yet" if own is None else f"enrolled, {events} results indexed"
    return (
        f"Timeline ({AUTHORITY}, counts only, nothing was read{origin}): this session is {said}; "
        f"{len(prior)} other sessions of this task can be recalled. "
        f"`{Tool.SEARCH}` finds what ran (a time, or two words such as `pytest failed`); "
        "`includePriorSessions` asks one other session."
    )


def _standing(state: State, own: EnrolledSource | None) -> Json:
    """What is enrolled for a session, from the signed state alone."""
    if own is None:
        return {"status": "not-enrolled", "hint": _not_enrolled().hint}
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
        "events": sum(entry.count for entry in own.kept),
        "understanding": judged(state, own).understanding if is_indexed else None,
        "priorSessions": len(_prior_sources(state, own, providers=False)),
        "confirmedAt": format_utc(enrollment.confirmed_at),
        "expiresAt": format_utc(enrollment.expires_at),
        "recallUntil": format_utc(enrollment.recall_until),
    }


def _bond(state: State, spent: Spent) -> Json:
    """How the call was attributed; and of a state that `timeline demo` has made, that it is one."""
    return {"transport": spent.bond.value} | ({"simulatedHost": True} if _is_simulated(state) else {})


def _is_simulated(state: State) -> bool:
    return state.view.policy is not None and state.view.policy.simulated_host


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
}
"""Every tool with what answers it."""
