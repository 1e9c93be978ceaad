"""``current``: what holds now of what changes by itself."""

from typing import Any

import pytest

from tests.grading.examples import AS_OF, DAY, claimed, rows_of, said_of, source
from timeline.grading.claims import Claimed
from timeline.grading.current import find_current
from timeline.grading.recompute import recompute


def likes(food: str, day: int, **changes: Any) -> Claimed:
    """Give what somebody's favourite was said to be on a day."""
    fields: dict[str, Any] = {"mutability": "stateful", "said_at": AS_OF + day * DAY, "value": f'"{food}"'}
    return claimed(f"{food}-{day}", source("bob", source_type="self", hops=0), **(fields | changes))


PIZZA, BURGER, SOUP = likes("pizza", 0), likes("burger", 700), likes("soup", 9)
NOW = AS_OF + 1_000 * DAY


@pytest.mark.requirement("G18", "G28")
def test_the_newest_is_current_and_the_whole_way_is_kept() -> None:
    """In order, whatever the order of the claims."""
    current = find_current([BURGER, PIZZA, SOUP], NOW)
    assert current is not None
    assert current.values == ('"burger"',)
    assert current.is_assumption is False
    assert current.trajectory == (PIZZA, SOUP, BURGER)
    assert find_current([SOUP, BURGER, PIZZA], NOW) == current


@pytest.mark.requirement("G18")
def test_nobody_is_damaged_by_a_change_of_taste() -> None:
    """Two people who report two favourites at two times are both as they were."""
    reports = [likes("pizza", 0), said_of(likes("burger", 700), sources=(source("eve"),))]
    assert rows_of(recompute(reports, (), NOW)) == {}


def test_what_was_current_at_another_moment() -> None:
    """What is said later does not count yet, and what has ended or not begun does not hold."""
    moments = (AS_OF - 1, AS_OF + 699 * DAY, BURGER.claim.said_at)
    found = [find_current([PIZZA, BURGER], at) for at in moments]
    assert [one.values for one in found if one] == [(), ('"pizza"',), ('"burger"',)]
    bounded = said_of(BURGER, valid_from=NOW - 5, valid_until=NOW)
    for at, value in ((NOW - 6, "pizza"), (NOW - 5, "burger"), (NOW - 1, "burger"), (NOW, "pizza")):
        current = find_current([PIZZA, bounded], at)
        assert current is not None
        assert current.values == (f'"{value}"',)
        assert current.trajectory == (PIZZA, bounded)


def test_two_that_were_said_in_one_moment_are_both_current() -> None:
    """Nothing decides between them; the same value twice is one."""
    both = find_current([BURGER, likes("fish", 700), said_of(BURGER, id="claim:again")], NOW)
    assert both is not None
    assert both.values == ('"burger"', '"fish"')
    assert [one.claim.id for one in both.trajectory] == ["claim:again", "claim:burger-700", "claim:fish-700"]


@pytest.mark.requirement("G4", "G18")
def test_a_favourite_in_a_novel_is_never_current() -> None:
    """Nor one that is denied or supposed; and what is only guessed gives way to what was asserted earlier."""
    for intent in ("fictional", "disclaimed", "hypothetical"):
        current = find_current([PIZZA, said_of(BURGER, intent=intent)], NOW)
        assert current is not None
        assert (current.values, len(current.trajectory)) == (('"pizza"',), 1)
    novel = find_current([PIZZA, BURGER._replace(work_class="fiction")], NOW)
    assert novel is not None
    assert novel.values == ('"pizza"',)
    guess = said_of(BURGER, intent="speculative")
    guessed = find_current([PIZZA, guess], NOW)
    assert guessed is not None
    assert (guessed.values, guessed.is_assumption, len(guessed.trajectory)) == (('"pizza"',), False, 2)
    only = find_current([guess], NOW)
    assert only is not None
    assert (only.values, only.is_assumption) == (('"burger"',), True)


def test_of_a_thing_that_does_not_change_the_newest_replaces_nothing() -> None:
    """The strictest class decides; of no claims nothing is current."""
    for mutability in ("immutable", "slow_changing"):
        assert find_current([PIZZA, said_of(BURGER, mutability=mutability)], NOW) is None
    nothing = find_current([], NOW)
    assert nothing is not None
    assert (nothing.values, nothing.is_assumption, nothing.trajectory) == ((), False, ())
