"""What captured runs say of an agent's claims: supported, contradicted, or unknown. Pure.

The newest run that a claim can be about decides. That is the newest one of its session: whether a source was edited
after it is not known, so a run's age is told with it. What was not seen supports nothing and contradicts nothing, and
neither does a run whose end is unclear. A count that no run has seen is contradicted by the newest run that passed.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from sidecars.event import Event, Outcome
from timeline.reasoning.extraction import Unit, UnitKind

RUN_AGE_SECONDS_MAX: Final = 24 * 3600
"""A run that is older says nothing of how things stand."""

Doubt = Literal["nothing-seen", "not-read-to-the-end", "too-old", "unclear", "not-measured", "not-comparable"]
"""Why a claim is unknown."""


class Standing(StrEnum):
    """What is to be thought of a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNKNOWN = "unknown"


class Seen(msgspec.Struct, frozen=True):
    """What there is to compare with: the session's objective results, newest first, at ``now_ms`` (UTC).

    ``is_current``: everything that its host has written so far was read. ``is_completed``: the session's task is
    completed, which only a measurement can have done (W35).
    """

    events: tuple[Event, ...]
    now_ms: int
    is_current: bool = True
    is_completed: bool = False


class Compared(msgspec.Struct, frozen=True):
    """One claim, its standing, and the run that decided, or why none did."""

    unit: Unit
    standing: Standing
    run: Event | None = None
    doubt: Doubt | None = None


def check_claims(units: Iterable[Unit], seen: Seen) -> tuple[Compared, ...]:
    """Compare each claim with what was seen, in the order of the claims."""
    return tuple(_check(unit, seen) for unit in units)


def _check(unit: Unit, seen: Seen) -> Compared:
    if unit.kind is UnitKind.COUNT:
        return _unknown(unit, "not-measured")
    if unit.kind is UnitKind.COMPLETED:
        return Compared(unit, Standing.SUPPORTED) if seen.is_completed else _unknown(unit, "nothing-seen")
    if not seen.is_current:
        return _unknown(unit, "not-read-to-the-end")
    runs = [event for event in seen.events if _is_about(unit, event)]
    if not runs:
        return _unknown(unit, "nothing-seen")
    if unit.kind in {UnitKind.CHECK_PASSED, UnitKind.BUILD_PASSED}:
        return _checked_programs(unit, runs, seen.now_ms)
    return _checked_tests(unit, runs, seen.now_ms)


def _unknown(unit: Unit, doubt: Doubt, run: Event | None = None) -> Compared:
    return Compared(unit, Standing.UNKNOWN, run, doubt)


def _doubt_of(run: Event, now_ms: int) -> Doubt | None:
    """Why a run decides nothing, ``None`` where it does."""
    if run.at is None or now_ms - run.at > RUN_AGE_SECONDS_MAX * 1000:
        return "too-old"
    if run.flags or run.outcome not in _ENDED:
        return "unclear"
    return None


_ENDED: Final = frozenset({Outcome.PASS, Outcome.FAIL, Outcome.ERROR})


# -- which runs a claim is about -------------------------------------------------------------------------------

_TEST_RUNNERS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "cargo": frozenset({"cargo", "nextest"}),
        "gradle": frozenset({"gradle", "surefire"}),
        "junit": frozenset({"gradle", "surefire"}),
        "maven": frozenset({"surefire"}),
        "mvn": frozenset({"surefire"}),
        "node": frozenset({"node", "tap"}),
    }
)
"""Runners as events name them, for programs that claims name otherwise; any other name stands for itself."""

_LAUNCHERS: Final = frozenset({"npm", "yarn", "pnpm", "make", "tox", "nox", "deno"})
"""Programs that only start a runner: a claim about one may be about any run."""

