"""Bounded indexing of one enrolled transcript (T19): each operation reads one span and commits one sidecar.

An operation covers 64 KiB to 16 MiB. What the adapter must remember between two is its cursor, kept in the signed
sidecar: offsets, digests and counts, no text. A line longer than the reader's limit is skipped to its end, over as
many operations as that takes. The source is re-checked before and after; nothing is committed from a file that
changed meanwhile.
"""

import gc
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from adapters.base import Adapter, Cursor, Header, Reader, Verdict, decode_cursor, encode_cursor
from adapters.lines import MAX_LINE_BYTES, Block, Line, LineSplitter, Overlong
from adapters.record import Record, ToolResult
from adapters.registry import ADAPTERS
from sidecars.digest import Digest
from sidecars.errors import MalformedError
from sidecars.event import Event
from sidecars.leaf import Leaf, SidecarEntry
from sidecars.sidecar import CHUNK_BYTES, UNKNOWN_TYPES_MAX, SidecarHeader, Tallies, format_sidecar
from timeline.account import expected_rows, is_accounted, sidecar_rows
from timeline.errors import FormatNotUnderstoodError, LimitError, TranscriptSessionError
from timeline.events import event_of, read_header
from timeline.guard.enrollment import snapshot_of
from timeline.limits import EVENTS_PER_SOURCE_MAX, INDEX_BYTES_MAX, INDEX_BYTES_MIN, READ_BYTES
from timeline.projection import SourceRows, source_rows, update_source, write_source, write_vocabulary
from timeline.source import OpenSource, open_source
from timeline.state import State, VerifiedSidecar
from timeline.store import Store
from timeline.view import EnrolledSource

Progress = Callable[[int, int], None]
"""Told after each operation: bytes done, bytes in all."""

_NONCE_BYTES = 16


class IndexResult(msgspec.Struct, frozen=True):
    """What indexing did. ``pending`` are the bytes of an unfinished last line."""

    source: EnrolledSource
    indexed: int
    size: int
    added: int
    events: int
    evicted: int
    operations: int
    understanding: str
    tallies: Tallies
    pending: int

    @property
    def complete(self) -> bool:
        """Whether the whole snapshot was read."""
        return self.indexed >= self.size


class _Progressing(msgspec.Struct):
    """What an indexing run knows between two operations."""

    position: int
    segment: int
    cursor: Cursor | None
    rows: SourceRows
    evicted: int
    keeps_from: int
    understanding: str
    tallies: Tallies
    pending: int = 0


class _Span(msgspec.Struct):
    """What one operation read."""

    start: int
    end: int
    chunks: list[str]
    records: list[ToolResult]
    cursor: Cursor
    pending: int


def index_source(
    state: State,
    source: EnrolledSource,
    *,
    max_bytes: int = INDEX_BYTES_MAX,
    operations: int | None = None,
    progress: Progress | None = None,
) -> IndexResult:
    """Index a source from where it stands, in operations of at most ``max_bytes``; the caller holds the lock.

    ``operations`` bounds how many are run; ``None`` runs to the end of the snapshot.

    Raises:
        LimitError: ``max_bytes`` is not within 64 KiB to 16 MiB (T19).
        SourceError: the transcript is not the enrolled snapshot, or its content does not add up.
        AdapterError: it is not of a format that is read.
        StateError, SidecarError: the state cannot be used or written.
    """
    if not INDEX_BYTES_MIN <= max_bytes <= INDEX_BYTES_MAX:
        message = f"max bytes: must be {INDEX_BYTES_MIN} to {INDEX_BYTES_MAX}"
        raise LimitError(message)
    snapshot = snapshot_of(source.enrollment)
    adapter = ADAPTERS[source.enrollment.binding.host]
    standing = _standing(state, source)
    done = added = 0
    if not snapshot.size:
        adapter.read_header(b"")  # refuses, with the reason: a file without a byte is no transcript yet
    with _without_collector():
        while standing.position < snapshot.size and (operations is None or done < operations):
            with open_source(snapshot) as opened:
                header = read_header(adapter, opened)
                _check_session(source, header)
                span, reader = _read_span(adapter, header, opened, standing, max_bytes)
                opened.check()
            events = _events(state, source, span.records)
            added += len(events)
            _commit_span(state, source, adapter, standing, span, events, reader)
            done += 1
            if progress is not None:
                progress(standing.position, snapshot.size)
    return IndexResult(
        source=source,
        indexed=standing.position,
        size=snapshot.size,
        added=added,
        events=len(standing.rows.events),
        evicted=standing.evicted,
        operations=done,
        understanding=standing.understanding,
        tallies=standing.tallies,
        pending=standing.pending,
    )


def _check_session(source: EnrolledSource, header: Header) -> None:
    """The file's own header must name the session that was enrolled (T70)."""
    if header.session_id != source.enrollment.binding.session:
        message = f"{source.enrollment.source.path}: its header names another session"
        raise TranscriptSessionError(message)


