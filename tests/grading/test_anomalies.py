"""``anomalies``: what a person is told to look at, and from which number on."""

from collections.abc import Iterable

import msgspec
import pytest

from sidecars.graded import CredibilityRow
from tests.grading.examples import AS_OF, claimed, says, source
from timeline.grading.claims import Claimed
from timeline.grading.recompute import recompute


def found(
    claims: Iterable[Claimed], previous: Iterable[CredibilityRow] = ()
) -> list[tuple[str, str, str, int]]:
    """Give what is told of a run over the claims."""
    return [
        (one.kind, one.about, one.domain, one.count)
        for one in recompute(list(claims), (), AS_OF, previous).anomalies
    ]


def agreeing(count: int, *names: str) -> list[Claimed]:
    """Give as many questions on each of which these people agree."""
    return [
        claimed(
            f"{name}-{number}-{'-'.join(names)}", source(name), subject=f"thing:{'-'.join(names)}-{number}"
        )
        for number in range(count)
        for name in names
    ]


def test_nothing_is_odd_about_a_few_people_who_agree() -> None:
    """Nothing is told."""
    assert found(agreeing(9, "ada", "bob", "eve")) == []
    assert found(agreeing(2, "ada", "bob")) == []


def test_two_who_corroborate_each_other_alone_are_told_of() -> None:
    """From three positions on, and only if that is so for both."""
    ring = [
        ("mutual-corroboration", "person:ada", "_global", 3),
        ("mutual-corroboration", "person:bob", "_global", 3),
    ]
    assert found(agreeing(3, "ada", "bob")) == ring
    assert found([*agreeing(3, "ada", "bob"), *agreeing(1, "bob", "eve")]) == []
    assert found([*agreeing(3, "ada", "bob"), *agreeing(1, "ada", "bob", "eve")]) == []
    assert found([*agreeing(3, "ada", "bob"), *agreeing(3, "eve", "joe")]) == [
        *ring,
        ("mutual-corroboration", "person:eve", "_global", 3),
        ("mutual-corroboration", "person:joe", "_global", 3),
    ]


def test_rings_on_two_sides_of_one_question_are_told_apart() -> None:
    """Who agrees on one value has nothing to do with who agrees on another."""
    sides = [
        claimed(f"{name}{number}", source(name), subject=f"thing:{number}", value=value)
        for number in range(3)
        for name, value in (("ada", "1"), ("bob", "1"), ("eve", "2"), ("joe", "2"))
    ]
    assert [about for _, about, _, _ in found(sides)] == [
        "person:ada",
        "person:bob",
        "person:eve",
        "person:joe",
    ]


def test_many_sources_of_one_root_are_told_of() -> None:
    """From eight on, for one value of one question; by the root."""
    flood = [claimed(str(number), source(f"p{number}", root="root:one")) for number in range(8)]
    assert found(flood) == [("one-root-flood", "root:one", "_global", 8)]
    assert found(flood[:7]) == []
    spread = [
        one._replace(claim=msgspec.structs.replace(one.claim, value=str(n % 2)))
        for n, one in enumerate(flood)
    ]
    assert found(spread) == []
    again = [
        claimed(f"x{number}", source(f"p{number}", root="root:one"), subject="person:eve")
        for number in range(9)
    ]
    assert found([*flood, *again]) == [("one-root-flood", "root:one", "_global", 17)]


def test_what_is_said_to_lie_ahead_is_told_of() -> None:
    """By whoever says it, and the moment itself is none."""
    claims = [claimed("1", source("ada"), said_at=AS_OF + 1), claimed("2", source("bob"), said_at=AS_OF)]
    assert found(claims) == [("said-in-future", "person:ada", "_global", 1)]
    more = claimed("3", source("ada"), said_at=AS_OF + 2, key="other")
    assert found([*claims, more]) == [("said-in-future", "person:ada", "_global", 2)]


def test_who_contradicts_himself_is_told_of() -> None:
    """Once for each question, where the class is immutable."""
    claims = [
        claimed("1", source("ada")),
        claimed("2", source("ada", root="root:later"), value="1971"),
        claimed("3", source("bob"), value="1972"),
    ]
    assert found(claims) == [("self-contradiction", "person:ada", "_global", 1)]
    soft = [one._replace(claim=msgspec.structs.replace(one.claim, mutability="stateful")) for one in claims]
    assert found(soft) == []


@pytest.mark.requirement("M7")
def test_a_source_of_mostly_unknown_lineage_is_told_of() -> None:
    """From three claims on, if they are more than half of its claims."""

    def lost(count: int) -> list[Claimed]:
        return [claimed(f"l{number}", source("ada", root=None), key=f"k{number}") for number in range(count)]

    assert found(lost(2)) == []
    assert found(lost(3)) == [("unknown-lineage", "person:ada", "_global", 3)]
    known = [claimed(f"r{number}", source("ada"), key=f"r{number}") for number in range(3)]
    assert found([*lost(3), *known]) == []
    assert found([*lost(4), *known]) == [("unknown-lineage", "person:ada", "_global", 4)]


def test_a_score_that_falls_far_is_told_of() -> None:
    """By two tenths or more since the run before, by domain, with how much is contradicted now."""
    claims = [says("ada", "1970"), says("bob", "1971")]
    rows = recompute(claims, (), AS_OF).rows
    assert [row.score for row in rows] == [333_333] * 4

    def before(score: int) -> list[CredibilityRow]:
        return [msgspec.structs.replace(rows[1], score=score)]

    assert (rows[1].entity, rows[1].domain) == ("person:ada", "history")
    assert found(claims, before(533_333)) == [("sudden-drop", "person:ada", "history", 1)]
    assert found(claims, before(533_332)) == []
    assert found(claims, rows) == []


def test_what_is_odd_changes_no_score() -> None:
    """The rows are the same whatever they are compared with."""
    claims = agreeing(3, "ada", "bob")
    run = recompute(claims, (), AS_OF)
    better = [msgspec.structs.replace(row, score=1_000_000) for row in run.rows]
    again = recompute(claims, (), AS_OF, better)
    assert again.rows == run.rows
    assert [one.kind for one in again.anomalies] == ["mutual-corroboration"] * 2 + ["sudden-drop"] * 4
    assert [(one.about, one.domain) for one in again.anomalies[2:]] == [
        (row.entity, row.domain) for row in run.rows
    ]
