"""rspec: ``5 examples, 1 failure, 1 pending``, after ``Finished in 0.01 seconds``.

A pending example is skipped. An error outside of examples (a file that does not load) is an error.
Source: ``lib/rspec/core/notifications.rb`` (``SummaryNotification#totals_line``) of rspec/rspec.
"""

import re
from itertools import islice

from adapters.objective.recogniser import CommandForm, LazyPattern, Recogniser, Summary, milliseconds
from adapters.objective.text import Text

_LINE = LazyPattern(
    r"(?P<total>[0-9]{1,9}) examples?, (?P<failed>[0-9]{1,9}) failures?(?:, (?P<pending>[0-9]{1,9}) pending)?"
    r"(?:, (?P<errors>[0-9]{1,9}) errors? occurred outside of examples)?"
)
_TIME = LazyPattern(r"Finished in (?P<seconds>[0-9]{1,9}(?:\.[0-9]{1,9})?) seconds? \(.{1,120}\)")
_MARKS = (" example",)


def read(text: Text) -> tuple[Summary, ...]:
    """Return each line's statement."""
    return tuple(
        _summary(text, at, found) for at, line in text.marked(*_MARKS) if (found := _LINE.fullmatch(line))
    )


def _summary(text: Text, at: int, found: re.Match[str]) -> Summary:
    total, failed, pending = int(found["total"]), int(found["failed"]), int(found["pending"] or 0)
    time = _TIME.fullmatch(next(islice(text.above(at), 1), (0, ""))[1])
    passed = total - failed - pending
    return Summary(
        last_line=at,
        passed=max(passed, 0),
        failed=failed,
        errors=int(found["errors"] or 0),
        skipped=pending,
        total=total,
        duration_ms=milliseconds(time["seconds"]) if time is not None else None,
        sound=passed >= 0,
    )


RECOGNISER = Recogniser(
    runner="rspec",
    form=CommandForm(
        programs=frozenset({"rspec"}),
        never=frozenset("--version -v --help -h --dry-run --init --bisect".split()),
    ),
    marks=_MARKS,
    starts=frozenset({"0"}),
    read=read,
)