def _standing(state: State, source: EnrolledSource) -> _Progressing:
    """Where a source stands; its index is built again from the sidecars where it does not account for them."""
    rows = expected_rows(state, source)
    if not is_accounted(state, source):
        with state.store.transaction():
            write_source(state.store, source.index, rows)
            write_vocabulary(state.store)
    if not source.entries:
        return _Progressing(0, 0, None, rows, 0, 0, Verdict.UNDERSTOOD.value, Tallies())
    header = state.sidecar(source.entries[-1]).header
    cursor = decode_cursor(header.cursor)
    return _Progressing(
        position=header.end,
        segment=header.segment + 1,
        cursor=cursor,
        rows=rows,
        evicted=header.evicted,
        keeps_from=header.keeps_from,
        understanding=header.understanding,
        tallies=header.tallies,
        pending=max(0, header.end - cursor.offset),
    )


def _read_span(
    adapter: Adapter, header: Header, opened: OpenSource, standing: _Progressing, max_bytes: int
) -> tuple[_Span, Reader]:
    """Read one span: hash it in chunks and feed its lines to the adapter's reader."""
    start, size = standing.position, opened.snapshot.size
    end = min(size, start + max_bytes)
    reader = adapter.reader(header, standing.cursor)
    if standing.cursor is not None:
        reader.resume([Line(ref.offset, opened.read(ref.offset, ref.length)) for ref in reader.open_lines])
    begin = start if standing.cursor is None else standing.cursor.offset
    framer = _Framer(begin, skipping=begin > 0 and opened.read(begin - 1, 1) != b"\n")
    records: list[ToolResult] = []
    if begin < start:  # the unfinished line of the span before, read again now that there is more of it
        _feed(reader, framer.feed(opened.read(begin, start - begin)), records)
    chunks: list[str] = []
    buffer = memoryview(bytearray(READ_BYTES))
    for position in range(start, end, READ_BYTES):
        piece = buffer[: min(READ_BYTES, end - position)]
        if opened.read_into(piece, position) != len(piece):
            opened.check()
        chunks += [
            str(Digest(hashlib.sha256(piece[at : at + CHUNK_BYTES]).digest()))
            for at in range(0, len(piece), CHUNK_BYTES)
        ]
        _feed(reader, framer.feed(piece), records)
    given_up = framer.give_up()
    if given_up is not None:
        records += _results(reader.feed(given_up))
    cursor = _redacted(msgspec.structs.replace(reader.cursor(), offset=framer.offset))
    if end == size:
        records += _results(reader.finish())
    return _Span(start, end, chunks, records, cursor, end - framer.offset), reader


def _redacted(cursor: Cursor) -> Cursor:
    """The cursor as it may be stored: a tool's name is the model's own words, so only how many calls there were."""
    calls = sum(cursor.tallies.tool_calls.values())
    cursor.tallies.tool_calls = {"any": calls} if calls else {}
    return cursor


class _Framer:
    """Cuts lines like ``LineSplitter``, and can begin and end inside a line that is too long to be read."""

    def __init__(self, offset: int, *, skipping: bool) -> None:
        self._skipping = skipping
        self._position = offset
        self._splitter = LineSplitter(offset)

    def feed(self, piece: bytes | memoryview) -> Iterator[Block | Line | Overlong]:
        """What the piece completes."""
        rest: bytes | memoryview = piece
        if self._skipping:
            found = bytes(piece).find(b"\n")
            if found < 0:
                self._position += len(piece)
                return
            self._skipping = False
            self._position += found + 1
            self._splitter = LineSplitter(self._position)
            rest = piece[found + 1 :]
        self._position += len(rest)
        yield from self._splitter.feed_blocks(rest)

    def give_up(self) -> Overlong | None:
        """At the end of a span: an unfinished line over the limit is counted now and skipped from here on."""
        offset, length = self._splitter.pending
        if self._skipping or length <= MAX_LINE_BYTES:
            return None
        self._skipping = True
        return Overlong(offset, length)

    @property
    def offset(self) -> int:
        """The first byte that belongs to no line fed so far."""
        return self._position if self._skipping else self._splitter.pending[0]


def _feed(reader: Reader, pieces: Iterator[Block | Line | Overlong], records: list[ToolResult]) -> None:
    for piece in pieces:
        found = reader.feed_block(piece) if isinstance(piece, Block) else reader.feed(piece)
        if found:
            records += _results(found)


def _results(records: Sequence[Record]) -> list[ToolResult]:
    return [record for record in records if isinstance(record, ToolResult)]


def _events(state: State, source: EnrolledSource, records: list[ToolResult]) -> list[Event]:
    ref, key = source.enrollment.source.ref, state.keystore.fingerprint_key
    with _storable(source):
        events = [event_of(record, source_ref=ref, fingerprint_key=key) for record in records]
    return sorted((event for event in events if event is not None), key=lambda event: event.sort_key)


