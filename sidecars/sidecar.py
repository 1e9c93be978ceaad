"""A sidecar: what is kept of one span of one transcript, as the payload of a signed envelope.

The payload is lines of JSON: a header, then one event a line, so that one event is a range of bytes. The header
states how many events there are and the Merkle root over their lines; a missing, added, changed or reordered
event therefore shows even where a single line is all that was read. ``docs/spec/sidecar.md`` has the format.

Nothing here is text of a transcript (T2): the header holds numbers, digests, closed words, short names and the
adapter's cursor, which is bounded and has no spaces.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Final, Literal, NamedTuple

import msgspec

from sidecars.digest import Digest
from sidecars.encoding import INTEGER_MAX
from sidecars.errors import DigestMismatchError, MalformedError, UnsupportedVersionError
from sidecars.event import USER_MESSAGE, Event, event_id, format_event, parse_event
from sidecars.merkle import EMPTY_ROOT, leaf_hash, root_of
from sidecars.wire import (
    Count,
    DigestText,
    Identifier,
    Origin,
    SourceRef,
    TypeName,
    format_struct,
    parse_struct,
)

PAYLOAD_TYPE: Final = "application/vnd.timeline.sidecar.v1"
SCHEMA: Final = "timeline-sidecar/v1"
_ANY_SCHEMA = re.compile(r"timeline-sidecar/v[1-9][0-9]{0,3}")

EVENTS_MAX: Final = 4096
"""Events of one source that are kept, hence also of one sidecar (T34)."""

USER_MESSAGES_MAX: Final = 256
"""User messages among them (T33)."""

SPAN_BYTES_MAX: Final = 16 * 1024 * 1024
"""Bytes of a transcript that one sidecar covers: one indexing operation (T19)."""

CHUNK_BYTES: Final = 256 * 1024
"""Bytes under one chunk digest: a re-check of a tail reads at most this much too much."""

CHUNKS_MAX: Final = SPAN_BYTES_MAX // CHUNK_BYTES

CURSOR_BYTES_MAX: Final = 32 * 1024
"""Adapter state between two spans: offsets, digests and ids of calls that have no result yet."""

HEADER_BYTES_MAX: Final = 128 * 1024
"""All chunk digests, the cursor with every character escaped, and room."""

UNKNOWN_TYPES_MAX: Final = 16
"""Names of record types that were not understood; more say nothing more."""

_EMPTY_ROOT_TEXT: Final = str(Digest(EMPTY_ROOT))

Nonce = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{32}\Z")]
"""128 random bits, so that two sidecars with equal content still have different digests."""

Positive = Annotated[int, msgspec.Meta(ge=1, le=INTEGER_MAX)]
"""A number that is left out where it would be 0."""

Understanding = Literal["understood", "partly-understood"]

Cursor = Annotated[str, msgspec.Meta(pattern=r"^[!-~]*\Z", max_length=CURSOR_BYTES_MAX)]
"""Opaque adapter state in visible ASCII without spaces: no prose fits."""


class Tallies(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the adapter met in the span, counted; ``unknown_types`` is sorted and unique."""

    records: Count = 0
    calls: Count = 0
    results: Count = 0
    prompts: Count = 0
    defects: Count = 0
    unknown: Count = 0
    inherited: Count = 0
    unknown_types: Annotated[tuple[TypeName, ...], msgspec.Meta(max_length=UNKNOWN_TYPES_MAX)] = ()


class SidecarHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The first line of a sidecar.

    ``start`` and ``end`` are the bytes of the transcript that it covers; ``chunks`` are the digests of each
    256 KiB of them counted from ``start``, the last one shorter. ``evicted`` events of this source were given up
    before; those whose first line stands below ``keeps_from`` are. User messages are given up by a bound of their own,
    ``messages_from``, which is absent until one is; ``user_messages`` says how many there are among the events of all
    sidecars of the source that are kept, this one included. ``count`` and ``root`` describe the events and are filled
    in by ``format_sidecar``.
    """

    schema: Literal["timeline-sidecar/v1"] = SCHEMA
    origin: Origin
    nonce: Nonce
    source: SourceRef
    host: Identifier
    format: TypeName
    segment: Count
    start: Count
    end: Count
    chunks: Annotated[tuple[DigestText, ...], msgspec.Meta(max_length=CHUNKS_MAX)]
    count: Annotated[int, msgspec.Meta(ge=0, le=EVENTS_MAX)] = 0
    root: DigestText = _EMPTY_ROOT_TEXT
    evicted: Count = 0
    keeps_from: Count = 0
    messages_from: Positive | msgspec.UnsetType = msgspec.UNSET
    user_messages: Positive | msgspec.UnsetType = msgspec.UNSET
    understanding: Understanding
    tallies: Tallies
    cursor: Cursor = ""

    @property
    def bounds(self) -> "Bounds":
        """From where on events of this source are kept."""
        return Bounds(self.keeps_from, self.messages_from or 0)


class Bounds(NamedTuple):
    """From which byte on events of a source are kept, user messages by their own bound (T33, T34)."""

    keeps_from: int = 0
    messages_from: int = 0

    def keeps(self, offset: int, *, is_user_message: bool) -> bool:
        """Whether an event is kept whose first line begins at ``offset``."""
        return offset >= (self.messages_from if is_user_message else self.keeps_from)

    def keeps_event(self, event: Event) -> bool:
        """Whether an event is kept."""
        return self.keeps(event.lines[0].offset, is_user_message=event.kind == USER_MESSAGE)

    def beside(self, other: "Bounds") -> "Bounds":
        """The bounds of both: what is given up once stays so."""
        return Bounds(max(self.keeps_from, other.keeps_from), max(self.messages_from, other.messages_from))


class EventRange(msgspec.Struct, frozen=True):
    """Where an event line stands in the payload, without its newline."""

    offset: int
    length: int


class Sidecar(msgspec.Struct, frozen=True):
    """A parsed sidecar whose count and root were recomputed.

    ``events``, ``ranges`` and ``leaf_hashes`` have equal length and order.
    """

    header: SidecarHeader
    events: tuple[Event, ...]
    ranges: tuple[EventRange, ...]
    leaf_hashes: tuple[bytes, ...]


_DECODER: Final = msgspec.json.Decoder(SidecarHeader)


def format_sidecar(header: SidecarHeader, events: Sequence[Event]) -> tuple[bytes, Sidecar]:
    """The payload of these events, and the sidecar that it spells, with count and root filled in.

    ``header.count`` and ``header.root`` are replaced.

    Raises:
        MalformedError: a field, or the order of the events, is against the rules.
    """
    lines = [format_event(event) for event in events]
    hashes = tuple(leaf_hash(line) for line in lines)
    header = msgspec.structs.replace(header, count=len(lines), root=str(Digest(root_of(hashes))))
    first = format_struct(header, _DECODER, "sidecar header")
    _check_header(header)
    _check_events(header, events)
    sidecar = Sidecar(header, tuple(events), _ranges(len(first), lines), hashes)
    return b"\n".join([first, *lines, b""]), sidecar


def parse_sidecar(payload: bytes) -> Sidecar:
    """Read a payload that was verified before.

    Raises:
        MalformedError: against the format; ``NonCanonicalError`` for another spelling.
        UnsupportedVersionError: a sidecar of another version.
        DigestMismatchError: the events are not those that count and root stand for.
    """
    if not payload.endswith(b"\n"):
        raise MalformedError("a sidecar must end with a newline")
    first, *lines = payload[:-1].split(b"\n", EVENTS_MAX + 1)
    header = parse_header(first)
    if len(lines) != header.count:
        raise DigestMismatchError("a sidecar must hold exactly as many events as its header counts")
    hashes = tuple(leaf_hash(line) for line in lines)
    if str(Digest(root_of(hashes))) != header.root:
        raise DigestMismatchError("a sidecar's event lines must hash to the root in its header")
    events = []
    for number, line in enumerate(lines):
        try:
            events.append(parse_event(line))
        except MalformedError as error:
            raise type(error)(f"sidecar event {number}: {error.rule}") from error
    _check_events(header, events)
    return Sidecar(header, tuple(events), _ranges(len(first), lines), hashes)


def parse_header(line: bytes) -> SidecarHeader:
    """Read a sidecar's first line alone (without its newline).

    Raises:
        MalformedError: against the format; ``NonCanonicalError`` for another spelling.
        UnsupportedVersionError: a sidecar of another version.
    """
    if len(line) > HEADER_BYTES_MAX:
        raise MalformedError(f"a sidecar header must be at most {HEADER_BYTES_MAX} bytes")
    try:
        header = parse_struct(line, _DECODER, "sidecar header")
    except MalformedError as error:
        if _is_newer(line):
            raise UnsupportedVersionError(f"the sidecar's schema must be {SCHEMA}") from error
        raise
    _check_header(header)
    return header


def span_chunks(start: int, end: int) -> int:
    """How many chunk digests the span has."""
    return -(-(end - start) // CHUNK_BYTES)


class _SchemaOnly(msgspec.Struct):
    schema: str


def _is_newer(line: bytes) -> bool:
    """Whether a header that is not ours says that it is of another version."""
    try:
        schema = msgspec.json.decode(line, type=_SchemaOnly).schema
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return schema != SCHEMA and _ANY_SCHEMA.fullmatch(schema) is not None


def _check_header(header: SidecarHeader) -> None:
    if not 0 <= header.end - header.start <= SPAN_BYTES_MAX:
        raise MalformedError(f"a sidecar must cover 0 to {SPAN_BYTES_MAX} bytes")
    if len(header.chunks) != span_chunks(header.start, header.end):
        raise MalformedError(f"a sidecar must have one digest for each {CHUNK_BYTES} bytes that it covers")
    if header.segment == 0 and header.start != 0:
        raise MalformedError("the first segment of a source must start at byte 0")
    names = header.tallies.unknown_types
    if list(names) != sorted(set(names)):
        raise MalformedError("unknown types must be sorted and unique")


def _check_events(header: SidecarHeader, events: Sequence[Event]) -> None:
    before, bounds, messages = (-1, ""), header.bounds, 0
    for event in events:
        key = event.sort_key
        if key <= before:
            raise MalformedError("a sidecar's events must be sorted by first line and id, without repeats")
        before = key
        if event.lines[-1].end > header.end:
            raise MalformedError("an event's lines must lie before the end of the span")
        messages += event.kind == USER_MESSAGE
        if not bounds.keeps_event(event):
            raise MalformedError("an event must not begin below its bound: it counts as evicted")
        if event.id != event_id(header.source, event.lines):
            raise MalformedError("an event's id must be that of its source and lines")
    if messages > min(USER_MESSAGES_MAX, header.user_messages or 0):
        raise MalformedError(
            f"a sidecar must hold at most {USER_MESSAGES_MAX} user messages, all counted by its header"
        )


def _ranges(first_bytes: int, lines: Sequence[bytes]) -> tuple[EventRange, ...]:
    ranges = []
    offset = first_bytes + 1
    for line in lines:
        ranges.append(EventRange(offset, len(line)))
        offset += len(line) + 1
    return tuple(ranges)
