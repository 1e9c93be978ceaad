"""Several runs, checks and pipes in one command: which of them is told, and as what."""

from collections.abc import Callable

import pytest

from adapters.objective import decide_objective
from adapters.record import CallStatus, ToolResult

MakeResult = Callable[..., ToolResult]
CLEAN = "===== 12 passed in 0.52s =====\n"
FAILING = "===== 1 failed, 11 passed in 0.61s =====\n"
RUFF_CLEAN, RUFF = "All checks passed!\n", "a.py:1:1: F401\nFound 3 errors.\n"
MYPY_CLEAN, MYPY = (
    "Success: no issues found in 2 source files\n",
    "Found 2 errors in 1 file (checked 2 source files)\n",
)
ESLINT = "\u2716 3 problems (2 errors, 1 warning)\n"
TSC = "a.ts(1,2): error TS2322: x\nb.ts(3,4): error TS2304: y\n"
CARGO = "running 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
VITEST = " Test Files  1 passed (1)\n      Tests  3 passed (3)\n"
GO = "ok  \texample.test/m\t0.1s\n"

TOLD = [
    # command, output, code, runner, outcome, flags
    ("ruff check . && mypy . && pytest", RUFF_CLEAN + MYPY_CLEAN + CLEAN, 0, "pytest", "pass", []),
    ("ruff check . && mypy . && pytest", RUFF_CLEAN + MYPY_CLEAN + FAILING, 1, "pytest", "fail", []),
    ("ruff check . && mypy . && pytest", RUFF, 1, "ruff", "fail", []),
    ("ruff check . && mypy . && pytest", RUFF_CLEAN + MYPY, 1, "mypy", "fail", []),
    ("ruff check . && mypy . && pytest", RUFF_CLEAN + MYPY_CLEAN, 1, "mypy", "unknown", ["masked"]),
    ("ruff check . && mypy .", RUFF_CLEAN + MYPY_CLEAN, 0, "mypy", "pass", []),
    ("ruff check .; mypy .", RUFF + MYPY_CLEAN, 0, "mypy", "pass", []),
    ("ruff check .; mypy .; true", RUFF + MYPY, 0, "mypy", "unknown", ["masked"]),
    ("mypy a && mypy b", MYPY_CLEAN + MYPY_CLEAN, 0, "mypy", "unknown", ["masked", "partial"]),
    ("pytest && ruff check .", CLEAN + RUFF, 1, "pytest", "unknown", ["masked"]),
    ("pytest && cargo test", CLEAN + CARGO, 0, "cargo", "unknown", ["masked", "partial"]),
    ("pytest && cargo test", CLEAN, 1, "pytest", "unknown", ["masked", "partial"]),
    ("pytest a && pytest b", CLEAN + CLEAN, 0, "pytest", "unknown", ["masked", "partial"]),
    ("pytest a; pytest b", FAILING + CLEAN, 0, "pytest", "unknown", ["masked", "partial"]),
    ("pytest || pytest --lf", FAILING + CLEAN, 0, "pytest", "unknown", ["masked", "partial"]),
    ("npm test && npm run lint", VITEST, 0, "vitest", "pass", []),
    ("npm test && npm run lint", VITEST + ESLINT, 1, "vitest", "unknown", ["masked"]),
    ("npm run lint && npm test", ESLINT, 1, "eslint", "fail", []),
    ("npm run lint", ESLINT, 1, "eslint", "fail", []),
    ("npm run lint", ESLINT, 0, "eslint", "unknown", ["inconsistent"]),
    ("npm run lint", "", 0, None, None, None),
    ("npm run lint", RUFF, 1, None, None, None),
    ("npm run lint", "a.go:3:5: x\n", 1, None, None, None),
    ("npm run build", VITEST, 0, None, None, None),
    ("npm run typecheck", TSC, 2, "tsc", "fail", []),
    ("make check", VITEST + ESLINT, 0, "vitest", "pass", []),
    ("make check", ESLINT, 2, "eslint", "fail", []),
    ("make test", FAILING, 2, "pytest", "fail", []),
    ("make test", CLEAN, 2, "pytest", "unknown", ["inconsistent"]),
    ("make test", CLEAN, 130, "pytest", "cancelled", []),
    ("npx tsc --noEmit", "", 0, "tsc", "pass", []),
    ("npx tsc --noEmit && echo ok", "ok\n", 0, "tsc", "pass", []),
    ("npx tsc --noEmit > log", "", 0, "tsc", "pass", []),
    ("npx tsc --noEmit && npx eslint .", "", 0, "eslint", "pass", []),
    ("npx tsc --noEmit && npx vitest run", VITEST, 0, "vitest", "pass", []),
    ("npx tsc --noEmit && npx vitest run", TSC, 2, "tsc", "fail", []),
    ("npx tsc --noEmit && npx vitest run", "", 0, None, None, None),
    ("npx tsc --noEmit; true", "", 0, None, None, None),
    ("npx tsc --noEmit | head -20", "", 0, None, None, None),
    ("npx tsc --noEmit | head -20", TSC, 0, "tsc", "unknown", ["masked", "partial"]),
    ("set -o pipefail; npx tsc --noEmit | head -20", "", 0, "tsc", "pass", []),
    ("cd x || npx tsc --noEmit", "", 0, None, None, None),
    ("exit 0; npx tsc --noEmit", "", 0, None, None, None),
    ("npx tsc --noEmit", "", None, None, None, None),
    ("npx tsc --noEmit", "", 2, "tsc", "error", []),
    ("npx tsc --noEmit", TSC, 0, "tsc", "unknown", ["inconsistent"]),
    ("cargo test | grep 'test result'", CARGO.partition("\n")[2], 0, "cargo", "unknown", ["masked", "partial"]),
    ("set -o pipefail; pytest | tail -1", CLEAN, 0, "pytest", "pass", []),
    ("set -o pipefail; go test ./... | tail -1", GO, 0, "go", "unknown", ["partial"]),
    ("set -o pipefail; go test ./... | tee log", GO, 0, "go", "pass", []),
    ("go test ./... > log; tail -1 log", GO, 0, "go", "unknown", ["masked", "partial"]),
    ("go test ./... > log && cat log", GO, 0, "go", "pass", []),
    ("pytest > log", "", 0, None, None, None),
    ("pytest > log", "", 1, None, None, None),
    ("pytest | tail -3", "", 1, None, None, None),
    ("timeout 60 pytest", "collected 3 items\n", 124, "pytest", "timeout", []),
    ("timeout 60 pytest", CLEAN, 124, "pytest", "timeout", []),
    ("pytest", "collected 3 items\n", 124, "pytest", "error", []),
]  # fmt: skip


