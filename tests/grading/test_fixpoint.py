"""``fixpoint``: version 2, beside version 1."""

import random

import msgspec
import pytest

from tests.grading.examples import AS_OF, claimed, credential, row_of, said_of, says, source
from timeline.grading.claims import Claimed
from timeline.grading.fixpoint import score_again
from timeline.grading.recompute import recompute


def contested() -> list[Claimed]:
    """Give three questions: Ada and Bob agree, Eve differs each time, and Joe agrees once with her."""
    return [
        claimed(f"{who}{number}", source(who), subject=f"thing:{number}", value=value)
        for number in range(3)
        for who, value in (
            ("ada", "1"),
            ("bob", "1"),
            ("eve", "2"),
            *((("joe", "2"),) if number == 0 else ()),
        )
    ]


@pytest.mark.requirement("G14")
def test_scores_follow_from_each_other() -> None:
    """Who agrees with trusted sources is trusted; the counts are those of version 1."""
    first = recompute(contested(), (), AS_OF)
    run = score_again(first, contested())
    assert (run.computation_version, first.computation_version) == (2, 1)
    scores = {row.entity: row.score for row in run.rows if row.domain == "_global"}
    assert scores["person:ada"] == scores["person:bob"] > scores["person:eve"]
    again = [msgspec.structs.replace(row, score=0) for row in run.rows]
    assert again == [msgspec.structs.replace(row, score=0) for row in first.rows]
    assert (run.inputs_digest, run.anomalies) == (first.inputs_digest, first.anomalies)
    assert scores == {
        "person:ada": 654_045,
        "person:bob": 654_045,
        "person:eve": 591_050,
        "person:joe": 639_823,
    }


@pytest.mark.requirement("G13")
def test_version_2_gives_the_same_bytes_in_any_order() -> None:
    """Exact sums in a fixed order."""
    claims = contested()
    one = score_again(recompute(claims, (), AS_OF), claims)
    for seed in range(5):
        random.Random(seed).shuffle(claims)
        assert msgspec.json.encode(score_again(recompute(claims, (), AS_OF), claims)) == msgspec.json.encode(
            one
        )


@pytest.mark.requirement("G21", "M5", "M7")
def test_copies_and_unknown_lineage_add_nothing_in_version_2_either() -> None:
    """By the scores of everybody who was there before."""
    claims = contested()
    copies = [
        claimed(f"copy{n}", source(f"c{n}", root="root:eve"), subject="thing:1", value="2") for n in range(9)
    ]
    lost = claimed("lost", source("zoe", root=None), subject="thing:1", value="2")
    before = score_again(recompute(claims, (), AS_OF), claims)
    more = [*claims, *copies, lost]
    after = score_again(recompute(more, (), AS_OF), more)
    for name in ("ada", "bob", "eve", "joe"):
        assert row_of(after, name).score == row_of(before, name).score


@pytest.mark.requirement("G3", "G25")
def test_only_what_counts_is_part_of_version_2() -> None:
    """Fiction and guesses move nothing; an entity that only a credential speaks for keeps its score."""
    claims = contested()
    before = score_again(recompute(claims, (), AS_OF), claims)
    guess = said_of(says("zoe", "2", subject="thing:1"), intent="speculative")
    more = [*claims, guess, says("zoe", "2", subject="thing:1", work_class="fiction", key="value")]
    assert score_again(recompute(more, (), AS_OF), more).rows == before.rows
    learned = recompute(claims, [credential("zoe")], AS_OF)
    assert row_of(score_again(learned, claims), "zoe").score == 750_000


def test_a_domain_has_a_trust_of_its_own() -> None:
    """And the whole record is the mean over all that an entity says, each value once."""
    claims = [
        *contested(),
        claimed("law", source("ada"), subject="thing:law", domain="law", value="1"),
        claimed("law2", source("eve"), subject="thing:law", domain="law", value="2"),
        claimed("law3", source("joe"), subject="thing:law", domain="law", value="2"),
    ]
    run = score_again(recompute(claims, (), AS_OF), claims)
    history, law, whole = (row_of(run, "ada", domain).score for domain in ("history", "law", "_global"))
    assert law < whole < history
    assert whole == (3 * history + law) // 4 or abs(whole - (3 * history + law) / 4) < 1


def test_even_a_source_of_boundless_trust_is_never_certain() -> None:
    """A value with very many voices has a confidence of nearly one, and no logarithm of zero is taken."""
    claims = [claimed(str(n), source(f"p{n}"), value="1") for n in range(400)]
    run = score_again(recompute(claims, (), AS_OF), claims)
    assert {row.score for row in run.rows} == {1_000_000}
