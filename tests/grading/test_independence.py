"""``independence``: who is a witness beside whom, held against the rule written out pair by pair."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.graded import ClaimSource
from tests.grading.examples import source
from timeline.grading.independence import Crowd, Place, find_place, group_witnesses

NAMES = st.sampled_from(["a", "b", "c"])
PLACES = st.builds(
    lambda entity, root, session, start, length: Place(entity, root, session, start, start + length),
    NAMES,
    NAMES,
    st.none() | NAMES,
    st.integers(0, 5),
    st.integers(1, 3),
)


def independent(one: Place, other: Place) -> bool:
    """Say by the rule whether two are independent and hold at some moment together."""
    apart = one.entity != other.entity and one.root != other.root
    other_session = one.session is None or one.session != other.session
    return apart and other_session and one.start < other.end and other.start < one.end


@pytest.mark.requirement("P11", "G21")
@given(st.lists(PLACES, max_size=12), PLACES)
def test_counting_agrees_with_looking_at_every_pair(places: list[Place], asked: Place) -> None:
    """Whatever the entities, roots, sessions and times, and whether the one asked for is among them or not."""
    crowd = Crowd(places)
    assert crowd.count_independent(asked) == sum(independent(asked, other) for other in places)
    same = [x for x in places if x.entity == asked.entity and x.start < asked.end and asked.start < x.end]
    assert crowd.count_of_entity(asked) == len(same)


def test_nobody_is_in_an_empty_crowd() -> None:
    """None is no error."""
    place = Place("a", "b", None, 0, 1)
    assert Crowd(()).count_independent(place) == 0
    assert Crowd(()).count_of_entity(place) == 0


@pytest.mark.requirement("M7")
def test_a_source_of_unknown_lineage_has_no_place() -> None:
    """Without a root nothing is independent."""
    assert find_place(source(root=None), (0, 1)) is None
    assert find_place(source(session="session:1"), (2, 3)) == Place(
        "person:ada", "root:ada", "session:1", 2, 3
    )


def groups_of(*sources: ClaimSource) -> list[set[int]]:
    """Give the witnesses as sets, sorted by their first member."""
    return sorted((set(group) for group in group_witnesses(sources)), key=min)


@pytest.mark.requirement("P11", "G21", "M5")
def test_what_shares_a_root_a_session_or_an_entity_is_one_witness() -> None:
    """One by one, and through others."""
    ada, bob, eve = source("ada"), source("bob"), source("eve")
    assert groups_of(ada, bob, eve) == [{0}, {1}, {2}]
    assert groups_of(ada, source("bob", root="root:ada"), eve) == [{0, 1}, {2}]
    assert groups_of(ada, source("ada", root="root:other"), eve) == [{0, 1}, {2}]
    session = {"session": "session:1"}
    assert groups_of(source("ada", **session), source("bob", **session), eve) == [{0, 1}, {2}]
    linked = source("ada", root="root:bob")
    assert groups_of(ada, bob, linked, eve) == [{0, 1, 2}, {3}]
    chain = [source("ada", root=f"root:{number}") for number in range(5)]
    assert groups_of(*chain, bob) == [{0, 1, 2, 3, 4}, {5}]


def test_marks_of_different_kinds_are_different_marks() -> None:
    """A root that is named like somebody else's session or entity connects nothing."""
    ada = source("ada", root="session:1")
    bob = source("bob", session="session:1")
    eve = source("eve", root="person:ada")
    assert groups_of(ada, bob, eve) == [{0}, {1}, {2}]


@pytest.mark.requirement("M7")
def test_unknown_lineage_is_no_witness() -> None:
    """It is in no group, and it connects nothing."""
    assert groups_of(source("ada", root=None)) == []
    assert groups_of(source("ada"), source("ada", root=None, session="session:1")) == [{0}]
    joining = source("ada", root=None, session="session:1")
    assert groups_of(source("ada"), source("bob", session="session:1"), joining) == [{0}, {1}]
