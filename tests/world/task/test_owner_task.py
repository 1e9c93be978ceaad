"""What the owner says about a task, and what becomes of it."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from sidecars.identity import strict_loads
from tests.world.task.situations import agreed, two_continuations, two_contracts
from tests.world.task.story import (
    ADA,
    OTHER_ROUTE,
    ROUTE,
    SECOND,
    SUITE,
    T0,
    TASK,
    Story,
    completed,
    continuation,
    corrected,
    entry,
    measured,
    scope_of,
    verified,
)
from timeline.world.advancing import advance
from timeline.world.continuation import parse_continuation
from timeline.world.correction import correct
from timeline.world.errors import (
    AssertionInvalidError,
    NotToBeConfirmedError,
    SecretShapedError,
    TaskCompletedError,
    TaskDisputedError,
    TaskNotStartedError,
    TaskStartedError,
    WorldError,
)
from timeline.world.outcome_contract import Expected, parse_contract
from timeline.world.owner_statement import is_of_owner, owner_evidence
from timeline.world.owner_task import (
    TaskChange,
    confirm_task,
    correct_task,
    make_contract,
    owner_origin,
    start_task,
)
from timeline.world.task_state import Refused, Replacement

Said = Callable[[Story], Any]


def start(story: Story) -> Any:
    """The owner begins the task."""
    return start_task(story.state(), objective="Release", next_step="Run suite 4", now_ms=story.now)


def change(story: Story) -> Any:
    """The owner pauses the task."""
    return correct_task(story.state(), TaskChange(status="paused"), now_ms=story.now)


def agree(story: Story) -> Any:
    """The owner agrees on how a result counts."""
    return make_contract(story.state(), SUITE, status="completed", next_step=None, now_ms=story.now)


def done() -> Story:
    """The task is completed."""
    story = agreed(status="completed", next_step=None)
    story.replace(advance(story.state(), measured(at=story.now)))
    story.at(200)
    return story


def disputed() -> Story:
    """Two continuations differ."""
    return two_continuations()


def nothing() -> Story:
    """Nobody has said anything."""
    return Story()


def unbound() -> Story:
    """The task was begun without a conversation."""
    story = Story()
    story.record(entry("unbound", scope=scope_of(route=None)))
    return story


REFUSED: tuple[tuple[Callable[[], Story], Said, type[WorldError]], ...] = (
    (agreed, start, TaskStartedError),
    (disputed, start, TaskDisputedError),
    (nothing, change, TaskNotStartedError),
    (unbound, change, TaskNotStartedError),
    (disputed, change, TaskDisputedError),
    (done, change, TaskCompletedError),
    (nothing, agree, TaskNotStartedError),
    (disputed, agree, TaskDisputedError),
    (done, agree, TaskCompletedError),
)


@pytest.mark.parametrize(
    ("told", "said", "error"),
    [pytest.param(*row, id=f"{row[0].__name__}-{row[1].__name__}") for row in REFUSED],
)
def test_what_does_not_fit_the_state_is_refused(
    told: Callable[[], Story], said: Said, error: type[WorldError]
) -> None:
    """With a reason of its own and a way on."""
    story = told()

    with pytest.raises(error) as refused:
        said(story)

    assert refused.value.reason.startswith("world-task-")
    assert refused.value.hint


@pytest.mark.requirement("W31", "W34")
def test_a_begun_task_rests_on_the_owners_statement() -> None:
    """Its evidence can be made again from what it says; session and message say that the owner said it."""
    story = Story()

    made = story.begin(questions=("Which tag?",), expires_at=T0 + SECOND)

    assert made.entry.recorder == "owner"
    assert made.entry.evidence_kind == "explicit-user-feedback"
    assert is_of_owner(made.entry, made.value)
    assert made.entry.message == made.entry.evidence_id
    assert made.entry.session is not None
    assert made.entry.id.startswith("assertion:owner-task-")
    assert (made.entry.portal, made.entry.privacy, made.entry.expires_at) == (
        ROUTE.portal,
        "private",
        T0 + SECOND,
    )
    said = parse_continuation(made.value)
    assert (said.status, said.objective, said.last_verified_step) == ("active", "Release the parser", None)
    assert [question.question for question in said.open_questions] == ["Which tag?"]


@pytest.mark.requirement("W34")
def test_the_owners_session_is_one_for_each_user() -> None:
    """It is the same for every task and time, and another for another user or tenant."""
    story = Story()
    first = story.begin()
    story.at(5)
    second = story.record(change(story))
    readers = (ADA, msgspec.structs.replace(ADA, user="bob"), msgspec.structs.replace(ADA, tenant="work"))
    evidence = owner_evidence(TASK, "task.continuation", first.value, T0)

    assert first.entry.session == second.entry.session
    assert first.entry.message != second.entry.message
    assert len({owner_origin(story.state(reader), evidence).session for reader in readers}) == 3


def test_a_completed_task_can_be_begun_anew() -> None:
    """By the owner only, who replaces its end."""
    story = done()
    ended = story.state().continuations.ids

    made = story.begin()

    assert made.entry.supersedes == ended
    context = story.context()
    assert ([one.assertion.id for one in context.tasks], context.terminal) == ([made.id], ())


@pytest.mark.requirement("W29")
def test_what_the_owner_says_is_checked_too() -> None:
    """No secret, no second line, nothing too long."""
    story = Story()

    with pytest.raises(SecretShapedError):
        story.begin(objective="use ghp_" + "a1B2c3D4" * 5)
    with pytest.raises(AssertionInvalidError, match=r"nextStep\.summary"):
        story.begin(next_step="a\nb")
    with pytest.raises(AssertionInvalidError, match="openQuestions: ids must be unique"):
        story.begin(questions=("Why?", "Why?"))
    assert story.assertions == []


# -- confirming ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("W24", "W37")
def test_the_owner_can_confirm_a_suggestion() -> None:
    """What a model suggested is then held, by the owner's word, and is no open suggestion any more."""
    story = Story()
    suggested = story.record(entry("suggested", continuation(status="blocked"), kind="model-suggestion"))
    story.at(10)

    made = story.record(confirm_task(story.state(), suggested, now_ms=story.now))

    assert made.value == suggested.value
    assert made.entry.evidence_kind == "explicit-user-feedback"
    assert is_of_owner(made.entry, made.value)
    assert [one.assertion.id for one in story.context().tasks] == [made.id]
    assert story.standing().proposals == ()


