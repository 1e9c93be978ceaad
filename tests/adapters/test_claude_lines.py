"""Lines and blocks of Claude Code: every path sees the same, any bytes give records, and doubled keys prove nothing."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.base import Verdict, decode_cursor, encode_cursor
from adapters.claude import ClaudeAdapter, records
from adapters.claude.envelope import record_of, records_of
from adapters.errors import DefectKind, TranscriptSyntaxError
from adapters.lines import Block, CitedLine, Line, LineSplitter
from adapters.record import Defect, Record, ToolResult, Unknown
from tests.adapters.claude_cases import cases
from tests.adapters.contract import feed, raw_of, read, read_by_line
from tests.simulators.claude import (
    VERSIONS,
    ClaudeSession,
    new_session,
    result_block,
    work_session,
)
from tests.simulators.hosts import pytest_output

CLAUDE = ClaudeAdapter()
READABLE = {name: case.data for name, case in cases().items() if case.readable}
GOOD_REPORT = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}


def results(session: ClaudeSession, adapter: ClaudeAdapter = CLAUDE) -> list[ToolResult]:
    """Return the tool results of a session."""
    return [record for record in read(adapter, session.to_bytes())[0] if isinstance(record, ToolResult)]


def started(version: str = "2.1.49") -> ClaudeSession:
    """Return a session with its first prompt."""
    session = new_session(version)
    session.prompt("test it")
    return session


GOOD = b'{"parentUuid":null,"type":"a","sessionId":"s"}'


def lines_alone(data: bytes) -> list[object]:
    """Return what each line is when it is read alone: its type, or the rule it breaks."""
    found: list[object] = []
    for line in LineSplitter().feed(data):
        assert isinstance(line, Line)
        try:
            found.append(bytes(record_of(line.raw).get("type", b"")))
        except TranscriptSyntaxError as error:
            found.append(error.kind)
    return found


PART = st.sampled_from(
    [GOOD, GOOD[:20], GOOD[20:], b"\n", b"\n", b" ", b'"type":"b",', b"{}", b"}", b'"x\n"', b",", b"1"]
)


@example(b" \n{}\n")
@example(b"{}\n")
@example(b'{"a":1}\n')
@given(st.lists(PART, max_size=8).map(lambda parts: b"".join(parts) + b"\n"))
def test_any_block_is_read_as_its_lines(block: bytes) -> None:
    """Whatever pieces are put together, the fast path never sees other records than the strict one."""
    placed = list(records_of(block))
    alone = lines_alone(block)
    assert [bytes(record.get("type", b"")) for record, _, _ in placed] == alone[: len(placed)]
    assert [block[start:end] for _, start, end in placed] == block.split(b"\n")[: len(placed)]


def test_sound_lines_are_read_at_once() -> None:
    """The fast path takes compact lines, and stops at the first that is not."""
    sound, spaced = GOOD + b"\n", GOOD.replace(b",", b", ") + b"\n"
    assert len(list(records_of(sound * 3))) == 3
    assert len(list(records_of(sound + spaced + sound))) == 1
    assert not list(records_of(sound + b"{\n"))


@pytest.mark.parametrize("name", sorted(READABLE))
def test_a_glance_counts_what_a_full_reading_counts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that are looked at only at their ends give the same records and the same counts when read whole."""
    quick, reader = read(CLAUDE, READABLE[name])
    monkeypatch.setattr(records, "unwanted_result", lambda _ledger, _record: None)
    monkeypatch.setattr(records, "unwanted_answer", lambda _record: False)
    full, other = read(CLAUDE, READABLE[name])
    assert quick == full
    assert reader.tallies == other.tallies


def test_a_glance_sees_that_a_line_holds_several_results() -> None:
    """Two results of commands that nobody keeps, with one report: both are counted, as in a full reading."""
    session = started()
    ids = [session.call("Bash", {"command": "ls"}) for _ in range(2)]
    blocks = [result_block(call_id, "a\n", False, early=False) for call_id in ids]
    session.record("user", {"message": {"role": "user", "content": blocks}}, toolUseResult=GOOD_REPORT)
    _, reader = read(CLAUDE, session.to_bytes())
    assert (reader.tallies.outcomes.success, reader.tallies.calls_without_result) == (2, 0)


