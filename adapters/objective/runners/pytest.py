"""pytest: ``=== 1 failed, 11 passed in 0.61s ===``, or the same without the rule under ``-q``.

pytest leaves out the categories that are zero, so an absent category *is* zero here. ``total`` is the sum of the
printed outcomes passed, failed, errors, skipped, xfailed and xpassed; an expected failure is neither passed nor
failed. A failed subtest is a failure; other subtests, reruns, warnings and deselected tests are not counted.
Source: ``_pytest/terminal.py`` (``build_summary_stats_line``), exit codes of ``pytest.ExitCode``.
"""

import re

from adapters.objective.recogniser import CommandForm, LazyPattern, Outcome, Recogniser, Summary, milliseconds
from adapters.objective.text import Text

_COUNT = r"[0-9]{1,9} [a-z][a-z ]{0,30}"
_LINE = LazyPattern(
    rf"(?:={{1,200}} )?(?P<counts>no tests ran|{_COUNT}(?:, {_COUNT}){{0,15}})"
    r" in (?P<seconds>[0-9]{1,9}(?:\.[0-9]{1,6})?)(?:s| seconds)(?: \([0-9:, a-z]{1,30}\))?(?: ={1,200})?"
)
_MARKS = (" in ",)
_OUTCOMES = frozenset({"failed", "passed", "skipped", "xfailed", "xpassed", "error", "errors"})
_SUBTESTS = frozenset({"subtests passed", "subtests failed", "subtests skipped"})
_REMARKS = frozenset({"deselected", "warning", "warnings", "rerun", "reruns"})


def read(text: Text) -> tuple[Summary, ...]:
    """Return each summary line's statement."""
    found = [_summary(at, _LINE.fullmatch(line)) for at, line in text.marked(*_MARKS)]
    return tuple(summary for summary in found if summary is not None)


def _summary(at: int, found: re.Match[str] | None) -> Summary | None:
    if found is None:
        return None
    counts: dict[str, int] = {}
    repeated = False
    if found["counts"] != "no tests ran":
        for part in found["counts"].split(", "):
            number, _, category = part.partition(" ")
            repeated = repeated or category in counts
            counts[category] = int(number)
    known = _OUTCOMES | _SUBTESTS | _REMARKS
    if counts and not known.intersection(counts):
        return None
    failed = counts.get("failed", 0) + counts.get("subtests failed", 0)
    errors = counts.get("error", 0) + counts.get("errors", 0)
    passed, skipped = counts.get("passed", 0), counts.get("skipped", 0)
    return Summary(
        last_line=at,
        passed=passed,
        failed=failed,
        errors=errors,
        skipped=skipped,
        total=passed + failed + errors + skipped + counts.get("xfailed", 0) + counts.get("xpassed", 0),
        duration_ms=milliseconds(found["seconds"]),
        sound=not repeated,
        # A category that was never reviewed may be an outcome: what the numbers mean is then not known.
        whole=known.issuperset(counts),
    )


RECOGNISER = Recogniser(
    runner="pytest",
    form=CommandForm(
        programs=frozenset({"pytest", "py.test"}),
        modules=frozenset({"pytest", "py.test"}),
        never=frozenset(
            "--version -V --help -h --collect-only --collectonly --co --fixtures --funcargs --fixtures-per-test"
            " --markers --setup-plan --setup-only --cache-show -f --looponfail".split()
        ),
        options_variable="PYTEST_ADDOPTS",
    ),
    marks=_MARKS,
    starts=frozenset({"==", "no", "0"}),
    read=read,
    exit_codes={3: Outcome.ERROR, 4: Outcome.ERROR, 5: Outcome.SKIPPED},
    interrupted=frozenset({2}),
)
