"""A backup comes back: what says that it is the newest state, and what recognises that it is not."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecars.leaf import AnchorEntry, AnchorPolicy
from sidecars.lineage import Restoration
from tests.backup.places import DECLARED, Backed, place_for, signed_again, stands_in, untouched
from tests.simulators.anchored import Anchored
from tests.simulators.witnesses import in_child, wait_for
from tests.simulators.worlds import (
    NOW_MS,
    World,
    answers_of,
    checkpoint_of,
    new_world,
    refusal_of,
    search_once,
    verdict_of,
)
from tests.timeline.cases import Case, enroll_session
from timeline import anchoring, service, staging
from timeline.anchors.errors import ExternalAheadError, ExternalForkedError
from timeline.anchors.port import Answer, MonotonicAnchor, Standing
from timeline.anchors.rules import AnchorReport
from timeline.assurance import NO_ANCHORS, AnchorStatus
from timeline.backup import back_up
from timeline.clock import Clock, Stopwatch
from timeline.epochs import change_log_key
from timeline.errors import (
    BackupOlderError,
    BackupUnverifiedError,
    StateUnwritableError,
)
from timeline.keystore import load_keystore
from timeline.limits import FRESHNESS_SECONDS_DEFAULT
from timeline.ports import Ports, connect_anchor
from timeline.recovery import recover_anchor
from timeline.restore import decide_basis, restore, restore_trust
from timeline.staging import Given
from timeline.state import open_local

OK = ("ok", frozenset())
PARTS = ("config", "state", "trust")


def put_away(world: World, *parts: str) -> None:
    """Move folders of a timeline away, as their owner does who wants a backup in their place."""
    for part in parts:
        (world.folder / part).rename(world.folder / f"{part}.away")


def reason_of(world: World, file: Path, given: Given = Given()) -> str | None:  # noqa: B008  (a frozen value)
    """Give the reason why a backup is refused there, after checking that nothing was left or moved."""
    before = untouched(world)
    reason = refusal_of(lambda: restore(world.session, file, given))
    assert reason is None or untouched(world) == before
    return reason


def restoration_of(world: World) -> tuple[int, Restoration] | None:
    """Give the leaf by which a log says that it was put back."""
    with open_local(world.locations, world.session.ports) as state:
        found = state.view.restored
    return None if found is None else (found.leaf, found.restoration)


# -- nobody knows ----------------------------------------------------------------------------------------------


def test_nothing_shows_that_it_is_the_newest(backed: Backed, tmp_path: Path) -> None:
    """No anchor is required by the log: it does not come back by itself."""
    world = backed.place(tmp_path / "place")
    assert reason_of(world, backed.file) == "backup-unverified"
    assert stands_in(world) == []


def test_the_owner_declares_it_and_a_leaf_says_so(backed: Backed, tmp_path: Path) -> None:
    """Everybody who verifies the log reads it, and what it does not show."""
    world = backed.place(tmp_path / "place")
    found = restore(world.session, backed.file, DECLARED)
    assert found is not None
    assert (found.basis, found.leaf) == ("unverified", 4)
    assert restoration_of(world) == (4, Restoration("unverified", NOW_MS))
    report = service.verify_timeline(world.session, deep=True)
    assert report.verdict == "ok"
    assert [check.detail for check in report.checks if check.name == "restoration"] == [
        "leaf 4: put back from a backup of 2026-08-20T11:00:00.000Z, unverified"
    ]
    assert sum(item.startswith("restoration: ") for item in report.not_checked) == 1


def test_a_timeline_that_was_put_back_goes_on(backed: Backed, tmp_path: Path) -> None:
    """It enrolls, indexes, and is backed up and put back once more."""
    world = backed.place(tmp_path / "place")
    restore(world.session, backed.file, DECLARED)
    enroll_session(world, seed=3).index()
    again = tmp_path / "again.tar"
    back_up(world.session, again)
    put_away(world, *PARTS)
    assert restore(world.session, again, DECLARED) is not None
    assert verdict_of(world, deep=True) == OK
    assert service.verify_timeline(world.session, deep=False).size == 8


# -- carried anchors -------------------------------------------------------------------------------------------


def test_a_carried_anchor_of_its_size_lets_it_come_back(case: Case, tmp_path: Path) -> None:
    """The owner kept size and root elsewhere; the leaf says on what it rests."""
    back_up(case.session, tmp_path / "b.tar")
    service.export_anchor(case.session, tmp_path / "anchor")
    world = place_for(case.world, tmp_path / "place")
    found = restore(world.session, tmp_path / "b.tar", Given(carried=[tmp_path / "anchor"]))
    assert found is not None
    assert (found.basis, found.leaf) == ("carried", 4)
    assert restoration_of(world) == (4, Restoration("carried", NOW_MS))


def test_a_carried_anchor_of_less_is_no_ground(case: Case, tmp_path: Path) -> None:
    """It is contained and says nothing of what came behind it; the owner's word still can."""
    service.export_anchor(case.session, tmp_path / "anchor")
    enroll_session(case.world, seed=3)
    back_up(case.session, tmp_path / "b.tar")
    world = place_for(case.world, tmp_path / "place")
    given = Given(carried=[tmp_path / "anchor"])
    assert reason_of(world, tmp_path / "b.tar", given) == "backup-unverified"
    declared = Given(carried=[tmp_path / "anchor"], unverified=True)
    assert restore(world.session, tmp_path / "b.tar", declared).basis == "unverified"  # type: ignore[union-attr]  # not None


