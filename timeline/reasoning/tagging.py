"""A sentence as one string of letters, one for each word, over which patterns of claims are looked for. Pure.

The letters are those of ``claim_words``. Besides them: ``N`` a count, ``S`` a share, ``R`` a program that tests, ``C``
one that checks, ``V`` one that builds, ``c`` other code, ``q`` a quotation, ``-`` a dash, ``X`` a cross, ``w`` any
other word.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from timeline.reasoning.claim_words import (
    AMBIGUOUS,
    CHECK_NOUNS,
    CHECKERS,
    CONTRACTIONS,
    LETTERS,
    NUMBERS,
    RUNNERS,
)
from timeline.reasoning.prose import Sentence, Token, TokenKind, number_of


class Tagged(msgspec.Struct, frozen=True):
    """A sentence's ``letters``; for each of them its token, and the scope or the number that it stands for."""

    letters: str
    tokens: tuple[Token, ...]
    scopes: tuple[str | None, ...]
    numbers: tuple[tuple[int, ...], ...]

    def start(self, place: int) -> int:
        """Where the letter's token begins in the text."""
        return self.tokens[place].start

    def end(self, place: int) -> int:
        """Where the last token before this place ends in the text."""
        return self.tokens[place - 1].end

    def scope_of(self, letter: str) -> str | None:
        """The only scope that is named by this letter, ``None`` where there is none or several."""
        named = {scope for found, scope in zip(self.letters, self.scopes, strict=True) if found == letter}
        return named.pop() if len(named) == 1 else None


class _Tag(msgspec.Struct, frozen=True):
    letters: str
    size: int = 1
    scope: str | None = None
    numbers: tuple[int, ...] = ()


def tag(sentence: Sentence) -> Tagged:
    """The letters of a sentence."""
    tokens = sentence.tokens
    letters: list[str] = []
    kept: list[Token] = []
    scopes: list[str | None] = []
    numbers: list[tuple[int, ...]] = []
    place = 0
    while place < len(tokens):
        found = _tag_at(tokens, place)
        last = tokens[place + found.size - 1]
        token = msgspec.structs.replace(tokens[place], end=last.end)
        for letter in found.letters:
            letters.append(letter)
            kept.append(token)
            scopes.append(found.scope)
            numbers.append(found.numbers)
        place += found.size
    return Tagged("".join(letters), tuple(kept), tuple(scopes), tuple(numbers))


def _tag_at(tokens: Sequence[Token], place: int) -> _Tag:
    token = tokens[place]
    match token.kind:
        case TokenKind.QUOTE:
            return _Tag("q")
        case TokenKind.MARK:
            return _Tag(_MARKS.get(token.text, "X"))
        case TokenKind.NUMBER:
            count = number_of(token)
            return _Tag("w") if count is None else _counted(count)
        case TokenKind.SHARE:
            part, total = (int(number) for number in token.text.split("/"))
            return _Tag("S", numbers=(part, total)) if part <= total else _Tag("w")
        case TokenKind.CODE:
            return _program(token.text.split()) or _Tag("c")
        case TokenKind.WORD:
            return _word_at(tokens, place)


_MARKS: Final[Mapping[str, str]] = MappingProxyType(
    {
        ",": ",",
        ";": ";",
        ":": ":",
        "(": "(",
        ")": ")",
        "\N{EN DASH}": "-",
        "\N{EM DASH}": "-",
        "!": ";",
        "?": "X",
    }
)


def _counted(count: int) -> _Tag:
    return _Tag("N", numbers=(count,)) if count else _Tag("x", numbers=(0,))


def _word_at(tokens: Sequence[Token], place: int) -> _Tag:
    word, after = tokens[place].text, _words_after(tokens, place)
    if word in CONTRACTIONS:
        return _Tag(CONTRACTIONS[word])
    if word in RUNNERS or word in CHECKERS:
        return _named(word, after)
    if word in NUMBERS:
        return _counted(NUMBERS[word])
    letter, following = LETTERS.get(word, "w"), after[0] if after else ""
    match word, following:
        case ("out", "of"):
            return _Tag("O", 2)
        case ("so", "far"):
            return _Tag("v", 2)
        case ("ein", "test"):
            return _Tag("N", numbers=(1,))
        case ("test", "suite" | "suites" | "run" | "case" | "cases"):
            return _Tag("K")
        case ("test", _):
            return _Tag("T")
        case ("without" | "ohne", _) if LETTERS.get(following) in {"e", "F"}:
            return _Tag("G", 2)
    if word == "run" and place and LETTERS.get(tokens[place - 1].text) in {"d", "T", "K"}:
        return _Tag("u")
    return _Tag(letter)


def _words_after(tokens: Sequence[Token], place: int) -> tuple[str, ...]:
    return tuple(_until_other(tokens[place + 1 : place + 4]))


def _until_other(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.kind is not TokenKind.WORD:
            return
        yield token.text


def _named(word: str, after: Sequence[str]) -> _Tag:
    """A program or a kind of check that is named in prose."""
    following = after[0] if after else ""
    if word == "type":
        if following in CHECK_NOUNS:
            return _Tag("C", 2, scope="types")
        return _Tag("C" if LETTERS.get(following) == "e" else "w", scope="types")
    if word in AMBIGUOUS:
        known = _program([word, *after]) if following else None
        if known is None:
            return _Tag("w")
        size = 3 if following == "run" and known.letters != "w" else 2
        return msgspec.structs.replace(known, size=min(size, 1 + len(after)))
    if word in CHECKERS:
        return _Tag("C", scope=CHECKERS[word])
    return _Tag("R", scope=word)


# -- commands --------------------------------------------------------------------------------------------------

_LAUNCHERS: Final = (
    ("python", "-m"),
    ("python3", "-m"),
    ("uv", "run"),
    ("poetry", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("npx",),
    ("bunx",),
    ("pnpm", "exec"),
    ("bundle", "exec"),
)
_TESTING: Final = frozenset({"test", "tests", "t", "nextest", "unittest"})
_BUILDING: Final = frozenset({"build", "compile", "install", "all"})
_CHECKING: Final = frozenset({"check", "lint", "vet", "fmt", "format", "typecheck", "type-check", "types"})


def _program(words: Sequence[str]) -> _Tag | None:
    """What a command is for, by its first words; ``None`` where that is not known."""
    left = [word for word in words if "=" not in word]
    for launcher in _LAUNCHERS:
        if tuple(left[: len(launcher)]) == launcher:
            left = left[len(launcher) :]
    if not left:
        return None
    name, use = left[0], left[1] if len(left) > 1 else ""
    if use == "run" and len(left) > 2:  # as in "npm run build"
        use = left[2]
    if name in CHECKERS and name != "type":
        return _Tag("C", scope=CHECKERS[name])
    if name not in RUNNERS:
        return None
    if name not in AMBIGUOUS:
        return _Tag("R", scope=name)
    first = use.partition(":")[0]
    if first in _TESTING:
        return _Tag("R", scope=name)
    if first in _BUILDING:
        return _Tag("V", scope=name)
    if first in {"clippy", *CHECKERS}:
        return _Tag("C", scope=CHECKERS[first])
    return _Tag("C", scope=name) if first in _CHECKING else None
