"""Where the end of a tool call may stand, what only looks like one, and whose words are a person's."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Outcomes
from adapters.claude import ClaudeAdapter
from adapters.claude.carriers import read_failure
from adapters.objective import Outcome, decide_objective
from adapters.record import HumanStatement, ToolResult
from tests.adapters.contract import read
from tests.simulators.claude import VERSIONS, ClaudeSession, new_session
from tests.simulators.hosts import pytest_output

CLAUDE = ClaudeAdapter()
REPORT: dict[str, object] = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}


def results(session: ClaudeSession) -> list[ToolResult]:
    """Return the tool results of a session."""
    return [record for record in read(CLAUDE, session.to_bytes())[0] if isinstance(record, ToolResult)]


def started(version: str = "2.1.49") -> ClaudeSession:
    """Return a session with its first prompt."""
    session = new_session(version)
    session.prompt("test it")
    return session


def stated(text: str) -> int | None:
    """Return the code that a failure's text states, by the rule alone: its first line, whole and nothing else."""
    first = text.split("\n", maxsplit=1)[0]
    words = first.split(" ")
    if len(words) != 3 or words[:2] != ["Exit", "code"]:
        return None
    digits = words[2].removeprefix("-")
    is_number = digits.isdecimal() and digits.isascii() and len(digits) <= 10
    return int(words[2]) if is_number and -(2**31) <= int(words[2]) < 2**32 else None


@given(
    st.lists(
        st.sampled_from(["Exit code ", "Exit code 1", "7", "0", "-2", "\n", " ", "x", "boom"]), max_size=6
    )
)
def test_a_failure_states_a_code_by_its_rule_only(pieces: list[str]) -> None:
    """The first line, whole, is the only place of a code; no body is searched."""
    text = "".join(pieces)
    assert read_failure(json.dumps(text).encode()[1:-1]).exit_code == stated(text)


@pytest.mark.requirement("T73")
@pytest.mark.parametrize(
    ("text", "code", "status"),
    [
        ("Exit code 1\nboom", 1, "failed"),
        ("Exit code 137", 137, "failed"),
        ("Exit code 2\nExit code 0\n", 2, "failed"),
        ("Exit code 0\nboom", 0, "failed"),
        ("boom\nExit code 7\n", None, "failed"),
        (" Exit code 1\n", None, "failed"),
        ("Exit code 1 \n", None, "failed"),
        ("exit code 1\n", None, "failed"),
        ("Exit code 4294967296\n", None, "failed"),
        ("Exit code 99999999999\n", None, "failed"),
        ("Error: Exit code 1\n", None, "failed"),
        ("", None, "failed"),
        ("The user doesn't want to proceed with this tool use. …", None, "denied"),
        ("Permission to use Bash with command pytest has been denied.", None, "denied"),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", None, "cancelled"),
        ("[Request interrupted by user for tool use]", None, "cancelled"),
        ("I saw: [Request interrupted by user]", None, "failed"),
    ],
)
def test_a_failed_result_states_what_its_first_line_says(text: str, code: int | None, status: str) -> None:
    """With ``is_error: true`` the first line is the host's; everything behind it is the command's."""
    session = started()
    session.result(session.call("Bash", {"command": "pytest -q"}), text, True, f"Error: {text}")
    (result,) = results(session)
    assert (result.exit_code, result.status.value, result.error_flag) == (code, status, True)


@pytest.mark.requirement("T73")
@pytest.mark.parametrize("flag", [None, "absent", "false", "true", 0, 1, [], {}])
def test_a_flag_that_is_no_boolean_states_nothing(flag: object) -> None:
    """Absent, ``null``, a text, a number: no error flag, and no proof of success either."""
    session = started()
    call_id = session.call("Bash", {"command": "pytest -q"})
    block = {"tool_use_id": call_id, "type": "tool_result", "content": "Exit code 1\n"}
    block |= {} if flag == "absent" else {"is_error": flag}
    session.record("user", {"message": {"role": "user", "content": [block]}}, toolUseResult=REPORT)
    (result,) = results(session)
    assert (result.exit_code, result.status.value, result.error_flag) == (None, "unknown", None)


@pytest.mark.requirement("T73")
@pytest.mark.parametrize(
    ("report", "status", "flag"),
    [
        (REPORT, "completed", False),
        (REPORT | {"noOutputExpected": True, "gitOperation": {"a": 1}}, "completed", False),
        (REPORT | {"persistedOutputPath": "/w/x", "persistedOutputSize": 1}, "completed", False),
        (REPORT | {"interrupted": True}, "cancelled", None),
        (REPORT | {"returnCodeInterpretation": "No matches found"}, "unknown", None),
        (REPORT | {"backgroundTaskId": "t"}, "running", None),
        (REPORT | {"backgroundTaskId": None}, "running", None),
        (REPORT | {"brandNewField": False}, "unknown", False),
        (REPORT | {"interrupted": "false"}, "unknown", False),
        ({"stdout": "", "stderr": ""}, "unknown", False),
        ({"type": "text", "file": {}}, "unknown", False),
        ("Error: x", "unknown", False),
        ([], "unknown", False),
        (None, "unknown", False),
    ],
)
def test_a_success_is_a_command_that_ended_in_the_foreground(
    report: object, status: str, flag: bool | None
) -> None:
    """``is_error: false`` proves an end with 0 only where the report is a shell's, whole and without a catch."""
    session = started()
    session.result(session.call("Bash", {"command": "pytest -q"}), pytest_output(3), False, report)
    (result,) = results(session)
    assert (result.exit_code, result.status.value, result.error_flag) == (None, status, flag)
    objective = decide_objective(result)
    assert objective is not None or status != "completed"
    passed = objective is not None and objective.outcome is Outcome.PASS
    assert passed == (status == "completed" and not result.output.truncated)