@pytest.mark.requirement("T68")
def test_a_carried_anchor_recognises_an_older_backup(case: Case, tmp_path: Path) -> None:
    """Whatever the owner declares: of more leaves, or of another history of as many."""
    back_up(case.session, tmp_path / "b.tar")
    other = case.world.copy(tmp_path / "other")
    enroll_session(case.world, seed=3)
    service.export_anchor(case.session, tmp_path / "more")
    enroll_session(other, seed=4)
    back_up(other.session, tmp_path / "forked.tar")
    world = place_for(case.world, tmp_path / "place")
    given = Given(carried=[tmp_path / "more"], unverified=True)
    for file in ("b.tar", "forked.tar"):
        assert reason_of(world, tmp_path / file, given) == "backup-is-older"
    assert stands_in(world) == []


# -- the local anchor ------------------------------------------------------------------------------------------


def test_the_trust_folder_recognises_its_state(case: Case, tmp_path: Path) -> None:
    """The state alone was lost: nothing has to be declared, and no leaf is added."""
    back_up(case.session, tmp_path / "b.tar")
    said = answers_of(case.world)
    put_away(case.world, "state")
    found = restore(case.session, tmp_path / "b.tar")
    assert found is not None
    assert (found.basis, found.leaf) == ("local-anchor", None)
    assert answers_of(case.world) == said
    assert verdict_of(case.world, deep=True) == OK
    assert list(case.world.folder.glob("*.restoring")) == []


@pytest.mark.requirement("T68")
def test_the_trust_folder_recognises_an_older_state(case: Case, tmp_path: Path) -> None:
    """It remembers a leaf more; neither declaration nor carried anchor changes that."""
    back_up(case.session, tmp_path / "b.tar")
    service.export_anchor(case.session, tmp_path / "anchor")
    enroll_session(case.world, seed=3)
    put_away(case.world, "state")
    for given in (Given(), DECLARED, Given(carried=[tmp_path / "anchor"])):
        assert reason_of(case.world, tmp_path / "b.tar", given) == "backup-is-older"
    assert not case.world.locations.state.exists()


