"""What is special to reading Codex: carriers of ends, joining, boundaries, bounds, and the self-check."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import CURSOR_BYTES, Verdict, encode_cursor
from adapters.codex import CodexAdapter
from adapters.codex.calls import MAX_CALL_LINES
from adapters.codex.envelope import envelope_of, envelopes_of
from adapters.codex.ledger import MAX_OPEN, MAX_RECENT
from adapters.codex.origin import Origin, uuid7_ms
from adapters.errors import DefectKind, TranscriptSyntaxError
from adapters.lines import Block, Line, LineSplitter
from adapters.objective import invocation_of
from adapters.objective.reviewed import ReviewedCommands
from adapters.record import Defect, HumanStatement, ToolResult, Unknown
from tests.adapters.contract import read, read_by_line
from tests.simulators.hosts import (
    LEGACY,
    PAGINATED,
    CodexRollout,
    fork,
    new_rollout,
    pytest_output,
    stepping_clock,
)

CODEX = CodexAdapter()
MODES = pytest.mark.parametrize("mode", [LEGACY, PAGINATED])


def results(rollout: CodexRollout) -> list[ToolResult]:
    """Return the tool results of a rollout."""
    return [record for record in read(CODEX, rollout.to_bytes())[0] if isinstance(record, ToolResult)]


def started(mode: str = LEGACY) -> CodexRollout:
    """Return a rollout in its first turn."""
    rollout = new_rollout(mode)
    rollout.start_turn()
    rollout.prompt("test it")
    return rollout


# ------------------------------------------------------------------------------------------------ calls and bounds


def test_the_cursor_is_bounded_in_the_worst_turn() -> None:
    """Any number of calls with the longest ids, names and types: the stored cursor keeps its bound."""
    rollout = started(PAGINATED)
    for number in range(300):
        call_id = f"{number:0128d}"
        arguments = json.dumps({"cmd": f"pytest {number}"})
        call = {
            "type": "function_call",
            "name": f"tool_{number}" + "x" * 120,
            "arguments": "{}",
            "call_id": call_id,
        }
        rollout.write("response_item", call)
        rollout.write("response_item", {**call, "name": "exec_command", "arguments": arguments})
        for _ in range(5):
            rollout.output(call_id, f"Process exited with code {number}\nOutput:\n")
        rollout.write(f"unknown_{number}" + "y" * 40, {})
        rollout.write("event_msg", {"type": f"unknown_{number}" + "y" * 40})
    reader = CODEX.reader(CODEX.read_header(rollout.to_bytes()))
    for line in LineSplitter().feed(rollout.to_bytes()):
        reader.feed(line)
    text = encode_cursor(reader.cursor())
    assert CURSOR_BYTES // 4 < len(text) <= CURSOR_BYTES
    second = CODEX.reader(CODEX.read_header(rollout.to_bytes()), reader.cursor())
    assert len({ref.offset for ref in second.open_lines}) <= MAX_OPEN * MAX_CALL_LINES


@MODES
def test_more_parallel_calls_than_are_kept_lose_no_result(mode: str) -> None:
    """When the table is full the oldest ended call is settled; every call with an end gives one result, in order."""
    rollout = started(mode)
    commands = [f"pytest -q tests/{number}" for number in range(3 * MAX_OPEN)]
    for command in commands:
        rollout.command(command, pytest_output(1), 0)
    assert [result.command for result in results(rollout)] == commands


def test_calls_that_wait_too_long_are_given_up() -> None:
    """Results of more calls than are remembered become orphans: counted, never paired by guess."""
    rollout = started()
    ids = [rollout.call("exec_command", {"cmd": "ls"}) for _ in range(MAX_RECENT + 10)]
    for call_id in ids:
        rollout.output(call_id, "Process exited with code 0\nOutput:\n")
    tallies = read(CODEX, rollout.to_bytes())[1].tallies
    assert (tallies.calls_without_result, tallies.results_without_call) == (10, 10)
    assert tallies.outcomes.success == MAX_RECENT + 10


def test_a_call_id_used_again_is_another_call() -> None:
    """Ids repeat in the wild: each call keeps its own result."""
    rollout = started()
    for code in (0, 1):
        call = {
            "type": "function_call",
            "name": "exec_command",
            "arguments": '{"cmd":"pytest"}',
            "call_id": "same",
        }
        rollout.write("response_item", call)
        rollout.output("same", f"Process exited with code {code}\nOutput:\n")
    assert [(result.exit_code, result.conflict) for result in results(rollout)] == [(0, False), (1, False)]


# --------------------------------------------------------------------------------------- prompts, own and inherited


@MODES
def test_only_the_record_of_a_person_is_a_prompt(mode: str) -> None:
    """Injected texts and the model's copy of the prompt are no statements; neither is the other mode's record."""
    rollout = started(mode)
    rollout.inject("<environment_context>…")
    other = {"type": "user_message", "message": "x"} if mode == PAGINATED else None
    if other is not None:
        rollout.write("event_msg", other)
    else:
        rollout.write_item({"type": "UserMessage", "id": "x", "content": []})
        rollout.write("event_msg", {"type": "user_message", "message": "x", "kind": "environment_context"})
    records, reader = read(CODEX, rollout.to_bytes())
    assert sum(isinstance(record, HumanStatement) for record in records) == 1
    assert reader.tallies.anomalies["prompt-of-other-mode"] == 1


def test_a_subagents_task_is_no_human_statement() -> None:
    """In a subagent's file nothing was typed by a person, and that is no failure of understanding."""
    rollout = started()
    rollout.end_turn("done")
    data = rollout.to_bytes().replace(b'"thread_source":"user"', b'"thread_source":"subagent"')
    records, reader = read(CODEX, data)
    assert not [record for record in records if isinstance(record, HumanStatement)]
    assert reader.self_check().verdict is Verdict.UNDERSTOOD


