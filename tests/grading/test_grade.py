"""``grade``: S, D and V of each source, what is unknown, why, and what values add up to."""

from typing import Any

import msgspec
import pytest

from tests.grading.examples import AS_OF, DAY, claimed, credential, rows_of, said_of, says, source
from timeline.grading.distance import retell
from timeline.grading.grade import QuestionGrade, ValueGrade, digest_grade, grade_question, grade_source
from timeline.grading.recompute import recompute

NOBODY: dict[tuple[str, str], Any] = {}
KNOWN = rows_of(
    recompute(
        [says("ada", "1"), says("bob", "1"), says("eve", "2", key="k"), says("joe", "3", key="k")],
        [credential("joe", domain="law", quality=0)],
        AS_OF,
    )
)
"""Ada and Bob have 0.666666 in history, Eve 0.333333, and Joe's credential in law has failed."""


@pytest.mark.requirement("G6", "G10", "G11")
def test_a_grade_tells_what_is_unknown_instead_of_one_number() -> None:
    """Nothing is known of the source: the numbers are stand-ins, and each is named as one."""
    grade = grade_source(source("zoe", root=None, source_type="unknown"), "history", NOBODY)
    assert (grade.credibility, grade.evidence, grade.distance, grade.verification) == (
        500_000,
        0,
        500_000,
        None,
    )
    assert grade.composite == 125_000
    assert grade.unknowns == ("credibility", "distance", "lineage", "verification")
    assert grade.reasons == ()


@pytest.mark.requirement("G6")
def test_a_grade_of_which_everything_is_known() -> None:
    """The product of the three, and where S comes from."""
    grade = grade_source(source("ada", verification=800_000), "history", KNOWN, ["corroborated"])
    assert (grade.entity, grade.source_type, grade.hops) == ("person:ada", "observed", 1)
    assert (grade.credibility, grade.evidence, grade.distance, grade.verification) == (
        666_666,
        1,
        900_000,
        800_000,
    )
    assert grade.composite == 666_666 * 900_000 * 800_000 // 10**12 == 479_999
    assert grade.unknowns == ()
    assert grade.reasons == ("corroborated", "credibility-of-domain")


@pytest.mark.requirement("G10")
def test_a_failed_verification_is_not_a_missing_one() -> None:
    """Nobody has looked: half. Somebody has, and it failed: nothing, with the reason."""
    missing = grade_source(source("ada"), "history", KNOWN)
    failed = grade_source(source("ada", verification=0), "history", KNOWN)
    half = grade_source(source("ada", verification=500_000), "history", KNOWN)
    assert (missing.composite, failed.composite, half.composite) == (299_999, 0, 299_999)
    assert (missing.verification, missing.unknowns) == (None, ("verification",))
    assert (failed.verification, failed.unknowns) == (0, ())
    assert failed.reasons == ("credibility-of-domain", "failed-verification")
    assert (half.unknowns, half.reasons) == ((), ("credibility-of-domain",))


@pytest.mark.requirement("G11")
def test_where_credibility_comes_from_is_told() -> None:
    """From the domain, from the whole record, or from nowhere."""
    assert grade_source(source("ada"), "law", KNOWN).reasons == ("credibility-of-all-domains",)
    assert grade_source(source("joe"), "law", KNOWN).credibility == 250_000
    assert grade_source(source("zoe"), "law", KNOWN).unknowns == ("credibility", "verification")


@pytest.mark.requirement("G6", "G16")
def test_a_question_shows_its_values_the_heaviest_first() -> None:
    """With independent voices added up, and each claim's reasons."""
    claims = [says("ada", "1970"), says("bob", "1970"), says("eve", "1971"), says("zoe", "1971")]
    grade = grade_question(claims, KNOWN)
    assert (grade.subject, grade.key, grade.mutability, grade.tables_version) == (
        "person:bob",
        "born",
        "immutable",
        1,
    )
    best = 666_666 * 900_000 * 500_000 // 10**12
    assert grade.values == (
        ValueGrade(
            value="1970",
            composite=best,
            weight=2 * best,
            voices=2,
            ceiling=None,
            claims=("claim:ada-1970", "claim:bob-1970"),
        ),
        ValueGrade(
            value="1971",
            composite=225_000,
            weight=374_999,
            voices=2,
            ceiling=None,
            claims=("claim:eve-1971", "claim:zoe-1971"),
        ),
    )
    assert [one.claim for one in grade.claims] == sorted(one.claim.id for one in claims)
    assert [one.composite for one in grade.claims] == [best, best, 149_999, 225_000]
    assert grade.claims[0].sources[0].reasons == ("contradicted", "corroborated", "credibility-of-domain")


