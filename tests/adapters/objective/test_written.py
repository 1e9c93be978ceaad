"""What recordings of nextest and dotnet do not show, on output written after the format strings of their sources.

cargo-nextest: ``nextest-runner/src/reporter/displayer/{imp,progress}.rs`` (``write_summary_str``) and its snapshot
``summary_line_output``. dotnet from .NET 5 on, which cannot be had here: ``ConsoleLogger.cs`` with ``Resources.resx``
of microsoft/vstest, and the terminal logger of dotnet/msbuild. See "not recorded" in ``docs/spec/objective.md``.
"""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.objective import decide_objective
from adapters.record import ToolResult

MakeResult = Callable[..., ToolResult]
RULE = "\u2500" * 12 + "\n"
NEXTEST = [
    ("5 tests run: 5 passed, 0 skipped", 0, ("pass", 5, 0, 0, 5), []),
    ("1 test run: 1 passed, 3 skipped", 0, ("pass", 1, 0, 3, 4), []),
    ("5 tests run: 5 passed (1 slow, 1 flaky, 1 leaky), 2 skipped", 0, ("pass", 5, 0, 2, 7), []),
    ("4 tests run: 2 passed, 1 failed, 1 timed out, 0 skipped", 100, ("fail", 2, 2, 0, 4), []),
    ("3 tests run: 1 passed, 1 failed (1 due to being leaky), 1 exec failed, 0 skipped", 100, ("fail", 1, 2, 0, 3), []),
    ("2/10 tests run: 1 passed, 1 failed, 0 skipped", 100, ("fail", 1, 1, 0, 2), ["partial"]),
    ("2/10 tests run: 2 passed, 0 skipped", 100, ("unknown", 2, 0, 0, 2), ["inconsistent", "partial"]),
    ("8/10 tests run: 5 passed, 2 failed, 0 skipped", 100, ("unknown", 5, 2, 0, 7), ["inconsistent", "partial"]),
    ("0 tests run: 0 passed, 3 skipped", 4, ("skipped", 0, 0, 3, 3), []),
    ("5 tests run: 4 passed, 1 failed, 0 skipped", 0, ("unknown", 4, 1, 0, 5), ["inconsistent"]),
]  # fmt: skip


@pytest.mark.parametrize(("line", "code", "stated", "flags"), NEXTEST)
def test_a_summary_of_nextest_gives_its_counts(
    make_result: MakeResult, line: str, code: int, stated: tuple[object, ...], flags: list[str]
) -> None:
    """A test that timed out or did not start is a failure, a flaky one passed, a run cut short is partial."""
    text = f"{RULE}     Summary [   0.012s] {line}\nerror: test run failed\n"
    for command, number in (("cargo nextest run", code), ("cargo nextest run --no-fail-fast 2>&1", code)):
        one = decide_objective(make_result(command, text, number))
        assert one is not None
        assert (one.runner, one.duration_ms) == ("nextest", 12)
        assert (one.outcome, one.passed, one.failed, one.skipped, one.total) == stated
        assert list(one.flags) == flags


def vstest(word: str, failed: int, passed: int, skipped: int, total: int) -> str:
    """Return the closing line of one test assembly."""
    numbers = f"Failed: {failed:5}, Passed: {passed:5}, Skipped: {skipped:5}, Total: {total:5}"
    return f"{word}!  - {numbers}, Duration: 12 ms - Tests.dll (net8.0)\n"


