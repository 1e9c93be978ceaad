"""A process that is killed while it records leaves the old state or the new one, and what it recorded is whole."""

import pytest

from tests.simulators.crash_child import act_and_die_at
from tests.simulators.worlds import World, leaves_of, verdict_of
from tests.world.ledger.ledgers import about, entry, names, reading, record
from timeline.service import Session
from timeline.tlog import Step
from timeline.world import ledger

STEPS = [step for step in Step if step is not Step.SIDECAR]
CALL = (entry("b", supersedes=["a"]), entry("c", evidence_kind="explicit-user-feedback", subject="suite:c"))


@pytest.mark.requirement("W64", "W5", "H-h")
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_leaves_old_or_new(world: World, step: Step) -> None:
    """Both assertions with what they replace, or neither; the same call once more brings it to its end."""
    record(world, entry("a"))
    before = leaves_of(world)

    def act(session: Session) -> None:
        with session.writing() as state:
            ledger.record(state, CALL)

    assert act_and_die_at(world, step, act)
    verdict, reasons = verdict_of(world, deep=True)
    assert (verdict in {"ok", "repairable"}, reasons) == (True, frozenset())
    is_new = len(leaves_of(world)) == len(before) + 2
    assert leaves_of(world)[: len(before)] == before
    assert is_new == (step in {Step.HEAD, Step.ANCHOR, Step.DONE})
    assert names(about(world)) == (["a", "b"] if is_new else ["a"])
    with reading(world) as state:
        assert ledger.is_replaced(state, "assertion:a") == is_new
    again = record(world, *CALL)
    assert {one.status for one in again} == {"duplicate" if is_new else "recorded"}
    assert names(about(world)) == ["a", "b"]
    assert verdict_of(world, deep=True) == ("ok", frozenset())
