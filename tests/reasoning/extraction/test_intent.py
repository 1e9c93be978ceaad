"""What the reader of wording promises: a default, a cue for everything else, an order, and bounds."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reasoning.extraction.table import read_table
from timeline.reasoning.intent import SENTENCE_CHARACTERS_MAX, find_intent
from timeline.reasoning.intent_cues import CUES

SENTENCES = [one.text for one in read_table("intents")]
NAMES = {intent: {cue.name for cue in cues} for intent, cues in CUES}


@pytest.mark.requirement("G1", "G2")
@given(text=st.sampled_from(SENTENCES) | st.text(max_size=200))
def test_a_reading_names_its_cue(text: str) -> None:
    """Asserted is the default and has none; the cue is a name of ours."""
    found = find_intent(text)
    if found.intent == "asserted":
        assert found.cue is None
    else:
        assert found.cue in NAMES[found.intent]


@pytest.mark.requirement("G1")
@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("I think the deadline is Friday.", "speculative"),
        ("If I lived there, I think I would learn it.", "hypothetical"),
        ("In the novel, if it rains, the captain perhaps drowns.", "fictional"),
        ("In the novel it is a myth that the captain drowned.", "disclaimed"),
        ("The deadline is Friday.", "asserted"),
    ],
)
def test_the_stronger_cue_decides(text: str, intent: str) -> None:
    """What a text says of its own truth outweighs how sure it is."""
    assert find_intent(text).intent == intent


def test_case_line_breaks_and_apostrophes_say_nothing() -> None:
    """A cue is found however it is set."""
    assert find_intent("I THINK\nit is  so").intent == "speculative"
    assert find_intent("It\u2019s a common misconception.").intent == "disclaimed"


def test_no_more_than_the_bound_is_read() -> None:
    """Nor does what is read take long."""
    assert find_intent("x " * (SENTENCE_CHARACTERS_MAX // 2) + "I think").intent == "asserted"
    began = time.process_time()
    for piece in (
        "it is ",
        "would a ",
        "the claim is ",
        "in the ",
        "people say ",
        "wenn hätte ",
        "es ist ",
        "*",
        "a ",
    ):
        find_intent(piece * SENTENCE_CHARACTERS_MAX)
    assert time.process_time() - began < 5
