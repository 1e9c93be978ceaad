"""What the hook at Stop tells the user of a message's claims, over the daemon's socket and in each host's words."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.conftest import RunningDaemon
from tests.guard.agents import Agent, agent_of
from tests.simulators.host_process import host_process
from tests.simulators.hosts import pytest_output
from tests.simulators.worlds import new_world
from tests.world.briefing.places import Place, completed, new_place
from timeline import dialects, service
from timeline.daemon import reception
from timeline.hosts import HOSTS
from timeline.stop_telling import claims_at_stop, told_at_stop
from timeline.telling import read_completion
from timeline.world import ledger
from timeline.world.scope import reader_of

SECRET = "correct horse battery"


def stop(daemon: RunningDaemon, message: str, **fields: Any) -> list[str] | None:
    """The lines that the user is shown after the first; ``None`` for nothing."""
    answer = daemon.hook("Stop", last_assistant_message=message, **{"stop_hook_active": False, **fields})
    if answer == {}:
        return None
    assert answer is not None
    assert set(answer) == {"systemMessage"}
    told: str = answer["systemMessage"]
    head, *lines = told.split("\n")
    assert "heuristic" in head
    return lines


def grow(daemon: RunningDaemon, passed: int, failed: int) -> None:
    """The agent runs its tests once more, and its host writes it down."""
    daemon.rollout.start_turn()
    daemon.rollout.prompt("once more")
    daemon.rollout.command("pytest -q", pytest_output(passed, failed), int(failed > 0))
    daemon.rollout.end_turn("done")
    # Added to, as a host does it: a file that is written anew is shorter for a moment.
    with daemon.path.open("ab") as transcript:
        transcript.write(daemon.rollout.to_bytes()[daemon.path.stat().st_size :])


@pytest.mark.requirement("P36", "P4")
def test_the_user_is_told_what_the_newest_run_says(daemon: RunningDaemon) -> None:
    """A run that the host has just written is read first, however little time has passed since the last reading."""
    daemon.enroll()
    (line,) = stop(daemon, "All 13 tests pass.") or []
    assert line.startswith("- supported: tests passed [all, 13 passed] (pytest: pass, 13 passed, ")
    assert line.endswith(" min ago)")
    grow(daemon, 11, 3)
    (line,) = stop(daemon, "All 13 tests pass.") or []
    assert line.startswith(
        "- contradicted: tests passed [all, 13 passed] (pytest: fail, 11 passed, 3 failed, "
    )
    grow(daemon, 14, 0)
    assert stop(daemon, "Done. All 14 tests pass and mypy is clean.") == [
        "- unknown: the work is completed (no captured evidence)",
        "- unknown: a check passed [mypy] (no captured evidence)",
        (stop(daemon, "All 14 tests pass.") or [""])[0],
    ]
    assert daemon.diary("refused") == daemon.diary("fault") == []


@pytest.mark.requirement("P36", "T35")
def test_nothing_of_the_message_is_kept_or_repeated(daemon: RunningDaemon) -> None:
    """Not in the answer, and in no file of the timeline."""
    daemon.enroll()
    lines = stop(daemon, f"I fixed the {SECRET}. All 13 tests pass, `{SECRET}`.")
    assert lines is not None
    assert SECRET not in "\n".join(lines)
    daemon.settle()
    for folder in (daemon.world.folder, daemon.world.locations.runtime):
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert files
        assert not [path for path in files if SECRET.encode() in path.read_bytes()]


@pytest.mark.requirement("X12", "T6")
def test_a_session_without_consent_is_told_nothing(daemon: RunningDaemon) -> None:
    """Not enrolled, another one, revoked, or ended."""
    assert stop(daemon, "All tests pass.") is None
    daemon.enroll()
    assert stop(daemon, "All tests pass.") is not None
    assert stop(daemon, "All tests pass.", session_id="another") is None
    (found,) = service.list_sources(daemon.world.session, daemon.world.root)
    service.revoke(daemon.world.session, found.source.enrollment.enrollment_id)
    assert stop(daemon, "All tests pass.") is None
    daemon.enroll()
    assert stop(daemon, "All tests pass.") is not None
    daemon.world.clock.at_ms += 91 * 24 * 3600 * 1000
    assert stop(daemon, "All tests pass.") is None


@pytest.mark.requirement("P4")
def test_an_agent_that_is_kept_at_work_is_left_alone(daemon: RunningDaemon) -> None:
    """Nor is anything said without a claim, of a group or an agent in the session, or to a forged hook."""
    daemon.enroll()
    assert stop(daemon, "All tests pass.", stop_hook_active=True) is None
    assert stop(daemon, "I looked at the tests.") is None
    assert stop(daemon, "") is None
    for fields in ({"group_id": "g"}, {"agent_id": "child"}):
        assert stop(daemon, "All tests pass.", **fields) is None
    with host_process("bash", {"CODEX_HOME": str(daemon.world.home / ".codex")}) as other:
        assert daemon.hook("Stop", host=other, last_assistant_message="All tests pass.") == {}


def test_the_owner_can_switch_it_off(daemon: RunningDaemon) -> None:
    """In the configuration, with the next message."""
    daemon.enroll()
    settings = daemon.world.locations.settings
    before = settings.read_text(encoding="utf-8")
    settings.write_text("stop_hook = { check_claims = false }\n" + before, encoding="utf-8")
    assert stop(daemon, "All tests pass.") is None
    settings.write_text("stop_hook = { check_claims = true }\n" + before, encoding="utf-8")
    assert stop(daemon, "All tests pass.") is not None


@pytest.mark.requirement("P4")
def test_a_late_answer_is_none(daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host is not held up; it gets the answer that changes nothing."""
    daemon.enroll()
    monkeypatch.setattr(reception, "CLAIMS_SECONDS", 0.0)
    assert stop(daemon, "All tests pass.") is None


