"""The reference's own line, alone on its line: ``Measured Suite 4; result: PASS 9/9.`` counts, no other form.

It counts only from a program whose name says that it measures, started directly. The label is ``suite-N``.
The reference prints no number of failures, so ``failed`` stays absent.
"""

import re

from adapters.objective.recogniser import CommandForm, Kind, LazyPattern, Recogniser, Summary
from adapters.objective.text import Text

_LINE = LazyPattern(
    r"Measured Suite (?P<number>[0-9]{1,6}); result: (?P<word>PASS|FAIL)"
    r" (?P<passed>[0-9]{1,9})/(?P<total>[0-9]{1,9})\."
)
_MARKS = ("Measured Suite ",)


def read(text: Text) -> tuple[Summary, ...]:
    """Return each line's statement."""
    return tuple(_summary(at, found) for at, line in text.marked(*_MARKS) if (found := _LINE.fullmatch(line)))


def _summary(at: int, found: re.Match[str]) -> Summary:
    passed, total, says_ok = int(found["passed"]), int(found["total"]), found["word"] == "PASS"
    return Summary(
        last_line=at,
        passed=passed,
        total=total,
        label=f"suite-{int(found['number'])}",
        says_ok=says_ok,
        sound=0 < total >= passed and says_ok == (passed == total),
    )


RECOGNISER = Recogniser(
    runner="measured-suite",
    form=CommandForm(name_parts=("measure", "suite"), never=frozenset({"--help", "-h", "--version"})),
    marks=_MARKS,
    read=read,
    kind=Kind.MEASUREMENT,
)
