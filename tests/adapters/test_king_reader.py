"""What single records of a wire mean, and that the two ways of reading a line agree."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import CURSOR_BYTES, Reader, Verdict, decode_cursor, encode_cursor
from adapters.errors import DefectKind
from adapters.king import KingAdapter
from adapters.king.types import LOOP_EVENTS, RECORD_TYPES
from adapters.lines import Block, Line, LineSplitter
from adapters.record import CallStatus, Defect, HumanStatement, Record, ToolResult, Unknown
from tests.adapters.contract import read, read_by_line
from tests.simulators.hosts import pytest_output
from tests.simulators.king import VERSIONS, Wire, work_wire

KING = KingAdapter()


def results(wire: Wire) -> list[ToolResult]:
    """Return the results of a wire."""
    return [record for record in read(KING, wire.to_bytes())[0] if isinstance(record, ToolResult)]


def begun(version: str = "0.12.1") -> Wire:
    """Return a wire with a prompt."""
    wire = Wire(version)
    wire.prompt("go")
    return wire


def spaced(data: bytes) -> bytes:
    """Return the same records with white space: what only the slow path reads."""
    return b"".join(json.dumps(json.loads(line)).encode() + b"\n" for line in data.split(b"\n")[:-1])


# --------------------------------------------------------------------------------------------------- who said what


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_a_prompt_is_one_statement(version: str) -> None:
    """Turn, message and, in the newest version, the repeated message are one statement, at the message's line."""
    wire = begun(version)
    wire.steer("quick")
    records, reader = read(KING, wire.to_bytes())
    statements = [record for record in records if isinstance(record, HumanStatement)]
    assert reader.tallies.prompts == len(statements) == 2
    for statement in statements:
        line = wire.to_bytes()[statement.offset : statement.offset + statement.length]
        assert json.loads(line)["type"] == "context.append_message"


@pytest.mark.parametrize(
    "origin", [{"kind": "injection"}, {"kind": "brand_new"}, {"kind": 7}, {}, None, "user"]
)
def test_only_the_user_is_human(origin: object) -> None:
    """Known, unknown, broken and missing origins are the harness; only the unknown ones are noted."""
    wire = Wire()
    wire.message("text", origin)
    records, reader = read(KING, wire.to_bytes())
    assert not [record for record in records if isinstance(record, HumanStatement)]
    assert bool(reader.tallies.anomalies) == (origin != {"kind": "injection"})


def test_a_subagent_has_no_human() -> None:
    """A user's origin in a subagent's wire is no statement: by the path, or by the record's own agent."""
    wire = begun()
    header = KING.of_agent(KING.read_header(wire.to_bytes()), "s", "agent-0")
    named = begun("2.1.0")
    data = named.to_bytes().replace(b'"agentId":"main"', b'"agentId":"agent-0"')
    for reader in (fed(KING.reader(header), wire.to_bytes()), read(KING, data)[1]):
        assert reader.tallies.prompts == 0
        assert reader.tallies.anomalies == {"prompt-of-an-agent": 1}


def fed(reader: Reader, data: bytes) -> Reader:
    """Return the reader after all lines of ``data``."""
    for line in LineSplitter().feed(data):
        reader.feed(line)
    return reader


# ------------------------------------------------------------------------------------------------- calls and results


def test_the_same_id_again_is_another_call() -> None:
    """Ids are counters and not unique: each call has its own result, and what has none is counted."""
    wire = begun()
    for passed in (3, 4):
        wire.command("pytest -q", pytest_output(passed), call_id="Bash_1")
    wire.call("Bash", {"command": "pytest -q"}, "Bash_1")
    wire.call("Read", {"path": "/w/a"}, "Bash_1")
    wire.result("Bash_1", pytest_output(9))
    records, reader = read(KING, wire.to_bytes())
    found = [record for record in records if isinstance(record, ToolResult)]
    assert [record.output.tail.strip("= \n").split()[0] for record in found] == ["3", "4"]
    assert not any(record.conflict for record in found)
    assert reader.tallies.calls_without_result == 1
    assert reader.tallies.outcomes.success == 3


def test_a_result_of_another_parent_is_a_conflict() -> None:
    """The id joins; a parent that is not the call's own contradicts it, and nothing is proved."""
    for version, conflict in (("0.12.1", False), ("2.1.0", True)):
        wire = begun(version)
        call_id = wire.call("Bash", {"command": "pytest -q"})
        wire.event(
            "tool.result", parentUuid="Bash_0", toolCallId=call_id, result={"output": pytest_output(1)}
        )
        assert [result.conflict for result in results(wire)] == [conflict]


