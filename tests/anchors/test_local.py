"""The trust folder's own anchor as far as the contract reaches: compare-and-set, in a file that nobody else writes."""

from pathlib import Path

import pytest

from tests.anchors.contract import at_once, forked, grown
from tests.simulators.witnesses import Branch
from timeline.errors import StateBusyError, StateIncompleteError
from timeline.paths import Locations
from timeline.tlog import advance_anchor


@pytest.fixture
def locations(tmp_path: Path) -> Locations:
    """Give folders with an anchor at size 3."""
    found = Locations(*(tmp_path / name for name in ("state", "trust", "config", "runtime")))
    found.trust.mkdir(mode=0o700)
    found.anchor.touch(mode=0o600)
    found.anchor.write_bytes(grown(3).note())
    return found


def test_it_moves_from_exactly_what_was_read(locations: Locations) -> None:
    """An extension, and the same again."""
    advance_anchor(locations, grown(3).note(), grown(7).note())
    advance_anchor(locations, grown(7).note(), grown(7).note())
    assert locations.anchor.read_bytes() == grown(7).note()


@pytest.mark.parametrize("expected", [grown(2), grown(7), forked(2, 3)], ids=["smaller", "larger", "fork"])
def test_it_does_not_move_from_anything_else(locations: Locations, expected: Branch) -> None:
    """Whoever read another checkpoint decided about another log."""
    with pytest.raises(StateBusyError):
        advance_anchor(locations, expected.note(), grown(9).note())
    assert locations.anchor.read_bytes() == grown(3).note()


def test_a_missing_one_is_no_fresh_start(locations: Locations) -> None:
    """Compare-and-set never makes an anchor."""
    locations.anchor.unlink()
    with pytest.raises(StateIncompleteError):
        advance_anchor(locations, grown(3).note(), grown(7).note())
    assert not locations.anchor.exists()


def test_readers_see_one_of_the_two(locations: Locations) -> None:
    """A reader during the move sees the old checkpoint or the new one, whole."""
    sizes = range(3, 40)

    def move() -> set[bytes]:
        for size in sizes:
            advance_anchor(locations, grown(size).note(), grown(size + 1).note())
        return set()

    def look() -> set[bytes]:
        return {locations.anchor.read_bytes() for _ in range(400)}

    _, *seen = at_once([move, look, look])
    assert set().union(*seen) <= {grown(size).note() for size in range(3, 41)}
    assert locations.anchor.read_bytes() == grown(40).note()
