"""One simple shell command, read strictly: words, assignments, and the commands that ``&&`` put before it.

The grammar is the small part of POSIX shell (XCU 2.2, 2.3, 2.7, 2.10) whose exit code is certainly that of the
last command:

- leading assignments, words with the three kinds of quoting, parameters as opaque text;
- ``A && B``: a result of ``B`` needs every command before it to have ended with 0;
- redirections that leave standard output where the host sees it;
- ``sh -c TEXT`` (and ``bash -lc TEXT`` …), taken as TEXT.

Everything else (pipes, ``;``, ``||``, ``&``, ``!``, substitutions, groups, here documents, comments, several
lines, reserved words) is *not understood* and gives ``None``: what is not understood binds no result. Nothing is
expanded, looked up or run.
"""

import re
from collections.abc import Sequence

import msgspec

MAX_COMMAND_CHARS = 16_384
"""Longest command text that is parsed, in characters: a one-off runner call is far shorter; longer is a script."""

MAX_WORDS = 256
"""Most words in a whole command line, commands before it included."""

MAX_SHELL_DEPTH = 3
"""How many ``sh -c`` may be nested; hosts add one, people at most one more."""

_RESERVED = frozenset(
    "! [[ { } case coproc do done elif else esac fi for function if in select then time until while".split()
)
_SHELLS = frozenset({"bash", "dash", "ksh", "sh", "zsh"})
_SHELL_FLAGS = re.compile(r"-[elux]+|--login|--noprofile|--norc")
_SHELL_TEXT_FLAGS = re.compile(r"-[elux]*c[elux]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_PARAMETER = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\}|[0-9@*#?$!-])")
_REDIRECTION = re.compile(r"([0-9]*)(>>|>&|>|<)")
_NULL_DEVICE = "/dev/null"
_DOUBLE_QUOTE_ESCAPES = frozenset('$`"\\')
_REFUSED = frozenset("`();|&\n\r\0")
_WORD_END = frozenset(" \t<>")


class _NotUnderstoodError(Exception):
    """The text leaves the grammar; never leaves this module."""


class Command(msgspec.Struct, frozen=True):
    """A simple command: ``words`` (at least one; quotes removed), ``env`` assignments, ``before`` in order.

    ``before`` are the commands whose success this one needed; theirs is always empty.
    """

    words: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    before: tuple["Command", ...] = ()


class _Word(msgspec.Struct):
    """A word while it is read: where its first quoted part began, and whether the shell would expand it."""

    text: str = ""
    quoted_from: int | None = None
    opaque: bool = False

    def quote(self) -> None:
        """Note that the text from here on is quoted, or was before."""
        if self.quoted_from is None:
            self.quoted_from = len(self.text)

    def assignment(self) -> tuple[str, str] | None:
        """Return name and value where this is an assignment; a quoted name makes it an ordinary word."""
        found = _ASSIGNMENT.fullmatch(self.text)
        if found is None or (self.quoted_from is not None and self.quoted_from <= found.end(1)):
            return None
        return found.group(1), found.group(2)


