"""unittest: ``Ran N tests in S s``, an empty line, then ``OK`` or ``FAILED (failures=…, errors=…)``.

It prints no number of passed tests. Under a bare ``OK`` that number is N; as soon as anything else is counted it
is not known (a whole class that is skipped or fails in its set-up is not in N, a failing subtest counts more than
once), and stays absent. An unexpected success is a failure. Source: ``unittest/runner.py``.
"""

import re
from itertools import islice

from adapters.objective.recogniser import CommandForm, LazyPattern, Outcome, Recogniser, Summary, milliseconds
from adapters.objective.text import Text

_RAN = LazyPattern(r"Ran (?P<total>[0-9]{1,9}) tests? in (?P<seconds>[0-9]{1,9}\.[0-9]{1,6})s")
_VERDICT = LazyPattern(
    r"(?P<word>OK|FAILED|NO TESTS RAN)(?: \((?P<counts>[a-z]+[a-z ]{0,30}=[0-9, a-z=]{1,200})\))?"
)
_COUNT = LazyPattern(r"(?P<name>[a-z ]{1,40})=(?P<number>[0-9]{1,9})")
_NAMES = frozenset({"failures", "errors", "skipped", "expected failures", "unexpected successes"})
_BLANKS = 2
_MARKS = ("Ran ",)


def read(text: Text) -> tuple[Summary, ...]:
    """Return each ``Ran`` line's statement, with the verdict below it."""
    return tuple(
        _summary(text, at, found) for at, line in text.marked(*_MARKS) if (found := _RAN.fullmatch(line))
    )


def _summary(text: Text, at: int, ran: re.Match[str]) -> Summary:
    total, duration = int(ran["total"]), milliseconds(ran["seconds"])
    near = islice(text.below(at), _BLANKS + 1)
    below, line = next(((place, line) for place, line in near if line), (at, ""))
    verdict = _VERDICT.fullmatch(line)
    counts = _counts(verdict["counts"]) if verdict is not None else None
    if verdict is None or counts is None:
        return Summary(last_line=at, total=total, duration_ms=duration, whole=False)
    failed = counts["failures"] + counts["unexpected successes"]
    says_ok = verdict["word"] != "FAILED"
    return Summary(
        last_line=below,
        passed=total if says_ok and not any(counts.values()) else None,
        failed=failed,
        errors=counts["errors"],
        skipped=counts["skipped"],
        total=total,
        duration_ms=duration,
        says_ok=says_ok,
        sound=says_ok == (failed + counts["errors"] == 0)
        and (verdict["word"] != "NO TESTS RAN" or total == 0),
    )


def _counts(text: str | None) -> dict[str, int] | None:
    """Return every count, those not printed as 0, or ``None`` for a name that was never reviewed."""
    counts = dict.fromkeys(_NAMES, 0)
    for part in text.split(", ") if text else ():
        found = _COUNT.fullmatch(part)
        if found is None or found["name"] not in _NAMES:
            return None
        counts[found["name"]] = int(found["number"])
    return counts


RECOGNISER = Recogniser(
    runner="unittest",
    form=CommandForm(modules=frozenset({"unittest"}), never=frozenset({"-h", "--help"})),
    marks=_MARKS,
    starts=frozenset({"Ra"}),
    read=read,
    exit_codes={5: Outcome.SKIPPED},
)
