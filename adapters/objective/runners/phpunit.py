"""PHPUnit: ``OK (5 tests, 9 assertions)``, or a verdict and ``Tests: 5, Assertions: 4, Failures: 1, Skipped: 1.``.

PHPUnit leaves out what is zero. Incomplete tests are counted as skipped; deprecations, notices and risky tests are
remarks about tests that are in the other numbers. So are warnings from 10 on; up to 9 each is the result of a test that
did not pass. Which it is can be told only under a verdict of one of both. Exit codes: 1 failures, 2 errors.
Source: ``src/TextUI/ResultPrinter.php`` (9), ``src/TextUI/Output/SummaryPrinter.php`` (10 and later).
"""

import re

from adapters.objective.recogniser import CommandForm, LazyPattern, Recogniser, Summary
from adapters.objective.text import Text

_OK = LazyPattern(r"OK \((?P<total>[0-9]{1,9}) tests?, [0-9]{1,9} assertions?\)")
_COUNTS = LazyPattern(
    r"Tests: (?P<total>[0-9]{1,9}), Assertions: [0-9]{1,9}(?P<rest>(?:, [A-Za-z ]{1,30}: [0-9]{1,9}){0,9})\."
)
_REMARKED = "OK, but there were issues!"
"""The verdict of 10 and later, where no test failed."""
_VERDICTS = {
    "FAILURES!": False,
    "ERRORS!": False,
    "WARNINGS!": None,
    "OK, but incomplete, skipped, or risky tests!": True,
    "OK, but some tests were skipped!": True,
    _REMARKED: True,
}
_NONE = "No tests executed!"
_REMARKS = frozenset("Warnings Deprecations Notices Risky".split()) | {
    "PHPUnit Warnings", "PHPUnit Deprecations", "PHPUnit Notices",
}  # fmt: skip
_MARKS = ("OK (", "Tests: ", _NONE)


def read(text: Text) -> tuple[Summary, ...]:
    """Return each statement; a line of counts without a verdict above is none."""
    summaries = []
    for at, line in text.marked(*_MARKS):
        if found := _OK.fullmatch(line):
            total = int(found["total"])
            summaries.append(
                Summary(at, passed=total, failed=0, errors=0, skipped=0, total=total, says_ok=True)
            )
        elif line == _NONE:
            summaries.append(Summary(at, passed=0, failed=0, errors=0, skipped=0, total=0))
        elif found := _COUNTS.fullmatch(line):
            verdict = next(text.above(at), (0, ""))[1]
            if verdict in _VERDICTS:
                summaries.append(_summary(at, found, verdict))
    return tuple(summaries)


def _summary(at: int, found: re.Match[str], verdict: str) -> Summary:
    says_ok = _VERDICTS[verdict]
    parts = [part.rpartition(": ") for part in found["rest"].split(", ") if part]
    counts = {name: int(number) for name, _, number in parts}
    total = int(found["total"])
    failed, errors = counts.pop("Failures", 0), counts.pop("Errors", 0)
    skipped = counts.pop("Skipped", 0) + counts.pop("Incomplete", 0)
    passed = total - failed - errors - skipped
    told = "Warnings" not in counts or verdict == _REMARKED
    return Summary(
        last_line=at,
        passed=max(passed, 0) if told else None,
        failed=failed,
        errors=errors,
        skipped=skipped,
        total=total,
        says_ok=says_ok,
        sound=passed >= 0 and (says_ok is None or says_ok == (failed + errors == 0)),
        whole=_REMARKS.issuperset(counts),
    )


RECOGNISER = Recogniser(
    runner="phpunit",
    form=CommandForm(
        programs=frozenset({"phpunit", "simple-phpunit", "phpunit.phar"}),
        never=frozenset("--version --help -h --list-tests --list-suites --list-groups --list-tests-xml --check-version"
                        " --generate-configuration --migrate-configuration --warm-coverage-cache".split()),
    ),
    marks=_MARKS,
    starts=frozenset({"OK", "Te", "No"}),
    read=read,
)  # fmt: skip
