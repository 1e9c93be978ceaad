"""eslint: ``✖ 3 problems (2 errors, 1 warning)``; nothing when all is well.

Too many warnings fail a run as well (``ESLint found too many warnings (maximum: 0).``). Exit code 2 is a crash.
Source: ``lib/cli-engine/formatters/stylish.js`` and ``lib/cli.js`` of eslint/eslint.
"""

from itertools import islice

from adapters.objective.recogniser import CommandForm, Kind, LazyPattern, Outcome, Recogniser, Summary
from adapters.objective.text import Text

_PROBLEMS = LazyPattern(
    r"\u2716 (?P<problems>[0-9]{1,9}) problems? \((?P<errors>[0-9]{1,9}) errors?, (?P<warnings>[0-9]{1,9}) warnings?\)"
)
_TOO_MANY = LazyPattern(r"ESLint found too many warnings \(maximum: [0-9]{1,9}\)\.")
_MARKS = ("\u2716 ",)
_BELOW = 5
"""``fixable`` and blank lines may stand between the counts and the complaint about warnings."""


def read(text: Text) -> tuple[Summary, ...]:
    """Return each closing line's statement."""
    summaries = []
    for at, line in text.marked(*_MARKS):
        if found := _PROBLEMS.fullmatch(line):
            errors, warnings = int(found["errors"]), int(found["warnings"])
            too_many = any(_TOO_MANY.fullmatch(near) for _, near in islice(text.below(at), _BELOW))
            summaries.append(
                Summary(
                    at,
                    errors=errors,
                    warnings=warnings,
                    says_ok=errors == 0 and not too_many,
                    sound=int(found["problems"]) == errors + warnings,
                )
            )
    return tuple(summaries)


RECOGNISER = Recogniser(
    runner="eslint",
    form=CommandForm(
        programs=frozenset({"eslint", "eslint.js"}),
        never=frozenset("--version -v --help -h --print-config --init --env-info --inspect-config".split()),
    ),
    marks=_MARKS,
    starts=frozenset({"\u2716 "}),
    read=read,
    kind=Kind.CHECK,
    silent=True,
    exit_codes={2: Outcome.ERROR},
)
