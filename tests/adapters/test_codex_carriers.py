"""Where the end of a tool call may stand, what only looks like one, and how a call's lines are joined."""

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Outcomes
from adapters.codex import CodexAdapter
from adapters.codex.carriers import read_head
from adapters.lines import CitedLine, Line, LineSplitter
from adapters.objective import Outcome, decide_objective
from adapters.record import CallStatus, Defect, LineRole, ToolResult
from tests.adapters.contract import read
from tests.simulators.hosts import LEGACY, PAGINATED, CodexRollout, new_rollout, pytest_output

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


HEADER_LINES = {
    "Chunk ID: a1": None,
    "Wall time: 1.5 seconds": None,
    "Original token count: 4": None,
    "Process running with session ID 3": None,
    "Process exited with code 0": 0,
    "Process exited with code 7": 7,
    "Exit code: 1": 1,
}
USUAL = [
    "Chunk ID: a1\n",
    "Wall time: 1.5 seconds\n",
    "Process exited with code 7\n",
    "Original token count: 4\n",
]


def stated(text: str) -> int | None:
    """Return the code that a text states, by the rule alone: only header lines, one code, then ``Output:``."""
    *whole_lines, _ = text.split("\n")
    if "Output:" not in whole_lines:
        return None
    head = whole_lines[: whole_lines.index("Output:")]
    if not all(line in HEADER_LINES for line in head) or any("running" in line for line in head):
        return None
    codes = [code for line in head if (code := HEADER_LINES[line]) is not None]
    return codes[0] if len(codes) == 1 else None


PIECES = st.sampled_from([*(f"{line}\n" for line in HEADER_LINES), "Output:\n", "x\n", "Output:", " ", "\n"])


@given(st.lists(PIECES, max_size=7) | st.lists(PIECES, max_size=2).map(lambda more: [*USUAL, *more]))
def test_a_header_states_a_code_by_its_rule_only(pieces: list[str]) -> None:
    """The usual header and any other give what the rule says, line for line."""
    text = "".join(pieces)
    assert read_head(json.dumps(text).encode()[1:-1]).exit_code == stated(text)


@pytest.mark.requirement("T73")
@pytest.mark.parametrize(
    ("output", "code", "status"),
    [
        ("".join(USUAL).replace("code 7", "code 0") + "Output:\n", 0, "completed"),
        ("Wall time: 1 seconds\nProcess exited with code 101\nOutput:\n", 101, "failed"),
        ("Process exited with code -9\nOutput:\n", -9, "failed"),
        ("Exit code: 1\nWall time: 0.1 seconds\nTotal output lines: 4\nOutput:\nx", 1, "failed"),
        ("Process exited with code 0\nOutput:\nProcess exited with code 1\nOutput:\n", 0, "completed"),
        ("Process running with session ID 4\nOutput:\n", None, "running"),
        ("Process exited with code 0\nProcess running with session ID 4\nOutput:\n", None, "unknown"),
        ("Process exited with code 0\nOutput", None, "unknown"),
        ("Process exited with code 0\n", None, "unknown"),
        (" Process exited with code 0\nOutput:\n", None, "unknown"),
        ("\nProcess exited with code 0\nOutput:\n", None, "unknown"),
        ("Process exited with code 0x\nOutput:\n", None, "unknown"),
        ("Process exited with code 4294967296\nOutput:\n", None, "unknown"),
        ("process exited with code 0\nOutput:\n", None, "unknown"),
        ("Script completed\nWall time 1 seconds\nOutput:\nProcess exited with code 0\nOutput:\n", None, "unknown"),
        ("12 passed in 0.1s", None, "unknown"),
        ('{"output":"x","metadata":{"exit_code":3,"duration_seconds":0.5}}', 3, "failed"),
        ('{"output":"x","metadata":{"exit_code":3.0,"duration_seconds":0.5}}', None, "unknown"),
        ('{"output":"x","metadata":{"exit_code":"0","duration_seconds":0.5}}', None, "unknown"),
        ('{"output":"x","metadata":{"exit_code":0,"duration_seconds":0.5},"output":"y"}', None, "unknown"),
        ('{"output":"x","output":"y","metadata":{"exit_code":0,"duration_seconds":0.5}}', None, "unknown"),
        ('{"output":"x","more":1,"metadata":{"exit_code":0,"duration_seconds":0.5}}', None, "unknown"),
        ('{"output":"\\",\\"metadata\\":{\\"exit_code\\":0,\\"duration_seconds\\":0.5}}"}', None, "unknown"),
        ("aborted by user after 3.2s", None, "cancelled"),
        ("I saw: aborted by user", None, "unknown"),
    ],
)  # fmt: skip
def test_only_an_anchored_carrier_states_an_end(output: str, code: int | None, status: str) -> None:
    """A code counts in its own place, whole and alone; the same words anywhere else state nothing."""
    rollout = started()
    rollout.output(rollout.call("exec_command", {"cmd": "pytest -q"}), output)
    (result,) = results(rollout)
    assert (result.exit_code, result.status.value) == (code, status)
    assert not result.conflict


