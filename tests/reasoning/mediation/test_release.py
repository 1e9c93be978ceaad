"""The release rules, each on its own: head, moment, exact member, render set (P37 to P40)."""

import msgspec
import pytest

from tests.reasoning.mediation import told
from timeline.reasoning.declassified import Content, Source, Standing, View
from timeline.reasoning.graph import Head
from timeline.reasoning.mediation import (
    Diagnostic,
    Emission,
    HeadUse,
    Released,
    decide_head_use,
    decide_release,
    is_timely,
)
from timeline.reasoning.metrics import Disposition
from timeline.reasoning.policy import Policy
from timeline.reasoning.proposition import Proposition, Query
from timeline.reasoning.rendering import render_content, render_set
from timeline.reasoning.roles import Role

BERLIN = Content(told.city("Berlin"), (Source("a", Role.ATTRIBUTED_REPORT, 5),))
ROME = Content(told.city("Rome"), (Source("b", Role.ATTRIBUTED_REPORT, 6),))
SUPPORTED = View(Standing.SUPPORTED, (BERLIN,))
CONFLICTED = View(Standing.CONFLICTED, (BERLIN, ROME))
UNRECORDED = View(Standing.UNRECORDED)
PASSED, QUALIFIED = Disposition.PASSED, Disposition.QUALIFIED


@pytest.mark.requirement("P37")
@pytest.mark.parametrize(
    ("emission", "policy", "as_of", "use"),
    [
        (told.SAME, told.STRICT, None, HeadUse.SAME),
        (told.SAME, told.STRICT, told.AT, HeadUse.SAME),
        (told.MOVED, told.STRICT, None, HeadUse.MOVED),
        (told.MOVED, told.STRICT, told.AT, HeadUse.MOVED),
        (told.MOVED, told.SNAPSHOT, None, HeadUse.MOVED),
        (told.MOVED, told.SNAPSHOT, told.AT, HeadUse.SNAPSHOT),
        (told.MOVED, told.SNAPSHOT, 0, HeadUse.SNAPSHOT),
        # Another log of the same size, and an older one, are no later head of this one.
        (Emission(told.HEAD, Head(told.HEAD.size, "x"), told.AT), told.SNAPSHOT, told.AT, HeadUse.MOVED),
        (Emission(told.NEWER, told.HEAD, told.AT), told.SNAPSHOT, told.AT, HeadUse.MOVED),
        (
            Emission(told.HEAD, Head(told.NEWER.size, told.HEAD.root), told.AT),
            told.STRICT,
            None,
            HeadUse.MOVED,
        ),
    ],
)
def test_head_use(emission: Emission, policy: Policy, as_of: int | None, use: HeadUse) -> None:
    """Equal heads; or a later one, with permission and a moment that is named."""
    assert decide_head_use(emission, policy, as_of) is use


@pytest.mark.requirement("P33", "P39")
@pytest.mark.parametrize(
    ("asked_at", "as_of", "timely"),
    [
        (told.AT, None, True),
        (told.AT - 1, None, False),
        (told.AT + 1, None, False),
        (told.AT - 1, told.AT - 1, True),
        (told.AT, told.AT, True),
        (told.AT - 1, told.AT, False),
        (told.AT + 1, told.AT + 1, False),
    ],
)
def test_a_unit_speaks_of_the_moment_that_was_asked_about(
    asked_at: int, as_of: int | None, timely: bool
) -> None:
    """Of now without a word, of another moment only by name, and never of one to come."""
    query = msgspec.structs.replace(told.QUERY, at=asked_at)
    assert is_timely(told.says("Berlin", as_of=as_of, query=query), told.AT) is timely
    result = decide_release(told.says("Berlin", as_of=as_of, query=query), SUPPORTED, HeadUse.SAME, told.AT)
    assert result == (
        Released("u1", PASSED, render_content(BERLIN, as_of)) if timely else Diagnostic("u1", "time")
    )


@pytest.mark.requirement("P39")
@pytest.mark.parametrize("standing", Standing)
def test_content_passes_only_if_it_is_a_member_of_a_supported_view(standing: Standing) -> None:
    """No other standing ever releases the content."""
    view = View(standing, (BERLIN,) if standing in (Standing.SUPPORTED, Standing.CONFLICTED) else ())
    result = decide_release(told.says("Berlin"), view, HeadUse.SAME, told.AT)
    expected = {
        Standing.SUPPORTED: Released("u1", PASSED, render_content(BERLIN)),
        Standing.CONFLICTED: Released("u1", QUALIFIED, render_set(view, told.QUERY)[0]),
    }
    assert result == expected.get(standing, Diagnostic("u1", "view", view))


