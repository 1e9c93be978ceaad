"""Findings about folders, keys, anchors, lock and daemon: each provoked with real files, and gone once it is mended."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.doctor.stage import Daemon, Stage
from timeline.doctor.findings import Level
from timeline.lock import hold_writer_lock
from timeline.service import init_state


def mend(command: str) -> None:
    """Run a mending command in a shell, as the owner would."""
    subprocess.run(["/bin/sh", "-c", command], check=True)


@pytest.mark.requirement("X10")
def test_nothing_has_to_be_done_on_a_sound_timeline(stage: Stage) -> None:
    """What was looked at is listed, and what an anchor elsewhere would add is a note."""
    assert stage.codes() == set()
    found = {finding.code: finding.level for finding in stage.look()}
    assert found["paths-private"] == found["state-verified"] == found["daemon-answers"] == Level.FINE
    assert found["anchor-none"] == found["host-none"] == Level.NOTE


def test_a_missing_timeline_is_found_and_made(bare: Stage) -> None:
    """`timeline init` is what is missing; looking makes nothing."""
    assert bare.finding("state-missing").remedy == "timeline init"
    assert not bare.world.locations.state.exists()
    assert not bare.world.locations.runtime.exists()
    init_state(bare.world.session)
    assert bare.codes() == set()


@pytest.mark.parametrize("name", ["state", "trust", "keys", "config"])
def test_an_open_folder_is_found_and_closed(name: str, stage: Stage) -> None:
    """The path, and the command that closes it."""
    folder: Path = stage.world.locations.config if name == "config" else getattr(stage.world.locations, name)
    folder.chmod(0o750)
    found = stage.finding("path-not-private")
    assert (found.level, found.about, found.remedy) == (Level.ERROR, name, f"chmod 700 {folder}")
    mend(found.remedy)
    assert stage.codes() == set()


@pytest.mark.parametrize("name", ["database", "head", "anchor", "settings", "key", "diary", "pins"])
def test_an_open_file_is_found_and_closed(name: str, stage: Stage) -> None:
    """Also a key's, and one that nothing else looks at."""
    places = stage.world.locations
    path = next(places.keys.iterdir()) if name == "key" else getattr(places, name)
    path.touch(mode=0o600)
    path.chmod(0o640)
    found = stage.finding("path-not-private")
    assert found.remedy == f"chmod 600 {path}"
    assert not {"unsafe-file"} & stage.codes()
    mend(found.remedy)
    assert stage.codes() == set()


def test_a_second_name_is_found_and_given_up(stage: Stage, tmp_path: Path) -> None:
    """Whoever holds the other name could change the file."""
    (tmp_path / "other").hardlink_to(stage.world.locations.head)
    found = stage.finding("path-not-private")
    assert "second name" in found.message
    mend(found.remedy)
    assert stage.codes() == set()


def test_a_link_in_place_of_a_folder_is_found(stage: Stage, tmp_path: Path) -> None:
    """Its target may be anybody's."""
    state = stage.world.locations.state
    shutil.move(state, tmp_path / "elsewhere")
    state.symlink_to(tmp_path / "elsewhere")
    assert "path-not-private" in stage.codes()
    state.unlink()
    shutil.move(tmp_path / "elsewhere", state)
    assert stage.codes() == set()


def test_a_missing_key_is_what_verify_says(stage: Stage, tmp_path: Path) -> None:
    """The doctor's finding is the refusal with its reason and its advice."""
    key = stage.world.locations.keys / "log.key"
    shutil.move(key, tmp_path / "log.key")
    (finding,) = [finding for finding in stage.look() if finding.about == "keys, head, anchor, log"]
    assert (finding.level, finding.code) == (Level.ERROR, "state-incomplete")
    assert "timeline key rotate --lost" in finding.remedy
    shutil.move(tmp_path / "log.key", key)
    assert stage.codes() == set()


