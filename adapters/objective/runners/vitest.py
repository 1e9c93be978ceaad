"""vitest: the block `` Test Files  1 passed (1)``, ``      Tests  3 passed (3)``, then start and duration.

A todo is neither passed nor failed; an expected failure is passed, as vitest counts it. A file that fails without
a failed test did not load, and an unhandled error (``Errors  1 error``) fails a run of passing tests. vitest
leaves out the categories that are zero, so an absent one is zero.
Source: ``packages/vitest/src/node/reporters/base.ts`` (``reportTestSummary``).
"""

import re
from itertools import islice

from adapters.objective.recogniser import CommandForm, LazyPattern, Recogniser, Summary, milliseconds
from adapters.objective.text import Text

_COUNT = r"[0-9]{1,9} [a-z]{1,20}(?: [a-z]{1,20})?"
_COUNTS = rf"(?P<counts>no tests|{_COUNT}(?: \| {_COUNT}){{0,7}}(?: \((?P<total>[0-9]{{1,9}})\))?)"
_FILES = LazyPattern(rf" {{0,12}}Test Files  {_COUNTS}")
_TESTS = LazyPattern(rf" {{0,12}}Tests  {_COUNTS}")
_ERRORS = LazyPattern(r" {0,12}Errors  (?P<errors>[0-9]{1,9}) errors?")
_DURATION = LazyPattern(
    r" {0,12}Duration  (?P<seconds>[0-9]{1,9}(?:\.[0-9]{1,6})?)(?P<unit>ms|s|m)\b.{0,400}"
)
_CATEGORIES = frozenset({"failed", "passed", "skipped", "todo", "expected fail"})
_MARKS = ("Tests  ",)
_BLOCK = 6
"""``Type Errors``, ``Errors`` and ``Start at`` may stand between ``Tests`` and ``Duration``."""


def read(text: Text) -> tuple[Summary, ...]:
    """Return each block's statement; a ``Tests`` line without ``Test Files`` above is none."""
    summaries = []
    for at, line in text.marked(*_MARKS):
        tests = _TESTS.fullmatch(line)
        files = _FILES.fullmatch(next(text.above(at), (0, ""))[1]) if tests is not None else None
        if tests is not None and files is not None:
            summaries.append(_summary(text, at, files, tests))
    return tuple(summaries)


def _counts(found: re.Match[str]) -> dict[str, int]:
    if found["counts"] == "no tests":
        return {}
    text = found["counts"].partition(" (")[0]
    return {word: int(number) for number, _, word in (part.partition(" ") for part in text.split(" | "))}


def _summary(text: Text, at: int, files: re.Match[str], tests: re.Match[str]) -> Summary:
    last, duration, errors = at, None, 0
    for place, line in islice(text.below(at), _BLOCK):
        if stated := _ERRORS.fullmatch(line):
            errors = int(stated["errors"])
            last = place
        elif found := _DURATION.fullmatch(line):
            duration = _duration_ms(found)
            last = place
            break
    counts, total = _counts(tests), int(tests["total"] or 0)
    passed = counts.get("passed", 0) + counts.get("expected fail", 0)
    failed, skipped = counts.get("failed", 0), counts.get("skipped", 0)
    files_failed = _counts(files).get("failed", 0)
    return Summary(
        last_line=last,
        passed=passed,
        failed=failed,
        errors=errors,
        skipped=skipped,
        total=total,
        duration_ms=duration,
        broken=files_failed if not failed else 0,
        says_ok=files_failed == 0,
        sound=total == sum(counts.values()) and not (failed and not files_failed),
        whole=_CATEGORIES.issuperset(counts),
    )


def _duration_ms(found: re.Match[str]) -> int | None:
    match found["unit"]:
        case "s":
            return milliseconds(found["seconds"])
        case "ms":
            return int(found["seconds"].partition(".")[0])
        case _:
            return None


RECOGNISER = Recogniser(
    runner="vitest",
    form=CommandForm(
        programs=frozenset({"vitest", "vitest.mjs"}),
        never=frozenset("--version -v --help -h --clearCache --watch -w --ui".split()),
        never_first=frozenset({"list", "bench", "init", "watch", "dev"}),
    ),
    marks=_MARKS,
    starts=frozenset({"Te"}),
    read=read,
)
