"""The grammar of a shell line, read strictly: lists, pipelines, groups, ``if``, here documents, ``sh -c TEXT``.

The part of POSIX shell (XCU 2.9, 2.10) that agents write and whose exit code can be told. Loops, functions, ``case``,
backquotes, arithmetic, process substitution and descriptors above 2 are *not understood* and give ``None``: what is
not understood binds no result. Nothing is expanded, looked up or run.
"""

import re
from collections.abc import Sequence as Words
from typing import Final

from adapters.objective.shell import (
    AndOr,
    Direction,
    Group,
    If,
    Pipeline,
    Redirection,
    Sequence,
    Simple,
    Step,
    Word,
    base_name,
)
from adapters.objective.shell_words import MAX_WORDS, NotUnderstoodError, WordReader

MAX_COMMAND_CHARS: Final = 16_384
"""Longest command text that is read, in characters: a list with a here document is shorter; longer is a script."""

MAX_DEPTH: Final = 8
"""How deep groups, conditions, substitutions and ``sh -c`` may be nested; people nest two or three."""

_RESERVED: Final = frozenset(
    "! [[ ]] { } case coproc do done elif else esac fi for function if in repeat select then time until while".split()
)
_BARE = re.compile(r"(?:[a-z]+|[!{}]|\[\[|\]\])(?=[\s;&|()<>]|\Z)")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_SHELLS: Final = frozenset({"bash", "dash", "ksh", "sh", "zsh"})
_SHELL_FLAGS = re.compile(r"-[elux]+|--login|--noprofile|--norc")
_SHELL_TEXT_FLAGS = re.compile(r"-[elux]*c[elux]*")


