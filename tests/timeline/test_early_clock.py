"""A clock that stands before what was consented to is named: neither a new prompt nor a new consent would help."""

import pytest

from tests.simulators.worlds import NOW_MS, World, prompt_event, refusal_of, rollout_of, write_transcript
from tests.timeline.cases import Case, enroll_session
from timeline import service
from timeline.errors import ClockError
from timeline.terms import parse_query

SECOND = 1000


@pytest.mark.requirement("T6")
def test_a_clock_before_the_receipt_is_named_and_spends_nothing(world: World) -> None:
    """Prompting once more would not help: the owner is told of the clock, and set right it works."""
    rollout = rollout_of(world)
    event = prompt_event(world, rollout.thread_id, str(write_transcript(world, rollout)))
    receipt = service.receive_prompt(world.session, "codex", event)
    world.clock.at_ms = NOW_MS - 1
    with pytest.raises(ClockError) as refused:
        service.enroll(world.session, world.root, receipt.id, confirmed=True)
    assert (refused.value.reason, "clock" in refused.value.hint) == ("clock-went-back", True)
    world.clock.at_ms = NOW_MS
    assert service.list_receipts(world.session, world.root) == (receipt,)
    assert service.enroll(world.session, world.root, receipt.id, confirmed=True).confirmed_at == NOW_MS
    world.clock.at_ms = NOW_MS - 1  # spent is spent, whatever the clock says
    refusal = refusal_of(lambda: service.enroll(world.session, world.root, receipt.id, confirmed=True))
    assert refusal == "host-transcript-receipt-unavailable"


@pytest.mark.requirement("T12")
def test_a_clock_before_the_consent_is_not_called_the_end_of_it(indexed: Case) -> None:
    """To enroll again would not help: the owner is told of the clock, by search, ``show``, index and sources."""
    consented = NOW_MS
    wanted = indexed.terms("pytest", "failed").cards[0].event.id
    for early_ms in (1, SECOND, 3600 * SECOND):
        indexed.world.clock.at_ms = consented - early_ms
        for use in (
            lambda: indexed.terms("pytest", "failed"),
            lambda: service.show(indexed.session, indexed.world.root, wanted),
            indexed.index,
        ):
            with pytest.raises(ClockError) as refused:
                use()
            assert (refused.value.reason, "clock" in refused.value.hint) == ("clock-went-back", True)
        (status,) = service.list_sources(indexed.session, None)
        assert (status.state, status.reason) == ("unavailable", "clock-went-back")
    indexed.world.clock.at_ms = consented
    assert indexed.terms("pytest", "failed").cards


@pytest.mark.requirement("T12", "T24")
def test_a_source_that_the_clock_hides_is_not_left_out_without_a_word(indexed: Case) -> None:
    """The older consent holds at that time, the newer one does not yet: no miss over the older one alone."""
    indexed.world.clock.at_ms = NOW_MS + 10 * SECOND
    later = enroll_session(indexed.world, seed=3)
    later.index()
    indexed.world.clock.at_ms = NOW_MS + 5 * SECOND
    assert refusal_of(lambda: indexed.terms("cargo", "passed")) == "clock-went-back"
    states = [status.state for status in service.list_sources(indexed.session, None)]
    assert states == ["unavailable", "current"]
    # Asked for by name, the older one alone is searched.
    query = parse_query(("pytest", "failed"))
    found, _ = service.find(indexed.session, indexed.world.root, query=query, source_ref=indexed.ref)
    assert found.cards
