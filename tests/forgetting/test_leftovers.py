"""What the log does not hold and still names what was forgotten: the daemon's diary, and copies of killed commands."""

import shutil
from pathlib import Path

import pytest

from tests.forgetting.lives import Life, check_gone, forget, found_in
from tests.simulators.worlds import refusal_of
from timeline import forget_use
from timeline.diary import Diary, read_diary
from timeline.forget_use import Named
from timeline.lock import hold_writer_lock
from timeline.workspaces import BACKING_UP, FORKING, RESTORING, backup_lock, beside


def write_diary(life: Life) -> Diary:
    """What the daemon has written of both sessions."""
    diary = Diary(life.world.locations.diary)
    diary.write("started", pid=7, version="1")
    for agent in life.agents:
        host = agent.written.host
        diary.write("hook", host=host, session=agent.session, hook="prompt", answer="none")
        diary.write("extension", host=host, source=agent.ref, generation=2)
    return diary


@pytest.mark.requirement("X11", "M14")
def test_no_line_of_the_diary_names_it(life: Life) -> None:
    """Nor does a line that was cut off, or one of the file before; lines about everything else stay."""
    gone, kept = life.agents
    write_diary(life)
    path = life.world.locations.diary
    shutil.copy(path, path.with_name("daemon.log.1"))
    with path.open("ab") as file:
        file.write(b'{"session":"' + gone.session.encode())
    applied = forget(life.world, Named(source=gone.ref))
    check_gone(life, life.world, frozenset({gone.ref}))
    assert found_in(life.world, [gone.ref.encode(), gone.session.encode()]) == set()
    assert {one.what: one.count for one in applied.report.changed}["diary-lines"] == 5
    lines = read_diary(path)
    assert [line.event for line in lines] == ["started", "hook", "extension"] * 2
    assert kept.session in {line.fields.get("session") for line in lines}
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.requirement("X11", "M18")
def test_what_the_daemon_writes_later_is_seen_and_taken_out(life: Life) -> None:
    """A session that goes on running is named again, though not where it is refused as forgotten."""
    gone = life.agents[0]
    applied = forget(life.world, Named(source=gone.ref))
    diary = Diary(life.world.locations.diary)
    diary.write(
        "receipt", host=gone.written.host, session=gone.session, standing="refused", reason="forgotten"
    )
    assert forget_use.verify_plan(life.world.session, applied.plan).ok
    diary.write("hook", host=gone.written.host, session=gone.session, hook="tool", answer="none")
    found = forget_use.verify_plan(life.world.session, applied.plan)
    assert [check.reason for check in found.checks if not check.ok] == ["diary-names-forgotten"]
    assert gone.session not in str(found)
    assert forget_use.apply_plan(life.world.session, applied.plan, confirmed=True).is_complete
    assert forget_use.verify_plan(life.world.session, applied.plan, [gone.session.encode()]).ok


@pytest.mark.requirement("X11", "M14")
@pytest.mark.parametrize("kind", [BACKING_UP, RESTORING, FORKING])
def test_no_copy_of_a_killed_command_is_left(life: Life, kind: str) -> None:
    """A backup, a restore or a fork that was killed has left all of the state beside it."""
    gone = life.agents[0]
    copy = beside(life.world.locations, kind)
    shutil.copytree(life.world.locations.state, copy.state)
    shutil.copytree(life.world.locations.trust, copy.trust)
    words, _ = life.split(frozenset({gone.ref}))
    planned = forget_use.plan_forgetting(life.world.session, Named(source=gone.ref), "redact")
    applied = forget_use.apply_plan(life.world.session, planned.digest, confirmed=True)
    assert {one.what: one.count for one in applied.report.changed}["interrupted-copies"] == 1
    assert not copy.state.exists()
    assert not copy.trust.exists()
    assert [word for word in words if in_folder(life.world.folder, word, life)] == []


def in_folder(folder: Path, word: bytes, life: Life) -> bool:
    """Whether some file below a folder holds a word; the host's own are not ours."""
    home = life.world.home
    return any(
        word in path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_relative_to(home)
    )


@pytest.mark.requirement("M14", "M17", "M21")
def test_a_copy_that_is_in_use_is_told_and_removed_later(life: Life) -> None:
    """A backup is being made: what it holds is not in our hands yet."""
    gone = life.agents[0]
    copy = beside(life.world.locations, BACKING_UP)
    with hold_writer_lock(backup_lock(life.world.locations)):
        shutil.copytree(life.world.locations.state, copy.state)
        applied = forget(life.world, Named(source=gone.ref))
        assert [(one.target, one.why) for one in applied.report.failed] == [
            ("interrupted-copies", "state-busy")
        ]
        found = forget_use.verify_plan(life.world.session, applied.plan, [gone.session.encode()])
        assert {check.reason for check in found.checks if not check.ok} == {
            "copy-left",
            "forget-unfinished",
            "forgotten-value-found",
        }
        assert copy.state.exists()
    assert forget_use.apply_plan(life.world.session, applied.plan, confirmed=True).is_complete
    check_gone(life, life.world, frozenset({gone.ref}))


def test_a_link_in_place_of_a_copy_is_not_followed(life: Life, tmp_path: Path) -> None:
    """What lies behind it is somebody's; the report says that it stands."""
    (tmp_path / "precious").mkdir(mode=0o700)
    (tmp_path / "precious" / "file").touch()
    link = beside(life.world.locations, FORKING).state
    link.symlink_to(tmp_path / "precious")
    assert refusal_of(lambda: forget(life.world, Named(source=life.agents[0].ref))) is None
    assert (tmp_path / "precious" / "file").exists()
    (status,) = forget_use.list_plans(life.world.session)
    assert status.standing == "unfinished"
    link.unlink()
    assert forget_use.apply_plan(life.world.session, status.plan, confirmed=True).is_complete
