"""A backup goes on as a declared fork: what it says of itself, what it takes over, and that it is never the old log."""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sidecars.errors import OriginMismatchError, SidecarError, UnknownKeyError
from sidecars.keys import Verifier
from sidecars.leaf import open_leaf
from sidecars.lineage import Fork
from sidecars.offline import verify_proof_file
from tests.backup.places import DECLARED, Backed, place_for, stands_in, untouched
from tests.simulators.anchored import Anchored
from tests.simulators.growth import follow, overwrite
from tests.simulators.worlds import (
    World,
    answers_of,
    event_ids,
    leaves_of,
    prompt_event,
    refusal_of,
    rollout_of,
    verdict_of,
    with_folders_of,
    write_transcript,
)
from tests.timeline.cases import Case, enroll_session
from timeline import anchoring, answers, formats, service
from timeline.backup import back_up
from timeline.forking import Forked, fork_backup, still_counts
from timeline.keystore import load_keystore, read_pins
from timeline.limits import FOLLOW_SECONDS_DEFAULT, RECALL_SECONDS_DEFAULT
from timeline.prove import prove_event
from timeline.restore import restore
from timeline.staging import Given
from timeline.state import open_local

OK = ("ok", frozenset())
NEW = "event_msg/new_thing"


def fork(world: World, file: Path, given: Given = Given()) -> Forked:  # noqa: B008  (a frozen value)
    """Begin a fork at a place."""
    found = fork_backup(world.session, file, given)
    assert found is not None
    return found


@pytest.fixture
def forked(backed: Backed, tmp_path: Path) -> World:
    """Give a fork of the indexed timeline, not indexed again yet."""
    world = backed.place(tmp_path / "fork")
    fork(world, backed.file)
    return world


def fork_of(world: World) -> Fork:
    """Give the declaration of a fork, as its log states it."""
    with open_local(world.locations, world.session.ports) as state:
        assert state.view.fork is not None
        return state.view.fork


# -- what it says of itself ------------------------------------------------------------------------------------


def test_a_fork_declares_what_it_goes_on_from(backed: Backed, forked: World) -> None:
    """The third leaf names the old log, its size and root, and both owner keys; each has signed."""
    old, new = read_pins(backed.world.locations), read_pins(forked.locations)
    assert old.origin != new.origin
    assert {old.owner.public_key, old.log.public_key}.isdisjoint({new.owner.public_key, new.log.public_key})
    leaf = open_leaf(leaves_of(forked)[2][2], new.owner, new.log)
    assert isinstance(leaf.body, Fork)
    manifest = backed.manifest()
    assert (leaf.body.origin, leaf.body.size, leaf.body.root) == (old.origin, manifest.size, manifest.root)
    assert (leaf.body.old_owner_key, leaf.body.owner_key) == (str(old.owner), str(new.owner))


def test_verify_and_sources_say_it(backed: Backed, forked: World) -> None:
    """In words and as data; and that the old owner's key has to be compared by whoever knows it."""
    origin = backed.manifest().origin
    report = service.verify_timeline(forked.session, deep=True)
    assert report.verdict == "ok"
    (descent,) = [check for check in report.checks if check.name == "descent"]
    assert descent.detail.startswith(f"declared fork of {origin} at size 4, signed by the owner key ")
    assert sum(item.startswith("descent: ") for item in report.not_checked) == 1
    expected = {
        "origin": origin,
        "size": 4,
        "root": backed.manifest().root,
        "ownerKey": str(read_pins(backed.world.locations).owner),
    }
    assert answers.report_answer(report)["forkOf"] == expected
    (status,) = service.list_sources(forked.session, None)
    assert answers.source_answer(status)["forkOf"] == expected


def test_a_log_of_its_own_beginning_says_nothing_of_it(case: Case) -> None:
    """No fork is claimed where there is none."""
    report = service.verify_timeline(case.session, deep=False)
    assert answers.report_answer(report)["forkOf"] is None
    assert "descent" not in {check.name for check in report.checks}
    (status,) = service.list_sources(case.session, None)
    assert "forkOf" not in answers.source_answer(status)