@MODES
@pytest.mark.parametrize("restamped", [True, False])
def test_a_copied_parent_is_inherited(mode: str, restamped: bool) -> None:
    """Everything up to the first turn that is proved to be the child's own carries the mark."""
    parent = started(mode)
    parent.command("pytest -q", pytest_output(1), 0)
    parent.end_turn("one")
    parent.start_turn()
    parent.prompt("two")
    parent.command("pytest -q", pytest_output(2), 0)
    parent.end_turn("two")
    child = fork(parent, restamped=restamped)
    child.start_turn()
    child.prompt("own")
    child.command("pytest -q", pytest_output(3), 0)
    assert [result.inherited for result in results(child)] == [True, True, False]
    tallies = read(CODEX, child.to_bytes())[1].tallies
    assert (tallies.inherited_prompts, tallies.prompts) == (2, 1)


def test_without_proof_everything_stays_inherited() -> None:
    """Turn ids that are no UUIDv7 prove nothing: the rest of a forked file yields no evidence."""
    parent = started()
    parent.end_turn("one")
    child = fork(parent)
    child.start_turn()
    child.prompt("own?")
    child.command("pytest -q", pytest_output(3), 0)
    data = child.to_bytes().replace(child.turn_id.encode(), b"turn-7")
    records = [record for record in read(CODEX, data)[0] if isinstance(record, ToolResult)]
    assert [record.inherited for record in records] == [True]


def test_a_stated_boundary_is_the_boundary() -> None:
    """Ordinals below the stated one are copied, all others are own."""
    rollout = started(PAGINATED)
    rollout.command("pytest -q", pytest_output(1), 0)
    boundary = rollout.next_ordinal
    rollout.command("pytest -q", pytest_output(2), 0)
    stated = f'"history_mode":"paginated","subagent_history_start_ordinal":{boundary}'.encode()
    data = rollout.to_bytes().replace(b'"history_mode":"paginated"', stated)
    records = [record for record in read(CODEX, data)[0] if isinstance(record, ToolResult)]
    assert [record.inherited for record in records] == [True, False]


def test_repeating_the_own_header_changes_nothing() -> None:
    """The desktop application writes ``session_meta`` at every resume: counted, and idempotent."""
    rollout = started()
    for _ in range(5):
        rollout.write_session_meta()
        rollout.command("pytest -q", pytest_output(1), 0)
    assert [result.inherited for result in results(rollout)] == [False] * 5


@pytest.mark.parametrize(
    ("events", "inherited"),
    [
        ([], False),
        (["foreign"], True),
        (["foreign", "own"], True),
        (["foreign", "end", "old"], True),
        (["foreign", "end", "none"], True),
        (["foreign", "end", "own"], False),
        (["foreign", "old", "end", "old", "end", "own"], False),
        (["foreign", "end", "own", "foreign"], True),
        (["foreign", "end", "own", "foreign", "own"], True),
        (["foreign", "end", "own", "end", "own"], False),
        (["own", "end", "old"], False),
    ],
)
def test_the_boundary_moves_only_by_proof(events: list[str], inherited: bool) -> None:
    """Own again only behind a copied turn's end and with an id no older than the thread."""
    clock = stepping_clock(1_000_000)
    rollout = CodexRollout(clock=clock)
    origin = Origin(rollout.new_id(5_000_000), None)
    turns = {"own": rollout.new_id(5_000_001), "old": rollout.new_id(4_000_000), "none": "turn-3"}
    for event in events:
        if event == "foreign":
            origin.at_foreign_meta(None)
        elif event == "end":
            origin.at_turn_end()
        else:
            origin.at_turn_start(turns[event])
    assert origin.inherited is inherited
    again = Origin(rollout.new_id(5_000_000), None)
    again.restore(origin.flags())
    assert again.flags() == origin.flags()