def test_values_of_one_weight_are_ordered_by_their_best_claim_then_by_their_bytes() -> None:
    """So that the order never depends on that of the claims."""
    claims = [says("zoe", "2"), says("joe", "1"), says("ada", "3"), says("ian", "0", key="born")]
    order = [one.value for one in grade_question(claims, NOBODY).values]
    assert order == ["0", "1", "2", "3"]
    assert [one.value for one in grade_question(claims[::-1], KNOWN).values] == ["3", "0", "2", "1"]
    near = claimed("near", source("zoe", source_type="self", hops=0), value="9")
    far = [claimed(name, source(name, source_type="unknown"), value="8") for name in ("joe", "ian")]
    first, second = grade_question([near, *far], NOBODY).values
    assert (first.value, first.weight, first.composite) == ("9", 250_000, 250_000)
    assert (second.value, second.weight, second.composite) == ("8", 250_000, 125_000)


@pytest.mark.requirement("G3", "G4", "G25")
@pytest.mark.parametrize("intent", ["fictional", "disclaimed", "hypothetical"])
def test_what_was_not_meant_to_be_believed_is_shown_and_competes_with_nothing(intent: str) -> None:
    """It keeps its sources and has no composite; the reason says why."""
    other = said_of(says("zoe", "1980"), intent=intent)
    grade = grade_question([says("ada", "1970"), other], KNOWN)
    assert [one.value for one in grade.values] == ["1970"]
    shown = grade.claims[1]
    assert (shown.composite, shown.ceiling, shown.intent) == (None, None, intent)
    assert shown.reasons == (f"intent-{intent}",)
    assert shown.sources[0].entity == "person:zoe"
    assert grade_question([other], KNOWN).values == ()


@pytest.mark.requirement("G3")
def test_what_was_speculated_is_an_assumption_however_large_the_number() -> None:
    """Where the same was asserted too, that alone is weighed."""
    guess = claimed(
        "guess", source("ada", source_type="self", hops=0, verification=1_000_000), intent="speculative"
    )
    (value,) = grade_question([guess], KNOWN).values
    assert (value.ceiling, value.composite, value.voices) == ("assumption", 666_666, 1)
    (claim,) = grade_question([guess], KNOWN).claims
    assert (claim.ceiling, claim.reasons, claim.composite) == ("assumption", ("speculative",), 666_666)
    (value,) = grade_question([guess, says("zoe", "1970")], KNOWN).values
    assert (value.ceiling, value.composite, value.weight, value.voices) == (None, 225_000, 225_000, 1)
    assert value.claims == ("claim:guess", "claim:zoe-1970")


def only(*claims: Any) -> ValueGrade:
    """Give the grade of the one value that the claims agree on."""
    (value,) = grade_question(claims, KNOWN).values
    return value


@pytest.mark.requirement("G21", "M5", "M6")
def test_copies_add_nothing_and_lift_nothing() -> None:
    """One root is one number, that of its nearest source, whoever tells it again."""
    first = says("zoe", "1970")
    copies = [claimed(f"copy{n}", retell(source("zoe"), f"person:c{n}", None)) for n in range(5)]
    credible = claimed("ada", retell(source("zoe", verification=0), "person:ada", None))
    alone = only(first)
    for others in (copies, [credible], [*copies, credible]):
        value = only(first, *others)
        assert (value.composite, value.weight, value.voices) == (alone.composite, alone.weight, 1)
    assert grade_question([credible], KNOWN).claims[0].composite == 666_666 * 640_000 * 500_000 // 10**12
    (_, retold) = grade_question([said_of(first, id="claim:0"), credible], KNOWN).claims
    assert retold.sources[0].reasons == ("credibility-of-domain", "retold")