@pytest.mark.parametrize("version", ["1.0.98", "2.1.49"])
@pytest.mark.parametrize("tool", ["Read", "Grep", "mcp__srv__run", "bash", "BashOutput", "Task"])
def test_a_summary_that_another_tool_shows_is_no_result(tool: str, version: str) -> None:
    """Only the shell runs commands; what any other tool returns is counted, its words are no code."""
    session = started(version)
    session.result(session.call(tool, {"command": "pytest -q"}), pytest_output(3), False, REPORT)
    session.result(session.call(tool, {"command": "pytest -q"}), "Exit code 3\n", True, "Error")
    assert not results(session)
    tallies = read(CLAUDE, session.to_bytes())[1].tallies
    assert tallies.outcomes == Outcomes(success=1, failure=1)
    assert tallies.failure_codes == ({"3": 1} if tool == "BashOutput" else {"none": 1})


@pytest.mark.parametrize(
    "command", ["cat old.log", "echo '12 passed in 0.1s'", "git show", "rg passed", "", None, 7]
)
def test_a_summary_in_another_commands_output_is_no_result(command: object) -> None:
    """What only prints a summary gives no tool result at all."""
    session = started()
    session.result(session.call("Bash", {"command": command}), pytest_output(12), False, REPORT)
    assert not results(session)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_run_is_found_in_every_version(version: str) -> None:
    """Field orders change; a pass is proved by the flag in all of them, a failure by its code since 2.0."""
    session = started(version)
    session.command("pytest -q", pytest_output(3))
    session.command("pytest -q", pytest_output(2, 1), 1)
    passed, failed = results(session)
    assert (passed.status.value, passed.output.tail) == ("completed", pytest_output(3))
    assert (failed.exit_code, failed.output.tail) == (None if version == "1.0.98" else 1, pytest_output(2, 1))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("1 passed", "1 passed"),
        ([{"type": "text", "text": "1 passed"}], "1 passed"),
        ([{"type": "text", "text": "1"}, {"type": "text", "text": "2"}], ""),
        ([{"type": "image", "source": {}}], ""),
        ([], ""),
        (None, ""),
        (7, ""),
    ],
)
def test_only_one_text_is_an_output(content: object, text: str) -> None:
    """A text, or a list of one: what the order of several means is not known."""
    session = started()
    session.result(session.call("Bash", {"command": "pytest -q"}), content, False, REPORT)
    assert results(session)[0].output.tail == text


@pytest.mark.parametrize(
    ("output", "flags"),
    [
        ("a\n\n... [560 lines truncated] ...\n\n1 passed in 1s\n", {}),
        ("a... [7243 characters truncated] ...b\n1 passed in 1s\n", {}),
        ("<persisted-output>\nOutput too large (35.8KB). Full output saved to: /w/x\n\nPreview", {}),
        ("1 passed in 1s\n", {"persistedOutputPath": "/w/x", "persistedOutputSize": 99}),
    ],
)
def test_what_the_host_shortened_is_marked(output: str, flags: dict[str, object]) -> None:
    """Numbers in a shortened output may be partial: it says so, and no pass comes of it."""
    session = started()
    session.command("pytest -q", output, **flags)
    (result,) = results(session)
    assert result.output.truncated
    objective = decide_objective(result)
    assert objective is None or objective.outcome is not Outcome.PASS


@pytest.mark.parametrize(
    ("content", "more", "said"),
    [
        ("fix it", {}, True),
        ("fix it", {"origin": {"kind": "human"}}, True),
        ("fix it", {"origin": None, "isMeta": False, "isSidechain": False}, True),
        ([{"type": "text", "text": "fix it"}, {"type": "image", "source": {}}], {}, True),
        (
            [
                {"type": "text", "text": "<ide_selection>x</ide_selection>"},
                {"type": "text", "text": "fix it"},
            ],
            {},
            True,
        ),
        ("<div> is broken", {}, True),
        ("the <command-name> tag", {}, True),
        ("<command-name>/clear</command-name>", {}, False),
        ("<local-command-stdout>x</local-command-stdout>", {}, False),
        ([{"type": "text", "text": "<system-reminder>x</system-reminder>"}], {}, False),
        ("[Request interrupted by user]", {}, False),
        ([{"type": "image", "source": {}}], {}, False),
        ("", {}, False),
        ([], {}, False),
        ("fix it", {"isMeta": True}, False),
        ("fix it", {"isMeta": 1}, False),
        ("fix it", {"isCompactSummary": True}, False),
        ("fix it", {"isSidechain": True}, False),
        ("fix it", {"origin": {"kind": "channel"}}, False),
        ("fix it", {"origin": {}}, False),
        ("fix it", {"toolUseResult": None}, False),
    ],
)
def test_only_a_persons_words_are_a_statement(content: object, more: dict[str, object], said: bool) -> None:
    """Text of its own, no flag of the host, no tag of the host, no other speaker: any doubt is no statement."""
    session = new_session()
    session.prompt(content, **more)
    found, reader = read(CLAUDE, session.to_bytes())
    assert [type(r) for r in found] == ([HumanStatement] if said else [])
    assert reader.tallies.prompts == said
