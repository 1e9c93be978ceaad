"""The reference's own line, alone on its line: ``Measured Suite 4; result: PASS 9/9.`` counts, no other form.

It counts only from a program whose name says that it measures, started directly. The label is ``suite-N``.
The reference prints no number of failures, so ``failed`` stays absent.
"""

import re
from collections.abc import Sequence

from adapters.objective.recogniser import CommandForm, Kind, LazyPattern, Recogniser, Summary

_LINE = LazyPattern(
    r"Measured Suite (?P<number>[0-9]{1,6}); result: (?P<word>PASS|FAIL)"
    r" (?P<passed>[0-9]{1,9})/(?P<total>[0-9]{1,9})\."
)


def read(lines: Sequence[str]) -> tuple[Summary, ...]:
    """Return each line's statement."""
    return tuple(
        _summary(index, found)
        for index, line in enumerate(lines)
        if line.startswith("Measured Suite ") and (found := _LINE.fullmatch(line))
    )


def _summary(index: int, found: re.Match[str]) -> Summary:
    passed, total, says_ok = int(found["passed"]), int(found["total"]), found["word"] == "PASS"
    return Summary(
        last_line=index,
        passed=passed,
        total=total,
        label=f"suite-{int(found['number'])}",
        says_ok=says_ok,
        sound=0 < total >= passed and says_ok == (passed == total),
    )


RECOGNISER = Recogniser(
    runner="measured-suite",
    form=CommandForm(name_parts=("measure", "suite"), never=frozenset({"--help", "-h", "--version"})),
    read=read,
    kind=Kind.MEASUREMENT,
)