def test_a_snapshot_that_the_session_has_outgrown_decides_nothing(daemon: RunningDaemon) -> None:
    """What was written since is not read without the owner's word."""
    daemon.enroll(follow=False)
    assert (stop(daemon, "All 13 tests pass.") or [""])[0].startswith("- supported:")
    grow(daemon, 1, 1)
    (line,) = stop(daemon, "All 13 tests pass.") or []
    assert line == (
        "- unknown: tests passed [all, 13 passed] (what the host has written last has not been read)"
    )
    daemon.path.unlink()
    assert (stop(daemon, "All 13 tests pass.") or [""])[0].startswith("- unknown:")


# -- each host -------------------------------------------------------------------------------------------------


def told(agent: Agent, message: str) -> bytes:
    """What the hook of an agent's session prints at Stop."""
    content = {
        "hook_event_name": "Stop",
        "session_id": agent.session,
        "cwd": agent.world.root,
        "transcript_path": str(agent.written.path),
        "last_assistant_message": message,
        "stop_hook_active": False,
    }
    event = dialects.parse_hook(agent.host, json.dumps(content).encode())
    return told_at_stop(agent.world.session, event, claims_at_stop(event))


@pytest.mark.requirement("P4", "X2")
@pytest.mark.parametrize("host", sorted(HOSTS))
def test_each_host_is_answered_in_its_own_way(host: str, tmp_path: Path) -> None:
    """Codex and Claude Code show their user a message; King and Kimi Code give none, and nothing is said."""
    agent = agent_of(new_world(tmp_path / "world"), host)
    answer = told(agent, "All tests pass.")
    if host in {"codex", "claude"}:
        lines = json.loads(answer)["systemMessage"].split("\n")
        assert lines[1].startswith("- supported: tests passed [all] (pytest: pass, ")
    else:
        assert answer == b""
    assert told(agent, "Nothing to say.") == dialects.nothing(host, "Stop")


@pytest.mark.requirement("W35")
def test_a_task_is_completed_by_its_measurement_alone(tmp_path: Path) -> None:
    """Not before, and not for a session of another task."""
    place = new_place(tmp_path)
    assert not _is_completed(place)
    place.settle()
    assert not _is_completed(place)
    with place.world.session.writing() as state:
        ledger.record(state, [completed(place.route)])
    assert _is_completed(place)


def _is_completed(place: Place) -> bool:
    with place.world.session.reading_local() as state:
        return read_completion(state, reader_of(place.binding()))
