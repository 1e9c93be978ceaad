"""A ``tool.result`` as the hosts write it, read in one call: whose it is, and what its two ends say.

For results whose text is not wanted, which are most. Sound by the sum of lengths: where both levels, written
compactly, are exactly as long as the event, no key was said twice and none is unknown. Everything else is left to
the path that reads every field, with equal results.
"""

import re
from typing import Final

import msgspec

from adapters.decode import Raw
from adapters.king.endings import Result, ends_of
from adapters.king.envelope import ABSENT

_ID = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_FLAGS: Final = {b"true": True, b"false": False, b"": False}
"""The flag by what stands in the file; absent is false."""


class _Stated(msgspec.Struct, gc=False, rename="camel"):
    output: Raw
    is_error: Raw = ABSENT
    note: Raw = ABSENT
    duration_ms: Raw = ABSENT


class _Event(msgspec.Struct, gc=False, rename="camel"):
    type: Raw
    tool_call_id: str
    parent_uuid: Raw
    result: _Stated


_EVENT = msgspec.json.Decoder(_Event)
_LENGTH: Final = len('{"type":,"toolCallId":"","parentUuid":,"result":{"output":}}')
_MORE: Final = tuple(len(f',"{name}":') for name in ("isError", "note", "durationMs"))


def plain_result(event: Raw) -> tuple[str, Result] | None:
    """Return whose result ``event`` is and what it holds, ``None`` where it has to be read field by field."""
    try:
        found = _EVENT.decode(event)
    except (msgspec.DecodeError, RecursionError):
        return None
    stated, call_id = found.result, found.tool_call_id
    output, length = stated.output, _LENGTH + len(found.type) + len(call_id) + len(found.parent_uuid)
    for raw, more in zip((stated.is_error, stated.note, stated.duration_ms), _MORE, strict=True):
        if raw is not ABSENT:
            length += more + len(raw)
    if length + len(output) != len(event) or not _ID.fullmatch(call_id):
        return None
    flagged = _FLAGS.get(bytes(stated.is_error))
    view = memoryview(output)
    if flagged is None or view[0] != 0x22:
        return None
    if flagged:
        return call_id, Result(flagged, None, *ends_of(view[1:-1].tobytes()))
    return call_id, Result(flagged, None, view[1:17].tobytes(), b"")
