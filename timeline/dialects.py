"""Each host's own words around a hook: what its events are called and made of, and which answers it takes. Pure.

An answer is printed with exit code 0 and holds the fewest keys that say it: Codex refuses an answer with a key that
it does not know, and then lets the tool run. It is one line that ends in a newline and has no other, so that an answer
whose end is missing can be told from a whole one (``timeline.hooks``). Where a host has no way to take an answer,
nothing is printed: saying it in another way would fail open or reach the model as text.

What a person typed is not kept, and neither is what a tool answered. The agent's last message is handed on at Stop,
where its host gives it, and nobody keeps it.
The measurements behind each rule: docs/spec/hooks.md.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec

from sidecars.errors import SidecarError
from sidecars.identity import strict_loads_with_floats
from timeline.binding import names_group
from timeline.errors import HookInputError
from timeline.hosts import HOSTS, Host
from timeline.limits import HOOK_INPUT_BYTES_MAX, PATH_BYTES_MAX

CONTEXT_CHARACTERS_MAX: Final = 10_000
"""What Claude Code takes as ``additionalContext``; longer text is cut off for every host."""

KING_MESSAGE_BYTES_MAX: Final = 1200
"""What King takes as ``message`` (reference interface). Cut in the middle it would be no packet: more is not said."""

TOOL_PREFIX: Final = "mcp__timeline__"
CLAUDE_PLUGIN_PREFIX: Final = "mcp__plugin_timeline_timeline__"
KIMI_PLUGIN_PREFIX: Final = "mcp__plugin-timeline_timeline__"
TOOL_PREFIXES: Final = (TOOL_PREFIX, CLAUDE_PLUGIN_PREFIX, KIMI_PLUGIN_PREFIX)
"""What hosts put before the names of the guarded tools: of the server ``timeline``, and of the plugins of that name."""

STOP: Final = "Stop"
"""The event at which an agent has said its last message of a turn."""

_NAME_CHARACTERS_MAX: Final = 256
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class HookEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event as its host reported it; what an event does not have is ``None``.

    ``thread`` is the agent within the session that it is about, ``None`` for the session itself or where the host
    does not say. ``tool_input`` is what the model wrote, whole. ``source`` is how a session came to start.
    ``message`` is the agent's last message at Stop, in memory only; ``goes_on``: a hook has already kept the agent from
    stopping. ``names_group``: the input claims a group, and nothing is given to one (T8).
    """

    host: str
    event: str
    session: str
    cwd: str
    transcript: str | None = None
    thread: str | None = None
    turn: str | None = None
    source: str | None = None
    tool: str | None = None
    tool_input: Mapping[str, object] | None = None
    tool_use: str | None = None
    message: str | None = None
    goes_on: bool = False
    names_group: bool = False


class Subscription(msgspec.Struct, frozen=True):
    """One event that the hook is installed for, and the regular expression of tool names that it is narrowed to."""

    event: str
    matcher: str | None = None


class ContextForm(StrEnum):
    """How a host is given text for its model."""

    ADDITIONAL = "additionalContext"
    """A field of that name."""
    MESSAGE = "message"
    """A field of that name, within fewer bytes."""
    PLAIN = "plain"
    """One line of plain text."""


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """One host's way. Names of sessions and folders are those of ``timeline.hosts``.

    ``tool_use`` are the fields that may name a tool use, ``agent`` the field that names an agent. ``context`` are the
    events whose answer may put text before the model, and ``context_form`` is how. ``message`` is the field of Stop
    with the agent's last message, and ``tells_user`` says that the host shows its user a ``systemMessage``.
    """

    subscriptions: tuple[Subscription, ...]
    tool_use: tuple[str, ...]
    agent: str | None = None
    rewrites: bool = False
    context: frozenset[str] = frozenset()
    context_form: ContextForm = ContextForm.ADDITIONAL
    stop_wants_json: bool = False
    message: str | None = None
    tells_user: bool = False


_CONTEXT_EVENTS: Final = frozenset({"SessionStart", "UserPromptSubmit"})

