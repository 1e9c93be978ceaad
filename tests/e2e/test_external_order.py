"""External anchors, clocks and other processes: who stores what when, and what is asked before what is written."""

import itertools
from collections.abc import Callable

import pytest

from sidecars.leaf import AnchorEntry, FormatPolicy
from tests.simulators.anchored import (
    ALL,
    Anchored,
    standing_of,
)
from tests.simulators.worlds import World, checkpoint_of, refusal_of, search_once, verdict_of
from timeline import anchoring, service
from timeline.anchoring import Bounds
from timeline.anchors.memory import memory_path
from timeline.anchors.port import Answer as Said
from timeline.anchors.port import Connect, MonotonicAnchor, Question
from timeline.clock import Clock, Stopwatch
from timeline.limits import LOG_READS_MAX
from timeline.ports import Ports, connect_anchor
from timeline.state import open_for_writing

pytestmark = pytest.mark.requirement("X5")


_NUMBERS = itertools.count()


def session_with(world: World, connect: Connect) -> service.Session:
    """Give the world's session with another way to its anchors."""
    ports = Ports(world.clock, world.session.ports.entropy, connect=connect)
    return service.Session(world.locations, ports, world.session.environment)


class Before:
    """The real anchor, after something has happened."""

    def __init__(self, act: Callable[[], object], anchor: MonotonicAnchor) -> None:
        self.act, self.anchor = act, anchor

    def advance(self, question: Question) -> Said:
        """Let it happen, then ask."""
        self.act()
        return self.anchor.advance(question)

    def close(self) -> None:
        """Give the connection back."""
        self.anchor.close()


def committing(anchored: Anchored, times: int) -> Connect:
    """Before each of so many answers another process commits."""
    left = [times]

    def commit() -> None:
        if left[0]:
            left[0] -= 1
            number = next(_NUMBERS)  # a decision about a format must change something
            with open_for_writing(anchored.world.locations, anchored.world.session.ports) as state:
                state.commit([FormatPolicy(host="codex", type=f"new.{number}", accepted=True)])

    def connect(entry: AnchorEntry, clock: Clock, stopwatch: Stopwatch) -> MonotonicAnchor:
        return Before(commit, connect_anchor(entry, clock, stopwatch))

    return connect


def test_a_reading_that_is_overtaken_each_time_says_so(anchored: Anchored) -> None:
    """Busy, and neither an alarm nor a report of nothing; one commit less, and it is answered."""
    world = anchored.world
    with anchored.served():
        busy = session_with(world, committing(anchored, LOG_READS_MAX))
        assert refusal_of(lambda: service.list_sources(busy, world.root)) == "state-busy"
        busy = session_with(world, committing(anchored, LOG_READS_MAX))
        assert refusal_of(lambda: anchoring.find_anchors(busy)) == "state-busy"
        busy = session_with(world, committing(anchored, LOG_READS_MAX))
        report = service.verify_timeline(busy, deep=False)
        assert [check.reason for check in report.checks if not check.ok] == ["state-busy"]
        assert report.verdict == "refused"
        calm = session_with(world, committing(anchored, 1))
        assert anchoring.find_anchors(calm).refused is None


def test_bounds_are_changed_only_by_who_holds_the_newest_state(anchored: Anchored) -> None:
    """Put back: nothing is written, so that no size is signed twice; nor are stale bounds widened by themselves."""
    world = anchored.world
    anchored.put_back("first", *ALL)
    before = world.locations.head.read_bytes()
    with anchored.served():
        action = lambda: anchoring.set_bounds(world.session, Bounds(freshness_seconds=3600))  # noqa: E731  (twice used)
        assert refusal_of(action) == "external-anchor-ahead"
    anchored.wait(24 * 3600 + 1)
    assert refusal_of(action) == "stale-unverified"
    assert world.locations.head.read_bytes() == before


def test_the_last_commit_before_the_silence_keeps_to_the_bound(anchored: Anchored) -> None:
    """More leaves at once than may be unconfirmed: refused while the witness still answers."""
    world = anchored.world
    with anchored.served():
        anchoring.set_bounds(world.session, Bounds(unwitnessed_max=1))
        with open_for_writing(world.locations, world.session.ports) as state:
            two = [FormatPolicy(host="codex", type=name, accepted=True) for name in ("one", "two")]
            assert refusal_of(lambda: state.commit(two)) == "unwitnessed"
            state.commit(two[:1])
    assert search_once(world).startswith(b"{")


def test_a_clock_that_ran_ahead_leaves_nothing_behind(anchored: Anchored, tmp_path) -> None:
    """A confirmation from the future is replaced by the next one, although its time is earlier."""
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    world = anchored.world
    with anchored.served():
        anchoring.add_anchor(world.session, "file", str(tmp_path / "elsewhere" / "anchor"))
        anchoring.remove_anchor(world.session, "witness-1")
    world.clock.at_ms += 10 * 24 * 3600 * 1000
    assert standing_of(world).refused is None
    world.clock.at_ms -= 10 * 24 * 3600 * 1000
    assert search_once(world).startswith(b"{")
    assert standing_of(world).refused is None


def test_a_slow_reader_does_not_replace_a_newer_confirmation(anchored: Anchored) -> None:
    """It was asked about an older tree, and a commit was confirmed and stored before it stores its own."""
    world, path = anchored.world, memory_path(anchored.world.locations, "witness-1")
    size = checkpoint_of(world.locations.head)[0]
    with anchored.served():

        class Late:
            """The real answer, after which another process commits."""

            def __init__(self, anchor: MonotonicAnchor) -> None:
                self.anchor = anchor

            def advance(self, question: Question) -> Said:
                """Ask, and let the other one commit."""
                answer = self.anchor.advance(question)
                with open_for_writing(world.locations, world.session.ports) as state:
                    state.commit([FormatPolicy(host="codex", type="new.type", accepted=True)])
                return answer

            def close(self) -> None:
                """Give the connection back."""
                self.anchor.close()

        slow = session_with(world, lambda *place: Late(connect_anchor(*place)))
        service.list_sources(slow, world.root)
    assert path.read_bytes().split(b"\n")[4] == str(size + 1).encode()


@pytest.mark.parametrize("time", ["253402300800", "999999999999999", "99999999999999999999"])
def test_a_time_beyond_all_calendars_counts_for_nothing(anchored: Anchored, tmp_path, time: str) -> None:
    """No error of another kind, wherever it is shown."""
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    world = anchored.world
    with anchored.served():
        anchoring.add_anchor(world.session, "file", str(tmp_path / "elsewhere" / "anchor"))
    path = memory_path(world.locations, "file-1")
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], b"confirmed " + time.encode(), *lines[2:]]))
    offline = anchoring.find_anchors(world.session, ask=False)
    assert [report.memory is None for report in offline.reports] == [True, False]
    assert search_once(world).startswith(b"{")
    assert verdict_of(world) == ("ok", frozenset({"unreachable"}))
    assert path.read_bytes().split(b"\n")[1] != b"confirmed " + time.encode()


def test_a_remembered_fork_is_seen_without_asking(anchored: Anchored) -> None:
    """`anchor status --offline` compares the roots as well."""
    anchored.put_back("first", *ALL)
    anchored.index(operations=1)
    anchored.put_back("second", "trust/anchors/witness-1")
    found = anchoring.find_anchors(anchored.world.session, ask=False)
    assert found.refused is not None
    assert found.refused.reason == "external-anchor-forked"
