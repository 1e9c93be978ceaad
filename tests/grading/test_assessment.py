"""``assessment``: what corroborates, what contradicts, and what is only odd."""

from collections.abc import Sequence

import pytest

from sidecars.graded import ClaimSource, Mutability
from tests.grading.examples import AS_OF, DAY, claimed, said_of, says, source
from timeline.grading.assessment import SUSPICIOUS_DAYS, assess, find_originals, find_suspicious
from timeline.grading.claims import Claimed, strictest_mutability
from timeline.grading.distance import retell


def found(*claims: Claimed) -> dict[str, str]:
    """Give for each claim which of the three flags are set."""
    return {
        one.claimed.claim.id.removeprefix("claim:"): "".join(
            word
            for word, flag in (
                ("c", one.corroborated),
                ("x", one.contradicted),
                ("s", one.contradicts_itself),
            )
            if flag
        )
        for one in assess(claims, strictest_mutability(claims))
    }


@pytest.mark.requirement("G16", "G21", "G24")
def test_independent_sources_corroborate_and_contradict() -> None:
    """By the same value and by another one; who is alone is neither."""
    assert found(says("ada", "1970")) == {"ada-1970": ""}
    assert found(says("ada", "1970"), says("bob", "1970")) == {"ada-1970": "c", "bob-1970": "c"}
    assert found(says("ada", "1970"), says("bob", "1971")) == {"ada-1970": "x", "bob-1971": "x"}
    assert found(says("ada", "1970"), says("bob", "1970"), says("eve", "1971")) == {
        "ada-1970": "cx",
        "bob-1970": "cx",
        "eve-1971": "x",
    }


@pytest.mark.requirement("G17", "G18", "G19", "G24")
@pytest.mark.parametrize("mutability", ["slow_changing", "stateful"])
def test_what_may_change_contradicts_nothing(mutability: Mutability) -> None:
    """Agreement counts, difference does not, not even a source's own."""
    claims = [says("ada", "1970"), says("ada", "1971"), says("bob", "1970")]
    soft = [said_of(one, mutability=mutability) for one in claims]
    assert found(*soft) == {"ada-1970": "c", "ada-1971": "", "bob-1970": "c"}


@pytest.mark.requirement("G21", "M5")
@pytest.mark.parametrize(
    "other",
    [
        source("bob", root="root:ada"),
        source("ada", root="root:bob"),
        source("bob", session="session:1"),
        source("bob", root=None),
    ],
    ids=["root", "entity", "session", "unknown lineage"],
)
def test_one_voice_neither_corroborates_nor_contradicts_itself(other: ClaimSource) -> None:
    """The same root, entity or session, or no lineage, whatever else differs."""
    first = claimed("1", source("ada", session="session:1"))
    assert found(first, claimed("2", other)) == {"1": "", "2": ""}
    flags = found(first, claimed("2", other, value="1971"))
    assert "c" not in "".join(flags.values())
    assert "x" not in "".join(flags.values())


def test_a_source_that_says_two_things_contradicts_itself() -> None:
    """It is told apart from a contradiction by others, and has no part in it."""
    claims = [
        claimed("1", source("ada")),
        claimed("2", source("ada", root="root:later"), value="1971"),
        claimed("3", source("bob")),
    ]
    assert found(*claims) == {"1": "cs", "2": "xs", "3": "cx"}


@pytest.mark.requirement("G19")
def test_only_one_validity_window_is_one() -> None:
    """What is said of different times neither agrees nor differs; touching windows do not overlap."""
    early, late = {"valid_from": 0, "valid_until": 10}, {"valid_from": 10, "valid_until": 20}
    across = {"valid_from": 9, "valid_until": 11}
    assert found(says("ada", "1", **early), says("bob", "1", **late)) == {"ada-1": "", "bob-1": ""}
    assert found(says("ada", "1", **early), says("bob", "2", **late)) == {"ada-1": "", "bob-2": ""}
    assert found(says("ada", "1", **early), says("bob", "2", **across)) == {"ada-1": "x", "bob-2": "x"}
    assert found(says("ada", "1", **early), says("bob", "2")) == {"ada-1": "x", "bob-2": "x"}


@pytest.mark.requirement("G3", "G4")
@pytest.mark.parametrize("intent", ["speculative", "fictional", "disclaimed", "hypothetical"])
def test_only_what_was_asserted_corroborates_or_contradicts(intent: str) -> None:
    """Guesses, stories, denials and suppositions do neither."""
    for value in ("1970", "1971"):
        other = said_of(says("bob", value), intent=intent)
        assert found(says("ada", "1970"), other) == {"ada-1970": ""}


