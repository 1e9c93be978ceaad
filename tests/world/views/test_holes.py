"""Each hole of the reference's rule, shown by that rule itself: it gives the wrong answer where ours gives the right.

The rules of the reference are written here anew, as short as they can be; nothing else uses them.
"""

import json
from typing import Any

import pytest

from tests.world.views.made import CONFIRMED, NOW, T0, entry, names, reader, recorded
from timeline.world.assertion import Assertion
from timeline.world.context import Context, world_context
from timeline.world.errors import WorldStateError
from timeline.world.scope import Reader, is_visible
from timeline.world.supersession import broken_rule


def reference(assertions: tuple[Assertion, ...], who: Reader, now_ms: int) -> set[str]:
    """What the reference would take for facts: visible and unexpired first, and only these may replace."""
    current = [one for one in assertions if is_visible(one.entry, who) and not one.is_stale(now_ms)]
    retired = {id_ for one in current if one.entry.is_established for id_ in one.entry.supersedes}
    active = [one for one in current if one.id not in retired and one.entry.is_established]
    buckets: dict[tuple[str, str], list[Assertion]] = {}
    for one in active:
        buckets.setdefault((one.entry.subject, one.entry.predicate), []).append(one)
    return {
        name
        for bucket in buckets.values()
        if len({one.entry.value for one in bucket}) == 1
        for name in names(bucket)
    }


def ours(assertions: tuple[Assertion, ...], who: Reader, now_ms: int) -> set[str]:
    """What is a fact."""
    context = world_context(assertions, who, now_ms)
    return {name for fact in context.facts for name in names(fact.assertions)}


@pytest.mark.requirement("H-a", "W17")
@pytest.mark.parametrize("after_ms", [0, 1, 10**9])
def test_an_expired_correction_does_not_revive_what_it_replaced(after_ms: int) -> None:
    """(a) The reference lets the old value be a fact again from the instant at which the correction ends."""
    given = recorded(
        entry("wrong", "1"), entry("right", "2", at=T0 + 1, expires_at=NOW, supersedes=["wrong"])
    )
    assert ours(given, reader(), NOW - 1) == reference(given, reader(), NOW - 1) == {"right"}
    assert reference(given, reader(), NOW + after_ms) == {"wrong"}
    assert ours(given, reader(), NOW + after_ms) == set()
    context = world_context(given, reader(), NOW + after_ms)
    assert names(context.stale) == ["right"]


@pytest.mark.requirement("H-b")
@pytest.mark.parametrize(
    "who", [reader(private=False, group="team"), reader(private=False), reader(user="bob")]
)
def test_a_hidden_correction_retires_what_it_replaced(who: Reader) -> None:
    """(b) The reference goes on telling a group the value that a private correction has retired."""
    given = recorded(
        entry("wrong", "1", privacy="shared"),
        entry("right", "2", at=T0 + 1, kind=CONFIRMED, supersedes=["wrong"]),
    )
    assert reference(given, who, NOW) == {"wrong"}
    assert ours(given, who, NOW) == set()
    assert ours(given, reader(), NOW) == {"right"}


@pytest.mark.requirement("H-a", "H-b")
def test_a_correction_that_was_itself_replaced_stays_one() -> None:
    """(a) The reference forgets what a retired correction has retired once that one expires."""
    given = recorded(
        entry("first", "1"),
        entry("second", "2", at=T0 + 1, expires_at=NOW, supersedes=["first"]),
        entry("third", "3", at=T0 + 2, supersedes=["second"]),
    )
    assert (
        reference(given, reader(), NOW) == set()
    )  # "1" and "3" in conflict: the retired value disputes the last
    assert ours(given, reader(), NOW) == {"third"}


@pytest.mark.requirement("H-c", "W8")
def test_an_older_observation_does_not_replace_a_newer_one() -> None:
    """(c) The reference takes the older for the fact; here it is refused, and a stored one fails closed."""
    given = recorded(entry("newer", "2", at=T0 + 1), entry("older", "1", at=T0, supersedes=["newer"]))
    assert reference(given, reader(), NOW) == {"older"}
    assert broken_rule(given[1], given[0]) == "a superseded assertion must be older"
    with pytest.raises(WorldStateError, match="must be older"):
        world_context(given, reader(), NOW)


@pytest.mark.requirement("H-g")
@pytest.mark.parametrize(("left", "right"), [(1, 1.0), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (1e3, 1000)])
def test_equal_values_are_one_fact(left: Any, right: Any) -> None:
    """(g) As the texts that were sent, they differ, and the reference's comparison of texts sees a conflict."""
    assert json.dumps(left) != json.dumps(right)
    given = recorded(entry("a", left), entry("b", right, at=T0 + 1))
    assert ours(given, reader(), NOW) == {"a", "b"}


@pytest.mark.requirement("H-i", "W18")
def test_part_of_a_conflict_replaced_leaves_a_conflict() -> None:
    """(i) Here too once the partial resolution has expired: under the reference the retired values come back."""
    given = recorded(
        entry("a", "1"),
        entry("b", "2"),
        entry("c", "3"),
        entry("d", "3", at=T0 + 1, expires_at=NOW, supersedes=["a"]),
    )

    def disputed(context: Context) -> list[list[str]]:
        return [names(conflict.assertions) for conflict in context.conflicts]

    assert disputed(world_context(given[:3], reader(), NOW - 1)) == [["a", "b", "c"]]
    assert disputed(world_context(given, reader(), NOW - 1)) == [["d", "b", "c"]]
    assert disputed(world_context(given, reader(), NOW)) == [["b", "c"]]
    settled = recorded(
        *(one.entry for one in given[:3]), entry("d", "3", at=T0 + 1, expires_at=NOW, supersedes=["a", "b"])
    )
    assert reference(settled, reader(), NOW) == set()
    assert ours(settled, reader(), NOW) == {"c"}
