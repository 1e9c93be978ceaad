"""The closed vocabulary: stable positions, one meaning per word, English and German."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.objective import CANONICAL_TERMS, SYNONYMS, Binding, Flag, Kind, Outcome
from adapters.objective.runners import BY_RUNNER
from adapters.objective.vocabulary import _WORDS, MAX_TERMS, fold, terms_of


def test_terms_fit_one_integer_and_are_in_their_folded_form() -> None:
    """A term is a bit position; positions are unique and few enough."""
    assert len(set(CANONICAL_TERMS)) == len(CANONICAL_TERMS) <= MAX_TERMS
    assert [fold(term) for term in CANONICAL_TERMS] == list(CANONICAL_TERMS)


def test_the_first_positions_are_fixed() -> None:
    """Stored projections hold positions: an entry may be added at the end and never moved."""
    assert CANONICAL_TERMS[:10] == (
        "test-run", "measurement", "pass", "fail", "error", "timeout", "blocked", "skipped", "cancelled", "unknown",
    )  # fmt: skip
    assert CANONICAL_TERMS[10:17] == ("pytest", "unittest", "cargo", "go", "jest", "vitest", "measured-suite")


def test_everything_that_an_objective_result_can_say_is_a_term() -> None:
    """Kinds, outcomes, bindings, flags and runners can all be searched for."""
    said = {*Kind, *Outcome, *Binding, *Flag, *BY_RUNNER}
    assert said <= set(CANONICAL_TERMS)


def test_every_term_means_itself_and_every_word_means_a_term() -> None:
    """The mapping is closed, and a word has one meaning."""
    assert all(SYNONYMS[term] == term for term in CANONICAL_TERMS)
    assert set(SYNONYMS.values()) == set(CANONICAL_TERMS) == set(_WORDS)
    words = [fold(word) for line in _WORDS.values() for word in line.split()]
    assert len(words) == len(set(words)) == len(SYNONYMS)


@pytest.mark.parametrize(
    ("word", "term"),
    [
        ("bestanden", "pass"),
        ("Erfolgreich", "pass"),
        ("fehlgeschlagen", "fail"),
        ("ZEITÜBERSCHREITUNG", "timeout"),
        ("Zeitu\u0308berschreitung", "timeout"),
        ("übersprungen", "skipped"),
        ("abgebrochen", "cancelled"),
        ("Fehler", "error"),
        ("blockiert", "blocked"),
        ("Prüfung", "test-run"),
        ("Testlauf", "test-run"),
        ("Messung", "measurement"),
        ("ｐｙｔｅｓｔ", "pytest"),
    ],
)
def test_words_are_matched_in_both_languages_and_any_form(word: str, term: str) -> None:
    """NFKC and case folding: composed, decomposed, wide and upper-case forms are one word."""
    assert SYNONYMS[fold(word)] == term


@given(st.text())
def test_folding_is_idempotent(word: str) -> None:
    """A folded word folds to itself, so that stored and asked words meet."""
    assert fold(fold(word)) == fold(word)


def test_terms_become_bits() -> None:
    """The set of terms is an integer; a word that is no term is refused."""
    assert terms_of(["test-run", "pass"]) == 0b101
    assert terms_of([]) == 0
    with pytest.raises(KeyError):
        terms_of(["passed"])
