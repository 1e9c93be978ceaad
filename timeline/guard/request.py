"""A guarded tool's request: bounded arguments, and the scope that they claim. Pure.

The host's hook sees what the model wrote; fields that are no part of the request are dropped there. The server's
schema is closed: the same field is refused. Scope comes from the session and never from arguments: a claim must be
absent or equal to the binding, a group is refused, and so is a proof that somebody put there (T8).

The digest of a request covers everything that the call depends on. It leaves out claims that are equal to the
binding: a host that lets the hook fill them in and one that does not ask the same.
"""

import hashlib
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from sidecars.identity import JSON, canonical_bytes_with_floats
from timeline.binding import SCOPE_FIELD, Binding
from timeline.clock import format_utc
from timeline.dialects import TOOL_PREFIXES
from timeline.guard.asked import (
    SUGGESTION_FIELDS,
    VIEW_FIELDS,
    SuggestionAsked,
    ViewAsked,
    parse_interpretation,
    parse_suggestion,
    parse_view,
)
from timeline.guard.asked_answer import (
    ANSWER_FIELDS,
    QUESTION_FIELDS,
    AnswerAsked,
    QuestionAsked,
    parse_answer,
    parse_question,
)
from timeline.guard.claims import is_claim, is_scope, known_claims, read_claims, refuse_foreign
from timeline.guard.errors import RequestError, ScopeClaimError, ScopeMismatchError
from timeline.guard.fields import (
    read_flag,
    read_integer,
    read_optional_text,
    read_text,
    read_time,
    refuse_unknown,
)
from timeline.limits import (
    INDEX_BYTES_MAX,
    INDEX_BYTES_MIN,
    INDEX_TOOL_BYTES_DEFAULT,
    SEARCH_CHARACTERS_MAX,
    SEARCH_CHARACTERS_MIN,
    WINDOW_SECONDS_MAX,
)
from timeline.projection import parse_event_id
from timeline.terms import Query, parse_query

VISIBILITY: Final = "private-verified"
"""The one visibility that anything is recalled under (reference interface)."""

_EVENT_ID_CHARACTERS: Final = len("timeline-event:") + 32


class Tool(StrEnum):
    """The guarded tools, by the names of the reference."""

    INDEX = "session_timeline_index"
    SEARCH = "session_timeline_search"
    CAPTURE = "session_timeline_capture"
    STATUS = "timeline_status"
    RECORD = "record_world_assertion"
    CONTEXT = "world_context"
    BRIEFING = "session_briefing"
    RESOLVE = "world_resolve"
    MEDIATE = "world_mediate"


WRITING: Final = frozenset({Tool.CAPTURE, Tool.RECORD})
"""Tools after which something stays that is no derived file: hosts ask their user before them."""

_TOOLS: Final = frozenset(tool.value for tool in Tool)
_SEARCH_FIELDS: Final = frozenset(
    {"at", "query", "windowSeconds", "includePriorSessions", "includePriorProviders"}
)
FIELDS: Final[Mapping[Tool, frozenset[str]]] = {
    Tool.INDEX: frozenset({"maxBytes"}),
    Tool.SEARCH: _SEARCH_FIELDS,
    Tool.CAPTURE: _SEARCH_FIELDS | {"eventId", "interpretation"},
    Tool.STATUS: frozenset(),
    Tool.RECORD: SUGGESTION_FIELDS,
    Tool.CONTEXT: VIEW_FIELDS,
    Tool.BRIEFING: frozenset(),
    Tool.RESOLVE: QUESTION_FIELDS,
    Tool.MEDIATE: ANSWER_FIELDS,
}
"""The fields of each tool's request; scope claims come on top."""

_TIMES: Final = frozenset({"at", "observedAt", "startsAt", "expiresAt"})
"""Fields that are milliseconds here and a text in the interface."""