def test_the_time_of_an_id_is_that_of_a_uuid7_only() -> None:
    """Version 7 and the right variant; any other text has no time."""
    assert uuid7_ms("01a22a7f-ace7-75e3-95ae-7922d7fa3d2f") == 0x01A22A7FACE7
    for text in (
        "",
        "5eed44b2-022e-40ea-9132-111108365272",
        "01a22a7f-ace7-75e3-c5ae-7922d7fa3d2f",
        "01A22A7F",
    ):
        assert uuid7_ms(text) is None


# ------------------------------------------------------------------------------------------------ lines and blocks


def lines_alone(data: bytes) -> list[object]:
    """Return what each line is when it is read alone: its type, or the rule it breaks."""
    found: list[object] = []
    for line in LineSplitter().feed(data):
        assert isinstance(line, Line)
        try:
            found.append(envelope_of(line.raw).type)
        except TranscriptSyntaxError as error:
            found.append(error.kind)
    return found


GOOD = b'{"timestamp":"t","type":"a","payload":{"k":1}}'


@pytest.mark.parametrize(
    "block",
    [
        GOOD + b"\n" + GOOD + b"\n",
        GOOD + GOOD + b"\n",
        GOOD + b"\n\n" + GOOD + b"\n",
        GOOD.replace(b",", b",\n", 1) + b"\n",
        GOOD.replace(b',"payload"', b',"type":"b"\n,"payload"') + b"\n" + GOOD + b"\n",
        GOOD.replace(b',"payload"', b"\n" + b',"type":"b","payload"') + GOOD + b"\n" + GOOD + b"\n",
        GOOD[:-1] + b"\n}\n",
        GOOD[:-1] + b"\n}" + GOOD + b"\n",
        GOOD + b" \n" + GOOD + b"\r\n",
        b"\n" + GOOD + b"\n",
        GOOD.replace(b'"t"', b'"t","timestamp":"t"') + b"\n",
        GOOD.replace(b'"k":1', b'"k":"\xff"') + b"\n",
    ],
)
def test_a_block_is_read_at_once_only_where_each_line_is_sound(block: bytes) -> None:
    """Records that span lines, share one, repeat a key or carry white space are left to the strict path."""
    placed = [record.type for record, _, _ in envelopes_of(block)]
    alone = lines_alone(block)
    assert placed == alone[: len(placed)]
    assert (placed == alone) == (block == GOOD + b"\n" + GOOD + b"\n")


PART = st.sampled_from(
    [GOOD, GOOD[:20], GOOD[20:], b"\n", b"\n", b" ", b'"type":"b",', b"{}", b"}", b'"x\n"', b",", b"1"]
)


@given(st.lists(PART, max_size=8).map(lambda parts: b"".join(parts) + b"\n"))
def test_any_block_is_read_as_its_lines(block: bytes) -> None:
    """Whatever pieces are put together, the fast path never sees other records than the strict one."""
    placed = list(envelopes_of(block))
    assert [record.type for record, _, _ in placed] == lines_alone(block)[: len(placed)]
    assert [block[start:end] for _, start, end in placed] == block.split(b"\n")[: len(placed)]


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b'{"timestamp":"t","type":"event_msg","payload":{}}', DefectKind.NO_TYPE),
        (b'{"timestamp":"t","type":"event_msg","payload":[]}', DefectKind.SHAPE),
        (b'{"timestamp":"t","type":"event_msg"}', DefectKind.SHAPE),
        (b'{"timestamp":"t","type":"world_state","payload":1}', DefectKind.SHAPE),
        (b'{"timestamp":"t","payload":{}}', DefectKind.NO_TYPE),
        (b'{"timestamp":"t","type":1,"payload":{}}', DefectKind.NO_TYPE),
        (b'{"timestamp":"t","type":"event_msg","payload":{"type":"token\\u005fcount"}}', DefectKind.SHAPE),
        (
            b'{"timestamp":"t","type":"event_msg","payload":{"type":"user_message","message":1}}',
            DefectKind.SHAPE,
        ),
        (
            b'{"timestamp":"t","type":"event_msg","payload":{"type":"item_completed","item":1}}',
            DefectKind.NOT_OBJECT,
        ),
        (b'{"timestamp":"t","type":"session_meta","payload":{"id":1}}', DefectKind.SHAPE),
        (
            b'{"timestamp":"t","type":"response_item","payload":{"type":"function_call","call_id":"c"}}',
            DefectKind.SHAPE,
        ),
        (
            b'{"timestamp":"t","type":"response_item","payload":{"type":"function_call_output","output":""}}',
            DefectKind.SHAPE,
        ),
    ],
)
def test_a_known_type_of_another_shape_is_a_defect(raw: bytes, kind: DefectKind) -> None:
    """A reviewed record without what it must have is counted as defect, alone and in a block."""
    data = new_rollout().to_bytes() + raw + b"\n"
    for reading in (read, read_by_line):
        records, reader = reading(CODEX, data)
        assert [record.kind for record in records if isinstance(record, Defect)] == [kind]
        assert reader.tallies.records == {"session_meta": 1}


