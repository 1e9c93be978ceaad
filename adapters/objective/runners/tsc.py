"""tsc: one line per error, ``src/a.ts(1,5): error TS2322: …``; pretty output adds ``Found 3 errors in 2 files.``.

tsc prints nothing when all is well, and has no warnings.
Source: ``formatDiagnostic`` in ``src/compiler/program.ts`` and ``getErrorSummaryText`` in
``src/compiler/watch.ts`` of microsoft/TypeScript.
"""

from adapters.objective.recogniser import CommandForm, Kind, LazyPattern, Recogniser, Summary
from adapters.objective.text import Text

_ERROR = LazyPattern(
    r"(?:[^\s(:][^(:]{0,400}(?:\([0-9]{1,9},[0-9]{1,9}\): |:[0-9]{1,9}:[0-9]{1,9} - ))?error TS[0-9]{1,6}: .{1,800}"
)
_FOUND = LazyPattern(r"Found (?P<errors>[0-9]{1,9}) errors?(?: in .{1,400}|, .{1,400})?\.?")
_MARKS = ("error TS", "Found ")


def read(text: Text) -> tuple[Summary, ...]:
    """Return the number of errors, or nothing where none is printed."""
    errors, last = 0, 0
    stated = []
    for at, line in text.marked(*_MARKS):
        if _ERROR.fullmatch(line):
            errors += 1
            last = at
        elif found := _FOUND.fullmatch(line):
            stated.append(int(found["errors"]))
            last = at
    if not errors:
        return ()
    total = sum(stated) if stated else errors
    return (Summary(last_line=last, errors=total, says_ok=False, whole=total == errors),)


RECOGNISER = Recogniser(
    runner="tsc",
    form=CommandForm(
        programs=frozenset({"tsc", "vue-tsc"}),
        never=frozenset(
            "--watch -w --version -v --help -h --all --init --showConfig --listFilesOnly --clean".split()
        ),
    ),
    marks=_MARKS,
    read=read,
    kind=Kind.CHECK,
    sums=True,
    silent=True,
)
