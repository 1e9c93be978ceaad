"""``verdicts``: which are in force, whether their grades still are, and what cannot be judged."""

from typing import Any

import pytest

from sidecars.graded import VerdictEntry
from tests.grading.examples import AS_OF, claimed, says, source
from timeline.grading.grade import digest_grade, grade_question
from timeline.grading.recompute import recompute
from timeline.grading.verdicts import find_objection, verdicts_in_force

CLAIMS = [says("ada", "1970"), says("bob", "1971"), claimed("novel", source("eve"), intent="fictional")]
GRADE = grade_question(CLAIMS, {})
CHOOSE = "a verdict must choose among the claims of its question"
BELIEVE = "a verdict must not choose what was not meant to be believed"
REPLACE = "a verdict must replace verdicts on its own question"


def verdict(name: str = "1", **changes: Any) -> VerdictEntry:
    """Give one for Ada, on the grades as they are."""
    fields: dict[str, Any] = {
        "id": f"verdict:{name}",
        "subject": "person:bob",
        "key": "born",
        "grades_digest": digest_grade(GRADE),
        "reason": "the register says so",
        "chosen": ("claim:ada-1970",),
    }
    return VerdictEntry(**(fields | changes))


@pytest.mark.requirement("G27", "G28")
def test_a_verdict_stands_until_one_replaces_it() -> None:
    """Those on other questions do not matter, and two that do not know each other both stand."""
    first, second = verdict("1"), verdict("2", supersedes=("verdict:1",))
    other = verdict("3", key="died", supersedes=("verdict:2",))
    elsewhere = verdict("4", subject="person:ada", supersedes=("verdict:2",))
    assert verdicts_in_force([first], GRADE) == ((first, False),)
    assert [one.verdict for one in verdicts_in_force([first, second, other, elsewhere], GRADE)] == [second]
    assert [one.verdict.id for one in verdicts_in_force([first, verdict("5")], GRADE)] == [
        "verdict:1",
        "verdict:5",
    ]


@pytest.mark.requirement("G27")
def test_a_verdict_on_other_grades_is_outdated() -> None:
    """It stands, and whoever reads it is told."""
    more = grade_question([*CLAIMS, says("joe", "1971")], {})
    (standing,) = verdicts_in_force([verdict()], more)
    assert standing.is_outdated
    (standing,) = verdicts_in_force([verdict(grades_digest=digest_grade(more))], more)
    assert not standing.is_outdated


@pytest.mark.requirement("G27")
def test_no_score_moves_because_of_a_verdict() -> None:
    """It consumes grades: the computation does not take one."""
    before = recompute(CLAIMS, (), AS_OF)
    verdicts_in_force([verdict()], GRADE)
    assert recompute(CLAIMS, (), AS_OF) == before
    assert "verdict" not in str(recompute.__annotations__)


@pytest.mark.parametrize(
    ("body", "objection"),
    [
        (verdict(), None),
        (verdict(chosen=()), None),
        (verdict(chosen=("claim:ada-1970", "claim:bob-1971")), None),
        (verdict("9", supersedes=("verdict:1",)), None),
        (verdict(chosen=("claim:other",)), CHOOSE),
        (verdict(chosen=("claim:ada-1970", "claim:other")), CHOOSE),
        (verdict(chosen=("claim:novel",)), BELIEVE),
        (verdict("9", supersedes=("verdict:none",)), REPLACE),
        (verdict("9", supersedes=("verdict:2",)), REPLACE),
        (verdict("9", supersedes=("verdict:3",)), REPLACE),
    ],
)
def test_what_cannot_be_judged_is_said_in_words(body: VerdictEntry, objection: str | None) -> None:
    """A verdict chooses among the graded claims of its question and replaces verdicts on it."""
    earlier = [verdict("1"), verdict("2", key="died"), verdict("3", subject="person:ada")]
    assert find_objection(body, CLAIMS, earlier) == objection