_CODEX: Final = Dialect(
    # Every result is on disk when PostToolUse fires, failed ones too; Stop is for the message's claims alone.
    subscriptions=(
        Subscription("SessionStart"),
        Subscription("UserPromptSubmit"),
        Subscription("PreToolUse", f"{TOOL_PREFIX}.*"),
        Subscription("PostToolUse", "Bash"),
        Subscription("PostCompact"),
        Subscription(STOP),
    ),
    tool_use=("tool_use_id",),
    agent="agent_id",
    rewrites=True,
    context=_CONTEXT_EVENTS,
    stop_wants_json=True,
    message="last_assistant_message",
    tells_user=True,
)
_CLAUDE: Final = Dialect(
    subscriptions=(
        Subscription("SessionStart"),
        Subscription("UserPromptSubmit"),
        Subscription("PreToolUse", f"{TOOL_PREFIX}.*|{CLAUDE_PLUGIN_PREFIX}.*"),
        Subscription("PostToolUse", "Bash|BashOutput"),
        Subscription("PostToolUseFailure", "Bash|BashOutput"),
        Subscription("PostCompact"),
        Subscription(STOP),
    ),
    tool_use=("tool_use_id",),
    agent="agent_id",
    context=_CONTEXT_EVENTS,
    message="last_assistant_message",
    tells_user=True,
)
_KIMI: Final = Dialect(
    # One name that a version does not know drops all hooks: each of these is known from 0.10 to 2.1. At Stop it gives
    # no message, and what is printed may come before the model: so nothing is.
    subscriptions=(
        Subscription("SessionStart"),
        Subscription("UserPromptSubmit"),
        Subscription("PreToolUse", f"{TOOL_PREFIX}.*"),
        Subscription("PostToolUse", "Bash"),
        Subscription("PostToolUseFailure", "Bash"),
        Subscription("PostCompact"),
        Subscription(STOP),
    ),
    tool_use=("tool_call_id",),
    context=frozenset({"UserPromptSubmit"}),
    context_form=ContextForm.PLAIN,
)
_KING: Final = msgspec.structs.replace(
    _KIMI, tool_use=("tool_call_id", "tool_use_id"), context_form=ContextForm.MESSAGE
)

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {"codex": _CODEX, "claude": _CLAUDE, "king": _KING, "kimi": _KIMI}
)

HOOK_EVENTS: Final[Mapping[str, tuple[Subscription, ...]]] = MappingProxyType(
    {host: dialect.subscriptions for host, dialect in DIALECTS.items()}
)
"""What is installed for each host, in the order of a session."""


# -- what a host says ------------------------------------------------------------------------------------------


def parse_hook(host: str, content: bytes) -> HookEvent:
    """Read a hook's standard input.

    Raises:
        HookInputError: not a known host, too long, not strict JSON, or a field is missing or of another type.
    """
    known, dialect = HOSTS.get(host), DIALECTS.get(host)
    if known is None or dialect is None:
        message = "the hook must be called for a supported host"
        raise HookInputError(message, hint=f"supported hosts: {', '.join(DIALECTS)}")
    if len(content) > HOOK_INPUT_BYTES_MAX:
        message = f"the hook's input must be at most {HOOK_INPUT_BYTES_MAX} bytes"
        raise HookInputError(message)
    try:
        found = strict_loads_with_floats(content)
    except SidecarError as error:
        message = f"the hook's input is not strict JSON: {error.rule}"
        raise HookInputError(message) from error
    if not isinstance(found, dict):
        message = "the hook's input must be an object"
        raise HookInputError(message)
    return _event_of(known, dialect, found)


def _event_of(host: Host, dialect: Dialect, found: Mapping[str, object]) -> HookEvent:
    uses = [use for field in dialect.tool_use if (use := _optional(found, field)) is not None]
    if len(set(uses)) > 1:
        message = f"fields {' and '.join(dialect.tool_use)} of the hook's input differ"
        raise HookInputError(message)
    transcript = None if host.transcript_field is None else _optional_path(found, host.transcript_field)
    event = _required(found, "hook_event_name")
    return HookEvent(
        host=host.name,
        event=event,
        session=_required(found, host.session_field),
        cwd=_given(host.cwd_field, _optional_path(found, host.cwd_field)),
        transcript=transcript,
        thread=None if dialect.agent is None else _optional(found, dialect.agent),
        turn=None if host.turn_field is None else _optional(found, host.turn_field),
        source=_optional(found, "source"),
        tool=_optional(found, "tool_name"),
        tool_input=_mapping(found, "tool_input"),
        tool_use=uses[0] if uses else None,
        message=_message(dialect, found) if event == STOP else None,
        goes_on=found.get("stop_hook_active") is True,
        names_group=names_group(found),
    )


