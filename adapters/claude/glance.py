"""A quick look at messages that nobody keeps: nine lines in ten that a session's size is made of.

A message with one content block, in the place and the order in which the host writes it, is read at its two ends;
of what stands between nothing is used, not even by mistake. Enough for the counts, never for evidence: whatever
concerns a reviewed command, a look at one, or several blocks is read in full, as is every other shape.
"""

import re
from typing import Final

from adapters.claude.calls import Asked
from adapters.claude.carriers import (
    NOTHING_PROVED,
    NOTHING_STATED,
    SUCCEEDED,
    Ending,
    read_failure,
)
from adapters.claude.ledger import LOOK, SHELL_CALL, Ledger
from adapters.claude.types import POLLS, SHELL
from adapters.decode import Fields, Raw
from adapters.objective.reviewed import may_run

_SEVERAL: Final = b'},{"'
"""Two objects next to each other in a list; inside a string its quote would be escaped."""

_RESULT = re.compile(
    rb'\{"role":"user","content":\[\{(?:"type":"tool_result",)?"tool_use_id":"([A-Za-z0-9_.:-]{1,128})",'
    rb'(?:"type":"tool_result",)?"content":(?:"|\[)'
)
_RESULT_END = re.compile(rb'["\]](?:,"is_error":(true|false|null))?\}\]\}\Z')
_RESULT_END_BYTES: Final = 32
_FAILURE_BYTES: Final = 192
"""How much of a failure's text is looked at: an exit code or a notice of the host."""

_SHELL_START: Final = b'{"stdout":"'
_SHELL_END = re.compile(
    rb'"interrupted":false,"isImage":(?:false|true)(?:,"noOutputExpected":(?:false|true))?\}\Z'
)
_SHELL_END_BYTES: Final = 80

_ANSWER = re.compile(
    rb'\{(?:"(?:model|id|type|role)":"[A-Za-z0-9_.:<>@\[\]-]{1,128}",){2,4}"content":\[\{"type":'
    rb'(?:"(?:text|thinking)","|"tool_use","id":"([A-Za-z0-9_.:-]{1,128})","name":"([A-Za-z0-9_-]{1,128})","input":\{)'
)
_COMMAND = re.compile(rb'"command":"([^"\\]*+(?:\\.[^"\\]*+)*+)"')
"""The escaped command of a shell's input, where it is the first field, as the host writes it."""


def unwanted_result(ledger: Ledger, record: Fields) -> tuple[str, Ending] | None:
    """Return whose result this is and what it states, ``None`` where the record must be read in full."""
    report = record.get("toolUseResult")
    if report is None:
        return None
    message = bytes(record.get("message", b""))
    start = _RESULT.match(message)
    if start is None:
        return None
    end = _RESULT_END.search(message, max(len(message) - _RESULT_END_BYTES, start.end()))
    if end is None or _SEVERAL in message:
        return None
    call_id = start[1].decode()
    kind = ledger.kind_of(call_id)
    if kind & LOOK or ledger.is_open(call_id):
        return None
    flag = end[1]
    if flag == b"false":
        return _unwanted_success(call_id, report)
    if flag != b"true":
        # Only a look at a command in the background states an end without a flag.
        return (call_id, NOTHING_STATED) if kind else None
    if message[start.end() - 1] != 0x22:
        return None
    stated = read_failure(message[start.end() : min(start.end() + _FAILURE_BYTES, end.start())])
    return call_id, stated if kind & SHELL_CALL else stated._replace(exit_code=None)


def _unwanted_success(call_id: str, report: Raw) -> tuple[str, Ending] | None:
    view = memoryview(report)
    if view[0] != 0x7B:
        return call_id, NOTHING_PROVED
    plain = view[: len(_SHELL_START)].tobytes() == _SHELL_START
    return (call_id, SUCCEEDED) if plain and _SHELL_END.search(view[-_SHELL_END_BYTES:]) else None


def unwanted_answer(record: Fields) -> Asked | bool:
    """Return the call that an answer makes, if it is worth a count only; whether it makes none that is of interest.

    ``False`` where the record must be read in full.
    """
    message = bytes(record.get("message", b""))
    start = _ANSWER.match(message)
    if start is None or _SEVERAL in message:
        return False
    if start[1] is None:
        return True
    tool = start[2].decode()
    if tool == SHELL:
        command = _COMMAND.match(message, start.end())
        if command is None or may_run(command[1].decode()):
            return False
    elif tool in POLLS:
        return False
    return Asked(0, start[1].decode(), tool, None, None)
