"""Joining the lines that tell about one tool call into one ``ToolResult``.

Pure: what a line tells is a function of the line, and the result is a function of what its lines tell. So a result
can be derived again from nothing but the lines that it names.
"""

import shlex
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from adapters.base import ID_CHARS
from adapters.calls import call_id_of
from adapters.codex.carriers import (
    NOTHING_STATED,
    Ending,
    read_execution,
    read_output,
)
from adapters.codex.envelope import Envelope
from adapters.codex.types import LOCAL_SHELL, TOOL_OF_ITEM
from adapters.decode import Fields, Raw, fields_of, int_of, refuse, text_of, utc_ms
from adapters.errors import DefectKind, TranscriptSyntaxError
from adapters.excerpt import NO_OUTPUT, Excerpt, shown
from adapters.record import CallStatus, LineRef, LineRole, ToolResult

MAX_CALL_LINES: Final = 6
"""Most lines that one result names. A call has one, its output one, the poll that saw its end two, a structured
report one; a sixth means that something was said twice, and the result is a conflict."""

POLL: Final = "write_stdin"
"""The tool by which a running command is asked for more output, or is given input."""

_COMMAND_ARGUMENT: Final = {
    "exec_command": "cmd",
    "shell": "command",
    "shell_command": "command",
    "container.exec": "command",
}
"""Tools that run a command, and the argument that holds it: a shell text or an argument vector."""

_SHELLS: Final = frozenset({"bash", "dash", "ksh", "sh", "zsh"})
_SHELL_FLAGS: Final = frozenset({"-c", "-lc"})
_ARGV = msgspec.json.Decoder(list[str])


class Told(msgspec.Struct, frozen=True):
    """What one line tells about a call. Fields that a line of its role cannot tell are empty.

    ``polls`` is the session that a call of ``write_stdin`` asks: its output belongs to the command that runs there.
    """

    ref: LineRef
    call_id: str
    at_ms: int | None
    tool: str = ""
    command: str | None = None
    ending: Ending = NOTHING_STATED
    text: Excerpt = NO_OUTPUT
    polls: int | None = None


def tool_of(payload: Fields) -> str:
    """Return the tool's name: that of the record's type, or the one that it states."""
    named = TOOL_OF_ITEM.get(bytes(payload.get("type", b"")))
    if named is not None:
        return named
    tool = text_of(payload.get("name"))
    if tool is None or not 0 < len(tool) <= ID_CHARS:
        refuse(DefectKind.SHAPE, "a call names its tool")
    return tool


def command_of(payload: Fields, tool: str) -> str | None:
    """Return the command that a call asked to run, ``None`` for other tools and for arguments not understood.

    Arguments are written by the model: malformed ones are its mistake and no defect of the line.
    """
    try:
        if tool == LOCAL_SHELL:
            action = payload.get("action")
            return None if action is None else command_text(fields_of(action).get("command"))
        name = _COMMAND_ARGUMENT.get(tool)
        arguments = text_of(payload.get("arguments")) if name is not None else None
        if name is None or arguments is None:
            return None
        return command_text(fields_of(arguments.encode()).get(name))
    except TranscriptSyntaxError:
        return None


def session_of(payload: Fields, tool: str) -> int | None:
    """Return the session that a call polls, ``None`` for other tools and for arguments not understood."""
    if tool != POLL:
        return None
    try:
        arguments = text_of(payload.get("arguments"))
        return int_of(fields_of(arguments.encode()).get("session_id")) if arguments is not None else None
    except TranscriptSyntaxError:
        return None


def command_text(raw: Raw | None) -> str | None:
    """Return a command as shell text: a string as it is, the script of ``bash -lc``, else the quoted vector."""
    if raw is None:
        return None
    if bytes(raw)[:1] != b"[":
        return text_of(raw)
    try:
        argv = _ARGV.decode(raw)
    except msgspec.DecodeError:
        return None
    if len(argv) == 3 and argv[0].rpartition("/")[2] in _SHELLS and argv[1] in _SHELL_FLAGS:
        return argv[2]
    return shlex.join(argv) or None


def told_by(record: Envelope, offset: int, raw: bytes) -> Told | None:
    """Return what the line ``raw`` at ``offset`` tells about a call, ``None`` where it tells about none.

    Raises: ``TranscriptSyntaxError``.
    """
    if record.type not in {"response_item", "event_msg"}:
        return None
    fields = fields_of(record.payload)
    kind = text_of(fields.get("type"))
    if record.type == "response_item":
        if kind in {"function_call_output", "custom_tool_call_output"}:
            return told_by_output(record, fields, offset, raw)
        if kind in {"function_call", "custom_tool_call", "local_shell_call"}:
            return told_by_call(record, fields, offset, raw)
    elif kind == "exec_command_end":
        return told_by_report(record, fields, offset, raw)
    elif kind == "item_completed":
        item = fields_of(fields.get("item", b""))
        if text_of(item.get("type")) == "CommandExecution":
            return told_by_report(record, item, offset, raw)
    return None


def told_by_call(record: Envelope, payload: Fields, offset: int, raw: bytes) -> Told:
    """Return what a call tells: its tool and its command. Raises: ``TranscriptSyntaxError``."""
    tool = tool_of(payload)
    call_id = call_id_of(payload.get("call_id"))
    asked = Asked(call_id, tool, command_of(payload, tool), session_of(payload, tool))
    return told_asked(record, asked, offset, raw)


class Asked(NamedTuple):
    """What a call asks for."""

    call_id: str
    tool: str
    command: str | None
    polls: int | None