# -- what it takes over ----------------------------------------------------------------------------------------


def test_the_transcripts_are_read_again(backed: Backed, forked: World) -> None:
    """The consent holds; sidecars come anew, under the new key, and tell the same events."""
    assert event_ids(forked) == ()
    for result in service.index(forked.session, forked.root):
        assert not isinstance(result, tuple)
    assert event_ids(forked) == event_ids(backed.world)
    assert verdict_of(forked, deep=True) == OK


def test_consents_and_decisions_are_stated_anew(case: Case, tmp_path: Path) -> None:
    """With their ids and receipts; what was revoked, replaced or taken back is not."""
    revoked = enroll_session(case.world, seed=3)
    service.revoke(case.session, revoked.ref)
    formats.accept_type(case.session, "codex", NEW)
    formats.accept_type(case.session, "codex", "event_msg/other_thing")
    formats.revoke_type(case.session, "codex", "event_msg/other_thing")
    back_up(case.session, tmp_path / "b.tar")
    world = place_for(case.world, tmp_path / "fork")
    found = fork(world, tmp_path / "b.tar")
    assert (found.enrollments, found.formats, found.lost) == (1, 1, ())
    with case.state() as old, open_local(world.locations, world.session.ports) as new:
        assert [s.enrollment for s in new.view.sources] == [s.enrollment for s in old.view.active]
        assert new.view.formats.accepted == old.view.formats.accepted == {("codex", NEW)}
        assert new.view.policy == old.view.policy
        assert new.view.receipts == {old.view.active[0].enrollment.receipt_digest}
    assert [index for index, _, _ in leaves_of(world)] == list(range(5))


