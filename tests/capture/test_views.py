"""What a session is told of the world model: its own, on its own route, and within its bounds."""

import json
from typing import Any

import msgspec
import pytest

from sidecars.digest import Digest
from tests.capture.stage import Stage, captured, failing, passing
from tests.capture.test_suggestions import LESSON, TASK
from tests.guard.agents import denial
from timeline.guard.request import Tool
from timeline.limits import MCP_ANSWER_BYTES_MAX
from timeline.mcp_server.answered import prepare
from timeline.world import ledger
from timeline.world.assertion import Evidence, make_entry
from timeline.world.briefing import BRIEFING_BYTES_MAX
from timeline.world.task_context import TERMS_BYTES_MAX


def facts_of(view: dict[str, Any]) -> list[str]:
    """The predicates of all facts."""
    return [fact["predicate"] for fact in view["facts"]]


@pytest.mark.requirement("W10", "W49", "W51", "W61", "T63")
def test_a_session_sees_its_task_in_both_views(stage: Stage, host: str) -> None:
    """The continuation with its next step, and the measured result as a fact."""
    first = stage.session(host, failing)
    stage.start(first)
    captured(first)
    second = stage.session(host, passing, number=1)

    view = second.ask(Tool.CONTEXT, {"includePrivate": True, "continuationTaskId": "task:default"})
    told = second.ask(Tool.BRIEFING, {})

    assert (view["schema"], view["status"], view["authority"]) == (
        "agentspine.world-context/v1",
        "available",
        "context-only",
    )
    assert set(facts_of(view)) == {"task.continuation", "task.timeline-result.pytest"}
    (task,) = view["knowledge"]["continuation"]["tasks"]
    assert task["nextStep"]["summary"] == "make the tests pass"
    assert view["knowledge"]["taskContext"]["status"] == "no-match"
    assert (told["schema"], told["status"], told["authority"]) == (
        "agentspine.session-briefing/v1",
        "available",
        "context-only",
    )
    assert [one["nextStep"]["summary"] for one in told["tasks"]] == ["make the tests pass"]
    assert facts_of(told) == ["task.timeline-result.pytest"]
    assert view["transport"] == told["transport"] == ("proved" if host == "codex" else "process")


@pytest.mark.requirement("W58", "W40")
def test_what_is_private_is_shown_to_who_asks_for_it(stage: Stage) -> None:
    """By default a view holds what is shared; the briefing is the session's own."""
    agent = stage.session("codex", failing)
    captured(agent)
    agent.ask(Tool.RECORD, LESSON)

    shared, private = (agent.ask(Tool.CONTEXT, asked) for asked in ({}, {"includePrivate": True}))

    assert (facts_of(shared), len(shared["proposals"])) == ([], 1)
    assert (facts_of(private), len(private["proposals"])) == (["task.timeline-result.pytest"], 1)


@pytest.mark.requirement("W50", "W51", "X12")
def test_a_session_of_another_task_is_told_the_same_as_if_there_were_nothing(stage: Stage) -> None:
    """Byte by byte, in every view."""
    settings = stage.world.locations.settings
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace('task = "default"', 'task = "other"'), encoding="utf-8")
    foreign = stage.session("codex", passing)
    calls = [
        (Tool.CONTEXT, {"includePrivate": True, "includeKnowledgeHistory": True}),
        (Tool.CONTEXT, {"includePrivate": True, "subjectId": "task:default"}),
        (Tool.BRIEFING, {}),
    ]
    before = [foreign.ask(tool, asked) for tool, asked in calls]
    settings.write_text(text, encoding="utf-8")
    agent = stage.session("codex", failing, number=1)
    stage.start(agent)
    captured(agent)
    agent.ask(Tool.RECORD, TASK)
    settings.write_text(text.replace('task = "default"', 'task = "other"'), encoding="utf-8")

    after = [foreign.ask(tool, asked) for tool, asked in calls]

    assert after == before


@pytest.mark.requirement("W59", "D7")
def test_a_view_for_a_group_or_without_a_permit_is_refused(stage: Stage, host: str) -> None:
    """And so is a briefing."""
    agent = stage.session(host, failing)
    for tool in (Tool.CONTEXT, Tool.BRIEFING):
        assert denial(agent.permit(tool, {"groupId": "g"})) == "timeline-group-suppressed"
        assert agent.call(tool, {})["reason"] == "timeline-permit-required"


