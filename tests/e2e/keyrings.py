"""Logs over several keys, and what whoever has some of the private keys can write."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass

from sidecars.checkpoint import Checkpoint, sign_checkpoint
from sidecars.digest import Digest
from sidecars.encoding import from_base64
from sidecars.keys import Signer
from sidecars.leaf import leaf_hash
from sidecars.merkle import Frontier
from tests.simulators.worlds import (
    World,
    answers_of,
    contents,
    leaves_of,
    refusal_of,
    verdict_of,
)
from timeline import service
from timeline.epochs import change_log_key, list_log_keys
from timeline.keystore import load_keystore
from timeline.state import open_local

OK = ("ok", frozenset())


def log_signer(world: World) -> Signer:
    """Give the private log key of a world, as whoever copies the file has it."""
    line = (world.locations.keys / "log.key").read_text(encoding="ascii").split("\n")[1]
    return Signer(load_keystore(world.locations).pins.origin, from_base64(line, "key"))


@dataclass(frozen=True)
class Rotated:
    """A world whose key was changed once, and both private keys, though one of them is destroyed."""

    world: World
    old: Signer
    new: Signer

    @property
    def epoch_leaf(self) -> int:
        """Where the second epoch begins."""
        return list_log_keys(self.world.session).log[1].epoch.leaf


def head_of(world: World, size: int, *signers: Signer) -> bytes:
    """Give a head of the first leaves, signed by anybody."""
    frontier = Frontier()
    for _, salt, envelope in leaves_of(world)[:size]:
        frontier = frontier.append(leaf_hash(salt, envelope))
    return sign_checkpoint(
        Checkpoint(signers[0].name, size, Digest(frontier.root())),
        signers,
    )


def write_heads(world: World, note: bytes) -> None:
    """Put a note in the place of head and anchor."""
    world.locations.head.write_bytes(note)
    world.locations.anchor.write_bytes(note)


def by_hand(world: World, statement: str, *values: object) -> None:
    """Change the database behind the program's back."""
    with closing(sqlite3.connect(world.locations.database)) as connection, connection:
        connection.execute(statement, values)


def assert_refused(world: World, reason: str) -> None:
    """Every way to read or to write says so, and nothing moves."""
    before = contents(world.folder)
    assert verdict_of(world) == ("refused", frozenset({reason}))
    assert set(answers_of(world).values()) == {f"refused: {reason}".encode()}
    assert refusal_of(lambda: service.revoke(world.session, "nothing")) == reason
    assert refusal_of(lambda: change_log_key(world.session, "rotation")) == reason
    assert contents(world.folder) == before


def log_leaves(rotated: Rotated) -> list[int]:
    """Give the indexes of all leaves that name a sidecar."""
    with open_local(rotated.world.locations, rotated.world.session.ports) as state:
        return [leaf for source in state.view.active for leaf in source.leaves]
