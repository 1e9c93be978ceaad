"""The outcome lattice: what exit code, host status and stated counts prove together.

Success needs everything to agree; a failure needs a failing end and a failing summary. What disagrees or is missing
is ``UNKNOWN`` with a flag, never the more pleasant reading (T73).
"""

import msgspec

from adapters.objective.recogniser import Flag, Kind, Outcome, Recogniser, Summary
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
_TIME_LIMIT = 124
"""The code of ``timeout`` for a command that it ended (GNU coreutils)."""
_MOST = 255
"""The largest exit code: a runner whose code is a number of failures stops counting there."""


class Ending(msgspec.Struct, frozen=True):
    """What the host and the operating system say about the end of the call."""

    exit_code: int | None
    error_flag: bool | None
    status: CallStatus
    conflict: bool

    @property
    def succeeded(self) -> bool | None:
        """Whether the whole command line ended with 0; ``None`` where nobody says so.

        Without a number, a host's flag and status prove it together: each alone is less than a statement.
        """
        if self.status is CallStatus.RUNNING:
            return None
        if self.exit_code is not None:
            return self.exit_code == 0
        if self.error_flag is False and self.status is CallStatus.COMPLETED:
            return True
        if self.error_flag is True and self.status is CallStatus.FAILED:
            return False
        return None

    @property
    def contradicts_itself(self) -> bool:
        """Whether two statements about the end of the call exclude each other."""
        if self.conflict:
            return True
        if self.exit_code is None:
            excluded = {False: CallStatus.FAILED, True: CallStatus.COMPLETED}
            return self.error_flag is not None and self.status is excluded[self.error_flag]
        succeeded = self.exit_code == 0
        flag_differs = self.error_flag is not None and self.error_flag == succeeded
        return flag_differs or (succeeded and self.status in _NOT_A_SUCCESS)


class Relation(msgspec.Struct, frozen=True):
    """What the end of the command line says about the run: see ``adapters.objective.claims.Claim``.

    A ``script`` passes success and failure on, and not always the number: ``make`` ends with 2 whatever failed.
    """

    must: bool = True
    own: bool = True
    limited: bool = False
    script: bool = False

    def own_code(self, code: int | None) -> int | None:
        """Return the exit code where it is the runner's own number, or the signal that ended it."""
        if code is None or not self.own:
            return None
        return code if not self.script or code in _SIGNALS or code < 0 else None


OWN = Relation()
"""The run is the whole command line."""


class Decision(msgspec.Struct, frozen=True):
    """An outcome, and every reason found on the way to doubt it."""

    outcome: Outcome
    flags: frozenset[Flag]


def decide(
    recogniser: Recogniser,
    ending: Ending,
    summary: Summary | None,
    flags: frozenset[Flag] = frozenset(),
    relation: Relation = OWN,
) -> Decision:
    """Return the outcome of one run of ``recogniser``'s runner.

    ``flags`` are what reading the output already found. ``MASKED``, ``CONFLICT`` and ``INCONSISTENT`` leave
    nothing proved. ``PARTIAL`` leaves a failure proved, since a missing part cannot undo it, and nothing else.
    """
    flags |= _doubts(recogniser, ending, summary, relation)
    if Flag.CONFLICT in flags:
        return Decision(Outcome.UNKNOWN, flags)
    if ending.status in _ENDED_BY_HOST:
        return Decision(_ENDED_BY_HOST[ending.status], flags)
    succeeded = ending.succeeded
    if succeeded is None or Flag.MASKED in flags:
        return Decision(Outcome.UNKNOWN, flags)
    code = relation.own_code(ending.exit_code)
    if relation.limited and code == _TIME_LIMIT:
        return Decision(Outcome.TIMEOUT, flags)
    if summary is None:
        if succeeded:
            # Success was reported, and what succeeded was not: the closing lines are missing.
            return Decision(Outcome.UNKNOWN, flags | {Flag.PARTIAL})
        return Decision(_without_summary(recogniser, code), flags)
    outcome = _with_summary(recogniser, succeeded, code, summary)
    if outcome is Outcome.UNKNOWN:
        flags |= {Flag.INCONSISTENT}
    if Flag.INCONSISTENT in flags or (Flag.PARTIAL in flags and outcome is not Outcome.FAIL):
        outcome = Outcome.UNKNOWN
    return Decision(outcome, flags)


