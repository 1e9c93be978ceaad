"""The outcome lattice: only agreement proves, and what disagrees stays visible as unknown."""

import itertools
from collections.abc import Callable

import pytest

from adapters.objective import Binding, Flag, Kind, Objective, Outcome, decide_objective
from adapters.objective.outcome import Ending, Relation, decide
from adapters.objective.recogniser import Summary
from adapters.objective.runners import BY_RUNNER, RECOGNISERS
from adapters.record import CallStatus, ToolResult

MakeResult = Callable[..., ToolResult]
CLEAN = "===== 12 passed in 0.52s =====\n"
FAILING = "FAILED tests/test_abe.py::test_one - assert 1 == 2\n===== 1 failed, 11 passed in 0.61s =====\n"
BROKEN = "===== 1 error in 0.05s =====\n"
EMPTY = "===== no tests ran in 0.01s =====\n"

ENDINGS = [
    # output, exit code, fields, outcome, flags
    (CLEAN, 0, {}, "pass", []),
    (FAILING, 1, {}, "fail", []),
    (BROKEN, 1, {}, "error", []),
    (BROKEN, 2, {}, "error", []),
    (CLEAN, 2, {}, "cancelled", []),
    (CLEAN, 130, {}, "cancelled", []),
    (CLEAN, -2, {}, "cancelled", []),
    (CLEAN, -9, {}, "error", []),
    (CLEAN, 137, {}, "error", []),
    (CLEAN, 3, {}, "error", []),
    (EMPTY, 5, {}, "skipped", []),
    (CLEAN, 5, {}, "unknown", ["inconsistent"]),
    (FAILING, 0, {}, "unknown", ["inconsistent"]),
    (BROKEN, 0, {}, "unknown", ["inconsistent"]),
    (CLEAN, 1, {}, "unknown", ["inconsistent"]),
    (CLEAN, None, {}, "unknown", []),
    (FAILING, None, {}, "unknown", []),
    (CLEAN, None, {"status": CallStatus.COMPLETED}, "unknown", []),
    # a host's own proof without a number needs its flag and its status
    (CLEAN, None, {"status": CallStatus.COMPLETED, "error_flag": False}, "pass", []),
    (FAILING, None, {"status": CallStatus.COMPLETED, "error_flag": False}, "unknown", ["inconsistent"]),
    (FAILING, None, {"status": CallStatus.FAILED, "error_flag": True}, "fail", []),
    (BROKEN, None, {"status": CallStatus.FAILED, "error_flag": True}, "error", []),
    (CLEAN, None, {"status": CallStatus.FAILED, "error_flag": True}, "unknown", ["inconsistent"]),
    ("no summary", None, {"status": CallStatus.FAILED, "error_flag": True}, "error", []),
    ("no summary", None, {"status": CallStatus.COMPLETED, "error_flag": False}, "unknown", ["partial"]),
    (FAILING, None, {"status": CallStatus.FAILED}, "unknown", []),
    (FAILING, None, {"error_flag": True}, "unknown", []),
    (CLEAN, None, {"status": CallStatus.FAILED, "error_flag": False}, "unknown", ["conflict"]),
    (CLEAN, None, {"status": CallStatus.COMPLETED, "error_flag": True}, "unknown", ["conflict"]),
    (CLEAN, None, {"status": CallStatus.RUNNING, "error_flag": False}, "unknown", []),
    (CLEAN, None, {"error_flag": False}, "unknown", []),
    (CLEAN, None, {"status": CallStatus.RUNNING}, "unknown", []),
    (CLEAN, 1, {"status": CallStatus.RUNNING}, "unknown", []),
    (CLEAN, 0, {"status": CallStatus.RUNNING}, "unknown", ["conflict"]),
    (CLEAN, None, {"status": CallStatus.CANCELLED}, "cancelled", []),
    (CLEAN, None, {"status": CallStatus.TIMEOUT}, "timeout", []),
    (CLEAN, 124, {"status": CallStatus.TIMEOUT}, "timeout", []),
    (CLEAN, None, {"status": CallStatus.DENIED}, "blocked", []),
    (CLEAN, 0, {"status": CallStatus.CANCELLED}, "unknown", ["conflict"]),
    (CLEAN, 0, {"status": CallStatus.FAILED}, "unknown", ["conflict"]),
    (CLEAN, 0, {"error_flag": True}, "unknown", ["conflict"]),
    (FAILING, 1, {"error_flag": False}, "unknown", ["conflict"]),
    (CLEAN, 0, {"conflict": True}, "unknown", ["conflict"]),
    (FAILING, 1, {"conflict": True}, "unknown", ["conflict"]),
    (FAILING + CLEAN, 0, {}, "unknown", ["inconsistent"]),
    (CLEAN + FAILING, 1, {}, "unknown", ["inconsistent"]),
    (CLEAN + CLEAN, 0, {}, "pass", []),
    ("=== 3 passed, 2 weird in 0.1s ===", 0, {}, "unknown", ["partial"]),
    ("=== 3 passed, 2 passed in 0.1s ===", 0, {}, "unknown", ["inconsistent"]),
    ("nothing of the kind", 0, {}, "unknown", ["partial"]),
    ("No module named pytest", 1, {}, "error", []),
    ("usage", 4, {}, "error", []),
    ("collected 3 items", 130, {}, "cancelled", []),
    ("collected 0 items", 5, {}, "skipped", []),
    ("", None, {"status": CallStatus.CANCELLED}, "cancelled", []),
    ("", None, {"status": CallStatus.TIMEOUT}, "timeout", []),
    ("", None, {"status": CallStatus.DENIED}, "blocked", []),
]