BEGUN = "Test run for /w/{}.dll(.NETCoreApp,Version=v3.1)\n"
EMPTY = "No test is available in /w/{}.dll. Make sure that test discoverer & executors are registered\n"
TIME = " Total time: 1.2490 Seconds\n"
BLOCK = "Total tests: 3\n     Passed: 2\n    Skipped: 1\n" + TIME
NOTHING = ("unknown", None, None, None, None)
DOTNET = [
    # From .NET 5 on this is what "console;verbosity=normal" prints.
    (
        BEGUN.format("A").replace("dll(", "dll (") + "Test Run Successful.\n" + BLOCK,
        0,
        ("pass", 2, 0, 1, 3),
        [],
    ),
    (BLOCK.replace("    Skipped", "     Skipped"), 0, ("pass", 2, 0, 1, 3), []),
    (BLOCK.replace("Seconds", "Minutes") + BLOCK, 0, ("pass", 4, 0, 2, 6), []),
    (BEGUN.format("A") + BEGUN.format("B") + BLOCK, 0, ("unknown", 2, 0, 1, 3), ["partial"]),
    (BEGUN.format("A") + BEGUN.format("B") + BLOCK + BLOCK, 0, ("pass", 4, 0, 2, 6), []),
    (BEGUN.format("A") + BLOCK + BEGUN.format("B") + EMPTY.format("B"), 0, ("pass", 2, 0, 1, 3), []),
    (
        BEGUN.format("A") + BLOCK + BEGUN.format("B") + EMPTY.format("C"),
        0,
        ("unknown", 2, 0, 1, 3),
        ["partial"],
    ),
    (BLOCK + vstest("Passed", 0, 5, 0, 5), 0, ("unknown", 5, 0, 0, 5), ["partial"]),
    (BLOCK.replace("Passed: 2", "Passed: 3"), 0, ("unknown", 3, 0, 1, 3), ["inconsistent"]),
    # Without its last line, or with another assembly's line in it, a block is none.
    (BLOCK.removesuffix(TIME), 0, NOTHING, ["partial"]),
    (BLOCK.replace("    Skipped", "x\n    Skipped"), 0, NOTHING, ["partial"]),
    (BLOCK.replace("3\n", "Unknown\n", 1), 0, NOTHING, ["partial"]),
    ("Total tests: 3. Passed: 2. Failed: 0. Skipped: 0.\n", 0, ("unknown", 2, 0, 0, 3), ["inconsistent"]),
    ("Total tests: Unknown. Passed: 2. Failed: 0. Skipped: 0.\n", 0, NOTHING, ["partial"]),
    (vstest("Passed", 0, 5, 0, 5), 0, ("pass", 5, 0, 0, 5), []),
    (vstest("Failed", 1, 3, 1, 5), 1, ("fail", 3, 1, 1, 5), []),
    (vstest("Skipped", 0, 0, 2, 2), 0, ("skipped", 0, 0, 2, 2), []),
    (vstest("Passed", 0, 5, 0, 5) + "x\n" + vstest("Failed", 2, 1, 0, 3), 1, ("fail", 6, 2, 0, 8), []),
    (vstest("Passed", 1, 4, 0, 5), 1, ("unknown", 4, 1, 0, 5), ["inconsistent"]),
    (vstest("Passed", 0, 4, 0, 5), 0, ("unknown", 4, 0, 0, 5), ["inconsistent"]),
    (
        "Test summary: total: 5, failed: 1, succeeded: 4, skipped: 0, duration: 1.2s\n",
        1,
        ("fail", 4, 1, 0, 5),
        [],
    ),
    (vstest("Bestanden", 0, 5, 0, 5), 0, ("unknown", None, None, None, None), ["partial"]),
    (
        "Bestanden!   : Fehler: 0, erfolgreich: 5, gesamt: 5\n",
        0,
        ("unknown", None, None, None, None),
        ["partial"],
    ),
]


@pytest.mark.parametrize(("text", "code", "stated", "flags"), DOTNET)
def test_the_assemblies_of_a_dotnet_run_are_added_up(
    make_result: MakeResult, text: str, code: int, stated: tuple[object, ...], flags: list[str]
) -> None:
    """A statement for each assembly that has tests; what contradicts itself or is incomplete proves nothing."""
    one = decide_objective(make_result("dotnet test", text, code))
    assert one is not None
    assert (one.outcome, one.passed, one.failed, one.skipped, one.total) == stated
    assert list(one.flags) == flags


@pytest.mark.parametrize("total", [BLOCK, "Total tests: 3. Passed: 2. Failed: 0. Skipped: 1.\n"])
def test_a_script_is_told_to_be_dotnets_by_the_total_alone(make_result: MakeResult, total: str) -> None:
    """A script that filters its output leaves the line with the counts, and that one is looked for."""
    one = decide_objective(make_result("make test", total, 0))
    assert one is not None
    assert (one.runner, one.outcome, one.passed, one.skipped) == ("dotnet", "pass", 2, 1)


@given(*[st.integers(0, 999)] * 3, st.integers(0, 255))
def test_any_counts_of_both_give_success_only_where_nothing_failed(
    make_result: MakeResult, passed: int, failed: int, skipped: int, code: int
) -> None:
    """The numbers come through as printed, and a failure is never a success."""
    ran = f"{passed + failed} tests run: {passed} passed, {failed} failed, {skipped} skipped"
    word = "Failed" if failed else "Passed"
    for command, text in (
        ("cargo nextest run", f"     Summary [   0.012s] {ran}\n"),
        ("dotnet test", vstest(word, failed, passed, skipped, passed + failed + skipped)),
    ):
        one = decide_objective(make_result(command, text, code))
        assert one is not None
        assert (one.passed, one.failed, one.skipped) == (passed, failed, skipped)
        assert one.outcome != "pass" or (failed == 0 and code == 0 and passed > 0)
