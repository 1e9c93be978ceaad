"""Two writers that the lock does not keep apart, because their runtime folders differ: one history all the same.

A probe lets the second writer do its work in the middle of the first one's commit; nothing waits, nothing races.
"""

from pathlib import Path

import msgspec
import pytest

from tests.simulators.worlds import (
    SEGMENT_BYTES,
    Moment,
    World,
    answers_of,
    event_ids,
    leaves_of,
    refusal_of,
    verdict_of,
    with_probe,
)
from timeline import service
from timeline.tlog import Step

Grown = tuple[World, tuple[Moment, ...]]


@pytest.fixture
def world(grown: Grown, tmp_path: Path) -> World:
    """Give a timeline whose source is enrolled and not indexed."""
    copy = grown[0].copy(tmp_path / "copy")
    grown[1][1].place(copy)
    return copy


@pytest.mark.requirement("T66", "T67")
@pytest.mark.parametrize("step", Step)
def test_a_second_writer_in_the_middle_of_a_commit_makes_no_second_history(
    grown: Grown, world: World, step: Step
) -> None:
    """The second one is told that the state is busy; the first one's log is whole and goes on."""
    first = world.session
    elsewhere = msgspec.structs.replace(first.locations, runtime=world.folder / "other runtime")
    second = service.Session(elsewhere, first.ports, first.environment)
    reasons: list[str | None] = []

    def probe(now: Step) -> None:
        if now is step:
            reasons.append(refusal_of(lambda: service.index(second, world.root, max_bytes=SEGMENT_BYTES)))

    service.index(with_probe(first, probe), world.root, max_bytes=SEGMENT_BYTES, operations=1)
    assert reasons == ["state-busy"]
    found = leaves_of(world)
    assert verdict_of(world) == ("ok", frozenset())
    service.index(first, world.root, max_bytes=SEGMENT_BYTES)
    assert leaves_of(world)[: len(found)] == found
    assert verdict_of(world, deep=True) == ("ok", frozenset())
    assert event_ids(world) == event_ids(grown[0])
    assert answers_of(world) == answers_of(grown[0])


@pytest.mark.requirement("T67")
def test_an_anchor_that_another_moved_meanwhile_is_not_overwritten(grown: Grown, world: World) -> None:
    """Compare-and-set: whoever moved it, the commit stops and leaves it as it is."""
    other = (grown[1][4].folder / "trust" / "anchor").read_bytes()

    def probe(now: Step) -> None:
        if now is Step.ANCHOR:
            world.locations.anchor.write_bytes(other)

    session = with_probe(world.session, probe)
    assert refusal_of(lambda: service.index(session, world.root, max_bytes=SEGMENT_BYTES)) == "state-busy"
    assert world.locations.anchor.read_bytes() == other
    assert verdict_of(world) == ("refused", frozenset({"anchor-ahead"}))
