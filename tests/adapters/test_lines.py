"""Framing: 0x0A ends a line and nothing else does; long lines are counted, never held."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.lines import Block, Line, LineSplitter, Overlong, lines_of

PIECES = st.lists(st.binary(max_size=30) | st.sampled_from([b"\n", b"\r\n", b"a\nb"]), max_size=12)


@given(PIECES, st.integers(0, 1000))
def test_lines_are_the_pieces_between_newlines(pieces: list[bytes], offset: int) -> None:
    """However the bytes arrive, the lines are ``split(0x0A)`` with their places, and the rest is pending."""
    data = b"".join(pieces)
    splitter = LineSplitter(offset)
    lines = [line for piece in pieces for line in splitter.feed(piece)]
    *expected, rest = data.split(b"\n")
    assert [line.raw for line in lines if isinstance(line, Line)] == expected
    for line in lines:
        assert isinstance(line, Line)
        start = line.offset - offset
        assert data[start : start + len(line.raw) + 1] == line.raw + b"\n"
    assert splitter.pending == (offset + len(data) - len(rest), len(rest))


@given(PIECES, st.integers(0, 12))
def test_a_line_over_the_limit_is_only_a_place(pieces: list[bytes], limit: int) -> None:
    """In any pieces, a line over the limit gives offset and length, and the next line is whole again."""
    data = b"".join(pieces)
    expected, start = [], 0
    for raw in data.split(b"\n")[:-1]:
        expected.append(Line(start, raw) if len(raw) <= limit else Overlong(start, len(raw)))
        start += len(raw) + 1
    for step in (1, 5, max(1, len(data))):
        splitter = LineSplitter(max_line=limit)
        cuts = (data[at : at + step] for at in range(0, len(data), step))
        assert [line for cut in cuts for line in splitter.feed(cut)] == expected
        assert splitter.pending == (start, len(data) - start)


@given(PIECES)
def test_blocks_hold_the_same_lines(pieces: list[bytes]) -> None:
    """``feed_blocks`` gives the lines of ``feed``, several at a time."""
    one, other = LineSplitter(), LineSplitter()
    for piece in pieces:
        flat: list[object] = []
        for part in one.feed_blocks(piece):
            if isinstance(part, Block):
                assert part.raw.endswith(b"\n")
                flat.extend(lines_of(part))
            else:
                flat.append(part)
        assert flat == list(other.feed(piece))
    assert one.pending == other.pending


def test_the_buffer_may_be_reused() -> None:
    """Lines keep their bytes when the caller overwrites its buffer."""
    buffer = bytearray(b"one\ntwo\nthr")
    splitter = LineSplitter()
    lines = list(splitter.feed(memoryview(buffer)))
    buffer[:] = b"x" * len(buffer)
    lines += list(splitter.feed(b"ee\n"))
    assert [line.raw for line in lines if isinstance(line, Line)] == [b"one", b"two", b"three"]


def test_other_line_ends_do_not_cut() -> None:
    """U+2028, U+2029, U+0085, form feed and a lone carriage return are ordinary bytes."""
    raw = "a\u2028b\u2029c\u0085d\x0ce\rf".encode()
    assert list(LineSplitter().feed(raw + b"\r\n")) == [Line(0, raw + b"\r")]


@pytest.mark.parametrize("megabytes", [8, 64])
def test_memory_does_not_grow_with_a_line(megabytes: int) -> None:
    """A line of any length costs the limit at most, not its length."""
    splitter = LineSplitter(max_line=1024 * 1024)
    piece = b"x" * 65_536
    tracemalloc.start()
    try:
        for _ in range(megabytes * 16):
            assert not list(splitter.feed(piece))
        found = list(splitter.feed(b"\nnext\n"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    length = megabytes * 1024 * 1024
    assert found == [Overlong(0, length), Line(length + 1, b"next")]
    assert peak < 4 * 1024 * 1024
