"""ctest: ``80% tests passed, 1 tests failed out of 5``, one per run.

A test that was skipped or is disabled is listed below and is in neither number; skipped ones are counted from the list.
Source: ``Source/CTest/cmCTestTestHandler.cxx`` of Kitware/CMake.
"""

import re
from itertools import islice

from adapters.objective.recogniser import CommandForm, LazyPattern, Recogniser, Summary, milliseconds
from adapters.objective.text import Text

_LINE = LazyPattern(
    r"(?P<percent>[0-9]{1,3})% tests passed, (?P<failed>[0-9]{1,9}) tests? failed out of (?P<total>[0-9]{1,9})"
)
_TIME = LazyPattern(r"Total Test time \(real\) = {1,10}(?P<seconds>[0-9]{1,9}\.[0-9]{1,6}) sec")
_SKIPPED = LazyPattern(r"\t {0,9}[0-9]{1,9} - .{1,400} \((?:Skipped|Disabled)\)")
_LABELS = 60
"""Lines of a summary by label that may stand before the time."""
_MARKS = ("% tests passed",)


def read(text: Text) -> tuple[Summary, ...]:
    """Return each line's statement."""
    return tuple(
        _summary(text, at, found) for at, line in text.marked(*_MARKS) if (found := _LINE.fullmatch(line))
    )


def _summary(text: Text, at: int, found: re.Match[str]) -> Summary:
    failed, total = int(found["failed"]), int(found["total"])
    last, duration = at, None
    for place, line in islice(text.below(at), _LABELS):
        if stated := _TIME.fullmatch(line):
            last, duration = place, milliseconds(stated["seconds"])
            break
    skipped = sum(_SKIPPED.fullmatch(line) is not None for _, line in text.marked("(Skipped)"))
    passed = total - failed - skipped
    return Summary(
        last_line=last,
        passed=max(passed, 0),
        failed=failed,
        skipped=skipped,
        total=total,
        duration_ms=duration,
        sound=passed >= 0
        and int(found["percent"]) <= 100
        and (int(found["percent"]) == 100) == (failed == 0),
    )


RECOGNISER = Recogniser(
    runner="ctest",
    form=CommandForm(
        programs=frozenset({"ctest", "ctest3"}),
        never=frozenset("-N --show-only --print-labels --help -h --version --help-full -S --script".split()),
    ),
    marks=_MARKS,
    starts=frozenset({"0"}),
    read=read,
)
