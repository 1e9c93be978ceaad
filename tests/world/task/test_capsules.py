"""What a reader may go on with, and what is kept from him."""

import itertools
from typing import Any

import msgspec
import pytest

from tests.world.task.situations import agreed
from tests.world.task.story import (
    ADA,
    ORIGIN,
    OTHER_ROUTE,
    PROJECT,
    ROUTE,
    SECOND,
    SESSION,
    T0,
    TASK,
    Story,
    completed,
    continuation,
    corrected,
    entry,
    measured,
    scope_of,
)
from timeline.world.advancing import advance
from timeline.world.capsules import continuation_context, format_continuation_context
from timeline.world.correction import correct
from timeline.world.knowledge import structured_knowledge
from timeline.world.scope import Reader


def tasks_of(story: Story, reader: Reader | None = None, **fields: Any) -> list[str]:
    """The ids of the assertions behind the resumable capsules."""
    return [capsule.assertion.id for capsule in story.context(reader, **fields).tasks]


def many(count: int, **fields: Any) -> Story:
    """Many tasks of other names, each newer than the one before, bound to no route."""
    story = Story()
    for number in range(count):
        task = f"task:n{number:02}"
        story.record(
            entry(
                f"n{number:02}",
                continuation(taskId=task, **fields),
                subject=task,
                scope=scope_of(route=None),
                at=T0 + number,
            )
        )
    story.at(10)
    return story


@pytest.mark.requirement("W36", "W43")
def test_a_capsule_says_where_its_task_stands() -> None:
    """It holds the continuation, its source, time and scope, and that it permits nothing."""
    story = Story()
    story.record(entry())

    assert format_continuation_context(story.context()) == {
        "schema": "agentspine.task-continuation-context/v1",
        "tasks": [
            {
                **continuation(),
                "assertionId": "assertion:one",
                "source": {
                    "kind": "explicit-user-feedback",
                    "id": ORIGIN.message,
                    "digest": story.assertions[0].entry.evidence_digest,
                    "sessionRef": SESSION,
                    "messageRef": ORIGIN.message,
                    "recorder": "owner",
                },
                "observedAt": "2026-09-10T00:26:40.000Z",
                "scope": {
                    "projectId": PROJECT,
                    "groupId": None,
                    "privacy": "private",
                    "portalRef": ROUTE.portal,
                    "threadRef": ROUTE.thread,
                },
                "authority": "context-only",
            }
        ],
        "terminal": [],
        "omitted": 0,
        "authority": "context-only",
        "note": "Where tasks stand, as context only: it starts nothing, reserves nothing and permits nothing.",
    }


@pytest.mark.requirement("W36", "W37")
@pytest.mark.parametrize("times", [1, 2, 50])
def test_a_suggestion_is_never_resumable(times: int) -> None:
    """However often it is repeated, and also beside an established continuation that it contradicts or repeats."""
    story = Story()
    for number in range(times):
        story.record(entry(f"suggested-{number}", kind="model-suggestion", at=T0 + number))
    assert story.context() == continuation_context(Story().standing())

    story.record(entry("said", continuation(status="paused")))

    assert tasks_of(story) == ["assertion:said"]


@pytest.mark.requirement("W36", "W38", "W39")
def test_competing_continuations_are_withheld_until_one_replaces_the_other() -> None:
    """Two that differ give no capsule; what replaces both does, and both stay in the history."""
    story = Story()
    story.record(entry("one"))
    story.record(entry("two", continuation(status="paused")))
    assert story.context() == continuation_context(Story().standing())

    story.record(entry("three", continuation(status="paused"), at=T0 + 1, supersedes=("one",)))
    assert tasks_of(story) == ["assertion:three"], "the two that are left say the same"

    story.record(entry("four", at=T0 + 2, supersedes=("three", "two")))
    assert tasks_of(story) == ["assertion:four"]
    knowledge = structured_knowledge(story.assertions, ADA, story.now, include_history=True)
    assert {item.assertion.id for item in knowledge.history} == {
        f"assertion:{name}" for name in ("one", "two", "three")
    }
    assert structured_knowledge(story.assertions, ADA, story.now).history == ()


