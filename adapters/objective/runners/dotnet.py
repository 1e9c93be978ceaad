"""dotnet test: ``Passed!  - Failed: 0, Passed: 5, Skipped: 0, Total: 5, Duration: 12 ms - X.dll (net8.0)``.

Numbers are padded to six columns.
One line per test assembly, which are added up; or, from the terminal logger of .NET 9, one ``Test summary:`` line.
Words of other languages than English are not recognised.
Source: ``ConsoleLogger.cs`` and its ``Resources.resx`` (``TestRunSummary``) of microsoft/vstest; ``TerminalLogger``
of dotnet/msbuild.
"""

import re

from adapters.objective.recogniser import CommandForm, LazyPattern, Recogniser, Summary
from adapters.objective.text import Text

_LINE = LazyPattern(
    r"(?P<word>Passed|Failed|Skipped)! {1,3}- Failed: {1,9}(?P<failed>[0-9]{1,9}), Passed: {1,9}(?P<passed>[0-9]{1,9}),"
    r" Skipped: {1,9}(?P<skipped>[0-9]{1,9}), Total: {1,9}(?P<total>[0-9]{1,9}), Duration: .{1,400}"
)
_TERMINAL = LazyPattern(
    r"Test summary: total: (?P<total>[0-9]{1,9}), failed: (?P<failed>[0-9]{1,9}),"
    r" succeeded: (?P<passed>[0-9]{1,9}), skipped: (?P<skipped>[0-9]{1,9}), duration: .{1,40}"
)
_NAMES = ("passed", "failed", "skipped", "total")
_MARKS = ("! - Failed: ", "!  - Failed: ", "Test summary: ")


def read(text: Text) -> tuple[Summary, ...]:
    """Return the sum over all assemblies, or nothing where none reported."""
    marked = text.marked(*_MARKS)
    lines = [(at, one) for at, line in marked if (one := _LINE.fullmatch(line))]
    terminal = [(at, one) for at, line in marked if (one := _TERMINAL.fullmatch(line))]
    stated = terminal or lines
    if not stated:
        return ()
    passed, failed, skipped, total = (sum(int(one[name]) for _, one in stated) for name in _NAMES)
    return (
        Summary(
            last_line=stated[-1][0],
            passed=passed,
            failed=failed,
            skipped=skipped,
            total=total,
            sound=total == passed + failed + skipped and all(_agrees(one) for _, one in lines),
            whole=len(terminal) <= 1,
        ),
    )


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
    starts=frozenset({"Pa", "Fa", "Sk", "Te"}),
    read=read,
    sums=True,
)
