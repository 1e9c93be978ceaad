"""``timeline task``: one task from its beginning to its end, by the owner's word and by what was measured."""

from typing import Any

import pytest

from tests.capture.stage import captured, failing, passing, typing
from tests.world.commands.speaking import Owner
from timeline.guard.request import Tool
from timeline.task_use import change_task, view_task
from timeline.world import ledger
from timeline.world.assertion import Evidence, Origin, make_entry
from timeline.world.owner_statement import owner_evidence
from timeline.world.owner_task import TaskChange
from timeline.world.task_state import TaskState
from timeline.world_view import standpoint

START = ("task", "start", "--objective", "release the parser", "--next-step", "make the tests pass")
CONTRACT = ("task", "contract", "--label", "pytest", "--total", "12", "--success", "12")


def state_of(owner: Owner) -> TaskState:
    """The task as its sessions have it."""
    session = owner.stage.world.session
    return view_task(session, standpoint(session, owner.stage.world.root)).state


def continuation(owner: Owner, name: str, *, next_step: str, by_model: bool) -> str:
    """Record a continuation beside what the commands record: a model's suggestion, or another word of the owner."""
    state, now_ms = state_of(owner), owner.stage.world.clock.at_ms
    value: dict[str, Any] = {
        "schema": "agentspine.task-continuation/v1",
        "taskId": state.task,
        "status": "active",
        "objective": "release the parser",
        "lastVerifiedStep": None,
        "openQuestions": [],
        "nextStep": {"id": f"step:{name}", "summary": next_step},
    }
    said = owner_evidence(state.task, "task.continuation", value, now_ms)
    evidence = Evidence("model-suggestion", "tool-use:1", said.digest, now_ms) if by_model else said
    entry = make_entry(
        id=f"assertion:{name}",
        recorder="model" if by_model else "owner",
        subject=state.task,
        predicate="task.continuation",
        value=value,
        evidence=evidence,
        scope=state.scope,
        knowledge="task-state",
        origin=Origin("session-ref:" + "0" * 32, evidence.id),
    )
    with owner.stage.world.session.writing() as opened:
        ledger.record(opened, [entry])
    return entry.id


# -- the whole way ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("T51", "T54", "T55", "W31", "W33", "W35")
def test_a_task_goes_from_its_beginning_to_its_end(owner: Owner) -> None:
    """Begun and agreed on by the owner, failed, corrected by nobody's guess, passed, completed; each on one screen."""
    assert owner.says("task", "show")["continuation"] is None
    begun = owner.says(*START, "--question", "which version?")
    assert begun["status"] == "recorded"
    assert (begun["continuation"]["status"], begun["taskId"]) == ("active", "task:default")
    agreed = owner.says(*CONTRACT, "--completes", "--step", "make the tests pass")
    assert agreed["contract"]["applies"] is True
    assert agreed["contract"]["onSuccess"] == {"nextStep": None, "status": "completed"}

    first = owner.stage.session("codex", failing)
    captured(first)
    shown = owner.says("task", "show")
    step = shown["continuation"]["lastVerifiedStep"]
    assert (step["result"], shown["continuation"]["nextStep"]["summary"]) == ("failed", "make the tests pass")
    _, out, err = owner.types("task", "show")
    assert err == ""
    for said in ("release the parser", "active", "failed: make the tests pass", step["evidenceId"]):
        assert said in out
    assert "which version?" in out
    assert "pytest passing with 12 of 12 completes the task" in out

    owner.says("task", "correct", "--no-questions")
    second = owner.stage.session("claude", passing, number=1)
    answer = captured(second, "pytest passed")
    assert answer["completionVerified"] is True
    done = owner.says("task", "show")["continuation"]
    assert (done["status"], done["nextStep"], done["source"]["recorder"]) == ("completed", None, "capture")
    out = owner.types("task", "show")[1]
    assert "completed" in out
    assert "task start" not in out
    assert owner.refused("task", "correct", "--next-step", "more") == "world-task-completed"
    again = owner.says(*START)
    assert again["continuation"]["status"] == "active"
    assert owner.run("verify", "--deep")[0] == 0


