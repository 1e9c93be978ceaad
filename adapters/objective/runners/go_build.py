"""go build and go vet: one line per finding, ``./a.go:3:5: …`` (``vet: …`` in front of a file that does not build).

Nothing is printed when all is well. ``too many errors`` ends a list early.
Source: ``cmd/compile/internal/base/print.go`` and ``exec.go`` of ``cmd/go`` of golang/go.
"""

from adapters.objective.recogniser import CommandForm, Kind, LazyPattern, Recogniser, Summary
from adapters.objective.text import Text

_FINDING = LazyPattern(r"(?:vet: )?[^\s:]{1,300}\.go:[0-9]{1,9}:(?:[0-9]{1,9}:)? .{1,800}")
_TOO_MANY = "too many errors"
_MARKS = (".go:", _TOO_MANY)


def read(text: Text) -> tuple[Summary, ...]:
    """Return the number of findings, or nothing where none is printed."""
    errors, last, whole = 0, 0, True
    for at, line in text.marked(*_MARKS):
        if line == _TOO_MANY or line.endswith(": " + _TOO_MANY):
            whole = False
        elif _FINDING.fullmatch(line):
            errors += 1
            last = at
    return (Summary(last_line=last, errors=errors, says_ok=False, whole=whole),) if errors else ()


RECOGNISER = Recogniser(
    runner="go-build",
    form=CommandForm(
        programs=frozenset({"go"}),
        subcommands=frozenset({"build", "vet"}),
        value_options=frozenset({"-C"}),
        never=frozenset("-n --n -json --json -h -help --help -x --x".split()),
    ),
    marks=_MARKS,
    read=read,
    kind=Kind.CHECK,
    sums=True,
    only_direct=True,
    silent=True,
)
