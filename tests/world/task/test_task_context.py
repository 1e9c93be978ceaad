"""What is already known and bears on a task: how the question is made, and what answers it."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.digest import Digest
from tests.world.task.story import (
    ADA,
    ORIGIN,
    OTHER_ROUTE,
    SECOND,
    T0,
    TASK,
    Story,
    completed,
    continuation,
    entry,
    scope_of,
)
from timeline.world.assertion import Evidence, make_entry
from timeline.world.capsules import Capsule
from timeline.world.continuation import parse_continuation
from timeline.world.knowledge import format_item, knowledge_items
from timeline.world.scope import Reader
from timeline.world.task_context import (
    TaskContext,
    format_task_context,
    query_terms,
    task_context,
    words_of,
)

GENERAL = {"route": None}


def known(story: Story, name: str, value: Any, **fields: Any) -> None:
    """Record something that is known of the project, at the story's time unless fields say otherwise."""
    kind = fields.pop("kind", "explicit-user-feedback")
    recorders = {"explicit-user-feedback": "owner", "objective-measurement": "capture"}
    knowledge = fields.pop("knowledge", "fact")
    story.record(
        make_entry(
            **{
                "id": f"assertion:{name}",
                "recorder": recorders.get(kind, "model"),
                "subject": "project:demo",
                "predicate": f"note.{name}",
                "value": value,
                "evidence": Evidence(kind, f"note:{name}", Digest.of(name.encode()), fields.pop("at", T0)),
                "scope": scope_of(**{**GENERAL, **fields.pop("scope", {})}),
                "knowledge": knowledge,
                "reason": "agreed" if knowledge == "decision" else None,
                "supersedes": tuple(f"assertion:{other}" for other in fields.pop("supersedes", ())),
                **fields,
            }
        )
    )


def under_way(**fields: Any) -> Story:
    """A task about a parser release, under way."""
    story = Story()
    story.record(entry("task", continuation(**fields)))
    return story


def found(story: Story, **fields: Any) -> list[str]:
    """The ids of the items that bear on the task."""
    context = task_context(story.standing(), TASK, **fields)
    return [one.item.assertion.id.removeprefix("assertion:") for one in context.items]


# -- status ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("W44", "W45")
def test_the_status_says_why_there_is_nothing() -> None:
    """Each way of having no items has a word of its own."""
    story = under_way()
    assert task_context(story.standing(), None) == TaskContext("not-requested")
    assert format_task_context(TaskContext("not-requested"))["omitted"] == 0
    assert task_context(story.standing(), "task:other") == TaskContext("unavailable", "task:other")
    assert task_context(story.standing(), TASK).status == "no-match"

    known(story, "parser", "release the parser after the suite")
    assert task_context(story.standing(), TASK).status == "available"

    story.record(entry("rival", continuation(status="paused")))
    assert task_context(story.standing(), TASK) == TaskContext("unavailable", TASK)


@pytest.mark.requirement("W37", "W44")
def test_a_suggested_task_has_no_context() -> None:
    """What cannot be resumed asks for nothing."""
    story = Story()
    known(story, "parser", "release the parser after the suite")
    story.record(entry("task", kind="model-suggestion"))

    assert task_context(story.standing(), TASK) == TaskContext("unavailable", TASK)


@pytest.mark.requirement("W45")
def test_a_completed_task_has_no_context() -> None:
    """Nothing is recalled for what is done."""
    story = Story()
    known(story, "parser", "release the parser after the suite")
    story.record(entry("done", completed(), kind="objective-measurement"))

    assert task_context(story.standing(), TASK) == TaskContext("terminal", TASK)


@pytest.mark.requirement("W44")
def test_a_task_in_stop_words_has_no_question() -> None:
    """What says nothing of its own asks nothing."""
    story = under_way(objective="Do it", nextStep={"id": "step:a", "summary": "und die das mit dem"})
    known(story, "any", "do it und die das mit dem")

    assert task_context(story.standing(), TASK) == TaskContext("no-query", TASK)


# -- the question ----------------------------------------------------------------------------------------------


def terms(**fields: Any) -> tuple[str, ...]:
    """The terms of a task."""
    story = under_way(**fields)
    return query_terms(Capsule(story.assertions[0], parse_continuation(story.assertions[0].value)))


@pytest.mark.requirement("W44")
def test_the_question_is_made_of_objective_next_step_and_questions() -> None:
    """In this order, each word once."""
    assert terms(
        objective="Release the parser",
        nextStep={"id": "step:a", "summary": "Run suite_4 for the PARSER"},
        openQuestions=[{"id": "question:a", "question": "Which branch, which tag?"}],
    ) == ("release", "parser", "run", "suite", "branch", "tag")


