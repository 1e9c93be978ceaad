"""From one tool result to at most one objective result.

Pure: a ``ToolResult`` goes in, an ``Objective`` (typed fields, no text but the normalised command, which the
caller turns into a keyed fingerprint) or ``None`` comes out. No result of inherited history, of an unbound command
or of a script without a recognised summary is objective (T72, T73, X3).
"""

import re
from collections.abc import Sequence

import msgspec

from adapters.objective.invocation import Binding, Invocation, invocation_of
from adapters.objective.outcome import Ending, decide
from adapters.objective.recogniser import Flag, Kind, Outcome, Recogniser, Summary, summary_lines
from adapters.objective.runners import BY_RUNNER, RECOGNISERS
from adapters.record import CallStatus, OutputText, ToolResult

_CUT = re.compile(
    r"…[0-9]{1,12} (?:chars|characters|tokens|lines|bytes) truncated"
    r"|\[\.\.\. omitted [0-9]{1,12} of [0-9]{1,12} lines \.\.\.\]"
)
"""Notices with which Codex marks the place where it shortened an output."""


class Objective(msgspec.Struct, frozen=True):
    """What a run proved. A number that the runner does not print is ``None``.

    ``runner`` is an id of ``adapters.objective.runners``; ``label`` is ``suite-N`` or ``None``; ``exit_code`` is
    the call's; ``flags`` are sorted. ``command`` is the run's own words joined by single spaces, assignments and
    earlier commands dropped: raw text for a keyed fingerprint, in memory only.
    """

    kind: Kind
    runner: str
    binding: Binding
    outcome: Outcome
    label: str | None
    passed: int | None
    failed: int | None
    errors: int | None
    skipped: int | None
    total: int | None
    packages_ok: int | None
    packages_failed: int | None
    exit_code: int | None
    duration_ms: int | None
    flags: tuple[Flag, ...]
    command: str


class _Reading(msgspec.Struct, frozen=True):
    """Whose summary was found, if any, and what was uncertain about it."""

    recogniser: Recogniser
    summary: Summary | None
    flags: frozenset[Flag]


def decide_objective(result: ToolResult) -> Objective | None:
    """Return the objective result that ``result`` is, or ``None``.

    A run without a summary is a result only where the command starts the runner itself, nothing before it could
    have ended the call, and its end is known.
    """
    if result.inherited or result.command is None:
        return None
    invocation = invocation_of(result.command)
    if invocation is None:
        return None
    reading = _read(invocation, result.output)
    if reading is None or (reading.summary is None and not _ended_alone(invocation, result)):
        return None
    ending = Ending(result.exit_code, result.error_flag, result.status, result.conflict)
    decision = decide(reading.recogniser, ending, reading.summary, reading.flags)
    summary = reading.summary or Summary(last_line=0)
    return Objective(
        kind=reading.recogniser.kind,
        runner=reading.recogniser.runner,
        binding=invocation.binding,
        outcome=decision.outcome,
        label=summary.label,
        passed=summary.passed,
        failed=summary.failed,
        errors=summary.errors,
        skipped=summary.skipped,
        total=summary.total,
        packages_ok=summary.packages_ok,
        packages_failed=summary.packages_failed,
        exit_code=result.exit_code,
        duration_ms=summary.duration_ms,
        flags=tuple(sorted(decision.flags)),
        command=invocation.normalised,
    )


def _ended_alone(invocation: Invocation, result: ToolResult) -> bool:
    """Say whether the end of the call is known and is the runner's own."""
    if result.status in {CallStatus.CANCELLED, CallStatus.TIMEOUT, CallStatus.DENIED}:
        return True
    return result.exit_code is not None and result.status is not CallStatus.RUNNING and not invocation.chained


def _read(invocation: Invocation, output: OutputText) -> _Reading | None:
    """Return the last summary of the output, or, for a direct run, that there is none."""
    lines, earlier = _windows(output)
    if invocation.runner is not None:
        recogniser = BY_RUNNER[invocation.runner]
        return _read_direct(recogniser, output, lines, earlier)
    return _read_script(output, lines, earlier)


def _windows(output: OutputText) -> tuple[list[str], list[str]]:
    """Return the lines at the end, and those at the beginning where they are not the same.

    A window cuts lines: the first line of a tail and the last line of a head may be parts of others.
    """
    lines = summary_lines(output.tail)
    if output.whole:
        return lines, []
    return lines[1:], summary_lines(output.head)[:-1]


def _read_direct(
    recogniser: Recogniser, output: OutputText, lines: Sequence[str], earlier: Sequence[str]
) -> _Reading:
    summaries = recogniser.read(lines)
    flags = _shortened(output, lines, summaries)
    if not summaries:
        return _Reading(recogniser, None, flags)
    if recogniser.sums:
        incomplete = not output.whole or output.truncated
        return _Reading(recogniser, summaries[-1], flags | ({Flag.PARTIAL} if incomplete else frozenset()))
    # One run prints one summary: where two differ, one of them is not this run's.
    if len({summary.counts() for summary in (*recogniser.read(earlier), *summaries)}) > 1:
        flags |= {Flag.INCONSISTENT}
    return _Reading(recogniser, summaries[-1], flags)


def _read_script(output: OutputText, lines: Sequence[str], earlier: Sequence[str]) -> _Reading | None:
    """Return the last summary of any test runner; a script may run several, and then the numbers are partial."""
    found = [
        (recogniser, summaries)
        for recogniser in RECOGNISERS
        if recogniser.kind is Kind.TEST_RUN and (summaries := recogniser.read(lines))
    ]
    if not found:
        return None
    recogniser, summaries = max(found, key=lambda entry: entry[1][-1].last_line)
    flags = _shortened(output, lines, summaries)
    several = len(found) > 1 or len(summaries) > 1 or bool(recogniser.read(earlier))
    if several or output.truncated or not output.whole:
        flags |= {Flag.PARTIAL}
    return _Reading(recogniser, summaries[-1], flags)


def _shortened(output: OutputText, lines: Sequence[str], summaries: Sequence[Summary]) -> frozenset[Flag]:
    """Return what the host's own cut means: the last summary is whole only if it is known to stand after it."""
    if not output.truncated:
        return frozenset()
    cut = max((index for index, line in enumerate(lines) if _CUT.search(line)), default=None)
    before_window = not output.whole and _CUT.search(output.head) is not None
    last = summaries[-1].last_line if summaries else -1
    after_cut = last > cut if cut is not None else before_window
    return frozenset({Flag.TRUNCATED}) if after_cut else frozenset({Flag.TRUNCATED, Flag.PARTIAL})