def test_a_second_result_must_say_the_same() -> None:
    """Twice the same is no conflict, a different one is; both lines are named."""
    for second, conflict in ((pytest_output(1), False), (pytest_output(2), True)):
        wire = begun()
        call_id = wire.call("Bash", {"command": "pytest -q"})
        wire.result(call_id, pytest_output(1))
        wire.result(call_id, second)
        (result,) = results(wire)
        assert (result.conflict, len(result.lines)) == (conflict, 3)


@pytest.mark.parametrize("flag", ["true", "1", '"yes"', "null"])
def test_a_background_start_proves_nothing(flag: str) -> None:
    """Whatever is not plainly in the foreground may run on."""
    wire = begun()
    call_id = wire.call("Bash", {"command": "pytest -q", "run_in_background": "?"})
    wire.lines[-1] = wire.lines[-1].replace(b'"?"', flag.encode())
    wire.result(call_id, pytest_output(3))
    (result,) = results(wire)
    assert (result.status, result.error_flag, result.output.tail) == (CallStatus.RUNNING, None, "")
    outcomes = read(KING, wire.to_bytes())[1].tallies.outcomes
    assert (outcomes.success, outcomes.unknown) == (0, 1)


def test_a_background_start_that_failed_did_not_start() -> None:
    """An error is one, whether or not the call asked for the background."""
    wire = begun()
    call_id = wire.call("Bash", {"command": "pytest -q", "run_in_background": True})
    wire.result(call_id, "description is required when run_in_background is true.", is_error=True)
    (result,) = results(wire)
    assert (result.status, result.exit_code) == (CallStatus.FAILED, None)


def test_a_background_end_is_counted_and_gives_no_result() -> None:
    """The task's record states a code; what it printed is elsewhere."""
    wire = begun("2.1.0")
    for code in (0, 4, None):
        wire.background("make", code)
    _, reader = read(KING, wire.to_bytes())
    executions = reader.tallies.executions
    assert (executions.success, executions.failure, executions.unknown) == (1, 1, 1)
    assert reader.tallies.outcomes.unknown == 3


def test_a_call_in_the_middle_of_its_turn_stays_open_until_the_next() -> None:
    """Results are given at the boundary of a turn, in file order."""
    wire = begun()
    wire.command("pytest -q a", pytest_output(1))
    wire.command("pytest -q b", pytest_output(2))
    reader = fed(KING.reader(KING.read_header(wire.to_bytes())), wire.to_bytes())
    assert len(reader.open_lines) == 0
    assert len(reader.cursor().open_lines) == 4
    wire.prompt("next")
    assert [result.command for result in results(wire)] == ["pytest -q a", "pytest -q b"]


# ----------------------------------------------------------------------------------------------------- odd records


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b'{"type":"turn.prompt","time":1,"time":2}', DefectKind.DUPLICATE_KEY),
        (b'{"time":1}', DefectKind.NO_TYPE),
        (b'{"type":7}', DefectKind.NO_TYPE),
        (b'{"type":"context.append_loop_event","time":1}', DefectKind.SHAPE),
        (b'{"type":"context.append_loop_event","event":{},"time":1}', DefectKind.NO_TYPE),
        (b'{"type":"context.append_loop_event","event":{"type":"tool.call"},"time":1}', DefectKind.SHAPE),
        (
            b'{"type":"context.append_loop_event","event":{"type":"tool.result","toolCallId":"a b"}}',
            DefectKind.SHAPE,
        ),
        (
            b'{"type":"context.append_loop_event","event":{"type":"tool.result","toolCallId":"a"}}',
            DefectKind.SHAPE,
        ),
        (b'{"type":"context.append_message","time":1}', DefectKind.SHAPE),
        (b'{"type":"turn\\u002eprompt"}', DefectKind.SHAPE),
        (b'{"type":"context.append_loop_event","event":{"type":"tool\\u002ecall"}}', DefectKind.SHAPE),
        (b'{"type":"a"}{"type":"b"}', DefectKind.GLUED),
        (b'{"type":"turn.prompt","input":[{"type":"te{"type":"turn.prompt"}', DefectKind.GLUED),
        (b'{"type":"turn.prompt","input":[{"type":"text","te', DefectKind.NOT_JSON),
        (b"[1]", DefectKind.NOT_OBJECT),
        (b"", DefectKind.BLANK),
    ],
)
def test_a_bad_line_is_one_defect(line: bytes, kind: DefectKind) -> None:
    """Each rule has its kind, and the lines around are read."""
    wire = begun()
    data = wire.to_bytes() + line + b"\n" + begun().to_bytes()
    records, reader = read(KING, data)
    assert [record.kind for record in records if isinstance(record, Defect)] == [kind]
    assert reader.tallies.prompts == 2
    assert reader.self_check().verdict is Verdict.PARTLY


