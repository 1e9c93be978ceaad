"""What the extractor promises of any text: places, order, bounds, and no claim where nobody claims."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reasoning.extraction.measuring import spelled_claims
from tests.reasoning.extraction.table import read_table
from timeline.reasoning.extraction import extract
from timeline.reasoning.prose import TEXT_CHARACTERS_MAX

WORDS = (
    "all tests pass passed failed fail 214 2 of 14 and und alle laufen durch done fixed the is are not build mypy ruff "
    'pytest clean green no errors without 3/5 12/14 implemented I have ich habe behoben , ; : . ! ? ( ) ` `` ``` ~~~ " '
    "' „ “ > | # - [ ] [x] * ** ~~ <!-- --> \n \n\n      with after They they everything except but one"
).split(" ")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=80).map(" ".join) | st.text(max_size=300)
SENTENCES = [one.text for one in read_table("claims")]


@pytest.mark.requirement("P36", "P38")
@given(text=TEXTS)
def test_units_are_ordered_and_lie_in_the_text(text: str) -> None:
    """Each has a place of its own kind, and numbers that are no less than nothing."""
    units = extract(text)
    assert list(units) == sorted(units, key=lambda unit: unit.start)
    for unit in units:
        assert 0 <= unit.start < unit.end <= len(text)
        counts = (unit.passed, unit.failed, unit.skipped, unit.part, unit.total)
        assert all(count is None or count >= 0 for count in counts)
    assert extract(text) == units


@given(text=TEXTS)
def test_what_is_code_or_quoted_is_no_claim(text: str) -> None:
    """Whatever it says."""
    flat = text.replace("`", "").replace("~", "")
    assert extract(f"```\n{flat}\n```") == ()
    assert extract("\n".join(f"> {line}" for line in flat.split("\n"))) == ()
    assert extract("\n".join(f"| {line} |" for line in flat.split("\n"))) == ()
    assert extract(f"<!-- {flat.replace('-->', '')} -->") == ()


@pytest.mark.parametrize("text", SENTENCES)
def test_a_claim_after_a_paragraph_is_found_as_if_alone(text: str) -> None:
    """What stands in another paragraph changes nothing, and places are those of the whole text."""
    before = "Here is what I looked at.\n\n"
    alone, together = extract(text), extract(before + text)
    if text.startswith("    "):
        return  # an indented block is one after a blank line only
    assert [(unit.start + len(before), unit.end + len(before)) for unit in alone] == [
        (unit.start, unit.end) for unit in together
    ]


def test_a_question_takes_a_claim_back() -> None:
    """And so do a condition and a doubt, wherever in the sentence they stand."""
    assert spelled_claims("All tests pass.") == "tests-passed:extent=all"
    for text in (
        "All tests pass?",
        "All tests pass if you use Linux.",
        "All tests pass, I think.",
        "❌ All tests pass.",
    ):
        assert extract(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "Acceptance criteria:\n\n- All tests pass\n- The build succeeds",
        "## Next steps\n\nAll tests pass.\n\n- The bug is fixed",
        "Remaining:\n1. The migration is complete",
        "### Geplant\n\n- Alle Tests laufen durch",
        "It is merged once each of these holds:\n\n* All tests pass\n* mypy is clean",
    ],
)
def test_what_stands_under_such_a_title_is_no_claim(text: str) -> None:
    """Plans and criteria say how things are to be."""
    assert extract(text) == ()
    assert extract(f"{text}\n\n## Result\n\nAll tests pass.") != ()


@pytest.mark.parametrize(
    "text",
    [
        "The test failed because the mock was stale.",
        "2 tests failed because the mock was stale.",
        "Some tests failed.",
        "I have finished reading the code.",
        "The change is complete except for the docs.",
        "I have complete coverage of the parser.",
    ],
)
def test_a_story_is_no_claim(text: str) -> None:
    """Why something once failed, or what was done without being a piece of work."""
    assert extract(text) == ()


@pytest.mark.parametrize(
    "text", ["All tests pass except two.", "All tests pass (except one).", "All tests pass, apart from one."]
)
def test_an_exception_makes_a_part_of_all(text: str) -> None:
    """Wherever it stands after the claim."""
    assert spelled_claims(text) == "tests-passed:extent=partial"


def test_two_sentences_do_not_disturb_each_other() -> None:
    """A doubtful sentence leaves the next one alone."""
    assert (
        spelled_claims("I think it is done. All 3 tests pass. Is it?") == "tests-passed:passed=3,extent=all"
    )


def test_one_run_that_is_told_twice_is_one_claim() -> None:
    """Words and counts of one sentence are one unit; another count is another one."""
    assert spelled_claims("All tests pass (214 passed, 2 skipped).") == (
        "tests-passed:passed=214,skipped=2,extent=all"
    )
    assert spelled_claims("Coverage of the parser (32 tests, all passing)") == (
        "tests-passed:passed=32,extent=all"
    )
    assert spelled_claims("`pytest` gives 3 passed; `jest` gives 2 passed.").count("tests-passed") == 2


def test_a_soft_line_break_is_a_blank() -> None:
    """So that a negation in one line reaches the next."""
    assert extract("Not all\nTests pass") == ()
    assert spelled_claims("All 214\ntests pass.") == "tests-passed:passed=214,extent=all"


def test_no_more_than_the_bound_is_read() -> None:
    """What stands behind it might as well not be there."""
    filler = "\n" * (TEXT_CHARACTERS_MAX - 15)
    assert extract(filler + "All tests pass.") != ()
    assert extract(filler + "All tests pass.\n") != ()
    assert extract(filler + "All tests pass. Or not.") == ()
    assert extract(filler + "\nAll tests pass.") == ()
