"""jest: the block ``Test Suites:`` … ``Tests:`` … ``Time:``, one per run.

A todo is neither passed nor failed. A suite that fails without a failed test did not load. jest leaves out the
categories that are zero, so an absent one is zero. Source: ``packages/jest-reporters/src/getSummary.ts``.
"""

from itertools import islice

from adapters.objective.recogniser import CommandForm, LazyPattern, Recogniser, Summary, milliseconds
from adapters.objective.text import Text

_COUNT = r"[0-9]{1,9} [a-z]{1,20}"
_SUITES = LazyPattern(
    rf"Test Suites: {{1,10}}(?P<counts>(?:{_COUNT}, ){{0,7}})(?:[0-9]{{1,9}} of )?[0-9]{{1,9}} total"
)
_TESTS = LazyPattern(rf"Tests: {{1,20}}(?P<counts>{_COUNT}(?:, {_COUNT}){{0,7}})")
_TIME = LazyPattern(r"Time: {1,20}(?P<seconds>[0-9]{1,9}(?:\.[0-9]{1,6})?) (?P<unit>s|ms|m)\b.{0,80}")
_CATEGORIES = frozenset({"failed", "skipped", "pending", "todo", "passed", "total"})
_MARKS = ("Tests: ",)
_TIME_WITHIN = 4
"""``Snapshots:`` and its details may stand between ``Tests:`` and ``Time:``."""


def read(text: Text) -> tuple[Summary, ...]:
    """Return each block's statement; a ``Tests:`` line without ``Test Suites:`` next to it is none."""
    summaries = []
    for at, line in text.marked(*_MARKS):
        tests = _TESTS.fullmatch(line)
        suites = _suites(text, at) if tests is not None else None
        if tests is not None and suites is not None:
            summaries.append(_summary(text, at, suites, _counts(tests["counts"])))
    return tuple(summaries)


def _suites(text: Text, at: int) -> dict[str, int] | None:
    """Return the counts of ``Test Suites:``, which is printed above; a host's merging of streams can swap the two."""
    for near in (text.above(at), text.below(at)):
        _, line = next(near, (0, ""))
        if found := _SUITES.fullmatch(line):
            return _counts(found["counts"].removesuffix(", "))
    return None


def _counts(text: str) -> dict[str, int]:
    parts = (part.partition(" ") for part in text.split(", ") if part)
    return {word: int(number) for number, _, word in parts}


def _summary(text: Text, at: int, suites: dict[str, int], tests: dict[str, int]) -> Summary:
    last, duration = at, None
    for place, line in islice(text.below(at), _TIME_WITHIN):
        if found := _TIME.fullmatch(line):
            last = place
            duration = milliseconds(found["seconds"]) if found["unit"] == "s" else None
            break
    passed, failed = tests.get("passed", 0), tests.get("failed", 0)
    skipped = tests.get("skipped", 0) + tests.get("pending", 0)
    suites_failed = suites.get("failed", 0)
    return Summary(
        last_line=last,
        passed=passed,
        failed=failed,
        skipped=skipped,
        total=tests.get("total"),
        duration_ms=duration,
        broken=suites_failed if not failed else 0,
        says_ok=suites_failed == 0,
        sound=tests.get("total") == passed + failed + skipped + tests.get("todo", 0)
        and not (failed and not suites_failed),
        whole=_CATEGORIES.issuperset(tests),
    )


RECOGNISER = Recogniser(
    runner="jest",
    form=CommandForm(
        programs=frozenset({"jest", "jest.js"}),
        never=frozenset(
            "--listTests --showConfig --version -v --help -h --init --clearCache --watch --watchAll".split()
        ),
    ),
    marks=_MARKS,
    starts=frozenset({"Te"}),
    read=read,
)