def test_a_cursor_may_be_taken_between_blocks() -> None:
    """What was read as a block moves the cursor as its lines do, and reading goes on from there."""
    data = work_session().to_bytes()
    header, half = CLAUDE.read_header(data), data.find(b"\n", len(data) // 2) + 1
    blocks, lines = CLAUDE.reader(header), CLAUDE.reader(header)
    blocks.feed_block(Block(0, data[:half]))
    for line in LineSplitter().feed(data[:half]):
        lines.feed(line)
    assert blocks.cursor() == lines.cursor()
    assert blocks.cursor().offset == half


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 3),
    st.sampled_from(["pytest -q", "Exit code 1\nx", "", '\\"', "},{", "ä"]),
)
REPORTS = st.one_of(
    VALUES,
    st.fixed_dictionaries(
        {},
        optional={
            "stdout": VALUES,
            "interrupted": st.booleans(),
            "isImage": st.booleans(),
            "backgroundTaskId": VALUES,
            "returnCodeInterpretation": VALUES,
            "task": st.fixed_dictionaries({"task_type": st.just("local_bash"), "exitCode": VALUES}),
            "new": VALUES,
        },
    ),
)


@given(
    st.lists(st.tuples(st.sampled_from(["Bash", "Read", "TaskOutput"]), VALUES, VALUES, REPORTS), max_size=5)
)
def test_a_glance_agrees_on_any_result(told: list[tuple[str, object, object, object]]) -> None:
    """Any content, flag and report, of a reviewed command or not: glance and full reading count the same."""
    session = started()
    for tool, content, is_error, report in told:
        call_id = session.call(tool, {"command": content, "task_id": "t"})
        session.result(call_id, content, is_error, report)  # type: ignore[arg-type]  # any value on purpose
    quick, reader = read(CLAUDE, session.to_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "unwanted_result", lambda _ledger, _record: None)
        patch.setattr(records, "unwanted_answer", lambda _record: False)
        full, other = read(CLAUDE, session.to_bytes())
    assert (quick, reader.tallies) == (full, other.tallies)


WORDS = st.sampled_from(
    "type message content role user assistant tool_use tool_result id tool_use_id name Bash input command is_error"
    " toolUseResult sessionId uuid timestamp isSidechain isMeta forkedFrom progress data system subtype attachment"
    " agent_progress task exitCode origin kind human text".split()
)


def _dump(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


LEAVES = st.one_of(
    WORDS, st.none(), st.booleans(), st.integers(-2, 2**64), st.just("pytest -q"), st.text(max_size=6)
)
NESTED = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=14,
)
BLOCKS = st.lists(
    st.dictionaries(WORDS, NESTED, max_size=4).flatmap(
        lambda more: st.sampled_from(["tool_use", "tool_result", "text"]).map(
            lambda kind: {**more, "type": kind}
        )
    ),
    max_size=3,
)
RECORD = st.builds(
    lambda kind, content, more: {**more, "type": kind, "message": {"role": "user", "content": content}},
    st.sampled_from(["user", "assistant"]),
    BLOCKS | NESTED,
    st.dictionaries(WORDS, NESTED, max_size=4),
)


@given(st.lists(RECORD | st.dictionaries(WORDS, NESTED, max_size=8), max_size=6))
def test_any_record_is_counted_once(values: list[Mapping[str, object]]) -> None:
    """Records of any content: one count a line, equal by line and by block, and every result derives again."""
    data = b"".join(_dump(value) + b"\n" for value in values)
    data = started().to_bytes() + data
    records_, reader = read(CLAUDE, data)
    lines, other = read_by_line(CLAUDE, data)
    assert (records_, reader.tallies) == (lines, other.tallies)
    assert sum(reader.tallies.records.values()) + sum(reader.tallies.defects.values()) == data.count(b"\n")
    _derives(data, records_)


def _derives(data: bytes, found: list[Record]) -> None:
    header = CLAUDE.read_header(data)
    for record in found:
        if isinstance(record, ToolResult):
            cited = [CitedLine(ref.offset, raw_of(data, ref), ref.part) for ref in record.lines]
            assert CLAUDE.derive(header, cited, inherited=record.inherited) == record


