"""A log over several keys: each speaks for its own leaves, whoever has the others (X7, CVE-2023-31439).

The thief here has one private key, and state and trust to write into; what he cannot have is the owner key, and the
old log key once it is destroyed.
"""

import itertools
import shutil
from pathlib import Path

import msgspec
import pytest

from sidecars.digest import Digest
from sidecars.envelope import seal
from sidecars.keys import Signer
from sidecars.leaf import Leaf, SidecarEntry, leaf_hash, open_leaf, seal_leaf
from sidecars.merkle import Frontier
from sidecars.sidecar import PAYLOAD_TYPE, format_sidecar
from tests.e2e.keyrings import (
    OK,
    Rotated,
    assert_refused,
    by_hand,
    head_of,
    log_leaves,
    log_signer,
    write_heads,
)
from tests.simulators.worlds import (
    Moment,
    World,
    consent,
    copy_folders,
    event_ids,
    is_refused,
    leaves_of,
    rollout_of,
    search_once,
    verdict_of,
    write_transcript,
)
from timeline import service
from timeline.epochs import change_log_key
from timeline.keystore import load_keystore
from timeline.ports import Ports
from timeline.state import open_for_writing, open_local

# -- each key at its own leaves --------------------------------------------------------------------------------


@pytest.mark.requirement("X7")
def test_sources_of_both_epochs_are_answered(rotated: Rotated) -> None:
    """Sidecars by the old key and by the new one, each verified with its own."""
    with open_local(rotated.world.locations, rotated.world.session.ports) as state:
        leaves = [leaf for source in state.view.active for leaf in source.leaves]
        assert min(leaves) < rotated.epoch_leaf < max(leaves)
    assert verdict_of(rotated.world, deep=True) == OK
    assert not is_refused(search_once(rotated.world))
    assert len(event_ids(rotated.world)) > 3


def sign_again(rotated: Rotated, index: int, signer: Signer) -> None:
    """Replace a leaf's signature; the payload stays."""
    envelope = leaves_of(rotated.world)[index][2]
    pins = load_keystore(rotated.world.locations).pins
    key = rotated.old if index < rotated.epoch_leaf else rotated.new
    leaf = open_leaf(envelope, pins.owner, key.verifier)
    forged = seal_leaf(leaf, signer)
    assert forged != envelope
    by_hand(rotated.world, "UPDATE leaf SET envelope = ? WHERE idx = ?", forged, index)


@pytest.mark.requirement("X7", "T65")
def test_an_old_leaf_signed_again_with_the_newer_key_is_refused(rotated: Rotated) -> None:
    """Whoever steals the present key cannot speak for the time before it, and the old key not for the time after."""
    first, last = log_leaves(rotated)[0], log_leaves(rotated)[-1]
    for index, signer in ((first, rotated.new), (last, rotated.old)):
        copy = Rotated(
            rotated.world.copy(rotated.world.folder.parent / f"at-{index}"), rotated.old, rotated.new
        )
        sign_again(copy, index, signer)
        assert_refused(copy.world, "unknown-key")


@pytest.mark.requirement("X7", "T65")
def test_a_shorter_log_under_a_newer_key_is_refused(rotated: Rotated) -> None:
    """The thief of the new key drops all leaves from the change on and signs the older size with his key."""
    size = rotated.epoch_leaf
    by_hand(rotated.world, "DELETE FROM leaf WHERE idx >= ?", size)
    write_heads(rotated.world, head_of(rotated.world, size, rotated.new))
    assert_refused(rotated.world, "unknown-key")
    write_heads(rotated.world, head_of(rotated.world, size, rotated.old, rotated.new))
    assert_refused(rotated.world, "unknown-key")


@pytest.mark.requirement("X7")
def test_a_head_by_the_retired_key_is_refused(rotated: Rotated) -> None:
    """It fits the leaves, and is by a key that is in force no more."""
    size = len(leaves_of(rotated.world))
    write_heads(rotated.world, head_of(rotated.world, size, rotated.old))
    assert_refused(rotated.world, "unknown-key")
    write_heads(rotated.world, head_of(rotated.world, size, rotated.new))
    assert verdict_of(rotated.world) == OK


