"""Reading one span of a transcript (T19): its chunks are hashed, and its lines are fed to the adapter's reader.

What a span leaves to the next one is the adapter's cursor: offsets, digests and counts, no text. A line longer than
the reader's limit is skipped to its end, over as many spans as that takes. Nothing here is kept or committed.
"""

import gc
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from adapters.base import Adapter, Cursor, Header, Reader
from adapters.lines import MAX_LINE_BYTES, Block, Line, LineSplitter, Overlong
from adapters.record import HumanStatement, Record, ToolResult
from sidecars.digest import Digest
from sidecars.sidecar import CHUNK_BYTES
from timeline.limits import READ_BYTES
from timeline.source import OpenSource
from timeline.statements import StatementLine, refer_to_said


class Span(msgspec.Struct):
    """What was read between two offsets.

    ``results`` are settled; ``open_results`` are those of calls that may still be told more about, given only at the
    end of what is there. ``statements`` are references to what the person typed. ``pending`` counts the bytes of an
    unfinished last line.
    """

    start: int
    end: int
    chunks: tuple[str, ...]
    results: list[ToolResult]
    open_results: list[ToolResult]
    statements: list[StatementLine]
    cursor: Cursor
    pending: int


def read_span(
    adapter: Adapter,
    header: Header,
    opened: OpenSource,
    *,
    cursor: Cursor | None,
    start: int,
    end: int,
    size: int,
) -> tuple[Span, Reader]:
    """Read the bytes from ``start`` to ``end`` of a file of which ``size`` bytes count.

    Raises:
        SourceError: the file is shorter now, or cannot be read.
        AdapterError: the cursor is not of this file, or a line that it names is another one.
    """
    reader = adapter.reader(header, cursor)
    if cursor is not None:
        reader.resume([Line(ref.offset, opened.read(ref.offset, ref.length)) for ref in reader.open_lines])
    begin = start if cursor is None else cursor.offset
    framer = _Framer(begin, skipping=begin > 0 and opened.read(begin - 1, 1) != b"\n")
    found = _Found(adapter, header, reader)
    if begin < start:  # the unfinished line of the span before, read again now that there is more of it
        found.feed(framer.feed(opened.read(begin, start - begin)))
    chunks: list[str] = []
    buffer = memoryview(bytearray(min(READ_BYTES, end - start)))
    for position in range(start, end, READ_BYTES):
        piece = buffer[: min(READ_BYTES, end - position)]
        if opened.read_into(piece, position) != len(piece):
            opened.check()
        chunks += [
            str(Digest(hashlib.sha256(piece[at : at + CHUNK_BYTES]).digest()))
            for at in range(0, len(piece), CHUNK_BYTES)
        ]
        found.feed(framer.feed(piece))
    given_up = framer.give_up()
    if given_up is not None:
        found.feed(iter((given_up,)))
    after = _redacted(msgspec.structs.replace(reader.cursor(), offset=framer.offset))
    open_results = _results(reader.finish()) if end == size else []
    pending = end - framer.offset
    span = Span(start, end, tuple(chunks), found.results, open_results, found.statements, after, pending)
    return span, reader


def _redacted(cursor: Cursor) -> Cursor:
    """The cursor as it may be stored: a tool's name is the model's own words, so only how many calls there were."""
    calls = sum(cursor.tallies.tool_calls.values())
    cursor.tallies.tool_calls = {"any": calls} if calls else {}
    cursor.tallies.evidence, cursor.tallies.failure_codes = (
        {},
        {},
    )  # told by no answer, and worded with spaces
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


class _Found:
    """What the lines of a span give: results, and references to statements, read from the very bytes that were fed."""

    def __init__(self, adapter: Adapter, header: Header, reader: Reader) -> None:
        self._adapter, self._header, self._reader = adapter, header, reader
        self.results: list[ToolResult] = []
        self.statements: list[StatementLine] = []

    def feed(self, pieces: Iterator[Block | Line | Overlong]) -> None:
        for piece in pieces:
            records = self._reader.feed_block(piece) if isinstance(piece, Block) else self._reader.feed(piece)
            for record in records:
                if isinstance(record, ToolResult):
                    self.results.append(record)
                elif isinstance(record, HumanStatement) and not isinstance(piece, Overlong):
                    self._refer(record, piece)

    def _refer(self, said: HumanStatement, piece: Block | Line) -> None:
        begin = said.offset - piece.offset
        raw = piece.raw[begin : begin + said.length]
        reference = refer_to_said(self._adapter, self._header, said, raw)
        if reference is not None:
            self.statements.append(reference)


def _results(records: Sequence[Record]) -> list[ToolResult]:
    return [record for record in records if isinstance(record, ToolResult)]


@contextmanager
def without_collector() -> Iterator[None]:
    """Hold Python's cycle collector off: decoding makes many objects and no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