@pytest.mark.requirement("W40", "W49", "W50")
def test_what_the_owner_begins_is_what_a_session_goes_on_with(owner: Owner) -> None:
    """On the very route of the task, whichever host asks."""
    agent = owner.stage.session("king", failing)
    begun = owner.says(*START)
    asked = {"continuationTaskId": "task:default", "includePrivate": True}
    (capsule,) = agent.ask(Tool.CONTEXT, asked)["knowledge"]["continuation"]["tasks"]
    assert capsule["assertionId"] == begun["assertionId"]
    assert capsule["nextStep"]["summary"] == "make the tests pass"


@pytest.mark.requirement("T57", "T52")
def test_a_correction_ends_a_contract_for_another_step(owner: Owner) -> None:
    """The contract is still shown, as one that counts no more; a new one takes its place."""
    owner.says(*START)
    owner.says(*CONTRACT, "--then", "write the notes", "--paused")
    assert "leads to: write the notes (paused)" in owner.types("task", "show")[1]
    corrected = owner.says("task", "correct", "--next-step", "write the migration", "--status", "blocked")
    assert corrected["contract"]["applies"] is False
    assert "it counts no more" in owner.types("task", "show")[1]
    assert (corrected["continuation"]["status"], corrected["continuation"]["objective"]) == (
        "blocked",
        "release the parser",
    )
    assert owner.says(*CONTRACT, "--completes")["contract"]["applies"] is True


# -- suggestions and competing words ---------------------------------------------------------------------------


@pytest.mark.requirement("W37", "W38")
def test_a_suggested_continuation_moves_nothing_until_the_owner_says_so(owner: Owner) -> None:
    """However often it was suggested; without an id the only one that waits is meant."""
    one = continuation(owner, "one", next_step="guess", by_model=True)
    shown = owner.says("task", "show")
    assert (shown["continuation"], shown["suggestions"]) == (None, [one])
    assert one in owner.types("task", "show")[1]
    two = continuation(owner, "two", next_step="guess again", by_model=True)
    assert owner.says("task", "show")["continuation"] is None
    assert owner.refused("task", "confirm") == "world-task-disputed"
    assert owner.refused("task", "confirm", "assertion:none") == "world-assertion-unknown"
    assert owner.refused("world", "confirm", one) == "world-task-moved"
    confirmed = owner.says("task", "confirm", two)
    assert confirmed["continuation"]["nextStep"]["summary"] == "guess again"
    assert confirmed["continuation"]["source"]["recorder"] == "owner"


@pytest.mark.requirement("W38", "W18")
def test_competing_continuations_are_settled_by_choosing_one(owner: Owner) -> None:
    """Until then nothing goes on, and the general command leaves it to this one."""
    first = owner.says(*START)["assertionId"]
    second = continuation(owner, "rival", next_step="something else", by_model=False)
    shown = owner.says("task", "show")
    assert (shown["disputed"], shown["continuation"]) == (True, None)
    out = owner.types("task", "show")[1]
    assert "disputed" in out
    assert first in out
    assert second in out
    assert owner.refused("task", "correct", "--next-step", "x") == "world-task-disputed"
    assert owner.refused("world", "resolve", "task:default", "task.continuation", "--choose", first) == (
        "world-task-moved"
    )
    settled = owner.says("task", "confirm", first)
    assert (settled["disputed"], settled["continuation"]["nextStep"]["summary"]) == (
        False,
        "make the tests pass",
    )
    told = owner.says("world", "history", "task:default", "task.continuation")["assertions"]
    assert [one["standing"] for one in told] == ["fact", "superseded", "superseded"]


