"""The words: one fixed sentence for each view, none of which says more than it may (table 2; P7, P32, P40)."""

import ast
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reasoning.mediation import told
from timeline.reasoning import rendering
from timeline.reasoning.decision import Flag, Status
from timeline.reasoning.declassified import Content, Source, Standing, View
from timeline.reasoning.policy import Policy
from timeline.reasoning.proposition import Modality, Proposition, Query
from timeline.reasoning.rendering import render_content, render_set
from timeline.reasoning.roles import Role
from timeline.reasoning.view import view_of

BERLIN = Content(
    told.city("Berlin"),
    (Source("a", Role.ATTRIBUTED_REPORT, told.AT - 1), Source("b", Role.OBSERVED_EVENT, told.AT)),
)
Kind = tuple[Status, frozenset[Flag]]
NOON = "2026-06-01T12:00:00.000Z"
SENTENCES = {
    Standing.SUPPORTED: "There is recorded evidence about city of user:ada.",
    Standing.CONFLICTED: "The records about city of user:ada disagree.",
    Standing.STALE: "What is recorded about city of user:ada does not hold now.",
    Standing.UNAVAILABLE: "What was recorded about city of user:ada is not available.",
    Standing.UNRECORDED: "There is no recorded evidence about city of user:ada.",
}


@pytest.mark.requirement("P40")
@pytest.mark.parametrize("standing", Standing)
def test_each_view_has_its_sentence(standing: Standing) -> None:
    """The render set of each view, word for word, and dated where it speaks of a moment."""
    view = View(standing, (BERLIN,) if standing in (Standing.SUPPORTED, Standing.CONFLICTED) else ())
    assert render_set(view, told.QUERY) == (SENTENCES[standing],)
    then = SENTENCES[standing].replace("now.", "then.")
    assert render_set(view, told.QUERY, told.AT) == (f"As of {NOON}: {then}",)


@pytest.mark.requirement("P7", "P32")
@pytest.mark.parametrize("standing", Standing)
def test_no_sentence_says_what_is_true_or_false(standing: Standing) -> None:
    """Absence of evidence is told as that, and support as a record: neither becomes a claim about the world."""
    (sentence,) = render_set(View(standing), told.QUERY)
    words = set(re.findall(r"[a-z]+", sentence))
    assert not words & {
        "false",
        "true",
        "wrong",
        "never",
        "isn",
        "know",
        "allowed",
        "permission",
        "withheld",
        "hidden",
    }
    assert "record" in sentence


@pytest.mark.requirement("P40")
def test_a_conflict_names_no_winner_and_no_value() -> None:
    """Its sentence is the same whatever disagrees."""
    rome = Content(told.city("Rome"), BERLIN.sources)
    both = render_set(View(Standing.CONFLICTED, (BERLIN, rome)), told.QUERY)
    assert both == render_set(View(Standing.CONFLICTED, (rome, BERLIN)), told.QUERY)
    assert "Berlin" not in both[0]
    assert "Rome" not in both[0]


@pytest.mark.requirement("P40")
def test_content_comes_with_what_it_is_attributed_to() -> None:
    """Each source with its role, its id and its time; a moment before it, if it speaks of one."""
    sentence = (
        'city of user:ada is "Berlin" (recorded: attributed-report a, 2026-06-01T11:59:59.999Z; '
        "observed-event b, 2026-06-01T12:00:00.000Z)."
    )
    assert render_content(BERLIN) == sentence
    assert render_content(BERLIN, 1) == f"As of 1970-01-01T00:00:00.001Z: {sentence}"


@pytest.mark.parametrize(
    ("modality", "verb"),
    [
        ("asserted", "is"),
        ("possible", "may be"),
        ("obligatory", "has to be"),
        ("permitted", "is permitted to be"),
        ("hypothetical", "is, as a hypothesis,"),
    ],
)
def test_a_modality_is_kept_in_words(modality: Modality, verb: str) -> None:
    """What was only possible is never said to be so."""
    content = Content(Proposition("user:ada", "city", '"Rome"', modality), ())
    assert render_content(content) == f'city of user:ada {verb} "Rome" (recorded: ).'


@pytest.mark.requirement("P40", "P48", "N3")
@given(
    first=st.tuples(st.sampled_from(Status), st.frozensets(st.sampled_from(Flag))),
    second=st.tuples(st.sampled_from(Status), st.frozensets(st.sampled_from(Flag))),
    collapse=st.booleans(),
    at=st.integers(0, 2**41),
    as_of=st.none() | st.integers(0, 2**41),
)
def test_equal_views_have_equal_render_sets(
    first: Kind, second: Kind, collapse: bool, at: int, as_of: int | None
) -> None:
    """For any two decisions: the same view exactly if the same sentences, byte for byte."""
    policy, query = Policy(version=1, collapse=collapse), Query("user:ada", "city", at)
    premise = (told.report("a", told.city("Berlin")),)
    views = [
        view_of(told.decision(status, *flags, premises=premise if status is Status.SUPPORTED else ()), policy)
        for status, flags in (first, second)
    ]
    texts = [[text.encode() for text in render_set(view, query, as_of)] for view in views]
    assert (views[0] == views[1]) is (texts[0] == texts[1])


@pytest.mark.requirement("P29", "P36")
def test_rendering_knows_no_decision_and_no_graph() -> None:
    """It takes views and questions: nothing it imports has a head, a witness or a hidden vertex."""
    tree = ast.parse(Path(rendering.__file__).read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name for name in imported if name and name.startswith("timeline")} == {
        "timeline.reasoning.declassified",
        "timeline.reasoning.proposition",
    }


def test_times_are_in_utc_wherever_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The zone of the machine changes no word."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        sentence = render_set(View(Standing.STALE), told.QUERY, told.AT)[0]
    time.tzset()
    assert sentence.startswith(f"As of {NOON}: ")
