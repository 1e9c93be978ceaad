"""Search terms: the closed vocabulary, counts and labels; and how an event is indexed under them. Pure.

Only allowlisted words are terms (runner, outcome, kind, tool class, binding, flag, each with its English and German
names), numbers that a runner printed, and labels such as ``suite-4``. Prose is not indexed and cannot be searched.
What a person typed is found by ``user message`` and ``user correction`` alone (T35, T36).
A mistyped word is matched within the vocabulary and the answer says so.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from adapters.objective.vocabulary import CANONICAL_TERMS, LABEL_TERM, SYNONYMS, fold, terms_of
from sidecars.event import CORRECTION, USER_MESSAGE, Event
from timeline.errors import QueryError
from timeline.limits import FUZZY_SCORE_MIN, QUERY_CHARACTERS_MAX

TERMS_PER_QUERY: Final = 2
_NUMBER = re.compile(r"(?:0|[1-9][0-9]{0,8})", re.ASCII)
_LABEL = re.compile(r"suite-(0|[1-9][0-9]{0,3})", re.ASCII)
_USER, _MESSAGE, _CORRECTION = "user", "message", "correction"
MESSAGE_BIT: Final = 1 << CANONICAL_TERMS.index(_MESSAGE)
"""The bit that user messages have and no other event."""

_STATEMENT_TERMS: Final = {USER_MESSAGE: (_USER, _MESSAGE), CORRECTION: (_USER, _CORRECTION)}
_LABEL_BASE: Final = 1 << 40
"""Labels live beside counts in one number index; no count reaches this."""


class Term(msgspec.Struct, frozen=True):
    """One term of a query: a bit of the vocabulary, or a number (a count, or a label above ``_LABEL_BASE``)."""

    text: str
    bit: int | None = None
    number: int | None = None


class Query(msgspec.Struct, frozen=True):
    """Two terms, and which of the given words were taken for which term."""

    terms: tuple[Term, Term]
    corrections: tuple[tuple[str, str], ...] = ()

    @property
    def mask(self) -> int:
        """The vocabulary bits that an event must have."""
        return sum({1 << term.bit for term in self.terms if term.bit is not None})

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers that an event must have."""
        return tuple(term.number for term in self.terms if term.number is not None)

    @property
    def is_of_messages(self) -> bool:
        """Whether only user messages can match."""
        return self.mask & MESSAGE_BIT != 0


def parse_query(words: Sequence[str]) -> Query:
    """Two known terms.

    Raises:
        QueryError: not two words, one of them is no term and near none, or both mean the same.
    """
    if len(words) != TERMS_PER_QUERY:
        message = f"a search takes exactly two terms, {len(words)} given"
        raise QueryError(message)
    parsed = [_parse_word(word) for word in words]
    terms = _as_correction(parsed[0][0], parsed[1][0])
    if terms[0] == terms[1]:
        message = f"both words mean the term {terms[0].text}"
        raise QueryError(message, hint="give two different terms")
    return Query(terms, tuple(correction for _, correction in parsed if correction is not None))


def _as_correction(first: Term, second: Term) -> tuple[Term, Term]:
    """A correction is a message of the user too: asked for as such, it is found as the user's correction."""
    if {first.text, second.text} == {_CORRECTION, _MESSAGE}:
        return _word_term(_USER), _word_term(_CORRECTION)
    return first, second


def event_mask(event: Event) -> int:
    """The vocabulary bits of an event."""
    run = event.run
    if run is None:
        return terms_of(_STATEMENT_TERMS[event.kind])
    words = [event.kind, run.outcome.value, run.runner, run.binding, run.tool, *event.flags]
    if event.label is not None:
        words.append(LABEL_TERM)
    return terms_of(words)


def label_number(event: Event) -> int | None:
    """The number that stands for an event's label, ``None`` without one."""
    match = _LABEL.fullmatch(event.label or "")
    return None if match is None else _LABEL_BASE + int(match.group(1))


def mask_bits(mask: int) -> list[int]:
    """The positions of the bits that are set, ascending."""
    return [bit for bit in range(len(CANONICAL_TERMS)) if mask >> bit & 1]


def vocabulary_digest() -> bytes:
    """Which vocabulary masks were made with; stored masks of another one are made again."""
    return hashlib.sha256("\n".join(CANONICAL_TERMS).encode()).digest()


def _parse_word(word: str) -> tuple[Term, tuple[str, str] | None]:
    if len(word) > QUERY_CHARACTERS_MAX:
        message = f"a search term has at most {QUERY_CHARACTERS_MAX} characters"
        raise QueryError(message)
    folded = fold(word)
    if _NUMBER.fullmatch(folded):
        return Term(folded, number=int(folded)), None
    label = _LABEL.fullmatch(folded)
    if label is not None:
        return Term(folded, number=_LABEL_BASE + int(label.group(1))), None
    known = SYNONYMS.get(folded)
    if known is not None:
        return _word_term(known), None
    nearest = _nearest(folded)
    if nearest is None:
        message = "a search term is not in the vocabulary and near none of its words"
        raise QueryError(message, hint="terms are runners, outcomes and counts, such as `pytest failed`")
    return _word_term(SYNONYMS[nearest]), (folded, nearest)


def _word_term(name: str) -> Term:
    return Term(name, bit=CANONICAL_TERMS.index(name))


def _nearest(word: str) -> str | None:
    # Imported here: needed only for a word that is not known as it stands.
    from rapidfuzz import fuzz, process

    found = process.extractOne(word, list(SYNONYMS), scorer=fuzz.ratio, score_cutoff=FUZZY_SCORE_MIN)
    return None if found is None else str(found[0])
