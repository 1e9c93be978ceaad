"""Which files are Codex rollouts: the header rule and each refusal."""

import json

import pytest

from adapters.base import HEADER_BYTES, HistoryBase
from adapters.codex import CodexAdapter
from adapters.errors import (
    AdapterError,
    CompressedError,
    HeaderError,
    HeaderIncompleteError,
    HeaderTooLargeError,
    UnknownHistoryModeError,
    UnsupportedFormatError,
    WrongHostError,
)

CODEX = CodexAdapter()
THREAD = "01a22a7f-ace7-75e3-95ae-7922d7fa3d2f"
SECRET = "hunter2"


def meta(**payload: object) -> bytes:
    """Return a header line with ``payload`` on top of the least one."""
    record = {
        "timestamp": "2026-11-30T03:29:00.268Z",
        "type": "session_meta",
        "payload": {"id": THREAD, **payload},
    }
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def test_the_least_header_is_legacy() -> None:
    """An id is enough; what is absent is absent, and absence of a mode is legacy."""
    header = CODEX.read_header(meta())
    assert (header.host, header.format) == ("codex", "codex-rollout-jsonl/v1")
    assert (header.session_id, header.history_mode, header.length) == (THREAD, "legacy", len(meta()) - 1)
    assert (header.app_version, header.cwd, header.parent_id, header.forked_from) == (None,) * 4
    assert (header.history_base, header.own_from_ordinal, header.is_subagent) == (None, None, False)


def test_a_full_header_is_read() -> None:
    """Version, folder, mode, fork, base and boundary are those of the first line."""
    base = {"thread_id": "other", "end_ordinal_exclusive": 74, "end_byte_offset": 79574}
    header = CODEX.read_header(
        meta(
            cli_version="9.9.9-alpha.1",
            cwd="/w/project\nx",
            history_mode="paginated",
            forked_from_id="other",
            forked_from_ordinal_exclusive=74,
            history_base=base,
            base_instructions={"text": "x" * 300_000},
            brand_new_field=[{"a": 1}],
        )
    )
    assert (header.app_version, header.cwd, header.history_mode) == (
        "9.9.9-alpha.1",
        "/w/project\nx",
        "paginated",
    )
    assert (header.forked_from, header.own_from_ordinal) == ("other", 74)
    assert header.history_base == HistoryBase("other", 74, 79574)


@pytest.mark.parametrize(
    "payload",
    [
        {"thread_source": "subagent", "session_id": "parent"},
        {"source": {"subagent": {"other": "guardian"}}, "session_id": "parent"},
        {"source": {"subagent": {}}, "parent_thread_id": "parent"},
    ],
)
def test_subagents_are_known_by_their_header(payload: dict) -> None:
    """A subagent's own id is ``id``; ``session_id`` is its parent's."""
    header = CODEX.read_header(meta(**payload))
    assert header.is_subagent
    assert (header.session_id, header.parent_id) == (THREAD, "parent")


@pytest.mark.parametrize("source", ["cli", "vscode", "exec", "mcp", None, {"custom": "x"}])
def test_other_sources_are_people(source: object) -> None:
    """Only a subagent's file holds no human statements."""
    assert not CODEX.read_header(meta(source=source, session_id="s")).is_subagent


@pytest.mark.requirement("T70", "T72")
@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", HeaderIncompleteError),
        (meta()[:-1], HeaderIncompleteError),
        (b"x" * (HEADER_BYTES + 1), HeaderTooLargeError),
        (b"\x28\xb5\x2f\xfd\x04\x58", CompressedError),
        (b"\n", HeaderError),
        (b"\0" * 40 + b"\n", HeaderError),
        (b"[]\n", HeaderError),
        (b"not json " + SECRET.encode() + b"\n", HeaderError),
        (b'{"type":"session_meta"}\n', HeaderError),
        (b'{"type":"session_meta","payload":7}\n', HeaderError),
        (b'{"type":"session_meta","payload":{"id":"a","id":"b"}}\n', HeaderError),
        (b'{"type":"session_meta","type":"x","payload":{"id":"a"}}\n', HeaderError),
        (meta(id=None), HeaderError),
        (meta(id=17), HeaderError),
        (meta(id=""), HeaderError),
        (meta(id="../" + SECRET), HeaderError),
        (meta(id="x" * 129), HeaderError),
        (meta(id="a\nb"), HeaderError),
        (meta(history_base={"thread_id": 3}), HeaderError),
        (meta(cwd="\ud800"), HeaderError),
        (meta(forked_from_ordinal_exclusive=1).replace(b":1}", b":1e999}"), HeaderError),
        (b'{"timestamp":"x","type":"event_msg","payload":{"type":"token_count"}}\n', HeaderError),
        (b'{"type":"thread.started","thread_id":"x"}\n', HeaderError),
        (b'{"session_id":"x","ts":1,"text":"' + SECRET.encode() + b'"}\n', HeaderError),
        (b'{"type":"metadata","protocol_version":"1.4","created_at":1}\n', WrongHostError),
        (b'{"type":"user","sessionId":"x","uuid":"y"}\n', WrongHostError),
        (b'{"parentUuid":null,"type":"user"}\n', WrongHostError),
        (meta(history_mode="sideways"), UnknownHistoryModeError),
        (meta(history_mode=1), UnknownHistoryModeError),
        (meta(history_mode=""), UnknownHistoryModeError),
    ],
)
def test_every_other_file_is_refused_with_its_reason(data: bytes, error: type[AdapterError]) -> None:
    """The class says why, the reason is stable, and no text of the file is in the message."""
    with pytest.raises(AdapterError) as caught:
        CODEX.read_header(data)
    assert type(caught.value) is error
    assert isinstance(caught.value, HeaderError | UnsupportedFormatError)
    assert caught.value.host == "codex"
    assert SECRET not in str(caught.value)


def test_a_newer_application_is_no_refusal() -> None:
    """The version of the application decides nothing: its record types do."""
    assert CODEX.read_header(meta(cli_version="77.0.0")).app_version == "77.0.0"


def test_a_byte_order_mark_is_stepped_over() -> None:
    """The header behind it is found; the line is still counted as a defect by the reader."""
    assert CODEX.read_header(b"\xef\xbb\xbf" + meta()).session_id == THREAD