def test_unknown_types_are_counted_under_clean_names() -> None:
    """A type is text from the file: what is not shaped like a name is kept under none."""
    rollout = started()
    for name in ("quantum_state", "with space and secret", "x" * 80, ""):
        rollout.write(name, {})
        rollout.write("event_msg", {"type": name})
    rollout.write("new_kind", "a string as payload")  # type: ignore[arg-type]  # another shape on purpose
    records, reader = read(CODEX, rollout.to_bytes())
    names = [record.type for record in records if isinstance(record, Unknown)]
    assert names == ["quantum_state", "event_msg/quantum_state", *["other"] * 6, "new_kind"]
    assert reader.self_check().verdict is Verdict.PARTLY


# --------------------------------------------------------------------------------------------------------- self-check


def test_a_session_without_prompts_was_not_understood() -> None:
    """An agent that acted though nobody asked: the prompts stand where this reader does not look."""
    rollout = new_rollout()
    rollout.start_turn()
    rollout.inject("make it work")
    rollout.end_turn("done")
    understanding = read(CODEX, rollout.to_bytes())[1].self_check()
    assert (understanding.verdict, understanding.reasons) == (Verdict.NOT, ("turns-without-prompts",))


def test_results_without_calls_were_not_understood() -> None:
    """When most results belong to no call, the key that joins them has moved."""
    rollout = started()
    for number in range(3):
        rollout.output(f"c{number}", "Process exited with code 0\nOutput:\n")
    assert read(CODEX, rollout.to_bytes())[1].self_check().reasons == ("results-without-calls",)


def test_calls_that_never_have_results_were_not_understood() -> None:
    """One call may be interrupted; eight without a single result are a format that this reader does not know."""
    rollout = started()
    for number in range(8):
        assert read(CODEX, rollout.to_bytes())[1].self_check().verdict is Verdict.UNDERSTOOD, number
        rollout.call("exec_command", {"cmd": "ls"})
    assert read(CODEX, rollout.to_bytes())[1].self_check().reasons == ("calls-without-results",)


# ----------------------------------------------------------------------------------------------- reviewed commands


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q", "python -m pytest", "/usr/bin/pytest", "cd a && go test ./...", "npx vitest run", "vitest@1 run",
        "npm test", "pnpm run test", "make check", "uv run pytest", "cargo test", "PYTHONPATH=. python -m unittest",
        "bash -lc 'pytest -q'", "./Measure.sh", "python run_suite.py", "env A=1 jest", '"pytest" -q', "yarn test",
    ],
)  # fmt: skip
def test_no_reviewed_command_is_passed_over(command: str) -> None:
    """The quick look agrees with the careful one on every way in which a reviewed command is written."""
    assert (command in ReviewedCommands()) == (invocation_of(command) is not None)


@given(
    st.lists(
        st.sampled_from("pytest go test ls && python -m cat | npm run cd a ; 'x y' make check".split()),
        max_size=6,
    )
)
def test_the_quick_look_only_ever_says_no(words: list[str]) -> None:
    """Whatever it lets through is decided by the careful reading, and remembered as such."""
    command = " ".join(words)
    reviewed = ReviewedCommands()
    assert (command in reviewed) == (command in reviewed) == (invocation_of(command) is not None)


def test_what_is_fed_before_resume_is_our_own_mistake() -> None:
    """Reading on without the open lines would lose a result: that is misuse, not input."""
    rollout = started()
    rollout.call("exec_command", {"cmd": "pytest"})
    reader = CODEX.reader(CODEX.read_header(rollout.to_bytes()))
    for line in LineSplitter().feed(rollout.to_bytes()):
        reader.feed(line)
    second = CODEX.reader(CODEX.read_header(rollout.to_bytes()), reader.cursor())
    with pytest.raises(RuntimeError):
        second.feed(Line(reader.cursor().offset, b""))
    with pytest.raises(RuntimeError):
        second.feed_block(Block(reader.cursor().offset, b"\n"))
