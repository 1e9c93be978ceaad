"""Carried anchors: exported, kept outside, brought back; a complete restore of an older moment is refused with them."""

import json
import shlex
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from sidecars.carried import CarriedAnchor, sign_carried
from sidecars.checkpoint import Checkpoint
from sidecars.digest import Digest
from sidecars.errors import DigestMismatchError, UnknownKeyError
from sidecars.keys import Signer
from sidecars.minisign import sign_file
from tests.programs import Run, runner, use
from tests.services import skip_without
from tests.simulators.worlds import (
    FOLDERS,
    NOW_MS,
    Moment,
    World,
    contents,
    copy_folders,
    new_world,
    refusal_of,
)
from tests.timeline.cases import Case, enroll_session
from timeline import service
from timeline.anchoring import Bounds, add_anchor
from timeline.anchors.errors import AnchorFileError
from timeline.assurance import FRESHNESS_UNSEEN, RESTORATION_UNSEEN
from timeline.carried import Exported, committed_hashes, export_anchor
from timeline.clock import format_utc
from timeline.epochs import Reason, change_log_key
from timeline.verify import NOT_CHECKED, NOT_CHECKED_SHALLOW, Report

UNSEEN = [RESTORATION_UNSEEN, FRESHNESS_UNSEEN, *NOT_CHECKED]
"""What a deep run without any anchor elsewhere says it did not check."""

