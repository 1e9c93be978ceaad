"""Stopping and going on, as every reader does it: the lines of open calls are named in a cursor, and asked for again.

A cursor holds no text. What a reader knew of an open call it reads again from exactly the lines that it names here.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Protocol

from adapters.base import OpenLine
from adapters.record import LineRef


class Cited(Protocol):
    """Whatever a reader keeps of a line: it says which line that was."""

    @property
    def ref(self) -> LineRef:
        """The line."""


def open_lines_of(calls: Iterable[tuple[bool, Sequence[Cited]]]) -> tuple[OpenLine, ...]:
    """Return the lines of the open ``calls``, each given as whether it is inherited and what was kept of its lines."""
    return tuple(
        OpenLine(call, one.ref.role, one.ref.offset, one.ref.length, one.ref.sha256, inherited, one.ref.part)
        for call, (inherited, kept) in enumerate(calls)
        for one in kept
    )


def wanted_lines(awaited: Sequence[OpenLine]) -> tuple[LineRef, ...]:
    """Return what ``Reader.open_lines`` answers: the lines that a cursor names, in file order, each once.

    One line may tell of several calls; its bytes are wanted once.
    """
    once = {line.offset: line for line in reversed(awaited)}
    return tuple(
        LineRef(line.role, line.offset, line.length, line.sha256, line.part)
        for _, line in sorted(once.items())
    )


def is_that_line(wanted: OpenLine, raw: bytes) -> bool:
    """Say whether ``raw`` is byte for byte the line that was read before."""
    return len(raw) == wanted.length and sha256(raw).digest() == wanted.sha256
