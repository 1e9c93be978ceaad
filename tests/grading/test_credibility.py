"""``credibility``: the score, credentials, and where a score is looked up."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.graded import MILLION, CredibilityEntry
from tests.grading.examples import AS_OF, DAY, claimed, credential, rows_of, says, source
from timeline.grading import credibility
from timeline.grading.credibility import (
    credential_qualities,
    credentials_in_force,
    decide_score,
    decide_weight,
    find_credibility,
    newest_run,
    read_run,
    score_history,
    score_of,
)
from timeline.grading.errors import RunIncompleteError
from timeline.grading.recompute import format_run, recompute


@pytest.mark.requirement("G12", "G14")
@pytest.mark.parametrize(
    ("days", "weight"),
    [
        (0, 1_000_000),
        (1, 992_327),
        (45, 707_106),
        (89, 503_865),
        (90, 500_000),
        (91, 496_163),
        (180, 250_000),
        (900, 976),
        (1_890, 0),
        (-5, 1_000_000),
    ],
)
def test_weight_halves_every_ninety_days(days: int, weight: int) -> None:
    """By whole days; what is said to lie ahead weighs as much as what was said today."""
    assert decide_weight(AS_OF - days * DAY, AS_OF) == weight
    assert decide_weight(AS_OF - days * DAY - DAY + 1, AS_OF) == weight or days < 0


def test_the_daily_factor_is_the_ninetieth_root_of_a_half() -> None:
    """To eighteen places; the weights of the days in a half-life are made of it, and nothing else."""
    fractions = credibility._fractions()
    assert fractions == credibility._FRACTIONS
    assert (len(fractions), fractions[0], fractions[1]) == (90, 10**18, credibility._DAILY)
    assert credibility._DAILY**90 < 10 ** (18 * 90) // 2 < (credibility._DAILY + 1) ** 90


@pytest.mark.requirement("G12", "G14")
@pytest.mark.parametrize(
    ("good", "bad", "quality", "score"),
    [
        (0, 0, None, 500_000),
        (MILLION, 0, None, 666_666),
        (0, MILLION, None, 333_333),
        (MILLION, MILLION, None, 500_000),
        (8 * MILLION, 0, None, 900_000),
        (0, 0, MILLION, 750_000),
        (0, 0, 0, 250_000),
        (0, 0, 500_000, 500_000),
        (0, 2 * MILLION, MILLION, 500_000),
        (96 * MILLION, 0, 0, 970_000),
        # A quality of 0 adds nothing at all: two millionths more would round up to the next score.
        (300_000, 0, 0, 302_325),
    ],
)
def test_the_score_is_a_smoothed_ratio(good: int, bad: int, quality: int | None, score: int) -> None:
    """A credential counts as two observations of its quality, and a failed one as two bad ones."""
    assert decide_score(good, bad, quality) == score


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.none() | st.integers(0, MILLION))
def test_a_score_lies_between_the_extremes_and_follows_its_record(
    good: int, bad: int, quality: int | None
) -> None:
    """No record makes anybody certain, and more of either side never moves it the other way."""
    score = decide_score(good, bad, quality)
    assert 0 <= score < MILLION
    assert decide_score(good + 10**6, bad, quality) >= score >= decide_score(good, bad + 10**6, quality)


# -- credentials -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("G12")
def test_the_newest_credential_of_an_id_counts_while_it_is_valid() -> None:
    """From its beginning until before its end; a later entry with the same id takes its place."""
    lasting = credential(valid_from=5, valid_until=9)
    assert [len(credentials_in_force([lasting], at)) for at in (4, 5, 8, 9)] == [0, 1, 1, 0]
    assert credentials_in_force([credential()], 0) == (credential(),)
    ended = credential(valid_until=1)
    assert credentials_in_force([credential(), ended], 5) == ()
    other = credential("bob")
    assert credentials_in_force([other, ended, credential()], 5) == (credential(), other)


def test_several_credentials_are_one_of_their_mean_quality() -> None:
    """Paper does not pile up, and each domain stands for itself."""
    several = [
        credential("ada"),
        credential("ada", quality=500_001),
        credential("ada", domain="law", quality=7),
    ]
    assert credential_qualities(several) == {
        ("person:ada", "history"): 750_000,
        ("person:ada", "law"): 7,
    }


# -- looking up ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("G11")
def test_a_score_comes_from_the_domain_else_from_the_whole_record_else_is_unknown() -> None:
    """And says which, and on how much it rests: 0.5 without evidence is not the 0.5 that was earned."""
    run = recompute(
        [says("ada", "1"), says("bob", "1"), says("ada", "2", key="k"), says("bob", "3", key="k")], (), AS_OF
    )
    rows = rows_of(run)
    assert find_credibility(rows, "person:ada", "history") == (500_000, "domain", 2)
    assert find_credibility(rows, "person:ada", "chemistry") == (500_000, "global", 2)
    assert find_credibility(rows, "person:ada", "_global") == (500_000, "global", 2)
    assert find_credibility(rows, "person:eve", "history") == (500_000, "none", 0)


@pytest.mark.requirement("G11")
def test_a_chemist_is_no_better_a_philosopher() -> None:
    """A record in one domain shows there, and through the whole record elsewhere only where there is none."""
    chemistry = [
        one
        for number in range(5)
        for one in (
            claimed(f"a{number}", source("ada"), subject=f"compound:{number}", domain="chemistry"),
            claimed(f"b{number}", source("bob"), subject=f"compound:{number}", domain="chemistry"),
        )
    ]
    wrong = [
        claimed("p", source("ada"), domain="philosophy", value="1"),
        claimed("q", source("eve"), domain="philosophy", value="2"),
    ]
    rows = rows_of(recompute([*chemistry, *wrong], (), AS_OF))
    assert find_credibility(rows, "person:ada", "chemistry").score == 857_142
    assert find_credibility(rows, "person:ada", "philosophy").score == 333_333
    assert find_credibility(rows, "person:ada", "law") == (750_000, "global", 6)


# -- runs ------------------------------------------------------------------------------------------------------


def parts(count: int = 600) -> tuple[CredibilityEntry, ...]:
    """Give a run of several parts."""
    claims = [
        one
        for number in range(count // 4)
        for one in (
            claimed(f"a{number}", source(f"ada{number}"), subject=f"thing:{number}"),
            claimed(f"b{number}", source(f"bob{number}"), subject=f"thing:{number}"),
        )
    ]
    return format_run(recompute(claims, (), AS_OF), "run:1", 9, None)


@pytest.mark.requirement("G13")
def test_a_run_is_read_from_all_of_its_parts() -> None:
    """In any order."""
    run = parts()
    assert [len(part.rows) for part in run] == [256, 256, 88]
    rows = read_run(tuple(reversed(run)))
    assert len(rows) == 600
    assert rows["person:ada7", "history"].score == 666_666


@pytest.mark.requirement("G7", "G13")
@pytest.mark.parametrize(
    "changes",
    [
        {"run": "run:2"},
        {"computation_version": 2},
        {"tables_version": 2},
        {"as_of": AS_OF + 1},
        {"inputs": 10},
        {"inputs_digest": "A" * 43},
        {"parts": 4},
    ],
)
def test_parts_that_do_not_fit_each_other_are_no_run(changes: dict[str, Any]) -> None:
    """Each thing that is said of the whole run has to be the same in all."""
    first, *rest = parts()
    with pytest.raises(RunIncompleteError, match=r"^the parts of a run must be all of one run$"):
        read_run([msgspec.structs.replace(first, **changes), *rest])


def test_a_run_needs_each_part_once() -> None:
    """None missing, none twice, none with a row that another one has, and there is no run of nothing."""
    one, two, three = parts()
    for some in ([one, two, two], [one, one, two, three], [two, three]):
        with pytest.raises(
            RunIncompleteError, match=r"^a run of the computation must have each of its parts once$"
        ):
            read_run(some)
    with pytest.raises(RunIncompleteError, match="all of one run"):
        read_run([one, two])
    with pytest.raises(RunIncompleteError, match=r"^a run must have one row for each entity and domain$"):
        read_run([one, two, msgspec.structs.replace(three, rows=one.rows)])
    with pytest.raises(RunIncompleteError):
        read_run([])


@pytest.mark.requirement("G7")
def test_a_score_that_its_counts_do_not_give_is_refused() -> None:
    """Whoever has the log key cannot write a score into the log: each row carries what it is computed from."""
    one, two, three = parts()
    better = msgspec.structs.replace(one.rows[0], score=one.rows[0].score + 1)
    forged = msgspec.structs.replace(one, rows=(better, *one.rows[1:]))
    with pytest.raises(RunIncompleteError, match=r"^a row's score must be the one that its counts give$"):
        read_run([forged, two, three])
    assert score_of(one.rows[0]) == one.rows[0].score
    (learned,) = format_run(recompute((), [credential()], AS_OF), "run:1", 9, None)
    assert [row.score for row in read_run([learned]).values()] == [750_000]
    second = [msgspec.structs.replace(part, computation_version=2) for part in (forged, two, three)]
    assert len(read_run(second)) == 600


@pytest.mark.requirement("G13")
def test_every_score_is_kept_and_the_newest_complete_run_is_used() -> None:
    """A newer run replaces nothing, and a run that was broken off is passed over."""
    older = parts()
    newer = [msgspec.structs.replace(part, run="run:2", as_of=AS_OF + 1) for part in older]
    other = [msgspec.structs.replace(part, run="run:3", computation_version=2) for part in older]
    log = [*older, *newer, *other]
    assert newest_run(log, 1) == tuple(newer)
    assert newest_run(log, 2) == tuple(other)
    assert newest_run([*older, *newer[:2]], 1) == older
    assert newest_run(older[:2], 1) == ()
    assert score_history(log, "person:ada7", "history") == (
        (AS_OF, 1, 666_666, 1),
        (AS_OF + 1, 1, 666_666, 1),
        (AS_OF, 2, 666_666, 1),
    )
    assert score_history(log, "person:ada7", "law") == ()
    contested = recompute([says("ada", "1"), says("bob", "1"), says("eve", "2")], (), AS_OF)
    (entry,) = format_run(contested, "run:4", 9, None)
    assert score_history([entry], "person:ada", "history") == ((AS_OF, 1, 500_000, 2),)