@pytest.mark.requirement("W35")
def test_what_a_model_says_was_verified_is_not_taken_over() -> None:
    """The last verified step stays the measured one, or none."""
    claimed = continuation(lastVerifiedStep=verified(), nextStep={"id": "step:b", "summary": "Publish"})
    story = Story()
    suggested = story.record(entry("suggested", claimed, kind="model-suggestion"))
    assert (
        parse_continuation(_value(confirm_task(story.state(), suggested, now_ms=T0 + 1))).last_verified_step
        is None
    )

    story = agreed()
    story.replace(advance(story.state(), measured(at=story.now)))
    measured_step = parse_continuation(story.assertions[-1].value).last_verified_step
    suggested = story.record(entry("suggested", claimed, kind="model-suggestion", at=story.now))

    made = parse_continuation(_value(confirm_task(story.state(), suggested, now_ms=story.now)))

    assert made.last_verified_step == measured_step
    assert made.next_step == parse_continuation(claimed).next_step


def _value(made: Any) -> Any:
    return strict_loads(made.value.encode())


@pytest.mark.requirement("W18", "W38")
def test_the_owner_settles_between_continuations() -> None:
    """The chosen one is said again, and replaces all that were in force; then results count again."""
    story = two_continuations()
    chosen = story.assertions[0]
    story.at(150)

    made = story.record(confirm_task(story.state(), chosen, now_ms=story.now))

    assert made.value == chosen.value
    assert made.entry.supersedes == tuple(sorted((chosen.id, "assertion:rival")))
    assert story.state().continuations.ids == (made.id,)
    story.at(160)
    assert isinstance(advance(story.state(), measured(at=story.now)), Replacement)


@pytest.mark.requirement("W35")
def test_no_word_completes_a_task() -> None:
    """Also not the owner's choice of a continuation that a measurement has completed."""
    story = Story()
    chosen = story.record(entry("done", completed(), kind="objective-measurement"))
    story.record(entry("going-on"))

    with pytest.raises(TaskCompletedError):
        confirm_task(story.state(), chosen, now_ms=T0 + 1)


FOREIGN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("another task", {"subject": "task:other", "value": continuation(taskId="task:other")}),
    ("another predicate", {"predicate": "task.progress"}),
    ("another conversation", {"scope": scope_of(route=OTHER_ROUTE)}),
    ("no conversation", {"scope": scope_of(route=None)}),
    ("another project", {"scope": scope_of(project="/srv/other")}),
    ("another tenant", {"scope": scope_of(tenant="work")}),
    ("an import", {"recorder": "import", "knowledge": None, "origin": None}),
)


@pytest.mark.requirement("W54")
@pytest.mark.parametrize("fields", [pytest.param(fields, id=name) for name, fields in FOREIGN])
def test_only_a_continuation_of_this_task_can_be_confirmed(fields: dict[str, Any]) -> None:
    """What it could not replace is none."""
    story = Story()
    chosen = story.record(entry("chosen", **fields))

    with pytest.raises(NotToBeConfirmedError):
        confirm_task(story.state(), chosen, now_ms=T0 + 1)


# -- correcting ------------------------------------------------------------------------------------------------

CHANGES: tuple[tuple[TaskChange, dict[str, Any]], ...] = (
    (TaskChange(), {}),
    (TaskChange(status="blocked"), {"status": "blocked"}),
    (TaskChange(objective="Release soon"), {"objective": "Release soon"}),
    (TaskChange(next_step="Run suite 4"), {}),
    (TaskChange(next_step="Run suite 5"), {"nextStep": "Run suite 5"}),
    (TaskChange(questions=()), {"openQuestions": []}),
    (TaskChange(questions=("Who?", "Which tag?")), {"openQuestions": ["Who?", "Which tag?"]}),
)