@pytest.mark.requirement("X7")
@pytest.mark.parametrize("part", ["head", "anchor"])
def test_the_first_head_after_a_rotation_needs_both_keys(world: World, part: str) -> None:
    """The new key's signature alone is what a thief of the owner key would have."""
    old = log_signer(world)
    change_log_key(world.session, "rotation")
    new = log_signer(world)
    path = world.locations.head if part == "head" else world.locations.anchor
    size = len(leaves_of(world))
    for signers in ((new,), (old,), (new, Signer(new.name, b"\x07" * 32))):
        path.write_bytes(head_of(world, size, *signers))
        assert_refused(world, "unknown-key")
    path.write_bytes(head_of(world, size, old, new))
    assert verdict_of(world) == OK


def enter_sidecar(world: World, signer: Signer) -> SidecarEntry:
    """Commit, with the keys that are in force, a leaf that names a sidecar which ``signer`` has signed."""
    with open_for_writing(world.locations, world.session.ports) as state:
        (source,) = state.view.active
        header = state.sidecar(source.entries[-1]).header
        segment = len(source.entries)
        payload, sidecar = format_sidecar(msgspec.structs.replace(header, segment=segment), [])
        digest = state.sidecars.put(seal(PAYLOAD_TYPE, payload, [signer]))
        entry = SidecarEntry(
            digest=str(digest),
            source=header.source,
            segment=segment,
            enrollment_id=source.enrollment.enrollment_id,
            count=0,
            root=sidecar.header.root,
        )
        state.commit([entry])
        return entry


class Known:
    """Randomness whose next 32 bytes are known: the key that comes into force next."""

    def __init__(self, seed: bytes) -> None:
        """Remember it."""
        self._seed: bytes | None = seed

    def bytes(self, count: int) -> bytes:
        """Give it once."""
        found, self._seed = self._seed or bytes(count), None
        return found


@pytest.mark.requirement("X7", "T65")
@pytest.mark.parametrize("when", ["before the change", "after the change"])
def test_a_sidecar_is_verified_with_the_key_of_its_own_leaf(world: World, when: str) -> None:
    """Its leaf is as it should be; the file is by the key of the other epoch, and the log has both."""
    old, new = log_signer(world), Signer(log_signer(world).name, b"\x0b" * 32)
    ports = world.session.ports
    session = service.Session(
        world.locations, Ports(ports.clock, Known(b"\x0b" * 32)), world.session.environment
    )
    if when == "before the change":
        enter_sidecar(world, new)
        change_log_key(session, "rotation")
    else:
        change_log_key(session, "rotation")
        enter_sidecar(world, old)
    assert log_signer(world).verifier == new.verifier
    assert verdict_of(world) == ("refused", frozenset({"unknown-key"}))
    assert search_once(world) == b"refused: unknown-key"


@pytest.mark.requirement("X7", "T66")
def test_a_leaf_by_the_old_key_is_not_adopted_after_the_change(rotated: Rotated) -> None:
    """Repair takes one signed batch; what the retired key signs is none."""
    world = rotated.world
    rows = leaves_of(world)
    frontier = Frontier()
    for _, salt, envelope in rows:
        frontier = frontier.append(leaf_hash(salt, envelope))
    with open_local(world.locations, world.session.ports) as state:
        source = state.view.active[-1]
        proper = Leaf(
            origin=state.keystore.pins.origin,
            index=len(rows),
            root=str(Digest(frontier.root())),
            batch_start=len(rows),
            batch_size=1,
            at=state.view.newest_ms,
            body=msgspec.structs.replace(
                source.entries[-1], segment=len(source.entries), digest=str(Digest(bytes(32))), evicts=()
            ),
        )
    insert = "INSERT INTO leaf (idx, salt, envelope) VALUES (?, ?, ?)"
    by_hand(world, insert, len(rows), b"s" * 32, seal_leaf(proper, rotated.old))
    assert_refused(world, "unknown-key")
    by_hand(world, "UPDATE leaf SET envelope = ? WHERE idx = ?", seal_leaf(proper, rotated.new), len(rows))
    assert verdict_of(world)[0] != "ok"  # such a leaf is repaired, and its sidecar is missed
    assert "unknown-key" not in verdict_of(world)[1]


