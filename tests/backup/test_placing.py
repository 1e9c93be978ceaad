"""Where a backup comes back: never over what stands, with its keys, whole or not at all, whatever interrupts it."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecars.lineage import Restoration
from tests.backup.places import (
    DECLARED,
    Backed,
    members_of,
    place_for,
    put_away,
    reason_of,
    restoration_of,
    signed_again,
    stands_in,
    untouched,
)
from tests.simulators.witnesses import in_child, wait_for
from tests.simulators.worlds import (
    NOW_MS,
    World,
    answers_of,
    new_world,
    refusal_of,
    search_once,
    verdict_of,
)
from tests.timeline.cases import Case, enroll_session
from timeline import files, placing, service, staging
from timeline.backup import back_up
from timeline.errors import BackupKeysError, StateUnwritableError
from timeline.keystore import load_keystore
from timeline.recovery import recover_anchor
from timeline.restore import restore, restore_trust
from timeline.staging import Given

PARTS = ("config", "state", "trust")


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
    with pytest.raises(BackupKeysError) as refused:
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
        original: Callable[..., object] = getattr(files, call)
        left = number

        def dying(*arguments: object, **named: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments, **named)

        with monkeypatch.context() as patch:
            for module in (staging, placing):
                if hasattr(module, call):
                    patch.setattr(module, call, dying)
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
    original = placing.rename_private

    def failing(old: Path, new: Path) -> None:
        if new == world.locations.trust:
            message = "no"
            raise StateUnwritableError(message)
        original(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(placing, "rename_private", failing)
        assert refusal_of(lambda: restore(world.session, backed.file, DECLARED)) == "state-unwritable"
    assert restore(world.session, backed.file) is None
    assert verdict_of(world, deep=True)[0] == "ok"


@pytest.mark.parametrize("folder", ["trust.restoring", "trust.restoring/keys"])
def test_a_link_beside_is_not_followed(case: Case, backed: Backed, tmp_path: Path, folder: str) -> None:
    """What is cleared away is never what a link leads to: the keys of a timeline in use."""
    world = backed.place(tmp_path / "place")
    link = world.folder / folder
    link.parent.mkdir(mode=0o700, exist_ok=True)
    link.symlink_to(case.world.locations.trust if link.name != "keys" else case.world.locations.keys)
    before = untouched(case.world)
    assert refusal_of(lambda: restore(world.session, backed.file, DECLARED)) == "unsafe-file"
    assert untouched(case.world) == before


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
    back_up(case.session, tmp_path / "old.tar")
    enroll_session(case.world, seed=3)
    back_up(case.session, tmp_path / "new.tar")
    keystore = load_keystore(case.world.locations)
    file = tmp_path / "mixed.tar"
    members = members_of(tmp_path / "old.tar")[1:]
    file.write_bytes(signed_again(tmp_path / "new.tar", keystore.log, members))
    world = place_for(case.world, tmp_path / "place")
    assert reason_of(world, file, DECLARED) == "backup-invalid"
