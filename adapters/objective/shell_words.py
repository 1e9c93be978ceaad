"""Words of a shell text (POSIX XCU 2.2, 2.3, 2.6): quoting, parameters, substitutions, redirections.

A cursor over the text; each method takes one construct or raises ``NotUnderstoodError``. Nothing is expanded, looked up
or run.
"""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from adapters.objective.shell import Direction, Redirection, Sequence, Word

MAX_WORDS: Final = 512
"""Most words in a whole command line: agents' longest lists have some fifty; longer is a script."""

_PLAIN = re.compile(r"[^\s'\"\\$`();|&<>*?\[{\0]+")
_IN_QUOTES = re.compile(r"[^\"\\$`\0]+")
_PARAMETER = re.compile(
    r"\$(?:([A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])|\{([A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])"
    r"(?:\[[0-9@*]{1,4}\])?(?:[:#%/^,+=?-][^{}$`'\"\\\n]{0,200})?\})"
)
_REDIRECTION = re.compile(r"(&>>|&>)|([0-9]*)(>>|>&|>\||>|<<<|<<-|<<|<&|<>|<)")
_DOUBLE_QUOTE_ESCAPES: Final = frozenset('$`"\\')
_ENDS: Final = frozenset(" \t\n;|&()<>")
_OUTPUTS: Final = frozenset({"1", "2"})


class NotUnderstoodError(Exception):
    """The text leaves the grammar; never leaves the package."""


class HereDocument(msgspec.Struct, frozen=True):
    """A here document whose body begins after the next newline."""

    end: str
    strip_tabs: bool
    expands: bool