def test_more_consents_than_a_batch_holds_are_taken_over(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several commits, the declaration in the first."""
    for seed in (3, 4, 5):
        enroll_session(case.world, seed=seed)
    back_up(case.session, tmp_path / "b.tar")
    world = place_for(case.world, tmp_path / "fork")
    monkeypatch.setattr("timeline.forking.BATCH_SIZE_MAX", 2)
    assert fork(world, tmp_path / "b.tar").enrollments == 4
    assert verdict_of(world, deep=True) == OK


@pytest.mark.requirement("T6")
def test_no_receipt_is_spent_twice(case: Case, tmp_path: Path) -> None:
    """Neither one that was pending nor one that was spent is worth anything in the fork."""
    rollout = rollout_of(case.world, seed=5)
    path = write_transcript(case.world, rollout)
    receipt = service.receive_prompt(
        case.session, "codex", prompt_event(case.world, rollout.thread_id, str(path))
    )
    back_up(case.session, tmp_path / "b.tar")
    world = place_for(case.world, tmp_path / "fork")
    fork(world, tmp_path / "b.tar")
    shutil.copy2(case.world.locations.database, tmp_path / "old.db")
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(tmp_path / "old.db")) as old:
        rows = old.execute("SELECT digest, envelope FROM receipt").fetchall()
    with closing(sqlite3.connect(world.locations.database)) as new, new:
        new.executemany("INSERT INTO receipt VALUES (?, ?)", rows)
    assert len(rows) == 1
    spent = refusal_of(lambda: service.enroll(world.session, world.root, receipt.id, confirmed=True))
    assert spent == "host-transcript-receipt-unavailable"


def test_what_is_gone_is_listed(case: Case, tmp_path: Path) -> None:
    """A transcript that is not there any more, or has changed: its events were in sidecars of the old log alone."""
    gone, changed = enroll_session(case.world, seed=3), enroll_session(case.world, seed=4)
    gone.index()
    changed.index()
    back_up(case.session, tmp_path / "b.tar")
    gone.path.unlink()
    changed.path.write_bytes(b"other")
    found = fork(place_for(case.world, tmp_path / "fork"), tmp_path / "b.tar")
    assert found.enrollments == 3
    assert [(lost.source, lost.events, lost.why.partition(" ")[0]) for lost in found.lost] == [
        (gone.ref, 3, "gone"),
        (changed.ref, 3, "stale"),
    ]


def test_a_followed_session_is_followed_on(case: Case, tmp_path: Path) -> None:
    """The fork reads it from its beginning, as far as it has grown."""
    growing = follow(case.world, first=4000, seed=6)
    growing.index()
    growing.write(3000)
    growing.index()
    back_up(case.session, tmp_path / "b.tar")
    world = place_for(case.world, tmp_path / "fork")
    assert fork(world, tmp_path / "b.tar").lost == ()
    for result in service.index(world.session, world.root, source_ref=growing.ref):
        assert not isinstance(result, tuple)
        assert result.indexed == 7000
    assert verdict_of(world, deep=True)[0] == "ok"


def test_a_followed_session_that_has_ended_is_lost(case: Case, tmp_path: Path) -> None:
    """Only the old log knew where its last generation ended; one that had not grown is a snapshot."""
    growing, still = follow(case.world, first=4000, seed=6), follow(case.world, first=4000, seed=7)
    growing.index()
    growing.write(4450)
    growing.index()
    still.index()
    case.world.clock.at_ms += (FOLLOW_SECONDS_DEFAULT + 1) * 1000
    back_up(case.session, tmp_path / "b.tar")
    found = fork(place_for(case.world, tmp_path / "fork"), tmp_path / "b.tar")
    assert found.enrollments == 2
    assert [lost.source for lost in found.lost] == [growing.ref]
    assert "enroll it again" in found.lost[0].why


def test_a_session_that_was_found_changed_is_lost(case: Case, tmp_path: Path) -> None:
    """The old log has recorded it; a fork must not forget that."""
    growing = follow(case.world, first=4000, seed=6)
    growing.index()
    overwrite(growing.path, 100, keep_time=False)
    growing.write(100)
    assert refusal_of(growing.index) == "transcript-replaced"
    back_up(case.session, tmp_path / "b.tar")
    found = fork(place_for(case.world, tmp_path / "fork"), tmp_path / "b.tar")
    assert found.enrollments == 1
    assert [(lost.source, lost.why) for lost in found.lost] == [(growing.ref, "stale (transcript-replaced)")]


def test_a_consent_that_has_ended_is_not_taken_over(case: Case, tmp_path: Path) -> None:
    """No fork prolongs it."""
    with case.state() as state:
        (source,) = state.view.active
    ends = source.enrollment.expires_at
    assert still_counts(source, ends - 1)
    assert not still_counts(source, ends)
    back_up(case.session, tmp_path / "b.tar")
    case.world.clock.at_ms += (RECALL_SECONDS_DEFAULT + 1) * 1000
    found = fork(place_for(case.world, tmp_path / "fork"), tmp_path / "b.tar")
    assert found.enrollments == 0
    assert [lost.why for lost in found.lost] == ["expired"]


# -- where it begins -------------------------------------------------------------------------------------------


def test_the_old_timeline_is_not_touched(case: Case, tmp_path: Path) -> None:
    """It stays what it is, and a fork never takes its place."""
    back_up(case.session, tmp_path / "b.tar")
    before = untouched(case.world)
    assert refusal_of(lambda: fork(case.world, tmp_path / "b.tar")) == "state-exists"
    fork(place_for(case.world, tmp_path / "fork"), tmp_path / "b.tar")
    assert untouched(case.world) == before
    for part in ("state", "trust"):
        kept = case.world.copy(tmp_path / f"without-{part}")
        shutil.rmtree(kept.folder / part)
        assert refusal_of(lambda kept=kept: fork(kept, tmp_path / "b.tar")) == "state-exists"  # type: ignore[misc]  # a default binds it


def test_a_backup_that_is_refused_begins_no_fork(backed: Backed, keyless: Backed, tmp_path: Path) -> None:
    """Damaged, without the owner's key, or of another owner; nothing is left."""
    world = backed.place(tmp_path / "fork")
    content = bytearray(backed.file.read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "b.tar").write_bytes(content)
    assert refusal_of(lambda: fork(world, tmp_path / "b.tar")) == "backup-invalid"
    assert refusal_of(lambda: fork(world, keyless.file)) == "backup-keys-missing"
    other = str(Verifier("somebody/owner", bytes(32)))
    assert refusal_of(lambda: fork(world, backed.file, Given(owner=other))) == "key-mismatch"
    assert stands_in(world) == []
    assert fork(world, keyless.file, Given(keys=keyless.world.locations.keys)).enrollments == 1


@pytest.mark.requirement("X5")
def test_an_older_backup_that_the_witness_refuses_goes_on_as_a_fork(
    anchored: Anchored, tmp_path: Path
) -> None:
    """Recognised as older, then declared; anchors of the old origin are left behind, and can be added anew."""
    anchored.put_back("first", "state", "trust", "config", "witness")
    with anchored.served():
        back_up(anchored.world.session, tmp_path / "b.tar")
    anchored.put_back("second", "witness")
    world = place_for(anchored.world, tmp_path / "fork")
    with anchored.served():
        assert refusal_of(lambda: restore(world.session, tmp_path / "b.tar", DECLARED)) == "backup-is-older"
        assert fork(world, tmp_path / "b.tar").anchors == 1
        for result in service.index(world.session, world.root):
            assert not isinstance(result, tuple)
        assert verdict_of(world, deep=True) == OK
        added = refusal_of(
            lambda: anchoring.add_anchor(
                world.session, "witness", f"unix:{anchored.socket}", key=str(anchored.key())
            )
        )
    assert added == "anchor-not-confirmed"  # the witness has to be told of the new log


def test_a_pin_of_the_old_log_is_not_forgotten(anchored: Anchored, tmp_path: Path) -> None:
    """Where the configuration says that external anchors have to confirm a log, no other one begins unseen."""
    back_up(anchored.world.session, tmp_path / "b.tar")
    for part in ("state", "trust"):
        shutil.rmtree(anchored.world.folder / part)
    assert refusal_of(lambda: fork(anchored.world, tmp_path / "b.tar")) == "state-exists"


# -- passed off as the old log ---------------------------------------------------------------------------------


PIECES = (
    "state",
    "trust",
    "state/head",
    "trust/anchor",
    "trust/pins",
    "trust/keys",
    "state/state.db",
    "config",
)


@pytest.mark.parametrize("piece", PIECES)
def test_no_piece_of_a_fork_passes_for_one_of_the_old_log(
    case: Case, forked: World, tmp_path: Path, piece: str
) -> None:
    """Nor one of the old log for one of the fork."""
    for target, other in ((case.world, forked), (forked, case.world)):
        mixed = World(target.copy(tmp_path / f"mixed-{target.folder.name}").folder, target.home, target.clock)
        with_folders_of(mixed, other, piece)
        found = answers_of(mixed)
        assert all(answer.startswith(b"refused: ") for answer in found.values()), piece
        assert verdict_of(mixed)[0] == "refused"


def test_pins_that_name_the_old_origin_do_not_help(case: Case, forked: World) -> None:
    """Somebody writes the old origin over the new one: head, leaves and keys all speak of the new."""
    old, new = read_pins(case.world.locations).origin, read_pins(forked.locations).origin
    pins = forked.locations.pins
    text = pins.read_text(encoding="ascii")
    pins.write_text(text.replace(f"origin {new}", f"origin {old}"), encoding="ascii")
    assert verdict_of(forked)[0] == "refused"
    pins.write_text(text.replace(new, old), encoding="ascii")
    assert verdict_of(forked)[0] == "refused"


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: [*rows[:2], *rows[3:]],
        lambda rows: rows[:2],
        lambda rows: [*rows[:2], rows[3], rows[2], *rows[4:]],
    ],
)
def test_a_fork_cannot_lose_its_declaration(
    forked: World, change: Callable[[list[tuple[int, bytes, bytes]]], list[tuple[int, bytes, bytes]]]
) -> None:
    """Whoever takes the leaf out, cuts the log before it or moves it, has a log that nobody believes."""
    import sqlite3
    from contextlib import closing

    rows = change(leaves_of(forked))
    with closing(sqlite3.connect(forked.locations.database)) as connection, connection:
        connection.execute("DELETE FROM leaf")
        connection.executemany(
            "INSERT INTO leaf VALUES (?, ?, ?)", [(n, row[1], row[2]) for n, row in enumerate(rows)]
        )
    assert verdict_of(forked)[0] == "refused"