class _Reader(msgspec.Struct):
    """A cursor over the text; each method takes one construct or raises ``_NotUnderstoodError``."""

    text: str
    at: int = 0
    commands: list[list[_Word]] = msgspec.field(default_factory=lambda: [[]])
    count: int = 0

    def read(self) -> list[list[_Word]]:
        """Return the words of each command between ``&&``."""
        while self._skip_blanks():
            if self.text.startswith("&&", self.at):
                self._close_command()
            elif redirection := _REDIRECTION.match(self.text, self.at):
                self._take_redirection(redirection)
            else:
                self.commands[-1].append(self._take_word())
        if not self.commands[-1]:
            raise _NotUnderstoodError
        return self.commands

    def _skip_blanks(self) -> bool:
        while self.at < len(self.text):
            if self.text[self.at] in " \t":
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            else:
                return True
        return False

    def _close_command(self) -> None:
        if not self.commands[-1]:
            raise _NotUnderstoodError
        self.at += 2
        # The shell continues after && on the next line.
        while self.at < len(self.text) and self.text[self.at] in " \t\n":
            self.at += 1
        self.commands.append([])

    def _take_redirection(self, found: re.Match[str]) -> None:
        """Pass over a redirection that leaves standard output visible; refuse every other."""
        descriptor, operator = found.group(1), found.group(2)
        self.at = found.end()
        if self.text[self.at : self.at + 1] in {"<", ">", "|", "&", "("}:
            raise _NotUnderstoodError
        if operator != ">&":
            self._skip_blanks()
        target = self._take_word()
        if target.opaque:
            raise _NotUnderstoodError
        harmless = (
            (operator == ">&" and descriptor in {"", "1", "2"} and target.text in {"1", "2"})
            or (operator in {">", ">>"} and descriptor == "2")
            or (operator == "<" and descriptor in {"", "0"} and target.text == _NULL_DEVICE)
        )
        if not harmless:
            raise _NotUnderstoodError

    def _take_word(self) -> _Word:
        """Take one word. A ``#`` that would start a comment is refused, since it may hide another line."""
        word = _Word()
        start = self.at
        if self.text.startswith("#", self.at):
            raise _NotUnderstoodError
        while self.at < len(self.text) and (char := self.text[self.at]) not in _WORD_END:
            if char in _REFUSED:
                if self.text.startswith("&&", self.at):
                    break
                raise _NotUnderstoodError
            self._take_part(word, char)
        self.count += 1
        if self.at == start or self.count > MAX_WORDS:
            raise _NotUnderstoodError
        return word

    def _take_part(self, word: _Word, char: str) -> None:
        if char == "'":
            end = self.text.find("'", self.at + 1)
            if end < 0:
                raise _NotUnderstoodError
            word.quote()
            word.text += self.text[self.at + 1 : end]
            self.at = end + 1
        elif char == '"':
            self._take_double_quotes(word)
        elif char == "\\":
            self._take_escape(word)
        elif char == "$":
            self._take_dollar(word)
        else:
            word.opaque = word.opaque or char in "*?["
            word.text += char
            self.at += 1

    def _take_escape(self, word: _Word) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if not following:
            raise _NotUnderstoodError
        if following != "\n":
            word.quote()
            word.text += following
        self.at += 2

    def _take_dollar(self, word: _Word) -> None:
        """Keep a parameter as opaque text; a lone ``$`` is itself; substitutions are refused."""
        if found := _PARAMETER.match(self.text, self.at):
            word.text += found.group()
            word.opaque = True
            self.at = found.end()
            return
        if self.text[self.at + 1 : self.at + 2] in {"(", "{", "'", '"', "["}:
            raise _NotUnderstoodError
        word.text += "$"
        self.at += 1

    def _take_double_quotes(self, word: _Word) -> None:
        word.quote()
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return
            if char in "`\0":
                raise _NotUnderstoodError
            if char == "$" and self.text[self.at + 1 : self.at + 2] != '"':
                self._take_dollar(word)
                continue
            if char == "\\" and (following := self.text[self.at + 1 : self.at + 2]):
                if following in _DOUBLE_QUOTE_ESCAPES:
                    char = following
                    self.at += 1
                elif following == "\n":
                    self.at += 2
                    continue
            word.text += char
            self.at += 1
        raise _NotUnderstoodError


def parse_command(text: str) -> Command | None:
    """Return the one command that ``text`` runs last, or ``None`` where that cannot be said for certain.

    At most ``MAX_COMMAND_CHARS`` characters and ``MAX_WORDS`` words are read; more is not understood.
    """
    return _parse_text(text, 0)


def parse_argv(argv: Sequence[str]) -> Command | None:
    """Return the command of an argument vector, with a ``sh -c TEXT`` form taken as TEXT.

    No shell reads an argument vector: its words are literal, and none of them is an operator.
    """
    words = tuple(argv)
    if not words or len(words) > MAX_WORDS or sum(map(len, words)) > MAX_COMMAND_CHARS:
        return None
    return _unwrap_shell(Command(words), 0)


def _parse_text(text: str, depth: int) -> Command | None:
    stripped = text.strip(" \t\n")
    if len(text) > MAX_COMMAND_CHARS or stripped.endswith("\\"):
        return None
    try:
        parts = [_simple_command(words) for words in _Reader(stripped).read()]
    except _NotUnderstoodError:
        return None
    *before, last = parts
    return _unwrap_shell(Command(last.words, last.env, tuple(before)), depth)


def _simple_command(words: list[_Word]) -> Command:
    """Split the assignments off; the program word must be literal, or anything could run."""
    env: list[tuple[str, str]] = []
    for position, word in enumerate(words):
        assignment = word.assignment()
        if assignment is None:
            rest = words[position:]
            break
        env.append(assignment)
    else:
        raise _NotUnderstoodError
    program = rest[0]
    if program.opaque or not program.text or (program.text in _RESERVED and program.quoted_from is None):
        raise _NotUnderstoodError
    return Command(tuple(word.text for word in rest), tuple(env))


def _unwrap_shell(command: Command, depth: int) -> Command | None:
    """Replace ``sh -c TEXT`` by the command of TEXT; a shell that is given more than TEXT is not understood."""
    program, *rest = command.words
    if base_name(program) not in _SHELLS:
        return command
    while rest and _SHELL_FLAGS.fullmatch(rest[0]):
        rest.pop(0)
    if not rest or not _SHELL_TEXT_FLAGS.fullmatch(rest[0]):
        return command
    if len(rest) != 2 or depth >= MAX_SHELL_DEPTH:
        return None
    inner = _parse_text(rest[1], depth + 1)
    if inner is None:
        return None
    return Command(inner.words, command.env + inner.env, command.before + inner.before)


def base_name(program: str) -> str:
    """Return the last component of a program's path, a Windows ``.exe`` or ``.cmd`` ending removed."""
    name = program.replace("\\", "/").rsplit("/", 1)[-1]
    return name.removesuffix(".exe").removesuffix(".cmd")