@pytest.mark.requirement("X3", "T73")
@pytest.mark.parametrize(("command", "output", "code", "runner", "outcome", "flags"), TOLD)
def test_one_result_is_told_and_never_more_than_is_proved(
    make_result: MakeResult,
    command: str,
    output: str,
    code: int | None,
    runner: str | None,
    outcome: str | None,
    flags: list[str] | None,
) -> None:
    """X3, T73: tests before checks, the last check whose summary is seen, each by what the line's end says of it."""
    one = decide_objective(make_result(command, output, code))
    assert (one and (one.runner, one.outcome, list(one.flags))) == (runner and (runner, outcome, flags))


def test_a_host_without_numbers_proves_the_same(make_result: MakeResult) -> None:
    """Claude and King say that the line succeeded or failed: each row with a plain 0 or 1 holds without it."""
    for command, output, code, runner, outcome, flags in TOLD:
        if code not in {0, 1}:
            continue
        status = CallStatus.FAILED if code else CallStatus.COMPLETED
        result = make_result(command, output, None, status=status, error_flag=bool(code))
        one = decide_objective(result)
        assert (one and (one.runner, one.outcome, list(one.flags))) == (runner and (runner, outcome, flags))
        assert one is None or one.exit_code is None


def test_a_call_that_the_host_ended_names_a_run_only_where_there_is_one(make_result: MakeResult) -> None:
    """Which of several runs had begun is not known."""
    for command, runner in (
        ("pytest", "pytest"),
        ("pytest a && pytest b", None),
        ("ruff check . && pytest", None),
    ):
        one = decide_objective(make_result(command, "", None, status=CallStatus.CANCELLED))
        assert (one and (one.runner, one.outcome)) == (runner and (runner, "cancelled"))


def test_a_check_has_errors_and_warnings_and_no_tests(make_result: MakeResult) -> None:
    """The kind tells a verdict from a test run; what the tool does not print is absent."""
    one = decide_objective(make_result("npx eslint .", ESLINT, 1))
    assert one is not None
    assert (one.kind, one.errors, one.warnings) == ("check", 2, 1)
    assert (one.passed, one.failed, one.skipped, one.total) == (None, None, None, None)
    silent = decide_objective(make_result("go vet ./...", "", 0))
    assert silent is not None
    assert (silent.kind, silent.outcome, silent.errors, silent.warnings) == ("check", "pass", 0, None)