class _Reader(WordReader):
    """The grammar over the cursor; each method takes one construct or raises ``NotUnderstoodError``."""

    def __init__(self, text: str, depth: int) -> None:
        super().__init__(text, self._substitution)
        self.depth = depth

    def program(self) -> Sequence:
        """Return the whole text as a sequence."""
        sequence = self._sequence(frozenset())
        if self.at < len(self.text):
            raise NotUnderstoodError
        return sequence

    def _substitution(self) -> Sequence:
        sequence = self._nested(frozenset())
        self._take(")")
        return sequence

    def _nested(self, ends: frozenset[str]) -> Sequence:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NotUnderstoodError
        sequence = self._sequence(ends)
        self.depth -= 1
        return sequence

    def _take(self, text: str) -> None:
        if not self.text.startswith(text, self.at):
            raise NotUnderstoodError
        self.at += len(text)

    def _bare(self) -> str:
        """Return the reserved word at the cursor, without taking it; ``""`` where there is none."""
        found = _BARE.match(self.text, self.at)
        return found.group() if found is not None and found.group() in _RESERVED else ""

    def _skip_lines(self) -> None:
        """Pass over blanks, comments and newlines."""
        while True:
            self.skip_blanks()
            if self.text.startswith("#", self.at):
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            if not self.text.startswith("\n", self.at):
                return
            self.at += 1
            self.take_documents()

    def _sequence(self, ends: frozenset[str]) -> Sequence:
        """Take commands up to the end of the text, a closing parenthesis, or one of the reserved words ``ends``."""
        steps: list[Step] = []
        self._skip_lines()
        while self.at < len(self.text) and self.text[self.at] != ")" and self._bare() not in ends:
            command = self._and_or()
            self.skip_blanks()
            background = False
            if self.text.startswith(";", self.at) and not self.text.startswith(";;", self.at):
                self.at += 1
            elif self.text.startswith("&", self.at):
                background = True
                self.at += 1
            elif self.at < len(self.text) and self.text[self.at] not in ")\n#":
                raise NotUnderstoodError
            steps.append(Step(command, background))
            self._skip_lines()
        if self.documents or not steps:
            raise NotUnderstoodError
        return Sequence(tuple(steps))

    def _and_or(self) -> AndOr:
        first = self._pipeline()
        rest: list[tuple[bool, Pipeline]] = []
        while True:
            self.skip_blanks()
            operator = self.text[self.at : self.at + 2]
            if operator not in {"&&", "||"}:
                return AndOr(first, tuple(rest))
            self.at += 2
            self._skip_lines()
            rest.append((operator == "&&", self._pipeline()))

    def _pipeline(self) -> Pipeline:
        negated = False
        while (word := self._bare()) in {"!", "time"}:
            negated = negated != (word == "!")
            self.at += len(word)
            self.skip_blanks()
            if word == "time" and self.text.startswith("-p ", self.at):
                self.at += 3
                self.skip_blanks()
        parts = [self._command()]
        while True:
            self.skip_blanks()
            if not self.text.startswith("|", self.at) or self.text.startswith("||", self.at):
                return Pipeline(tuple(parts), negated)
            self.at += 2 if self.text.startswith("|&", self.at) else 1
            self._skip_lines()
            parts.append(self._command())

    def _command(self) -> Simple | Group | If:
        if self.text.startswith("(", self.at) and not self.text.startswith("((", self.at):
            self.at += 1
            body = self._nested(frozenset())
            self._take(")")
            return self._compound(Group(body, subshell=True))
        word = self._bare()
        if word == "{":
            self.at += 1
            body = self._nested(frozenset({"}"}))
            self._take("}")
            return self._compound(Group(body, subshell=False))
        if word == "if":
            return self._compound(self._if())
        if word:
            raise NotUnderstoodError
        return self._simple()

    def _compound(self, command: Group | If) -> Group | If:
        """Take the redirections of a compound command: only those that leave its standard output where it is."""
        probe = Simple((), (), self._redirections())
        if probe.outputs()[0]:
            raise NotUnderstoodError
        return command

    def _redirections(self) -> tuple[Redirection, ...]:
        taken: list[Redirection] = []
        while True:
            self.skip_blanks()
            one = self.take_redirection()
            if one is None:
                return tuple(taken)
            taken.append(one)

    def _if(self) -> If:
        conditions: list[Sequence] = []
        bodies: list[Sequence] = []
        word = "if"
        while word in {"if", "elif"}:
            self._take(word)
            conditions.append(self._nested(frozenset({"then"})))
            self._take("then")
            bodies.append(self._nested(frozenset({"elif", "else", "fi"})))
            word = self._bare()
        if word == "else":
            self._take(word)
            bodies.append(self._nested(frozenset({"fi"})))
        self._take("fi")
        return If(tuple(conditions), tuple(bodies))

    def _simple(self) -> Simple:
        env: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        while True:
            self.skip_blanks()
            ended = self.at >= len(self.text) or self.text[self.at] in ";&|()\n#"
            if ended and not self.text.startswith("&>", self.at):
                break
            redirection = self.take_redirection()
            if redirection is not None:
                redirections.append(redirection)
                continue
            assignment = None if words else _ASSIGNMENT.match(self.text, self.at)
            if assignment is None:
                words.append(self.take_word())
            else:
                env.append(self._assignment(assignment))
        if not words and not env:
            raise NotUnderstoodError
        if words and (not words[0].literal or not words[0].text):
            raise NotUnderstoodError  # anything could run
        return Simple(tuple(words), tuple(env), tuple(redirections))

    def _assignment(self, found: re.Match[str]) -> tuple[str, Word]:
        self.at = found.end()
        if self.at >= len(self.text) or self.text[self.at] in " \t\n;&|)":
            return found.group(1), Word("")
        if self.text[self.at] == "(":
            raise NotUnderstoodError
        return found.group(1), self.take_word()


def read_text(text: str) -> Sequence | None:
    """Return what a shell would read in ``text``, or ``None`` where that cannot be said for certain.

    At most ``MAX_COMMAND_CHARS`` characters are read. ``sh -c TEXT`` is taken as a group of TEXT.
    """
    return _read(text, 0)


def read_words(argv: Words[str]) -> Sequence | None:
    """Return the command of an argument vector: literal words, of which no shell reads any but that of ``sh -c``."""
    if not argv or not argv[0] or len(argv) > MAX_WORDS or sum(map(len, argv)) > MAX_COMMAND_CHARS:
        return None
    simple = Simple(tuple(Word(text) for text in argv))
    try:
        unwrapped = _unwrap(simple, 0)
    except NotUnderstoodError:
        return None
    if isinstance(unwrapped, Group):
        return unwrapped.body
    return Sequence((Step(AndOr(Pipeline((unwrapped,)))),))


