"""A log key that is lost is recovered with the owner key; one that was stolen is revoked, and said to be (X7)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.keyrings import (
    OK,
    Rotated,
    assert_refused,
    head_of,
    log_leaves,
    log_signer,
    write_heads,
)
from tests.e2e.offers import assert_good_one_works
from tests.simulators.worlds import (
    World,
    answers_of,
    contents,
    event_ids,
    leaves_of,
    prompt_event,
    refusal_of,
    rollout_of,
    verdict_of,
    write_transcript,
)
from timeline import service
from timeline.epochs import Reason, change_log_key, list_log_keys

# -- lost and compromised --------------------------------------------------------------------------------------

DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "damaged": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "another key": lambda path: path.write_bytes(path.with_name("owner.key").read_bytes()),
}


@pytest.mark.requirement("X7", "T67")
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_lost_log_key_is_recovered_with_the_owner_key(world: World, damage: str) -> None:
    """Everything refuses and names the way out; after it, all evidence stands and the log goes on."""
    answers, before = answers_of(world), event_ids(world)
    DAMAGE[damage](world.locations.keys / "log.key")
    reason = "state-incomplete" if damage == "missing" else "key-mismatch"
    assert_refused(world, reason)
    with pytest.raises(service.REFUSALS) as refused:
        service.list_sources(world.session, None)
    assert "timeline key rotate --lost" in refused.value.hint
    change_log_key(world.session, "lost")
    assert [key.epoch.reason for key in list_log_keys(world.session).log] == ["first", "lost"]
    assert (verdict_of(world, deep=True), answers_of(world), event_ids(world)) == (OK, answers, before)
    assert_good_one_works(world)


@pytest.mark.requirement("X7")
def test_a_key_that_is_here_is_not_lost(world: World) -> None:
    """An orderly change is not passed off as another one."""
    before = contents(world.folder)
    assert refusal_of(lambda: change_log_key(world.session, "lost")) == "log-key-present"
    assert contents(world.folder) == before


@pytest.mark.requirement("X7", "T67")
@pytest.mark.parametrize("reason", ["rotation", "lost", "compromised"])
@pytest.mark.parametrize("name", ["owner", "fingerprint"])
def test_a_lost_owner_key_ends_the_timeline(world: World, name: str, reason: Reason) -> None:
    """Nobody else can name a key: no change of any kind, and nothing is made anew in its place."""
    (world.locations.keys / f"{name}.key").unlink()
    before = contents(world.folder)
    assert refusal_of(lambda: change_log_key(world.session, reason)) == "state-incomplete"
    assert contents(world.folder) == before


@pytest.mark.requirement("X7")
def test_a_key_that_is_lost_in_the_middle_of_a_commit_needs_its_backup(world: World) -> None:
    """What no head has signed yet can be signed by that key alone; the refusal says so, and nothing is dropped."""
    rows = leaves_of(world)
    write_heads(world, head_of(world, len(rows) - 1, log_signer(world)))
    path = world.locations.keys / "log.key"
    kept = path.read_bytes()
    path.unlink()
    before = contents(world.folder)
    with pytest.raises(service.REFUSALS) as refused:
        change_log_key(world.session, "lost")
    assert (refused.value.reason, "backup" in refused.value.hint) == ("key-mismatch", True)
    assert contents(world.folder) == before
    path.write_bytes(kept)
    path.chmod(0o600)
    change_log_key(world.session, "rotation")
    assert verdict_of(world) == OK


@pytest.mark.requirement("X7")
def test_what_a_compromised_key_signed_is_named(rotated: Rotated) -> None:
    """``verify`` lists its leaves each time, and those of no other key; nothing is taken back."""
    world = rotated.world
    signed = tuple(leaf for leaf in log_leaves(rotated) if leaf > rotated.epoch_leaf)
    answers = answers_of(world)
    change_log_key(world.session, "compromised")
    _, second, third = list_log_keys(world.session).log
    named = [index for first, last in second.signed for index in range(first, last + 1)]
    assert tuple(named) == signed
    assert (second.ended, third.ended) == ("compromised", None)
    report = service.verify_timeline(world.session, deep=True)
    (check,) = [check for check in report.checks if check.reason == "log-key-compromised"]
    assert (report.verdict, check.ok) == ("ok", True)
    assert rotated.new.verifier.key_id.hex() in check.name
    assert all(str(first) in check.detail for first, _ in second.signed)
    assert any(check.name in item for item in report.not_checked)
    assert answers_of(world) == answers
    assert_good_one_works(world)


@pytest.mark.requirement("X7", "T6")
@pytest.mark.parametrize("reason", ["rotation", "compromised"])
def test_pending_receipts_lapse_with_their_key(world: World, reason: Reason) -> None:
    """A receipt that a thief has made is spent by nobody."""
    rollout = rollout_of(world, seed=7)
    path = write_transcript(world, rollout)
    event = prompt_event(world, rollout.thread_id, str(path))
    receipt = service.receive_prompt(world.session, "codex", event)
    assert receipt in service.list_receipts(world.session, world.root)
    change_log_key(world.session, reason)
    assert service.list_receipts(world.session, world.root) == ()
    spent = refusal_of(lambda: service.enroll(world.session, world.root, receipt.id, confirmed=True))
    assert spent == "host-transcript-receipt-unavailable"
    again = service.receive_prompt(world.session, "codex", event)
    service.enroll(world.session, world.root, again.id, confirmed=True)
