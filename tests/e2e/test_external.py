"""The rows of the detection matrix that need somebody outside: files put back under a real witness (integrity §3.3)."""

from collections.abc import Callable, Iterator

import pytest

from sidecars.cosignature import open_cosignatures
from sidecars.leaf import AnchorEntry, AnchorPolicy, AnchorRecovery
from sidecars.offline import verify_proof_file
from tests.simulators.anchored import MOMENTS, Anchored, make_anchored, make_witness
from tests.simulators.witnesses import serving, socket_path
from tests.simulators.worlds import (
    World,
    answers_of,
    consent,
    event_ids,
    new_world,
    prompt_event,
    refusal_of,
    rollout_of,
    search_once,
    verdict_of,
    write_transcript,
)
from timeline import anchoring, recovery, service
from timeline.anchoring import Bounds
from timeline.anchors.memory import memory_path
from timeline.anchors.port import Answer as Said
from timeline.anchors.port import MonotonicAnchor, Question
from timeline.assurance import find_standing
from timeline.clock import Clock, Stopwatch
from timeline.errors import StateError
from timeline.paths import Locations
from timeline.ports import Ports, connect_anchor
from timeline.prove import prove_event
from timeline.state import open_local

ALL = ("state", "trust", "config")
LATER = MOMENTS[1:]


@pytest.fixture(scope="module")
def socket() -> Iterator[str]:
    """Give the place where the witness is asked."""
    with socket_path() as path:
        yield path


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, socket: str) -> Anchored:
    """Give the anchored world at its newest moment; it is copied, never changed."""
    return make_anchored(tmp_path_factory.mktemp("anchored"), socket)


@pytest.fixture
def anchored(original: Anchored, tmp_path) -> Anchored:
    """Give a copy, to be changed."""
    return original.copy(tmp_path)


def refused(reason: str) -> bytes:
    """Give what a search answers that is refused so."""
    return f"refused: {reason}".encode()


def everything_of(world: World) -> set[str | None]:
    """Ask, index, list, prove and consent: the reasons why each is refused."""
    session, root = world.session, world.root
    actions: list[Callable[[], object]] = [
        lambda: service.index(session, root),
        lambda: service.list_sources(session, root),
        lambda: prove_event(session, root, "timeline-event:" + "0" * 32),
        lambda: service.revoke(session, "timeline-enrollment:" + "0" * 32),
    ]
    asked = {answer.decode().partition("refused: ")[2] or None for answer in answers_of(world).values()}
    return {*asked, *(refusal_of(action) for action in actions)}


def bodies_of(world: World) -> list[object]:
    """Give the owner's anchor leaves of a log, in order."""
    found: list[object] = []
    with open_local(world.locations, world.session.ports) as state:
        from sidecars.leaf import open_leaf

        owner = state.keystore.pins.owner
        for _, _, envelope in state.store.leaves():
            if b"leaf.anchor-" in envelope:
                found.append(open_leaf(envelope, owner, None).body)
    return found


# -- the newest state ------------------------------------------------------------------------------------------


@pytest.mark.requirement("X5", "T68")
def test_a_state_that_the_witness_confirms_answers(anchored: Anchored) -> None:
    """All of one moment, the witness too: found, confirmed, and so says ``verify``."""
    with anchored.served():
        assert search_once(anchored.world).startswith(b"{")
        report = service.verify_timeline(anchored.world.session, deep=True)
    assert report.verdict == "ok"
    assert report.level == "L1"  # a socket of the same user proves nothing of who serves it
    assert not any("complete restoration" in item for item in report.not_checked)


def test_each_commit_is_cosigned(anchored: Anchored) -> None:
    """The witness's line over the very head lies in the trust folder after a commit."""
    with anchored.served():
        anchored.index()
    note = memory_path(anchored.world.locations, "witness-1").read_bytes().partition(b"\n\n")[2]
    head = anchored.world.locations.head.read_bytes()
    assert note.startswith(head)
    assert len(open_cosignatures(note, [anchored.key()])) == 1