@contextmanager
def _storable(source: EnrolledSource) -> Iterator[None]:
    """Refuse the one file whose content does not fit the stored types; the next file is indexed all the same."""
    try:
        yield
    except MalformedError as error:
        message = f"{source.enrollment.source.path}: a value cannot be stored: {error.rule}"
        raise FormatNotUnderstoodError(message) from error


def _commit_span(
    state: State,
    source: EnrolledSource,
    adapter: Adapter,
    standing: _Progressing,
    span: _Span,
    events: list[Event],
    reader: Reader,
) -> None:
    """Commit one sidecar for the span, and move ``standing`` behind it."""
    understanding = standing.understanding
    if span.end == snapshot_of(source.enrollment).size:
        understanding = _check_understood(source, reader)
    elif reader.tallies.unknown_types:
        understanding = Verdict.PARTLY.value
    kept, evicted, keeps_from = _evict(standing, events)
    header = SidecarHeader(
        origin=state.keystore.pins.origin,
        nonce=state.ports.entropy.bytes(_NONCE_BYTES).hex(),
        source=source.enrollment.source.ref,
        host=adapter.host,
        format=adapter.format,
        segment=standing.segment,
        start=span.start,
        end=span.end,
        chunks=tuple(span.chunks),
        evicted=evicted,
        keeps_from=keeps_from,
        understanding="understood" if understanding == Verdict.UNDERSTOOD.value else "partly-understood",
        tallies=_tallies(reader),
        cursor=encode_cursor(span.cursor),
    )
    with _storable(source):
        payload, sidecar = format_sidecar(header, kept)
    verified = state.put_sidecar(payload, sidecar)
    entry = SidecarEntry(
        digest=str(verified.digest),
        source=header.source,
        segment=header.segment,
        enrollment_id=source.enrollment.enrollment_id,
        count=sidecar.header.count,
        root=sidecar.header.root,
        evicts=_emptied(state, source, keeps_from),
    )
    new = sidecar_rows(source.index, verified, sidecar)
    rows = source_rows([row for row in (*standing.rows.events, *new) if row.pos >= keeps_from])
    old = standing.rows

    def project(store: Store, _leaves: Sequence[Leaf]) -> None:
        update_source(store, source.index, old, rows)
        write_vocabulary(store)

    state.commit([entry], project=project)
    standing.position, standing.segment = span.end, standing.segment + 1
    standing.cursor, standing.pending = span.cursor, span.pending
    standing.rows, standing.evicted, standing.keeps_from = rows, evicted, keeps_from
    standing.understanding, standing.tallies = understanding, header.tallies


def _evict(standing: _Progressing, events: list[Event]) -> tuple[list[Event], int, int]:
    """Which new events stay, how many were evicted in all, and from which offset events are kept (T34)."""
    places = sorted([row.pos for row in standing.rows.events] + [event.lines[0].offset for event in events])
    surplus = len(places) - EVENTS_PER_SOURCE_MAX
    # Events may begin at one place (several calls in one line): they go together.
    keeps_from = places[surplus - 1] + 1 if surplus > 0 else standing.keeps_from
    evicted = standing.evicted + sum(place < keeps_from for place in places)
    return [event for event in events if event.lines[0].offset >= keeps_from], evicted, keeps_from


def _emptied(state: State, source: EnrolledSource, keeps_from: int) -> tuple[str, ...]:
    """Sidecars that hold no kept event any more. The last one stays: it holds the cursor until the next is in."""
    current = next(s for s in state.view.active if s.index == source.index)
    return tuple(
        sorted(
            entry.digest
            for entry in current.kept
            if entry.count and _all_below(state.sidecar(entry), keeps_from)
        )
    )


def _all_below(sidecar: VerifiedSidecar, keeps_from: int) -> bool:
    return sidecar.header.end <= keeps_from


def _check_understood(source: EnrolledSource, reader: Reader) -> str:
    check = reader.self_check()
    if check.verdict is Verdict.NOT:
        message = f"{source.enrollment.source.path}: {', '.join(check.reasons)}"
        raise FormatNotUnderstoodError(message)
    return check.verdict.value


def _tallies(reader: Reader) -> Tallies:
    """The adapter's counts, reduced to what a sidecar states; all of the source so far."""
    found = reader.tallies
    outcomes = found.outcomes
    return Tallies(
        records=sum(found.records.values()),
        calls=sum(found.tool_calls.values()),
        results=outcomes.success + outcomes.failure + outcomes.unknown + outcomes.cancelled,
        prompts=found.prompts,
        defects=sum(found.defects.values()),
        unknown=sum(found.unknown_types.values()),
        inherited=found.inherited_prompts,
        unknown_types=tuple(sorted(found.unknown_types))[:UNKNOWN_TYPES_MAX],
    )


@contextmanager
def _without_collector() -> Iterator[None]:
    """Hold Python's cycle collector off: decoding makes many objects and no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
