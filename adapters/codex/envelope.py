"""The envelope of a line, strictly: ``{"timestamp":…,"type":…,"payload":{…}[,"ordinal":…][,"metadata":…]}``.

The payload stays raw; who reads one asks ``adapters.decode.fields_of``, which checks that level in its turn.

A block of lines is decoded at once, in one call. That is sound: a record is at least as long as its compact form, so
where the compact length is exactly the length of the line, the record is that line and nothing else, no key was said
twice, and the next record begins with the next line. At the first doubt the rest goes line by line, with equal results.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from adapters.decode import (
    Raw,
    adds_up,
    check_strict,
    closes_deep,
    defect_of,
    fields_of,
    is_utf8,
    refuse,
    text_of,
)
from adapters.errors import DefectKind, TranscriptSyntaxError

RECORD_START: Final = b'{"timestamp":'
"""How Codex begins every record; further on in a line it means that two writes share it."""

ABSENT: Final = Raw(b"")
"""The raw value of a field that the record does not have."""


class Envelope(msgspec.Struct, gc=False):
    """One record: ``type``, and the raw time, payload, ordinal and metadata (``ABSENT`` where it has none)."""

    type: str
    payload: Raw
    timestamp: Raw = ABSENT
    ordinal: Raw = ABSENT
    metadata: Raw = ABSENT


Placed = tuple[Envelope, int, int]
"""A record with the start and the end of its line in the block."""

_SMALL: Final = 512
"""Up to this length a payload is copied whole: taking a part of it costs more."""

_CLOSERS: Final = b"]}"

_ENVELOPE = msgspec.json.Decoder(Envelope)


def envelope_of(raw: bytes) -> Envelope:
    """Return the record on the line ``raw``; its payload is an object unless the type is for the caller to refuse.

    Raises: ``TranscriptSyntaxError`` with the kind of the rule broken.
    """
    body = raw[:-1] if raw.endswith(b"\r") else raw
    if is_utf8(body) and not closes_deep(body):
        try:
            found = _ENVELOPE.decode(body)
        except (msgspec.DecodeError, RecursionError):
            return _strictly(body)
        if _compact_length(found) == len(body):
            return found
    return _strictly(body)


def envelopes_of(block: bytes) -> Iterator[Placed]:
    """Yield the records of whole lines in order, up to the first line that needs a closer look."""
    if not is_utf8(block):
        return
    try:
        records = _ENVELOPE.decode_lines(block)
    except (msgspec.DecodeError, RecursionError):
        return
    start, find = 0, block.find
    for record in records:
        end = find(b"\n", start)
        # `_compact_length`, written out: a call for each line would cost as much as everything else here.
        length = 35 + len(record.timestamp) + len(record.type) + len(record.payload)
        if record.ordinal is not ABSENT:
            length += 11 + len(record.ordinal)
        if record.metadata is not ABSENT:
            length += 12 + len(record.metadata)
        if length != end - start or (block[end - 16] in _CLOSERS and closes_deep(block, start, end)):
            return
        yield record, start, end
        start = end + 1


def _compact_length(record: Envelope) -> int:
    """Return how long the record's line is when it is compact and holds no key twice.

    The sum of ``adapters.decode.adds_up``, written out: it runs for every line of every file. 35 bytes are the
    braces, three keys with quotes and colons, two commas, and the quotes of the type.
    """
    length = 35 + len(record.timestamp) + len(record.type) + len(record.payload)
    if record.ordinal is not ABSENT:
        length += 11 + len(record.ordinal)
    if record.metadata is not ABSENT:
        length += 12 + len(record.metadata)
    return length


def _strictly(body: bytes) -> Envelope:
    """Read a line that the fast path left undecided: with white space, unknown fields, no time, or a defect."""
    if not is_utf8(body):
        refuse(defect_of(body, RECORD_START) or DefectKind.UTF8)
    try:
        if closes_deep(body):
            check_strict(body)
        fields = fields_of(body)
        if not adds_up(fields, len(body)):
            # Not compact: what is inside the payload is not compact either, and is checked here once.
            check_strict(body)
    except TranscriptSyntaxError as error:
        refuse(defect_of(body, RECORD_START) or error.kind)
    record_type = text_of(fields.get("type"))
    if record_type is None:
        refuse(DefectKind.NO_TYPE, "a record has a type")
    return Envelope(
        type=record_type,
        payload=fields.get("payload", ABSENT),
        timestamp=fields.get("timestamp", ABSENT),
        ordinal=fields.get("ordinal", ABSENT),
        metadata=fields.get("metadata", ABSENT),
    )


def payload_type(record: Envelope) -> bytes:
    """Return the payload's ``type`` as it stands in the file, without quotes; empty where it has none.

    Mostly the first key, read without decoding the rest. Whoever reads more of the payload checks its keys, so
    that a second ``type`` further on is a defect wherever it could matter.
    Raises: ``TranscriptSyntaxError`` for a payload that is no sound object.
    """
    raw = record.payload
    head = bytes(raw) if len(raw) <= _SMALL else memoryview(raw)[:64].tobytes()
    if head.startswith(b'{"type":"'):
        end = head.find(b'"', 9)
        if end > 0:
            return head[9:end]
    if not is_object(record.payload):
        refuse(DefectKind.SHAPE, "a payload is an object")
    raw = fields_of(record.payload).get("type", ABSENT)
    return bytes(raw)[1:-1] if bytes(raw)[:1] == b'"' else b""


def is_object(raw: Raw) -> bool:
    """Say whether a raw value is an object."""
    return len(raw) > 0 and memoryview(raw)[0] == 0x7B
