"""What is lost of an anchor, what the owner decides about anchors, and what each decision leaves in the log."""

import pytest

from sidecars.leaf import AnchorPolicy, AnchorRecovery
from tests.simulators.anchored import (
    ALL,
    Anchored,
    Scripted,
    bodies_of,
    enrollment_of,
    everything_of,
    lose,
    make_witness,
    memory_note,
    refused,
    standing_of,
)
from tests.simulators.witnesses import serving
from tests.simulators.worlds import (
    consent,
    new_world,
    refusal_of,
    rollout_of,
    search_once,
    write_transcript,
)
from timeline import anchoring, answers, recovery, service
from timeline.anchors.memory import memory_path
from timeline.anchors.port import Answer as Said
from timeline.anchors.port import Standing
from timeline.errors import StateError
from timeline.ports import Ports

# -- lost ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X5", "T67")
@pytest.mark.parametrize("lost", ["anchor", "pin"])
def test_what_is_lost_is_its_own_state_and_comes_back_by_the_witness(anchored: Anchored, lost: str) -> None:
    """Refused with a reason of its own; recovered only because the witness confirms the state; recorded."""
    path = lose(anchored, lost)
    reason = {"anchor": "anchor-lost", "pin": "anchor-pin-missing"}[lost]
    with anchored.served():
        assert everything_of(anchored.world) == {reason}
        found = recovery.recover_anchor(anchored.world.session)
        assert (found.lost, found.basis) == ((lost,), "external")
        assert path.exists()
        assert search_once(anchored.world).startswith(b"{")
    assert bodies_of(anchored.world)[-1] == AnchorRecovery(lost=lost, basis="external")


@pytest.mark.requirement("X5", "T67")
@pytest.mark.parametrize("lost", ["anchor", "pin"])
def test_an_older_state_is_not_recovered(anchored: Anchored, lost: str) -> None:
    """Put back and without anchor or pin: the witness knows better, whatever the owner is made to declare."""
    anchored.put_back("first", *ALL)
    path = lose(anchored, lost)
    with anchored.served():
        for unverified in (False, True):
            action = lambda: recovery.recover_anchor(anchored.world.session, unverified=unverified)  # noqa: B023, E731  (called at once)
            assert refusal_of(action) == "external-anchor-ahead"
    assert not path.exists()


@pytest.mark.requirement("X5", "T67")
def test_what_is_remembered_recovers_nothing(anchored: Anchored) -> None:
    """Put back with everything, fresh, and the witness kept from answering: its old word is no ground."""
    anchored.put_back("first", *ALL)
    lose(anchored, "anchor")
    session = anchored.world.session
    assert refusal_of(lambda: recovery.recover_anchor(session)) == "anchor-recovery-unproven"
    assert not anchored.world.locations.anchor.exists()


@pytest.mark.requirement("X5", "T68")
def test_after_a_declared_recovery_only_a_new_confirmation_counts(anchored: Anchored) -> None:
    """What was remembered was put back with the rest: nothing is answered from it until the witness is asked."""
    anchored.put_back("first", *ALL)
    lose(anchored, "anchor")
    assert recovery.recover_anchor(anchored.world.session, unverified=True).basis == "unverified"
    assert search_once(anchored.world) == refused("stale-unverified")
    with anchored.served():
        assert search_once(anchored.world) == refused("external-anchor-forked")


@pytest.mark.requirement("T67", "D8")
def test_a_carried_anchor_of_this_very_state_recovers_it(anchored: Anchored, tmp_path) -> None:
    """Of exactly this size; one of an earlier size says nothing of what came after it."""
    world = anchored.world
    anchored.put_back("unanchored", *ALL)
    service.export_anchor(world.session, tmp_path / "early")
    rollout = rollout_of(world, seed=7)  # a session of its own: the transcripts are shared by all copies
    consent(world, rollout, write_transcript(world, rollout))
    service.export_anchor(world.session, tmp_path / "late")
    lose(anchored, "anchor")
    early, late = [tmp_path / "early"], [tmp_path / "late"]
    recover = recovery.recover_anchor
    assert refusal_of(lambda: recover(world.session, carried=early)) == "anchor-recovery-unproven"
    assert recover(world.session, carried=[*early, *late]).basis == "carried"
    anchored.put_back("unanchored", *ALL)
    lose(anchored, "anchor")
    assert refusal_of(lambda: recover(world.session, carried=late, unverified=True)) == "rollback"


@pytest.mark.requirement("T67")
@pytest.mark.parametrize("lost", ["anchor", "pin"])
def test_without_a_witness_only_the_owner_can_declare_it(anchored: Anchored, lost: str) -> None:
    """Nothing shows that it is the newest: refused, or declared, and then the log says so for ever."""
    anchored.put_back("unanchored", *ALL)
    lose(anchored, lost)
    session = anchored.world.session
    assert refusal_of(lambda: recovery.recover_anchor(session)) == "anchor-recovery-unproven"
    assert recovery.recover_anchor(session, unverified=True).basis == "unverified"
    assert bodies_of(anchored.world) == [AnchorRecovery(lost=lost, basis="unverified")]
    assert refusal_of(lambda: recovery.recover_anchor(session)) == "anchor-recovery-unneeded"


