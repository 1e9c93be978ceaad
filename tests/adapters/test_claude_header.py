"""Which files are Claude Code sessions: the rule that stands for a header, and each refusal."""

import json

import pytest

from adapters.base import HEADER_BYTES
from adapters.claude import ClaudeAdapter
from adapters.errors import (
    AdapterError,
    CompressedError,
    HeaderError,
    HeaderIncompleteError,
    HeaderTooLargeError,
    HostSettingsError,
    NoSessionError,
    PromptHistoryError,
    StreamOutputError,
    UnsupportedFormatError,
    WorkflowJournalError,
    WrongHostError,
)
from adapters.registry import ADAPTERS
from tests.simulators.claude import branch, work_session

CLAUDE = ClaudeAdapter()
SESSION = "5eed1315-009b-4041-9055-11110247fa75"
SECRET = "hunter2"


def line(**fields: object) -> bytes:
    """Return one line with these fields."""
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def user(**fields: object) -> bytes:
    """Return a prompt's line with ``fields`` on top of the least one."""
    return line(
        **{"type": "user", "sessionId": SESSION, "message": {"role": "user", "content": "x"}} | fields
    )


SUMMARY = line(type="summary", summary="An older session", leafUuid="l")


def test_the_least_header_is_a_line_that_names_a_session() -> None:
    """An id is enough; version, folder, parent and origin are absent where nothing states them."""
    header = CLAUDE.read_header(user())
    assert (header.host, header.format) == ("claude", "claude-code-jsonl/v1")
    assert (header.session_id, header.length, header.is_subagent) == (SESSION, len(user()) - 1, False)
    assert (header.app_version, header.cwd, header.parent_id, header.forked_from) == (None,) * 4
    assert ADAPTERS["claude"].read_header(user()) == header


def test_lines_beside_the_conversation_may_come_first() -> None:
    """Titles of other sessions, snapshots and bad lines are stepped over; the first id is the session's."""
    data = SUMMARY * 3 + b"\n" + b"\0\0\n" + line(type="file-history-snapshot", messageId="m") + user()
    assert CLAUDE.read_header(data + user(sessionId="another")).session_id == SESSION


def test_version_and_folder_are_those_of_the_first_line_that_has_them() -> None:
    """They may come later than the session's name, and a later version changes nothing."""
    data = (
        line(type="permission-mode", sessionId=SESSION)
        + user(version="2.1.49", cwd="/w/x")
        + user(version="2.2")
    )
    header = CLAUDE.read_header(data)
    assert (header.app_version, header.cwd) == ("2.1.49", "/w/x")


def test_a_subagents_own_file_has_its_own_identity() -> None:
    """``agentId`` is the file's, ``sessionId`` the parent's; a sidechain line without one is of the session."""
    header = CLAUDE.read_header(user(isSidechain=True, agentId="a1b2c3"))
    assert (header.session_id, header.parent_id, header.is_subagent) == ("a1b2c3", SESSION, True)
    for more in ({"isSidechain": True}, {"isSidechain": False, "agentId": "a"}, {"agentId": "a"}):
        assert CLAUDE.read_header(user(**more)).session_id == SESSION


def test_a_branch_names_its_origin() -> None:
    """The first copied line says from which session it was copied."""
    parent = work_session("2.1.220")
    assert (
        CLAUDE.read_header(branch(parent).to_bytes()).forked_from is None
    )  # a line beside the talk comes first
    assert CLAUDE.read_header(user(forkedFrom={"sessionId": "old", "messageUuid": "m"})).forked_from == "old"
    for odd in (None, 1, {"sessionId": 1}, {"sessionId": "../x"}, []):
        assert CLAUDE.read_header(user(forkedFrom=odd)).forked_from is None


def test_a_newer_application_is_no_refusal() -> None:
    """The version of the application decides nothing: its record types do."""
    assert CLAUDE.read_header(user(version="77.0.0")).app_version == "77.0.0"


def test_a_byte_order_mark_is_stepped_over() -> None:
    """The line behind it is found; it is still counted as a defect by the reader."""
    assert CLAUDE.read_header(b"\xef\xbb\xbf" + user()).session_id == SESSION


@pytest.mark.requirement("T70", "T72")
@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", HeaderIncompleteError),
        (user()[:-1], HeaderIncompleteError),
        (b"x" * (HEADER_BYTES + 1), HeaderTooLargeError),
        (b"\x28\xb5\x2f\xfd\x04\x58", CompressedError),
        (b"\x1f\x8b\x08\x00", CompressedError),
        (SUMMARY * 3, NoSessionError),
        (SUMMARY + user(sessionId=None), NoSessionError),
        (user(sessionId=17), NoSessionError),
        (user(sessionId=""), NoSessionError),
        (user(sessionId="../" + SECRET), NoSessionError),
        (user(sessionId="x" * 129), NoSessionError),
        (SUMMARY * (HEADER_BYTES // len(SUMMARY) + 2) + user(), NoSessionError),
        (b"\n", HeaderError),
        (b"\0" * 40 + b"\n", HeaderError),
        (b"[]\n", HeaderError),
        (b"not json " + SECRET.encode() + b"\n", HeaderError),
        (user().replace(b'"type":"user"', b'"type":"user","type":"x"'), HeaderError),
        (
            line(display=SECRET, pastedContents={}, timestamp=1, project="/w", sessionId=SESSION),
            PromptHistoryError,
        ),
        (line(display=SECRET, pastedContents={}, timestamp=1, project="/w"), PromptHistoryError),
        (line(permissions={"allow": [SECRET]}, hooks={}), HostSettingsError),
        (line(mcpServers={}), HostSettingsError),
        (json.dumps({"env": {}, "hooks": {}}, indent=2).encode() + b"\n", HostSettingsError),
        (line(type="started", key="k", agentId="a"), WorkflowJournalError),
        (line(type="result", key="k", agentId="a", result=SECRET), WorkflowJournalError),
        (line(type="system", subtype="init", session_id=SESSION), StreamOutputError),
        (line(type="metadata", protocol_version="1.4", created_at=1), WrongHostError),
        (line(timestamp="t", type="session_meta", payload={"id": "x"}), WrongHostError),
        (line(timestamp="t", type="event_msg", payload={"type": "token_count"}), WrongHostError),
    ],
)
def test_every_other_file_is_refused_with_its_reason(data: bytes, error: type[AdapterError]) -> None:
    """The class says why, the reason is stable, and no text of the file is in the message."""
    with pytest.raises(AdapterError) as caught:
        CLAUDE.read_header(data)
    assert type(caught.value) is error
    assert isinstance(caught.value, HeaderError | UnsupportedFormatError)
    assert caught.value.host == "claude"
    assert SECRET not in str(caught.value)


def test_a_journal_record_inside_a_session_is_no_reason() -> None:
    """Only the first record names another kind of file."""
    data = user() + line(type="started", key="k", agentId="a") + line(display="x")
    assert CLAUDE.read_header(data).session_id == SESSION
