"""What another system said about a task is imported beside it, and neither stops nor moves it."""

import pytest

from tests.capture.stage import Stage, captured, passing
from tests.world.ledger.ledgers import entry
from timeline.guard.request import Tool
from timeline.world import ledger
from timeline.world_view import standpoint, view_world


@pytest.mark.requirement("W27", "W52", "W53")
@pytest.mark.parametrize("predicate", ["task.continuation", "task.timeline-outcome-contract"])
def test_an_imported_task_disputes_none_of_ours(stage: Stage, predicate: str) -> None:
    """A bound task does not inherit it, whatever it holds; the owner is told of no conflict that nobody can settle."""
    agent = stage.session("codex", passing)
    stage.start(agent)
    stage.agree(agent)
    imported = entry(
        "imported",
        value={"status": "completed"},
        recorder="import",
        evidence_kind="explicit-user-feedback",
        subject="task:default",
        predicate=predicate,
        project=stage.world.root,
    )
    with stage.world.session.writing() as state:
        ledger.record(state, [imported])
    later = stage.session("codex", passing, number=1)

    update = captured(later, "pytest passed")["continuationUpdate"]

    assert (update["status"], update["taskStatus"]) == ("updated", "completed")
    view = agent.ask(Tool.CONTEXT, {"includePrivate": True, "subjectId": "task:default"})
    assert view["conflicts"] == []
    assert "assertion:imported" not in str(view)
    owners = view_world(stage.world.session, standpoint(stage.world.session, stage.world.root), max_items=100)
    assert owners.conflicts == ()
    shown = {one.id for fact in owners.facts for one in fact.assertions}
    assert "assertion:imported" in shown
