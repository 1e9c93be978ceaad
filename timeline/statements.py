"""What of a person's words may be kept as a reference, and which words are a correction of the next step. Pure.

A reference says that there is a statement of one of two kinds and where its line stands; no word of it (T35).
A text is looked at while its line is indexed or captured, and is kept by neither of the rules here. Every rule gives
the same answer with every version of Unicode, since a stored event must read the same for ever.
"""

import hashlib
import re
from typing import Final

import msgspec

from adapters.base import Adapter, Header
from adapters.errors import TranscriptSyntaxError
from adapters.lines import CitedLine
from adapters.record import HumanStatement, Statement
from sidecars.event import StatementKind

STATEMENT_BYTES_MAX: Final = 2048
"""Longest statement that may be captured, in bytes of UTF-8 (T37)."""

STEP_CHARACTERS_MAX: Final = 500
"""Longest next step that a user or a model may name, in characters after its spaces were folded (T59)."""

_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # controls, line breaks and tabs among them
    "\u2028\u2029"  # line and paragraph separators
    "\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f"  # marks that turn the direction of text, and invisible operators
    "\u180e\u200b\ufeff\ufff9-\ufffb"  # no width, and annotations
    "\U000e0000-\U000e0fff"  # tags and selectors: letters that nobody sees
    "\ud800-\udfff]"  # halves of a pair are no text
)
"""What breaks a line, or is shown other than it is written or not at all; not the joiners of emoji and of scripts."""

_CORRECTION = re.compile(
    r"correction: *next step: *(?P<english>[^ ].*)|korrektur: *n(?:[äÄ]|[aA]\u0308)chster schritt: *(?P<german>[^ ].*)",
    re.IGNORECASE | re.ASCII,
)
"""The two whole lines, English and German, by ASCII case alone; the ``ä`` composed or not (T59)."""

_SPACES = re.compile(r"[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")


class StatementLine(msgspec.Struct, frozen=True):
    """A reference to one statement: its kind, and its line, offset and length in bytes; UTC milliseconds or none."""

    kind: StatementKind
    offset: int
    length: int
    sha256: bytes
    at_ms: int | None


def refer_to(adapter: Adapter, header: Header, line: CitedLine) -> StatementLine | None:
    """The reference to the statement at exactly this line; ``None`` where it is none, or none that is kept."""
    statement = adapter.read_statement(header, line)
    return None if statement is None else _reference(line.offset, line.raw, statement)


def refer_to_said(adapter: Adapter, header: Header, said: HumanStatement, raw: bytes) -> StatementLine | None:
    """The same for a statement that a reader has just found at the line ``raw``."""
    if said.inherited:
        return None
    try:
        text = adapter.text_of_statement(header, raw)
    except TranscriptSyntaxError:
        return None
    return _reference(said.offset, raw, Statement(text, said.at_ms))


def _reference(offset: int, raw: bytes, statement: Statement) -> StatementLine | None:
    kind = kind_of(statement.text)
    if kind is None:
        return None
    return StatementLine(kind, offset, len(raw), hashlib.sha256(raw).digest(), statement.at_ms)


def kind_of(text: str) -> StatementKind | None:
    """As what a statement is kept; ``None`` where it is not: many lines, or too long for one quote."""
    if not is_capturable(text):
        return None
    return "correction" if is_correction_line(text) else "user-message"


_EMPTY_SHAPES: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Hangul fillers and the empty braille cell: letters and symbols that are drawn as nothing."""


def is_capturable(text: str) -> bool:
    """Whether a statement is one line that can be quoted: 1 to 2,048 bytes, all visible, not only spaces (T37)."""
    if len(text) > STATEMENT_BYTES_MAX or not text.strip() or _HIDDEN.search(text) is not None:
        return False
    return len(text.encode("utf-8")) <= STATEMENT_BYTES_MAX


def is_correction_line(text: str) -> bool:
    """Whether a statement as a whole is a correction of the next step (T59, T61, T62)."""
    return corrected_step(text) is not None


def corrected_step(text: str) -> str | None:
    """The next step that a correction names, its spaces folded; ``None`` where the whole text is no correction.

    The text must be capturable, begin with the words themselves (no quote, no space, nothing before them), and name
    a step of 1 to 500 characters.
    """
    if not is_capturable(text):
        return None
    match = _CORRECTION.fullmatch(text)
    if match is None:
        return None
    step = _SPACES.sub(" ", match["english"] or match["german"]).strip(" ")
    return step if len(step) <= STEP_CHARACTERS_MAX and shows_something(step) else None


def shows_something(text: str) -> bool:
    """Whether a printable text shows anything: letters whose shape is empty are printable too."""
    return any(character not in _EMPTY_SHAPES and not character.isspace() for character in text)