class Request(msgspec.Struct, frozen=True):
    """One call of a guarded tool. ``at_ms`` in UTC milliseconds, ``window_seconds`` to both sides of it.

    ``claims`` are the scope fields that the arguments held, by their camel-case names; nothing in them is believed.
    """

    tool: Tool
    claims: Mapping[str, str | None]
    max_bytes: int = INDEX_TOOL_BYTES_DEFAULT
    at_ms: int | None = None
    text: str | None = None
    query: Query | None = None
    window_seconds: int = 0
    prior_sessions: bool = False
    prior_providers: bool = False
    event_id: str | None = None
    interpretation: Mapping[str, JSON] | None = None
    suggestion: SuggestionAsked | None = None
    view: ViewAsked | None = None
    question: QuestionAsked | None = None
    answer: AnswerAsked | None = None

    def fields(self) -> dict[str, JSON]:
        """The request's own fields by their names in the interface, defaults filled in."""
        if self.tool is Tool.INDEX:
            return {"maxBytes": self.max_bytes}
        for asked in (self.suggestion, self.view, self.question, self.answer):
            if asked is not None:
                return asked.fields()
        if self.tool not in {Tool.SEARCH, Tool.CAPTURE}:
            return {}
        found: dict[str, JSON] = {
            "at": self.at_ms,
            "query": self.text,
            "windowSeconds": self.window_seconds,
            "includePriorSessions": self.prior_sessions,
            "includePriorProviders": self.prior_providers,
        }
        if self.tool is Tool.SEARCH:
            return found
        said = None if self.interpretation is None else dict(self.interpretation)
        return {**found, "eventId": self.event_id, "interpretation": said}

    def digest(self, binding: Binding, enrollment_id: str | None, source_ref: str | None) -> str:
        """SHA-256 in hex over tool, whole binding, the session's enrollment, the selected source and the request.

        ``None`` where the session is not enrolled; only ``timeline_status`` is asked then.
        """
        route = binding.route
        return hashlib.sha256(
            canonical_bytes_with_floats(
                {
                    "schema": "timeline-tool-request/v1",
                    "tool": self.tool.value,
                    "binding": {
                        "host": binding.host,
                        "session": binding.session,
                        "user": binding.user,
                        "tenant": binding.tenant,
                        "project": binding.project,
                        "task": binding.task,
                        "goal": binding.goal,
                        "portal": None if route is None else route.portal,
                        "thread": None if route is None else route.thread,
                    },
                    "enrollment": enrollment_id,
                    "source": source_ref,
                    "visibility": VISIBILITY,
                    "request": self.fields(),
                }
            )
        ).hexdigest()


def tool_named(hook_name: str) -> Tool | None:
    """The tool that a host's hook names; ``None`` for a tool of anybody else, also one that is called the same."""
    for prefix in TOOL_PREFIXES:
        name = hook_name.removeprefix(prefix)
        if name != hook_name and name in _TOOLS:
            return Tool(name)
    return None


def enrollment_digest(enrollment_id: str) -> str:
    """What names an enrollment in a tool's arguments, 64 hex digits; another consent has another one."""
    return hashlib.sha256(f"timeline enrollment\0{enrollment_id}".encode()).hexdigest()


def with_project(request: Request, project_of: Callable[[str], str]) -> Request:
    """The request with its claimed ``root`` replaced by the project that this folder belongs to.

    Raises:
        ScopeClaimError: the root is no absolute path.
    """
    root = request.claims.get("root")
    if root is None:
        return request
    if not root.startswith("/") or not root.isprintable():
        message = "scope field root: must be an absolute path"
        raise ScopeClaimError(message)
    return msgspec.structs.replace(request, claims={**request.claims, "root": project_of(root)})


def parse_request(tool: Tool, arguments: Mapping[str, object]) -> Request:
    """The request of a tool call as the server gets it; its schema is closed.

    Raises:
        RequestError: a field is unknown, missing, of another type or outside its bounds.
        QueryError: the query is not two terms, or the event id is none.
        GroupSuppressedError, SmuggledFieldError: the arguments hold a group or a proof.
        ScopeClaimError: a claim is not of its form, or two spellings of one differ.
    """
    refuse_foreign(arguments)
    claims = read_claims(arguments)
    own = {name: value for name, value in arguments.items() if not is_scope(name)}
    refuse_unknown(tool, own, FIELDS[tool])
    given = {name: value for name, value in own.items() if value is not None}
    match tool:
        case Tool.INDEX:
            size = read_integer(given, "maxBytes", INDEX_TOOL_BYTES_DEFAULT, INDEX_BYTES_MIN, INDEX_BYTES_MAX)
            return Request(tool, claims, max_bytes=size)
        case Tool.SEARCH | Tool.CAPTURE:
            return _parse_search(tool, claims, given)
        case Tool.RECORD:
            return Request(tool, claims, suggestion=parse_suggestion(given))
        case Tool.CONTEXT:
            return Request(tool, claims, view=parse_view(given))
        case Tool.RESOLVE:
            return Request(tool, claims, question=parse_question(given))
        case Tool.MEDIATE:
            return Request(tool, claims, answer=parse_answer(given))
        case Tool.STATUS | Tool.BRIEFING:
            return Request(tool, claims)