def test_a_configuration_that_cannot_be_used_is_found(stage: Stage) -> None:
    """The file and the field are named."""
    path = stage.world.locations.settings
    before = path.read_bytes()
    path.write_bytes(before.replace(b"version = 1", b"version = 2"))
    found = stage.finding("config-invalid")
    assert (found.level, str(path) in found.message, "version" in found.message) == (Level.ERROR, True, True)
    path.write_bytes(before)
    assert stage.codes() == set()


def test_an_anchor_that_does_not_confirm_is_found(stage: Stage, tmp_path: Path) -> None:
    """A second disk that is not there any more; the anchor that answers is fine."""
    disk = tmp_path / "disk"
    disk.mkdir(mode=0o700)
    code, _, err = stage.run("anchor", "add", "file", str(disk / "anchor"), "--name", "disk")
    assert (code, err) == (0, "")
    assert stage.finding("anchor-confirmed").about == "disk"
    shutil.move(disk, tmp_path / "unplugged")
    found = stage.finding("anchor-unconfirmed")
    assert (found.level, found.about, found.remedy) == (Level.WARNING, "disk", "timeline anchor status")
    shutil.move(tmp_path / "unplugged", disk)
    assert stage.codes() == set()


def test_a_writer_that_never_ends_is_found(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process keeps the lock; its number is named where the system tells."""
    monkeypatch.setattr("timeline.doctor.gather.LOCK_SECONDS", 0.0)
    with hold_writer_lock(stage.world.locations.lock):
        found = stage.finding("writer-lock-held")
        assert found.level is Level.WARNING
    assert stage.codes() == set()


# -- the daemon ------------------------------------------------------------------------------------------------


def test_without_a_daemon_everything_else_is_still_looked_at(stage: Stage) -> None:
    """That none runs is no fault: the first client starts one."""
    stage.daemon = None
    assert stage.codes() == set()
    found = stage.finding("daemon-away")
    assert (found.level, found.remedy) == (Level.NOTE, "timeline daemon start")


def test_a_daemon_that_answers_nonsense_is_found(stage: Stage) -> None:
    """It is of another program, or broken: stop it."""
    stage.daemon = Daemon(raw=b'{"version": 1}')
    found = stage.finding("daemon-answer-invalid")
    assert (found.level, found.remedy) == (Level.ERROR, "timeline daemon stop")
    stage.daemon = Daemon()
    assert stage.codes() == set()


def test_a_daemon_that_refuses_the_timeline_is_found(stage: Stage) -> None:
    """With the reason that it gives."""
    stage.daemon = Daemon(state="refused", reason="log-refused")
    found = stage.finding("daemon-refuses")
    assert (found.level, "log-refused" in found.message) == (Level.ERROR, True)


# -- the command -----------------------------------------------------------------------------------------------


def test_the_command_ends_as_the_table_of_exit_codes_says(stage: Stage) -> None:
    """0 nothing to do, 1 an error, 3 a warning, 10 no timeline; every finding is data too."""
    code, out, err = stage.run("doctor", "--json", "--root", stage.world.root)
    answer = json.loads(out)
    assert (code, err, answer["schema"], answer["worst"]) == (0, "", "timeline-doctor/v1", "note")
    assert all(set(f) == {"level", "code", "about", "message", "remedy"} for f in answer["findings"])
    (stage.home / ".codex").mkdir()
    code, out, _ = stage.run("doctor", "--quiet", "--root", stage.world.root)
    assert code == 3
    assert out.split("\n")[0].startswith("WARN codex: found")
    assert out.split("\n")[1] == "     mend: timeline install codex"
    stage.world.locations.state.chmod(0o755)
    code, out, _ = stage.run("doctor", "--root", stage.world.root)
    assert code == 1
    assert f"mend: chmod 700 {shlex.quote(str(stage.world.locations.state))}" in out


def test_the_command_without_a_timeline_ends_with_10(bare: Stage) -> None:
    """As every other command does."""
    code, out, _ = bare.run("doctor", "--root", bare.world.root)
    assert code == 10
    assert "mend: timeline init" in out
