"""What of a Markdown text its author says in his own words, cut into sentences and tokens. Pure, in linear time.

A claim is looked for in prose alone. Code blocks, block quotes, tables, headings, comments, open check boxes and what
is struck out are nobody's claim; a quotation and a piece of code within a sentence each become one opaque token. It is
a reading of Markdown that is good enough for that, and no parser of it.

Every pattern has a bound, and no part of a text is looked at more often than that bound says.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final, Literal

import msgspec

TEXT_CHARACTERS_MAX: Final = 64 * 1024
"""What is read of a text, from its beginning: a final message is shorter, and a host waits for the answer."""

SENTENCE_TOKENS_MAX: Final = 160
"""A longer sentence is a list or a dump, and nothing is looked for in it."""


class TokenKind(StrEnum):
    """What a token is."""

    WORD = "word"
    NUMBER = "number"
    SHARE = "share"
    """``3/5``"""
    MARK = "mark"
    """A mark of punctuation."""
    CODE = "code"
    QUOTE = "quote"


class Token(msgspec.Struct, frozen=True):
    """One token: ``text`` is folded, a code token's without its backticks; ``start`` and ``end`` are characters."""

    kind: TokenKind
    text: str
    start: int
    end: int


class Sentence(msgspec.Struct, frozen=True):
    """One sentence: its tokens without the mark that ends it, and that mark, empty where there is none.

    ``under`` are the words that it stands under: those of the nearest heading above, and in an item of a list those of
    the line with a colon that introduces the list.
    """

    tokens: tuple[Token, ...]
    ending: str
    under: frozenset[str] = frozenset()


class _Paragraph(msgspec.Struct, frozen=True):
    """A run of lines that is read as one: prose, an item of a list, or a heading."""

    start: int
    end: int
    kind: Literal["prose", "item", "heading"] = "prose"


_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
_HEADING: Final = re.compile(r" {0,3}#{1,6}(?: |$)")
_ITEM: Final = re.compile(r"[ \t]{0,32}(?:[-*+•]|[0-9]{1,4}[.)]) {1,4}(\[[ xX]\] )?")
_INDENTED: Final = re.compile(r"(?: {4}|\t)")
_RULE: Final = re.compile(r" {0,3}[|:=_*+-][|:=_*+ -]*$")
_OPAQUE: Final = re.compile(
    r"(?P<code>`[^`\n]{1,200}`)"
    r"|(?P<quote>\"[^\"]{0,300}\"|“[^”]{0,300}”|„[^“”]{0,300}[“”]|«[^»]{0,300}»|(?<!\w)'[^'\n]{1,300}'(?!\w))"
    r"|(?P<struck>~~[^~]{1,300}~~)"
    r"|(?P<target>(?<=\])\([^()\n]{0,300}\))"
)
_TOKEN: Final = re.compile(
    r"(?P<number>[0-9]{1,9}(?:[.,][0-9]{1,9}){0,3}(?![\w]))"
    r"|(?P<word>[^\W_][\w]{0,63}(?:['\u2019-][^\W_][\w]{0,63}){0,4})"
    r"|(?P<mark>[,;:()?!…❌✗✘\u2013\u2014.])"
)
_SHARE: Final = re.compile(r"([0-9]{1,9})/([0-9]{1,9})(?![\w/])")
_GROUPED: Final = re.compile(r"[0-9]{1,3}(?:,[0-9]{3}){1,2}|[0-9]{1,3}(?:\.[0-9]{3}){1,2}")
_ABBREVIATIONS: Final = frozenset(
    {"e.g", "i.e", "etc", "vs", "approx", "z", "b", "bzw", "ca", "usw", "dr", "nr"}
)
_ENDINGS: Final = frozenset(".!?…")


def sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences that are prose, of the whole lines within the first ``TEXT_CHARACTERS_MAX`` characters."""
    bounded = _without_comments(_bounded(text))
    found: list[Sentence] = []
    heading: frozenset[str] = frozenset()
    intro: frozenset[str] = frozenset()
    for paragraph in _paragraphs(bounded):
        tokens = tuple(_tokens(bounded, paragraph.start, paragraph.end))
        words = frozenset(token.text for token in tokens)
        if paragraph.kind == "heading":
            heading, intro = words, frozenset()
            continue
        is_item = paragraph.kind == "item"
        if not is_item:
            intro = words if tokens and tokens[-1].text == ":" else frozenset()
        under = heading | intro if is_item else heading
        found += _split(tokens, under)
    return tuple(found)


def number_of(token: Token) -> int | None:
    """The count that a number token spells, with or without marks between thousands; ``None`` for another number."""
    if token.text.isascii() and token.text.isdigit():
        return int(token.text)
    if _GROUPED.fullmatch(token.text):
        return int(token.text.replace(",", "").replace(".", ""))
    return None


def _bounded(text: str) -> str:
    """Whole lines only: half a sentence may say the opposite of the whole."""
    if len(text) <= TEXT_CHARACTERS_MAX:
        return text
    return text[: TEXT_CHARACTERS_MAX + 1].rpartition("\n")[0]


def _without_comments(text: str) -> str:
    """The text with blanks in the place of HTML comments, so that all places stay as they are."""
    pieces, position = [], 0
    while (start := text.find("<!--", position)) >= 0:
        end = text.find("-->", start)
        end = len(text) if end < 0 else end + 3
        pieces += [text[position:start], " " * (end - start)]
        position = end
    return "".join([*pieces, text[position:]])


def _paragraphs(text: str) -> Iterator[_Paragraph]:
    """The paragraphs, items and headings of a text, in order; what is neither is left out."""
    fence, open_at, end_at, position, after_blank = "", -1, 0, 0, True
    kind: Literal["prose", "item"] = "prose"
    for line in text.split("\n"):
        start, position = position, position + len(line) + 1
        opened = _FENCE.match(line)
        if fence or opened is not None:
            if fence:
                fence = "" if line.strip().startswith(fence) else fence
            elif opened is not None:
                fence = opened[1]
            is_prose = False
        else:
            is_prose = _is_prose(line, after_blank=after_blank and open_at < 0)
        item = _ITEM.match(line) if is_prose else None
        if open_at >= 0 and (not is_prose or item is not None or _begins_anew(line)):
            yield _Paragraph(open_at, end_at, kind)
            open_at = -1
        if not fence and _HEADING.match(line):
            yield _Paragraph(start, start + len(line), "heading")
        after_blank = not line.strip()
        if is_prose and (item is None or item[1] != "[ ] "):
            if open_at < 0:
                open_at = start if item is None else start + item.end()
                kind = "prose" if item is None else "item"
            end_at = start + len(line)
    if open_at >= 0:
        yield _Paragraph(open_at, end_at, kind)


def _is_prose(line: str, *, after_blank: bool) -> bool:
    stripped = line.strip()
    return not (
        not stripped
        or stripped[0] in ">|"
        or _HEADING.match(line)
        or _RULE.match(line)
        or (after_blank and _INDENTED.match(line) and not _ITEM.match(line))
        or " | " in stripped
    )


def _begins_anew(line: str) -> bool:
    """Whether a line does not go on with the one before: it begins with a sign, such as a check mark."""
    first = line.lstrip()[:1]
    return not (first.isalnum() or first in "`\"'“„«([*_~")


def _tokens(text: str, start: int, end: int) -> Iterator[Token]:
    position = start
    for opaque in _OPAQUE.finditer(text, start, end):
        yield from _words(text, position, opaque.start())
        kind = TokenKind.CODE if opaque["code"] else TokenKind.QUOTE
        if not opaque["target"]:
            said = opaque[0][1:-1].strip().casefold() if opaque["code"] else ""
            yield Token(kind, said, opaque.start(), opaque.end())
        position = opaque.end()
    yield from _words(text, position, end)


def _words(text: str, start: int, end: int) -> Iterator[Token]:
    position = start
    while position < end:
        share = _SHARE.match(text, position, end)
        found = share or _TOKEN.match(text, position, end)
        if found is None:
            position += 1
            continue
        kind = TokenKind.SHARE if share is not None else TokenKind(found.lastgroup or "word")
        yield Token(
            kind,
            found[0].casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"),
            found.start(),
            found.end(),
        )
        position = found.end()


def _split(tokens: Sequence[Token], under: frozenset[str]) -> Iterator[Sentence]:
    held: list[Token] = []
    waiting: Token | None = None
    for token in tokens:
        if waiting is not None and token.start > waiting.end and not _is_abbreviated(held, waiting):
            yield from _closed(held, waiting.text, under)
            held = []
        waiting = None
        if token.kind is TokenKind.MARK and token.text in _ENDINGS:
            waiting = token
        else:
            held.append(token)
    yield from _closed(held, "" if waiting is None else waiting.text, under)


def _is_abbreviated(held: list[Token], mark: Token) -> bool:
    return mark.text == "." and bool(held) and held[-1].text in _ABBREVIATIONS and held[-1].end == mark.start


def _closed(held: list[Token], ending: str, under: frozenset[str]) -> Iterator[Sentence]:
    if 0 < len(held) <= SENTENCE_TOKENS_MAX:
        yield Sentence(tuple(held), ending, under)