@pytest.mark.requirement("X6")
def test_a_proof_carries_the_cosignature(anchored: Anchored) -> None:
    """What the witness signed travels with the proof, and verifies under its key alone."""
    with anchored.served():
        event = event_ids(anchored.world)[0]
        proof = prove_event(anchored.world.session, anchored.world.root, event)
    assert [ref.name for ref in proof.cosigners] == ["witness.example/w"]
    proven, _ = verify_proof_file(proof.content, list(proof.keys), [anchored.key()])
    assert [one.key for one in proven.cosigned] == [anchored.key().ref]


def test_a_prompt_asks_nobody(anchored: Anchored, original: Anchored) -> None:
    """A hook does not wait for the network: a receipt grants nothing yet."""
    world = anchored.world
    rollouts = list((world.home / ".codex" / "sessions").rglob("*.jsonl"))
    session_id = rollouts[0].stem[-36:]
    event = prompt_event(world, session_id, str(rollouts[0]), turn_id="turn-2")
    with anchored.served() as served:
        service.receive_prompt(world.session, "codex", event)
        assert served.answers == []


# -- put back --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X5", "T68", "D8")
@pytest.mark.parametrize("moment", LATER[:-1])
def test_a_complete_restoration_is_refused(anchored: Anchored, moment: str) -> None:
    """State, trust and configuration of one older moment: nothing is answered, nothing is written."""
    anchored.put_back(moment, *ALL)
    with anchored.served():
        assert everything_of(anchored.world) == {"external-anchor-ahead"}
        verdict, reasons = verdict_of(anchored.world)
    assert verdict == "refused"
    assert "external-anchor-ahead" in reasons


@pytest.mark.requirement("X5", "T68")
@pytest.mark.parametrize("kept", [("config",), ()], ids=["configuration kept", "all put back"])
def test_a_restoration_to_before_the_anchor_was_required(anchored: Anchored, kept: tuple[str, ...]) -> None:
    """The pin in the third folder refuses it; with all three put back nothing can, and ``verify`` says so."""
    anchored.put_back("unanchored", *(folder for folder in ALL if folder not in kept))
    with anchored.served():
        if kept:
            assert search_once(anchored.world) == refused("state-behind-anchor-pin")
            assert verdict_of(anchored.world) == ("refused", frozenset({"state-behind-anchor-pin"}))
        else:
            report = service.verify_timeline(anchored.world.session, deep=False)
            assert report.verdict == "ok"
            assert any(item.startswith("complete restoration") for item in report.not_checked)


@pytest.mark.requirement("X5")
def test_what_is_remembered_here_refuses_an_older_state_without_a_network(anchored: Anchored) -> None:
    """State, head and local anchor of before, the memory of now, and no witness: its old signature is enough."""
    anchored.put_back("first", "state", "trust/anchor")
    assert search_once(anchored.world) == refused("external-anchor-ahead")


@pytest.mark.requirement("X5")
def test_two_histories_are_told_apart(anchored: Anchored, original: Anchored, tmp_path) -> None:
    """One timeline goes on in two copies; the witness has confirmed the other one at the same size, and at more."""
    other = original.copy(tmp_path / "other")
    for twin in (anchored, other):
        twin.put_back("first", *ALL)
    anchored.put_back("first", "witness")
    with anchored.served():
        anchored.index(operations=1)
    other.witness = anchored.witness
    other.index(operations=1)  # alone: the witness is away
    with other.served():
        assert search_once(other.world) == refused("external-anchor-forked")
    service.revoke(other.world.session, _enrollment_of(other))
    with other.served():
        assert search_once(other.world) == refused("external-anchor-forked")


def _enrollment_of(anchored: Anchored) -> str:
    (source,) = service.list_sources(anchored.world.session, anchored.world.root)
    return source.source.enrollment.enrollment_id


# -- the witness itself ----------------------------------------------------------------------------------------


@pytest.mark.requirement("X5")
@pytest.mark.parametrize("moment", ["anchored", "first"])
def test_a_witness_that_was_put_back_is_distrusted(anchored: Anchored, moment: str) -> None:
    """We hold its newer signature: what it says now proves nothing, and it is not counted."""
    anchored.put_back(moment, "witness")
    with anchored.served():
        assert search_once(anchored.world) == refused("external-anchor-distrusted")
        anchoring.remove_anchor(anchored.world.session, "witness-1")
        assert search_once(anchored.world).startswith(b"{")


