"""Several events of one line: calls that Claude Code asked for together are told apart all the way to the card."""

import json
from pathlib import Path

import pytest

from tests.simulators.claude import ClaudeSession, new_session, result_block, use
from tests.simulators.hosts import pytest_output
from timeline import service
from timeline.paths import Locations
from timeline.terms import parse_query


def together(session: ClaudeSession, runs: int, first: int) -> None:
    """Append one line with so many calls, and one with all their results; each run has another number of tests."""
    ids = [session.new_call_id() for _ in range(runs)]
    session.answer(*(use(one, "Bash", {"command": f"pytest -q t{number}"}) for number, one in enumerate(ids)))
    blocks = [
        result_block(one, f"Exit code 1\n{pytest_output(first + 5 * number, 1)}", True, early=False)
        for number, one in enumerate(ids)
    ]
    session.record("user", {"message": {"role": "user", "content": blocks}}, toolUseResult=None)


def indexed(folder: Path, claude: ClaudeSession, **bounds: int) -> tuple[service.Session, str]:
    """Take a session through hook, consent and index; return the timeline and its project."""
    locations = Locations(*(folder / name for name in ("state", "trust", "config", "runtime")))
    session = service.Session(locations, environment={"HOME": str(folder / "home")})
    service.init_state(session, owner_presence="any")
    project = folder / "project"
    project.mkdir()
    path = folder / "home/.claude/projects/-w" / f"{claude.session_id}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(claude.to_bytes())
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": claude.session_id,
        "transcript_path": str(path),
        "cwd": str(project),
    }
    receipt = service.receive_prompt(session, "claude", json.dumps(event).encode())
    service.enroll(session, str(project), receipt.id, confirmed=True)
    service.index(session, str(project), **bounds)
    return session, str(project)


def found(session: service.Session, project: str, term: str) -> list[int | None]:
    """Return the numbers of passed tests on the cards of a search."""
    answer, _ = service.find(session, project, query=parse_query(["pytest", term]))
    return [card.event.passed for card in answer.cards]


@pytest.mark.requirement("T22")
def test_runs_of_one_line_are_events_of_their_own(tmp_path: Path) -> None:
    """Equal lines, other blocks: each has an id, numbers and a card of its own, and is derived again from its block."""
    claude = new_session()
    claude.prompt("test everything at once")
    together(claude, 3, first=21)
    session, project = indexed(tmp_path, claude)
    for passed in (21, 26, 31):
        assert found(session, project, str(passed)) == [passed]
    assert sorted(found(session, project, "failed")) == [21, 26, 31]
    assert service.verify_timeline(session, deep=True).ok


@pytest.mark.requirement("T34")
def test_events_of_one_line_are_given_up_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound holds although several events begin at the place where it falls."""
    monkeypatch.setattr("timeline.segment.EVENTS_PER_SOURCE_MAX", 4)
    claude = new_session()
    claude.prompt("test everything at once")
    for number in range(3):
        together(claude, 3, first=100 * number + 11)
    session, project = indexed(tmp_path, claude)
    assert sorted(found(session, project, "failed")) == [211, 216, 221]
    assert service.verify_timeline(session, deep=True).ok


@pytest.mark.requirement("T33", "T34")
def test_a_message_stays_where_the_results_beside_it_are_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four events may stay and the newest line has three: one message has room, and its sidecar stays."""
    monkeypatch.setattr("timeline.segment.EVENTS_PER_SOURCE_MAX", 4)
    claude = new_session()
    claude.prompt("test everything at once")
    for number in range(3):
        together(claude, 3, first=100 * number + 11)
        claude.command("cat numbers.txt", "0123456789abcdef\n" * 8_000)
    session, project = indexed(tmp_path, claude, max_bytes=64 * 1024)
    assert sorted(found(session, project, "failed")) == [211, 216, 221]
    answer, _ = service.find(session, project, query=parse_query(["user", "message"]))
    assert [card.event.kind for card in answer.cards] == ["user-message"]
    (status,) = service.list_sources(session, project)
    assert status.events == 3
    assert service.verify_timeline(session, deep=True).ok