@pytest.mark.requirement("T73")
@pytest.mark.parametrize(("output", "exit_code", "fields", "outcome", "flags"), ENDINGS)
def test_code_status_and_counts_give_one_outcome(
    make_result: MakeResult,
    output: str,
    exit_code: int | None,
    fields: dict[str, object],
    outcome: str,
    flags: list[str],
) -> None:
    """T73: agreement proves; absence and contradiction are unknown, with the reason as a flag."""
    found = decide_objective(make_result("pytest -q", output, exit_code, **fields))
    assert found is not None
    assert (found.outcome, list(found.flags)) == (outcome, flags)


@pytest.mark.parametrize(
    ("command", "output", "exit_code", "fields"),
    [
        ("pytest", "", None, {}),
        ("pytest", "collected 12 items", None, {"status": CallStatus.RUNNING}),
        ("pytest", CLEAN, 0, {"inherited": True}),
        (None, CLEAN, 0, {}),
        ("cd nowhere && pytest", "cd: no such directory", 1, {}),
        ("npm test", "no summary here", 0, {}),
        ("npm test", "no summary here", 1, {}),
        ("npm test", "", None, {"status": CallStatus.TIMEOUT}),
        ("npm test", "Measured Suite 4; result: PASS 9/9.", 0, {}),
        ("./measure", CLEAN, None, {}),
    ],
)
def test_a_call_that_proves_nothing_about_a_run_is_no_result(
    make_result: MakeResult,
    command: str | None,
    output: str,
    exit_code: int | None,
    fields: dict[str, object],
) -> None:
    """No end, inherited history, a failing command before the run, or a script without summary: nothing."""
    assert decide_objective(make_result(command, output, exit_code, **fields)) is None


SCRIPT_OUTPUTS = [
    ("      Tests  3 passed (3)\n", 0, None, None, []),
    (" Test Files  1 passed (1)\n      Tests  3 passed (3)\n", 0, "vitest", "pass", []),
    (" Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)\n", 1, "vitest", "fail", []),
    (
        " Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)\n",
        0,
        "vitest",
        "unknown",
        ["inconsistent"],
    ),
    (" Test Files  1 passed (1)\n      Tests  3 passed (3)\n", 1, "vitest", "unknown", ["inconsistent"]),
    (" Test Files  1 passed (1)\n      Tests  3 passed (4)\n", 0, "vitest", "unknown", ["inconsistent"]),
    (
        " Test Files  1 passed (1)\n      Tests  1 failed | 2 passed (3)\n",
        1,
        "vitest",
        "unknown",
        ["inconsistent"],
    ),
    (
        " Test Files  1 passed (1)\n      Tests  3 passed (3)\n     Errors  1 error\n",
        1,
        "vitest",
        "error",
        [],
    ),
    (
        "Test Suites: 1 passed, 1 total\nTests:       1 failed, 2 passed, 3 total\n",
        1,
        "jest",
        "unknown",
        ["inconsistent"],
    ),
    ("Test Suites: 1 passed, 1 total\nTests:       3 passed, 3 total\n", 0, "jest", "pass", []),
    (
        "Test Suites: 1 passed, 1 total\nTests:       3 passed, 4 total\n",
        0,
        "jest",
        "unknown",
        ["inconsistent"],
    ),
    ("ok  \texample.test/m\t0.1s\n", 0, "go", "pass", []),
    ("ok  \texample.test/m\t0.1s\nok  \texample.test/m\t0.1s\n", 0, "go", "unknown", ["partial"]),
    ("Ran 3 tests in 0.1s\n\nOK\n" + CLEAN, 0, "pytest", "unknown", ["partial"]),
    (CLEAN + "Ran 3 tests in 0.1s\n\nOK\n", 0, "unittest", "unknown", ["partial"]),
    (CLEAN + "other\n" + CLEAN, 0, "pytest", "unknown", ["partial"]),
    (CLEAN + FAILING, 1, "pytest", "fail", ["partial"]),
    ("Ran 3 tests in 0.1s\n\nFAILED (errors=1)\n", 1, "unittest", "error", []),
    ("Ran 3 tests in 0.1s\n\nOK (failures=1)\n", 0, "unittest", "unknown", ["inconsistent"]),
    ("Ran 3 tests in 0.1s\nsomething\n", 0, "unittest", "unknown", ["partial"]),
]


