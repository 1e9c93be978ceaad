"""A protocol that was never reviewed is read as a reviewed one while the owner says so, and not otherwise."""

import json
from pathlib import Path

import pytest

from adapters.errors import UnknownProtocolError
from adapters.registry import ADAPTERS, adapter_of
from tests.simulators.king import work_wire
from timeline import formats, service
from timeline.errors import FormatNameError
from timeline.inspection import inspect_file
from timeline.paths import Locations
from timeline.provider import check_protocols
from timeline.terms import parse_query

DECLARED = "9.9-blun"


def strange_wire() -> bytes:
    """A sound wire whose header declares a protocol that nobody has reviewed."""
    data = work_wire().to_bytes()
    assert b'"protocol_version":"1.4"' in data
    return data.replace(b'"protocol_version":"1.4"', f'"protocol_version":"{DECLARED}"'.encode())


@pytest.fixture
def enrolled(tmp_path: Path) -> tuple[service.Session, str]:
    """Give a timeline with such a wire enrolled, and its project."""
    locations = Locations(*(tmp_path / name for name in ("state", "trust", "config", "runtime")))
    session = service.Session(locations, environment={"HOME": str(tmp_path / "home")})
    service.init_state(session, owner_presence="any")
    project = tmp_path / "project"
    project.mkdir()
    folder = tmp_path / "home/.kimi-code/sessions/wd_x/session_1"
    wire = folder / "agents/main/wire.jsonl"
    wire.parent.mkdir(parents=True)
    wire.write_bytes(strange_wire())
    entry = json.dumps({"sessionId": "session_1", "sessionDir": str(folder)})
    (tmp_path / "home/.kimi-code/session_index.jsonl").write_text(entry + "\n", encoding="utf-8")
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "session_1", "cwd": str(project)}
    receipt = service.receive_prompt(session, "kimi", json.dumps(event).encode())
    service.enroll(session, str(project), receipt.id, confirmed=True)
    return session, str(project)


def outcome(session: service.Session, project: str) -> str:
    """How indexing goes, in a word."""
    ((_, *rest),) = [
        result if isinstance(result, tuple) else (None,) for result in service.index(session, project)
    ]
    return str(getattr(rest[0], "reason", "")) if rest else "indexed"


@pytest.mark.requirement("T71")
def test_the_owner_maps_a_protocol_and_takes_it_back(enrolled: tuple[service.Session, str]) -> None:
    """Refused by name, then indexed and searched, then, taken back, nothing is served from it any more."""
    session, project = enrolled
    query = parse_query(["pytest", "failed"])
    assert outcome(session, project) == "unknown-protocol"
    formats.accept_type(session, "kimi", f"protocol/{DECLARED}:1.4")
    assert outcome(session, project) == "indexed"
    answer, _ = service.find(session, project, query=query)
    assert [card.event.passed for card in answer.cards] == [11]
    assert service.verify_timeline(session, deep=True).ok
    formats.revoke_type(session, "kimi", f"protocol/{DECLARED}:1.4")
    answer, _ = service.find(session, project, query=query)
    assert (answer.cards, answer.reason) == ((), "unknown-protocol")


@pytest.mark.requirement("T71")
def test_a_decision_is_for_its_host_and_its_protocol_alone(enrolled: tuple[service.Session, str]) -> None:
    """What was said of another host, or of another protocol, changes nothing."""
    session, project = enrolled
    formats.accept_type(session, "king", f"protocol/{DECLARED}:1.4")
    formats.accept_type(session, "kimi", "protocol/9.8:1.4")
    assert outcome(session, project) == "unknown-protocol"


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("king", "protocol/9.9:9.8"),
        ("king", "protocol/9.9"),
        ("king", "protocol/:1.4"),
        ("codex", "protocol/9.9:1.4"),
        ("claude", "protocol/9.9:1.4"),
    ],
)
def test_only_a_reviewed_protocol_can_be_meant(
    enrolled: tuple[service.Session, str], host: str, name: str
) -> None:
    """Refused before anything is recorded, with how to write it."""
    session, _ = enrolled
    before = service.verify_timeline(session, deep=False).root
    with pytest.raises(FormatNameError) as caught:
        formats.accept_type(session, host, name)
    assert "1.6-blun:1.4" in caught.value.hint
    assert service.verify_timeline(session, deep=False).root == before


def test_inspect_reads_a_protocol_as_another_without_recording_it(tmp_path: Path) -> None:
    """What a decision would bring can be looked at first."""
    wire = tmp_path / "wire.jsonl"
    wire.write_bytes(strange_wire())
    assert inspect_file(ADAPTERS["king"], str(wire)).reason == "unknown-protocol"
    assert inspect_file(check_protocols("king", {DECLARED: "1.4"}), str(wire)).verdict == "understood"


def test_hosts_without_protocols_have_none_to_map() -> None:
    """The adapters of Codex and Claude Code take no mapping."""
    for host in ("codex", "claude"):
        with pytest.raises(UnknownProtocolError):
            adapter_of(host, {"1": "2"})