AT = format_utc(NOW_MS // 1000 * 1000)


@pytest.fixture
def pocket(tmp_path: Path) -> Path:
    """Give a folder that no restore reaches."""
    place = tmp_path / "pocket"
    place.mkdir()
    return place


def export(world: World, file: Path) -> Exported:
    """Export the present anchor of a world."""
    return service.export_anchor(world.session, file)


def verify(world: World, *files: Path, deep: bool = False) -> Report:
    """Verify a world against what was carried."""
    return service.verify_timeline(world.session, deep=deep, against=files)


def refusals(report: Report) -> dict[str, str | None]:
    """Give the reason of each refused check by its name."""
    return {check.name: check.reason for check in report.checks if not check.ok}


def keep(world: World, folder: Path) -> Moment:
    """Keep a copy of all four folders of a world."""
    copy_folders(world.folder, folder)
    return Moment(folder.name, folder)


def restore(world: World, moment: Moment) -> None:
    """Put all four folders back, not only state and trust."""
    for name in FOLDERS:
        shutil.rmtree(world.folder / name, ignore_errors=True)
        shutil.copytree(moment.folder / name, world.folder / name)


# -- export ----------------------------------------------------------------------------------------------------


def test_an_export_is_the_checkpoint_in_two_files(indexed: Case, pocket: Path) -> None:
    """The text is the head's, nothing of the transcript or the machine is in either, and the state is as it was."""
    before = contents(indexed.world.folder)
    exported = export(indexed.world, pocket / "anchor")
    assert contents(indexed.world.folder) == before
    assert sorted(path.name for path in pocket.iterdir()) == ["anchor", "anchor.minisig"]
    head = indexed.world.locations.head.read_bytes()
    assert (pocket / "anchor").read_bytes() == head.partition(b"\n\n")[0] + b"\n"
    assert (exported.anchor.checkpoint.size, exported.anchor.at) == (4, NOW_MS // 1000)
    written = (pocket / "anchor").read_bytes() + (pocket / "anchor.minisig").read_bytes()
    for secret in (str(indexed.world.folder), indexed.world.root, "make the tests pass"):
        assert secret.encode() not in written


def test_an_exported_anchor_is_a_file_of_minisign(indexed: Case, pocket: Path) -> None:
    """Whoever has the two files and the printed key needs no program of ours."""
    program = shutil.which("minisign")
    if program is None:
        skip_without("minisign")
    exported = export(indexed.world, pocket / "anchor")
    command = [program, "-VHQm", "anchor", "-P", exported.public_key]
    done = subprocess.run(command, cwd=pocket, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"origin {exported.anchor.checkpoint.origin} size 4 root ".encode())
    (pocket / "anchor").write_bytes(b"x" + (pocket / "anchor").read_bytes())
    assert subprocess.run(command, cwd=pocket, capture_output=True, check=False).returncode != 0


@pytest.mark.parametrize("there", ["anchor", "anchor.minisig"])
def test_an_export_writes_over_nothing(indexed: Case, pocket: Path, there: str) -> None:
    """Where one of the two names is taken, neither file is made."""
    (pocket / there).write_bytes(b"mine")
    assert refusal_of(lambda: export(indexed.world, pocket / "anchor")) == "anchor-file-unusable"
    assert contents(pocket) == {there: b"mine"}
    (pocket / there).unlink()
    (pocket / there).symlink_to(pocket / "elsewhere")
    assert refusal_of(lambda: export(indexed.world, pocket / "anchor")) == "anchor-file-unusable"
    assert not (pocket / "elsewhere").exists()


@pytest.mark.parametrize("name", ["missing/anchor", "", "a\0b", "x" * 300])
def test_a_place_that_cannot_be_written_is_refused(indexed: Case, pocket: Path, name: str) -> None:
    """No such folder, a folder, no path, a name that is too long."""
    assert refusal_of(lambda: export(indexed.world, pocket / name)) == "anchor-file-unusable"
    assert list(pocket.iterdir()) == []


@pytest.mark.parametrize("call", [1, 2])
def test_a_failing_disk_leaves_neither_file(
    indexed: Case, pocket: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    """The first or the second file cannot be made durable: none is left that somebody could rely on."""
    calls = []

    def failing(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == call:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("timeline.portable.os.fsync", failing)
    with pytest.raises(AnchorFileError, match="Input/output error"):
        export(indexed.world, pocket / "anchor")
    assert len(calls) == call
    assert list(pocket.iterdir()) == []


def test_a_state_that_is_refused_exports_nothing(indexed: Case, pocket: Path) -> None:
    """What is not believed is not signed for a second time."""
    shutil.copy2(indexed.world.locations.head, pocket / "kept")
    enroll_session(indexed.world, seed=3).index()
    shutil.copy2(pocket / "kept", indexed.world.locations.head)
    (pocket / "kept").unlink()
    assert refusal_of(lambda: export(indexed.world, pocket / "anchor")) == "anchor-ahead"
    assert list(pocket.iterdir()) == []


def test_an_anchor_that_would_not_verify_is_not_given_away(indexed: Case, pocket: Path) -> None:
    """A private key that is not the one in force signs nothing that a person would rely on."""
    stranger = Signer("x", b"x" * 32)
    with indexed.state() as state:
        pins = structs.replace(state.keystore.pins, log=stranger.verifier)
        state.keystore = structs.replace(state.keystore, pins=pins, log_signers=(stranger,))
        with pytest.raises(UnknownKeyError):
            export_anchor(state, pocket / "anchor")
    assert list(pocket.iterdir()) == []


# -- the same log ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["anchor", "anchor.minisig"])
def test_a_log_as_it_was_carried_reaches_l3(indexed: Case, pocket: Path, name: str) -> None:
    """Text with signature, or the signature file alone; nothing is written, and freshness stays unchecked."""
    export(indexed.world, pocket / "anchor")
    if name == "anchor.minisig":
        (pocket / "anchor").unlink()
    before = contents(indexed.world.folder) | contents(pocket)
    report = verify(indexed.world, pocket / name, deep=True)
    assert (report.verdict, report.level, report.carried_size) == ("ok", "L3", 4)
    (check,) = [check for check in report.checks if check.name == f"carried anchor {pocket / name}"]
    assert check.ok
    assert AT in check.detail
    assert report.not_checked[1:] == UNSEEN[1:]
    assert report.not_checked[0].startswith(
        f"complete restoration: checked up to size 4, which a person carried away at {AT}"
    )
    assert contents(indexed.world.folder) | contents(pocket) == before


def test_a_log_that_went_on_reaches_l3_as_far_as_it_was_carried(indexed: Case, pocket: Path) -> None:
    """The level of the whole stays, the report names the part, and the largest file counts."""
    export(indexed.world, pocket / "early")
    enroll_session(indexed.world, seed=3)
    export(indexed.world, pocket / "later")
    enroll_session(indexed.world, seed=4).index()
    report = verify(indexed.world, pocket / "early")
    assert (report.verdict, report.level, report.carried_size, report.size) == ("ok", "L1", 4, 7)
    assert "checked up to size 4" in report.not_checked[0]
    both = verify(indexed.world, pocket / "later", pocket / "early")
    assert (both.verdict, both.level, both.carried_size) == ("ok", "L1", 5)
    assert "checked up to size 5" in both.not_checked[0]
    assert both.not_checked[1:] == report.not_checked[1:] == [*UNSEEN[1:], *NOT_CHECKED_SHALLOW]


def test_without_a_file_nothing_is_claimed_of_one(indexed: Case) -> None:
    """The list of what was not checked is that of a run without anchors."""
    report = verify(indexed.world)
    assert (report.level, report.carried_size) == ("L1", 0)
    assert report.not_checked == [*UNSEEN, *NOT_CHECKED_SHALLOW]


def test_a_repairable_state_is_compared_as_it_will_be(indexed: Case, pocket: Path) -> None:
    """One batch ahead of its anchor, as a crash leaves it."""
    anchor = indexed.world.locations.anchor
    old = anchor.read_bytes()
    enroll_session(indexed.world, seed=3)
    export(indexed.world, pocket / "anchor")
    anchor.write_bytes(old)
    report = verify(indexed.world, pocket / "anchor")
    assert (report.verdict, report.level, report.carried_size) == ("repairable", "L3", 5)


# -- another log -----------------------------------------------------------------------------------------------


def test_a_complete_restore_is_refused_with_what_was_carried(
    indexed: Case, tmp_path: Path, pocket: Path
) -> None:
    """All four folders of an older moment: in order without the file, an older state with it."""
    older = keep(indexed.world, tmp_path / "older")
    enroll_session(indexed.world, seed=3).index()
    export(indexed.world, pocket / "anchor")
    assert verify(indexed.world, pocket / "anchor").verdict == "ok"
    restore(indexed.world, older)
    assert verify(indexed.world, deep=True).verdict == "ok"
    report = verify(indexed.world, pocket / "anchor", deep=True)
    assert report.verdict == "refused"
    assert refusals(report) == {f"carried anchor {pocket / 'anchor'}": "rollback"}
    assert (report.level, report.carried_size) == ("L1", 0)
    assert report.not_checked == UNSEEN


def test_a_restored_log_that_went_another_way_is_refused(indexed: Case, tmp_path: Path, pocket: Path) -> None:
    """It is as large as what was carried, or larger: another history; what was carried before the fork still fits."""
    export(indexed.world, pocket / "before")
    older = keep(indexed.world, tmp_path / "older")
    enroll_session(indexed.world, seed=3)
    export(indexed.world, pocket / "anchor")
    restore(indexed.world, older)
    for seed in (4, 5):
        enroll_session(indexed.world, seed=seed)
        report = verify(indexed.world, pocket / "before", pocket / "anchor")
        assert report.verdict == "refused"
        assert refusals(report) == {f"carried anchor {pocket / 'anchor'}": "equivocation"}
        assert (report.level, report.carried_size) == ("L1", 0)
        assert verify(indexed.world, pocket / "before").verdict == "ok"


def test_an_external_anchor_that_refuses_is_not_outvoted(indexed: Case, tmp_path: Path, pocket: Path) -> None:
    """What was carried is contained in the restored state; another memory knows of more, so nothing is claimed."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    add_anchor(indexed.session, "file", str(elsewhere / "anchor"), key=None, name=None, bounds=Bounds())
    export(indexed.world, pocket / "anchor")
    assert verify(indexed.world, pocket / "anchor").level == "L3"
    older = keep(indexed.world, tmp_path / "older")
    enroll_session(indexed.world, seed=3)
    restore(indexed.world, older)
    report = verify(indexed.world, pocket / "anchor")
    assert report.verdict == "refused"
    assert "external-anchor-ahead" in refusals(report).values()
    assert report.level == "L1"


def test_the_anchor_of_another_timeline_is_refused(indexed: Case, tmp_path: Path, pocket: Path) -> None:
    """Though its log is smaller, and fine."""
    export(new_world(tmp_path / "other"), pocket / "anchor")
    report = verify(indexed.world, pocket / "anchor")
    assert refusals(report) == {f"carried anchor {pocket / 'anchor'}": "origin-mismatch"}


def _text(change: Callable[[bytes], bytes]) -> Callable[[Path, Exported], object]:
    return lambda file, _exported: file.write_bytes(change(file.read_bytes()))


def _signature(change: Callable[[bytes], bytes]) -> Callable[[Path, Exported], object]:
    return lambda _file, exported: exported.signature.write_bytes(change(exported.signature.read_bytes()))


def _forged(_file: Path, exported: Exported) -> None:
    exported.signature.write_bytes(sign_carried(exported.anchor, Signer("x", b"x" * 32)))


def _smaller(file: Path, exported: Exported) -> None:
    """A forged file must not pass for being smaller than the log."""
    anchor = CarriedAnchor(Checkpoint(exported.anchor.checkpoint.origin, 1, Digest(bytes(32))), 0)
    file.write_bytes(anchor.text)
    exported.signature.write_bytes(sign_carried(anchor, Signer("x", b"x" * 32)))


DAMAGE: dict[str, tuple[Callable[[Path, Exported], object], str]] = {
    "another text": (_text(lambda raw: raw.replace(b"\n4\n", b"\n3\n")), "bad-signature"),
    "no text in the file": (_text(lambda _raw: b""), "bad-signature"),
    "a longer text": (_text(lambda raw: raw + b"\n" * 20_000), "bad-signature"),
    "another size in the comment": (
        _signature(lambda raw: raw.replace(b"size 4", b"size 3")),
        "bad-signature",
    ),
    "another time in the comment": (
        _signature(lambda raw: raw.replace(b" time 1", b" time 2")),
        "bad-signature",
    ),
    "a signature by somebody else": (_forged, "unknown-key"),
    "a smaller tree by somebody else": (_smaller, "unknown-key"),
    "an empty signature file": (_signature(lambda _raw: b""), "malformed"),
    "a signature file with CRLF": (_signature(lambda raw: raw.replace(b"\n", b"\r\n")), "malformed"),
    "a signature file of something else": (
        _signature(
            lambda _raw: sign_file(b"x", "timestamp:1", "timeline carried anchor", Signer("x", b"x" * 32))
        ),
        "malformed",
    ),
    "the legacy form": (_signature(lambda raw: raw.replace(b"\nRU", b"\nRW")), "unsupported-version"),
    "no signature file": (lambda _file, exported: exported.signature.unlink(), "anchor-file-unusable"),
    "no text": (lambda file, _exported: file.unlink(), "anchor-file-unusable"),
    "a folder": (lambda file, _exported: (file.unlink(), file.mkdir()), "anchor-file-unusable"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_or_forged_file_is_refused(indexed: Case, pocket: Path, name: str) -> None:
    """A log in order does not pass with a file that says nothing true; each damage has its reason."""
    damage, reason = DAMAGE[name]
    file = pocket / "anchor"
    damage(file, export(indexed.world, file))
    report = verify(indexed.world, file)
    assert report.verdict == "refused"
    assert refusals(report) == {f"carried anchor {file}": reason}
    assert (report.level, report.carried_size) == ("L1", 0)
    assert "checked up to" not in report.not_checked[0]


def test_a_state_that_is_refused_is_compared_with_nothing(indexed: Case, pocket: Path) -> None:
    """The report says so for each file, and claims nothing of it."""
    export(indexed.world, pocket / "anchor")
    indexed.world.locations.head.unlink()
    report = verify(indexed.world, pocket / "anchor")
    assert (report.verdict, report.carried_size) == ("refused", 0)
    said = f"carried anchor {pocket / 'anchor'}: not compared, since the state itself is refused"
    assert report.not_checked[-1] == said
    assert "checked up to" not in report.not_checked[0]


# -- key changes -----------------------------------------------------------------------------------------------


def test_an_anchor_outlives_a_key_change(indexed: Case, pocket: Path) -> None:
    """Exported before and after a rotation and a revocation: each is verified with the key of its own epoch."""
    reasons: tuple[Reason, ...] = ("rotation", "compromised")
    exported = [export(indexed.world, pocket / "0")]
    for number, reason in enumerate(reasons, start=1):
        change_log_key(indexed.session, reason)
        exported.append(export(indexed.world, pocket / str(number)))
    assert len({one.public_key for one in exported}) == 3
    report = verify(indexed.world, *(one.signature for one in exported))
    assert (report.verdict, report.level, report.carried_size, report.size) == ("ok", "L3", 6, 6)


def test_a_retired_key_speaks_for_no_later_tree(indexed: Case, pocket: Path) -> None:
    """A thief of the old key writes a true anchor of the present: it would count for more than its key may say."""
    with indexed.state() as state:
        retired = state.keystore.log
    change_log_key(indexed.session, "compromised")
    exported = export(indexed.world, pocket / "anchor")
    exported.signature.write_bytes(sign_carried(exported.anchor, retired))
    report = verify(indexed.world, pocket / "anchor")
    assert refusals(report) == {f"carried anchor {pocket / 'anchor'}": "unknown-key"}


def test_a_state_from_before_a_key_change_is_refused(indexed: Case, tmp_path: Path, pocket: Path) -> None:
    """It does not know the newer key, and the advice says that this may be the cause."""
    older = keep(indexed.world, tmp_path / "older")
    change_log_key(indexed.session, "rotation")
    export(indexed.world, pocket / "anchor")
    restore(indexed.world, older)
    report = verify(indexed.world, pocket / "anchor")
    assert refusals(report) == {f"carried anchor {pocket / 'anchor'}": "unknown-key"}
    assert "older state" in next(check.hint for check in report.checks if not check.ok)


# -- the leaves that are compared ------------------------------------------------------------------------------


def test_leaves_that_are_committed_meanwhile_do_not_disturb(indexed: Case) -> None:
    """The comparison is with the log as it was opened."""
    with indexed.state() as state:
        enroll_session(indexed.world, seed=3)
        assert len(committed_hashes(state)) == state.belief.size == 4


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM leaf WHERE idx = 3",
        "DELETE FROM leaf WHERE idx = 1",
        "UPDATE leaf SET salt = zeroblob(32) WHERE idx = 0",
    ],
)
def test_leaves_that_are_changed_meanwhile_are_refused(indexed: Case, change: str) -> None:
    """Who changes the database between two readings gains nothing."""
    with indexed.state() as state:
        with closing(sqlite3.connect(indexed.world.locations.database)) as connection, connection:
            connection.execute(change)
        with pytest.raises(DigestMismatchError):
            committed_hashes(state)


# -- the command -----------------------------------------------------------------------------------------------


@pytest.fixture
def run(indexed: Case, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a function that runs `timeline` on the indexed world."""
    use(indexed.world, monkeypatch)
    return runner(monkeypatch)


def test_the_export_command_prints_the_commands_that_verify(indexed: Case, pocket: Path, run: Run) -> None:
    """What it prints is run as it stands, ours always and minisign's where it is installed; a second run is refused."""
    file = pocket / "my anchor"
    code, out, _ = run("anchor", "export", str(file))
    assert code == 0
    commands = {
        line.split(": ")[0]: shlex.split(line.partition(": ")[2]) for line in out.split("\n") if ": " in line
    }
    assert run(*commands["compare"][1:])[0] == 0
    assert commands["compare"][-1] == str(file)
    elsewhere = commands["verify elsewhere"]
    assert (elsewhere[0], elsewhere[2]) == ("minisign", str(file))
    if shutil.which("minisign") is not None:
        assert subprocess.run(elsewhere, capture_output=True, check=False).returncode == 0
    assert run("anchor", "export", str(file))[0] == 1
    code, out, _ = run("anchor", "export", "--json", str(pocket / "other"))
    found = json.loads(out)
    assert (code, found["size"], found["minisignKey"]) == (0, 4, elsewhere[-1])
    assert found["signature"] == f"{pocket / 'other'}.minisig"
    assert found["root"] == verify(indexed.world).root


def test_verify_against_says_level_and_part(indexed: Case, pocket: Path, run: Run) -> None:
    """For a person and as data; a refusal ends with 1."""
    export(indexed.world, pocket / "anchor")
    code, out, _ = run("verify", "--against", str(pocket / "anchor"))
    assert (code, out.split("\n")[0]) == (0, "verdict: ok  level: L3  log: 4 leaves")
    enroll_session(indexed.world, seed=3)
    code, out, _ = run("verify", "--against", str(pocket / "anchor"))
    assert (code, out.split("\n")[0]) == (0, "verdict: ok  level: L1, L3 up to size 4  log: 5 leaves")
    assert "complete restoration: checked up to size 4" in out
    code, out, _ = run(
        "verify", "--json", "--against", str(pocket / "anchor"), "--against", str(pocket / "no")
    )
    found = json.loads(out)
    assert (code, found["verdict"], found["level"], found["carriedSize"]) == (1, "refused", "L1", 0)
    assert [check["reason"] for check in found["checks"] if not check["ok"]] == ["anchor-file-unusable"]