def test_another_key_at_the_same_place_is_distrusted(anchored: Anchored, tmp_path) -> None:
    """A witness that signs with a key that is not pinned confirms nothing."""
    anchored.witness = make_witness(anchored.world, tmp_path / "stranger", "witness.example/other")
    with anchored.served():
        assert search_once(anchored.world) == refused("external-anchor-distrusted")


@pytest.mark.requirement("X5")
def test_a_silent_witness_is_bridged_for_as_long_as_the_owner_allows(anchored: Anchored) -> None:
    """Within the freshness bound the newest confirmation counts; after it nothing is answered."""
    anchored.wait(24 * 3600)
    assert search_once(anchored.world).startswith(b"{")
    anchored.wait(1)
    assert search_once(anchored.world) == refused("stale-unverified")
    assert verdict_of(anchored.world)[0] == "refused"
    with anchored.served():
        assert search_once(anchored.world).startswith(b"{")


@pytest.mark.requirement("X5")
def test_commits_without_a_witness_are_bounded(anchored: Anchored) -> None:
    """The bound stops writing, not reading; once the witness answers, work goes on."""
    world = anchored.world
    with anchored.served():
        anchoring.set_bounds(world.session, Bounds(unwitnessed_max=1))
    anchored.index(operations=1)
    assert search_once(world).startswith(b"{")
    assert _standing(world).found is not None
    enrollment = _enrollment_of(anchored)
    before = world.locations.head.read_bytes()
    assert refusal_of(lambda: service.revoke(world.session, enrollment)) == "unwitnessed"
    assert world.locations.head.read_bytes() == before
    with anchored.served():
        service.revoke(world.session, enrollment)
    assert _standing(world).refused is None


def _standing(world: World):
    with open_local(world.locations, world.session.ports) as state:
        return find_standing(state, ask=True)


def test_a_missing_memory_counts_for_nothing_until_the_witness_answers(anchored: Anchored) -> None:
    """Whoever deletes what is remembered gains nothing: offline it is stale, online it is learnt again."""
    path = memory_path(anchored.world.locations, "witness-1")
    path.unlink()
    assert search_once(anchored.world) == refused("stale-unverified")
    with anchored.served():
        assert search_once(anchored.world).startswith(b"{")
    assert path.exists()


def test_every_changed_byte_of_a_memory_is_refused(anchored: Anchored) -> None:
    """It is signed: by the log, and by the witness who states its time."""
    path = memory_path(anchored.world.locations, "witness-1")
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert search_once(anchored.world) == refused("anchor-memory-invalid"), place
    path.write_bytes(content)
    assert search_once(anchored.world).startswith(b"{")


# -- overtaken -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X5")
def test_a_commit_between_reading_and_asking_is_no_alarm(anchored: Anchored) -> None:
    """The witness knows more than was read, because another process has committed: it is read again."""
    world, others = anchored.world, []

    def connect(entry: AnchorEntry, clock: Clock, stopwatch: Stopwatch) -> MonotonicAnchor:
        if not others:
            others.append(1)
            anchored.index(operations=1)
        return connect_anchor(entry, clock, stopwatch)

    ports = Ports(world.clock, world.session.ports.entropy, connect=connect)
    session = service.Session(world.locations, ports, world.session.environment)
    anchored.put_back("first", *ALL, "witness")
    with anchored.served():
        assert len(service.list_sources(session, world.root)) == 1
        others.clear()
        anchored.put_back("first", *ALL, "witness")
        assert service.verify_timeline(session, deep=False).verdict == "ok"
    assert others


# -- lost ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X5", "T67")
@pytest.mark.parametrize("lost", ["anchor", "pin"])
def test_what_is_lost_is_its_own_state_and_comes_back_by_the_witness(anchored: Anchored, lost: str) -> None:
    """Refused with a reason of its own; recovered only because the witness confirms the state; recorded."""
    path = _lose(anchored, lost)
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
    path = _lose(anchored, lost)
    with anchored.served():
        for unverified in (False, True):
            action = lambda: recovery.recover_anchor(anchored.world.session, unverified=unverified)  # noqa: B023, E731  (called at once)
            assert refusal_of(action) == "external-anchor-ahead"
    assert not path.exists()


