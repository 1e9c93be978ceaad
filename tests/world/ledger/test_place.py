"""Where the ledger lies: in the state, apart from every project, for its owner alone; no other file is touched."""

import stat
from pathlib import Path

import pytest

from tests.simulators.worlds import World, contents, leaves_of
from tests.world.ledger.ledgers import entry, record


@pytest.mark.requirement("W66")
def test_nothing_of_a_project_is_written(world: World) -> None:
    """No `world-model.json`, no Markdown: the project and the host's folders stay as they were."""
    project = Path(world.root)
    (project / "NOTES.md").write_text("# Notes\n", encoding="utf-8")
    before = contents(world.home)
    record(world, entry("a", project=world.root), entry("b", evidence_kind="explicit-user-feedback"))
    assert contents(world.home) == before
    assert not list(world.folder.rglob("world-model.json"))


@pytest.mark.requirement("W64", "H-h")
def test_only_the_owner_reads_and_each_record_adds_only_itself(world: World) -> None:
    """Mode 0600 below 0700; earlier leaves are the same bytes, and none is written again."""
    record(world, entry("a"))
    before = leaves_of(world)
    record(world, *(entry(f"n{number}", value="x" * 8_000) for number in range(250)))
    assert leaves_of(world)[: len(before)] == before
    state = world.locations.state
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    files = [path for path in state.rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
