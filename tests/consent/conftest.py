"""A fresh timeline on a simulated host, and a session of each kind of host in it."""

from pathlib import Path

import pytest

from tests.consent.prompting import KINDS, Desk
from tests.simulators.worlds import World, new_world


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Give a timeline after ``init``, with the home of every host."""
    made = new_world(tmp_path / "w")
    for kind in KINDS.values():
        for folder in ("sessions", "projects"):
            (made.home / kind.home / folder).mkdir(parents=True, exist_ok=True)
    return made


@pytest.fixture(params=list(KINDS))
def desk(world: World, request: pytest.FixtureRequest) -> Desk:
    """Give a session of one kind of host, of which nothing is written."""
    return Desk(world, KINDS[request.param])


@pytest.fixture
def codex(world: World) -> Desk:
    """Give a session of Codex."""
    return Desk(world, KINDS["codex legacy"])
