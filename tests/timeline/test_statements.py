"""What may be kept of a person's words, and what is a correction: bounds at their edges, English and German."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeline.statements import (
    STATEMENT_BYTES_MAX,
    STEP_CHARACTERS_MAX,
    corrected_step,
    is_capturable,
    is_correction_line,
    kind_of,
)

ENGLISH = "Correction: next step: Compare both archives."
GERMAN = "Korrektur: nächster Schritt: Beide Archive vergleichen."


@pytest.mark.requirement("T37")
@pytest.mark.parametrize("unit", ["a", "ä", "語", "🙂"])
def test_the_bound_counts_bytes(unit: str) -> None:
    """2,048 bytes are kept and one more is not, also where that byte is a part of a character."""
    size = len(unit.encode())
    fits = "a" * (STATEMENT_BYTES_MAX % size) + unit * (STATEMENT_BYTES_MAX // size)
    assert len(fits.encode()) == STATEMENT_BYTES_MAX == 2048
    assert is_capturable(fits)
    assert not is_capturable(fits + "a")
    assert not is_capturable("a" + fits)


@pytest.mark.requirement("T37", "T61")
@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "\u00a0\u3000", "a\nb", "a\n", "\na", "a\rb", "a\tb", "a\vb", "a\fb", "a\x1cb", "a\x85b"),
        *("a\u2028b", "a\u2029b", "a\0b", "a\x7fb", "a\x9bb", "a\u202eb", "a\u2066b", "a\u200bb", "a\ufeffb"),
        *("a\U000e0041b", "a\U000e0100b", "a\ud800b", "a\udfffb", "a\u061cb", "a\u2060b"),
    ],
)
def test_what_is_no_visible_line_is_not_kept(text: str) -> None:
    """Empty, several lines in anybody's sense, controls, hidden letters, turned text, halves of characters."""
    assert not is_capturable(text)
    assert kind_of(text) is None
    if text.strip():
        assert not is_correction_line(f"{ENGLISH}{text}")


@pytest.mark.requirement("T37")
@pytest.mark.parametrize(
    "text", ["a", "Ä b", "a\u00a0b", "👩\u200d🔬 it works ❤\ufe0f", "می\u200cخواهم", "x" * 2048]
)
def test_ordinary_lines_of_every_language_are_kept(text: str) -> None:
    """Spaces of other scripts, joiners and emoji are what people write."""
    assert kind_of(text) == "user-message"


@given(st.text(max_size=60))
def test_any_text_has_one_answer(text: str) -> None:
    """A correction is capturable, and what is capturable is one line of UTF-8 with at most 2,048 bytes."""
    if is_correction_line(text):
        assert is_capturable(text)
    if is_capturable(text):
        assert len(text.splitlines()) == 1
        assert 0 < len(text.encode()) <= STATEMENT_BYTES_MAX
    assert (kind_of(text) is None) is not is_capturable(text)


@pytest.mark.requirement("T59")
@pytest.mark.parametrize(
    ("text", "step"),
    [
        (ENGLISH, "Compare both archives."),
        (GERMAN, "Beide Archive vergleichen."),
        ("correction:next step:x", "x"),
        ("CORRECTION:    NEXT STEP:    a   b  ", "a b"),
        ("KORREKTUR: NÄCHSTER SCHRITT: a", "a"),
        ("Korrektur: na\u0308chster Schritt: a\u00a0\u3000b", "a b"),
        ("Correction: next step: don't stop: next step: x", "don't stop: next step: x"),
    ],
)
def test_a_correction_is_the_whole_line(text: str, step: str) -> None:
    """Both openings, in any case, with any spaces behind their colons; the step's own spaces are folded."""
    assert corrected_step(text) == step
    assert kind_of(text) == "correction"


@pytest.mark.requirement("T61", "T62")
@pytest.mark.parametrize(
    "text",
    [
        f" {ENGLISH}",
        f"> {ENGLISH}",
        f'"{ENGLISH}"',
        f"`{ENGLISH}`",
        f"- {ENGLISH}",
        f"If you like: {ENGLISH}",
        f"No {ENGLISH}",
        f"The user wrote {ENGLISH}",
        f"user: {ENGLISH}",
        "Correction: the next step: x",
        "Correction next step: x",
        "Correction: next step x",
        "Correction : next step: x",
        "Correction: next  step: x",
        "Corrections: next step: x",
        "Correction: next step:",
        "Correction: next step:    ",
        "Correction: next step: \u00a0",
        "Correction: last step: x",
        "Korrektur: naechster Schritt: x",
        "Korrektur: next step: x",
        "Correction: nächster Schritt: x",
        "Сorrection: next step: x",  # a Cyrillic letter
        "Correction: next ſtep: x",  # folds to s in Unicode
        "Korreктur: nächster Schritt: x",
        "the next step is done",
    ],
)
def test_what_only_looks_like_one_stays_context(text: str) -> None:
    """Quotes, reports, conditions, negations, other words and other letters: a message and no correction."""
    assert not is_correction_line(text)
    assert kind_of(text) == "user-message"


@pytest.mark.requirement("T59")
def test_a_step_has_500_characters_at_most() -> None:
    """Counted in characters after folding, while the whole line keeps to its bytes."""
    assert STEP_CHARACTERS_MAX == 500
    longest = "🙂" * 500
    assert corrected_step(f"Correction: next step: {longest}") == longest
    assert corrected_step(f"Correction: next step: {longest}a") is None
    assert corrected_step("Correction: next step: " + "a" * 499 + " " * 30 + "b") is None
    assert corrected_step("Correction: next step: " + "a" * 498 + " " * 30 + "b") is not None
    assert kind_of("Correction: next step: " + "a" * 501) == "user-message"


def test_no_rule_depends_on_the_version_of_unicode() -> None:
    """A stored event reads the same for ever: unassigned characters are neither hidden nor letters."""
    for number in (0x1FAEA, 0x2FFF0, 0x10FFFF):
        assert is_capturable(f"a{chr(number)}b"), sys.version


@pytest.mark.parametrize("blank", ["\u3164", "\u115f\u1160", "\uffa0", "\u2800\u2800", "\u3164 \u2800"])
def test_a_step_that_shows_nothing_is_none(blank: str) -> None:
    """Each is printable, and drawn as nothing."""
    assert blank.replace(" ", "").isprintable()
    assert corrected_step(f"Correction: next step: {blank}") is None
    assert corrected_step(f"Correction: next step: {blank}x") is not None