@pytest.mark.requirement("W5", "W26")
def test_history_is_shown_to_who_asks_for_it(stage: Stage) -> None:
    """Of one subject: what was replaced, beside what is current."""
    first = stage.session("codex", failing)
    stage.start(first)
    stage.agree(first)
    second = stage.session("codex", passing, number=1)
    captured(second, "pytest passed")
    asked = {"subjectId": "task:default", "includePrivate": True}

    without, history = (
        second.ask(Tool.CONTEXT, {**asked, **more}) for more in ({}, {"includeKnowledgeHistory": True})
    )

    assert without["knowledge"]["history"] == []
    assert [one["predicate"] for one in history["knowledge"]["history"]] == ["task.continuation"]
    (terminal,) = history["knowledge"]["continuation"]["terminal"]
    assert terminal["status"] == "completed"


@pytest.mark.requirement("W28")
def test_large_views_fit_and_say_what_they_left_out(stage: Stage) -> None:
    """Whatever stands there: the tool's result and the briefing are bounded."""
    agent = stage.session("codex", failing)
    stage.start(agent, questions=tuple(f"{number} " + "ä" * 290 for number in range(8)))
    for number in range(20):
        agent.ask(Tool.RECORD, {**LESSON, "id": f"note:{number}", "value": "x" * 2000})

    view = agent.ask(Tool.CONTEXT, {"includePrivate": True})
    told = agent.ask(Tool.BRIEFING, {})

    sent = prepare(view, is_error=False)
    assert sent.size_bytes <= MCP_ANSWER_BYTES_MAX
    assert json.loads(sent.text)["omitted"]["proposals"] > 0
    assert len(msgspec.json.encode(told)) <= BRIEFING_BYTES_MAX
    assert told["counts"]["proposals"] == 20
    assert "xxx" not in json.dumps(told)
    assert told["tasks"][0]["status"] == "active"
    assert prepare(told, is_error=False).size_bytes <= MCP_ANSWER_BYTES_MAX


@pytest.mark.requirement("W28", "W44")
@pytest.mark.parametrize("word", ["漢", "\ufdfa", "а"])
def test_the_question_about_a_long_task_does_not_displace_its_answer(stage: Stage, word: str) -> None:
    """Its words are given as far as they fit; those in the capsule are what counts."""
    agent = stage.session("codex", failing)
    stage.start(agent, questions=tuple(word * 250 + str(number) for number in range(8)))

    view = agent.ask(Tool.CONTEXT, {"includePrivate": True, "continuationTaskId": "task:default"})

    terms = view["knowledge"]["taskContext"]["queryTerms"]
    assert 0 < len("".join(terms).encode()) <= TERMS_BYTES_MAX
    assert prepare(view, is_error=False).size_bytes <= MCP_ANSWER_BYTES_MAX


@pytest.mark.requirement("W10", "W16", "W28")
@pytest.mark.parametrize("outcomes", [("pass",), ("pass", "fail")])
def test_what_was_measured_a_hundred_times_is_shown_still(stage: Stage, outcomes: tuple[str, ...]) -> None:
    """A fact, or a conflict with all of its values: by the newest of each, and a number for the rest."""
    agent = stage.session("codex", failing)
    task = stage.task(agent).state
    measured = [
        make_entry(
            id=f"assertion:timeline-{number:032x}",
            recorder="capture",
            subject=task.task,
            predicate="task.timeline-result.pytest",
            value={"outcome": outcomes[number % len(outcomes)]},
            evidence=Evidence("objective-measurement", f"note:{number}", Digest.of(b"line"), number),
            scope=task.scope,
        )
        for number in range(100)
    ]
    with stage.world.session.writing() as state:
        ledger.record(state, measured[:50])
        ledger.record(state, measured[50:])

    view = prepare(agent.ask(Tool.CONTEXT, {"includePrivate": True}), is_error=False).structured

    assert view["omitted"]["facts"] == view["omitted"]["conflicts"] == 0
    (shown,) = view["facts"] if len(outcomes) == 1 else view["conflicts"]
    named = shown["assertionIds"] if len(outcomes) == 1 else [one["id"] for one in shown["assertions"]]
    assert named[0] == measured[-1].id
    assert len(named) + shown["assertionsOmitted"] == 100
    if len(outcomes) > 1:
        assert [one["value"]["outcome"] for one in shown["assertions"]] == ["fail", "pass"]