@pytest.mark.requirement("M5", "M6", "G21")
def test_what_is_told_again_is_no_source() -> None:
    """It is neither tested nor rewarded, and it neither ties two voices together nor pulls one apart."""
    ada, bob = source("ada", session="session:1"), source("bob", session="session:1")
    heard = claimed("1", retell(ada, "agent:me", "session:2"))
    assert found(claimed("a", ada), claimed("b", bob), heard) == {"a": "", "b": "", "1": ""}
    both = [
        claimed("1", retell(source("ada"), "agent:me", None)),
        claimed("2", retell(source("bob"), "agent:me", None)),
    ]
    assert found(says("ada", "1970"), says("bob", "1970"), *both) == {
        "ada-1970": "c",
        "bob-1970": "c",
        "1": "",
        "2": "",
    }
    told = assess([claimed("a", ada), heard, claimed("lost", source("eve", root=None))], "immutable")
    assert [one.retold for one in told] == [False, True, False]
    told = assess(
        [says("eve", "1"), claimed("a", ada), heard, claimed("lost", source("eve", root=None))], "immutable"
    )
    assert [one.retold for one in told] == [False, False, True, False]


def test_a_root_is_nearest_for_each_value_apart() -> None:
    """What somebody is said to have said otherwise is another statement."""
    ada = source("ada")
    other = claimed("1", retell(ada, "person:eve", None), value="1971")
    assert [one.retold for one in assess([claimed("a", ada), other], "immutable")] == [False, False]
    assert find_originals([claimed("a", ada), other]) == [
        (claimed("a", ada), ada),
        (other, other.claim.sources[0]),
    ]
    again = claimed("2", retell(ada, "person:eve", None))
    lost = claimed("3", source("zoe", root=None))
    guess = claimed("4", source("zoe"), intent="speculative")
    assert find_originals([again, claimed("a", ada), lost, guess]) == [(claimed("a", ada), ada)]


def test_values_are_the_same_by_their_bytes_alone() -> None:
    """A version that looks like another one does not reinforce it."""
    assert found(says("ada", '"v1.0.12"'), says("bob", '"v1.0.13"')) == {
        'ada-"v1.0.12"': "x",
        'bob-"v1.0.13"': "x",
    }


def slowly(*said: tuple[str, int]) -> list[Claimed]:
    """Give what one person says of an address on some days."""
    return [
        claimed(str(number), value=value, said_at=AS_OF + day * DAY, mutability="slow_changing")
        for number, (value, day) in enumerate(said)
    ]


def suspicious(claims: Sequence[Claimed]) -> set[str]:
    """Give the numbers of those that are."""
    return {name.removeprefix("claim:") for name in find_suspicious(claims, strictest_mutability(claims))}


@pytest.mark.requirement("G17")
def test_a_slow_thing_that_changes_within_180_days_is_suspicious() -> None:
    """Across longer times it has drifted, and what is said again is no change."""
    assert SUSPICIOUS_DAYS == 180
    assert suspicious(slowly(("1", 0), ("2", 179))) == {"0", "1"}
    assert suspicious(slowly(("1", 0), ("2", 180))) == set()
    assert suspicious(slowly(("1", 0), ("1", 1))) == set()
    assert suspicious(slowly(("1", 0), ("1", 10), ("2", 185))) == {"1", "2"}


@pytest.mark.requirement("G15", "G18")
def test_only_in_the_slow_class_a_change_is_suspicious() -> None:
    """A change of an immutable thing is a contradiction, one of a stateful thing is life."""
    claims = slowly(("1", 0), ("2", 1))
    assert find_suspicious(claims, "immutable") == frozenset()
    assert find_suspicious(claims, "stateful") == frozenset()
    guessed = [claims[0], said_of(claims[1], intent="speculative")]
    assert find_suspicious(guessed, "slow_changing") == frozenset()


def test_a_claim_with_bounds_is_about_them() -> None:
    """Two addresses, one after the other, are not suspicious, however shortly after each other they were said."""
    first, second = slowly(("1", 0), ("2", 1))
    apart = [said_of(first, valid_until=AS_OF), said_of(second, valid_from=AS_OF)]
    assert suspicious(apart) == set()
    together = [said_of(first, valid_until=AS_OF + 1), said_of(second, valid_from=AS_OF)]
    assert suspicious(together) == {"0", "1"}
    far = [said_of(first, valid_from=0), said_of(second, valid_from=179 * DAY)]
    assert suspicious(far) == {"0", "1"}
    assert suspicious([said_of(first, valid_from=0), said_of(second, valid_from=180 * DAY)]) == set()
    ended = said_of(first, valid_until=10)
    assert suspicious([ended, said_of(second, valid_from=9, valid_until=10)]) == {"0", "1"}
    assert suspicious([ended, said_of(second, valid_from=8, valid_until=9)]) == set()