class WordReader:
    """The cursor. ``inside`` is the grammar's: it takes the commands of ``$( … )`` and the parenthesis."""

    def __init__(self, text: str, inside: Callable[[], Sequence]) -> None:
        self.text = text
        self._inside = inside
        self.at = 0
        self.count = 0
        self.documents: list[HereDocument] = []

    def skip_blanks(self) -> None:
        """Pass over blanks and continued lines."""
        while self.at < len(self.text):
            if self.text[self.at] in " \t":
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            else:
                return

    def take_redirection(self) -> Redirection | None:
        """Take one redirection, or nothing where none begins here."""
        found = _REDIRECTION.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        both, number, operator = found.groups()
        if self.text[self.at : self.at + 1] in {"<", ">", "|", "(", "&"}:
            raise NotUnderstoodError
        if both:
            direction = Direction.APPEND if both == "&>>" else Direction.WRITE
            return Redirection(direction, (1, 2), self._target())
        if operator.startswith("<"):
            return self._input(number, operator)
        descriptor = number or "1"
        if descriptor not in _OUTPUTS:
            raise NotUnderstoodError
        if operator == ">&":
            return self._duplicate(number)
        direction = Direction.APPEND if operator == ">>" else Direction.WRITE
        return Redirection(direction, (int(descriptor),), self._target())

    def _target(self) -> Word:
        self.skip_blanks()
        return self.take_word()

    def _duplicate(self, number: str) -> Redirection:
        target = self._target()
        changed = int(number or "1")
        if target.literal and target.text in _OUTPUTS:
            return Redirection(Direction.DUPLICATE, (changed,), source=int(target.text))
        if target.text == "-":
            return Redirection(Direction.CLOSE, (changed,))
        if number or target.text[:1].isdigit() or not target.literal:
            raise NotUnderstoodError
        return Redirection(Direction.WRITE, (1, 2), target)

    def _input(self, number: str, operator: str) -> Redirection:
        if number not in {"", "0"} or operator in {"<&", "<>"}:
            raise NotUnderstoodError
        self.skip_blanks()
        start = self.at
        target = self.take_word()
        if operator in {"<<", "<<-"}:
            quoted = self.text[start : self.at] != target.text
            if not target.literal and not quoted:
                raise NotUnderstoodError
            self.documents.append(HereDocument(target.text, operator == "<<-", not quoted))
        return Redirection(Direction.INPUT, (0,), target)

    def take_documents(self) -> None:
        """Pass over the bodies of the here documents of the line that ended just before the cursor."""
        for document in self.documents:
            while True:
                if self.at >= len(self.text):
                    raise NotUnderstoodError  # a shell would take everything to the end, with a warning
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at = min(end + 1, len(self.text))
                if document.strip_tabs:
                    line = line.lstrip("\t")
                if line == document.end:
                    break
                if document.expands and ("$(" in line or "`" in line):
                    raise NotUnderstoodError
        self.documents.clear()

    def take_word(self) -> Word:
        """Take one word; a ``#`` that would begin a comment is none."""
        start = self.at
        self.count += 1
        if self.count > MAX_WORDS or self.text.startswith("#", start):
            raise NotUnderstoodError
        word = _Building()
        while self.at < len(self.text) and self.text[self.at] not in _ENDS:
            self._take_part(word)
        if self.at == start:
            raise NotUnderstoodError
        return Word("".join(word.text), tuple(word.parameters), word.globbed, tuple(word.inner))

    def _take_part(self, word: "_Building") -> None:
        if plain := _PLAIN.match(self.text, self.at):
            word.text.append(plain.group())
            self.at = plain.end()
            return
        char = self.text[self.at]
        if char == "'":
            end = self.text.find("'", self.at + 1)
            if end < 0:
                raise NotUnderstoodError
            word.text.append(self.text[self.at + 1 : end])
            self.at = end + 1
        elif char == '"':
            self._take_double_quotes(word)
        elif char == "\\":
            self._take_escape(word)
        elif char == "$":
            self._take_dollar(word)
        elif char in "*?[{":
            word.globbed = word.globbed or char != "{" or self.text[self.at : self.at + 2] != "{}"
            word.text.append(char)
            self.at += 1
        else:  # a backquote, a NUL, or white space that no shell reads as a blank
            raise NotUnderstoodError

    def _take_escape(self, word: "_Building") -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if not following:
            raise NotUnderstoodError
        if following != "\n":
            word.text.append(following)
        self.at += 2

    def _take_dollar(self, word: "_Building") -> None:
        """Keep a parameter as opaque text; a lone ``$`` is itself; ``$( … )`` is read by the grammar."""
        if found := _PARAMETER.match(self.text, self.at):
            word.text.append(found.group())
            word.parameters.append(found.group(1) or found.group(2))
            self.at = found.end()
            return
        following = self.text[self.at + 1 : self.at + 3]
        if following[:1] == "(" and following != "((":
            start = self.at
            self.at += 2
            word.inner.append(self._inside())
            word.text.append(self.text[start : self.at])
        elif following[:1] in {"(", "{", "'", '"', "["}:
            raise NotUnderstoodError
        else:
            word.text.append("$")
            self.at += 1

    def _take_double_quotes(self, word: "_Building") -> None:
        self.at += 1
        while self.at < len(self.text):
            if plain := _IN_QUOTES.match(self.text, self.at):
                word.text.append(plain.group())
                self.at = plain.end()
                continue
            char, following = self.text[self.at], self.text[self.at + 1 : self.at + 2]
            if char == '"':
                self.at += 1
                return
            if char == "$" and following != '"':
                self._take_dollar(word)
            elif char == "\\" and following in _DOUBLE_QUOTE_ESCAPES:
                word.text.append(following)
                self.at += 2
            elif char == "\\" and following == "\n":
                self.at += 2
            elif char in "\\$":
                word.text.append(char)
                self.at += 1
            else:
                raise NotUnderstoodError
        raise NotUnderstoodError


class _Building:
    """A word while it is read."""

    __slots__ = ("globbed", "inner", "parameters", "text")

    def __init__(self) -> None:
        self.text: list[str] = []
        self.parameters: list[str] = []
        self.globbed = False
        self.inner: list[Sequence] = []
