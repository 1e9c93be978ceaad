"""dotnet test: four forms of one statement, by version and logger; each assembly makes its own, which are added up.

- up to SDK 2.x: ``Total tests: 3. Passed: 1. Failed: 1. Skipped: 1.``
- SDK 3.x, and later ones with a logger that is not terse: ``Total tests: 3``, below it the categories that are not
  zero, and the time;
- .NET 5 and later: ``Passed!  - Failed: 0, Passed: 5, Skipped: 0, Total: 5, Duration: 12 ms - X.dll (net8.0)``,
  numbers padded to six columns;
- the terminal logger of .NET 9: one ``Test summary:`` line for all.

An assembly without tests states nothing. One whose process died states nothing or a total that is ``Unknown``: with
``Test run for`` it began. Words of other languages than English are not recognised.
Source: ``ConsoleLogger.cs`` and its ``Resources.resx`` (``TestRunSummary`` and what begins so) of microsoft/vstest;
``TerminalLogger`` of dotnet/msbuild.
"""

import re
from collections.abc import Iterator

from adapters.objective.recogniser import CommandForm, LazyPattern, Recogniser, Summary
from adapters.objective.text import Line, Text

_LINE = LazyPattern(
    r"(?P<word>Passed|Failed|Skipped)! {1,3}- Failed: {1,9}(?P<failed>[0-9]{1,9}), Passed: {1,9}(?P<passed>[0-9]{1,9}),"
    r" Skipped: {1,9}(?P<skipped>[0-9]{1,9}), Total: {1,9}(?P<total>[0-9]{1,9}), Duration: .{1,400}"
)
_TERMINAL = LazyPattern(
    r"Test summary: total: (?P<total>[0-9]{1,9}), failed: (?P<failed>[0-9]{1,9}),"
    r" succeeded: (?P<passed>[0-9]{1,9}), skipped: (?P<skipped>[0-9]{1,9}), duration: .{1,40}"
)
_SENTENCES = LazyPattern(
    r"Total tests: (?P<total>[0-9]{1,9})\. Passed: (?P<passed>[0-9]{1,9})\. Failed: (?P<failed>[0-9]{1,9})\."
    r" Skipped: (?P<skipped>[0-9]{1,9})\."
)
_BLOCK = LazyPattern(
    r"Total tests: (?P<total>[0-9]{1,9})(?:\n {4,5}Passed: (?P<passed>[0-9]{1,9}))?"
    r"(?:\n {4,5}Failed: (?P<failed>[0-9]{1,9}))?(?:\n {4,5}Skipped: (?P<skipped>[0-9]{1,9}))?"
    r"\n Total time: [0-9.,]{1,20} (?:Seconds|Minutes|Hours|Days)"
)
_BLOCK_LINES = 5
_NAMES = ("passed", "failed", "skipped", "total")
_MARKS = ("! - Failed: ", "!  - Failed: ", "Test summary: ", "Total tests: ")
_BEGUN = LazyPattern(r"Test run for (?P<path>.{1,900}\.dll) ?\(.{1,80}\)")
_EMPTY = LazyPattern(r"No test is available in (?P<path>.{1,800}\.dll)\. Make sure .{1,300}")

_Statement = tuple[int, re.Match[str]]
"""Where the last line of a statement begins, and its numbers."""


def read(text: Text) -> tuple[Summary, ...]:
    """Return the sum over all assemblies, or nothing where none reported."""
    marked = text.marked(*_MARKS)
    terminal = [(at, one) for at, line in marked if (one := _TERMINAL.fullmatch(line))]
    lines = [(at, one) for at, line in marked if (one := _LINE.fullmatch(line))]
    totals = list(_totals(text, marked))
    stated = terminal or lines or totals
    if not stated:
        return ()
    passed, failed, skipped, total = (sum(int(one[name] or 0) for _, one in stated) for name in _NAMES)
    # One version and logger print one form; the terminal logger's line is about all assemblies.
    whole = (
        len(terminal) <= 1 and not (lines and totals) and (bool(terminal) or _expected(text) <= len(stated))
    )
    return (
        Summary(
            last_line=stated[-1][0],
            passed=passed,
            failed=failed,
            skipped=skipped,
            total=total,
            sound=total == passed + failed + skipped and all(_agrees(one) for _, one in lines),
            whole=whole,
        ),
    )


def _totals(text: Text, marked: list[Line]) -> Iterator[_Statement]:
    """Yield what begins with ``Total tests:`` and is complete: one line up to SDK 2.x, several from 3.x on."""
    for at, line in marked:
        if one := _SENTENCES.fullmatch(line):
            yield at, one
            continue
        block = [line]
        for below, more in text.below(at):
            block.append(more)
            if one := _BLOCK.fullmatch("\n".join(block)):
                yield below, one
                break
            if len(block) == _BLOCK_LINES:
                break


def _expected(text: Text) -> int:
    """Return how many assemblies began and have tests: as many statements there must be."""
    begun = {one["path"] for _, line in text.marked("Test run for ") if (one := _BEGUN.fullmatch(line))}
    empty = {one["path"] for _, line in text.marked("No test is ") if (one := _EMPTY.fullmatch(line))}
    return len(begun - empty)


def _agrees(found: re.Match[str]) -> bool:
    return (found["word"] == "Failed") == (int(found["failed"]) > 0)


RECOGNISER = Recogniser(
    runner="dotnet",
    form=CommandForm(
        programs=frozenset({"dotnet"}),
        subcommands=frozenset({"test", "vstest"}),
        never=frozenset("--list-tests -t --help -h -? --version".split()),
    ),
    marks=_MARKS,
    starts=frozenset({"Pa", "Fa", "Sk", "Te", "To"}),
    read=read,
    sums=True,
)
