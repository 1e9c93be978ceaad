"""What earlier designs of such grades got wrong, one test each."""

import msgspec
import pytest

from sidecars.graded import Claim, ClaimSource
from tests.grading.examples import AS_OF, DAY, claimed, row_of, rows_of, said_of, says, source
from timeline.grading.claims import strictest_mutability
from timeline.grading.credibility import find_credibility, score_history
from timeline.grading.current import find_current
from timeline.grading.grade import grade_question
from timeline.grading.recompute import format_run, recompute


@pytest.mark.requirement("G11")
def test_the_domain_is_a_field_of_knowledge_and_not_the_kind_of_a_statement() -> None:
    """A chemist's preferences about food do not weigh in chemistry."""
    claims = [
        claimed("1", source("ada"), domain="chemistry", subject="compound:1", key="boils-at"),
        claimed("2", source("bob"), domain="chemistry", subject="compound:1", key="boils-at"),
        claimed("3", source("ada"), domain="food", subject="dish:1", key="salted", value="true"),
        claimed("4", source("eve"), domain="food", subject="dish:1", key="salted", value="false"),
    ]
    rows = rows_of(recompute(claims, (), AS_OF))
    assert find_credibility(rows, "person:ada", "chemistry").score == 666_666
    assert find_credibility(rows, "person:ada", "food").score == 333_333


@pytest.mark.requirement("G13")
def test_a_new_score_does_not_overwrite_the_old_one() -> None:
    """Every run is a record of its own."""
    claims = [says("ada", "1970"), says("bob", "1970")]
    first = format_run(recompute(claims, (), AS_OF), "run:1", 2, None)
    later = format_run(recompute(claims, (), AS_OF + 90 * DAY), "run:2", 2, "run:1")
    history = score_history([*first, *later], "person:ada", "history")
    assert [(one.as_of, one.score) for one in history] == [(AS_OF, 666_666), (AS_OF + 90 * DAY, 600_000)]


@pytest.mark.requirement("G15", "G20")
def test_one_fictional_immutable_claim_hardens_nothing() -> None:
    """Two favourites stay two favourites."""
    claims = [says("ada", '"red"', mutability="stateful"), says("bob", '"blue"', mutability="stateful")]
    novel = said_of(says("eve", '"black"'), intent="fictional", mutability="immutable")
    assert strictest_mutability([*claims, novel]) == "stateful"
    assert recompute([*claims, novel], (), AS_OF).rows == ()


@pytest.mark.requirement("G4", "G18")
def test_a_fictional_favourite_is_never_current() -> None:
    """Even if it was said last."""
    real = says("bob", '"red"', mutability="stateful")
    novel = said_of(says("eve", '"black"'), intent="fictional", mutability="stateful", said_at=AS_OF + DAY)
    current = find_current([real, novel], AS_OF + 2 * DAY)
    assert current is not None
    assert current.values == ('"red"',)


@pytest.mark.requirement("G24")
def test_a_similar_value_is_another_value() -> None:
    """``v1.0.12`` does not reinforce ``v1.0.13``."""
    run = recompute([says("ada", '"v1.0.12"'), says("bob", '"v1.0.13"')], (), AS_OF)
    assert [(row.corroborated, row.contradicted) for row in run.rows] == [(0, 1)] * 4
    assert len(grade_question([says("ada", '"v1.0.12"'), says("bob", '"v1.0.13"')], {}).values) == 2


@pytest.mark.requirement("G21", "G22", "M5")
def test_later_sessions_are_kept_and_repetitions_are_not_counted() -> None:
    """A second person's session is a second voice; the first one's repetitions are none."""
    first = claimed("1", source("ada", session="session:1"))
    again = [
        claimed(f"again{n}", source("ada", session=f"session:{n}"), said_at=AS_OF + n) for n in range(2, 9)
    ]
    other = claimed("2", source("bob", session="session:9"))
    (value,) = grade_question([first, *again, other], {}).values
    assert value.voices == 2
    assert row_of(recompute([first, *again, other], (), AS_OF), "ada").claims == 1
    (alone,) = grade_question([first, *again], {}).values
    assert (alone.voices, alone.weight) == (1, alone.composite)


@pytest.mark.requirement("G21")
def test_there_is_a_rule_for_several_sources() -> None:
    """The best of each root is the number, independent voices are added up, and both are shown."""
    (value,) = grade_question([says("ada", "1"), says("bob", "1")], {}).values
    assert (value.composite, value.weight, value.voices) == (225_000, 450_000, 2)


@pytest.mark.requirement("G8", "G22")
def test_distance_is_made_of_hops_and_a_type() -> None:
    """And both, like the verification, are the source's; intent and mutability are the claim's."""
    (grade,) = grade_question([claimed("1", source("ada", source_type="cited", hops=3))], {}).claims
    assert (grade.sources[0].hops, grade.sources[0].source_type, grade.sources[0].distance) == (
        3,
        "cited",
        722_000,
    )
    of_source = {field.name for field in msgspec.structs.fields(ClaimSource)}
    of_claim = {field.name for field in msgspec.structs.fields(Claim)}
    assert {"hops", "source_type", "verification"} <= of_source - of_claim
    assert {"intent", "mutability"} <= of_claim - of_source


@pytest.mark.requirement("G19")
def test_a_contradiction_has_a_validity_window() -> None:
    """A title that one person held after another contradicts nothing."""
    first = says("ada", '"x"', valid_from=0, valid_until=AS_OF)
    second = says("bob", '"y"', valid_from=AS_OF)
    assert recompute([first, second], (), AS_OF).rows == ()


@pytest.mark.requirement("G10")
def test_a_missing_verification_is_shown_as_missing() -> None:
    """The product has a stand-in; the grade names it, and a real one half as good weighs the same and is not named."""
    missing = grade_question([says("ada", "1")], {}).claims[0].sources[0]
    half = grade_question([claimed("1", source("ada", verification=500_000))], {}).claims[0].sources[0]
    assert missing.composite == half.composite
    assert ("verification" in missing.unknowns, "verification" in half.unknowns) == (True, False)


@pytest.mark.requirement("M7", "G21")
def test_no_lineage_is_not_taken_for_independence() -> None:
    """Sources that say nothing of where they have it from corroborate nobody and are no voices."""
    lost = [claimed(f"l{n}", source(f"p{n}", root=None)) for n in range(9)]
    (value,) = grade_question(lost, {}).values
    assert (value.voices, value.weight) == (0, value.composite)
    assert recompute([*lost, says("ada", "1970")], (), AS_OF).rows == ()