def parse_tool_input(tool: Tool, tool_input: Mapping[str, object]) -> Request:
    """The request of a tool call as a host's hook sees it: what the model wrote besides is dropped.

    Raises:
        RequestError, QueryError, GroupSuppressedError, SmuggledFieldError, ScopeClaimError: see ``parse_request``.
    """
    refuse_foreign(tool_input)
    nested = tool_input.get(SCOPE_FIELD)
    kept = {name: value for name, value in tool_input.items() if name in FIELDS[tool] or is_claim(name)}
    if nested is not None:
        kept[SCOPE_FIELD] = known_claims(nested)
    return parse_request(tool, kept)


def check_claims(request: Request, binding: Binding, enrollment_id: str | None) -> None:
    """Every claim must be that of the session; a claimed root has become its project (``with_project``).

    Raises:
        ScopeMismatchError: one is not.
    """
    route = binding.route
    bound: dict[str, str | None] = {
        "root": binding.project,
        "sessionId": binding.session,
        "host": binding.host,
        "userId": binding.user,
        "tenantId": binding.tenant,
        "projectId": binding.project,
        "taskId": binding.task,
        "goalId": binding.goal,
        "portalRef": None if route is None else route.portal,
        "threadRef": None if route is None else route.thread,
        "timelineVisibility": VISIBILITY,
        "enrollmentDigest": None if enrollment_id is None else enrollment_digest(enrollment_id),
    }
    for name, value in request.claims.items():
        # A session has no entity and no goal step of its own: only "none" is equal to that.
        if value != bound.get(name):
            message = f"scope field {name}: not that of the session"
            raise ScopeMismatchError(message)


def is_closed(tool: Tool, tool_input: Mapping[str, object]) -> bool:
    """Whether the model wrote nothing that is no part of the request; a claim of scope is part of it."""
    try:
        parse_request(tool, tool_input)
    except RequestError:
        return False
    return True


def bound_input(request: Request, binding: Binding, enrollment_id: str | None) -> dict[str, object]:
    """The arguments as the hook may hand them on: the request's own fields, and which session it is of."""
    given: dict[str, object] = {name: value for name, value in request.fields().items() if value is not None}
    for name in _TIMES & given.keys():
        given[name] = format_utc(given[name])  # type: ignore[arg-type]  # whole milliseconds
    given["sessionId"] = binding.session
    if enrollment_id is not None:
        given["enrollmentDigest"] = enrollment_digest(enrollment_id)
    return given


# -- parsing ---------------------------------------------------------------------------------------------------


def _parse_search(tool: Tool, claims: Mapping[str, str | None], given: Mapping[str, object]) -> Request:
    if "at" not in given and "query" not in given:
        message = f"{tool}: at or query is needed"
        raise RequestError(message)
    sessions, providers = (
        read_flag(given, name) for name in ("includePriorSessions", "includePriorProviders")
    )
    if providers and not sessions:
        message = "field includePriorProviders: needs includePriorSessions as well"
        raise RequestError(message)
    text = read_optional_text(given, "query", SEARCH_CHARACTERS_MAX)
    if text is not None and len(text) < SEARCH_CHARACTERS_MIN:
        message = f"field query: must be {SEARCH_CHARACTERS_MIN} to {SEARCH_CHARACTERS_MAX} characters"
        raise RequestError(message)
    event_id = read_text(given, "eventId", _EVENT_ID_CHARACTERS) if tool is Tool.CAPTURE else None
    if event_id is not None:
        parse_event_id(event_id)
    return Request(
        tool,
        claims,
        at_ms=read_time(given, "at"),
        text=text,
        query=None if text is None else parse_query(text.split()),
        window_seconds=read_integer(given, "windowSeconds", 0, 0, WINDOW_SECONDS_MAX),
        prior_sessions=sessions,
        prior_providers=providers,
        event_id=event_id,
        interpretation=parse_interpretation(given),
    )
