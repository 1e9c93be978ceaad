"""The whole story of one task: three sessions of two providers, with restart and compaction in between, and a fourth.

Nothing is kept in memory between two steps: every call opens and verifies the timeline anew, as after a restart.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.capture.stage import Stage, captured, failing, new_stage, passing, typing
from tests.guard.agents import Agent
from timeline import service
from timeline.binding import binding_of
from timeline.dialects import HookEvent
from timeline.guard.request import Tool
from timeline.telling import told_at_start, told_before_answer
from timeline.world.continuation import parse_continuation

CORRECTION = "mend the tokenizer first"

pytestmark = pytest.mark.requirement("W40", "W41", "T48", "T51", "T55", "T57", "T60")


def event(stage: Stage, agent: Agent, name: str, **more: str) -> HookEvent:
    """A hook of an agent's session, as its host calls it."""
    binding = _binding(stage, agent)
    return HookEvent(host=agent.host, event=name, session=binding.session, cwd=stage.world.root, **more)


def _binding(stage: Stage, agent: Agent) -> Any:
    with stage.world.session.reading() as state:
        (source,) = [one for one in state.view.active if one.enrollment.source.ref == agent.ref]
        return binding_of(source.enrollment.binding)


def briefed(stage: Stage, agent: Agent, source: str = "startup") -> dict[str, Any]:
    """What a session is told as it begins, or after its host has compacted it."""
    said = told_at_start(stage.world.session, event(stage, agent, "SessionStart", source=source), None)
    assert said is not None
    text = json.loads(said)["hookSpecificOutput"]["additionalContext"]
    label, _, body = text.partition("\n")
    assert "context-only" in label
    return dict(json.loads(body))


def recalled(stage: Stage, agent: Agent) -> dict[str, Any]:
    """What it is told before it answers a prompt."""
    said = told_before_answer(stage.world.session, event(stage, agent, "UserPromptSubmit"))
    text = json.loads(said)["hookSpecificOutput"]["additionalContext"]
    return dict(json.loads(text[text.index("{") :]))


def test_one_task_over_four_sessions(tmp_path: Path) -> None:
    """A run fails, the user corrects, a run passes as agreed, the task is done; nobody begins it again."""
    stage = new_stage(tmp_path)

    # The first session, Codex: the owner begins the task, agrees on its outcome, and a run fails.
    first = stage.session("codex", failing)
    stage.start(first)
    stage.agree(first)
    rerun = stage.session("codex", failing, number=1)
    answer = captured(rerun)
    assert (answer["status"], answer["automaticRetry"]) == ("captured", False)
    assert answer["continuationUpdate"]["lastVerifiedResult"] == "failed"

    # Restart and compaction: the same words, from the log alone.
    before = briefed(stage, rerun)
    assert briefed(stage, rerun, "compact") == before
    assert recalled(stage, rerun)["task"]["nextStep"]["summary"] == "make the tests pass"

    # The second session, Claude Code: the user corrects the next step in a line of their own.
    second = stage.session("claude", typing(f"Correction: next step: {CORRECTION}", "and now?"), number=2)
    answer = captured(second, "user correction")
    assert answer["status"] == "captured"
    assert _step(stage, second) == CORRECTION
    assert recalled(stage, second)["task"]["nextStep"]["summary"] == CORRECTION

    # What was agreed for the old step counts no more (T57); the owner agrees anew.
    hasty = stage.session("claude", passing, number=3)
    answer = captured(hasty, "pytest passed")
    assert answer["continuationUpdate"]["reason"] == "timeline-outcome-contract-superseded"
    stage.agree(hasty)

    # The third session, Codex again: a run passes under the contract, and the task is completed.
    third = stage.session("codex", passing, number=4)
    answer = captured(third, "pytest passed")
    assert answer["completionVerified"] is True
    assert answer["continuationUpdate"]["taskStatus"] == "completed"

    # The fourth, Claude Code: told that it is done, and not to begin it again; nothing to go on with.
    fourth = stage.session("claude", typing("what is to be done?"), number=5)
    told = briefed(stage, fourth)
    assert CORRECTION not in json.dumps(told.get("tasks", []))
    text = json.dumps(told)
    assert "completed" in text
    assert recalled(stage, fourth)["task"]["status"] == "completed"
    shown = fourth.ask(Tool.CONTEXT, {"includePrivate": True})
    assert shown["knowledge"]["continuation"]["tasks"] == []
    assert len(shown["knowledge"]["continuation"]["terminal"]) == 1

    # And everything of it is in the signed log.
    assert service.verify_timeline(stage.world.session, deep=True).verdict == "ok"


def _step(stage: Stage, agent: Agent) -> str | None:
    sole = stage.task(agent).state.continuations.sole
    assert sole is not None
    step = parse_continuation(sole.value).next_step
    return None if step is None else step.summary