@pytest.mark.parametrize(("output", "exit_code", "runner", "outcome", "flags"), SCRIPT_OUTPUTS)
def test_a_script_is_judged_by_its_summary_and_its_own_code(
    make_result: MakeResult,
    output: str,
    exit_code: int,
    runner: str | None,
    outcome: str | None,
    flags: list[str],
) -> None:
    """The summary names the runner; several summaries or sums that do not add up prove no success."""
    found = decide_objective(make_result("npm test", output, exit_code))
    if runner is None:
        assert found is None
        return
    assert found is not None
    assert (found.runner, found.binding, found.outcome, list(found.flags)) == (
        runner,
        "script",
        outcome,
        flags,
    )


def test_a_measurement_names_its_suite_and_leaves_failures_unstated(make_result: MakeResult) -> None:
    """The reference's line is a measurement; it prints no number of failures."""
    found = decide_objective(make_result("./measure", "x\nMeasured Suite 4; result: PASS 9/9.\n", 0))
    assert found == Objective(
        kind=Kind.MEASUREMENT, runner="measured-suite", binding=Binding.DIRECT, outcome=Outcome.PASS, label="suite-4",
        passed=9, failed=None, errors=None, skipped=None, warnings=None, total=9, packages_ok=None,
        packages_failed=None, exit_code=0, duration_ms=None, flags=(), command="./measure",
    )  # fmt: skip
    failing = decide_objective(make_result("./measure", "Measured Suite 3; result: FAIL 2/8.", 1))
    assert failing is not None
    assert (failing.outcome, failing.passed, failing.failed, failing.total) == ("fail", 2, None, 8)


@pytest.mark.parametrize(
    "line",
    [
        "Measured Suite 4; result: PASS 8/9.",
        "Measured Suite 4; result: FAIL 9/9.",
        "Measured Suite 4; result: PASS 0/0.",
        "Measured Suite 4; result: PASS 9/8.",
    ],
)
def test_a_measurement_that_contradicts_itself_proves_nothing(make_result: MakeResult, line: str) -> None:
    """The word and the numbers must agree."""
    found = decide_objective(make_result("./measure", line, 0))
    assert found is not None
    assert (found.outcome, found.flags) == ("unknown", (Flag.INCONSISTENT,))


@pytest.mark.parametrize(
    "line",
    [
        "> Measured Suite 4; result: PASS 9/9.",
        "Measured Suite 4; result: PASS 9/9. ok",
        "Measured Suite ٤; result: PASS ٩/٩.",
        "Measured Suite 4; result: PASS 9/9",
    ],
)
def test_a_measurement_is_the_whole_line_or_none(make_result: MakeResult, line: str) -> None:
    """Quoted, continued or translated, the line states nothing."""
    found = decide_objective(make_result("./measure", line, 0))
    assert found is not None
    assert (found.outcome, found.label) == ("unknown", None)


def test_success_needs_everything_to_agree() -> None:
    """Over every combination: ``pass`` only with code 0, a clean sound whole summary and no uncertainty (T73)."""
    summaries = [
        Summary(
            0,
            passed=passed,
            failed=failed,
            errors=errors,
            skipped=0,
            sound=sound,
            whole=whole,
            says_ok=says_ok,
        )
        for passed, failed, errors in itertools.product((0, 1), repeat=3)
        for sound, whole, says_ok in itertools.product((False, True), (False, True), (False, True, None))
    ]
    codes, flags = (None, 0, 1, 2, 5, 101, 130, -9), (None, True, False)
    uncertain = [frozenset[Flag](), *(frozenset({flag}) for flag in Flag)]
    for recogniser, summary, code, flag, status, conflict, found in itertools.product(
        (BY_RUNNER["pytest"], BY_RUNNER["cargo"]),
        [None, *summaries],
        codes,
        flags,
        CallStatus,
        (False, True),
        uncertain,
    ):
        decision = decide(recogniser, Ending(code, flag, status, conflict), summary, found)
        if decision.outcome is not Outcome.PASS:
            continue
        assert code == 0 or (code is None and flag is False and status is CallStatus.COMPLETED)
        assert flag is not True
        assert not conflict
        assert status in {CallStatus.COMPLETED, CallStatus.UNKNOWN}
        assert summary is not None
        assert (summary.sound, summary.whole, bool(summary.passed)) == (True, True, True)
        assert not summary.failed
        assert not summary.errors
        assert summary.says_ok is not False
        assert decision.flags <= {Flag.TRUNCATED}