@pytest.mark.requirement("W38")
def test_a_partial_supersession_leaves_the_rest_withheld() -> None:
    """Of three that differ, replacing one leaves a dispute between the other two and the new one."""
    story = Story()
    for name, status in (("one", "active"), ("two", "paused"), ("three", "blocked")):
        story.record(entry(name, continuation(status=status)))

    story.record(entry("four", at=T0 + 1, supersedes=("one",)))

    assert tasks_of(story) == []


@pytest.mark.requirement("W36")
def test_what_says_the_same_is_one_capsule() -> None:
    """The newest assertion stands for all of them."""
    story = Story()
    story.record(entry("one"))
    story.record(entry("two", at=T0 + 1))

    assert tasks_of(story) == ["assertion:two"]


@pytest.mark.requirement("W36")
@pytest.mark.parametrize(("after_ms", "is_there"), [(-1, True), (0, False), (1, False)])
def test_an_expired_continuation_is_not_current(after_ms: int, is_there: bool) -> None:
    """At the very instant of its end it has expired."""
    story = Story()
    story.record(entry(expires_at=T0 + 60 * SECOND))
    story.now = T0 + 60 * SECOND + after_ms

    assert bool(tasks_of(story)) is is_there


@pytest.mark.requirement("W36", "H-a")
def test_a_replaced_continuation_does_not_come_back() -> None:
    """Neither when what replaced it expires, nor for a reader who may not see that."""
    story = Story()
    story.record(
        entry(
            "one",
            scope=scope_of(privacy="shared", route=None),
            subject="task:x",
            value=continuation(taskId="task:x"),
        )
    )
    story.record(
        entry(
            "two",
            continuation(taskId="task:x", status="paused"),
            subject="task:x",
            scope=scope_of(route=None),
            at=T0 + 1,
            expires_at=T0 + 2,
            supersedes=("one",),
        )
    )
    bob = msgspec.structs.replace(ADA, user="bob")

    story.now = T0 + 1
    assert tasks_of(story) == ["assertion:two"]
    assert tasks_of(story, bob) == []
    story.now = T0 + 2
    assert tasks_of(story) == []


@pytest.mark.requirement("W41")
def test_completed_tasks_stand_apart() -> None:
    """They are shown, so that nobody begins them again, and never among what can be resumed."""
    story = Story()
    story.record(entry("done", completed(), kind="objective-measurement"))

    context = story.context()

    assert context.tasks == ()
    assert [capsule.assertion.id for capsule in context.terminal] == ["assertion:done"]
    assert format_continuation_context(context)["terminal"][0]["status"] == "completed"


@pytest.mark.requirement("W42")
@pytest.mark.parametrize(("count", "shown", "omitted"), [(7, 7, 0), (8, 8, 0), (9, 8, 1), (12, 8, 4)])
def test_at_most_eight_capsules_are_given(count: int, shown: int, omitted: int) -> None:
    """The newest come first, and how many are left out is said."""
    context = many(count).context()

    assert [capsule.continuation.task_id for capsule in context.tasks] == [
        f"task:n{count - 1 - number:02}" for number in range(shown)
    ]
    assert context.omitted == omitted


@pytest.mark.requirement("W42")
def test_fewer_can_be_asked_for_and_more_cannot() -> None:
    """The bound of an answer narrows the eight, and does not widen them."""
    story = many(12)

    assert (len(story.context(max_items=3).tasks), story.context(max_items=3).omitted) == (3, 9)
    assert (len(story.context(max_items=500).tasks), story.context(max_items=500).omitted) == (8, 4)


@pytest.mark.requirement("W42")
def test_one_task_can_be_asked_for() -> None:
    """Also one that would not be among the eight newest; a name that is only the beginning of another is none."""
    story = many(12)

    context = story.context(task="task:n00")

    assert [capsule.continuation.task_id for capsule in context.tasks] == ["task:n00"]
    assert context.omitted == 0
    assert context.only == context.tasks[0]
    assert story.context(task="task:n0").only is None


