"""TAP, as tape, bats, node-tap and ``prove`` print it: ``1..3`` and one ``ok`` or ``not ok`` line per test.

A directive ``# SKIP`` makes a test skipped, ``# TODO`` neither passed nor failed. Subtests (indented) are counted with
their parent. A missing number, several plans or ``Bail out!`` leave the sum partial. ``prove`` prints its own closing
lines: ``Files=1, Tests=3, …`` and ``Result: PASS``; it names no number of passed tests.
Source: the TAP specification, versions 13 and 14; ``App::Prove``, ``TAP::Formatter::Base``.
"""

import re

from adapters.objective.recogniser import CommandForm, LazyPattern, Recogniser, Summary
from adapters.objective.text import Text

_PLAN = LazyPattern(r"1\.\.(?P<total>[0-9]{1,9})(?: {0,4}#.{0,400})?")
_POINT = LazyPattern(
    r"(?P<word>ok|not ok)(?: (?P<number>[0-9]{1,9}))?(?: .{0,800}?)?"
    r"(?P<directive> # {0,4}(?:[Ss][Kk][Ii][Pp]|[Tt][Oo][Dd][Oo]).{0,400})?"
)
_TRAILER = LazyPattern(r"# (?P<name>tests|pass|fail) {1,4}(?P<number>[0-9]{1,9})")
_PROVE = LazyPattern(r"Files=[0-9]{1,9}, Tests=(?P<total>[0-9]{1,9}), .{1,200}")
_RESULT = LazyPattern(r"Result: (?P<word>PASS|FAIL|NOTESTS)")
_MARKS = ("1..", "Files=", "ok ")


def read(text: Text) -> tuple[Summary, ...]:
    """Return the sum over all test lines, or what ``prove`` says; nothing without a plan."""
    proved = [
        summary
        for at, line in text.marked("Files=")
        if (found := _PROVE.fullmatch(line)) and (summary := _proved(text, at, found)) is not None
    ]
    if proved:
        return tuple(proved[-1:]) if len(proved) == 1 else ()
    plans = [(at, found) for at, line in text.marked("1..") if (found := _PLAN.fullmatch(line))]
    # node:test prints TAP with a trailer of its own and has its own recogniser.
    if not plans or text.marked("# cancelled "):
        return ()
    points = [(at, found) for at, line in text.marked("ok") if (found := _POINT.fullmatch(line))]
    return (_summary(text, plans, points),)


def _summary(
    text: Text, plans: list[tuple[int, re.Match[str]]], points: list[tuple[int, re.Match[str]]]
) -> Summary:
    skipped = sum(_is(found, "skip") for _, found in points)
    todo = sum(_is(found, "todo") for _, found in points)
    plain = [found["word"] for _, found in points if found["directive"] is None]
    passed, failed = plain.count("ok"), plain.count("not ok")
    closing = [found for _, line in text.marked("# ") if (found := _TRAILER.fullmatch(line))]
    trailer = {found["name"]: int(found["number"]) for found in closing}
    total = passed + failed + skipped + todo
    numbers = [found["number"] for _, found in points if found["number"] is not None]
    return Summary(
        last_line=max(at for at, _ in (*plans, *points)),
        passed=passed,
        failed=failed,
        skipped=skipped,
        total=total,
        sound=trailer.get("fail", failed) == failed and trailer.get("tests", total) == total,
        whole=len(plans) == 1
        and int(plans[0][1]["total"]) == total
        and len(set(numbers)) == len(numbers)
        and not text.marked("Bail out!"),
    )


def _is(found: re.Match[str], word: str) -> bool:
    return found["directive"] is not None and word in found["directive"].lower()


def _proved(text: Text, at: int, found: re.Match[str]) -> Summary | None:
    place, line = next(text.below(at), (0, ""))
    result = _RESULT.fullmatch(line)
    if result is None:
        return None
    failed = result["word"] == "FAIL"
    return Summary(
        last_line=place, failed=None if failed else 0, total=int(found["total"]), says_ok=not failed
    )


RECOGNISER = Recogniser(
    runner="tap",
    form=CommandForm(
        programs=frozenset({"tape", "tap", "bats", "prove"}),
        never=frozenset("--version --help -h --count --dry -D --watch -w".split()),
        never_first=frozenset(
            {"report", "list", "versions", "config", "plugin", "build", "repl", "dump-config"}
        ),
    ),
    marks=_MARKS,
    starts=frozenset({"0", "Fi"}),
    read=read,
    sums=True,
)
