"""The lines of an output, of which only those are cut that hold a mark of a summary.

An output has thousands of lines and one summary; looking for a mark in the whole text costs a fraction of looking
at every line.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

MAX_LINE_CHARS: Final = 1_000
"""Longest line that can be a summary: real ones are under 200 characters; bounds every pattern's work."""

"""Colours, character sets (``tput sgr0``) and hyperlinks."""

Line = tuple[int, str]
"""Where a line begins in the text, and the line without carriage returns and trailing blanks."""


class Text:
    """An output, or a window of one, without colour codes. Lines are split at ``0x0A`` only.

    A line that is longer than ``MAX_LINE_CHARS`` is given as an empty one.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = _without_colours(text) if "\x1b" in text else text

    def marked(self, *marks: str) -> list[Line]:
        """Return the lines that hold one of ``marks``, in order."""
        text = self._text
        found: dict[int, str] = {}
        for mark in marks:
            at = text.find(mark)
            while at >= 0:
                start = text.rfind("\n", 0, at) + 1
                line, end = self._cut(start)
                if line:
                    found[start] = line
                at = text.find(mark, end)
        return sorted(found.items()) if len(found) > 1 else list(found.items())

    def starts(self) -> frozenset[str]:
        """Return the first two characters, after blanks, of every line; ``0`` stands for any digit."""
        found = {line.lstrip(" \t")[:2] for line in self._text.split("\n")}
        return frozenset(found | {"0"} if any(start[:1].isdigit() for start in found) else found)

    def below(self, start: int) -> Iterator[Line]:
        """Yield the lines after the one that begins at ``start``."""
        end = self._text.find("\n", start)
        while end >= 0:
            start = end + 1
            line, end = self._cut(start)
            yield start, line
            if end == len(self._text):
                return

    def above(self, start: int) -> Iterator[Line]:
        """Yield the lines before the one that begins at ``start``, the nearest first."""
        while start > 0:
            start = self._text.rfind("\n", 0, start - 1) + 1
            yield start, self._cut(start)[0]

    def last(self, pattern: re.Pattern[str]) -> int | None:
        """Return where ``pattern`` is found last."""
        return max((found.start() for found in pattern.finditer(self._text)), default=None)

    def _cut(self, start: int) -> tuple[str, int]:
        end = self._text.find("\n", start)
        if end < 0:
            end = len(self._text)
        line = "" if end - start > MAX_LINE_CHARS else self._text[start:end].rstrip(" \t\r")
        return line, end


def _without_colours(text: str) -> str:
    """Remove colour codes, and first the lines that are too long with them."""
    if len(text) > MAX_LINE_CHARS:
        lines = text.split("\n")
        if max(map(len, lines)) > MAX_LINE_CHARS:
            text = "\n".join("" if len(line) > MAX_LINE_CHARS else line for line in lines)
    return _ansi().sub("", text)


@cache
def _ansi() -> re.Pattern[str]:
    """Return the pattern of terminal escapes, compiled when a text has one: most have none, and starting is dear."""
    return re.compile(r"\x1b(?:\[[0-9;:?]{0,32}[A-Za-z]|[()][0-9A-Z]|\][^\x07\x1b\n]{0,500}(?:\x07|\x1b\\))")