@pytest.mark.requirement("T37", "T38")
def test_the_user_s_words_that_wait_are_quoted_and_move_nothing(owner: Owner) -> None:
    """On the same screen as the task, as words."""
    owner.says(*START)
    agent = owner.stage.session("codex", typing("rather the notes first"))
    captured(agent, "user message")
    shown = owner.says("task", "show")
    (word,) = shown["userWords"]
    assert word["value"]["sourceText"] == "rather the notes first"
    assert shown["continuation"]["nextStep"]["summary"] == "make the tests pass"
    assert "“rather the notes first”" in owner.types("task", "show")[1]


# -- asking ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_terminal")
def test_a_task_is_begun_by_two_answers(owner: Owner) -> None:
    """What was not given is asked; an interruption begins nothing."""
    before = owner.stage.leaves()
    assert owner.types("task", "start", given=b"release the parser\n")[0] == 130
    assert owner.stage.leaves() == before
    code, out, _ = owner.types("task", "start", given=b"release the parser\nmake the tests pass\n")
    assert code == 0
    assert "make the tests pass" in out


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize(
    "command",
    [("task", "correct", "--next-step", "x"), (*CONTRACT, "--completes"), ("task", "confirm")],
    ids=lambda command: command[1],
)
@pytest.mark.parametrize(("given", "code"), [(b"", 130), (b"n\n", 0)])
def test_without_a_yes_the_task_stays_where_it_is(
    owner: Owner, command: tuple[str, ...], given: bytes, code: int
) -> None:
    """What is in force is named before."""
    one = owner.says(*START)["assertionId"]
    continuation(owner, "guess", next_step="guess", by_model=True)
    before = owner.stage.leaves()
    ended, out, _ = owner.types(*command, given=given)
    assert (ended, owner.stage.leaves()) == (code, before)
    assert one in out
    assert owner.types(*command, "--yes")[0] == 0


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize(
    "command",
    [("task", "correct", "--next-step", "x"), (*CONTRACT, "--completes"), ("task", "confirm")],
    ids=lambda command: command[1],
)
def test_a_task_that_has_moved_meanwhile_is_not_overruled(
    owner: Owner, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """Compare and set, as for every other word."""
    owner.says(*START)
    continuation(owner, "guess", next_step="guess", by_model=True)
    session = owner.stage.world.session

    def meanwhile(*_: object, **__: object) -> bool:
        change_task(session, standpoint(session, owner.stage.world.root), TaskChange(next_step="moved"))
        return True

    monkeypatch.setattr("timeline.cli.task.click.confirm", meanwhile)
    before = owner.stage.leaves()
    code, _, err = owner.types(*command)
    assert (code, "[world-compare-and-set-failed]" in err) == (2, True)
    assert owner.stage.leaves() == before + 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("start",), "usage"),
        (("start", "--objective", "x"), "usage"),
        (("start", "--objective", "x\ny", "--next-step", "z"), "world-assertion-invalid"),
        (("correct",), "usage"),
        (("correct", "--next-step", "x"), "world-task-not-started"),
        (("correct", "--question", "a", "--no-questions"), "usage"),
        (("confirm",), "world-assertion-unknown"),
        (("contract",), "usage"),
        (("contract", "--label", "pytest"), "usage"),
        (("contract", "--label", "pytest", "--then", "x", "--completes"), "usage"),
        (("contract", "--label", "pytest", "--completes", "--paused"), "usage"),
        (("contract", "--label", "pytest", "--completes", "--total", "3"), "usage"),
        (("contract", "--label", "pytest", "--completes"), "world-task-not-started"),
    ],
)
def test_what_cannot_be_said_of_a_task_is_refused(
    owner: Owner, arguments: tuple[str, ...], reason: str
) -> None:
    """With its reason, before anything is written."""
    assert owner.refused("task", *arguments) == reason


def test_a_contract_for_another_step_than_was_meant_is_refused(owner: Owner) -> None:
    """The step that is next is compared, by its words or its id."""
    step = owner.says(*START)["continuation"]["nextStep"]
    assert owner.refused(*CONTRACT, "--completes", "--step", "another") == "usage"
    assert owner.refused(*START) == "world-task-started"
    assert owner.says(*CONTRACT, "--completes", "--step", step["id"])["contract"]["applies"] is True
