"""One short text for the user: which claims of the agent's message captured runs support, and which they do not. Pure.

It names claims by kind, scope and counts, and runs by the program and the numbers that it printed: no word of the
message or of a transcript is in it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from sidecars.event import Event
from timeline.reasoning.claim_check import Compared, Doubt, Standing
from timeline.reasoning.extraction import Unit, UnitKind

CLAIMS_TOLD_MAX: Final = 8
"""Claims that are told one by one; the rest is counted."""

_HEAD: Final = (
    "Timeline compared this message with the captured runs of this session (wording is read by a heuristic):"
)

_KINDS: Final = {
    UnitKind.TESTS_PASSED: "tests passed",
    UnitKind.TESTS_FAILED: "tests failed",
    UnitKind.COUNT: "a count",
    UnitKind.BUILD_PASSED: "the build passed",
    UnitKind.CHECK_PASSED: "a check passed",
    UnitKind.COMPLETED: "the work is completed",
}
_DOUBTS: Final[dict[Doubt, str]] = {
    "nothing-seen": "no captured evidence",
    "not-read-to-the-end": "what the host has written last has not been read",
    "too-old": "the newest run is too old, or its time is unknown",
    "unclear": "how the newest run ended is unclear",
    "not-measured": "nothing that is captured measures this",
    "not-comparable": "the newest run failed, and how much of it passed is not comparable",
}
_MINUTE, _HOUR = 60, 3600


def tell_claims(checked: Sequence[Compared], now_ms: int) -> str:
    """The text, at ``now_ms`` (UTC); empty where nothing was claimed. The worst first, and equal claims once."""
    if not checked:
        return ""
    ordered = sorted(checked, key=lambda one: _ORDER.index(one.standing))
    told = tuple(dict.fromkeys(f"- {_line(one, now_ms)}" for one in ordered))
    lines, left = told[:CLAIMS_TOLD_MAX], len(told) - CLAIMS_TOLD_MAX
    more = [f"- {left} more"] if left > 0 else []
    return "\n".join([_HEAD, *lines, *more])


_ORDER: Final = (Standing.CONTRADICTED, Standing.UNKNOWN, Standing.SUPPORTED)


def _line(one: Compared, now_ms: int) -> str:
    return f"{one.standing.value}: {_claim(one.unit)} ({_ground(one, now_ms)})"


def _claim(unit: Unit) -> str:
    said = ", ".join(_said(unit))
    return f"{_KINDS[unit.kind]} [{said}]" if said else _KINDS[unit.kind]


def _said(unit: Unit) -> Iterator[str]:
    if unit.scope is not None:
        yield unit.scope
    if unit.extent is not None:
        yield unit.extent
    if unit.part is not None:
        yield f"{unit.part} of {unit.total}"
    for count, word in ((unit.passed, "passed"), (unit.failed, "failed"), (unit.skipped, "skipped")):
        if count is not None:
            yield f"{count} {word}"
    if unit.total is not None and unit.part is None:
        yield f"{unit.total} in all"


def _ground(one: Compared, now_ms: int) -> str:
    run = "" if one.run is None else _run(one.run, now_ms)
    if one.doubt is not None:
        return "; ".join(part for part in (_DOUBTS[one.doubt], run) if part)
    return run or "the task is completed by its measurement"


def _run(run: Event, now_ms: int) -> str:
    counts = (
        (run.passed, "passed"),
        (run.failed, "failed"),
        (run.errors, "errors"),
        (run.skipped, "skipped"),
    )
    told = [f"{count} {word}" for count, word in counts if count]
    outcome = "" if run.outcome is None else run.outcome.value
    parts = [f"{run.label or run.runner}: {outcome}", *told, *_age(run.at, now_ms)]
    return ", ".join(parts)


def _age(at_ms: int | None, now_ms: int) -> list[str]:
    if at_ms is None:
        return []
    seconds = max(0, now_ms - at_ms) // 1000
    if seconds < _MINUTE:
        return [f"{seconds} s ago"]
    if seconds < _HOUR:
        return [f"{seconds // _MINUTE} min ago"]
    return [f"{seconds // _HOUR} h ago"]
