"""``independence``: who is a voice beside whom, held against the rule written out pair by pair."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.graded import ClaimSource
from tests.grading.examples import source
from timeline.grading.independence import Crowd, Mark, Place, name_voices

MARKS: st.SearchStrategy[Mark] = st.sampled_from([("root", "a"), ("root", "b"), ("root", "c")])
SPEAKERS: st.SearchStrategy[Mark] = st.sampled_from([("speaker", "a"), ("speaker", "b")])
PLACES = st.builds(
    lambda voice, speaker, start, length: Place(voice, speaker, start, start + length),
    MARKS,
    SPEAKERS,
    st.integers(0, 5),
    st.integers(1, 3),
)


def overlap(one: Place, other: Place) -> bool:
    """Say whether both hold at some moment."""
    return one.start < other.end and other.start < one.end


@pytest.mark.requirement("G19", "G21")
@given(st.lists(PLACES, max_size=12), PLACES)
def test_counting_agrees_with_looking_at_every_pair(places: list[Place], asked: Place) -> None:
    """Whatever the voices and times, and whether the one asked for is among them or not."""
    crowd = Crowd(places)
    near = [other for other in places if overlap(asked, other)]
    assert crowd.count_others(asked) == sum(other.voice != asked.voice for other in near)
    assert crowd.count_of_entity(asked) == sum(other.entity == asked.entity for other in near)


def test_nobody_is_in_an_empty_crowd() -> None:
    """None is no error."""
    place = Place(("root", "a"), ("speaker", "a"), 0, 1)
    assert Crowd(()).count_others(place) == 0
    assert Crowd(()).count_of_entity(place) == 0


def groups_of(*sources: ClaimSource) -> list[set[int]]:
    """Give which sources are one voice, sorted by their first."""
    voices = name_voices(sources)
    groups: dict[Mark, set[int]] = {}
    for number, one in enumerate(sources):
        if one.root is not None:
            groups.setdefault(voices[one.root], set()).add(number)
    return sorted(groups.values(), key=min)


@pytest.mark.requirement("P11", "G21", "M5")
def test_what_shares_a_root_a_session_or_an_entity_is_one_voice() -> None:
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
def test_unknown_lineage_is_no_voice() -> None:
    """It is in no group, and it connects nothing."""
    assert groups_of(source("ada", root=None)) == []
    assert groups_of(source("ada"), source("ada", root=None, session="session:1")) == [{0}]
    joining = source("ada", root=None, session="session:1")
    assert groups_of(source("ada"), source("bob", session="session:1"), joining) == [{0}, {1}]
