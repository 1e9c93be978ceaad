"""A reader holds no lock: commits between two of its reads are no rollback, and a rollback is one all the same."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sidecars.errors import LagError
from tests.simulators.overtaking import PLACES, Overtaking, overtaken
from tests.simulators.worlds import (
    SEGMENT_BYTES,
    Moment,
    World,
    consent,
    event_ids,
    grow,
    leaves_of,
    new_world,
    prompt_event,
    refusal_of,
    rollout_of,
    search_once,
    verdict_of,
    write_transcript,
)
from timeline import service
from timeline.limits import LOG_READS_MAX
from timeline.state import open_state
from timeline.tlog import Doubt, Sight, decide_doubt

Grown = tuple[World, tuple[Moment, ...]]


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    """Give a source of three segments with a copy after each commit, in a home that these tests may write to."""
    folder = tmp_path_factory.mktemp("overtaken")
    world = new_world(folder / "world")
    return world, tuple(grow(world, folder / "moments", runs=4, filler_bytes=40_000))


@pytest.fixture
def enrolled(grown: Grown, tmp_path: Path) -> World:
    """Give a timeline whose source is enrolled and not indexed: three commits are to come."""
    world = grown[0].copy(tmp_path / "copy")
    grown[1][1].place(world)
    return world


@pytest.fixture
def indexed(grown: Grown, tmp_path: Path) -> World:
    """Give a timeline whose source is indexed to its end."""
    return grown[0].copy(tmp_path / "copy")


def commits(world: World, count: int) -> Callable[[], None]:
    """Give what the other process does: so many commits, one right after the other."""

    def act() -> None:
        for _ in range(count):
            service.index(world.session, world.root, max_bytes=SEGMENT_BYTES, operations=1)

    return act


def endless(world: World, count: int) -> Callable[[], None]:
    """Give commits without an end: each is the consent to one more session."""
    seeds = iter(range(100, 10_000))

    def act() -> None:
        for _ in range(count):
            seed = next(seeds)
            rollout = rollout_of(world, seed=seed)
            consent(world, rollout, write_transcript(world, rollout), turn=f"turn-{seed}")

    return act


# -- commits in between ----------------------------------------------------------------------------------------


@pytest.mark.requirement("T65", "T66")
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("place", PLACES)
def test_a_verification_that_is_overtaken_reports_the_newer_log(
    enrolled: World, place: str, count: int
) -> None:
    """Whatever was read before the commits: in order, and nothing to repair."""
    before = len(leaves_of(enrolled))
    overtaking = Overtaking(place, commits(enrolled, count), times=1)
    with overtaken(enrolled.locations, overtaking):
        report = service.verify_timeline(enrolled.session, deep=False)
    assert [check for check in report.checks if not check.ok] == []
    assert report.verdict == "ok"
    # Read to its end, the older log was in order; otherwise it was read again.
    assert report.size == (before if place == "leaves" else before + count)
    assert len(leaves_of(enrolled)) == before + count


@pytest.mark.requirement("T65", "T66")
@pytest.mark.parametrize("place", PLACES[:3])
def test_a_search_that_is_overtaken_answers_from_the_newer_log(
    grown: Grown, enrolled: World, place: str
) -> None:
    """Search and ``show`` give what they would have given after the commits."""
    with overtaken(enrolled.locations, Overtaking(place, commits(enrolled, 3), times=1)):
        answer = search_once(enrolled)
    assert answer == search_once(grown[0])
    wanted = event_ids(enrolled)[-1]
    with overtaken(enrolled.locations, Overtaking(place, endless(enrolled, 2), times=1)):
        shown, _ = service.show(enrolled.session, enrolled.root, wanted)
    assert [card.event.id for card in shown.cards] == [wanted]


@pytest.mark.requirement("T66")
@pytest.mark.parametrize("times", [1, 2, LOG_READS_MAX - 1])
def test_a_reader_that_is_overtaken_often_reads_once_more_than_that(indexed: World, times: int) -> None:
    """Two commits within each reading but the last: read again, each time."""
    overtaking = Overtaking("change number", endless(indexed, 2), times=2 * times - 1)
    # The number is read at the beginning of a reading and once more when it is in doubt; commits come at either.
    with overtaken(indexed.locations, overtaking):
        assert verdict_of(indexed) == ("ok", frozenset())
    assert overtaking.reads > times


@pytest.mark.requirement("T66")
def test_a_reader_that_is_always_overtaken_gives_up_and_says_that_it_is_busy(indexed: World) -> None:
    """No verdict is taken from a reading that was overtaken; the number of readings has a bound."""
    overtaking = Overtaking("change number", endless(indexed, 2), times=1_000)
    with overtaken(indexed.locations, overtaking):
        assert search_once(indexed) == b"refused: state-busy"
    assert overtaking.reads == 2 * LOG_READS_MAX
    assert verdict_of(indexed) == ("ok", frozenset())


# -- a rollback all the same -----------------------------------------------------------------------------------


@pytest.mark.requirement("T65", "T67")
def test_a_rollback_is_looked_at_once_more_and_stays_one(grown: Grown, indexed: World) -> None:
    """Nothing changed meanwhile: one second look, the same reason, the same words."""
    indexed.locations.anchor.write_bytes((grown[1][1].folder / "trust" / "anchor").read_bytes())
    overtaking = Overtaking("anchor", lambda: None, times=0)
    session = indexed.session
    with (
        overtaken(indexed.locations, overtaking),
        pytest.raises(LagError, match=r"state 6, head 6 and anchor 3 are more than one batch apart"),
        open_state(session.locations, session.ports),
    ):
        pass
    assert overtaking.reads == 2


@pytest.mark.requirement("T65", "T67")
@pytest.mark.parametrize("place", PLACES)
def test_a_rollback_while_another_process_writes_stays_one(grown: Grown, indexed: World, place: str) -> None:
    """A receipt that is issued meanwhile changes the database, and heals nothing."""
    rollout = rollout_of(indexed, seed=5)
    path = str(write_transcript(indexed, rollout))
    turns = iter(("turn-1", "turn-2"))
    newest = indexed.locations.anchor.read_bytes()
    older = (grown[1][1].folder / "trust" / "anchor").read_bytes()

    def act() -> None:
        indexed.locations.anchor.write_bytes(newest)
        event = prompt_event(indexed, rollout.thread_id, path, turn_id=next(turns))
        service.receive_prompt(indexed.session, "codex", event)
        indexed.locations.anchor.write_bytes(older)

    indexed.locations.anchor.write_bytes(older)
    overtaking = Overtaking(place, act, times=2)
    with overtaken(indexed.locations, overtaking):
        assert search_once(indexed) == b"refused: lag-beyond-one-batch"
    assert overtaking.reads > 2
    assert refusal_of(lambda: service.list_sources(indexed.session, None)) == "lag-beyond-one-batch"


# -- the decision ----------------------------------------------------------------------------------------------

SIGHT = Sight(anchor=b"a", head=b"h", database=1)


@pytest.mark.parametrize("tries_left", [0, 1, 7])
def test_what_did_not_change_stands(tries_left: int) -> None:
    """However many tries are left."""
    assert decide_doubt(SIGHT, Sight(b"a", b"h", 1), tries_left=tries_left) is Doubt.STANDS


@pytest.mark.parametrize("now", [Sight(b"b", b"h", 1), Sight(b"a", b"i", 1), Sight(b"a", b"h", 2)])
def test_whatever_changed_makes_the_reading_worth_nothing(now: Sight) -> None:
    """Read again while tries are left, then give up."""
    assert decide_doubt(SIGHT, now, tries_left=1) is Doubt.AGAIN
    assert decide_doubt(SIGHT, now, tries_left=0) is Doubt.BUSY
