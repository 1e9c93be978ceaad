"""The outer level of a line, strictly: a record's fields.

Claude Code writes some sixty different top-level keys in orders that change with the version, so a record is a
dictionary of raw values. A block of lines is decoded at once, in one call. That is sound: a record is at least as
long as its compact form, so where the compact length is exactly the length of the line (``adapters.decode.adds_up``),
the record is that line and nothing else, no key was said twice, and the next record begins with the next line. At the
first doubt the rest goes line by line, with equal results.
"""

import codecs
from collections.abc import Iterator
from typing import Final

import msgspec

from adapters.decode import (
    Fields,
    Raw,
    adds_up,
    check_strict,
    closes_deep,
    defect_of,
    fields_of,
    is_utf8,
    refuse,
)
from adapters.errors import DefectKind, TranscriptSyntaxError

RECORD_STARTS: Final = (b'{"parentUuid":', b'{"type":"')
"""How records begin, those of the conversation and those beside it; further on in a line such a beginning, outside
a string, means that two writes share the line. A string cannot hold one: its quotes would be escaped."""

_CLOSERS: Final = b"]}"
_DEEP: Final = 16
"""No line that ends before this byte of a block closes many brackets."""


_OBJECT = msgspec.json.Decoder(Fields)
Placed = tuple[Fields, int, int]
"""A record with the start and the end of its line in the block."""


def record_of(raw: bytes) -> Fields:
    """Return the record on the line ``raw``. Raises: ``TranscriptSyntaxError`` with the kind of the rule broken."""
    body = raw[:-1] if raw.endswith(b"\r") else raw
    if is_utf8(body) and not closes_deep(body):
        try:
            found = _OBJECT.decode(body)
        except (msgspec.DecodeError, RecursionError):
            return _strictly(body)
        if adds_up(found, len(body)):
            return found
    return _strictly(body)


def records_of(block: bytes) -> Iterator[Placed]:
    """Yield the records of whole lines in order, up to the first line that needs a closer look."""
    if not is_utf8(block):
        return
    try:
        records = _OBJECT.decode_lines(block)
    except (msgspec.DecodeError, RecursionError):
        return
    start, find = 0, block.find
    for record in records:
        end = find(b"\n", start)
        # `adds_up`, written out: this runs for every line of every file.
        length = 1 + 4 * len(record) + len("".join(record)) + sum(map(len, record.values()))
        # The sum is short by one for an object without keys, which then could stand for another line.
        if not record or length != end - start:
            return
        if end >= _DEEP and block[end - 16] in _CLOSERS and closes_deep(block, start, end):
            return
        yield record, start, end
        start = end + 1


def _strictly(body: bytes) -> Fields:
    """Read a line that the fast path left undecided: with white space, escaped keys, or a defect."""
    if not is_utf8(body):
        refuse(_defect_of(body) or DefectKind.UTF8)
    try:
        if closes_deep(body):
            check_strict(body)
        return fields_of(body)
    except TranscriptSyntaxError as error:
        refuse(_defect_of(body) or error.kind)


def _defect_of(body: bytes) -> DefectKind | None:
    """Return which rule a line breaks; a beginning of a record inside it means that two writes share it."""
    found = defect_of(body, RECORD_STARTS[0])
    if found is DefectKind.NOT_JSON and body.find(RECORD_STARTS[1], 1) > 0:
        return DefectKind.GLUED
    return found


def object_of(raw: Raw | None) -> Fields | None:
    """Return the fields of a value that is an object, ``None`` for any other. Raises: ``TranscriptSyntaxError``."""
    return fields_of(raw) if raw is not None and is_object(raw) else None


def is_object(raw: Raw) -> bool:
    """Say whether a raw value is an object."""
    return len(raw) > 0 and memoryview(raw)[0] == 0x7B


def without_mark(body: bytes) -> bytes:
    """Return a line without a byte order mark and without its carriage return."""
    return body.removeprefix(codecs.BOM_UTF8).removesuffix(b"\r")