def test_what_has_failed_weighs_nothing() -> None:
    """It is a voice all the same."""
    value = only(claimed("1", source("ada", verification=0)))
    assert (value.composite, value.weight, value.voices) == (0, 0, 1)


def test_of_sources_equally_near_the_best_stands_for_a_root() -> None:
    """And of two with equally many hops, the one of the nearer type."""
    low, high = source("zoe", root="root:x"), source("ada", root="root:x")
    assert only(claimed("1", low, high)).composite == 299_999
    assert only(claimed("1", high, low)).composite == 299_999
    told = source("ada", root="root:x", source_type="secondhand", verification=1_000_000)
    assert only(claimed("1", told, low)).composite == 225_000
    nearer = source("zoe", root="root:x", source_type="hearsay", hops=1)
    further = source("ada", root="root:x", source_type="cited", hops=2)
    assert only(claimed("1", nearer, further)).composite == 160_000


@pytest.mark.requirement("G21")
def test_voices_are_added_up_once_each_by_their_best_root() -> None:
    """Two roots in one session are one voice; another root elsewhere is a second."""
    session = {"session": "session:1"}
    one = claimed("1", source("zoe", **session), source("ada", **session))
    value = only(one, says("bob", "1970"))
    assert (value.composite, value.weight, value.voices) == (299_999, 599_998, 2)
    assert grade_question([one], KNOWN).claims[0].composite == 299_999


@pytest.mark.requirement("G21", "M6")
@pytest.mark.parametrize("names", ["abcdefghi", "jklmnopqr", "stuvwxyz0", "123456789", "ABCDEFGHI"])
def test_the_best_of_many_roots_of_one_voice_is_found_in_any_order(names: str) -> None:
    """Python gives a set of texts in another order in every process, and a weight is always the same."""
    weak = [source("zoe", root=f"root:{name}", session="session:1") for name in names]
    value = only(claimed("1", *weak, source("ada", session="session:1")))
    assert (value.composite, value.weight, value.voices) == (299_999, 299_999, 1)


@pytest.mark.requirement("M7")
def test_unknown_lineage_counts_only_where_no_lineage_is_known() -> None:
    """Then the nearest of it stands for all, as no voice; otherwise it moves nothing."""
    lost = [claimed(f"l{n}", source(name, root=None)) for n, name in enumerate(("ada", "zoe"))]
    value = only(*lost)
    assert (value.composite, value.weight, value.voices) == (299_999, 299_999, 0)
    again = claimed("again", retell(source("zoe", root=None), "person:ada", None))
    assert only(lost[1], again) == msgspec.structs.replace(only(lost[1]), claims=("claim:again", "claim:l1"))
    known = only(says("zoe", "1970"), *lost)
    assert (known.composite, known.weight, known.voices) == (225_000, 225_000, 1)


@pytest.mark.requirement("G17")
def test_a_suspicious_change_is_a_reason_and_no_number() -> None:
    """Two addresses within a month are named; the composites are those of each alone."""
    slow = {"mutability": "slow_changing"}
    old, new = says("ada", "1", **slow), says("ada", "2", said_at=AS_OF + DAY, **slow)
    both = grade_question([old, new], KNOWN)
    assert [one.reasons for one in both.claims] == [("suspicious-change",)] * 2
    assert both.claims[0].composite == grade_question([old], KNOWN).claims[0].composite
    assert grade_question([old], KNOWN).claims[0].reasons == ()


def grade(*claims: Any) -> QuestionGrade:
    """Give the grade of one question."""
    return grade_question(claims, KNOWN)


@pytest.mark.requirement("G27")
def test_the_digest_of_a_grade_changes_with_it_alone() -> None:
    """Another order is the same; another claim or another record is not."""
    one, two = says("ada", "1"), says("bob", "2")
    assert digest_grade(grade(one, two)) == digest_grade(grade(two, one))
    assert digest_grade(grade(one, two)) != digest_grade(grade(one))
    assert digest_grade(grade(one)) != digest_grade(grade_question([one], NOBODY))
    assert len(digest_grade(grade(one))) == 43
