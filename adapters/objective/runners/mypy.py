"""mypy: ``Found 3 errors in 2 files (checked 5 source files)`` or ``Success: no issues found in 5 source files``.

Source: ``mypy/util.py`` (``FancyFormatter.format_success``, ``format_error``).
"""

from adapters.objective.recogniser import CommandForm, Kind, LazyPattern, Recogniser, Summary
from adapters.objective.text import Text

_FOUND = LazyPattern(
    r"Found (?P<errors>[0-9]{1,9}) errors? in [0-9]{1,9} files?"
    r" \((?:checked [0-9]{1,9} source files?|errors prevented further checking)\)"
)
_SUCCESS = LazyPattern(r"Success: no issues found in [0-9]{1,9} source files?")
_MARKS = ("Found ", "Success: ")


def read(text: Text) -> tuple[Summary, ...]:
    """Return each closing line's statement."""
    summaries = []
    for at, line in text.marked(*_MARKS):
        if found := _FOUND.fullmatch(line):
            summaries.append(Summary(at, errors=int(found["errors"]), says_ok=False))
        elif _SUCCESS.fullmatch(line):
            summaries.append(Summary(at, errors=0, says_ok=True))
    return tuple(summaries)


RECOGNISER = Recogniser(
    runner="mypy",
    form=CommandForm(
        programs=frozenset({"mypy", "dmypy"}),
        modules=frozenset({"mypy"}),
        never=frozenset("--version -V --help -h --no-error-summary".split()),
        never_first=frozenset({"start", "stop", "restart", "status", "kill"}),
    ),
    marks=_MARKS,
    starts=frozenset({"Fo", "Su"}),
    read=read,
    kind=Kind.CHECK,
)