@pytest.mark.requirement("P39")
@pytest.mark.parametrize(
    "said",
    [
        told.city("berlin"),
        Proposition("user:ben", "city", '"Berlin"'),
        Proposition("user:ada", "home", '"Berlin"'),
        Proposition("user:ada", "city", '"Berlin"', "possible"),
        Proposition("user:ada", "city", '"Berlin" '),
    ],
)
@pytest.mark.parametrize("view", [SUPPORTED, CONFLICTED])
def test_the_match_is_exact(said: Proposition, view: View) -> None:
    """Subject, predicate, value and modality, each by itself, in support and in conflict."""
    unit = msgspec.structs.replace(told.says("Berlin"), proposition=said)
    assert decide_release(unit, view, HeadUse.SAME, told.AT) == Diagnostic("u1", "view", view)


def test_any_member_of_the_view_passes() -> None:
    """Not only the first one."""
    view = View(Standing.SUPPORTED, (ROME, BERLIN))
    result = decide_release(told.says("Berlin"), view, HeadUse.SAME, told.AT)
    assert result == Released("u1", PASSED, render_content(BERLIN))


@pytest.mark.requirement("P40")
def test_a_status_is_released_only_word_for_word() -> None:
    """One that belongs to another view, to another question, or to another moment is not."""
    text = render_set(UNRECORDED, told.QUERY)[0]
    other = render_set(UNRECORDED, Query("user:ben", "city", told.AT))[0]
    dated = render_set(UNRECORDED, told.QUERY, told.AT)[0]

    def release(text: str, view: View, as_of: int | None = None) -> Released | Diagnostic:
        return decide_release(told.states(text, as_of=as_of), view, HeadUse.SAME, told.AT)

    assert release(text, UNRECORDED) == Released("u1", PASSED, text)
    assert release(dated, UNRECORDED, told.AT) == Released("u1", PASSED, dated)
    for wrong, view, as_of in [
        (text, SUPPORTED, None),
        (other, UNRECORDED, None),
        (text.rstrip("."), UNRECORDED, None),
        (text, UNRECORDED, told.AT),
        (dated, UNRECORDED, None),
        (render_content(BERLIN), SUPPORTED, None),
    ]:
        assert release(wrong, view, as_of) == Diagnostic("u1", "view", view)


@pytest.mark.requirement("P37", "P39", "P40")
@pytest.mark.parametrize("view", [SUPPORTED, CONFLICTED, UNRECORDED])
def test_after_the_head_has_moved_nothing_is_released_and_nothing_told(view: View) -> None:
    """Neither content nor status: the diagnostic says to ask again, and has no view."""
    status = told.states(render_set(view, told.QUERY)[0])
    for unit in (told.says("Berlin"), status):
        assert decide_release(unit, view, HeadUse.MOVED, told.AT) == Diagnostic("u1", "head")


@pytest.mark.requirement("P37")
def test_what_is_said_of_an_older_head_is_qualified() -> None:
    """Content and status alike, with the moment in the words."""
    status = told.states(render_set(UNRECORDED, told.QUERY, told.AT)[0], as_of=told.AT)
    content = decide_release(told.says("Berlin", as_of=told.AT), SUPPORTED, HeadUse.SNAPSHOT, told.AT)
    assert content == Released("u1", QUALIFIED, render_content(BERLIN, told.AT))
    assert decide_release(status, UNRECORDED, HeadUse.SNAPSHOT, told.AT) == Released(
        "u1", QUALIFIED, status.text
    )


@pytest.mark.requirement("P37", "P40")
def test_a_conflict_of_an_older_head_is_dated_too() -> None:
    """The status that stands in for the content names the moment as the content did."""
    result = decide_release(told.says("Berlin", as_of=told.AT), CONFLICTED, HeadUse.SNAPSHOT, told.AT)
    assert result == Released("u1", QUALIFIED, render_set(CONFLICTED, told.QUERY, told.AT)[0])


def test_a_status_about_a_conflict_is_what_it_is() -> None:
    """Only content that was asked to pass and becomes a status is qualified by that."""
    text = render_set(CONFLICTED, told.QUERY)[0]
    assert decide_release(told.states(text), CONFLICTED, HeadUse.SAME, told.AT) == Released(
        "u1", PASSED, text
    )
