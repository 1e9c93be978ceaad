"""What a host's hook is given for a session: a permit for the tool that it is about to call, or a word of counts.

``permit_call`` resolves who asks and which source is meant, and issues the permit or says why not; ``timeline.recall``
spends it. Neither function opens a transcript or asks an external anchor while the host waits.
"""

from collections.abc import Mapping

import msgspec

from timeline.account import count_events
from timeline.answers import AUTHORITY, Json
from timeline.binding import Binding
from timeline.config import load_config
from timeline.errors import HookInputError
from timeline.guard.enrollment import check_consent
from timeline.guard.errors import TransportUnprovenError
from timeline.guard.permit import Grant, Permit, PermitBook
from timeline.guard.request import (
    Request,
    Tool,
    bound_input,
    check_claims,
    is_closed,
    parse_tool_input,
    tool_named,
    with_project,
)
from timeline.guard.transport import Caller, Transport, bind_transport
from timeline.hosts import HOSTS
from timeline.prior import not_enrolled, own_source, prior_source, prior_sources
from timeline.project import project_at, project_of
from timeline.service import REFUSALS, Session
from timeline.state import State
from timeline.view import EnrolledSource


class Permitted(msgspec.Struct, frozen=True):
    """The hook lets the call through.

    ``tool_input`` is what a host that takes changed arguments may hand on; ``dropped`` says that the model wrote fields
    besides, which the server would refuse.
    """

    permit: Permit
    tool_input: Json
    dropped: bool


class Denied(msgspec.Struct, frozen=True):
    """The hook stops the call; ``reason`` is stable, ``hint`` says what to do and may be empty."""

    reason: str
    hint: str


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
        kept = bound_input(request, binding, permit.enrollment_id)
        return Permitted(permit, kept, dropped=not is_closed(asked, tool_input))
    except REFUSALS as error:
        return Denied(error.reason, error.hint or "")


def _grant(state: State, request: Request, binding: Binding, transport: Transport, caller: Caller) -> Grant:
    own = own_source(state, binding)
    enrollment_id = None if own is None else own.enrollment.enrollment_id
    check_claims(request, binding, enrollment_id)
    if own is None or request.tool is Tool.STATUS:
        if request.tool is not Tool.STATUS:
            raise not_enrolled()
        return Grant(binding, enrollment_id, None, transport, caller.switched)
    check_consent(own, state.ports.clock.now_ms())
    _check_transcript(transport, own)
    selected = prior_source(state, own, request) if request.prior_sessions else own
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
        own, prior = own_source(state, binding), prior_sources(state, binding, providers=False)
        if own is None and not prior:
            return None
        events = 0 if own is None else count_events(state, own)
        origin = ", of a simulated host" if state.view.simulated_host else ""
    said = "not enrolled yet" if own is None else f"enrolled, {events} results indexed"
    return (
        f"Timeline ({AUTHORITY}, counts only, nothing was read{origin}): this session is {said}; "
        f"{len(prior)} other sessions of this task can be recalled. "
        f"`{Tool.SEARCH}` finds what ran (a time, or two words such as `pytest failed`); "
        "`includePriorSessions` asks one other session."
    )
