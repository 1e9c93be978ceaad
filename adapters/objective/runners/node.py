"""node:test: the closing lines ``# tests 6`` … ``# todo 0`` of the TAP reporter, or of the spec reporter.

The spec reporter has U+2139 for the hash.
A cancelled test failed without a verdict of its own and is an error; a todo is neither passed nor failed.
Source: ``lib/internal/test_runner/harness.js`` and ``reporter/{tap,spec}.js`` of nodejs/node.
"""

from itertools import islice

from adapters.objective.recogniser import CommandForm, LazyPattern, Recogniser, Summary
from adapters.objective.text import Text

_LINE = LazyPattern(r"(?P<sign>[#\u2139]) (?P<name>[a-z_]{1,20}) (?P<number>[0-9]{1,12})(?:\.[0-9]{1,20})?")
_NAMES = ("tests", "suites", "pass", "fail", "cancelled", "skipped", "todo", "duration_ms")
_MARKS = ("# tests ", "\u2139 tests ")


def read(text: Text) -> tuple[Summary, ...]:
    """Return each block's statement; a line that is missing or in another place makes it none."""
    found = (_summary(text, at, line) for at, line in text.marked(*_MARKS))
    return tuple(summary for summary in found if summary is not None)


def _summary(text: Text, at: int, line: str) -> Summary | None:
    counts: dict[str, int] = {}
    last = at
    expected = list(_NAMES)
    for place, near in ((at, line), *islice(text.below(at), len(_NAMES))):
        found = _LINE.fullmatch(near)
        if found is None or found["name"] not in expected:
            break
        # "suites" came with Node 18.8.
        del expected[: expected.index(found["name"]) + 1]
        counts[found["name"]] = int(found["number"])
        last = place
    if not set(_NAMES[2:7]).issubset(counts) or "tests" not in counts:
        return None
    parts = sum(counts[name] for name in _NAMES[2:7])
    return Summary(
        last_line=last,
        passed=counts["pass"],
        failed=counts["fail"],
        errors=counts["cancelled"],
        skipped=counts["skipped"],
        total=counts["tests"],
        duration_ms=counts.get("duration_ms"),
        sound=parts == counts["tests"],
    )


RECOGNISER = Recogniser(
    runner="node",
    form=CommandForm(
        programs=frozenset({"node", "nodejs", "tsx"}),
        required=frozenset({"--test"}),
        value_options=frozenset("--import --require -r --loader --test-reporter --test-name-pattern"
                                " --test-concurrency --test-timeout --env-file --test-reporter-destination".split()),
        never=frozenset("--watch --version -v --help -h --check -c --eval -e --print -p".split()),
    ),
    marks=_MARKS,
    starts=frozenset({"# ", "\u2139 "}),
    read=read,
)  # fmt: skip