def test_a_message_with_a_bad_agent_lets_go_of_nothing() -> None:
    """A record that turns out to be a defect has changed nothing: the open result comes at the next boundary."""
    wire = begun("2.1.0")
    wire.command("pytest -q", pytest_output(3))
    before = wire.to_bytes()
    wire.message("x", {"kind": "user"})
    wire.lines[-1] = wire.lines[-1].replace(b'"agentId":"main"', b'"agentId":"\\ud800"')
    records, _ = read(KING, wire.to_bytes())
    assert [record for record in records if isinstance(record, ToolResult)] == [
        record for record in read(KING, before)[0] if isinstance(record, ToolResult)
    ]


def test_unknown_types_are_named_if_they_are_names() -> None:
    """Names of new types are kept, texts are not, and there is an end to them."""
    wire = Wire()
    wire.write("brand.new")
    wire.event("brand.new")
    wire.write("a text of someone")
    for number in range(40):
        wire.write(f"type.n{number}")
    records, reader = read(KING, wire.to_bytes())
    names = [record.type for record in records if isinstance(record, Unknown)]
    assert names[:3] == ["brand.new", "context.append_loop_event/brand.new", "other"]
    assert len(reader.tallies.unknown_types) <= 17
    assert sum(reader.tallies.unknown_types.values()) == 43


def test_the_largest_cursor_is_within_its_bound() -> None:
    """All tables full, with the longest names and far places: still within what a caller keeps."""
    wire = Wire()
    for name in sorted(RECORD_TYPES - {"metadata", "forked"}):
        wire.write(name, message={"role": "user"})
    for kind in sorted(LOOP_EVENTS - {"tool.call", "tool.result"}):
        wire.event(kind)
    for number in range(40):
        wire.write(f"t{number:02d}." + "x" * 44)
        wire.call("mcp__" + f"{number:02d}" + "y" * 40, {}, f"{number:03d}" + "z" * 100)
        wire.result(f"{number:03d}" + "z" * 100, "a", is_error=True)
    for code in range(40):
        wire.command("false", "x\n", 2_000_000_000 + code)
    for number in range(48):
        call_id = wire.call("Bash", {"command": "pytest -q"}, f"b{number:02d}" + "z" * 45)
        for _ in range(3):
            wire.result(call_id, f"{number}")
    header = KING.read_header(wire.to_bytes())
    far = 2**40
    reader = KING.reader(header)
    for line in LineSplitter().feed(wire.to_bytes()):
        reader.feed(Line(line.offset + far, line.raw))
        assert len(encode_cursor(reader.cursor())) <= CURSOR_BYTES
    assert len(reader.cursor().open_lines) == 48
    assert len(reader.cursor().recent) == 48
    assert decode_cursor(encode_cursor(reader.cursor())) == reader.cursor()


# ---------------------------------------------------------------------------------------------- two ways, one answer


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_white_space_changes_no_record(version: str) -> None:
    """The slow path reads what the fast one does: the same counts, and results that differ in their places only."""
    wire = work_wire(version)
    fast, quick = read(KING, wire.to_bytes())
    slow, other = read(KING, spaced(wire.to_bytes()))
    assert quick.tallies == other.tallies
    assert [_without_place(record) for record in fast] == [_without_place(record) for record in slow]


def _without_place(record: Record) -> object:
    if isinstance(record, ToolResult):
        return record.command, record.exit_code, record.status, record.output, record.conflict, record.at_ms
    return type(record), record.at_ms if isinstance(record, HumanStatement) else None


_PIECES = (
    *("a", "\\", '"', "\n", "}", "},", "\\n", "\u00e4", '"isError":true', "task_id: x\n", "[...truncated]"),
    *("Command failed with exit code: 3.", "Command killed by timeout (5s)", "Interrupted by user"),
    "Session closed",
)
_TEXTS = st.lists(st.sampled_from(_PIECES), max_size=12).map("".join)


