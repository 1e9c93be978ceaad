"""What does not fit into a host's field is left out by whole parts, and said."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world.feedback.stories import OTHER_SESSION, T0, Story, continuation_entry
from tests.world.feedback.test_recall_packet import fact
from timeline.world.king_field import decode, encode
from timeline.world.recall_form import (
    LABEL,
    LADDER,
    UNAVAILABLE,
    additional_context,
    king_message,
    plain_line,
    without,
)

ALL = frozenset().union(*LADDER)


def story_of(count: int, *, proposed: bool = False, text: str = "message", **fields: Any) -> Story:
    """A task about which the user has said so much."""
    story = Story(continuation_entry("start", T0, **fields))
    for number in range(count):
        story.say(f"{text} {number}", T0 + 1000 * (number + 1))
    if proposed:
        story.record(story.interpret())
    return story


def read(message: bytes) -> dict[str, Any]:
    """King's field, which must fit."""
    assert len(message) <= 1200
    return decode(message)


@pytest.mark.requirement("T50")
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
def test_what_fits_is_said_whole(count: int) -> None:
    """Nothing is omitted, and every byte comes back."""
    packet = story_of(count).packet()
    assert read(king_message(packet)) == packet


@pytest.mark.requirement("T50")
def test_details_go_first_then_a_models_words_then_the_quotes() -> None:
    """Each step of the ladder, by a text of the length that needs it."""
    facts = (fact(1, "owner"), fact(2, "owner"))
    for length, shown, expected in (
        (20, (), []),
        (20, facts, ["facts"]),
        (400, (), ["task-details"]),
        (400, facts, ["facts", "task-details"]),
    ):
        packet = story_of(3, objective="o" * length).packet(shown)
        assert read(king_message(packet)).get("omitted", []) == expected
    one = story_of(1, proposed=True, objective="o" * 400)
    assert read(king_message(one.packet(facts)))["omitted"] == ["facts", "task-details"]
    found = read(king_message(story_of(3, proposed=True).packet()))
    assert found["omitted"] == ["model-words", "task-details"]
    assert [row["sourceText"] for row in found["feedbackCandidates"]] == [
        "message 2",
        "message 1",
        "message 0",
    ]


@pytest.mark.requirement("T50")
@pytest.mark.parametrize("count", [1, 2, 3])
def test_quotes_that_are_too_long_leave_their_ids_and_times(count: int) -> None:
    """2,048 bytes cannot stand in 1,200; that they are left out is said, and everything else reconstructs."""
    story = story_of(count, text="x" * 2046)
    found = read(king_message(story.packet()))
    assert found["omitted"] == ["source-text", "task-details"]
    rows = found["feedbackCandidates"] if count > 1 else [found["feedback"]]
    expected = story.packet()["feedbackCandidates"] if count > 1 else [story.packet()["feedback"]]
    assert rows == [{name: row[name] for name in row if name != "sourceText"} for row in expected]
    assert found["task"] == {
        "taskId": "task:release",
        "status": "active",
        "nextStep": {"summary": "Write the release notes"},
    }


@pytest.mark.requirement("T50")
def test_a_next_step_that_is_too_long_goes_before_the_ids() -> None:
    """Of the task its id and status stay."""
    story = story_of(3, text="x" * 2046, nextStep={"id": "step:long", "summary": "s" * 500})
    found = read(king_message(story.packet()))
    assert found["omitted"] == ["next-step", "source-text", "task-details"]
    assert [row["assertionId"] for row in found["feedbackCandidates"]] == story.candidates()
    assert found["task"] == {"taskId": "task:release", "status": "active"}


@pytest.mark.requirement("T50")
def test_where_no_id_fits_the_task_alone_is_recalled() -> None:
    """Three messages of three sources and a long continuation's id."""
    story = Story(continuation_entry("x" * 181, T0))
    for number in range(3):
        source = {"session": f"session-ref:{number}" + "a" * 31, "source_digest": str(number) * 64}
        story.say("word " * 50, T0 + 1000 + number * 3_600_000, **source)
    found = read(king_message(story.packet()))
    assert found["omitted"] == ["feedback", "task-details"]
    assert found["task"]["nextStep"] == {"summary": "Write the release notes"}
    assert "feedbackCandidates" not in found
    assert "feedbackReview" not in found


@pytest.mark.requirement("T50")
def test_the_last_steps_of_the_ladder() -> None:
    """A task with the longest next step in four-byte letters, and one that nothing makes fit."""
    wide = Story(continuation_entry("x" * 181, T0, nextStep={"id": "step:wide", "summary": "𠮷" * 500}))
    for number in range(3):
        wide.say(
            "word", T0 + number, session=f"session-ref:{number}" + "a" * 31, source_digest=str(number) * 64
        )
    found = read(king_message(wide.packet()))
    assert found["omitted"] == ["feedback", "next-step", "task-details"]
    impossible = {**wide.packet(), "order": "x" * 1200}
    assert read(king_message(impossible)) == UNAVAILABLE
    assert UNAVAILABLE["status"] == "recall unavailable"