@pytest.mark.parametrize(("changed", "expected"), CHANGES)
def test_the_owner_changes_what_he_names(changed: TaskChange, expected: dict[str, Any]) -> None:
    """Everything else stays, the ids of what is said again included."""
    story = Story()
    before = story.begin(questions=("Which tag?",), expires_at=T0 + 900 * SECOND)
    story.at(10)

    made = story.record(correct_task(story.state(), changed, now_ms=story.now))

    old: Any = before.value
    new: Any = made.value
    words = {
        **{key: new[key] for key in new if key not in ("nextStep", "openQuestions")},
        "nextStep": new["nextStep"]["summary"],
        "openQuestions": [question["question"] for question in new["openQuestions"]],
    }
    assert words == {
        **old,
        "nextStep": "Run suite 4",
        "openQuestions": ["Which tag?"],
        **expected,
    }
    assert (new["nextStep"] == old["nextStep"]) is ("nextStep" not in expected)
    assert (old["openQuestions"][0] in new["openQuestions"]) is bool(new["openQuestions"])
    assert made.entry.supersedes == (before.id,)
    assert made.entry.expires_at == T0 + 900 * SECOND


@pytest.mark.requirement("T57")
def test_another_next_step_ends_the_agreement_and_the_same_does_not() -> None:
    """The contract is about the very step."""
    for next_step, reason in (("Run suite 4", None), ("Run suite 5", "timeline-outcome-contract-superseded")):
        story = agreed()
        story.record(correct_task(story.state(), TaskChange(next_step=next_step), now_ms=story.now))
        decided = advance(story.state(), measured(at=story.now))
        assert decided == Refused(reason) if reason else isinstance(decided, Replacement)


def test_a_step_that_comes_back_is_a_new_step() -> None:
    """Going back to earlier words does not bring an earlier agreement back."""
    story = agreed()
    for next_step in ("Run suite 5", "Run suite 4"):
        story.at((story.now - T0) // SECOND + 1)
        story.record(correct_task(story.state(), TaskChange(next_step=next_step), now_ms=story.now))

    assert advance(story.state(), measured(at=story.now)) == Refused("timeline-outcome-contract-superseded")


# -- agreeing --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T52")
def test_a_contract_is_about_the_step_that_is_next() -> None:
    """It takes the step as it stands, and replaces what was agreed before."""
    story = agreed()
    before = story.state()
    (current,) = before.continuations.usable

    made = story.record(
        make_contract(
            story.state(), Expected("ruff", None, None), status="paused", next_step="Wait", now_ms=story.now
        )
    )

    contract = parse_contract(made.value)
    assert contract.step == parse_continuation(current.value).next_step
    assert contract.measurement == Expected("ruff", None, None)
    assert contract.on_success.status == "paused"
    assert contract.on_success.next_step is not None
    assert contract.on_success.next_step.summary == "Wait"
    assert made.entry.supersedes == before.contracts.ids
    assert story.state().contracts.ids == (made.id,)
    assert story.state().continuations == before.continuations
    assert is_of_owner(made.entry, made.value)
    assert made.entry.message == made.entry.evidence_id


def test_a_contract_settles_between_contracts() -> None:
    """Two that differ are replaced by the one that is made now."""
    story = two_contracts()
    story.agree()
    story.at(110)

    assert isinstance(advance(story.state(), measured(at=story.now)), Replacement)


def test_a_contract_without_a_conversation_is_refused() -> None:
    """A measurement has one, and could never count under it."""
    story = Story(msgspec.structs.replace(ADA, route=None))
    story.begin()

    with pytest.raises(AssertionInvalidError, match="portal"):
        story.agree()


@pytest.mark.parametrize(
    ("status", "next_step"), [("completed", "Publish"), ("active", None), ("active", "a\nb")]
)
def test_a_contract_that_leads_nowhere_is_refused(status: Any, next_step: str | None) -> None:
    """Either success ends the task, or there is a step after it."""
    story = Story()
    story.begin()

    with pytest.raises(AssertionInvalidError, match="onSuccess"):
        story.agree(status=status, next_step=next_step)


@pytest.mark.requirement("T51", "T57", "T59", "T60")
def test_the_whole_story_of_a_task() -> None:
    """It fails, is corrected, passes under a new agreement, and is completed; nothing of its history is lost."""
    story = agreed()
    story.replace(advance(story.state(), measured(1, at=story.now, outcome="fail", success_count=9)))
    story.at(200)
    story.replace(correct(story.state(), corrected("Run suite 4 with a clean cache", at=story.now)))
    story.at(300)
    story.agree(status="completed", next_step=None)
    story.at(400)
    story.replace(advance(story.state(), measured(2, at=story.now)))

    context = story.context()
    assert context.tasks == ()
    (ended,) = context.terminal
    assert ended.continuation.last_verified_step is not None
    assert ended.continuation.last_verified_step.summary == "Run suite 4 with a clean cache"
    assert ended.continuation.objective == "Release the parser"
    assert [one.entry.subject for one in story.assertions] == [TASK] * 6
    assert len(story.standing().replaced) == 4
