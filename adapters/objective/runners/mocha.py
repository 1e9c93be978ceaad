"""mocha: ``  3 passing (10ms)``, then ``  1 pending`` and ``  1 failing`` where there are any.

A pending test is skipped. The exit code is the number of failures, 255 at most (``lib/cli/run-helpers.js``).
Source: ``lib/reporters/base.js`` (``Base.prototype.epilogue``).
"""

import re
from itertools import islice

from adapters.objective.recogniser import CommandForm, LazyPattern, Recogniser, Summary
from adapters.objective.text import Text

_PASSING = LazyPattern(r"  (?P<passed>[0-9]{1,9}) passing \((?P<number>[0-9]{1,9})(?P<unit>ms|s|m|h|d)\)")
_OTHERS = LazyPattern(r"  (?P<number>[0-9]{1,9}) (?P<word>pending|failing)")
_MARKS = (" passing (",)
_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def read(text: Text) -> tuple[Summary, ...]:
    """Return each block's statement."""
    return tuple(
        _summary(text, at, found) for at, line in text.marked(*_MARKS) if (found := _PASSING.fullmatch(line))
    )


def _summary(text: Text, at: int, found: re.Match[str]) -> Summary:
    counts = {"pending": 0, "failing": 0}
    last = at
    for place, line in islice(text.below(at), len(counts)):
        other = _OTHERS.fullmatch(line)
        if other is None:
            break
        counts[other["word"]] = int(other["number"])
        last = place
    passed = int(found["passed"])
    return Summary(
        last_line=last,
        passed=passed,
        failed=counts["failing"],
        skipped=counts["pending"],
        total=passed + counts["failing"] + counts["pending"],
        # mocha rounds what is longer than a second: only milliseconds are exact.
        duration_ms=int(found["number"]) if _UNITS[found["unit"]] == 1 else None,
    )


RECOGNISER = Recogniser(
    runner="mocha",
    form=CommandForm(
        programs=frozenset({"mocha", "_mocha", "mocha.js"}),
        never=frozenset("--version -V --help -h --dry-run --list-files --list-interfaces --list-reporters"
                        " --watch -w".split()),
        never_first=frozenset({"init", "inspect"}),
    ),
    marks=_MARKS,
    starts=frozenset({"0"}),
    read=read,
    counts_failures=True,
)  # fmt: skip