def _required(found: Mapping[str, object], name: str) -> str:
    return _given(name, _optional(found, name))


def _given(name: str, value: str | None) -> str:
    if value is None:
        raise _no_text(name)
    return value


def _optional(found: Mapping[str, object], name: str) -> str | None:
    """A name. What a terminal would obey is in none: names are kept, and shown to the owner."""
    value = found.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not 0 < len(value) <= _NAME_CHARACTERS_MAX or not value.isprintable():
        raise _no_text(name)
    return value


def _optional_path(found: Mapping[str, object], name: str) -> str | None:
    """A path; a longer one is none, and looking for its project would hold everybody up."""
    value = found.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value or _CONTROL.search(value):
        raise _no_text(name)
    if len(value.encode("utf-8")) > PATH_BYTES_MAX:
        raise _no_text(name)
    return value


def _no_text(name: str) -> HookInputError:
    return HookInputError(f"field {name} of the hook's input must be a text of its form")


def _message(dialect: Dialect, found: Mapping[str, object]) -> str | None:
    """The agent's last message. One of another form is none: only a hook that says nothing depends on it."""
    said = None if dialect.message is None else found.get(dialect.message)
    return said if isinstance(said, str) and said else None


def _mapping(found: Mapping[str, object], name: str) -> Mapping[str, object] | None:
    value = found.get(name)
    if value is not None and not isinstance(value, dict):
        return None  # some hosts' own tools take a text; ours take an object, and are refused without one
    return value


# -- what it is answered ---------------------------------------------------------------------------------------


def nothing(host: str, event: str) -> bytes:
    """The answer that changes nothing. Codex wants JSON at Stop, whatever it says."""
    wants = DIALECTS[host].stop_wants_json and event in {STOP, "SubagentStop"}
    return b"{}\n" if wants else b""


def deny(host: str, reason: str) -> bytes:
    """PreToolUse: the tool must not run; every host takes the same answer. The model may read ``reason``.

    By JSON and not by exit code 2: that is reported to fail open in one host, and needs a second stream (formats §2.4).
    """
    del host
    return _line(
        "PreToolUse",
        permissionDecision="deny",
        permissionDecisionReason=reason.strip() or "refused by timeline",
    )


def rewrite(host: str, updated_input: Mapping[str, object]) -> bytes:
    """PreToolUse: the tool runs with this input, whole, in place of what the model wrote.

    Nothing for a host that would ignore it, and nothing for Claude Code, whose "allow" would answer the question that
    it asks its user: there the call must be good as it is.
    """
    if not DIALECTS[host].rewrites:
        return b""
    return _line("PreToolUse", permissionDecision="allow", updatedInput=updated_input)


def takes_context(host: str, event: str) -> bool:
    """Whether the host puts text before the model that its hook prints at this event."""
    return event in DIALECTS[host].context


def context_form(host: str) -> ContextForm:
    """How the host is given text for its model."""
    return DIALECTS[host].context_form


def context(host: str, event: str, text: str) -> bytes:
    """Text for the model, marked as no word of the user's by the host; nothing where the host does not take it then."""
    dialect = DIALECTS[host]
    bounded = text.strip()[:CONTEXT_CHARACTERS_MAX]
    if event not in dialect.context or not bounded:
        return b""
    match dialect.context_form:
        case ContextForm.PLAIN:
            # One line, and never one that the host would read as JSON.
            line = " ".join(bounded.split())
            return (line if line.startswith("Timeline ") else f"Timeline: {line}").encode() + b"\n"
        case ContextForm.MESSAGE:
            fits = len(bounded.encode()) <= KING_MESSAGE_BYTES_MAX
            return _line(event, message=bounded) if fits else b""
        case ContextForm.ADDITIONAL:
            return _line(event, additionalContext=bounded)


def tell_user(host: str, event: str, text: str) -> bytes:
    """Text for the user alone, shown at Stop: it is neither a decision nor a word for the model, and the agent stops.

    Where the host has no such way, or there is no text, the answer that changes nothing.
    """
    bounded = text.strip()[:CONTEXT_CHARACTERS_MAX]
    if event != STOP or not DIALECTS[host].tells_user or not bounded:
        return nothing(host, event)
    return msgspec.json.encode({"systemMessage": bounded}) + b"\n"


def _line(event: str, **said: object) -> bytes:
    return msgspec.json.encode({"hookSpecificOutput": {"hookEventName": event, **said}}) + b"\n"