@pytest.mark.requirement("W44")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Größe prüfen", ["große", "prufen"]),
        ("Gro\u0308ße", ["große"]),
        ("\uff30\uff41\uff52\uff53\uff45\uff52", ["parser"]),
        ("\ufb01le of 10 or 100", ["file", "100"]),
        ("a-b_c.d/foo.bar", ["foo", "bar"]),
        ("Überprüfung, über alles", ["uberprufung", "uber", "alles"]),
        ("検査実施 run", ["検査実施", "run"]),
        ("", []),
    ],
)
def test_words_are_compared_without_case_and_marks(text: str, words: list[str]) -> None:
    """Two spellings of a word are one word; what is shorter than three characters is none."""
    assert list(words_of(text)) == words


def test_a_question_needs_no_next_step() -> None:
    """What has none is asked about by its objective."""
    done = parse_continuation(completed())

    assert query_terms(Capsule(under_way().assertions[0], done)) == ("release", "parser")


@pytest.mark.requirement("W44")
def test_at_most_64_terms_are_asked_for() -> None:
    """The first ones."""
    objective = " ".join(f"w{number:03}" for number in range(100))

    assert terms(objective=objective) == tuple(f"w{number:03}" for number in range(64))


@given(st.text(max_size=200))
def test_words_are_stable(text: str) -> None:
    """Taking the words of words changes nothing."""
    words = list(words_of(text))

    assert all(len(word) >= 3 for word in words)
    assert list(words_of(" ".join(words))) == [again for word in words for again in words_of(word)]


# -- the answer ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("W44")
def test_two_terms_have_to_match() -> None:
    """One shared word is a coincidence; a part of a word is no word."""
    story = under_way()
    known(story, "one", "the parser is old")
    known(story, "part", "parsers released suites")
    known(story, "two", "the parser has a suite")

    assert found(story) == ["two"]


@pytest.mark.requirement("W44")
def test_one_term_is_enough_where_there_is_no_second() -> None:
    """The question has one word only."""
    story = under_way(objective="Do", nextStep={"id": "step:a", "summary": "parser"})
    known(story, "one", "the parser is old")

    assert found(story) == ["one"]


@pytest.mark.requirement("W44")
def test_subject_predicate_value_and_reason_are_searched() -> None:
    """Each of them can hold a term; keys of a value count as its text."""
    story = under_way()
    known(story, "a", "x", subject="project:parser", predicate="suite.state")
    known(story, "b", {"parser": {"suite": True}})
    known(story, "c", "parser", reason="because of the suite")

    assert found(story) == ["a", "b", "c"]


@pytest.mark.requirement("W44")
def test_a_value_is_searched_to_its_end() -> None:
    """Eight KiB fit into what is compared."""
    story = under_way()
    known(story, "long", "x" * 8000 + " parser suite")

    assert found(story) == ["long"]


@pytest.mark.requirement("W44")
def test_more_matches_then_lessons_decisions_preferences_facts() -> None:
    """A further match counts more than any kind; among equals the newest comes first, and then the id."""
    story = under_way()
    text = "parser suite"
    known(story, "fact", text, at=T0 + 9)
    known(story, "preference", text, knowledge="user-preference")
    known(story, "decision", text, knowledge="decision")
    known(story, "lesson", text, knowledge="error-lesson")
    known(story, "three", "parser suite release")
    story.now += SECOND

    assert found(story) == ["three", "lesson", "decision", "preference", "fact"]
    assert [one.score for one in task_context(story.standing(), TASK).items] == [310, 240, 230, 220, 210]


@pytest.mark.requirement("W44")
def test_among_equals_the_newest_comes_first() -> None:
    """And at one instant the smaller id."""
    story = under_way()
    for name, at in (("b", 0), ("c", 0), ("a", 5), ("d", 9)):
        known(story, name, f"parser suite {name}", at=T0 + at)
    story.now += SECOND

    assert found(story) == ["d", "a", "b", "c"]


@pytest.mark.requirement("W44")
def test_an_old_lesson_is_found_among_many_newer_facts() -> None:
    """What bears on the task is found however much else was noted since."""
    story = under_way()
    known(story, "lesson", "the parser suite needs a clean cache", knowledge="error-lesson")
    for number in range(12):
        known(story, f"n{number}", f"lunch {number}", at=T0 + number + 1)
    story.now += SECOND

    assert found(story) == ["lesson"]


@pytest.mark.requirement("W44")
@pytest.mark.parametrize(("asked", "shown", "omitted"), [(2, 2, 7), (6, 6, 3), (100, 6, 3)])
def test_at_most_six_items_are_given(asked: int, shown: int, omitted: int) -> None:
    """Fewer where the answer is bounded; how many more there are is said."""
    story = under_way()
    for number in range(9):
        known(story, f"n{number}", f"parser suite {number}")

    context = task_context(story.standing(), TASK, max_items=asked)

    assert [one.item.assertion.id for one in context.items] == [
        f"assertion:n{number}" for number in range(shown)
    ]
    assert context.omitted == omitted


