"""Joining the lines that tell about one tool call into one ``ToolResult``.

Pure: what a line tells is a function of the line, and the result is a function of what its lines tell. So a result
can be derived again from nothing but the lines that it names.

A call id is a counter of one agent (``Bash_0``) and not unique, not even in its file: the same id again is another
call. What a result says to belong to is its ``toolCallId``; its ``parentUuid`` must be the call's own ``uuid``.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from adapters.base import ID_CHARS
from adapters.calls import call_id_of
from adapters.decode import Fields, bool_of, fields_of, int_of, refuse, text_of
from adapters.errors import DefectKind
from adapters.excerpt import NO_OUTPUT, Excerpt, shown
from adapters.king.endings import (
    NOTHING_STATED,
    Asked,
    Ending,
    Result,
    ending_of,
    excerpt,
    read_result,
)
from adapters.king.envelope import ABSENT, event_type, is_object
from adapters.king.types import LOOP_EVENT, SHELL
from adapters.record import CallStatus, LineRef, LineRole, ToolResult

MAX_CALL_LINES: Final = 3
"""Most lines that one result names. A call has one and its result one; a third means that something was said twice,
and the result is a conflict."""

_MAX_TIME_MS: Final = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z: no later time is believed."""

_IN_SHELL: Final = Asked(in_shell=True, in_background=False)


class Call(NamedTuple):
    """What a call asks for; ``command`` is ``None`` for tools that run none."""

    call_id: str
    tool: str
    command: str | None
    in_background: bool
    uuid: str

    @property
    def asked(self) -> Asked:
        """What the call says about how its end is to be read."""
        return Asked(self.tool == SHELL, self.in_background)


class Told(msgspec.Struct, frozen=True):
    """What one line tells about a call. Fields that a line of its role cannot tell are empty.

    ``uuid`` is the call's own, or that of the call to which a result says it belongs. ``ending`` is what a result
    states about a shell line that was not started in the background.
    """

    ref: LineRef
    call_id: str
    at_ms: int | None
    uuid: str
    tool: str = ""
    command: str | None = None
    in_background: bool = False
    ending: Ending = NOTHING_STATED
    text: Excerpt = NO_OUTPUT


def time_of(fields: Fields) -> int | None:
    """Return the record's time in UTC milliseconds since the epoch, ``None`` where it has no exact one."""
    at_ms = int_of(fields.get("time"))
    return at_ms if at_ms is not None and 0 <= at_ms <= _MAX_TIME_MS else None


def read_call(event: Fields) -> Call:
    """Return what a ``tool.call`` asks for. Raises: ``TranscriptSyntaxError``."""
    tool = text_of(event.get("name"))
    if tool is None or not 0 < len(tool) <= ID_CHARS:
        refuse(DefectKind.SHAPE, "a call names its tool")
    call_id, uuid = call_id_of(event.get("toolCallId")), text_of(event.get("uuid")) or ""
    raw = event.get("args", ABSENT)
    if tool != SHELL or not is_object(raw):
        return Call(call_id, tool, None, in_background=False, uuid=uuid)
    arguments = fields_of(raw)
    background = arguments.get("run_in_background")
    # Whatever is neither absent nor false may have started a background task.
    in_background = background is not None and bool_of(background) is not False
    return Call(call_id, tool, text_of(arguments.get("command")), in_background, uuid)


def told_by(fields: Fields, offset: int, raw: bytes) -> Told | None:
    """Return what the line ``raw`` at ``offset`` tells about a call, ``None`` where it tells about none.

    Raises: ``TranscriptSyntaxError``.
    """
    if text_of(fields.get("type")) != LOOP_EVENT:
        return None
    kind = event_type(fields)
    if kind == b"tool.call":
        return told_asked(fields, read_call(fields_of(fields["event"])), offset, raw)
    if kind == b"tool.result":
        event = fields_of(fields["event"])
        return told_by_result(fields, event, read_result(result_fields(event)), offset, raw)
    return None


def told_asked(fields: Fields, call: Call, offset: int, raw: bytes) -> Told:
    """Return what a call tells that was already read. Raises: ``TranscriptSyntaxError``."""
    return Told(
        ref=LineRef(LineRole.CALL, offset, len(raw), sha256(raw).digest()),
        call_id=call.call_id,
        at_ms=time_of(fields),
        uuid=call.uuid,
        tool=call.tool,
        command=call.command,
        in_background=call.in_background,
    )


def told_by_result(
    fields: Fields, event: Fields, stated: tuple[Result, bytes], offset: int, raw: bytes
) -> Told:
    """Return what a result tells that was already read as ``stated``. Raises: ``TranscriptSyntaxError``."""
    result, content = stated
    ending = ending_of(result, _IN_SHELL)
    return Told(
        ref=LineRef(LineRole.OUTPUT, offset, len(raw), sha256(raw).digest()),
        call_id=call_id_of(event.get("toolCallId")),
        at_ms=time_of(fields),
        uuid=text_of(event.get("parentUuid")) or "",
        ending=ending,
        text=excerpt(content, ending, marked=result.marked),
    )


def result_fields(event: Fields) -> Fields:
    """Return the ``result`` of a ``tool.result``. Raises: ``TranscriptSyntaxError`` where it is no sound object."""
    raw = event.get("result", ABSENT)
    if not is_object(raw):
        refuse(DefectKind.SHAPE, "a result is an object")
    return fields_of(raw)


def are_one_call(lines: Sequence[Told]) -> bool:
    """Say whether ``lines``, in file order, are a call and nothing but its own results."""
    first, *rest = lines
    return first.ref.role is LineRole.CALL and all(
        told.ref.role is LineRole.OUTPUT and told.call_id == first.call_id for told in rest
    )


def join(lines: Sequence[Told], *, inherited: bool) -> ToolResult | None:
    """Return the result of the shell call that ``lines`` tell about, ``None`` while nothing tells of its end.

    Two results that differ, a result that says to belong to another call, or one that contradicts itself: conflict.
    """
    call, *results = lines
    if not results:
        return None
    (ending, text), *others = [_of_call(told, call) for told in results]
    said_twice = any(other != (ending, text) for other in others)
    strangers = any(told.uuid not in {"", call.uuid} for told in results)
    return ToolResult(
        lines=tuple(told.ref for told in lines),
        at_ms=lines[-1].at_ms,
        call_id=call.call_id,
        tool=call.tool,
        command=call.command,
        exit_code=ending.exit_code,
        error_flag=ending.flagged,
        status=ending.status,
        conflict=ending.conflict or said_twice or strangers,
        inherited=inherited,
        output=shown(text),
    )


def _of_call(told: Told, call: Told) -> tuple[Ending, Excerpt]:
    """Return ending and text of a result, given how its call was started: a start is no end and has no output."""
    if call.in_background and told.ending.flagged is False:
        return Ending(CallStatus.RUNNING), NO_OUTPUT
    return told.ending, told.text