# -- state and trust of two epochs -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ages(small: World, tmp_path_factory: pytest.TempPathFactory) -> tuple[World, tuple[Moment, ...]]:
    """Give a world before a rotation, right after it, and one commit later; and a copy of each."""
    folder = tmp_path_factory.mktemp("ages")
    world = small.copy(folder / "world")
    moments = []

    def keep(name: str) -> None:
        copy_folders(world.folder, folder / name)
        moments.append(Moment(name, folder / name))

    keep("before")
    change_log_key(world.session, "rotation")
    keep("at")
    rollout = rollout_of(world, seed=5)
    consent(world, rollout, write_transcript(world, rollout))
    keep("after")
    return world, tuple(moments)


def expected(state: int, head: int, anchor: int, pins: int) -> str:
    """Say what a mix is: by the rules between state, head and anchor, and by which key is pinned and in force."""
    signers = ({"old"}, {"old", "new"}, {"new"})
    pinned = "old" if pins == 0 else "new"
    if pinned not in signers[anchor] or pinned not in signers[head]:
        return "unknown-key"
    if head < anchor:
        return "anchor-ahead"
    if state < head:
        return "state-behind-head"
    if state - head > 1:
        return "lag-beyond-one-batch"
    if (pins == 0) != (state == 0):  # the leaves name another key than the pins
        return "unknown-key"
    if state - anchor > 1:
        return "lag-beyond-one-batch"
    return "ok" if state == head == anchor else "repairable"


@pytest.mark.requirement("X7", "T65", "T66", "T67")
def test_every_mix_of_moments_around_a_rotation(
    ages: tuple[World, tuple[Moment, ...]], tmp_path: Path
) -> None:
    """State, head, anchor and pins with keys, each of before, at or after the change: 81 mixes."""
    origin, moments = ages
    world = origin.copy(tmp_path / "copy")
    seen = set()
    for state, head, anchor, pins in itertools.product(range(3), repeat=4):
        moments[state].place(world)
        shutil.copy2(moments[head].folder / "state" / "head", world.locations.head)
        shutil.rmtree(world.locations.trust)
        shutil.copytree(moments[pins].folder / "trust", world.locations.trust)
        shutil.copy2(moments[anchor].folder / "trust" / "anchor", world.locations.anchor)
        verdict = expected(state, head, anchor, pins)
        found, reasons = verdict_of(world)
        mix = (state, head, anchor, pins)
        if verdict in {"ok", "repairable"}:
            assert (found, reasons) == (verdict, frozenset()), mix
            search_once(world)
            assert verdict_of(world) == OK, mix
        else:
            assert (found, reasons) == ("refused", {verdict}), mix
        seen.add(verdict)
    assert seen >= {"ok", "repairable", "unknown-key", "anchor-ahead", "state-behind-head"}


@pytest.mark.requirement("X7", "T65", "T67")
@pytest.mark.parametrize(
    ("piece", "reason"),
    [
        ("trust/pins", "key-mismatch"),
        ("trust/keys", "key-mismatch"),
        ("trust", "unknown-key"),
        ("state", "unknown-key"),
        ("state/head", "unknown-key"),
        ("trust/anchor", "unknown-key"),
    ],
)
def test_one_piece_of_before_the_change_is_refused(
    ages: tuple[World, tuple[Moment, ...]], tmp_path: Path, piece: str, reason: str
) -> None:
    """Whichever of the two folders, or part of them, is put back: refused, and nothing is made anew."""
    world = ages[0].copy(tmp_path / "copy")
    old = ages[1][0].folder / piece
    target = world.folder / piece
    if old.is_dir():
        shutil.rmtree(target)
        shutil.copytree(old, target)
    else:
        shutil.copy2(old, target)
    assert_refused(world, reason)