@pytest.mark.requirement("X5", "T67")
def test_what_is_remembered_recovers_nothing(anchored: Anchored) -> None:
    """Put back with everything, fresh, and the witness kept from answering: its old word is no ground."""
    anchored.put_back("first", *ALL)
    _lose(anchored, "anchor")
    session = anchored.world.session
    assert refusal_of(lambda: recovery.recover_anchor(session)) == "anchor-recovery-unproven"
    assert not anchored.world.locations.anchor.exists()


@pytest.mark.requirement("T67", "D8")
def test_a_carried_anchor_of_this_very_state_recovers_it(anchored: Anchored, tmp_path) -> None:
    """Of exactly this size; one of an earlier size says nothing of what came after it."""
    world = anchored.world
    anchored.put_back("unanchored", *ALL)
    service.export_anchor(world.session, tmp_path / "early")
    rollout = rollout_of(world, seed=7)  # a session of its own: the transcripts are shared by all copies
    consent(world, rollout, write_transcript(world, rollout))
    service.export_anchor(world.session, tmp_path / "late")
    _lose(anchored, "anchor")
    early, late = [tmp_path / "early"], [tmp_path / "late"]
    recover = recovery.recover_anchor
    assert refusal_of(lambda: recover(world.session, carried=early)) == "anchor-recovery-unproven"
    assert recover(world.session, carried=[*early, *late]).basis == "carried"
    anchored.put_back("unanchored", *ALL)
    _lose(anchored, "anchor")
    assert refusal_of(lambda: recover(world.session, carried=late, unverified=True)) == "rollback"


@pytest.mark.requirement("T67")
@pytest.mark.parametrize("lost", ["anchor", "pin"])
def test_without_a_witness_only_the_owner_can_declare_it(anchored: Anchored, lost: str) -> None:
    """Nothing shows that it is the newest: refused, or declared, and then the log says so for ever."""
    anchored.put_back("unanchored", *ALL)
    _lose(anchored, lost)
    session = anchored.world.session
    assert refusal_of(lambda: recovery.recover_anchor(session)) == "anchor-recovery-unproven"
    assert recovery.recover_anchor(session, unverified=True).basis == "unverified"
    assert bodies_of(anchored.world) == [AnchorRecovery(lost=lost, basis="unverified")]
    assert refusal_of(lambda: recovery.recover_anchor(session)) == "anchor-recovery-unneeded"


def _lose(anchored: Anchored, lost: str):
    locations: Locations = anchored.world.locations
    path = locations.anchor if lost == "anchor" else locations.anchor_pin
    path.unlink()
    return path


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
        service.revoke(world.session, _enrollment_of(anchored))
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


class _Forgetful:
    """An anchor that says what it is told to say."""

    def __init__(self, answers: list[Said]) -> None:
        self.answers = answers

    def advance(self, question: Question) -> Said:
        """Say the next thing."""
        del question
        return self.answers.pop(0)


def test_an_alarm_after_a_commit_is_raised_and_the_commit_stays(anchored: Anchored) -> None:
    """The anchor objects only when it is asked about the new head: the caller hears of it, and so does the next."""
    from timeline.anchors.port import Standing

    world = anchored.world
    with anchored.served():
        enrollment = _enrollment_of(anchored)
        size = _standing(world).size
        note = world.locations.head.read_bytes()
        at = world.clock.at_ms // 1000
        answers = [
            Said(Standing.CONFIRMED, size=size, note=memory_note(anchored), at=at),
            Said(Standing.FORKED, size=size, reason="other-root"),
        ]
        ports = Ports(world.clock, world.session.ports.entropy, connect=lambda *_: _Forgetful(answers))
        session = service.Session(world.locations, ports, world.session.environment)
        assert refusal_of(lambda: service.revoke(session, enrollment)) == "external-anchor-forked"
    assert world.locations.head.read_bytes() != note


def memory_note(anchored: Anchored) -> bytes:
    """Give the cosigned note that is remembered."""
    return memory_path(anchored.world.locations, "witness-1").read_bytes().partition(b"\n\n")[2]


def test_every_refusal_of_an_anchor_is_a_state_error() -> None:
    """Callers that handle an unusable state handle these as well."""
    from timeline.anchors import errors

    for name in ("ExternalAheadError", "ExternalForkedError", "AnchorDistrustedError", "StaleError"):
        assert issubclass(getattr(errors, name), StateError)
