"""Terms: a closed vocabulary, numbers and labels; how a query is read and how an event is indexed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.objective.vocabulary import CANONICAL_TERMS, SYNONYMS
from sidecars.event import Event, EventLine, Outcome
from timeline.errors import QueryError
from timeline.terms import Query, Term, event_mask, label_number, mask_bits, parse_query, vocabulary_digest

DIGEST = "A" * 43
EVENT = Event(
    id="timeline-event:" + "0" * 32,
    kind="test-run",
    lines=(EventLine("call", 0, 1, DIGEST),),
    tool="shell",
    runner="pytest",
    binding="direct",
    outcome=Outcome.FAIL,
    fingerprint="A" * 22,
)
SUITE = Event(
    id="timeline-event:" + "0" * 32,
    kind="measurement",
    lines=(EventLine("call", 0, 1, DIGEST),),
    tool="shell",
    runner="measured-suite",
    binding="script",
    outcome=Outcome.PASS,
    fingerprint="A" * 22,
    label="suite-4",
    flags=("partial", "truncated"),
)


def test_every_word_of_the_vocabulary_is_a_term() -> None:
    """English and German words lead to their canonical term, in any casing."""
    for word, canonical in SYNONYMS.items():
        partner = "12"
        for spelling in (word, word.upper()):
            (term, _) = parse_query((spelling, partner)).terms
            assert (term.text, term.bit) == (canonical, CANONICAL_TERMS.index(canonical))


@given(st.integers(0, 999_999_999), st.integers(0, 9999))
def test_counts_and_labels_are_numbers_that_never_meet(count: int, label: int) -> None:
    """A label is no count, whatever its digits."""
    query = parse_query((str(count), f"suite-{label}"))
    assert query.mask == 0
    assert query.numbers[0] == count
    assert query.numbers[1] > 999_999_999
    assert len(set(query.numbers)) == 2


@pytest.mark.requirement("T35")
@pytest.mark.parametrize(
    "word",
    [
        "",
        " ",
        "007",
        "+7",
        "1_0",
        "7.5",
        "-1",
        "1234567890",
        "suite-01",
        "suite-12345",
        "/etc",
        "%",
        "*",
        "'",
        "pytest failed",
        "\0",
        "\udcff",
        "the",
    ],
)
def test_what_is_no_term_is_refused(word: str) -> None:
    """No prose, no pattern, no SQL, no second spelling of a number; the word itself is not repeated."""
    with pytest.raises(QueryError) as refused:
        parse_query((word, "pytest"))
    assert refused.value.reason == "query-invalid"
    assert not word.strip() or word == "the" or word not in refused.value.message


@pytest.mark.parametrize(
    ("word", "term"), [("pytets", "pytest"), ("vitst", "vitest"), ("fehlgeschlage", "fail")]
)
def test_a_typing_error_is_matched_within_the_vocabulary_and_said(word: str, term: str) -> None:
    """The answer can name what was taken for what."""
    query = parse_query((word, "12"))
    assert query.terms[0].text == term
    assert [given for given, _ in query.corrections] == [word]


@given(st.lists(st.text(max_size=20), max_size=4))
def test_any_words_are_a_query_or_a_query_error(words: list[str]) -> None:
    """A query has two different terms, each a bit or a number."""
    try:
        query = parse_query(words)
    except QueryError:
        return
    assert len(words) == 2
    assert query.terms[0] != query.terms[1]
    assert all((term.bit is None) != (term.number is None) for term in query.terms)


def test_an_event_is_indexed_under_everything_that_is_said_of_it() -> None:
    """Kind, outcome, runner, binding, tool, flags, and that it has a label."""

    def words(event: Event) -> set[str]:
        return {CANONICAL_TERMS[bit] for bit in mask_bits(event_mask(event))}

    assert words(EVENT) == {"test-run", "fail", "pytest", "direct", "shell"}
    assert words(SUITE) == {
        "measurement",
        "pass",
        "measured-suite",
        "script",
        "shell",
        "label",
        "partial",
        "truncated",
    }
    assert label_number(EVENT) is None
    assert (label_number(SUITE),) == parse_query(("suite-4", "pass")).numbers


@given(st.sets(st.integers(0, len(CANONICAL_TERMS) - 1)))
def test_bits_and_masks_are_each_others_inverse(bits: set[int]) -> None:
    """Ascending, none lost."""
    assert mask_bits(sum(1 << bit for bit in bits)) == sorted(bits)


def test_two_words_of_one_bit_are_one_bit() -> None:
    """A mask is a set: the same bit is not added twice."""
    assert Query((Term("pass", bit=2), Term("pass", bit=2))).mask == 1 << 2


def test_the_digest_of_the_vocabulary_changes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored masks of another vocabulary are noticed."""
    before = vocabulary_digest()
    monkeypatch.setattr("timeline.terms.CANONICAL_TERMS", (*CANONICAL_TERMS, "newcomer"))
    assert vocabulary_digest() != before