def test_failure_needs_a_failing_code_and_a_failing_summary() -> None:
    """A failure is a finding too: no recogniser gives it from a code alone or from text alone."""
    failing = Summary(0, passed=1, failed=1)
    for recogniser in RECOGNISERS:
        for code in (None, 0):
            ending = Ending(code, None, CallStatus.UNKNOWN, conflict=False)
            assert decide(recogniser, ending, failing).outcome is Outcome.UNKNOWN
        ending = Ending(1, None, CallStatus.UNKNOWN, conflict=False)
        assert decide(recogniser, ending, failing).outcome is Outcome.FAIL
        assert decide(recogniser, ending, None).outcome is Outcome.ERROR


ELSEWHERE, IF_ZERO = Relation(must=False, own=False), Relation(must=True, own=False)
RELATIONS = [
    (ELSEWHERE, 0, True, "unknown", {"masked"}),
    (ELSEWHERE, 0, False, "unknown", {"masked"}),
    (ELSEWHERE, 1, False, "unknown", {"masked"}),
    (ELSEWHERE, None, True, "unknown", {"masked"}),
    (IF_ZERO, 0, True, "pass", set()),
    (IF_ZERO, 0, False, "unknown", {"inconsistent"}),
    (IF_ZERO, 1, True, "unknown", {"masked"}),
    (IF_ZERO, 1, False, "fail", set()),
    # another command's code has no meaning for this runner
    (IF_ZERO, 130, False, "fail", set()),
    (IF_ZERO, 4, False, "fail", set()),
    (IF_ZERO, 124, True, "unknown", {"masked"}),
    (IF_ZERO, None, True, "unknown", set()),
    (Relation(limited=True), 124, True, "timeout", set()),
    (Relation(limited=True), 124, False, "timeout", set()),
    (Relation(limited=True), 1, False, "fail", set()),
    (Relation(), 124, True, "unknown", {"inconsistent"}),
]


@pytest.mark.parametrize(("relation", "code", "clean", "outcome", "flags"), RELATIONS)
def test_the_end_of_a_line_proves_what_it_says_about_the_run(
    relation: Relation, code: int | None, clean: bool, outcome: str, flags: set[str]
) -> None:
    """A code that is another's proves nothing, and one that only success needs proves success and a shown failure."""
    summary = Summary(0, passed=1, failed=0 if clean else 1)
    ending = Ending(code, None, CallStatus.UNKNOWN, conflict=False)
    decision = decide(BY_RUNNER["pytest"], ending, summary, relation=relation)
    assert (decision.outcome, set(decision.flags)) == (outcome, flags)


def test_no_relation_makes_a_success_of_a_failure() -> None:
    """Over every combination: ``pass`` only where the line's success needs the run's, ``fail`` only where it shows."""
    for must, own, limited, code, failed in itertools.product(
        *((False, True),) * 3, (None, 0, 1, 124), (0, 1)
    ):
        ending = Ending(code, None, CallStatus.UNKNOWN, conflict=False)
        summary = Summary(0, passed=1, failed=failed)
        relation = Relation(must, own, limited)
        outcome = decide(BY_RUNNER["pytest"], ending, summary, relation=relation).outcome
        if outcome is Outcome.PASS:
            assert (code, failed) == (0, 0)
            assert must or own
        if outcome is Outcome.FAIL:
            assert code
            assert failed
            assert must or own


def test_a_number_of_failures_is_no_signal() -> None:
    """Mocha ends with the number of failed tests: 130 of them are no interruption, 255 may be more."""
    for failed, code in ((130, 130), (137, 137), (300, 255)):
        ending = Ending(code, None, CallStatus.UNKNOWN, conflict=False)
        assert decide(BY_RUNNER["mocha"], ending, Summary(0, passed=1, failed=failed)).outcome is Outcome.FAIL
    ending = Ending(130, None, CallStatus.UNKNOWN, conflict=False)
    assert decide(BY_RUNNER["mocha"], ending, Summary(0, passed=1, failed=2)).outcome is Outcome.CANCELLED