def _doubts(
    recogniser: Recogniser, ending: Ending, summary: Summary | None, relation: Relation
) -> frozenset[Flag]:
    """Return the doubts that end, summary and command line raise among themselves."""
    found: set[Flag] = set()
    if ending.contradicts_itself:
        found.add(Flag.CONFLICT)
    if summary is None:
        return frozenset(found)
    if not summary.sound:
        found.add(Flag.INCONSISTENT)
    if not summary.whole:
        found.add(Flag.PARTIAL)
    if not _is_told(recogniser, relation, ending.succeeded, summary):
        found.add(Flag.MASKED)
    return frozenset(found)


def _is_told(recogniser: Recogniser, relation: Relation, succeeded: bool | None, summary: Summary) -> bool:
    """Say whether the end of the line tells how the run ended.

    A line that fails although the run's own summary is clean failed elsewhere; one that fails with a failing summary
    of a run without which it could not succeed is told by that summary.
    """
    if relation.own:
        return True
    return relation.must and (succeeded is not False or _failing(recogniser, summary) is not None)


def _without_summary(recogniser: Recogniser, code: int | None) -> Outcome:
    """Return the outcome of a failing run that printed no summary.

    It is an error, never a failed test: the launcher may have failed, or the runner may be absent.
    """
    if code in _INTERRUPTS:
        return Outcome.CANCELLED
    return Outcome.ERROR if code is None else recogniser.exit_codes.get(code, Outcome.ERROR)


def _with_summary(recogniser: Recogniser, succeeded: bool, code: int | None, summary: Summary) -> Outcome:
    """Return what end and counts say together, ``UNKNOWN`` where they disagree. ``code`` is the run's, if known."""
    failing = _failing(recogniser, summary)
    if succeeded:
        return Outcome.UNKNOWN if failing is not None else _clean(recogniser, summary)
    if code is not None and not (recogniser.counts_failures and code in {summary.failed, _MOST}):
        if code in _INTERRUPTS:
            return Outcome.CANCELLED
        if code in recogniser.interrupted:
            return Outcome.ERROR if failing is Outcome.ERROR else Outcome.CANCELLED
        if code in _SIGNALS or code < 0:
            return Outcome.ERROR
        meaning = recogniser.exit_codes.get(code)
        if meaning is Outcome.SKIPPED:
            nothing_ran = failing is None and _clean(recogniser, summary) is Outcome.SKIPPED
            return Outcome.SKIPPED if nothing_ran else Outcome.UNKNOWN
        if meaning is not None:
            return meaning
    return failing if failing is not None else Outcome.UNKNOWN


def _failing(recogniser: Recogniser, summary: Summary) -> Outcome | None:
    """Return ``FAIL`` for failed tests, ``ERROR`` for what failed only outside them, ``None`` for neither.

    What a check reports are errors: they are its verdict, and no failure to run.
    """
    failed_packages = (summary.packages_failed or 0) - summary.broken
    if summary.failed or failed_packages > 0:
        return Outcome.FAIL
    if summary.errors or summary.broken:
        return Outcome.FAIL if recogniser.kind is Kind.CHECK else Outcome.ERROR
    return Outcome.FAIL if summary.says_ok is False else None


def _clean(recogniser: Recogniser, summary: Summary) -> Outcome:
    """Return ``PASS`` if something was tested or checked, else ``SKIPPED``.

    A runner that prints no number of passed tests proves it by tests beyond the skipped ones, or by a package
    that is ok.
    """
    if recogniser.kind is Kind.CHECK:
        return Outcome.PASS
    if summary.passed is not None:
        tested = summary.passed > 0
    elif summary.total is not None:
        tested = summary.total > (summary.skipped or 0)
    else:
        tested = bool(summary.packages_ok)
    return Outcome.PASS if tested else Outcome.SKIPPED
