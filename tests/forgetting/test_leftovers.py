"""What the log does not hold and still names what was forgotten: the daemon's diary, and copies of killed commands."""

import shutil
from pathlib import Path

import msgspec
import pytest

from tests.forgetting.lives import Life, check_gone, forget, found_in
from tests.simulators.worlds import prompt_event, refusal_of
from timeline import forget_use, service
from timeline.diary import Diary, read_diary
from timeline.forget_use import Named
from timeline.hosts import HOSTS
from timeline.lock import hold_writer_lock
from timeline.workspaces import BACKING_UP, FORKING, RESTORING, backup_lock, beside


@pytest.mark.requirement("X11", "M14")
def test_no_line_of_the_diary_names_it(life: Life) -> None:
    """Nor does a line that was cut off, or one of the file before; lines about everything else stay."""
    gone, kept = life.agents
    path = life.world.locations.diary
    Diary(path).write("stopped", pid=7, seconds=1)
    shutil.copy(path, path.with_name("daemon.log.1"))
    with path.open("ab") as file:
        file.write(b'{"session":"' + gone.session.encode())
    applied = forget(life.world, Named(source=gone.ref))
    check_gone(life, life.world, frozenset({gone.ref}))
    assert found_in(life.world, [gone.ref.encode(), gone.session.encode()]) == set()
    assert {one.what: one.count for one in applied.report.changed}["diary-lines"] == 5
    lines = read_diary(path)
    assert [line.event for line in lines] == ["hook", "extension", "stopped"] * 2
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


@pytest.mark.requirement("M14")
def test_pending_receipts_are_dropped_and_counted(life: Life) -> None:
    """All of them, since one may speak of what went; a prompt makes another."""
    agent = life.agents[0]
    session = msgspec.structs.replace(life.world.session, environment={"HOME": str(life.world.home)})
    for one in life.agents:
        field_name = HOSTS[one.written.host].turn_field or "turn_id"
        event = prompt_event(life.world, one.session, str(one.written.path), **{field_name: "turn-again"})
        service.receive_prompt(session, one.written.host, event)
    assert len(service.list_receipts(session, life.world.root)) == len(life.agents)
    applied = forget(life.world, Named(source=agent.ref))
    assert {one.what: one.count for one in applied.report.changed}["receipts"] == len(life.agents)
    assert service.list_receipts(session, life.world.root) == ()