def test_the_trust_folder_recognises_another_history(case: Case, tmp_path: Path) -> None:
    """Of as many leaves as it remembers."""
    other = case.world.copy(tmp_path / "other")
    enroll_session(other, seed=4)
    back_up(other.session, tmp_path / "b.tar")
    enroll_session(case.world, seed=3)
    put_away(case.world, "state")
    assert reason_of(case.world, tmp_path / "b.tar", DECLARED) == "backup-is-older"


def test_a_trust_folder_of_another_key_epoch_refuses(case: Case, tmp_path: Path) -> None:
    """The log key was changed after the backup: its head is signed by a key that is in force no more."""
    back_up(case.session, tmp_path / "b.tar")
    change_log_key(case.session, "rotation")
    put_away(case.world, "state")
    assert reason_of(case.world, tmp_path / "b.tar", DECLARED) == "unknown-key"


def test_a_trust_folder_of_another_log_is_left_alone(backed: Backed, tmp_path: Path) -> None:
    """Whatever the owner declares."""
    world = new_world(tmp_path / "other")
    put_away(world, "state")
    assert reason_of(world, backed.file, DECLARED) == "state-exists"


def test_a_backup_without_keys_needs_none_where_the_trust_folder_stands(
    keyless: Backed, tmp_path: Path
) -> None:
    """They lie there."""
    world = keyless.world.copy(tmp_path / "world")
    put_away(world, "state")
    assert restore(world.session, keyless.file).basis == "local-anchor"  # type: ignore[union-attr]  # not None


# -- the pin ---------------------------------------------------------------------------------------------------


def test_the_pin_in_the_configuration_recognises_an_older_backup(anchored: Anchored, tmp_path: Path) -> None:
    """State and trust are lost, and the backup is from before the anchor was required: it would ask none."""
    anchored.put_back("unanchored", *PARTS)
    back_up(anchored.world.session, tmp_path / "b.tar")
    anchored.put_back("second", *PARTS)
    put_away(anchored.world, "state", "trust")
    assert reason_of(anchored.world, tmp_path / "b.tar", DECLARED) == "backup-is-older"


def test_a_pin_of_another_log_is_left_alone(anchored: Anchored, backed: Backed) -> None:
    """It names a policy: a log that external anchors must confirm stood here."""
    put_away(anchored.world, "state", "trust")
    assert reason_of(anchored.world, backed.file, DECLARED) == "state-exists"


