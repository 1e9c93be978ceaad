"""From a raw result to a redacted event: what cannot be stored is left out, and the lines tell the same again."""

import pytest

from sidecars.event import format_event, parse_event
from tests.simulators.hosts import pytest_output
from tests.simulators.worlds import World, rollout_of
from tests.timeline.cases import Case, enroll_rollout
from timeline import service
from timeline.search import Status


def stamped(world: World, stamp: bytes) -> Case:
    """Give a session whose second run has another time."""
    rollout = rollout_of(world, runs=1)
    rollout.start_turn()
    before = len(rollout.lines)
    rollout.command("pytest -q", pytest_output(77), 0)
    rollout.lines[before:] = [
        line.replace(line[line.index(b'"2') : line.index(b'Z"') + 2], b'"' + stamp + b'"', 1)
        for line in rollout.lines[before:]
    ]
    return enroll_rollout(world, rollout)


@pytest.mark.parametrize(
    ("stamp", "at_ms"),
    [
        (b"1970-01-01T00:00:00.000Z", 0),
        (b"9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        (b"1969-12-31T23:59:59.999Z", None),
        (b"0001-01-01T00:00:00.000Z", None),
    ],
)
def test_a_time_before_the_epoch_is_no_time(world: World, stamp: bytes, at_ms: int | None) -> None:
    """A host whose clock was not set loses the time of the run, not the run, and no other source."""
    case = stamped(world, stamp)
    assert case.index().events == 2
    (card,) = case.terms("pytest", "77").cards
    assert card.event.at == at_ms
    assert service.verify_timeline(case.session, deep=True).verdict == "ok"


@pytest.mark.parametrize("stamp", [b"", b"yesterday", b"2026-08-20", b"2026-13-20T10:00:00.000Z"])
def test_a_time_of_another_form_makes_no_guess(world: World, stamp: bytes) -> None:
    """The run has no time, or its lines are defects: never another time."""
    case = stamped(world, stamp)
    case.index()
    assert [card.event.at for card in case.terms("pytest", "77").cards] in ([], [None])


@pytest.mark.requirement("T29", "T73")
@pytest.mark.parametrize("count", [2**53 - 1, 2**53, 2**63, 10**30])
def test_a_number_that_cannot_be_stored_is_left_out(world: World, count: int) -> None:
    """A printed number beyond all bounds stops neither the run nor the file."""
    rollout = rollout_of(world, runs=1)
    rollout.start_turn()
    rollout.command("pytest -q", pytest_output(count), 0)
    case = enroll_rollout(world, rollout)
    assert case.index().events == 2
    assert service.verify_timeline(case.session, deep=True).verdict == "ok"


@pytest.mark.requirement("T22", "T28")
def test_every_stored_event_reads_back_and_is_what_its_lines_tell(indexed: Case) -> None:
    """One spelling, and the same event from the same bytes."""
    answer = indexed.terms("test-run", "pytest")
    assert answer.status is Status.FOUND
    for card in answer.cards:
        assert parse_event(format_event(card.event)) == card.event


@pytest.mark.requirement("T2")
def test_equal_commands_have_equal_fingerprints_and_others_do_not(world: World) -> None:
    """A suite is recognised without its words."""
    rollout = rollout_of(world, runs=2)
    rollout.start_turn()
    rollout.command("pytest -q tests/slow", pytest_output(3), 0)
    case = enroll_rollout(world, rollout)
    case.index()
    prints = [card.event.fingerprint for card in case.terms("test-run", "pytest").cards]
    assert prints[1] == prints[2]
    assert prints[0] != prints[1]
