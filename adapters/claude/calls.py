"""Joining the content blocks that tell about one tool call into one ``ToolResult``.

Pure: what a block tells is a function of its line, and the result is a function of what its blocks tell. So a result
can be derived again from nothing but the blocks that it names.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from adapters.base import ID_CHARS
from adapters.claude.carriers import NOTHING_STATED, Ending, read_end, read_text
from adapters.claude.envelope import object_of
from adapters.claude.types import POLLS, SHELL
from adapters.decode import Fields, Raw, fields_of, refuse, text_of, utc_ms
from adapters.errors import DefectKind, TranscriptSyntaxError
from adapters.excerpt import NO_OUTPUT, Excerpt, shown
from adapters.lines import Place
from adapters.parts import blocks_of
from adapters.record import CallStatus, LineRef, LineRole, ToolResult

MAX_CALL_LINES: Final = 6
"""Most lines that one result names. A call has one, its output one, the look that saw its end two; a sixth means
that something was said twice, and the result is a conflict."""

_USE: Final = b'"tool_use"'
_RESULT: Final = b'"tool_result"'


class Asked(NamedTuple):
    """What a ``tool_use`` block asks for: ``command`` of a shell, or ``task``, the background command it looks at."""

    part: int
    call_id: str | None
    tool: str
    command: str | None
    task: str | None


class Told(msgspec.Struct, frozen=True):
    """What one content block tells about a call. Fields that a block of its role cannot tell are empty."""

    ref: LineRef
    call_id: str
    at_ms: int | None
    tool: str = ""
    command: str | None = None
    task: str | None = None
    ending: Ending = NOTHING_STATED
    text: Excerpt = NO_OUTPUT

    @property
    def looks(self) -> bool:
        """Say whether this is a call that looks at a command in the background."""
        return self.ref.role is LineRole.CALL and self.tool in POLLS


def call_id_of(raw: Raw | None) -> str | None:
    """Return the id that joins a call's blocks, ``None`` where there is none. Raises: ``TranscriptSyntaxError``."""
    if raw is None:
        return None
    call_id = text_of(raw)
    if call_id is None or not 0 < len(call_id) <= ID_CHARS:
        refuse(DefectKind.SHAPE, "a call has an id")
    return call_id


def asked_by(block: Fields, part: int) -> Asked:
    """Return what a ``tool_use`` block asks for. Raises: ``TranscriptSyntaxError``.

    The input is written by the model: what is malformed in it is its mistake and no defect of the line.
    """
    tool = text_of(block.get("name"))
    if tool is None or not 0 < len(tool) <= ID_CHARS:
        refuse(DefectKind.SHAPE, "a call names its tool")
    command = _argument(block, "command") if tool == SHELL else None
    task = _argument(block, POLLS[tool]) if tool in POLLS else None
    return Asked(part, call_id_of(block.get("id")), tool, command, task)


def _argument(block: Fields, name: str) -> str | None:
    try:
        given = object_of(block.get("input"))
        return text_of(given.get(name)) if given is not None else None
    except TranscriptSyntaxError:
        return None


def told_asked(record: Fields, asked: Asked, place: Place) -> Told:
    """Return what a call tells that was already read as ``asked``. Raises: ``TranscriptSyntaxError``."""
    return Told(
        ref=_ref(LineRole.CALL, place, asked.part),
        call_id=asked.call_id or "",
        at_ms=time_of(record),
        tool=asked.tool,
        command=asked.command,
        task=asked.task,
    )


def told_result(record: Fields, blocks: Sequence[Fields], part: int, place: Place) -> Told:
    """Return what the result block ``part`` tells: an ending and a bounded text. Raises: ``TranscriptSyntaxError``."""
    block, stated = blocks[part], stated_by(record, blocks)
    ending = read_end(block, stated)
    return Told(
        ref=_ref(LineRole.OUTPUT, place, part),
        call_id=call_id_of(block.get("tool_use_id")) or "",
        at_ms=time_of(record),
        ending=ending,
        text=read_text(block, ending, stated),
    )


