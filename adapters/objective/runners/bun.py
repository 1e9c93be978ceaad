"""bun test: `` 3 pass``, `` 2 fail`` and others, then ``Ran 5 tests across 1 file. [11.88s]``.

bun leaves out skipped, todo and errors where there are none; pass and fail it always prints. A todo is neither
passed nor failed. Source: ``src/cli/test_command.zig`` of oven-sh/bun.
"""

import re
from itertools import islice

from adapters.objective.recogniser import CommandForm, LazyPattern, Recogniser, Summary, milliseconds
from adapters.objective.text import Text

_RAN = LazyPattern(
    r"Ran (?P<total>[0-9]{1,9}) tests? across (?P<files>[0-9]{1,9}) files?\."
    r"(?: [0-9]{1,9} total)? {1,3}\[(?P<time>[0-9]{1,9}(?:\.[0-9]{1,6})?)(?P<unit>ms|s)\]"
)
_COUNT = LazyPattern(r" (?P<number>[0-9]{1,9}) (?P<name>[a-z() ]{1,30}?)(?:, .{0,200})?")
_MARKS = (" across ",)
_BLOCK = 10
"""Lines that can stand between the first count and ``Ran``; also blank ones, since both streams are merged."""
_TESTS = ("pass", "fail", "skip", "todo")


def read(text: Text) -> tuple[Summary, ...]:
    """Return each block's statement; a ``Ran`` line without ``pass`` and ``fail`` above is none."""
    found = (
        _summary(text, at, ran)
        for at, line in text.marked(*_MARKS)
        if (ran := _RAN.fullmatch(line)) is not None
    )
    return tuple(summary for summary in found if summary is not None)


def _summary(text: Text, at: int, ran: re.Match[str]) -> Summary | None:
    counts: dict[str, int] = {}
    for _, line in islice(text.above(at), _BLOCK):
        found = _COUNT.fullmatch(line)
        if found is None:
            break
        counts.setdefault(found["name"], int(found["number"]))
    if "pass" not in counts or "fail" not in counts:
        return None
    total = int(ran["total"])
    errors = counts.get("error", 0) + counts.get("errors", 0)
    stated = sum(counts.get(name, 0) for name in _TESTS)
    return Summary(
        last_line=at,
        passed=counts["pass"],
        failed=counts["fail"],
        errors=errors,
        skipped=counts.get("skip", 0),
        total=total,
        duration_ms=milliseconds(ran["time"]) if ran["unit"] == "s" else int(ran["time"].partition(".")[0]),
        sound=stated == total,
    )


RECOGNISER = Recogniser(
    runner="bun",
    form=CommandForm(
        programs=frozenset({"bun"}),
        subcommands=frozenset({"test"}),
        value_options=frozenset("--cwd --preload -r --config -c --env-file".split()),
        never=frozenset("--watch --hot --help -h --version -v".split()),
    ),
    marks=_MARKS,
    starts=frozenset({"Ra"}),
    read=read,
)