def test_only_means_that_there_is_no_other() -> None:
    """Of several, shown or left out, none is the only one."""
    assert many(1).context().only is not None
    assert many(2).context().only is None
    assert many(2).context(max_items=1).only is None
    assert many(0).context().only is None


@pytest.mark.requirement("W27", "W36")
def test_an_import_gives_no_capsule_and_disputes_one() -> None:
    """Alone it is none; what agrees with it is one; what it contradicts is withheld."""
    story = Story()
    story.record(entry("old", recorder="import", knowledge=None, origin=None, at=T0 + 5))
    assert tasks_of(story) == []

    story.record(entry("said"))
    assert tasks_of(story) == ["assertion:said"]

    story.record(entry("older", {"status": "done"}, recorder="import", knowledge=None, origin=None))
    assert tasks_of(story) == []


@pytest.mark.requirement("W27", "W52", "W36")
@pytest.mark.parametrize("is_owner", [False, True])
def test_an_import_without_a_route_disputes_none(is_owner: bool) -> None:
    """No word on the route could replace it, so it would stand in the way for ever; nor does it agree with any."""
    story = Story()
    story.record(entry("said"))
    unbound = scope_of(route=None)
    story.record(entry("old", {"was": 1}, recorder="import", knowledge=None, origin=None, scope=unbound))
    reader = msgspec.structs.replace(ADA, route=None, is_owner=True) if is_owner else ADA

    assert tasks_of(story, reader) == ["assertion:said"]
    assert story.standing(reader).disputed == ()


@pytest.mark.requirement("W36")
def test_other_facts_give_no_capsule() -> None:
    """Only the predicate of a continuation does."""
    story = Story()
    story.record(entry("state", {"done": 1}, predicate="task.progress"))

    assert tasks_of(story) == []


@pytest.mark.requirement("W36", "W42", "X12")
def test_what_a_reader_may_not_see_leaves_no_trace() -> None:
    """Another user's, group's, project's, tenant's and thread's continuations change neither capsules nor counts."""
    story = many(3)
    before = format_continuation_context(story.context())
    hidden = (
        {"user": "bob"},
        {"privacy": "group", "group": "team"},
        {"project": "/srv/other"},
        {"tenant": "work"},
        {"route": OTHER_ROUTE},
    )
    for number, (fields, task) in enumerate(itertools.product(hidden, ("task:n00", "task:secret"))):
        story.record(
            entry(
                f"hidden-{number}",
                continuation(taskId=task, status="paused"),
                subject=task,
                scope=scope_of(**{"route": None, **fields}),
            )
        )

    assert format_continuation_context(story.context()) == before


@pytest.mark.requirement("W36")
def test_the_owner_sees_the_task_of_each_conversation() -> None:
    """Two conversations do not dispute each other."""
    story = Story()
    story.record(entry("here"))
    story.record(entry("there", continuation(status="paused"), scope=scope_of(route=OTHER_ROUTE)))
    owner = Reader("home", "ada", PROJECT, is_owner=True)

    assert tasks_of(story) == ["assertion:here"]
    assert sorted(tasks_of(story, owner)) == ["assertion:here", "assertion:there"]
    assert story.context(owner, task=TASK).only is None


@pytest.mark.requirement("W39", "W40")
def test_the_capsule_is_a_function_of_what_is_recorded() -> None:
    """After any number of restarts, read in any order, the same log gives the same capsule."""
    story = agreed()
    story.replace(correct(story.state(), corrected("Run suite 5", at=story.now)))
    story.at(200)
    story.agree()
    story.at(300)
    story.replace(advance(story.state(), measured(at=story.now)))
    before = format_continuation_context(story.context())

    story.assertions.reverse()

    assert format_continuation_context(story.context()) == before
    assert before["tasks"][0]["nextStep"]["summary"] == "Publish the release"
