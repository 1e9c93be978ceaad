"""Which files are wires, and what their first line says."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import HEADER_BYTES
from adapters.errors import AdapterError, HeaderError, UnknownProtocolError
from adapters.king import KingAdapter
from adapters.king.header import REVIEWED_PROTOCOLS
from adapters.lines import LineSplitter
from adapters.record import HumanStatement, ToolResult
from adapters.registry import ADAPTERS
from tests.adapters.contract import read
from tests.simulators.hosts import pytest_output, with_bom, with_crlf
from tests.simulators.king import upgraded, work_wire

KING = KingAdapter()
METADATA: dict[str, object] = {"type": "metadata", "protocol_version": "1.4", "created_at": 1787220000000}


def line_of(record: object) -> bytes:
    """Return a record as a host writes it."""
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


@pytest.mark.requirement("T71")
def test_both_names_read_the_same_format() -> None:
    """King and Kimi Code are two hosts with one format; each header says whose it is."""
    data = work_wire().to_bytes()
    headers = [ADAPTERS[host].read_header(data) for host in ("king", "kimi")]
    assert [header.host for header in headers] == ["king", "kimi"]
    assert {header.format for header in headers} == {"king-agent-wire-jsonl/v1"}
    assert headers[0].session_id == headers[1].session_id


@pytest.mark.parametrize("protocol", sorted(REVIEWED_PROTOCOLS))
def test_reviewed_protocols_are_read(protocol: str) -> None:
    """Every reviewed protocol is accepted, and the header names it."""
    header = KING.read_header(line_of(METADATA | {"protocol_version": protocol}))
    assert (header.history_mode, header.is_subagent, header.own_from_offset) == (protocol, False, 0)


@pytest.mark.requirement("T71")
def test_another_protocol_needs_the_owners_mapping() -> None:
    """What was not reviewed is refused by default, and read as a reviewed one where the caller maps it."""
    data = upgraded(work_wire().to_bytes(), "1.6-blun")
    with pytest.raises(UnknownProtocolError) as caught:
        KING.read_header(data)
    assert caught.value.reason == "unknown-protocol"
    mapped = KingAdapter("king", {"1.6-blun": "1.4"})
    assert mapped.read_header(data).history_mode == "1.6-blun"
    assert [type(record) for record in read(mapped, data)[0]] == [
        type(record) for record in read(KING, work_wire().to_bytes())[0]
    ]


@pytest.mark.parametrize("mapping", [{"1.6": "1.7"}, {"": "1.4"}, {"1.6\n": "1.4"}, {"a b": "1.4"}])
def test_a_mapping_to_nothing_reviewed_is_refused(mapping: dict[str, str]) -> None:
    """A mapping cannot widen what was reviewed."""
    with pytest.raises(UnknownProtocolError):
        KingAdapter("king", mapping)


def test_a_mapping_cannot_change_a_reviewed_protocol() -> None:
    """A reviewed protocol is always read as itself."""
    assert KingAdapter("king", {"1.4": "1.5"}).read_header(line_of(METADATA)).history_mode == "1.4"


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (METADATA | {"schema_version": 2}, "header"),
        (METADATA | {"anything": 2}, "header"),
        (METADATA | {"created_at": "1787220000000"}, "header"),
        (METADATA | {"created_at": 0}, "header"),
        (METADATA | {"created_at": 2**60}, "header"),
        (METADATA | {"time": None}, "header"),
        (METADATA | {"protocol_version": 1.4}, "header"),
        (METADATA | {"protocol_version": ""}, "header"),
        (METADATA | {"protocol_version": "9.0"}, "unknown-protocol"),
        (METADATA | {"protocol_version": "1.2"}, "unknown-protocol"),
        ({"type": "metadata", "protocol_version": "1.4"}, "python-kimi-cli"),
        ({"type": "metadata", "protocol_version": "1.10"}, "python-kimi-cli"),
        ({"type": "metadata", "created_at": 1}, "header"),
        ({"type": "hello", "protocol_version": 1}, "python-kimi-cli"),
        ({"timestamp": 1.5, "message": {"type": "TurnBegin", "payload": {}}}, "python-kimi-cli"),
        ({"role": "_system_prompt", "content": "x"}, "python-kimi-cli"),
        ({"role": "assistant", "content": "x"}, "header"),
        ({"sessionId": "x", "sessionDir": "/w", "workDir": "/w"}, "header"),
        ({"timestamp": "2026", "type": "session_meta", "payload": {"id": "x"}}, "wrong-host"),
        ({"id": "x", "timestamp": "2025", "instructions": None}, "wrong-host"),
        ({"type": "summary", "summary": "x", "leafUuid": "x"}, "wrong-host"),
        (
            {"type": "user", "parentUuid": None, "sessionId": "x", "message": {}, "timestamp": "x"},
            "wrong-host",
        ),
        ({"type": "permission-mode", "sessionId": "x"}, "wrong-host"),
        ({"type": "turn.prompt", "input": [], "time": 1}, "header"),
        ([], "header"),
        ("metadata", "header"),
        ({}, "header"),
    ],
)
def test_other_files_are_refused_with_their_reason(first: object, reason: str) -> None:
    """A known stranger is named; anything else is no header."""
    with pytest.raises(AdapterError) as caught:
        KING.read_header(line_of(first))
    assert caught.value.reason == reason
    assert caught.value.host == "king"


def test_the_python_kimi_cli_has_a_remedy() -> None:
    """The refusal says which program the file is of."""
    with pytest.raises(AdapterError) as caught:
        KING.read_header(b'{"type": "metadata", "protocol_version": "1.4"}\n')
    assert "Python kimi-cli" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "header-incomplete"),
        (line_of(METADATA)[:-1], "header-incomplete"),
        (b"x" * (HEADER_BYTES + 1), "header-too-large"),
        (b"\xff\xfe\n", "header"),
        (b"\0\0\n", "header"),
        (b'{"type":"metadata","type":"metadata","protocol_version":"1.4","created_at":1}\n', "header"),
        (b'{"type":"metadata","protocol_version":"\\ud800","created_at":1}\n', "header"),
        (b'{"type":"metadata","protocol_version":"1.4","created_at":1e999}\n', "header"),
    ],
)
def test_broken_beginnings_are_refused(data: bytes, reason: str) -> None:
    """An unfinished, oversized or broken first line each has its reason."""
    with pytest.raises(AdapterError) as caught:
        KING.read_header(data)
    assert caught.value.reason == reason


def test_a_mark_and_other_line_ends_change_nothing() -> None:
    """A byte order mark is stepped over, a carriage return is not part of the record."""
    data = work_wire().to_bytes()
    plain, marked, other = map(KING.read_header, (data, with_bom(data), with_crlf(data)))
    assert plain.session_id == marked.session_id == other.session_id
    assert (marked.length, other.length) == (plain.length + 3, plain.length + 1)


def test_the_path_names_session_and_agent() -> None:
    """A wire names neither; with both from its path, each file of a session has an identity of its own."""
    header = KING.read_header(line_of(METADATA))
    main, sub = KING.of_agent(header, "session_1"), KING.of_agent(header, "session_1", "agent-0")
    assert (main.session_id, main.is_subagent, main.parent_id) == ("session_1", False, None)
    assert (sub.session_id, sub.is_subagent, sub.parent_id) == ("session_1:agent-0", True, "session_1")
    for session, agent in (("", "main"), ("a b", "main"), ("x", "../main"), ("x", "")):
        with pytest.raises(HeaderError):
            KING.of_agent(header, session, agent)


# ------------------------------------------------------------------------------------------------------------ forks


def forked() -> bytes:
    """Return a session that begins as a copy of another one, and then runs tests itself."""
    child = work_wire().fork()
    child.prompt("and now the child")
    child.command("pytest -q", pytest_output(7))
    return child.to_bytes()


def test_a_fork_is_found_in_the_bytes_that_are_given() -> None:
    """The header says where own history begins: behind the last ``forked``."""
    data = forked()
    start = KING.read_header(data).own_from_offset
    assert data[:start].endswith(b"\n")
    assert data[:start].splitlines()[-1].startswith(b'{"type":"forked"')
    records, reader = read(KING, data)
    own = [record for record in records if isinstance(record, ToolResult | HumanStatement)]
    assert [record.inherited for record in own] == [
        (record.lines[0].offset if isinstance(record, ToolResult) else record.offset) < start
        for record in own
    ]
    assert (reader.tallies.prompts, reader.tallies.inherited_prompts) == (1, 2)
    assert (reader.tallies.outcomes.success, reader.tallies.inherited_outcomes.success) == (1, 5)


def test_a_fork_that_the_header_did_not_know_spoils_the_file() -> None:
    """What was given as own turned out to be a copy: counted as one, and the file is not understood."""
    data = forked()
    header = KING.read_header(data[: data.find(b"\n") + 1])
    assert header.own_from_offset == 0
    reader = KING.reader(header)
    for line in LineSplitter().feed(data):
        reader.feed(line)
    reader.finish()
    assert reader.tallies == read(KING, data)[1].tallies
    assert reader.self_check().reasons == ("forked-behind-own-history",)


def test_a_look_at_the_whole_file_finds_every_fork() -> None:
    """Shown in pieces of any size, the whole file gives the header that a small file gives at once."""
    data = forked()
    wanted = KING.read_header(data)
    bare = KING.read_header(data[: data.find(b"\n") + 1])
    for size in (1, 100, 5_000, len(data)):
        splitter = LineSplitter()
        pieces = [p for at in range(0, len(data), size) for p in splitter.feed_blocks(data[at : at + size])]
        assert KING.with_forks(bare, pieces) == wanted


def test_a_fork_before_anything_was_given_spoils_nothing() -> None:
    """Copied history without a prompt or a result has let nothing pass as own."""
    header = line_of(METADATA)
    data = header + line_of({"type": "forked", "time": 1}) + work_wire().to_bytes()[len(header) :]
    reader = KING.reader(KING.read_header(header))
    for line in LineSplitter().feed(data):
        reader.feed(line)
    reader.finish()
    assert "forked-behind-own-history" not in reader.self_check().reasons


def test_a_text_that_names_a_fork_is_none() -> None:
    """The words inside a record, or a broken record, begin no own history."""
    wire = work_wire()
    wire.steer('\n{"type":"forked"}\n')
    data = wire.to_bytes() + b'{"type":"forked","time":\n'
    assert KING.read_header(data).own_from_offset == 0


@given(
    st.dictionaries(
        st.sampled_from([*METADATA, "time", "schema_version", "role", "x"]),
        st.one_of(
            st.sampled_from(["metadata", "1.4", "1.5", 1787220000000, None, True, [], {}]),
            st.text(max_size=4),
            st.floats(),
        ),
    )
)
def test_any_first_record_is_a_header_or_our_error(record: dict[str, object]) -> None:
    """Whatever the first line holds: a header of exactly the reviewed shape, or a reason."""
    try:
        header = KING.read_header(line_of(record))
    except AdapterError as error:
        assert error.reason  # noqa: PT017  # the other branch is the point
        return
    assert record.keys() <= {*METADATA, "time", "app_version", "resumed"}
    assert header.history_mode in REVIEWED_PROTOCOLS