@given(
    st.sampled_from(VERSIONS),
    st.lists(
        st.tuples(st.sampled_from(["drop", "double", "swap", "cut"]), st.integers(0, 10**6)), max_size=6
    ),
    st.integers(0, 10**6),
)
def test_a_damaged_session_reads_the_same_however_it_is_stopped(
    version: str, damage: list[tuple[str, int]], stop: int
) -> None:
    """Lines lost, doubled, swapped or cut: whole, by line, and stopped anywhere give the same; results derive."""
    lines = list(work_session(version).lines)
    for what, at in damage:
        here, there = at % len(lines), (at * 7 + 3) % len(lines)
        if what == "drop" and here > 2:
            del lines[here]
        elif what == "double":
            lines.insert(there, lines[here])
        elif what == "swap":
            lines[here], lines[there] = lines[there], lines[here]
        elif here > 2:
            lines[here] = lines[here][: at % 300]
    data = b"".join(line + b"\n" for line in lines)
    whole, spent = read(CLAUDE, data)
    assert whole == read_by_line(CLAUDE, data)[0]
    _derives(data, whole)
    header = CLAUDE.read_header(data)
    reader, before = CLAUDE.reader(header), []
    pieces = list(LineSplitter().feed(data))
    for line in pieces[: stop % len(pieces)]:
        before.extend(reader.feed(line))
    second = CLAUDE.reader(header, decode_cursor(encode_cursor(reader.cursor())))
    second.resume(Line(ref.offset, raw_of(data, ref)) for ref in second.open_lines)
    offset = reader.cursor().offset
    after = [r for piece in LineSplitter(offset).feed_blocks(data[offset:]) for r in feed(second, piece)]
    assert [*before, *after, *second.finish()] == whole
    assert second.tallies == spent.tallies


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b'{"type":1}', DefectKind.NO_TYPE),
        (b'{"message":{}}', DefectKind.NO_TYPE),
        (b'{"type":"us\\u0065r","message":{"role":"user","content":"x"}}', DefectKind.SHAPE),
        (b'{"type":"progress"}', DefectKind.NOT_JSON),
        (b'{"type":"progress","data":{}}', DefectKind.NO_TYPE),
        (b'{"type":"attachment","attachment":[]}', DefectKind.NOT_OBJECT),
        (
            b'{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","input":{}}]}}',
            DefectKind.SHAPE,
        ),
        (
            b'{"type":"assistant","message":{"content":[{"type":"tool_use","id":7,"name":"B"}]}}',
            DefectKind.SHAPE,
        ),
        (b'{"type":"assistant","message":{"content":[],"content":[]}}', DefectKind.DUPLICATE_KEY),
        (b'{"type":"user","message":{"content":[{"type":"text","type":"x"}]}}', DefectKind.DUPLICATE_KEY),
        (
            b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":""}]}}',
            DefectKind.SHAPE,
        ),
        (b'{"type":"user","type":"user","message":{"content":"x"}}', DefectKind.DUPLICATE_KEY),
    ],
)
def test_a_known_type_of_another_shape_is_a_defect(raw: bytes, kind: DefectKind) -> None:
    """A reviewed record without what it must have is counted as defect, alone and in a block, and changes nothing."""
    data = started().to_bytes()
    sound = read(CLAUDE, data)[1].tallies
    for reading in (read, read_by_line):
        found, reader = reading(CLAUDE, data + raw + b"\n")
        assert [record.kind for record in found if isinstance(record, Defect)] == [kind]
        assert reader.tallies.records == sound.records


@pytest.mark.requirement("T72")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"name":"Bash"', b'"name":"Bash","name":"Read"'),
        (b'"is_error":false', b'"is_error":true,"is_error":false'),
        (b'"interrupted":false', b'"interrupted":true,"interrupted":false'),
        (b'"type":"tool_result"', b'"type":"tool_result","content":"other"'),
    ],
)
def test_a_doubled_key_where_evidence_is_read_makes_none(old: bytes, new: bytes) -> None:
    """Neither the first nor the last value of a reviewed call's field becomes evidence."""
    session = started()
    session.command("pytest -q", pytest_output(3))
    found, _ = read(CLAUDE, session.to_bytes().replace(old, new))
    assert [r.kind for r in found if isinstance(r, Defect)] == [DefectKind.DUPLICATE_KEY]
    assert not [r for r in found if isinstance(r, ToolResult)]


def test_a_doubled_command_asks_for_nothing() -> None:
    """The model writes the input: nonsense in it is its mistake, and no defect of the file."""
    session = started()
    session.command("pytest -q", pytest_output(3))
    data = session.to_bytes().replace(b'"command":"pytest -q"', b'"command":"pytest","command":"pytest -q"')
    found, reader = read(CLAUDE, data)
    assert not [record for record in found if isinstance(record, ToolResult | Defect)]
    assert reader.tallies.outcomes.success == 1


def test_unknown_types_are_counted_under_clean_names() -> None:
    """A type is text from the file: what is not shaped like a name is kept under none."""
    session = started()
    for name in ("quantum_state", "with space and secret", "x" * 80, ""):
        session.side(name)
        session.record("system", {"subtype": name})
        session.answer({"type": name})
    found, reader = read(CLAUDE, session.to_bytes())
    names = [record.type for record in found if isinstance(record, Unknown)]
    assert names == ["quantum_state", "system/quantum_state", "assistant/quantum_state", *["other"] * 9]
    assert reader.self_check().verdict is Verdict.PARTLY
