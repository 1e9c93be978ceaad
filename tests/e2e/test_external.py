"""The rows of the detection matrix that need somebody outside: files put back under a real witness (integrity §3.3)."""

import threading
from collections.abc import Callable

import pytest

from sidecars.cosignature import open_cosignatures
from sidecars.leaf import AnchorEntry, FormatPolicy
from sidecars.offline import verify_proof_file
from tests.simulators.anchored import (
    ALL,
    MOMENTS,
    Anchored,
    Overheard,
    Scripted,
    enrollment_of,
    everything_of,
    make_witness,
    memory_note,
    refused,
    standing_of,
)
from tests.simulators.worlds import (
    World,
    checkpoint_of,
    event_ids,
    prompt_event,
    refusal_of,
    search_once,
    verdict_of,
)
from timeline import anchoring, formats, service
from timeline.anchoring import Bounds
from timeline.anchors.memory import memory_path
from timeline.anchors.port import Answer as Said
from timeline.anchors.port import MonotonicAnchor, Standing
from timeline.anchors.rules import Verdict
from timeline.clock import Clock, Stopwatch
from timeline.ports import Ports, connect_anchor
from timeline.prove import prove_event
from timeline.state import open_for_writing
from timeline.tlog import Step, check_anchor

LATER = MOMENTS[1:]


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


def test_a_prompt_asks_nobody(anchored: Anchored) -> None:
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
def test_two_histories_are_told_apart(anchored: Anchored, anchored_origin: Anchored, tmp_path) -> None:
    """One timeline goes on in two copies; the witness has confirmed the other one at the same size, and at more."""
    other = anchored_origin.copy(tmp_path / "other")
    for twin in (anchored, other):
        twin.put_back("first", *ALL)
    anchored.put_back("first", "witness")
    with anchored.served():
        anchored.index(operations=1)
    other.witness = anchored.witness
    other.index(operations=1)  # alone: the witness is away
    with other.served():
        assert search_once(other.world) == refused("external-anchor-forked")
    service.revoke(other.world.session, enrollment_of(other))
    with other.served():
        assert search_once(other.world) == refused("external-anchor-forked")


@pytest.mark.requirement("X5")
def test_a_remembered_signature_shows_a_fork_without_a_network(anchored: Anchored) -> None:
    """Put back, gone on alone, and the witness's signature on the other history is still here."""
    anchored.put_back("first", *ALL)
    anchored.index(operations=1)
    anchored.put_back("second", "trust/anchors/witness-1")
    assert search_once(anchored.world) == refused("external-anchor-forked")


@pytest.mark.requirement("X5")
@pytest.mark.parametrize(
    "listing",
    [
        lambda world: service.list_sources(world.session, world.root),
        lambda world: formats.list_types(world.session),
        lambda world: formats.show_type(world.session, "codex", "a-type"),
    ],
    ids=["sources", "types", "type"],
)
@pytest.mark.parametrize("kept", [("state/head", "trust/anchor"), ("trust/anchor",)], ids=["head", "anchor"])
def test_a_listing_of_an_older_state_with_a_repair_due_is_refused(
    anchored: Anchored, listing: Callable[[World], object], kept: tuple[str, ...]
) -> None:
    """A state on which a repair is due is not asked about: nothing may be answered from it before."""
    anchored.put_back("first", *ALL)
    anchored.put_back("enrolled", *kept)
    with anchored.served():
        assert refusal_of(lambda: listing(anchored.world)) == "external-anchor-ahead"


def test_an_older_answer_does_not_replace_what_is_remembered(anchored: Anchored) -> None:
    """Two processes ask at once, and the slower one has the older confirmation."""
    world, path = anchored.world, memory_path(anchored.world.locations, "witness-1")
    before = path.read_bytes()
    size, at = checkpoint_of(world.locations.head)[0], world.clock.at_ms // 1000
    older = Said(Standing.CONFIRMED, size=size, note=memory_note(anchored), at=at - 5)
    ports = Ports(world.clock, world.session.ports.entropy, connect=lambda *_: Scripted([older]))
    session = service.Session(world.locations, ports, world.session.environment)
    assert len(service.list_sources(session, world.root)) == 1
    assert path.read_bytes() == before


def test_an_older_state_is_not_anchored_once_more(anchored: Anchored, tmp_path) -> None:
    """A second anchor cannot be required while the first one objects."""
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    anchored.put_back("first", *ALL)
    place = tmp_path / "elsewhere" / "anchor"
    with anchored.served():
        action = lambda: anchoring.add_anchor(anchored.world.session, "file", str(place))  # noqa: E731  (one use)
        assert refusal_of(action) == "external-anchor-ahead"
    assert not place.exists()


def test_an_anchor_that_came_back_during_its_recovery_is_not_replaced(anchored: Anchored) -> None:
    """Whoever puts it there meanwhile is another process: nothing is written over it."""
    assert refusal_of(lambda: check_anchor(anchored.world.locations.anchor, None)) == "state-busy"


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
    assert standing_of(world).found is not None
    enrollment = enrollment_of(anchored)
    before = world.locations.head.read_bytes()
    assert refusal_of(lambda: service.revoke(world.session, enrollment)) == "unwitnessed"
    assert world.locations.head.read_bytes() == before
    with anchored.served():
        service.revoke(world.session, enrollment)
    assert standing_of(world).refused is None