def test_a_carried_anchor_of_the_old_log_refuses_the_fork(case: Case, tmp_path: Path) -> None:
    """Of whatever size."""
    back_up(case.session, tmp_path / "b.tar")
    service.export_anchor(case.session, tmp_path / "anchor")
    world = place_for(case.world, tmp_path / "fork")
    fork(world, tmp_path / "b.tar")
    report = service.verify_timeline(world.session, deep=False, against=[tmp_path / "anchor"])
    assert [check.reason for check in report.checks if not check.ok] == ["origin-mismatch"]


def test_a_proof_from_a_fork_does_not_verify_as_one_of_the_old_log(case: Case, forked: World) -> None:
    """Its keys and its origin are others."""
    service.index(forked.session, forked.root)
    event = event_ids(forked)[0]
    proof = prove_event(forked.session, forked.root, event)
    old = prove_event(case.session, case.world.root, event)
    assert verify_proof_file(proof.content, proof.keys)[0] == proof.proven
    with pytest.raises((UnknownKeyError, OriginMismatchError)):
        verify_proof_file(proof.content, old.keys)


@pytest.mark.requirement("X5")
def test_the_witness_of_the_old_log_takes_no_head_of_the_fork(anchored: Anchored, tmp_path: Path) -> None:
    """It knows the old origin and its keys, and signs for nothing else."""
    from timeline.anchors.connect import connect
    from timeline.anchors.port import Question, Standing

    back_up(anchored.world.session, tmp_path / "b.tar")
    world = place_for(anchored.world, tmp_path / "fork")
    fork(world, tmp_path / "b.tar")
    with open_local(anchored.world.locations, anchored.world.session.ports) as state:
        assert state.view.anchors is not None
        (entry,) = state.view.anchors.policy.anchors
        known = state.belief.size
    with open_local(world.locations, world.session.ports) as state, anchored.served():
        head = state.reading.finding.head
        ports = world.session.ports
        question = Question(
            head.note, head.checkpoint, (state.keystore.pins.log,), known, lambda _size: (), 10.0
        )
        with closing(connect(entry, ports.clock, ports.stopwatch)) as witness:
            answer = witness.advance(question)
    assert answer.standing is not Standing.CONFIRMED


def test_a_fork_signed_by_the_new_owner_alone_is_no_fork(backed: Backed, forked: World) -> None:
    """Whoever has the backup's log key and not its owner key cannot declare one."""
    import msgspec

    from sidecars.lineage import declare_fork

    keys = load_keystore(forked.locations)
    body = fork_of(forked)
    impostor = declare_fork(
        fork=keys.pins.origin,
        owner=keys.pins.owner,
        origin=body.origin,
        size=body.size,
        root=body.root,
        old_owner=keys.owner,
    )
    stolen = msgspec.structs.replace(impostor, old_owner_key=body.old_owner_key)
    with pytest.raises(SidecarError), open_local(forked.locations, forked.session.ports) as state:
        state.commit([stolen])
    assert backed.manifest().origin == body.origin
