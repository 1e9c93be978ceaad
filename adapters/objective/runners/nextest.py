"""cargo nextest: ``Summary [ 0.005s] 3 tests run: 2 passed (1 flaky), 1 failed, 0 skipped``, one per run.

A test that timed out or could not be executed is a failure; a flaky one passed in the end. A run that stops at the
first failure prints ``2/3 tests run``. Exit codes: 100 is a failed run, 4 that no test ran (``nextest-metadata``).
Source: ``nextest-runner/src/reporter/displayer/imp.rs`` of nextest-rs/nextest (``write_summary_str``).
"""

import re

from adapters.objective.recogniser import CommandForm, LazyPattern, Outcome, Recogniser, Summary, milliseconds
from adapters.objective.text import Text

_NOTE = r"(?: \([0-9a-z, ]{1,80}\))?"
_LINE = LazyPattern(
    r" {0,12}Summary \[ {0,10}(?P<seconds>[0-9]{1,9}\.[0-9]{1,6})s\] (?:(?P<ran>[0-9]{1,9})/)?(?P<tests>[0-9]{1,9})"
    rf" tests? run: (?P<passed>[0-9]{{1,9}}) passed{_NOTE}(?:, (?P<failed>[0-9]{{1,9}}) failed{_NOTE})?"
    r"(?:, (?P<unstarted>[0-9]{1,9}) exec failed)?(?:, (?P<late>[0-9]{1,9}) timed out)?"
    r", (?P<skipped>[0-9]{1,9}) skipped"
)
_MARKS = ("Summary [",)


def read(text: Text) -> tuple[Summary, ...]:
    """Return each summary line's statement."""
    return tuple(_summary(at, found) for at, line in text.marked(*_MARKS) if (found := _LINE.fullmatch(line)))


def _summary(at: int, found: re.Match[str]) -> Summary:
    passed, skipped = int(found["passed"]), int(found["skipped"])
    failed = sum(int(found[name] or 0) for name in ("failed", "unstarted", "late"))
    ran = int(found["ran"] or found["tests"])
    return Summary(
        last_line=at,
        passed=passed,
        failed=failed,
        skipped=skipped,
        total=passed + failed + skipped,
        duration_ms=milliseconds(found["seconds"]),
        sound=ran == passed + failed,
        whole=ran == int(found["tests"]),
    )


RECOGNISER = Recogniser(
    runner="nextest",
    form=CommandForm(
        programs=frozenset({"cargo", "cargo-nextest"}),
        subcommands=frozenset({"nextest"}),
        then=frozenset({"run", "r"}),
        value_options=frozenset({"--config", "-C", "-Z", "--color", "--manifest-path"}),
        never=frozenset({"--no-run", "--help", "-h", "--version", "-V"}),
    ),
    marks=_MARKS,
    starts=frozenset({"Su"}),
    read=read,
    exit_codes={4: Outcome.SKIPPED},
)
