"""Bounded framing of a transcript into physical lines: ``0x0A`` ends a line, and nothing else does.

- Bytes are pushed in pieces of any size; byte by byte and whole give the same lines.
- The bytes after the last ``0x0A`` are *pending*: not an error, and not a line.
- A line over the limit is skipped to its end and reported by place; its bytes are never held.
- One ``0x0D`` before the ``0x0A`` belongs to the line's bytes and is dropped only for decoding.

It does not decode, and it does not read files. U+2028, U+2029, U+0085, form feeds and lone carriage returns are
ordinary text here: other splitters cut records at them.
"""

from collections.abc import Iterator
from typing import NamedTuple

MAX_LINE_BYTES = 8 * 1024 * 1024
"""Longest line that is read, in bytes. The longest measured in real sessions is 2.1 MB; single lines of 19 and
43 MB were reported and hold images, which carry no evidence. Bounds memory to a small multiple of this."""


class Line(NamedTuple):
    """One physical line: where it starts, and its bytes without the ``0x0A``."""

    offset: int
    raw: bytes


class CitedLine(NamedTuple):
    """A line that a result named: where it starts, its bytes, and which of its content blocks was meant."""

    offset: int
    raw: bytes
    part: int = 0


class Place(NamedTuple):
    """Where a line is: its offset in the file, and where its bytes stand in what was read; copied when wanted."""

    offset: int
    within: bytes
    start: int
    end: int

    @property
    def length(self) -> int:
        """How many bytes the line has."""
        return self.end - self.start

    @property
    def raw(self) -> bytes:
        """The line's bytes."""
        return self.within[self.start : self.end]


class Overlong(NamedTuple):
    """A physical line over the limit: where it starts, and how many bytes it has without the ``0x0A``."""

    offset: int
    length: int


class Block(NamedTuple):
    """Whole physical lines in a row: where the first starts, and their bytes, each with its ``0x0A``."""

    offset: int
    raw: bytes


class LineSplitter:
    """Cuts pushed bytes into lines. ``offset`` is where the first byte to be pushed stands in the file."""

    __slots__ = ("_held", "_limit", "_skipping", "_start")

    def __init__(self, offset: int = 0, max_line: int = MAX_LINE_BYTES) -> None:
        self._start = offset
        self._limit = max_line
        self._held = bytearray()
        self._skipping = 0

    @property
    def pending(self) -> tuple[int, int]:
        """Offset and length of the unfinished last line; the length is 0 where there is none."""
        return self._start, self._skipping + len(self._held)

    def feed(self, chunk: bytes | bytearray | memoryview) -> Iterator[Line | Overlong]:
        """Yield the lines that ``chunk`` completes, in file order; see ``feed_blocks``."""
        for piece in self.feed_blocks(chunk):
            if isinstance(piece, Block):
                yield from lines_of(piece)
            else:
                yield piece

    def feed_blocks(self, chunk: bytes | bytearray | memoryview) -> Iterator[Block | Line | Overlong]:
        """Yield what ``chunk`` completes, in file order: the line it ends first, then its whole lines as one block.

        ``chunk`` is copied, so that the caller may reuse its buffer. An iterator that is not exhausted loses the
        rest of its chunk.
        """
        data = bytes(chunk)
        begin = 0
        if self._held or self._skipping:
            end = data.find(b"\n")
            if end < 0:
                self._hold(data)
                return
            yield self._finish(data[:end])
            begin = end + 1
        end = data.rfind(b"\n", begin) + 1
        if end > begin:
            offset, self._start = self._start, self._start + end - begin
            block = Block(offset, data[begin:end])
            if end - begin <= self._limit:
                yield block
            else:
                yield from self._bounded(block)
        self._hold(data[max(begin, end) :])

    def _bounded(self, block: Block) -> Iterator[Line | Overlong]:
        """Yield the lines of a block that is larger than the limit on a line."""
        for line in lines_of(block):
            yield line if len(line.raw) <= self._limit else Overlong(line.offset, len(line.raw))

    def _hold(self, part: bytes) -> None:
        """Keep ``part`` of an unfinished line, or only count it once the line is over the limit."""
        if self._skipping or len(self._held) + len(part) > self._limit:
            self._skipping += len(self._held) + len(part)
            self._held = bytearray()
        else:
            self._held += part

    def _finish(self, part: bytes) -> Line | Overlong:
        """End the unfinished line with ``part``."""
        self._hold(part)
        offset, length = self.pending
        raw = bytes(self._held)
        overlong = self._skipping > 0
        self._held, self._skipping = bytearray(), 0
        self._start = offset + length + 1
        return Overlong(offset, length) if overlong else Line(offset, raw)


def lines_of(block: Block) -> Iterator[Line]:
    """Yield the lines of ``block``, none of which is over the limit of the splitter that made it."""
    offset, raw = block
    begin, find = 0, raw.find
    while (end := find(b"\n", begin)) >= 0:
        yield Line(offset + begin, raw[begin:end])
        begin = end + 1