@pytest.mark.requirement("X5")
def test_one_command_waits_for_a_silent_witness_once(anchored: Anchored) -> None:
    """Asked when it opens, and not again after each of its commits; all of them are counted."""
    world, asked = anchored.world, []

    def connect(entry: AnchorEntry, clock: Clock, stopwatch: Stopwatch) -> MonotonicAnchor:
        asked.append(entry.name)
        return connect_anchor(entry, clock, stopwatch)

    anchored.put_back("enrolled", *ALL, "witness")
    size = standing_of(world).size
    ports = Ports(world.clock, world.session.ports.entropy, connect=connect)
    session = service.Session(world.locations, ports, world.session.environment)
    with open_for_writing(world.locations, ports) as state:
        for name in ("one", "two", "three"):
            state.commit([FormatPolicy(host="codex", type=name, accepted=True)])
        assert state.external.found is not None
        assert state.external.found.behind == 3
    assert asked == ["witness-1"]
    assert standing_of(world).size == size + 3
    assert len(service.list_sources(session, world.root)) == 1
    assert asked == ["witness-1", "witness-1"]


class _Heard(Exception):  # noqa: N818  # it stands for a kill, and is no error
    """The process dies here."""


@pytest.mark.requirement("X5", "T68")
def test_a_witness_that_knows_a_batch_before_the_local_anchor_is_no_alarm(anchored: Anchored) -> None:
    """It is asked while the local anchor is written; whoever is killed in between finds a repair, not a rollback."""
    world, heard = anchored.world, threading.Event()

    def connect(entry: AnchorEntry, clock: Clock, stopwatch: Stopwatch) -> MonotonicAnchor:
        return Overheard(connect_anchor(entry, clock, stopwatch), heard)

    def probe(step: Step) -> None:
        if step is Step.ANCHOR and world.locations.head.read_bytes() != before:
            assert heard.wait(30), "the witness is asked before the local anchor is written, not after"
            raise _Heard

    before = world.locations.head.read_bytes()
    ports = Ports(world.clock, world.session.ports.entropy, probe=probe, connect=connect)
    with anchored.served():
        with open_for_writing(world.locations, world.session.ports) as state:
            size = state.belief.size
        with pytest.raises(_Heard), open_for_writing(world.locations, ports) as state:
            heard.clear()
            state.commit([FormatPolicy(host="codex", type="one", accepted=True)])
        assert world.locations.anchor.read_bytes() == before
        assert checkpoint_of(world.locations.head)[0] == size + 1
        with open_for_writing(world.locations, world.session.ports) as state:
            assert state.repaired
            assert state.belief.size == size + 1
            assert state.external.found is not None
            assert state.external.found.verdict is Verdict.CONFIRMED
    assert world.locations.anchor.read_bytes() == world.locations.head.read_bytes()


@pytest.mark.requirement("X5")
def test_an_anchor_that_is_added_while_another_is_silent_is_asked_at_once(
    anchored: Anchored, tmp_path
) -> None:
    """The new policy's own leaf is confirmed by the new anchor, although the old one does not answer."""
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    place = tmp_path / "elsewhere" / "anchor"
    anchoring.add_anchor(anchored.world.session, "file", str(place))
    assert place.read_bytes() == anchored.world.locations.head.read_bytes()


def test_a_missing_memory_counts_for_nothing_until_the_witness_answers(anchored: Anchored) -> None:
    """Whoever deletes what is remembered gains nothing: offline it is stale, online it is learnt again."""
    path = memory_path(anchored.world.locations, "witness-1")
    path.unlink()
    assert search_once(anchored.world) == refused("stale-unverified")
    with anchored.served():
        assert search_once(anchored.world).startswith(b"{")
    assert path.exists()


@pytest.mark.requirement("X5")
def test_a_changed_memory_counts_for_nothing(anchored: Anchored) -> None:
    """It is signed, by the log and by the witness who states its time: any other byte, and it is as good as missing."""
    path = memory_path(anchored.world.locations, "witness-1")
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert search_once(anchored.world) == refused("stale-unverified"), place
    path.write_bytes(b"")  # as a power failure may leave it
    with anchored.served():
        assert search_once(anchored.world).startswith(b"{")
    assert path.read_bytes().startswith(b"timeline-anchor-memory/v1")


# -- overtaken -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X5")
@pytest.mark.parametrize("verifies", [False, True], ids=["reading", "verifying"])
def test_a_commit_between_reading_and_asking_is_no_alarm(anchored: Anchored, *, verifies: bool) -> None:
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
        if verifies:
            assert service.verify_timeline(session, deep=False).verdict == "ok"
        else:
            assert len(service.list_sources(session, world.root)) == 1
        assert standing_of(world).size == checkpoint_of(world.locations.head)[0]
    assert others