@pytest.mark.requirement("W44")
def test_what_says_the_same_is_given_once() -> None:
    """By its newest assertion; another kind, subject, predicate or value is something else."""
    story = under_way()
    same = {"predicate": "note.same"}
    known(story, "a", "parser suite", **same)
    known(story, "b", "parser suite", at=T0 + 1, **same)
    known(story, "c", "parser suite", subject="project:other", **same)
    known(story, "d", "parser suite", knowledge="error-lesson", **same)
    story.now += SECOND

    assert found(story) == ["d", "b", "c"]


@pytest.mark.requirement("W44", "W46")
def test_an_item_keeps_its_sources_and_names_its_terms() -> None:
    """It is the entry of the typed view, and permits nothing."""
    story = under_way()
    known(story, "parser", "the suite, the parser", origin=ORIGIN)

    item = next(one for one in knowledge_items(story.standing()) if one.assertion.id == "assertion:parser")
    assert format_task_context(task_context(story.standing(), TASK)) == {
        "schema": "agentspine.task-knowledge-context/v1",
        "status": "available",
        "taskId": TASK,
        "queryTerms": ["release", "parser", "run", "suite"],
        "items": [{**format_item(item), "relevance": {"matchedTerms": ["parser", "suite"]}}],
        "omitted": 0,
        "authority": "context-only",
    }
    assert format_item(item)["source"]["sessionRef"] == ORIGIN.session


# -- what is left out ------------------------------------------------------------------------------------------

TEXT = "release the parser after the suite"
EXCLUDED: tuple[tuple[str, tuple[dict[str, Any], ...]], ...] = (
    ("suggested", ({"kind": "model-suggestion"},)),
    ("stale", ({"expires_at": T0 + 10 * SECOND},)),
    ("of no kind", ({"knowledge": None},)),
    ("a state of a task", ({"knowledge": "task-state"},)),
    ("disputed", ({"predicate": "note.x"}, {"predicate": "note.x", "value": "not the parser suite"})),
    ("another project's", ({"scope": {"project": "/srv/other"}},)),
    ("another tenant's", ({"scope": {"tenant": "work"}},)),
    ("another user's", ({"scope": {"user": "bob"}},)),
    ("a group's", ({"scope": {"privacy": "group", "group": "team"}},)),
    ("another conversation's", ({"subject": TASK, "scope": {"route": OTHER_ROUTE}},)),
    ("older than the conversation", ({"subject": TASK},)),
)


@pytest.mark.requirement("W45")
@pytest.mark.parametrize("told", [pytest.param(told, id=name) for name, told in EXCLUDED])
def test_what_is_uncertain_or_foreign_is_left_out(told: tuple[dict[str, Any], ...]) -> None:
    """It changes nothing of the answer, its counts included."""
    story = under_way()
    known(story, "control", "release the parser")
    story.at(10)
    before = task_context(story.standing(), TASK)
    story.at(0)

    for number, fields in enumerate(told):
        known(story, f"x{number}", **{"value": TEXT, **fields})
    story.at(10)

    assert before.status == "available"
    assert task_context(story.standing(), TASK) == before


@pytest.mark.requirement("W45")
def test_what_was_replaced_is_left_out() -> None:
    """Its successor is asked instead."""
    story = under_way()
    known(story, "old", TEXT, predicate="note.x")
    known(story, "new", "something else", predicate="note.x", at=T0 + 1, supersedes=("old",))
    story.now += SECOND

    assert found(story) == []


@pytest.mark.requirement("W45")
def test_what_is_private_is_left_out_for_who_does_not_ask_for_it() -> None:
    """A reader without private assertions is told what is shared."""
    story = Story()
    story.record(entry("task", scope=scope_of(privacy="shared")))
    known(story, "private", TEXT)
    known(story, "shared", TEXT, scope={"privacy": "shared"})
    without = msgspec.structs.replace(ADA, private=False)

    assert found(story) == ["private", "shared"]
    context = task_context(story.standing(without), TASK)
    assert [one.item.assertion.id for one in context.items] == ["assertion:shared"]


@pytest.mark.requirement("W45")
def test_a_group_has_its_own_and_the_shared() -> None:
    """What is private stays out, of the task and of what is known."""
    story = Story()
    group = {"privacy": "group", "group": "team"}
    story.record(entry("task", scope=scope_of(**group)))
    known(story, "private", TEXT)
    known(story, "group", TEXT, scope=group)
    known(story, "other", TEXT, scope={"privacy": "group", "group": "others"})
    reader = Reader("home", "ada", ADA.project, task=TASK, route=ADA.route, private=False, group="team")

    context = task_context(story.standing(reader), TASK)

    assert [one.item.assertion.id for one in context.items] == ["assertion:group"]


@pytest.mark.requirement("W44", "W46")
def test_the_order_of_recording_does_not_matter() -> None:
    """The same assertions give the same answer."""
    story = under_way()
    for number in range(5):
        known(story, f"n{number}", f"parser suite {number}")
    before = task_context(story.standing(), TASK)

    story.assertions.reverse()

    assert task_context(story.standing(), TASK) == before