@pytest.mark.requirement("T50")
@given(
    texts=st.lists(
        st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=300), max_size=4
    ),
    objective=st.text("aä𠮷", min_size=1, max_size=500),
    step=st.text("aä𠮷", min_size=1, max_size=500),
    sessions=st.booleans(),
)
def test_no_packet_is_ever_longer_than_kings_field(
    texts: list[str], objective: str, step: str, *, sessions: bool
) -> None:
    """And what stands in it is the packet without what it says was left out."""
    story = Story(
        continuation_entry("start", T0, objective=objective, nextStep={"id": "step:a", "summary": step})
    )
    for number, text in enumerate(texts):
        said = {"session": OTHER_SESSION} if sessions and number else {}
        story.say(f"{number}. {text}", T0 + number, **said)
    packet = story.packet()
    found = read(king_message(packet))
    assert found == without(packet, frozenset(found.get("omitted", [])))
    assert (found == packet) == (encode(packet) is not None)


@pytest.mark.requirement("T48")
@pytest.mark.parametrize("form", [additional_context, plain_line])
def test_other_hosts_get_a_label_and_the_packet(form: Any) -> None:
    """Nothing of it is an instruction, and what a request has to name is there, sorted."""
    story = story_of(3, proposed=True)
    text = form(story.packet(), 10_000)
    assert text.startswith(LABEL)
    found = json.loads(text[len(LABEL) :])
    assert found.pop("interpretationInput") == {
        "feedbackAssertionIds": sorted(story.candidates()),
        "targetAssertionId": "assertion:start",
    }
    assert found == story.packet()
    assert (form is plain_line) == ("\n" not in text)


@pytest.mark.parametrize("story", [story_of(1), story_of(4)])
def test_ids_are_listed_only_where_they_can_be_named(story: Story) -> None:
    """One message has its own input, and of more than three nothing can be proposed."""
    found = json.loads(plain_line(story.packet(), 10_000)[len(LABEL) :])
    assert found == story.packet()


def test_a_completed_task_lists_no_ids() -> None:
    """Nothing can be proposed about it."""
    story = Story(continuation_entry("done", T0, status="completed"))
    story.say("one", T0 + 1)
    story.say("two", T0 + 2)
    assert "interpretationInput" not in plain_line(story.packet(), 10_000)


@pytest.mark.requirement("T48")
@given(budget=st.integers(0, 4000), count=st.integers(0, 4))
def test_every_budget_is_kept(budget: int, count: int) -> None:
    """In bytes; where the budget allows no more, it is said that recall is unavailable, or nothing."""
    packet = story_of(count, text="ä 𠮷", proposed=1 <= count <= 3).packet((fact(1, "owner"),))
    for form in (additional_context, plain_line):
        text = form(packet, budget)
        assert len(text.encode()) <= budget
        if text:
            found = json.loads(text[len(LABEL) :])
            assert found["authority"] == "context-only"
            assert found.get("status", "recall unavailable") == "recall unavailable"
    least = len((LABEL + "\n" + json.dumps(UNAVAILABLE, separators=(",", ":"))).encode())
    assert bool(additional_context(packet, budget)) == (budget >= least)


@pytest.mark.parametrize("form", [additional_context, plain_line])
def test_the_budget_itself_is_enough(form: Any) -> None:
    """One byte less, and something is left out."""
    packet = story_of(2).packet()
    whole = form(packet, 10_000)
    size = len(whole.encode())
    assert form(packet, size) == whole
    assert "omitted" in form(packet, size - 1)


def test_a_users_spaces_stay_as_they_are_on_one_line() -> None:
    """A host that folds white space changes nothing of a quote."""
    story = Story()
    story.say("two  spaces,\u00a0and\u3000others ", T0 + 1)
    folded = " ".join(plain_line(story.packet(), 10_000).split())
    found = json.loads(folded[len(LABEL) :])
    assert found["feedback"]["sourceText"] == "two  spaces,\u00a0and\u3000others "


@pytest.mark.parametrize("names", [*LADDER, ALL])
def test_only_what_was_there_is_said_to_be_omitted(names: frozenset[str]) -> None:
    """A packet that never had a part does not speak of it, and is not changed itself."""
    full = story_of(3, proposed=True).packet((fact(1, "owner"),))
    before = json.dumps(full)
    smaller = without(full, names)
    # Without feedback there are no words either, of nobody.
    expected = names - {"model-words", "source-text"} if "feedback" in names else names
    assert frozenset(smaller.get("omitted", [])) == expected
    bare = without(story_of(0).packet(), names)
    assert frozenset(bare.get("omitted", [])) == names & {"task-details", "next-step"}
    assert json.dumps(full) == before


def test_what_is_left_out_is_gone() -> None:
    """No word of it stands anywhere else."""
    story = story_of(1, proposed=True, text="quoted words")
    packet = story.packet((fact(1, "owner"),))
    for name, words in (
        ("source-text", "quoted words"),
        ("model-words", "Name the file report.txt"),
        ("task-details", "Release version 2"),
        ("next-step", "Write the release notes"),
        ("facts", "suite:unit"),
        ("feedback", "assertion:user-feedback"),
    ):
        assert words in json.dumps(packet)
        assert words not in json.dumps(without(packet, frozenset({name})))
