"""What others see of key changes: proofs of each time, readers in between, witnesses that have to be told (X7)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sidecars.errors import UnknownKeyError
from sidecars.keys import Verifier
from sidecars.offline import verify_proof_file
from sidecars.proven import verify_bundle
from tests.e2e.keyrings import OK
from tests.e2e.offers import assert_good_one_works, offer
from tests.simulators.overtaking import PLACES, Overtaking, overtaken
from tests.simulators.witnesses import HandClock, make_folder, serving
from tests.simulators.worlds import (
    World,
    event_ids,
    search_once,
    verdict_of,
    write_transcript,
)
from timeline import keystore as keystore_module
from timeline.anchoring import Bounds, add_anchor, find_anchors
from timeline.anchors.rules import Verdict
from timeline.epochs import Reason, change_log_key, list_log_keys
from timeline.keystore import Keystore, load_keystore
from timeline.prove import prove_event
from timeline.witness.identity import Folder, open_witness
from timeline.witness.protocol import Status
from timeline.witness.service import know_log, retire_key

# -- proofs ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X6", "X7")
@pytest.mark.parametrize("form", ["bundle", "in-toto"])
def test_events_are_proven_before_at_and_after_a_change(world: World, form: str) -> None:
    """Each file verifies with the keys that it is given with, and with no others; an older one stays good."""
    early = event_ids(world)[0]

    def prove(event: str) -> object:
        return prove_event(world.session, world.root, event, form=form)  # type: ignore[arg-type]  # the tests name forms

    before = prove(early)
    change_log_key(world.session, "rotation")
    at = prove(early)
    assert_good_one_works(world)
    late = next(event for event in event_ids(world) if event not in {early, *event_ids(world)[:2]})
    after, newer = prove(early), prove(late)
    assert [proof.proven.epoch for proof in (before, at, after, newer)] == [0, 0, 0, 1]
    assert [len(proof.proven.log_keys) for proof in (before, at, after, newer)] == [1, 2, 2, 1]
    for proof in (before, at, after, newer):
        assert verify_proof_file(proof.content, proof.keys)[0] == proof.proven
        for missing in proof.keys:
            with pytest.raises(UnknownKeyError):
                verify_proof_file(proof.content, [key for key in proof.keys if key != missing])
    owner, old = before.keys
    with pytest.raises(UnknownKeyError):
        verify_proof_file(newer.content, [owner, old])


@pytest.mark.requirement("X6", "X7")
def test_a_proof_names_a_key_that_was_stolen(world: World) -> None:
    """What the key signed before is proven with that said."""
    event = event_ids(world)[0]
    change_log_key(world.session, "compromised")
    proof = prove_event(world.session, world.root, event)
    assert proof.proven.compromised
    assert verify_bundle(proof.content, proof.keys).compromised


# -- many keys, and readers in between -------------------------------------------------------------------------


@pytest.mark.requirement("X7")
def test_a_log_goes_on_over_many_keys(world: World) -> None:
    """Changes of every kind in a row: one key each, all epochs listed, every event answered."""
    kinds: list[Reason] = ["rotation", "compromised", "rotation", "lost", "rotation", "rotation"]
    for kind in kinds:
        if kind == "lost":
            (world.locations.keys / "log.key").unlink()
        change_log_key(world.session, kind)
    assert_good_one_works(world)
    keys = list_log_keys(world.session).log
    assert [key.epoch.reason for key in keys] == ["first", *kinds]
    assert len({key.epoch.log_key for key in keys}) == 7
    assert [key.usable for key in keys] == [False] * 6 + [True]


@pytest.mark.requirement("X7", "T66")
@pytest.mark.parametrize("place", PLACES)
def test_a_reader_that_a_rotation_overtakes_answers(world: World, place: str) -> None:
    """Keys and log are of two sides of the change; the reader looks again, and says neither rollback nor wrong key."""
    answer = search_once(world)
    overtaking = Overtaking(place, lambda: change_log_key(world.session, "rotation"), times=2)
    with overtaken(world.locations, overtaking):
        assert search_once(world) == answer
    assert overtaking.reads > 0
    assert verdict_of(world) == OK


@pytest.mark.requirement("X7", "T66")
def test_keys_that_are_read_during_a_rotation_are_read_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pins are read, then the key is changed, then its file is read."""
    real, left = keystore_module._load, [1]

    def load(*arguments: object) -> Keystore:
        if left:
            left.pop()
            change_log_key(world.session, "rotation")
        return real(*arguments)  # type: ignore[arg-type]  # passed through

    monkeypatch.setattr(keystore_module, "_load", load)
    assert load_keystore(world.locations).settled
    assert not left
    assert verdict_of(world) == OK


@pytest.mark.requirement("X5", "X7")
def test_a_witness_confirms_the_change_itself_and_then_has_to_be_told(world: World, tmp_path: Path) -> None:
    """It takes the first head by the key that it knows, nothing by the new one alone, and all once it knows that."""
    folder = make_folder(tmp_path / "witness", origins=())
    with serving(folder, clock=HandClock(world.clock.at_ms)) as served:
        old = load_keystore(world.locations).pins.log
        tell(folder, know_log, old)
        address = f"unix:{served.endpoint.path}"
        add_anchor(world.session, "witness", address, key=str(served.key), name="w", bounds=Bounds())
        change = change_log_key(world.session, "rotation")
        assert [entry.name for entry in change.witnesses] == ["w"]
        assert served.answers[-1].status == Status.COSIGNED
        assert verdict_now(world) is Verdict.CONFIRMED
        assert offer(world, 99, write_transcript).reason is None
        assert served.answers[-1].status == Status.UNTRUSTED
        assert verdict_now(world) is Verdict.UNWITNESSED
        tell(folder, know_log, change.epoch.log_key)
        tell(folder, retire_key, old)
        search_once(world)
        assert served.answers[-1].status == Status.COSIGNED
        assert verdict_now(world) is Verdict.CONFIRMED


def verdict_now(world: World) -> Verdict | None:
    """Give what the external anchors say of this state now."""
    found = find_anchors(world.session).found
    return None if found is None else found.verdict


def tell(folder: Folder, command: Callable[..., object], key: Verifier) -> None:
    """Run one of the witness's own commands, as its owner would."""
    opened = open_witness(folder)
    try:
        command(opened.store, str(key), None)
    finally:
        opened.store.close()
