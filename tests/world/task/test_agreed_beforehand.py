"""When a contract, a continuation and a result have to follow each other, to the millisecond."""

import pytest

from tests.world.task.situations import agreed, contract_entry, contract_value
from tests.world.task.story import T0, Story, measured
from timeline.world.advancing import advance
from timeline.world.owner_task import TaskChange, correct_task
from timeline.world.task_state import Refused, Replacement


@pytest.mark.requirement("T52", "T56")
@pytest.mark.parametrize(
    ("after_ms", "reason"),
    [(-1, "timeline-outcome-contract-postdated"), (0, None), (1, None)],
)
def test_a_contract_is_agreed_before_the_event_or_at_its_millisecond(
    after_ms: int, reason: str | None
) -> None:
    """The time that counts is when the contract was recorded here, not when it says that it was agreed."""
    story = Story()
    story.begin()
    made = contract_entry("contract", contract_value(story), at=T0)
    recorded_at = story.at(20)
    story.record(made)
    story.at(100)

    decided = advance(story.state(), measured(at=recorded_at + after_ms))

    assert decided == Refused(reason) if reason else isinstance(decided, Replacement)


@pytest.mark.requirement("T56")
@pytest.mark.parametrize(("after_ms", "is_refused"), [(-1, True), (0, False)])
def test_a_result_older_than_the_continuation_is_stale(after_ms: int, is_refused: bool) -> None:
    """What was measured before the present step was set says nothing about it, whatever its words."""
    story = agreed()
    set_at = story.at(50)
    story.record(correct_task(story.state(), TaskChange(status="blocked"), now_ms=set_at))
    story.at(100)

    decided = advance(story.state(), measured(at=set_at + after_ms))

    assert (decided == Refused("timeline-outcome-event-stale")) is is_refused


@pytest.mark.requirement("T56")
def test_a_result_older_than_what_the_contract_says_of_itself_is_stale() -> None:
    """A contract that is said to be of a later moment than it was recorded at counts from that moment."""
    story = Story()
    story.begin()
    story.record(contract_entry("contract", contract_value(story), at=T0 + 5))
    story.at(100)

    assert advance(story.state(), measured(at=T0 + 4)) == Refused("timeline-outcome-event-stale")
    assert isinstance(advance(story.state(), measured(at=T0 + 5)), Replacement)
