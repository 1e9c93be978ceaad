import pytest

from tests.reasoning.core.made import root
from timeline.reasoning.graph import Access, Scope

PARTS = ("principals", "purposes", "tasks")
ASKED = Access("ada", "work", "task:a")
FITS = {"principals": "ada", "purposes": "work", "tasks": "task:a"}


@pytest.mark.requirement("P8", "P33", "N5")
@pytest.mark.parametrize("part", PARTS)
def test_each_part_of_a_scope_is_asked_for(part: str) -> None:
    """No list means for all; an empty one means for nobody."""
    assert Scope().allows(ASKED)
    assert Scope(**{part: frozenset({FITS[part], "x"})}).allows(ASKED)
    assert not Scope(**{part: frozenset({"x"})}).allows(ASKED)
    assert not Scope(**{part: frozenset()}).allows(ASKED)


def test_who_names_no_purpose_and_no_task_gets_what_is_for_all() -> None:
    """A missing purpose is not any purpose."""
    plain = Access("ada")
    assert Scope(principals=frozenset({"ada"})).allows(plain)
    assert not Scope(purposes=frozenset({"work"})).allows(plain)
    assert not Scope(tasks=frozenset({"task:a"})).allows(plain)


@pytest.mark.requirement("P33")
@pytest.mark.parametrize("part", PARTS)
def test_what_two_scopes_have_in_common_is_never_wider(part: str) -> None:
    """All of the narrower one, the overlap of two lists, nobody where there is none."""
    some, more, others = (Scope(**{part: frozenset(text.split())}) for text in ("a b", "b c", "d"))
    assert some.common(Scope()) == Scope().common(some) == some
    assert some.common(more) == Scope(**{part: frozenset({"b"})})
    assert some.common(others) == Scope(**{part: frozenset()})
    assert some.within(Scope())
    assert not Scope().within(some)
    assert Scope(**{part: frozenset({"a"})}).within(some)
    assert not some.within(more)


def test_an_interval_has_its_start_and_not_its_end() -> None:
    """Equal instants decide the same way everywhere."""
    vertex = root("r", start=10, end=20)
    assert [vertex.holds_at(moment) for moment in (9, 10, 19, 20)] == [False, True, True, False]
    assert root("r").holds_at(0)
    assert [root("r", start=10).holds_at(moment) for moment in (9, 10)] == [False, True]
    assert [root("r", end=20).holds_at(moment) for moment in (19, 20)] == [True, False]


def test_a_root_is_counted_by_its_id_unless_it_names_another() -> None:
    """What was seen in one session is one witness."""
    assert root("r").root_id == "r"
    assert root("r", root="session").root_id == "session"