@given(
    output=st.one_of(_TEXTS, _TEXTS.map(lambda text: [{"type": "text", "text": text}])),
    is_error=st.sampled_from([None, True, False, "true"]),
    tool=st.sampled_from(["Bash", "Read"]),
    background=st.booleans(),
    more=st.dictionaries(
        st.sampled_from(["durationMs", "note", "exitCode", "truncated"]),
        st.sampled_from([0, 7, "x", True]),
        max_size=2,
    ),
    command=st.sampled_from(["ls", "pytest -q"]),
)
def test_every_result_is_counted_alike_on_every_path(
    output: object, is_error: object, tool: str, background: object, more: dict[str, object], command: str
) -> None:
    """Compact or spaced, of a reviewed command or not, by block or by line: one and the same outcome and code."""
    told = {}
    for text in {command, "ls", "pytest -q"}:
        wire = begun()
        call_id = wire.call(tool, {"command": text, **({"run_in_background": True} if background else {})})
        stated = {"output": output, **({} if is_error is None else {"isError": is_error}), **more}
        wire.event("tool.result", parentUuid=call_id, toolCallId=call_id, result=stated)
        for data in (wire.to_bytes(), spaced(wire.to_bytes())):
            tallies = read(KING, data)[1].tallies
            assert read_by_line(KING, data)[1].tallies == tallies
            told[text, len(data)] = (tallies.outcomes, tallies.failure_codes)
    assert all(one == next(iter(told.values())) for one in told.values())


@pytest.mark.parametrize(
    "raw",
    [
        b'{"type":"turn.prompt"}{"type":"turn.prompt"}\n\n',
        b'\n{"type":"turn.prompt"}{"type":"turn.prompt"}\n',
        b'{"type":"turn.prompt","a":\n{}}\n{"type":"turn.prompt"}{"type":"turn.prompt"}\n',
        b'{"type":"turn.prompt","type":"turn.prompt"}{"type":"turn.prompt"}\n',
        b'{"a":1,"a":1,"type":"turn.prompt"}\n{"type":"turn.prompt"}\n',
        b'{"type":"turn.prompt","t":1}\n{"type":"turn.prompt", "t":1}\n',
        b'{"type":"turn.prompt","a":[{}\n,{}]}{"type":"turn.prompt"}\n',
        b'{"\xc3\xa4":1,"type":"turn.prompt"}\n',
        b'{"type":"turn.prompt"}\r\n{"type":"turn.prompt"}\n',
        b"{}\n{}\n",
    ],
)
def test_lines_whose_lengths_could_balance_are_read_one_by_one(raw: bytes) -> None:
    """White space, doubled keys and shared lines make up for each other in no sum: the block gives what lines give."""
    header = KING.read_header(Wire().to_bytes())
    by_block, by_line = KING.reader(header), KING.reader(header)
    again = [record for line in LineSplitter().feed(raw) for record in by_line.feed(line)]
    assert [*by_block.feed_block(Block(0, raw))] == again
    assert by_block.tallies == by_line.tallies
    counted = by_block.tallies
    assert sum(counted.records.values()) + sum(counted.defects.values()) == raw.count(b"\n")


def _wire_like() -> st.SearchStrategy[bytes]:
    """Return lines that look like records: known keys and types in any nesting."""
    names = (
        "type event time agentId message role content origin kind user toolCallId name args result output isError"
        " exitCode uuid parentUuid command Bash metadata forked turn.prompt context.append_message tool.call"
        " tool.result context.append_loop_event protocol_version 1.4 resumed info task.terminated step.begin"
    ).split()
    words = st.sampled_from(names)
    leaves = st.one_of(words, st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8))
    values = st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=6),
        max_leaves=12,
    )
    events = st.fixed_dictionaries(
        {"type": st.sampled_from(sorted(LOOP_EVENTS)), "toolCallId": words | values, "result": values},
        optional={"name": values, "args": values},
    )
    records = st.one_of(
        st.dictionaries(words, values, max_size=6),
        st.fixed_dictionaries(
            {"type": st.sampled_from(sorted(RECORD_TYPES)), "time": values, "message": values}
        ),
        st.fixed_dictionaries(
            {"type": st.just("context.append_loop_event"), "event": events, "time": values}
        ),
    )
    return records.map(lambda record: json.dumps(record, separators=(",", ":")).encode())


@given(
    st.lists(st.one_of(_wire_like(), st.binary(max_size=60), st.sampled_from(work_wire().lines)), max_size=6)
)
def test_any_lines_give_the_same_by_block_and_by_line(lines: list[bytes]) -> None:
    """Whatever stands behind a header: the same records, each line counted once, results derived again."""
    raw = b"".join(line.replace(b"\n", b" ") + b"\n" for line in lines)
    header = KING.read_header(Wire().to_bytes())
    by_block, by_line = KING.reader(header), KING.reader(header)
    found = [*(by_block.feed_block(Block(0, raw)) if raw else ()), *by_block.finish()]
    again = [record for line in LineSplitter().feed(raw) for record in by_line.feed(line)]
    assert found == [*again, *by_line.finish()]
    assert by_block.tallies == by_line.tallies
    counted = by_block.tallies
    assert sum(counted.records.values()) + sum(counted.defects.values()) == len(lines)