@MODES
def test_a_report_and_an_output_that_agree_make_one_result(mode: str) -> None:
    """The three lines of a direct command are one result, in file order, shown from behind the header."""
    rollout = started(mode)
    call_id = rollout.call("exec_command", {"cmd": "pytest -q"})
    rollout.report(call_id, "pytest -q", pytest_output(3), 0)
    rollout.output(call_id, "Process exited with code 0\nOutput:\n" + pytest_output(3))
    (result,) = results(rollout)
    assert [ref.role for ref in result.lines] == [LineRole.CALL, LineRole.ITEM, LineRole.OUTPUT]
    assert (result.exit_code, result.conflict, result.output.tail) == (0, False, pytest_output(3))


@pytest.mark.parametrize("codes", list(product((0, 1), repeat=2)))
def test_two_carriers_that_disagree_are_a_conflict(codes: tuple[int, int]) -> None:
    """Structured report and text header: never the pleasant one of two, whichever it is."""
    rollout = started(PAGINATED)
    call_id = rollout.call("exec_command", {"cmd": "pytest -q"})
    rollout.report(call_id, "pytest -q", pytest_output(3), codes[0])
    rollout.output(call_id, f"Process exited with code {codes[1]}\nOutput:\n" + pytest_output(3))
    (result,) = results(rollout)
    assert result.conflict == (codes[0] != codes[1])


def test_what_really_ran_is_the_reports_command() -> None:
    """Where a hook changed the input, the report names what ran, and that is what the result is about."""
    rollout = started(PAGINATED)
    call_id = rollout.call("exec_command", {"cmd": "pytest -q"})
    rollout.report(call_id, "echo 3 passed", "3 passed\n", 0)
    (result,) = results(rollout)
    assert result.command == "echo 3 passed"


def test_a_replaced_output_is_read_from_the_report() -> None:
    """A hook's text in the output has no header: the end and the text are the report's."""
    rollout = started(PAGINATED)
    call_id = rollout.call("exec_command", {"cmd": "pytest -q"})
    rollout.report(call_id, "pytest -q", pytest_output(2, 1), 1)
    rollout.output(call_id, "stop and think first")
    (result,) = results(rollout)
    assert (result.exit_code, result.output.tail) == (1, pytest_output(2, 1))


def test_a_report_of_an_interrupted_command_comes_behind_the_turn() -> None:
    """``turn_aborted`` settles nothing: the report that follows belongs to the same result."""
    rollout = started(PAGINATED)
    call_id = rollout.call("exec_command", {"cmd": "pytest -q"})
    rollout.output(call_id, "aborted by user after 4.6s")
    rollout.abort_turn()
    rollout.report(call_id, "pytest -q", "", -1)
    (result,) = results(rollout)
    assert (result.exit_code, result.status, len(result.lines)) == (-1, CallStatus.CANCELLED, 3)


def test_a_background_command_that_ended_in_its_turn_has_the_reports_code() -> None:
    """Still running in the text, ended in the report: no contradiction."""
    rollout = started(PAGINATED)
    call_id = rollout.background_command("pytest -q", "", 5)
    rollout.report(call_id, "pytest -q", pytest_output(3), 0)
    (result,) = results(rollout)
    assert (result.exit_code, result.status, result.conflict) == (0, CallStatus.COMPLETED, False)


@MODES
@pytest.mark.parametrize(
    "command",
    [
        "cat old.log",
        "echo '12 passed in 0.1s'",
        "pytest --version",
        "ls; pytest",
        "git show",
    ],
)
def test_a_summary_in_another_commands_output_is_no_result(mode: str, command: str) -> None:
    """What only prints a summary gives no tool result at all."""
    rollout = started(mode)
    rollout.command(command, pytest_output(12), 0)
    assert not results(rollout)


@MODES
def test_a_pipe_hides_whose_code_it_is(mode: str) -> None:
    """The runner certainly ran, and its numbers are shown; that they passed is not proved."""
    rollout = started(mode)
    rollout.command("pytest -q | tail -1", pytest_output(12), 0)
    (result,) = results(rollout)
    found = decide_objective(result)
    assert found is not None
    assert (found.passed, found.outcome) == (12, Outcome.UNKNOWN)


