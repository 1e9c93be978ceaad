"""Bytes to lines, however they come, in bounded memory."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from timeline.limits import MCP_LINE_BYTES_MAX
from timeline.mcp_server.lines import LineCutter


def cut(pieces: list[bytes]) -> list[bytes | None]:
    """Feed one cutter."""
    cutter = LineCutter()
    return [line for piece in pieces for line in cutter.feed(piece)]


@given(st.lists(st.binary(max_size=20)), st.lists(st.integers(0, 200)))
def test_lines_do_not_depend_on_how_the_bytes_arrive(lines: list[bytes], cuts: list[int]) -> None:
    """Whole, byte by byte, or torn anywhere."""
    content = b"\n".join(lines)
    places = sorted({0, len(content), *(place for place in cuts if place < len(content))})
    pieces = [content[a:b] for a, b in pairwise(places)]
    expected = [line for line in content.split(b"\n")[:-1] if line.strip()]
    assert cut(pieces) == expected
    assert cut([content[n : n + 1] for n in range(len(content))]) == expected


def test_a_line_of_the_longest_length_is_whole_and_one_more_byte_is_too_long() -> None:
    """The bound is the line's, without its newline; what follows is read again."""
    longest = b"x" * MCP_LINE_BYTES_MAX
    assert cut([longest + b"\n"]) == [longest]
    assert cut([longest, b"x", b"y" * 100, b"\nnext\n"]) == [None, b"next"]
    assert cut([longest + b"x\n", longest + b"\n"]) == [None, longest]


def test_memory_does_not_grow_with_a_line() -> None:
    """Of a line that is too long nothing is kept."""
    cutter = LineCutter()
    for _ in range(4):
        assert list(cutter.feed(b"x" * MCP_LINE_BYTES_MAX)) == []
    assert len(cutter._begun) <= MCP_LINE_BYTES_MAX