def _read(text: str, depth: int) -> Sequence | None:
    if len(text) > MAX_COMMAND_CHARS:
        return None
    try:
        sequence = _unwrap_all(_Reader(text, depth).program(), depth)
    except NotUnderstoodError:
        return None
    # One ``bash -c TEXT`` alone is TEXT, where options set in it are set for all of it.
    only = sequence.steps[0].command
    if len(sequence.steps) == 1 and not only.rest and not sequence.steps[0].background:
        part = only.first.parts[0]
        if (
            len(only.first.parts) == 1
            and isinstance(part, Group)
            and not only.first.negated
            and _is_shell(text)
        ):
            return part.body
    return sequence


def _is_shell(text: str) -> bool:
    return base_name(text.split(None, 1)[0]) in _SHELLS


def _unwrap_all(sequence: Sequence, depth: int) -> Sequence:
    """Replace each ``sh -c TEXT`` in ``sequence`` by a group of what TEXT says."""
    if not any(simple.words and base_name(simple.words[0].text) in _SHELLS for simple in sequence.simples()):
        return sequence
    return Sequence(
        tuple(Step(_unwrap_list(step.command, depth), step.background) for step in sequence.steps)
    )


def _unwrap_list(command: AndOr, depth: int) -> AndOr:
    rest = tuple((succeeded, _unwrap_pipeline(part, depth)) for succeeded, part in command.rest)
    return AndOr(_unwrap_pipeline(command.first, depth), rest)


def _unwrap_pipeline(pipeline: Pipeline, depth: int) -> Pipeline:
    return Pipeline(tuple(_unwrap_part(part, depth) for part in pipeline.parts), pipeline.negated)


def _unwrap_part(part: Simple | Group | If, depth: int) -> Simple | Group | If:
    match part:
        case Simple():
            return _unwrap(part, depth)
        case Group():
            return Group(_unwrap_all(part.body, depth), part.subshell)
        case If():
            conditions = tuple(_unwrap_all(one, depth) for one in part.conditions)
            return If(conditions, tuple(_unwrap_all(one, depth) for one in part.bodies))


def _unwrap(simple: Simple, depth: int) -> Simple | Group:
    """Return the group that ``sh -c TEXT`` is; a shell that is given more than TEXT is not understood."""
    if not simple.words or base_name(simple.words[0].text) not in _SHELLS:
        return simple
    rest = list(simple.words[1:])
    options = ""
    while rest and rest[0].literal and (_SHELL_FLAGS.fullmatch(rest[0].text) or rest[0].text == "-o"):
        flag = rest.pop(0).text
        if flag == "-o":
            if not rest or rest[0].text != "pipefail":
                raise NotUnderstoodError
            rest.pop(0)
            options += "set -o pipefail\n"
        elif "e" in flag and not flag.startswith("--"):
            options += "set -e\n"
    if not rest or not rest[0].literal or not _SHELL_TEXT_FLAGS.fullmatch(rest[0].text):
        return simple
    if "e" in rest[0].text:
        options += "set -e\n"
    if len(rest) != 2 or not rest[1].literal or depth >= MAX_DEPTH or simple.outputs()[0]:
        raise NotUnderstoodError
    if any(one.direction is not Direction.DUPLICATE for one in simple.redirections):
        raise NotUnderstoodError
    body = _read(options + rest[1].text, depth + 1)
    if body is None:
        raise NotUnderstoodError
    return _with_env(body, simple.env)


def _with_env(body: Sequence, env: tuple[tuple[str, Word], ...]) -> Group:
    """Put the assignments of ``A=b sh -c TEXT`` before TEXT, for which they hold as a whole."""
    if not env:
        return Group(body, subshell=True)
    first = Step(AndOr(Pipeline((Simple((), env),))))
    return Group(Sequence((first, *body.steps)), subshell=True)
