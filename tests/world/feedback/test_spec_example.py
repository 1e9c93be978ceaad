"""The examples in docs/spec/feedback.md are real: made again byte for byte, and each id by hand."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from sidecars.assertion import AssertionEntry
from tests.world.feedback.stories import T0, Story
from timeline.world.interpretation import parse_request
from timeline.world.king_field import decode, one_line
from timeline.world.recall_form import (
    DETAILS,
    FACTS,
    MODEL_WORDS,
    NEXT_STEP,
    SOURCE_TEXT,
    UNAVAILABLE,
    king_message,
)
from timeline.world.task_state import Refused


@pytest.fixture
def page(root: Path) -> str:
    """Give the page."""
    return (root / "docs" / "spec" / "feedback.md").read_text(encoding="utf-8")


def block(page: str, kind: str) -> str:
    """Give the one fenced example of a kind."""
    (found,) = re.findall(rf"^```{kind}\n(.*?)\n```$", page, re.MULTILINE | re.DOTALL)
    return str(found)


def value(entry: AssertionEntry | Refused) -> str:
    """The text of an entry's value."""
    assert isinstance(entry, AssertionEntry)
    return entry.value


@pytest.mark.requirement("T38", "T39", "T40", "T46", "T50")
def test_the_story_of_the_page_is_what_the_program_makes(page: str) -> None:
    """Quote, both requests and both proposals, and King's field with three messages."""
    story = Story()
    said = story.say("Nein, nenn die Datei bitte bericht.txt")
    assert said.entry.value == block(page, "quote")
    request = json.loads(block(page, "interpretation-request"))
    assert request == story.request()
    assert value(story.interpret(request)) == block(page, "interpretation")
    story.say("All of it is done and verified", T0 + 120_000)
    request = json.loads(block(page, "clarification-request"))
    assert not isinstance(parse_request(request), Refused)
    assert value(story.interpret(request)) == block(page, "clarification")
    story.say("First the changelog", T0 + 180_000)
    assert king_message(story.packet()) == block(page, "king").encode()
    assert decode(block(page, "king").encode()) == story.packet()
    assert len(block(page, "king").encode()) <= 1200
    assert one_line(UNAVAILABLE) == block(page, "unavailable").encode()


@pytest.mark.requirement("T44")
def test_the_ids_of_the_page_are_hashes_of_what_it_shows(page: str) -> None:
    """Computed without the program."""
    story = Story()
    said = story.say("Nein, nenn die Datei bitte bericht.txt")
    proposal = story.record(story.interpret())
    for kind, prefix, digits, id_ in (
        ("quote-identity", "assertion:user-feedback-", 32, said.id),
        ("interpretation-identity", "assertion:user-feedback-interpretation-", 24, proposal.id),
    ):
        made = prefix + hashlib.sha256(block(page, kind).encode()).hexdigest()[:digits]
        assert made == id_
        assert f"It is `{made}`." in page


def test_the_page_names_every_reason_and_every_part(page: str) -> None:
    """What can be refused and what can be left out."""
    from timeline.world.feedback import HINTS

    assert all(f"`{reason}`" in page for reason in HINTS)
    named = [
        page.index(f"`{name}`", page.index("`omitted` names"))
        for name in (
            FACTS,
            DETAILS,
            MODEL_WORDS,
            SOURCE_TEXT,
            NEXT_STEP,
        )
    ]
    assert named == sorted(named)
