"""One line of a wire, strictly: a flat object with a ``type``; all other fields depend on it and stay raw.

A block of lines is decoded at once, in one call, and its lengths are added up once. That is sound: every newline
stands between ``}`` and ``{``, which no newline inside an object does, so all are between records; and where as many
records as lines take, written compactly, exactly the bytes that the newlines leave, none holds white space or says a
key twice, and none shares a line. Any doubt sends the block to the path line by line, with equal results.
"""

import re
from itertools import chain
from typing import Final

import msgspec

from adapters.decode import (
    Fields,
    Raw,
    adds_up,
    check_strict,
    defect_of,
    fields_of,
    is_utf8,
    refuse,
    text_of,
)
from adapters.errors import DefectKind, TranscriptSyntaxError

ABSENT: Final = Raw(b"")
"""The raw value of a field that the record does not have."""

_FIELDS = msgspec.json.Decoder(Fields)

_NEXT_RECORD = re.compile(
    rb'\}\{"|.\{"type":"(?:metadata|forked|(?:turn|context|config|permission|usage|llm|task|tools|goal)\.)',
    re.DOTALL,
)
"""How another record begins further on in a line: inside a string its quotes would be escaped, and no object inside
a record has a type of these names."""

HEAD = re.compile(rb'\{"type":"([^"\\]*)"(?:,"agentId":"[^"\\]*")?(?:,"event":\{"type":"([^"\\]*)")?')
"""How hosts begin a record: its type, and a loop event's own, in the two groups."""

_EVENT_START: Final = b'{"type":"'


Placed = tuple[Fields, int, int]
"""A record with the start and the end of its line in the block."""


def record_of(raw: bytes) -> Fields:
    """Return the record on the line ``raw``; it has a ``type``.

    Raises: ``TranscriptSyntaxError`` with the kind of the rule broken.
    """
    body = raw[:-1] if raw.endswith(b"\r") else raw
    if is_utf8(body):
        try:
            fields = _FIELDS.decode(body)
        except (msgspec.DecodeError, RecursionError):
            return _strictly(body)
        if adds_up(fields, len(body)):
            return _typed(fields)
    return _strictly(body)


def records_of(block: bytes) -> list[Placed] | None:
    """Return the records of whole lines, or ``None`` where one of them needs a closer look."""
    if not is_utf8(block):
        return None
    try:
        records = _FIELDS.decode_lines(block)
    except (msgspec.DecodeError, RecursionError):
        return None
    values = sum(map(len, chain.from_iterable(map(dict.values, records))))
    keys = len("".join(chain.from_iterable(records)))
    # The sum of `adds_up` for each record, and a newline behind it.
    if 2 * len(records) + 4 * sum(map(len, records)) + keys + values != len(block):
        return None
    placed: list[Placed] = []
    start, find, last = 0, block.find, len(block) - 1
    for fields in records:
        end = find(b"\n", start)
        if block[end - 1 : end + 2] != (b"}\n{" if end < last else b"}\n"):
            return None
        placed.append((fields, start, end))
        start = end + 1
    return placed if start == len(block) and block.startswith(b"{") else None


def type_of(fields: Fields) -> str:
    """Return the record's type. Raises: ``TranscriptSyntaxError`` where it has none that is a text."""
    found = text_of(fields.get("type"))
    if found is None:
        refuse(DefectKind.NO_TYPE, "a record has a type")
    return found


def event_type(fields: Fields) -> bytes:
    """Return the type of a loop event as it stands in the file, without quotes; empty where it has none.

    Mostly the first key, read without decoding the rest. Whoever reads more of the event checks its keys.
    Raises: ``TranscriptSyntaxError`` for an event that is no sound object.
    """
    event = fields.get("event", ABSENT)
    head = memoryview(event)[:48].tobytes()
    if head.startswith(_EVENT_START):
        end = head.find(b'"', 9)
        if end > 0:
            return head[9:end]
    if not is_object(event):
        refuse(DefectKind.SHAPE, "an event is an object")
    raw = bytes(fields_of(event).get("type", ABSENT))
    return raw[1:-1] if raw[:1] == b'"' else b""


def is_object(raw: Raw) -> bool:
    """Say whether a raw value is an object."""
    return len(raw) > 0 and memoryview(raw)[0] == 0x7B


def wire_defect_of(body: bytes) -> DefectKind | None:
    """Return which rule the line breaks, ``None`` if it is one sound object."""
    kind = defect_of(body, b"\n")  # never found in a line: what a second record looks like is said here
    if kind is DefectKind.NOT_JSON and _NEXT_RECORD.search(body):
        return DefectKind.GLUED
    return kind


def _typed(fields: Fields) -> Fields:
    if "type" not in fields:
        refuse(DefectKind.NO_TYPE, "a record has a type")
    return fields


def _strictly(body: bytes) -> Fields:
    """Read a line that the fast path left undecided: with white space, or a defect."""
    try:
        if not is_utf8(body):
            refuse(DefectKind.UTF8)
        check_strict(body)
        return _typed(fields_of(body))
    except TranscriptSyntaxError as error:
        refuse(wire_defect_of(body) or error.kind)
