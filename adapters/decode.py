"""Strict JSON for one line, and bounded looks into the values that are read.

The rules, each a ``DefectKind``: UTF-8; one object; no duplicate key; no ``NaN``; nesting, numbers and surrogates
within bounds. msgspec keeps the last of duplicate keys, takes bad UTF-8 in values that it skips and raises
``RecursionError``, so each of the three is checked here. For a compact object (no white space, no escaped key),
which is what hosts write, the lengths of keys and values add up to the length of the text *exactly when* no key
occurs twice; every other object is read again by the slow strict path, at every level.

Values stay raw until asked for: a tool's output of megabytes is never unescaped as a whole.
"""

import codecs
import math
import re
from datetime import date
from typing import Final, NoReturn

import msgspec

from adapters.errors import DefectKind, TranscriptSyntaxError

Raw = msgspec.Raw
Fields = dict[str, Raw]
"""One decoded object: its keys, and the exact bytes of its values."""

MAX_DEPTH: Final = 128
"""Deepest nesting of a line that is read by the strict path, in levels. Real records reach 30 (JSON schemas of
tools); the fast path leaves the bound to msgspec's recursion guard and to ``closes_deep``."""

OUTPUT_WINDOW: Final = 16_384
"""How much of the end of a tool's output is looked at, in characters: a runner's summary stands there."""

HEAD_WINDOW: Final = 2_048
"""How much of its beginning is looked at, in characters, where the end does not reach back to it."""

_UTF8_BLOCK: Final = 32 * 1024
"""UTF-8 is checked in blocks of this many bytes: a decoded copy takes up to four times as much memory, and one that
leaves the cache (or makes the allocator ask the system) costs several times the check itself."""

_INT = re.compile(rb"-?(?:0|[1-9][0-9]{0,18})")
_FLOAT = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING_OR_BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)
_UTC = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?Z", re.ASCII
)
_EPOCH: Final = date(1970, 1, 1).toordinal()
# Never part of an escape sequence, whatever stands before it: behind it, reading is in step.
_IN_STEP = re.compile(rb"[ !#$%&'()*+,\-.:;<=>?@\[\]^_`{|}~g-mo-qsv-zG-Z]")
_TO_LINE_BREAK = re.compile(rb"[^\\]*+(?:\\[^n][^\\]*+)*+\\n", re.DOTALL)
_LONGEST_CUT: Final = 13
"""A cut can fall into a surrogate pair (12 bytes of escapes); one more than that is always enough to step back."""

_OBJECT = msgspec.json.Decoder(Fields)
_TEXT = msgspec.json.Decoder(str)


def refuse(kind: DefectKind, rule: str = "line refused") -> NoReturn:
    """Raise the one error by which a line becomes a defect."""
    raise TranscriptSyntaxError(rule, kind)


def is_utf8(raw: bytes) -> bool:
    """Say whether ``raw`` is UTF-8, in bounded memory."""
    if raw.isascii():
        return True
    view, start, length = memoryview(raw), 0, len(raw)
    try:
        while start < length:
            end = start + _UTF8_BLOCK
            start += codecs.utf_8_decode(view[start:end], "strict", end >= length)[1]
    except UnicodeDecodeError:
        return False
    return True


def closes_deep(raw: bytes, start: int = 0, end: int | None = None) -> bool:
    """Say whether the line ends in more closing brackets than any real record: then its depth must be counted."""
    last = len(raw) if end is None else end
    if last - start < 40 or raw[last - 16] not in b"]}":
        return False
    return not raw[last - 32 : last].strip(b"]}")


def adds_up(fields: Fields, length: int) -> bool:
    """Say whether an object of ``length`` bytes is compact and holds no key twice (see the module's text)."""
    return 1 + 4 * len(fields) + len("".join(fields)) + sum(map(len, fields.values())) == length


def fields_of(raw: bytes | Raw) -> Fields:
    """Return the fields of one JSON object, checked strictly at this level.

    ``raw`` must be UTF-8. Raises: ``TranscriptSyntaxError`` with the kind of the rule broken.
    """
    try:
        fields = _OBJECT.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        check_strict(bytes(raw))
        # What Python takes and msgspec does not is half of a surrogate pair, which is no text.
        refuse(DefectKind.SURROGATE, "text has no lone surrogates")
    if not adds_up(fields, len(raw)):
        check_strict(bytes(raw))
    return fields


def check_strict(raw: bytes) -> None:
    """Refuse ``raw`` unless it is one JSON object without duplicate keys at any level, within ``MAX_DEPTH``.

    Slow and memory-hungry, for what the fast path leaves undecided. Raises: ``TranscriptSyntaxError``.
    """
    import json  # noqa: PLC0415  (most files never come this far, and loading it costs every command)

    if _nesting(raw) > MAX_DEPTH:
        refuse(DefectKind.DEPTH, "nesting is bounded")
    try:
        value = json.loads(
            raw.decode(),
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_int=len,  # the value is not wanted, and Python bounds the digits of a real one
            parse_float=len,
        )
    except UnicodeDecodeError:
        refuse(DefectKind.UTF8, "text is UTF-8")
    except RecursionError:
        refuse(DefectKind.DEPTH, "nesting is bounded")
    except ValueError:
        refuse(DefectKind.NOT_JSON, "a line is one JSON value")
    if value is not _SEEN:
        refuse(DefectKind.NOT_OBJECT, "a record is an object")


