"""What is declassified: each decision has one view, and those that must look alike have the same (P31, P48)."""

from itertools import chain, combinations

import msgspec
import pytest

from tests.reasoning.mediation import told
from timeline.reasoning.decision import Decision, Flag, Status
from timeline.reasoning.declassified import Content, Source, Standing, View
from timeline.reasoning.policy import Policy
from timeline.reasoning.rendering import render_set
from timeline.reasoning.roles import Role
from timeline.reasoning.view import ask, view_of

FLAGS = [frozenset(some) for some in chain.from_iterable(combinations(Flag, size) for size in range(4))]
PREMISE = told.report("a", told.city("Berlin"), 5)


def made(status: Status, flags: frozenset[Flag]) -> Decision:
    """A decision that may be: only a supported one has premises."""
    return told.decision(status, *flags, premises=(PREMISE,) if status is Status.SUPPORTED else ())


def standing(status: Status, flags: frozenset[Flag], *, collapse: bool) -> Standing:
    """The table of ADR 0026, point 11, by itself."""
    if status is Status.SUPPORTED:
        return Standing.CONFLICTED if Flag.CONFLICTED in flags else Standing.SUPPORTED
    if status is Status.UNAVAILABLE:
        return Standing.UNRECORDED if collapse else Standing.UNAVAILABLE
    return Standing.STALE if Flag.STALE in flags else Standing.UNRECORDED


@pytest.mark.requirement("P31", "P48")
@pytest.mark.parametrize("policy", [told.STRICT, told.OPEN])
@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("flags", FLAGS)
def test_every_decision_has_the_view_of_the_table(
    status: Status, flags: frozenset[Flag], policy: Policy
) -> None:
    """All three statuses with all eight sets of flags, with and without collapse."""
    view = view_of(made(status, flags), policy)
    assert view.standing is standing(status, flags, collapse=policy.collapse)
    assert bool(view.contents) is (status is Status.SUPPORTED)


@pytest.mark.requirement("P31", "P48")
def test_what_must_look_alike_is_one_view() -> None:
    """Unknown, withheld and unavailable are one view where the policy collapses, and one render set."""
    decisions = [
        Decision(Status.UNKNOWN, frozenset(), (), None),
        told.decision(Status.UNKNOWN),
        told.decision(Status.UNKNOWN, Flag.WITHHELD),
        told.decision(Status.UNAVAILABLE),
        told.decision(Status.UNAVAILABLE, Flag.STALE),
        told.decision(Status.UNAVAILABLE, Flag.WITHHELD),
    ]
    views = {view_of(decision, told.STRICT) for decision in decisions}
    assert views == {View(Standing.UNRECORDED)}
    assert {render_set(view, told.QUERY) for view in views} == {
        (f"There is no recorded evidence about {told.ABOUT}.",)
    }


@pytest.mark.requirement("P31", "N3")
def test_without_collapse_what_is_unavailable_may_be_told_and_what_is_withheld_never() -> None:
    """Withheld looks like unknown whatever the policy says."""
    assert view_of(told.decision(Status.UNAVAILABLE), told.OPEN).standing is Standing.UNAVAILABLE
    withheld = view_of(told.decision(Status.UNKNOWN, Flag.WITHHELD), told.OPEN)
    assert withheld == view_of(told.decision(Status.UNKNOWN), told.OPEN) == View(Standing.UNRECORDED)


@pytest.mark.requirement("P31", "X12")
@pytest.mark.parametrize("others", [set(), {Flag.CONFLICTED}])
def test_what_is_hidden_beside_visible_support_does_not_show(others: set[Flag]) -> None:
    """Supported with Withheld is exactly Supported, in every byte."""
    with_it = view_of(made(Status.SUPPORTED, frozenset({*others, Flag.WITHHELD})), told.STRICT)
    without = view_of(made(Status.SUPPORTED, frozenset(others)), told.STRICT)
    assert msgspec.json.encode(with_it) == msgspec.json.encode(without)


def test_contents_are_each_said_once_with_their_sources_the_oldest_first() -> None:
    """Premises of one proposition are one content; a premise that says nothing is none."""
    premises = (
        told.report("c", told.city("Berlin"), 7),
        told.report("b", told.city("Hamburg"), 6),
        told.report("a", told.city("Berlin"), 7),
        told.report("d", told.city("Berlin"), 5),
        told.report("e", None, 1),
    )
    view = view_of(told.decision(Status.SUPPORTED, premises=premises), told.STRICT)
    reported = Role.ATTRIBUTED_REPORT
    assert view.contents == (
        Content(
            told.city("Berlin"),
            (Source("d", reported, 5), Source("a", reported, 7), Source("c", reported, 7)),
        ),
        Content(told.city("Hamburg"), (Source("b", reported, 6),)),
    )


@pytest.mark.requirement("P29", "P31")
@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("flags", FLAGS)
def test_no_view_holds_anything_of_the_witness(status: Status, flags: frozenset[Flag]) -> None:
    """Another witness, or none, is the same view."""
    with_it = made(status, flags)
    view = view_of(with_it, told.OPEN)
    assert view == view_of(msgspec.structs.replace(with_it, witness=None), told.OPEN)
    assert b"WITNESS" not in msgspec.json.encode(view)


def test_asking_resolves_and_declassifies() -> None:
    """One step, so that no decision is ever at hand."""
    graph = told.graph(
        told.report("a", told.city("Berlin")), told.report("b", told.city("Rome"), scope=told.HIDDEN)
    )
    view = ask(graph, told.QUERY, told.ADA, told.STRICT)
    assert [one.proposition for one in view.contents] == [told.city("Berlin")]
    assert ask(graph, told.QUERY, told.ADA, msgspec.structs.replace(told.STRICT, roots=2)).contents == ()
