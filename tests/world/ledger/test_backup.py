"""Assertions in a backup: they come back with the state, and stay behind where a log forks."""

from pathlib import Path

import pytest

from tests.backup.places import DECLARED, place_for
from tests.simulators.worlds import World, verdict_of
from tests.world.ledger.ledgers import about, entry, names, reading, record
from tests.world.ledger.old import make_old
from timeline.backup import back_up
from timeline.forking import fork_backup
from timeline.restore import restore
from timeline.schema import SCHEMA_VERSION
from timeline.store import open_store
from timeline.world import ledger


def backed(world: World, folder: Path) -> Path:
    """Make a backup."""
    file = folder / "timeline.tar"
    back_up(world.session, file)
    return file


def test_assertions_come_back(world: World, tmp_path: Path) -> None:
    """With what they replace, and the next is recorded behind them."""
    record(world, entry("a"), entry("b", evidence_kind="explicit-user-feedback", supersedes=["a"]))
    place = place_for(world, tmp_path / "place")
    restore(place.session, backed(world, tmp_path), DECLARED)
    assert about(place) == about(world)
    with reading(place) as state:
        assert ledger.is_replaced(state, "assertion:a")
    record(place, entry("c", supersedes=["b"]))
    assert names(about(place)) == ["a", "b", "c"]
    assert verdict_of(place, deep=True) == ("ok", frozenset())


def test_a_fork_begins_without_assertions(world: World, tmp_path: Path) -> None:
    """They are statements of the old log; what is wanted of them is imported, as another system's."""
    record(world, entry("a"))
    place = place_for(world, tmp_path / "place")
    fork_backup(place.session, backed(world, tmp_path))
    assert about(place) == ()
    assert record(place, entry("a"))[0].status == "recorded"


@pytest.mark.parametrize("recorded", [True, False])
def test_an_old_database_comes_back(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, recorded: bool
) -> None:
    """A backup that an older program made holds a database of version 1; putting it back is enough."""
    make_old(world)
    file = tmp_path / "timeline.tar"
    with monkeypatch.context() as patched:
        patched.setattr("timeline.state.State.consistent", property(lambda _state: True))
        back_up(world.session, file)
    place = place_for(world, tmp_path / "place")
    restore(place.session, file, DECLARED)
    if recorded:
        record(place, entry("a"))
    assert names(about(place)) == ["a"] * recorded
    store = open_store(place.locations.database)
    try:
        assert (store.outdated, SCHEMA_VERSION) == (False, 3)
    finally:
        store.close()