def defect_of(raw: bytes, record_start: bytes) -> DefectKind | None:
    """Return which rule the line ``raw`` breaks, ``None`` if it is one sound object.

    ``record_start`` is how every record of this format begins; inside a string its quotes would be escaped, so
    finding it further on means that two writes share the line.
    """
    if not raw.strip(b" \t\r"):
        return DefectKind.BLANK
    if raw.startswith(codecs.BOM_UTF8):
        return DefectKind.BYTE_ORDER_MARK
    if b"\0" in raw:
        return DefectKind.NUL
    if not is_utf8(raw):
        return DefectKind.UTF8
    try:
        check_strict(raw)
    except TranscriptSyntaxError as error:
        if error.kind is DefectKind.NOT_JSON and raw.find(record_start, 1) > 0:
            return DefectKind.GLUED
        return error.kind
    return None


def text_of(raw: Raw | bytes | None) -> str | None:
    """Return the value of a JSON string, ``None`` where ``raw`` is absent or no string.

    Raises: ``TranscriptSyntaxError`` for a lone surrogate: such text cannot be compared, hashed or shown.
    """
    if raw is None or not len(raw):
        return None
    try:
        return _TEXT.decode(raw)
    except msgspec.ValidationError:
        return None
    except msgspec.DecodeError:
        refuse(DefectKind.SURROGATE, "text has no lone surrogates")


def int_of(raw: Raw | None) -> int | None:
    """Return the value of a JSON integer as written, ``None`` for anything else: no float, no text, no boolean.

    Raises: ``TranscriptSyntaxError`` for a number that no double can hold.
    """
    if raw is None:
        return None
    plain = bytes(raw)
    if _INT.fullmatch(plain):
        return int(plain)
    if len(plain) < 64 and _FLOAT.fullmatch(plain) and math.isinf(float(plain)):
        refuse(DefectKind.NUMBER, "a number is finite")
    return None


def bool_of(raw: Raw | None) -> bool | None:
    """Return the value of a JSON boolean, ``None`` for anything else."""
    return None if raw is None else {b"true": True, b"false": False}.get(bytes(raw))


def utc_ms(text: str | None) -> int | None:
    """Return milliseconds since the epoch of an exact UTC time (``2026-08-20T10:00:01.037Z``), else ``None``.

    Zero to nine fractional digits, cut to milliseconds. No zone is guessed, no offset converted, no impossible
    date moved, no leap second folded.
    """
    match = _UTC.fullmatch(text) if text is not None else None
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.group(1, 2, 3, 4, 5, 6))
    if hour > 23 or minute > 59 or second > 59:
        return None
    try:
        days = date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None
    milliseconds = int((match.group(7) or "").ljust(3, "0")[:3])
    return ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + milliseconds


def content_of(raw: Raw | bytes | None) -> bytes | None:
    """Return what stands between the quotes of a JSON string, still escaped; ``None`` for anything else."""
    if raw is None or len(raw) < 2:
        return None
    view = memoryview(raw)
    return view[1:-1].tobytes() if view[0] == 0x22 else None


def whole_text(content: bytes) -> str:
    """Return the text of escaped string content; empty where it is none, which a decoded line never holds."""
    return _unescape(content) or ""


def head_text(content: bytes) -> str:
    """Return the complete lines among the first ``HEAD_WINDOW`` bytes of escaped content."""
    for cut in range(_LONGEST_CUT):
        text = _unescape(content[: HEAD_WINDOW - cut])
        if text is not None:
            return text[: text.rfind("\n") + 1]
    return ""


def tail_text(content: bytes) -> str:
    """Return the last ``OUTPUT_WINDOW`` bytes of escaped content from the first line that begins in them.

    A line is never shown from its middle: ``= 12 passed`` at the end of a longer line is not a line of its own.
    """
    window = content[-OUTPUT_WINDOW:]
    in_step = _IN_STEP.search(window)
    if in_step is None:
        return ""
    broken = _TO_LINE_BREAK.match(window, in_step.end())
    return whole_text(window[broken.end() :]) if broken else ""


def _unescape(content: bytes) -> str | None:
    try:
        return _TEXT.decode(b'"' + content + b'"')
    except msgspec.DecodeError:
        return None


_SEEN: Final = object()


def _unique(pairs: list[tuple[str, object]]) -> object:
    if len({key for key, _ in pairs}) != len(pairs):
        refuse(DefectKind.DUPLICATE_KEY, "a key occurs once")
    return _SEEN


def _no_constant(_name: str) -> NoReturn:
    refuse(DefectKind.NOT_JSON, "NaN and Infinity are not JSON")


def _nesting(raw: bytes) -> int:
    depth = deepest = 0
    for token in _STRING_OR_BRACKET.finditer(raw):
        first = raw[token.start()]
        if first in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif first in b"]}":
            depth -= 1
    return deepest