_LINTERS: Final = frozenset({"ruff", "eslint"})
_TYPE_CHECKERS: Final = frozenset({"mypy", "tsc"})
_BUILDERS: Final = frozenset({"cargo-build", "go-build"})
_CHECKERS: Final[Mapping[str | None, frozenset[str]]] = MappingProxyType(
    {None: _LINTERS | _TYPE_CHECKERS, "lint": _LINTERS, "types": _TYPE_CHECKERS}
)
_BUILDS: Final[Mapping[str | None, frozenset[str]]] = MappingProxyType(
    {None: _BUILDERS, "cargo": frozenset({"cargo-build"}), "go": frozenset({"go-build"})}
)


def _is_about(unit: Unit, event: Event) -> bool:
    runner, scope = event.runner or "", unit.scope
    match unit.kind:
        case UnitKind.CHECK_PASSED:
            return event.kind == "check" and runner in _CHECKERS.get(scope, {scope})
        case UnitKind.BUILD_PASSED:
            return event.kind == "check" and runner in _BUILDS.get(scope, frozenset())
        case _:
            if event.kind not in {"test-run", "measurement"}:
                return False
            return scope is None or scope in _LAUNCHERS or runner in _TEST_RUNNERS.get(scope, {scope})


# -- tests -----------------------------------------------------------------------------------------------------


def _checked_tests(unit: Unit, runs: Sequence[Event], now_ms: int) -> Compared:
    """The newest run decides; where it passed with other counts, an older one may have had these."""
    newest = runs[0]
    doubt = _doubt_of(newest, now_ms)
    if doubt is not None:
        return _unknown(unit, doubt, newest)
    if unit.kind is UnitKind.TESTS_FAILED:
        agrees = newest.outcome is not Outcome.PASS and _agrees(unit, newest)
        return Compared(unit, Standing.SUPPORTED if agrees else Standing.CONTRADICTED, newest)
    for run in runs:
        doubt = _doubt_of(run, now_ms)
        if doubt is not None:  # it may have had the number that is looked for
            return _unknown(unit, doubt, run)
        if run.outcome is not Outcome.PASS:
            if run is newest or unit.extent == "partial":
                return _checked_part(unit, run)
            break
        if _agrees(unit, run):
            return Compared(unit, Standing.SUPPORTED, run)
    return Compared(unit, Standing.CONTRADICTED, newest)


def _checked_part(unit: Unit, run: Event) -> Compared:
    """A claim that tests passed, of a run that failed: true of a part of it at most."""
    if unit.extent != "partial":
        return Compared(unit, Standing.CONTRADICTED, run)
    if unit.passed is None or run.passed is None:
        return _unknown(unit, "not-comparable", run)
    return Compared(unit, Standing.SUPPORTED if _agrees(unit, run) else Standing.CONTRADICTED, run)


def _agrees(unit: Unit, run: Event) -> bool:
    """Whether each number that both the claim and the run say is the same one."""
    pairs = ((unit.passed, run.passed), (unit.failed, run.failed), (unit.skipped, run.skipped))
    totals = {run.total, _ran(run)} - {None}
    return all(said is None or found is None or said == found for said, found in pairs) and (
        unit.total is None or not totals or unit.total in totals
    )


def _ran(run: Event) -> int | None:
    """How many tests ran, without those that were skipped."""
    return None if run.passed is None else run.passed + (run.failed or 0) + (run.errors or 0)


# -- checks and builds -----------------------------------------------------------------------------------------


def _checked_programs(unit: Unit, runs: Sequence[Event], now_ms: int) -> Compared:
    """The newest run of each program: one that failed contradicts, else one that is unclear leaves it unknown."""
    newest: dict[str | None, Event] = {}
    for run in runs:
        newest.setdefault(run.runner, run)
    found = [_checked_program(unit, run, now_ms) for run in newest.values()]
    return min(found, key=lambda one: _WORST.index(one.standing))


_WORST: Final = (Standing.CONTRADICTED, Standing.UNKNOWN, Standing.SUPPORTED)


def _checked_program(unit: Unit, run: Event, now_ms: int) -> Compared:
    doubt = _doubt_of(run, now_ms)
    if doubt is not None:
        return _unknown(unit, doubt, run)
    passed = run.outcome is Outcome.PASS
    return Compared(unit, Standing.SUPPORTED if passed else Standing.CONTRADICTED, run)
