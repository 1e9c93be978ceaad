"""The outcome lattice: what exit code, host status and stated counts prove together.

Success needs everything to agree; a failure needs a failing exit code and a failing summary. What disagrees or is
missing is ``UNKNOWN`` with a flag, never the more pleasant reading (T73).
"""

import msgspec

from adapters.objective.recogniser import Flag, Outcome, Recogniser, Summary
from adapters.record import CallStatus

_ENDED_BY_HOST = {
    CallStatus.CANCELLED: Outcome.CANCELLED,
    CallStatus.TIMEOUT: Outcome.TIMEOUT,
    CallStatus.DENIED: Outcome.BLOCKED,
}
_NOT_A_SUCCESS = frozenset({CallStatus.FAILED, CallStatus.RUNNING, *_ENDED_BY_HOST})
_SIGNALS = range(129, 160)
"""``128 + n``: a shell's code for death by signal n (POSIX XCU 2.8.2)."""
_INTERRUPTS = frozenset({130, -2})
"""SIGINT, as a shell and as a process API report it."""


class Ending(msgspec.Struct, frozen=True):
    """What the host and the operating system say about the end of the call."""

    exit_code: int | None
    error_flag: bool | None
    status: CallStatus
    conflict: bool


class Decision(msgspec.Struct, frozen=True):
    """An outcome, and every reason found on the way to doubt it."""

    outcome: Outcome
    flags: frozenset[Flag]


def decide(
    recogniser: Recogniser,
    ending: Ending,
    summary: Summary | None,
    flags: frozenset[Flag] = frozenset(),
) -> Decision:
    """Return the outcome of one run of ``recogniser``'s runner whose exit code is the call's.

    ``flags`` are what reading the output already found. ``MASKED``, ``CONFLICT`` and ``INCONSISTENT`` leave
    nothing proved. ``PARTIAL`` leaves a failure proved, since a missing part cannot undo it, and nothing else.
    """
    if _contradicts(ending):
        flags |= {Flag.CONFLICT}
    if summary is not None and not summary.sound:
        flags |= {Flag.INCONSISTENT}
    if summary is not None and not summary.whole:
        flags |= {Flag.PARTIAL}
    if Flag.CONFLICT in flags:
        return Decision(Outcome.UNKNOWN, flags)
    if ending.status in _ENDED_BY_HOST:
        return Decision(_ENDED_BY_HOST[ending.status], flags)
    if ending.exit_code is None or ending.status is CallStatus.RUNNING:
        return Decision(Outcome.UNKNOWN, flags)
    if summary is None:
        outcome = _without_summary(recogniser, ending.exit_code)
        # Success was reported, and what succeeded was not: the closing lines are missing.
        return Decision(outcome, flags | {Flag.PARTIAL} if outcome is Outcome.UNKNOWN else flags)
    outcome = _with_summary(recogniser, ending.exit_code, summary)
    if outcome is Outcome.UNKNOWN:
        flags |= {Flag.INCONSISTENT}
    if flags & {Flag.MASKED, Flag.INCONSISTENT} or (Flag.PARTIAL in flags and outcome is not Outcome.FAIL):
        outcome = Outcome.UNKNOWN
    return Decision(outcome, flags)


def _contradicts(ending: Ending) -> bool:
    """Say whether two statements about the end of the call exclude each other."""
    if ending.conflict:
        return True
    if ending.exit_code is None:
        return False
    succeeded = ending.exit_code == 0
    flag_differs = ending.error_flag is not None and ending.error_flag == succeeded
    return flag_differs or (succeeded and ending.status in _NOT_A_SUCCESS)


def _without_summary(recogniser: Recogniser, exit_code: int) -> Outcome:
    """Return the outcome of a run that printed no summary.

    A failing code is an error, never a failed test: the launcher may have failed, or the runner may be absent.
    """
    if exit_code == 0:
        return Outcome.UNKNOWN
    if exit_code in _INTERRUPTS:
        return Outcome.CANCELLED
    return recogniser.exit_codes.get(exit_code, Outcome.ERROR)


def _with_summary(recogniser: Recogniser, exit_code: int, summary: Summary) -> Outcome:
    """Return what code and counts say together, ``UNKNOWN`` where they disagree."""
    failing = _failing(summary)
    if exit_code == 0:
        return Outcome.UNKNOWN if failing is not None else _clean(summary)
    if exit_code in _INTERRUPTS:
        return Outcome.CANCELLED
    if exit_code in recogniser.interrupted:
        return Outcome.ERROR if failing is Outcome.ERROR else Outcome.CANCELLED
    if exit_code in _SIGNALS or exit_code < 0:
        return Outcome.ERROR
    meaning = recogniser.exit_codes.get(exit_code)
    if meaning is Outcome.SKIPPED:
        nothing_ran = failing is None and _clean(summary) is Outcome.SKIPPED
        return Outcome.SKIPPED if nothing_ran else Outcome.UNKNOWN
    if meaning is not None:
        return meaning
    return failing if failing is not None else Outcome.UNKNOWN


def _failing(summary: Summary) -> Outcome | None:
    """Return ``FAIL`` for failed tests, ``ERROR`` for what failed only outside them, ``None`` for neither."""
    failed_packages = (summary.packages_failed or 0) - summary.broken
    if summary.failed or failed_packages > 0:
        return Outcome.FAIL
    if summary.errors or summary.broken:
        return Outcome.ERROR
    return Outcome.FAIL if summary.says_ok is False else None


def _clean(summary: Summary) -> Outcome:
    """Return ``PASS`` if something was tested, else ``SKIPPED``.

    A runner that prints no number of passed tests proves it by tests beyond the skipped ones, or by a package
    that is ok.
    """
    if summary.passed is not None:
        tested = summary.passed > 0
    elif summary.total is not None:
        tested = summary.total > (summary.skipped or 0)
    else:
        tested = bool(summary.packages_ok)
    return Outcome.PASS if tested else Outcome.SKIPPED
