"""From a tool result to an objective result: windows, cuts, spoofs, and what holds for any text."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.objective import Flag, Kind, Objective, Outcome, decide_objective
from adapters.objective.runners import RECOGNISERS
from adapters.objective.text import Text
from adapters.record import OutputText, ToolResult

MakeResult = Callable[..., ToolResult]
CLEAN = "===== 12 passed in 0.52s =====\n"
CARGO = "running 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
COMMANDS = (
    "pytest",
    "python -m unittest",
    "cargo test",
    "go test",
    "npx jest",
    "npx vitest",
    "./measure",
    "npm test",
)
STATEMENTS = (
    CLEAN,
    "1 failed, 2 passed in 0.1s",
    "no tests ran in 0.01s",
    "Ran 3 tests in 0.001s",
    "",
    "OK",
    "OK (skipped=1)",
    "FAILED (failures=1, errors=2)",
    CARGO,
    "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
    "ok  \texample.test/m\t0.1s",
    "FAIL\texample.test/m\t0.1s",
    "FAIL\texample.test/n [build failed]",
    "=== RUN   TestA",
    "--- FAIL: TestA (0.00s)",
    "Test Suites: 1 failed, 1 total",
    "Tests:       1 failed, 2 passed, 3 total",
    " Test Files  1 passed (1)",
    "      Tests  2 passed | 1 skipped (3)",
    "     Errors  1 error",
    "Measured Suite 4; result: PASS 9/9.",
    "Measured Suite 4; result: FAIL 1/9.",
)


def cut(head: str, tail: str, *, whole: bool = False, truncated: bool = False) -> OutputText:
    """Return an output of which only two windows are seen, or which the host shortened."""
    return OutputText(head, tail, whole=whole, truncated=truncated)


NOTICE = "…1234 tokens truncated…\n"
WINDOWS = [
    # the first line of a tail may be the end of another line
    ("pytest", cut("a\n", "xyz 3 passed in 0.1s\n" + CLEAN), "pass", []),
    ("pytest", cut("a\n", CLEAN), "unknown", ["partial"]),
    ("pytest", cut("===== 3 passed in 0.1s =====\nabc", "\n" + CLEAN), "unknown", ["inconsistent"]),
    ("npm test", cut("a\n", "\n" + CLEAN), "unknown", ["partial"]),
    ("cargo test", cut("a\n", "\n" + CARGO), "unknown", ["partial"]),
    # the host's own cut: before the summary, after it, at an unknown place
    ("pytest", cut(*[NOTICE + CLEAN] * 2, whole=True, truncated=True), "pass", ["truncated"]),
    ("pytest", cut(*[CLEAN + NOTICE] * 2, whole=True, truncated=True), "unknown", ["partial", "truncated"]),
    ("pytest", cut(*[CLEAN] * 2, whole=True, truncated=True), "unknown", ["partial", "truncated"]),
    ("pytest", cut(NOTICE, "\n" + CLEAN, truncated=True), "pass", ["truncated"]),
    ("pytest", cut("a\n", "\n" + CLEAN, truncated=True), "unknown", ["partial", "truncated"]),
    ("npm test", cut(*[NOTICE + CLEAN] * 2, whole=True, truncated=True), "unknown", ["partial", "truncated"]),
    (
        "cargo test",
        cut(*[NOTICE + CARGO] * 2, whole=True, truncated=True),
        "unknown",
        ["partial", "truncated"],
    ),
    ("pytest", cut(*[NOTICE] * 2, whole=True, truncated=True), "unknown", ["partial", "truncated"]),
]


@pytest.mark.parametrize(("command", "output", "outcome", "flags"), WINDOWS)
def test_what_was_cut_away_proves_no_success(
    make_result: MakeResult, command: str, output: OutputText, outcome: str, flags: list[str]
) -> None:
    """Numbers are whole only where nothing that belongs to them can be missing."""
    found = decide_objective(make_result(command, output, 0))
    assert found is not None
    assert (found.outcome, list(found.flags)) == (outcome, flags)


def test_a_failure_is_proved_although_a_part_is_missing(make_result: MakeResult) -> None:
    """What was cut away cannot undo a failed test and a failing code."""
    text = NOTICE + "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n"
    found = decide_objective(make_result("cargo test", cut(text, text, whole=True, truncated=True), 101))
    assert found is not None
    assert (found.outcome, found.flags) == (Outcome.FAIL, (Flag.PARTIAL, Flag.TRUNCATED))


SPOOFS = [
    f"echo '{CLEAN}'",
    "cat build/last.log",
    "printf '12 passed in 0.52s\\n'",
    "cat <<'EOF'\npytest -q\n12 passed in 0.52s\nEOF",
    "# pytest -q\ncat build/last.log",
    "echo pytest -q; cat build/last.log",
    "grep -n passed pytest.log",
    "python -c \"print('12 passed in 0.52s')\"",
    "git show HEAD:pytest.log",
    "git log -p -- pytest.log",
    "tail -f pytest.log",
    "cat suite.log",
    "head -5 measure.txt",
    "pytest --version",
    "cat old.log && pytest -qq",
]


@pytest.mark.requirement("X3", "T73")
@pytest.mark.parametrize("command", SPOOFS)
def test_a_printed_summary_is_no_result(make_result: MakeResult, command: str) -> None:
    """X3, T73: whatever the output says, a command that runs no reviewed runner gives nothing."""
    for output in ("\n".join(STATEMENTS), *STATEMENTS):
        assert decide_objective(make_result(command, output, 0)) is None


@given(
    st.sampled_from(COMMANDS) | st.text(max_size=40),
    st.lists(st.sampled_from(STATEMENTS) | st.text(max_size=60), max_size=12),
    st.none() | st.integers(-3, 256),
)
def test_any_text_gives_a_result_or_none_and_success_only_with_code_zero(
    make_result: MakeResult, command: str, lines: list[str], exit_code: int | None
) -> None:
    """Nothing is raised; success has code 0, something tested, nothing failed and no uncertainty."""
    found = decide_objective(make_result(command, "\n".join(lines), exit_code))
    if found is None or found.outcome is not Outcome.PASS:
        return
    assert found.exit_code == 0
    assert not found.failed
    assert not found.errors
    assert not found.packages_failed
    assert found.passed or found.total or found.packages_ok
    assert set(found.flags) <= {Flag.TRUNCATED}


SINGLE = ("pytest", "python -m unittest", "npx jest", "npx vitest", "./measure")


@given(
    st.sampled_from(SINGLE),
    st.permutations(
        ["collected 3 items", "....", "passed", "error: x", "12 in 3s", "Tests", "ok", "result: PASS"]
    ),
    st.sampled_from((0, 1)),
)
def test_the_order_of_unrelated_lines_before_the_summary_changes_nothing(
    make_result: MakeResult, command: str, noise: list[str], exit_code: int
) -> None:
    """Only the summary speaks; what stands before it may be anything in any order."""
    summary = {
        "pytest": CLEAN,
        "python -m unittest": "Ran 3 tests in 0.001s\n\nOK\n",
        "npx jest": "Test Suites: 1 passed, 1 total\nTests:       3 passed, 3 total\nTime:        1 s\n",
        "npx vitest": " Test Files  1 passed (1)\n      Tests  3 passed (3)\n",
        "./measure": "Measured Suite 4; result: PASS 9/9.\n",
    }[command]
    alone = decide_objective(make_result(command, summary, exit_code))
    assert decide_objective(make_result(command, "\n".join([*noise, summary]), exit_code)) == alone


@pytest.mark.parametrize(
    "line",
    [
        "=" * 100_000,
        "=" * 200 + " " + "1 passed, " * 90,
        "1 " + "a " * 450,
        "1 passed, " * 99,
        "Tests:" + " " * 900 + "1 passed, 2 total",
        "Tests: 1 passed" + ", 1 passed" * 90,
        " " * 12 + "Tests  1 passed" + " | 1 passed" * 80,
        "OK (" + "a=" * 400 + ")",
        "ok  \t" + "a" * 400 + "\t" + "9" * 400,
        "FAIL\t" + "a" * 900,
        "Duration  1s " + "(" * 900,
        "\x1b[" + "1;" * 400 + "m",
        "Measured Suite " + "9" * 900,
        "test result: ok. " + "9" * 900,
    ],
)
def test_adversarial_lines_are_read_in_bounded_steps(make_result: MakeResult, line: str) -> None:
    """Every pattern is bounded: a thousand hostile lines are read by every recogniser and state nothing."""
    text = Text("\n".join([line] * 1_000))
    for recogniser in RECOGNISERS:
        for summary in recogniser.read(text):
            assert not summary.passed
            assert not summary.errors
    assert decide_objective(make_result("npm test", line, 0)) is None


def test_digits_of_other_scripts_are_no_numbers(make_result: MakeResult) -> None:
    """``٣ passed`` is not what pytest prints."""
    found = decide_objective(make_result("pytest", "٣ passed in ٠.١s", 0))
    assert found is not None
    assert found.passed is None


HEADER = re.compile(
    r"\AChunk ID: \w+\nWall time: [0-9.]+ seconds\nProcess exited with code (\d+)\n.*?Output:\n", re.DOTALL
)


def shell_calls(file: Path) -> Iterator[tuple[int, str, str, str, int | None]]:
    """Yield offset, call id, command, output and exit code of each answered call; only for these samples."""
    commands: dict[str, Any] = {}
    offset = 0
    for line in file.read_bytes().split(b"\n"):
        record = json.loads(line) if line.startswith(b'{"t') else {}
        payload = record.get("payload", record)
        if payload.get("type") == "function_call" and payload["name"] in {"shell", "exec_command"}:
            arguments = json.loads(payload["arguments"])
            command = arguments.get("cmd", arguments.get("command"))
            commands[payload["call_id"]] = command if isinstance(command, str) else command[-1]
        elif payload.get("type") == "function_call_output" and payload["call_id"] in commands:
            output, code = payload["output"], None
            if output.startswith("{"):
                wrapped = json.loads(output)
                output, code = wrapped["output"], wrapped["metadata"]["exit_code"]
            elif header := HEADER.match(output):
                output, code = output[header.end() :], int(header[1])
            yield offset, payload["call_id"], commands[payload["call_id"]], output, code
        offset += len(line) + 1


@pytest.mark.parametrize("name", ["sc011_0.40.0.jsonl", "sc014_nover.jsonl"])
def test_the_vitest_runs_of_real_sessions_agree_with_their_truth(
    shared: Path, make_result: MakeResult, name: str
) -> None:
    """Runner, binding, counts and code of every recorded run, and not one result more."""
    truth = next(
        entry
        for line in (shared / "samples/truth.jsonl").read_text(encoding="utf-8").splitlines()
        if (entry := json.loads(line))["file"] == f"codex/{name}"
    )
    fields = ("runner", "passed", "failed", "skipped", "total", "exit_code")
    expected = [
        (entry["offset"], entry["invocation"], "pass", *(entry[field] for field in fields))
        for entry in truth["runner_results"]
    ]
    found = [
        (offset, objective.binding, objective.outcome, *(getattr(objective, field) for field in fields))
        for offset, _, command, output, code in shell_calls(shared / "samples/codex" / name)
        if (objective := decide_objective(make_result(command, output, code)))
        and objective.kind is not Kind.CHECK  # the truth lists test runs only
    ]
    assert expected
    assert found == expected


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("name", ["c19_spoofed_header_in_body", "c20_spoofed_summary"])
def test_the_spoofs_of_the_damaged_corpus_give_nothing(
    shared: Path, make_result: MakeResult, name: str
) -> None:
    """X3: summaries and headers printed by other commands are no evidence."""
    calls = list(shell_calls(shared / "damaged" / f"{name}.jsonl"))
    assert calls
    assert [
        decide_objective(make_result(command, output, code)) for _, _, command, output, code in calls
    ] == [None] * len(calls)


VERDICTS = {"pass": "pass", "fail": "fail"}


def verdict(found: Objective) -> str:
    """Return the word of ``expected.jsonl`` for a result."""
    if {Flag.CONFLICT, Flag.INCONSISTENT} & set(found.flags):
        return "conflict"
    return VERDICTS.get(found.outcome, "shown")


@pytest.mark.requirement("X3", "T73")
def test_a_masked_exit_code_never_becomes_a_success(shared: Path, make_result: MakeResult) -> None:
    """X3, T73: every call of the damaged file gives its counts and exactly its verdict."""
    expected = next(
        entry["runners"]
        for line in (shared / "damaged/expected.jsonl").read_text(encoding="utf-8").splitlines()
        if (entry := json.loads(line))["file"] == "c21_masked_exit_codes.jsonl"
    )
    found = [
        [call_id, one.runner, one.passed, one.failed, one.skipped, one.exit_code, verdict(one)]
        for _, call_id, command, output, code in shell_calls(shared / "damaged/c21_masked_exit_codes.jsonl")
        if (one := decide_objective(make_result(command, output, code)))
    ]
    assert found == expected
