"""A timeline whose register holds leaves of two kinds about three things."""

from pathlib import Path

import pytest

from sidecars.reasoned import EvidenceRevocation
from tests.register.words import KIM
from tests.simulators.worlds import World, new_world
from tests.world.ledger.ledgers import entry, record


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give one that is to be left as it is."""
    world = new_world(tmp_path_factory.mktemp("register") / "world")
    record(world, entry("a"), entry("b"))
    with world.session.writing() as state:
        state.commit([EvidenceRevocation("assertion:a", "wrong machine")])
        state.commit(
            [
                EvidenceRevocation("assertion:b", "wrong as well"),
                KIM,
            ]
        )
    return world


@pytest.fixture
def world(made: World, tmp_path: Path) -> World:
    """Give a copy of it, to be changed."""
    return made.copy(tmp_path / "world")