def told_asked(record: Envelope, asked: Asked, offset: int, raw: bytes) -> Told:
    """Return what a call tells that was already read as ``asked``. Raises: ``TranscriptSyntaxError``."""
    ref, at_ms = _ref(LineRole.CALL, offset, raw), utc_ms(text_of(record.timestamp))
    return Told(
        ref=ref, call_id=asked.call_id, at_ms=at_ms, tool=asked.tool, command=asked.command, polls=asked.polls
    )


def told_by_output(record: Envelope, payload: Fields, offset: int, raw: bytes) -> Told:
    """Return what an output tells: an ending and a bounded text. Raises: ``TranscriptSyntaxError``."""
    ending, text = read_output(payload.get("output"))
    return Told(
        ref=_ref(LineRole.OUTPUT, offset, raw),
        call_id=call_id_of(payload.get("call_id")),
        at_ms=utc_ms(text_of(record.timestamp)),
        ending=ending,
        text=text,
    )


def told_by_report(record: Envelope, report: Fields, offset: int, raw: bytes) -> Told:
    """Return what a structured report tells: what really ran, how it ended, and its output.

    ``report`` is a ``CommandExecution`` item (with ``id``) or an ``exec_command_end`` (with ``call_id``).
    Raises: ``TranscriptSyntaxError``.
    """
    ending, text = read_execution(report)
    return Told(
        ref=_ref(LineRole.ITEM, offset, raw),
        call_id=call_id_of(report.get("call_id") or report.get("id")),
        at_ms=utc_ms(text_of(record.timestamp)),
        tool="exec_command",
        command=command_text(report.get("command")),
        ending=ending,
        text=text,
    )


def _ref(role: LineRole, offset: int, raw: bytes) -> LineRef:
    return LineRef(role, offset, len(raw), sha256(raw).digest())


def are_one_call(lines: Sequence[Told]) -> bool:
    """Say whether ``lines``, in file order, tell about one call as a reader would keep them.

    One call or report first; then its own outputs and reports, and a poll of its session with the poll's output.
    """
    first, *rest = lines
    session: int | None = None
    poll: str | None = None
    if first.ref.role is LineRole.OUTPUT or first.polls is not None:
        return False
    for told in rest:
        if told.ref.role is LineRole.CALL:
            if told.polls is None or told.polls != session or poll is not None:
                return False
            poll = told.call_id
        elif told.call_id == poll:
            if told.ending.exit_code is None:
                return False
        elif told.call_id != first.call_id:
            return False
        elif session is None:
            session = told.ending.session
    return True


def join(lines: Sequence[Told], *, inherited: bool) -> ToolResult | None:
    """Return the result of the call that ``lines`` tell about, ``None`` while nothing tells of its end.

    What two carriers say about the end must agree, else the result is a conflict; the report names what really
    ran, where a hook had changed the command.
    """
    outputs = _final(told for told in lines if told.ref.role is LineRole.OUTPUT)
    reports = [told for told in lines if told.ref.role is LineRole.ITEM]
    endings = outputs + reports
    if not endings:
        return None
    first = lines[0]
    commands = {told.command for told in reports if told.command is not None}
    ending = _ending(outputs, reports)
    return ToolResult(
        lines=tuple(told.ref for told in lines),
        at_ms=lines[-1].at_ms,
        call_id=endings[0].call_id,
        tool=first.tool,
        command=next((told.command for told in reports if told.command is not None), first.command),
        exit_code=ending.exit_code,
        error_flag=next((t.ending.error_flag for t in endings if t.ending.error_flag is not None), None),
        status=ending.status,
        conflict=len(commands) > 1 or len(lines) >= MAX_CALL_LINES or _disagree(outputs, reports),
        inherited=inherited,
        output=shown(_looked_at(outputs, reports)),
    )


def _final(outputs: Iterable[Told]) -> list[Told]:
    """Return the outputs that count: of a command that was polled those of the polls, which continue the first."""
    every = list(outputs)
    ended = [told for told in every if told.ending.status is not CallStatus.RUNNING]
    if not ended or len(ended) == len(every):
        return every
    return [msgspec.structs.replace(told, text=told.text._replace(continued=True)) for told in ended]


def _disagree(outputs: Sequence[Told], reports: Sequence[Told]) -> bool:
    codes = {t.ending.exit_code for t in (*outputs, *reports) if t.ending.exit_code is not None}
    said_twice = any(
        told.ending != group[0].ending or told.text != group[0].text
        for group in (outputs, reports)
        for told in group[1:]
    )
    return len(codes) > 1 or said_twice


def _ending(outputs: Sequence[Told], reports: Sequence[Told]) -> Ending:
    """Return the ending that counts: the output's own if it states one, else the report's, else none."""
    for told in (*outputs, *reports):
        if told.ending.exit_code is not None:
            return told.ending
    stated = [t.ending for t in (*outputs, *reports) if t.ending.status is not CallStatus.UNKNOWN]
    return stated[0] if stated else NOTHING_STATED


def _looked_at(outputs: Sequence[Told], reports: Sequence[Told]) -> Excerpt:
    """Return the text to look at: the output's, unless it was cut or replaced and a report has the real one."""
    sound = [t.text for t in outputs if t.ending.anchored and not t.text.truncated]
    others = [t.text for t in reports if t.text != NO_OUTPUT]
    rest = [t.text for t in outputs]
    return next(iter((*sound, *others, *rest)), NO_OUTPUT)
