"""A backup comes back: what says that it is the newest state, and what recognises that it is not."""

from pathlib import Path

import pytest

from sidecars.leaf import AnchorEntry, AnchorPolicy
from sidecars.lineage import Restoration
from tests.backup.places import (
    DECLARED,
    Backed,
    place_for,
    put_away,
    reason_of,
    restoration_of,
    stands_in,
)
from tests.simulators.anchored import Anchored
from tests.simulators.worlds import (
    NOW_MS,
    World,
    answers_of,
    checkpoint_of,
    new_world,
    search_once,
    verdict_of,
)
from tests.timeline.cases import Case, enroll_session
from timeline import anchoring, service
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
)
from timeline.limits import FRESHNESS_SECONDS_DEFAULT
from timeline.ports import Ports, connect_anchor
from timeline.restore import Local, decide_basis, restore
from timeline.staging import Given

OK = ("ok", frozenset())
PARTS = ("config", "state", "trust")


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


def test_every_restoration_stays_to_be_seen(backed: Backed, tmp_path: Path) -> None:
    """A later one hides none before it: each may have left out leaves of its own."""
    world = backed.place(tmp_path / "place")
    restore(world.session, backed.file, DECLARED)
    enroll_session(world, seed=3)
    back_up(world.session, tmp_path / "again.tar")
    put_away(world, *PARTS)
    restore(world.session, tmp_path / "again.tar", DECLARED)
    report = service.verify_timeline(world.session, deep=False)
    found = [check.detail.partition(":")[0] for check in report.checks if check.name == "restoration"]
    assert found == ["leaf 4", "leaf 6"]
    open_questions = [item for item in report.not_checked if item.startswith("restoration: ")]
    assert [item.rpartition("before ")[2] for item in open_questions] == found


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


def test_a_wrong_declaration_is_found_out_by_what_was_carried(case: Case, tmp_path: Path) -> None:
    """Of later than the backup: the log lacks those leaves, and soon has others in their place."""
    back_up(case.session, tmp_path / "b.tar")
    for seed in (3, 4):
        enroll_session(case.world, seed=seed)
    service.export_anchor(case.session, tmp_path / "anchor")
    world = place_for(case.world, tmp_path / "place")
    restore(world.session, tmp_path / "b.tar", DECLARED)
    found = []
    for _ in range(2):
        report = service.verify_timeline(world.session, deep=False, against=[tmp_path / "anchor"])
        found.append({check.reason for check in report.checks if not check.ok})
        enroll_session(world, seed=5)
    assert found == [{"rollback"}, {"equivocation"}]


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


@pytest.mark.requirement("T68")
@pytest.mark.parametrize("given", [Given(), DECLARED], ids=["", "declared"])
def test_a_trust_folder_that_is_a_batch_older_vouches_for_nothing(
    case: Case, tmp_path: Path, given: Given
) -> None:
    """Put back to the commit before the backup: its anchor does not remember this tree, and newer ones may be lost."""
    earlier = case.world.copy(tmp_path / "earlier")
    enroll_session(case.world, seed=3)
    back_up(case.session, tmp_path / "b.tar")
    enroll_session(case.world, seed=4)
    put_away(case.world, "state", "trust")
    (earlier.folder / "trust").rename(case.world.folder / "trust")
    assert reason_of(case.world, tmp_path / "b.tar", given) == "backup-unverified"
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
@pytest.mark.parametrize(("moment", "earlier"), [("first", "enrolled"), ("second", "first")])
def test_the_witness_is_asked_although_the_trust_folder_is_a_batch_older(
    anchored: Anchored, tmp_path: Path, moment: str, earlier: str
) -> None:
    """It knows whether the backup is the newest; the older local anchor does not."""
    anchored.put_back(moment, *PARTS)
    back_up(anchored.world.session, tmp_path / "b.tar")
    anchored.put_back(earlier, "trust", "config")
    put_away(anchored.world, "state")
    assert reason_of(anchored.world, tmp_path / "b.tar") == "backup-unverified"
    with anchored.served():
        if moment == "first":
            assert reason_of(anchored.world, tmp_path / "b.tar") == "backup-is-older"
            return
        found = restore(anchored.world.session, tmp_path / "b.tar")
        assert found is not None
        assert (found.basis, found.leaf) == ("external", None)
        assert search_once(anchored.world).startswith(b"{")
        assert verdict_of(anchored.world) == OK


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
        (status_of(), None, False, False, BackupUnverifiedError),
        (status_of(), None, False, True, "unverified"),
        (status_of(), None, True, True, "carried"),
        (status_of(), "exact", True, True, "local-anchor"),
        (status_of(), "behind", False, False, BackupUnverifiedError),
        (status_of(NO), "behind", True, True, BackupUnverifiedError),
        (status_of(YES), "behind", False, False, "external"),
        (status_of(YES), None, False, False, "external"),
        (status_of(YES), "exact", True, True, "external"),
        (status_of(NO), None, False, False, BackupUnverifiedError),
        (status_of(NO), None, False, True, "unverified"),
        (status_of(None), None, False, False, BackupUnverifiedError),
        (status_of(Standing.REGRESSED), None, False, False, BackupUnverifiedError),
        (status_of(Standing.MISBEHAVED), None, False, False, BackupUnverifiedError),
        (status_of(Standing.REFUSED), None, False, False, BackupUnverifiedError),
        (status_of(YES, NO, quorum=2), None, False, False, BackupUnverifiedError),
        (status_of(YES, NO, quorum=1), None, False, False, "external"),
        (status_of(YES, YES, NO, quorum=2), None, False, False, "external"),
        (status_of(NO, refused=ExternalAheadError("x")), "exact", True, True, BackupOlderError),
        (status_of(YES, refused=ExternalForkedError("x")), "exact", True, True, BackupOlderError),
    ],
)
def test_the_strongest_ground_counts(
    status: AnchorStatus, *, local: Local, carried: bool, unverified: bool, expected: object
) -> None:
    """And an alarm before each of them."""
    found = decide_basis(status, local=local, carried=carried, unverified=unverified)
    assert found == expected if isinstance(expected, str) else type(found) is expected
