"""Bytes to lines, with a bound: newline-delimited messages as MCP's stdio transport has them. Pure.

A longer line is skipped to its end and reported once, so that memory does not grow with it and the session goes on.
"""

from collections.abc import Iterator

from timeline.limits import MCP_LINE_BYTES_MAX


class LineCutter:
    """Cuts one stream. ``feed`` takes what was read; what follows the last newline waits for more."""

    def __init__(self) -> None:
        """Begin with nothing read."""
        self._begun = bytearray()
        self._skipping = False

    def feed(self, piece: bytes) -> Iterator[bytes | None]:
        """Each whole line without its newline, blank ones left out; ``None`` for one that was too long."""
        *ends, rest = piece.split(b"\n")
        for end in ends:
            self._keep(end)
            line, too_long = bytes(self._begun), self._skipping
            self._begun.clear()
            self._skipping = False
            if too_long:
                yield None
            elif line.strip():
                yield line
        self._keep(rest)

    def _keep(self, piece: bytes) -> None:
        if self._skipping:
            return
        if len(self._begun) + len(piece) > MCP_LINE_BYTES_MAX:
            self._begun.clear()
            self._skipping = True
        else:
            self._begun += piece