@pytest.mark.requirement("X5", "T67")
def test_every_recovery_stays_to_be_seen(anchored: Anchored) -> None:
    """Each verification names the leaf and its ground, and what only a confirmation would have shown."""
    world = anchored.world
    size = standing_of(world).size
    lose(anchored, "anchor")
    with anchored.served():
        recovery.recover_anchor(world.session)
    lose(anchored, "pin")
    recovery.recover_anchor(world.session, unverified=True)
    lose(anchored, "anchor")
    lose(anchored, "pin")
    recovery.recover_anchor(world.session, unverified=True)
    with anchored.served():
        said = answers.report_answer(service.verify_timeline(world.session, deep=False))
    anchor, pin = "the local anchor was lost", "the pin of the external anchors was lost"
    assert [check["detail"] for check in said["checks"] if check["name"] == "anchor recovery"] == [
        f"leaf {size}: {anchor}, external",
        f"leaf {size + 1}: {pin}, unverified",
        f"leaf {size + 2}: {anchor}, unverified",
        f"leaf {size + 3}: {pin}, unverified",
    ]
    assert [item for item in said["notChecked"] if item.startswith("anchor recovery: ")] == [
        f"anchor recovery: whether leaves were committed and are missing before leaf {size + number}"
        for number in (1, 2, 3)
    ]


def test_a_lost_anchor_under_an_unfinished_head_is_recovered_too(anchored: Anchored) -> None:
    """A crash after the database and the loss of the anchor at once: the head is completed, the anchor asked for."""
    world = anchored.world
    anchored.put_back("second", *ALL)
    anchored.put_back("first", "state/head")
    world.locations.anchor.unlink()
    with anchored.served():
        assert recovery.recover_anchor(world.session).basis == "external"
        assert search_once(world).startswith(b"{")


@pytest.mark.parametrize("content", [b"", b"timeline-anchors/v1\n", b"\xff" * 40])
def test_a_damaged_pin_is_refused(anchored: Anchored, content: bytes) -> None:
    """Whatever is not a pin of this log is not taken for one."""
    anchored.world.locations.anchor_pin.write_bytes(content)
    assert search_once(anchored.world) == refused("anchor-pin-invalid")


def test_the_pin_of_another_log_is_refused(anchored: Anchored, tmp_path) -> None:
    """Its origin is not ours."""
    other = new_world(tmp_path / "other")
    anchored.world.locations.anchor_pin.write_bytes(other.locations.anchor_pin.read_bytes())
    assert search_once(anchored.world) == refused("anchor-pin-invalid")


def test_a_pin_that_a_crash_has_left_behind_is_moved_by_the_next_writer(anchored: Anchored) -> None:
    """Committed and not pinned yet: reading goes on, and the next commit pins it."""
    world = anchored.world
    newest = world.locations.anchor_pin.read_bytes()
    anchored.put_back("unanchored", "config/anchors")
    with anchored.served():
        assert search_once(world).startswith(b"{")
        service.revoke(world.session, enrollment_of(anchored))
    assert world.locations.anchor_pin.read_bytes() == newest


# -- decisions -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X5")
def test_requiring_and_giving_up_an_anchor_are_leaves(anchored: Anchored) -> None:
    """The whole policy each time, under the owner key; what was given up is asked no more."""
    world = anchored.world
    with anchored.served():
        anchoring.remove_anchor(world.session, "witness-1")
        assert not memory_path(world.locations, "witness-1").exists()
        policies = [body for body in bodies_of(world) if isinstance(body, AnchorPolicy)]
        assert [len(policy.anchors) for policy in policies] == [1, 0]
    assert search_once(world).startswith(b"{")


@pytest.mark.requirement("X5")
def test_an_anchor_that_does_not_confirm_is_not_required(anchored: Anchored, tmp_path) -> None:
    """A witness that does not know the log, one that is away, and a state that it knows to be older."""
    world = anchored.world
    anchored.put_back("unanchored", *ALL)
    key = str(anchored.key())

    def adding(address: str) -> str | None:
        return refusal_of(lambda: anchoring.add_anchor(world.session, "witness", address, key=key))

    assert adding(f"unix:{anchored.socket}") == "anchor-not-confirmed"
    with anchored.served():
        assert adding(f"unix:{anchored.socket}") == "external-anchor-ahead"
    stranger = make_witness(new_world(tmp_path / "other"), tmp_path / "stranger")
    with serving(stranger, at=anchored.socket):
        assert adding(f"unix:{anchored.socket}") == "anchor-not-confirmed"
    assert bodies_of(world) == []
    assert search_once(world).startswith(b"refused: private-enrollment-unavailable")


def test_an_alarm_after_a_commit_is_raised_and_the_commit_stays(anchored: Anchored) -> None:
    """The anchor objects only when it is asked about the new head: the caller hears of it, and so does the next."""
    world = anchored.world
    with anchored.served():
        enrollment = enrollment_of(anchored)
        size = standing_of(world).size
        note = world.locations.head.read_bytes()
        at = world.clock.at_ms // 1000
        answers = [
            Said(Standing.CONFIRMED, size=size, note=memory_note(anchored), at=at),
            Said(Standing.FORKED, size=size, reason="other-root"),
        ]
        ports = Ports(world.clock, world.session.ports.entropy, connect=lambda *_: Scripted(answers))
        session = service.Session(world.locations, ports, world.session.environment)
        assert refusal_of(lambda: service.revoke(session, enrollment)) == "external-anchor-forked"
    assert world.locations.head.read_bytes() != note


def test_every_refusal_of_an_anchor_is_a_state_error() -> None:
    """Callers that handle an unusable state handle these as well."""
    from timeline.anchors import errors

    for name in ("ExternalAheadError", "ExternalForkedError", "AnchorDistrustedError", "StaleError"):
        assert issubclass(getattr(errors, name), StateError)
