"""ruff check: ``All checks passed!``, ``Found 3 errors.``, ``Found 3 errors (2 fixed, 1 remaining).``.

What was fixed is no error any more. Source: ``crates/ruff/src/printer.rs`` (``write_summary_text``) of astral-sh/ruff.
"""

from adapters.objective.recogniser import CommandForm, Kind, LazyPattern, Recogniser, Summary
from adapters.objective.text import Text

_FOUND = LazyPattern(
    r"Found (?P<errors>[0-9]{1,9}) errors?(?: \([0-9]{1,9} fixed, (?P<remaining>[0-9]{1,9}) remaining\))?\."
)
_PASSED = "All checks passed!"
_MARKS = ("Found ", _PASSED)


def read(text: Text) -> tuple[Summary, ...]:
    """Return each closing line's statement."""
    summaries = []
    for at, line in text.marked(*_MARKS):
        if found := _FOUND.fullmatch(line):
            errors = int(found["remaining"] or found["errors"])
            summaries.append(Summary(at, errors=errors, says_ok=errors == 0))
        elif line == _PASSED:
            summaries.append(Summary(at, errors=0, says_ok=True))
    return tuple(summaries)


RECOGNISER = Recogniser(
    runner="ruff",
    form=CommandForm(
        programs=frozenset({"ruff"}),
        modules=frozenset({"ruff"}),
        subcommands=frozenset({"check"}),
        value_options=frozenset({"--config"}),
        never=frozenset(
            "--version -V --help -h --exit-zero -e --show-files --show-settings --watch -w --statistics"
            " --exit-non-zero-on-fix --add-noqa --diff".split()
        ),
    ),
    marks=_MARKS,
    read=read,
    kind=Kind.CHECK,
    only_direct=True,
)