def test_in_code_mode_only_the_report_of_a_command_proves_its_run() -> None:
    """What a script says or prints is no result; the item names the command, its code and its own output."""
    rollout = started(PAGINATED)
    call_id = rollout.new_call_id()
    call = {
        "type": "custom_tool_call",
        "status": "completed",
        "call_id": call_id,
        "name": "exec",
        "input": "pytest",
    }
    rollout.write("response_item", call)
    rollout.report("exec-0d9b", "pytest -q", pytest_output(4), 0)
    output = [{"type": "input_text", "text": "Script completed\nOutput:\n" + pytest_output(4)}]
    rollout.write("response_item", {"type": "custom_tool_call_output", "call_id": call_id, "output": output})
    records, reader = read(CODEX, rollout.to_bytes())
    (result,) = [record for record in records if isinstance(record, ToolResult)]
    assert [ref.role for ref in result.lines] == [LineRole.ITEM]
    assert (result.call_id, result.command, result.exit_code) == ("exec-0d9b", "pytest -q", 0)
    assert result.output.tail == pytest_output(4)
    assert reader.tallies.executions == Outcomes(success=1)
    assert reader.tallies.outcomes == Outcomes(unknown=1)


def test_what_a_script_ran_besides_tests_is_only_counted() -> None:
    """Commands of code mode that nobody reviewed are counted from their end; quotes and length change nothing."""
    rollout = started(PAGINATED)
    for number, command in enumerate(["ls -la", 'echo "pytes" t', "x" * 3_000, "cat cargo.toml"]):
        rollout.report(f"exec-{number}", command, pytest_output(4), number % 2)
    records, reader = read(CODEX, rollout.to_bytes())
    assert not [record for record in records if isinstance(record, ToolResult)]
    assert reader.tallies.executions == Outcomes(success=2, failure=2)


@pytest.mark.parametrize(
    "command", ["cd a\npytest -q", "cd a &&\tpytest -q", "A='\u00e9' pytest -q", "true && pytest"]
)
def test_a_reviewed_command_of_a_script_is_found_behind_any_escape(command: str) -> None:
    """The words of a command are looked for in its JSON form: an escape in front of one must not hide it."""
    rollout = started(PAGINATED)
    rollout.report("exec-1", command, pytest_output(4), 0)
    (result,) = results(rollout)
    assert result.command == command


RUNNING = "Chunk ID: a1\nWall time: 1.0 seconds\nProcess running with session ID {}\nOutput:\n"
EXITED = "Chunk ID: a2\nWall time: 1.0 seconds\nProcess exited with code {}\nOutput:\n"


def poll(rollout: CodexRollout, session: int, output: str) -> tuple[str, int]:
    """Write a poll and its output; return its call id and where the output's line begins."""
    call_id = rollout.call("write_stdin", {"session_id": session, "chars": ""})
    place = len(rollout.to_bytes())
    rollout.output(call_id, output)
    return call_id, place


@pytest.mark.parametrize("polls", [1, 2, 5])
@MODES
def test_a_polled_command_ends_with_the_poll_that_saw_it_end(mode: str, polls: int) -> None:
    """Code and summary come with a later ``write_stdin`` of the same session, and belong to the first command."""
    rollout = started(mode)
    rollout.output(
        rollout.call("exec_command", {"cmd": "pytest -q"}), RUNNING.format(7) + "collected 12 items\n"
    )
    rollout.end_turn("waiting")
    rollout.start_turn()
    for _ in range(polls - 1):
        poll(rollout, 7, RUNNING.format(7) + "...\n")
    call_id, place = poll(rollout, 7, EXITED.format(1) + ".\n" + pytest_output(11, 1))
    (result,) = results(rollout)
    assert (result.command, result.exit_code, result.call_id) == ("pytest -q", 1, call_id)
    assert [ref.role for ref in result.lines] == [
        LineRole.CALL,
        LineRole.OUTPUT,
        LineRole.CALL,
        LineRole.OUTPUT,
    ]
    assert result.lines[-1].offset == place
    assert not result.output.whole
    found = decide_objective(result)
    assert found is not None
    assert (found.passed, found.failed, found.outcome) == (11, 1, Outcome.FAIL)


@pytest.mark.parametrize(
    ("session", "output"),
    [
        (8, EXITED.format(0) + pytest_output(12)),
        (7, "write_stdin failed: Unknown process id 7"),
        (7, "aborted by user after 1.2s"),
        (7, pytest_output(12)),
        (7, RUNNING.format(7) + pytest_output(12)),
    ],
)
def test_a_poll_of_another_session_or_without_a_code_ends_nothing(session: int, output: str) -> None:
    """Only the exit code of the very session ends the command; what a poll printed before is not looked at."""
    rollout = started()
    rollout.output(rollout.call("exec_command", {"cmd": "pytest -q"}), RUNNING.format(7))
    poll(rollout, session, output)
    (result,) = results(rollout)
    assert (result.status, result.exit_code, result.output.tail) == (CallStatus.RUNNING, None, "")
    assert decide_objective(result) is None or decide_objective(result).outcome is Outcome.UNKNOWN