def stated_by(record: Fields, blocks: Sequence[Fields]) -> Fields | None:
    """Return the fields of the record's ``toolUseResult``, ``None`` where it is no object.

    Where the record holds several results, nothing says whose it is. Raises: ``TranscriptSyntaxError``.
    """
    results = sum(is_result(block) for block in blocks)
    return object_of(record.get("toolUseResult")) if results == 1 else None


def is_use(block: Fields) -> bool:
    """Say whether a content block is a call."""
    return bytes(block.get("type", b"")) == _USE


def is_result(block: Fields) -> bool:
    """Say whether a content block is the result of a call."""
    return bytes(block.get("type", b"")) == _RESULT


def time_of(record: Fields) -> int | None:
    """Return the record's time in milliseconds since the epoch, if it is exact. Raises: ``TranscriptSyntaxError``."""
    return utc_ms(text_of(record.get("timestamp")))


def told_by(record: Fields, part: int, place: Place) -> Told | None:
    """Return what the content block ``part`` tells about a call, ``None`` where it tells about none.

    Raises: ``TranscriptSyntaxError``.
    """
    message = record.get("message")
    blocks = blocks_of(fields_of(message).get("content")) if message is not None else None
    if blocks is None or not 0 <= part < len(blocks):
        return None
    kind, block = bytes(record.get("type", b"")), blocks[part]
    told: Told | None = None
    if kind == b'"assistant"' and is_use(block):
        told = told_asked(record, asked_by(block, part), place)
    elif kind == b'"user"' and is_result(block):
        told = told_result(record, blocks, part, place)
    return told if told is not None and told.call_id else None


def _ref(role: LineRole, place: Place, part: int) -> LineRef:
    raw = place.raw
    return LineRef(role, place.offset, len(raw), sha256(raw).digest(), part)


def are_one_call(lines: Sequence[Told]) -> bool:
    """Say whether ``lines``, in file order, tell about one call as a reader would keep them.

    A shell's call first, perhaps told again; then its outputs, and a look at its task with what that saw.
    """
    first, *rest = lines
    task: str | None = None
    look: str | None = None
    if first.ref.role is not LineRole.CALL or first.looks:
        return False
    for told in rest:
        if told.looks:
            if told.task is None or told.task != task or look is not None:
                return False
            look = told.call_id
        elif told.call_id == look:
            if not tells_end(told, task):
                return False
        elif told.call_id != first.call_id:
            return False
        elif told.ending.status is CallStatus.RUNNING:
            task = task or told.ending.task
    return True


def tells_end(told: Told, task: str | None) -> bool:
    """Say whether what a look saw is the end of that background command."""
    return told.ending.task == task and told.ending.status not in {CallStatus.RUNNING, CallStatus.UNKNOWN}


def join(lines: Sequence[Told], *, inherited: bool) -> ToolResult | None:
    """Return the result of the call that ``lines`` tell about, ``None`` while nothing tells of its end.

    What two outputs say must agree, else the result is a conflict. The start in the background is no end.
    """
    outputs = [told for told in lines if told.ref.role is LineRole.OUTPUT]
    if not outputs:
        return None
    ended = [told for told in outputs if told.ending.status is not CallStatus.RUNNING] or outputs
    first, last = lines[0], ended[0]
    again = [told for told in lines[1:] if told.ref.role is LineRole.CALL and not told.looks]
    differ = any(told.ending != last.ending or told.text != last.text for told in ended[1:])
    return ToolResult(
        lines=tuple(told.ref for told in lines),
        at_ms=lines[-1].at_ms,
        call_id=last.call_id,
        tool=first.tool,
        command=first.command,
        exit_code=last.ending.exit_code,
        error_flag=last.ending.error_flag,
        status=last.ending.status,
        conflict=bool(again) or differ or len(lines) >= MAX_CALL_LINES,
        inherited=inherited,
        output=shown(last.text),
    )