def test_a_configuration_that_stands_is_kept(backed: Backed, tmp_path: Path) -> None:
    """The owner's own file is not replaced, and a pin that names nothing gives way."""
    other = new_world(tmp_path / "other")
    world = World(other.folder, backed.world.home, backed.world.clock)
    put_away(world, "state", "trust")
    settings = world.locations.settings
    settings.write_text(settings.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    assert restore(world.session, backed.file, DECLARED) is not None
    assert settings.read_text(encoding="utf-8").endswith("# mine\n")
    assert verdict_of(world, deep=True)[0] == "ok"


# -- external anchors ------------------------------------------------------------------------------------------


@pytest.mark.requirement("X5")
def test_the_witness_confirms_the_newest(anchored: Anchored, tmp_path: Path) -> None:
    """Nothing has to be declared; no leaf is added, since the witness would have to know it first."""
    back_up(anchored.world.session, tmp_path / "b.tar")
    put_away(anchored.world, *PARTS)
    with anchored.served():
        found = restore(anchored.world.session, tmp_path / "b.tar")
        assert found is not None
        assert (found.basis, found.leaf) == ("external", None)
        assert search_once(anchored.world).startswith(b"{")
        assert verdict_of(anchored.world, deep=True)[0] == "ok"


@pytest.mark.requirement("X5", "T68")
@pytest.mark.parametrize("moment", ["anchored", "enrolled", "first"])
def test_the_witness_recognises_an_older_backup(anchored: Anchored, tmp_path: Path, moment: str) -> None:
    """It has signed more leaves; no declaration and no carried anchor of the older size helps."""
    anchored.put_back(moment, *PARTS, "witness")
    with anchored.served():
        back_up(anchored.world.session, tmp_path / "b.tar")
        service.export_anchor(anchored.world.session, tmp_path / "anchor")
    anchored.put_back("second", "witness")
    put_away(anchored.world, *PARTS)
    with anchored.served():
        for given in (Given(), DECLARED, Given(carried=[tmp_path / "anchor"])):
            assert reason_of(anchored.world, tmp_path / "b.tar", given) == "backup-is-older"
    assert stands_in(anchored.world) == [
        name for name in stands_in(anchored.world) if name.partition("/")[0].endswith(".away")
    ]


@pytest.mark.requirement("X5")
def test_the_witness_recognises_another_history(anchored: Anchored, tmp_path: Path) -> None:
    """As many leaves as it has signed, and other ones."""
    anchored.put_back("enrolled", *PARTS)
    anchored.index(operations=2)
    back_up(anchored.world.session, tmp_path / "b.tar")
    put_away(anchored.world, *PARTS)
    with anchored.served():
        assert reason_of(anchored.world, tmp_path / "b.tar", DECLARED) == "backup-is-older"


@pytest.mark.requirement("X5")
def test_what_a_silent_witness_said_earlier_is_no_confirmation(anchored: Anchored, tmp_path: Path) -> None:
    """Its signature lies in the backup, fresh and of this size; newer states may have followed it."""
    back_up(anchored.world.session, tmp_path / "b.tar")
    put_away(anchored.world, *PARTS)
    assert reason_of(anchored.world, tmp_path / "b.tar") == "backup-unverified"


@pytest.mark.requirement("X5")
def test_a_declaration_waits_for_the_witness(anchored: Anchored, tmp_path: Path) -> None:
    """Nobody answered when the owner declared an older backup the newest: it is refused as soon as somebody does."""
    anchored.put_back("first", *PARTS)
    back_up(anchored.world.session, tmp_path / "b.tar")
    put_away(anchored.world, *PARTS)
    assert restore(anchored.world.session, tmp_path / "b.tar", DECLARED).basis == "unverified"  # type: ignore[union-attr]  # not None
    with anchored.served():
        assert search_once(anchored.world) in {
            b"refused: external-anchor-ahead",
            b"refused: external-anchor-forked",
        }
        assert verdict_of(anchored.world)[0] == "refused"


@pytest.mark.requirement("X5")
def test_no_anchor_hears_of_a_declaration_before_it_is_in_place(anchored: Anchored, tmp_path: Path) -> None:
    """Interrupted then, it would know a leaf that stands nowhere, and no backup would come back any more."""
    back_up(anchored.world.session, tmp_path / "b.tar")
    put_away(anchored.world, *PARTS)
    session = anchored.world.session
    asked: list[str] = []

    def connect(entry: AnchorEntry, clock: Clock, stopwatch: Stopwatch) -> MonotonicAnchor:
        asked.append(entry.name)
        return connect_anchor(entry, clock, stopwatch)

    ports = Ports(session.ports.clock, session.ports.entropy, connect=connect)
    listening = service.Session(session.locations, ports, session.environment)
    assert restore(listening, tmp_path / "b.tar", DECLARED) is not None
    assert asked == ["witness-1"]


@pytest.mark.requirement("X5")
def test_a_true_declaration_is_confirmed_later(anchored: Anchored, tmp_path: Path) -> None:
    """The witness is asked about the leaf that says so only once it is in place."""
    back_up(anchored.world.session, tmp_path / "b.tar")
    put_away(anchored.world, *PARTS)
    restore(anchored.world.session, tmp_path / "b.tar", DECLARED)
    anchored.wait(FRESHNESS_SECONDS_DEFAULT + 1)
    assert search_once(anchored.world) == b"refused: stale-unverified"
    with anchored.served():
        assert verdict_of(anchored.world)[0] == "ok"
        anchoring.find_anchors(anchored.world.session)
    assert checkpoint_of(anchored.world.locations.anchor)[0] == restoration_of(anchored.world)[0] + 1  # type: ignore[index]  # not None


# -- the decision alone ----------------------------------------------------------------------------------------


def status_of(*standings: Standing | None, quorum: int = 1, refused: object = None) -> AnchorStatus:
    """Give the status of so many anchors that have answered so."""
    entries = tuple(AnchorEntry(f"a-{n}", "file", f"/a/{n}", None) for n in range(len(standings)))
    policy = NO_ANCHORS if not entries else AnchorPolicy(entries, quorum, 3600, 1000, 10)
    reports = tuple(
        AnchorReport(entry, None if standing is None else Answer(standing), None)
        for entry, standing in zip(entries, standings, strict=True)
    )
    return AnchorStatus(policy, None, 7, reports, None, refused)  # type: ignore[arg-type]  # an error of the kind


YES, NO = Standing.CONFIRMED, Standing.UNAVAILABLE


@pytest.mark.parametrize(
    ("status", "local", "carried", "unverified", "expected"),
    [
        (status_of(), False, False, False, BackupUnverifiedError),
        (status_of(), False, False, True, "unverified"),
        (status_of(), False, True, True, "carried"),
        (status_of(), True, True, True, "local-anchor"),
        (status_of(YES), False, False, False, "external"),
        (status_of(YES), True, True, True, "external"),
        (status_of(NO), False, False, False, BackupUnverifiedError),
        (status_of(NO), False, False, True, "unverified"),
        (status_of(None), False, False, False, BackupUnverifiedError),
        (status_of(Standing.REGRESSED), False, False, False, BackupUnverifiedError),
        (status_of(Standing.MISBEHAVED), False, False, False, BackupUnverifiedError),
        (status_of(Standing.REFUSED), False, False, False, BackupUnverifiedError),
        (status_of(YES, NO, quorum=2), False, False, False, BackupUnverifiedError),
        (status_of(YES, NO, quorum=1), False, False, False, "external"),
        (status_of(YES, YES, NO, quorum=2), False, False, False, "external"),
        (status_of(NO, refused=ExternalAheadError("x")), True, True, True, BackupOlderError),
        (status_of(YES, refused=ExternalForkedError("x")), True, True, True, BackupOlderError),
    ],
)
def test_the_strongest_ground_counts(
    status: AnchorStatus, *, local: bool, carried: bool, unverified: bool, expected: object
) -> None:
    """And an alarm before each of them."""
    found = decide_basis(status, local=local, carried=carried, unverified=unverified)
    assert found == expected if isinstance(expected, str) else type(found) is expected


# -- where it comes back ---------------------------------------------------------------------------------------


def test_nothing_that_stands_is_written_over(case: Case, backed: Backed) -> None:
    """A whole timeline, or its state without trust; the hint says how to make room."""
    assert reason_of(case.world, backed.file, DECLARED) == "state-exists"
    put_away(case.world, "trust")
    assert reason_of(case.world, backed.file, DECLARED) == "state-exists"


@pytest.mark.parametrize("part", ["state", "trust"])
@pytest.mark.parametrize("kind", ["file in it", "link", "file"])
def test_strangers_at_the_place_are_left_alone(backed: Backed, tmp_path: Path, part: str, kind: str) -> None:
    """A folder with something in it, a link to another folder, a file."""
    world = backed.place(tmp_path / "place")
    place = world.folder / part
    if kind == "file in it":
        place.mkdir(mode=0o700)
        (place / "notes").write_bytes(b"mine")
    elif kind == "link":
        (tmp_path / "elsewhere").mkdir()
        place.symlink_to(tmp_path / "elsewhere")
    else:
        place.write_bytes(b"mine")
    assert reason_of(world, backed.file, DECLARED) == "state-exists"


def test_empty_folders_are_a_place(backed: Backed, tmp_path: Path) -> None:
    """As somebody makes them beforehand."""
    world = backed.place(tmp_path / "place")
    for part in PARTS:
        (world.folder / part).mkdir(mode=0o700)
    assert restore(world.session, backed.file, DECLARED) is not None
    assert verdict_of(world)[0] == "ok"
    assert sorted(path.name for path in world.folder.iterdir()) == ["config", "runtime", "state", "trust"]


# -- keys ------------------------------------------------------------------------------------------------------


def test_a_backup_without_keys_says_which_are_missing(keyless: Backed, tmp_path: Path) -> None:
    """And comes back with them."""
    world = keyless.place(tmp_path / "place")
    with pytest.raises(staging.BackupKeysError) as refused:
        restore(world.session, keyless.file, DECLARED)
    for name in ("owner.key", "log.key", "fingerprint.key"):
        assert name in str(refused.value)
        assert name in refused.value.hint
    assert stands_in(world) == []
    given = Given(keys=keyless.world.locations.keys, unverified=True)
    assert restore(world.session, keyless.file, given) is not None
    assert verdict_of(world, deep=True)[0] == "ok"


def test_keys_of_another_timeline_do_not_fit(keyless: Backed, tmp_path: Path) -> None:
    """Nor does a folder that lacks one."""
    other = new_world(tmp_path / "other")
    world = keyless.place(tmp_path / "place")
    given = Given(keys=other.locations.keys, unverified=True)
    assert reason_of(world, keyless.file, given) == "key-mismatch"
    (other.locations.keys / "owner.key").unlink()
    assert reason_of(world, keyless.file, given) == "unsafe-file"
    assert stands_in(world) == []


def test_the_owner_key_is_compared_where_it_is_given(backed: Backed, tmp_path: Path) -> None:
    """The pins come out of the backup itself: a stranger's backup is whole, too."""
    mine = load_keystore(backed.world.locations).pins.owner
    stranger = new_world(tmp_path / "stranger")
    back_up(stranger.session, tmp_path / "stranger.tar")
    world = backed.place(tmp_path / "place")
    given = Given(owner=str(mine), unverified=True)
    assert reason_of(world, tmp_path / "stranger.tar", given) == "key-mismatch"
    assert reason_of(world, backed.file, Given(owner="nonsense", unverified=True)) == "malformed"
    assert restore(world.session, backed.file, given) is not None


# -- the trust folder alone ------------------------------------------------------------------------------------


def test_pins_and_keys_come_back_beside_a_state(case: Case, tmp_path: Path) -> None:
    """The local anchor does not: what it remembered is not in an older backup, and a recovery has to decide."""
    back_up(case.session, tmp_path / "b.tar")
    enroll_session(case.world, seed=3)
    put_away(case.world, "trust")
    assert restore_trust(case.session, tmp_path / "b.tar").size == 4
    assert search_once(case.world) == b"refused: anchor-lost"
    assert refusal_of(lambda: recover_anchor(case.session)) == "anchor-recovery-unproven"
    assert recover_anchor(case.session, unverified=True).size == 5
    assert verdict_of(case.world, deep=True)[0] == "ok"


def test_pins_and_keys_of_another_log_do_not(case: Case, tmp_path: Path) -> None:
    """Nor where the trust folder stands, or no state does."""
    other = new_world(tmp_path / "other")
    back_up(other.session, tmp_path / "other.tar")
    back_up(case.session, tmp_path / "b.tar")
    assert refusal_of(lambda: restore_trust(case.session, tmp_path / "b.tar")) == "state-exists"
    put_away(case.world, "trust")
    before = untouched(case.world)
    assert refusal_of(lambda: restore_trust(case.session, tmp_path / "other.tar")) == "unknown-key"
    assert untouched(case.world) == before
    put_away(case.world, "state")
    assert refusal_of(lambda: restore_trust(case.session, tmp_path / "b.tar")) == "state-missing"


# -- interruptions ---------------------------------------------------------------------------------------------


def killed_at(world: World, file: Path, call: str, number: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Restore in a child that kills itself before the ``number``-th ``call`` of the last steps; whether it did."""

    def act() -> bytes:
        original: Callable[..., object] = getattr(staging, call)
        left = number

        def dying(*arguments: object, **named: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments, **named)

        with monkeypatch.context() as patch:
            patch.setattr(staging, call, dying)
            restore(world.session, file, DECLARED)
        return b""

    return wait_for(*in_child(act))[1]


@pytest.mark.parametrize("call", ["create_private", "write_atomic", "rename_private"])
def test_a_killed_restore_leaves_nothing_or_is_completed(
    backed: Backed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """At each of its steps: afterwards every command refuses, and the next restore brings the same state."""
    number = 1
    while True:
        world = backed.place(tmp_path / f"place-{number}")
        if not killed_at(world, backed.file, call, number, monkeypatch):
            break
        assert search_once(world).startswith(b"refused: ")
        if world.locations.state.exists():
            assert refusal_of(lambda world=world: service.init_state(world.session)) is not None  # type: ignore[misc]  # a default binds it
        restore(world.session, backed.file, DECLARED)
        assert verdict_of(world, deep=True)[0] == "ok"
        assert answers_of(world) == answers_of(backed.world)
        assert sorted(path.name for path in world.folder.iterdir()) == ["config", "runtime", "state", "trust"]
        number += 1
    assert number > 2


def test_an_interruption_between_the_two_folders_is_finished_without_the_file(
    backed: Backed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state stands, its trust folder lies beside: nothing else is needed, and nothing else is read."""
    world = backed.place(tmp_path / "place")
    assert killed_at(world, backed.file, "rename_private", 2, monkeypatch)
    assert sorted(p.name for p in world.folder.iterdir() if p.name.startswith(("state", "trust"))) == [
        "state",
        "trust.restoring",
    ]
    assert restore(world.session, tmp_path / "no such file") is None
    assert restoration_of(world) == (4, Restoration("unverified", NOW_MS))
    assert verdict_of(world, deep=True)[0] == "ok"


def test_a_trust_folder_that_cannot_be_placed_stays_beside(
    backed: Backed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keys that belong to the state in place are not thrown away with the rest."""
    world = backed.place(tmp_path / "place")
    original = staging.rename_private

    def failing(old: Path, new: Path) -> None:
        if new == world.locations.trust:
            message = "no"
            raise StateUnwritableError(message)
        original(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(staging, "rename_private", failing)
        assert refusal_of(lambda: restore(world.session, backed.file, DECLARED)) == "state-unwritable"
    assert restore(world.session, backed.file) is None
    assert verdict_of(world, deep=True)[0] == "ok"


def test_leftovers_of_an_earlier_restore_are_no_trust_folder(
    case: Case, backed: Backed, tmp_path: Path
) -> None:
    """Both folders lie beside a state whose trust is lost: nothing shows that they belong together."""
    for part in ("state", "trust"):
        shutil.copytree(case.world.folder / part, case.world.folder / f"{part}.restoring")
    put_away(case.world, "trust")
    assert refusal_of(lambda: restore(case.session, backed.file, DECLARED)) == "state-exists"
    assert not case.world.locations.trust.exists()


def test_a_signed_but_older_manifest_is_not_the_newest(case: Case, tmp_path: Path) -> None:
    """Somebody puts the manifest of today over the files of yesterday: it needs the key, and still does not fit."""
    from tests.backup.places import members_of

    back_up(case.session, tmp_path / "old.tar")
    enroll_session(case.world, seed=3)
    back_up(case.session, tmp_path / "new.tar")
    keystore = load_keystore(case.world.locations)
    file = tmp_path / "mixed.tar"
    members = members_of(tmp_path / "old.tar")[1:]
    file.write_bytes(signed_again(tmp_path / "new.tar", keystore.log, members))
    world = place_for(case.world, tmp_path / "place")
    assert reason_of(world, file, DECLARED) == "backup-invalid"