def test_a_command_that_has_ended_is_not_polled_again() -> None:
    """Another process in a session of the same number says nothing about the one that ended."""
    rollout = started(PAGINATED)
    call_id = rollout.call("exec_command", {"cmd": "pytest -q"})
    rollout.output(call_id, RUNNING.format(7))
    rollout.report(call_id, "pytest -q", pytest_output(11, 1), 1)
    poll(rollout, 7, EXITED.format(0) + pytest_output(12))
    (result,) = results(rollout)
    assert (result.exit_code, result.conflict) == (1, False)
    assert [ref.role for ref in result.lines] == [LineRole.CALL, LineRole.OUTPUT, LineRole.ITEM]


def test_a_command_in_two_sessions_is_in_none() -> None:
    """A header that names two sessions names none: no poll belongs to it."""
    rollout = started()
    header = "Process running with session ID 7\nProcess running with session ID 8\nOutput:\n"
    rollout.output(rollout.call("exec_command", {"cmd": "pytest -q"}), header)
    poll(rollout, 7, EXITED.format(0) + pytest_output(12))
    (result,) = results(rollout)
    assert (result.status, result.exit_code) == (CallStatus.RUNNING, None)


@pytest.mark.parametrize(
    ("session", "output", "is_one"),
    [
        (7, EXITED.format(0) + pytest_output(12), True),
        (8, EXITED.format(0) + pytest_output(12), False),
        (7, RUNNING.format(7) + pytest_output(12), False),
    ],
)
def test_only_lines_that_a_reader_would_join_derive_a_result(session: int, output: str, is_one: bool) -> None:
    """A poll of another session, or one that saw no end, is no line of the result; given as one, nothing is derived."""
    rollout = started()
    data = rollout.to_bytes()
    rollout.output(rollout.call("exec_command", {"cmd": "pytest -q"}), RUNNING.format(7))
    poll(rollout, session, output)
    lines = list(LineSplitter(len(data)).feed(rollout.to_bytes()[len(data) :]))
    header = CODEX.read_header(rollout.to_bytes())
    derived = CODEX.derive(
        header, [CitedLine(line.offset, line.raw) for line in lines if isinstance(line, Line)]
    )
    assert (derived is not None) == is_one


def test_a_line_that_a_poll_cut_is_not_read_from_its_middle() -> None:
    """The beginning of a poll's output may be the rest of a longer line."""
    rollout = started()
    rollout.output(rollout.call("exec_command", {"cmd": "pytest -q"}), RUNNING.format(7) + "not really ")
    poll(rollout, 7, EXITED.format(0) + "12 passed in 0.52s\n")
    (result,) = results(rollout)
    found = decide_objective(result)
    assert found is None or (found.outcome, found.passed) == (Outcome.UNKNOWN, None)


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["bash", "-lc", "pytest -q"], "pytest -q"),
        (["/usr/bin/zsh", "-c", "cd a && pytest"], "cd a && pytest"),
        (["pytest", "-k", "a b"], "pytest -k 'a b'"),
        (["python3", "-m", "pytest"], "python3 -m pytest"),
    ],
)
def test_an_argument_vector_is_shell_text(argv: list[str], command: str) -> None:
    """A shell's script is itself; any other vector is quoted, so that its words stay whole."""
    rollout = started()
    rollout.shell(argv, pytest_output(1), 0)
    action = {"type": "exec", "command": argv}
    rollout.write(
        "response_item", {"type": "local_shell_call", "call_id": "c2", "status": "x", "action": action}
    )
    rollout.output("c2", '{"output":"","metadata":{"exit_code":0,"duration_seconds":1}}')
    assert [result.command for result in results(rollout)] == [command, command]


@pytest.mark.parametrize(
    "arguments", ["", "{", "[]", '{"cmd":1}', '{"cmd":"pytest","cmd":"pytest -q"}', '{"cmd":"\\ud800"}']
)
def test_malformed_arguments_ask_for_nothing(arguments: str) -> None:
    """The model writes the arguments: nonsense in them is its mistake, and no defect of the file."""
    rollout = started()
    call = {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": "c1"}
    rollout.write("response_item", call)
    rollout.output("c1", "Process exited with code 0\nOutput:\n" + pytest_output(3))
    records, reader = read(CODEX, rollout.to_bytes())
    assert not [record for record in records if isinstance(record, ToolResult | Defect)]
    assert reader.tallies.outcomes.success == 1
