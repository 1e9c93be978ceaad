"""From one tool result to at most one objective result.

Pure: a ``ToolResult`` goes in, an ``Objective`` (typed fields, no text but the normalised command, which the
caller turns into a keyed fingerprint) or ``None`` comes out. No result of inherited history, of an unbound command
or of a script without a recognised summary is objective (T72, T73, X3).
"""

import re
from collections.abc import Sequence

import msgspec

from adapters.objective.invocation import Binding, Invocation, Run, invocation_of
from adapters.objective.outcome import Decision, Ending, Relation, decide
from adapters.objective.recogniser import Flag, Kind, Outcome, Recogniser, Summary
from adapters.objective.text import Text
from adapters.record import CallStatus, OutputText, ToolResult

_CUT = re.compile(
    r"…[0-9]{1,12} (?:chars|characters|tokens|lines|bytes) truncated"
    r"|\[\.\.\. omitted [0-9]{1,12} of [0-9]{1,12} lines \.\.\.\]"
)
"""Notices with which Codex marks the place where it shortened an output."""

_NOTHING_WRONG = Summary(last_line=-1, errors=0, says_ok=True)
"""What a runner that prints nothing when all is well states by its success."""


class Objective(msgspec.Struct, frozen=True):
    """What a run proved. A number that the runner does not print is ``None``.

    ``runner`` is an id of ``adapters.objective.runners``; ``label`` is ``suite-N`` or ``None``; ``warnings`` are those
    of a check; ``exit_code`` is the call's; ``flags`` are sorted. ``command`` is the run's own words joined by single
    spaces, assignments and earlier commands dropped: raw text for a keyed fingerprint, in memory only.
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
    warnings: int | None
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


class _Windows(msgspec.Struct, frozen=True):
    """The text at the end of an output, and the one at its beginning where they are not the same.

    A window cuts lines: the first line of a tail and the last line of a head may be parts of others.
    """

    tail: Text
    head: Text
    output: OutputText


def decide_objective(result: ToolResult) -> Objective | None:
    """Return the objective result that ``result`` is, or ``None``.

    Of several runs in one command line, the tests' is told, else the last check's whose summary is seen. A run without
    a summary is a result only where it is the only one, the command starts the runner itself, nothing else could have
    ended the call, and its end is known.
    """
    if result.inherited or result.command is None:
        return None
    invocation = invocation_of(result.command)
    if invocation is None:
        return None
    ending = Ending(result.exit_code, result.error_flag, result.status, result.conflict)
    windows = _windows(result.output)
    tests = [run for run in invocation.runs if run.tests]
    if tests and (reading := _read(tests, windows)) is not None:
        return _told(tests[-1], reading, ending)
    for run in reversed(invocation.runs):
        alike = [one for one in invocation.runs if one.checks and one.runner == run.runner]
        if run.checks and (reading := _read(alike, windows)) is not None:
            return _told(run, reading, ending)
    return _without_summary(invocation, windows, ending)


def _windows(output: OutputText) -> _Windows:
    if output.whole:
        return _Windows(Text(output.tail), Text(""), output)
    _, _, tail = output.tail.partition("\n")
    head, _, _ = output.head.rpartition("\n")
    return _Windows(Text(tail), Text(head), output)


def _told(run: Run, reading: _Reading, ending: Ending) -> Objective:
    relation = Relation(run.must, run.own, run.limited, run.runner is None)
    decision = decide(reading.recogniser, ending, reading.summary, reading.flags, relation)
    return _objective(run, reading, decision, ending)


def _objective(run: Run, reading: _Reading, decision: Decision, ending: Ending) -> Objective:
    summary = reading.summary or Summary(last_line=0)
    return Objective(
        kind=reading.recogniser.kind,
        runner=reading.recogniser.runner,
        binding=run.binding,
        outcome=decision.outcome,
        label=summary.label,
        passed=summary.passed,
        failed=summary.failed,
        errors=summary.errors,
        skipped=summary.skipped,
        warnings=summary.warnings,
        total=summary.total,
        packages_ok=summary.packages_ok,
        packages_failed=summary.packages_failed,
        exit_code=ending.exit_code,
        duration_ms=summary.duration_ms,
        flags=tuple(sorted(decision.flags)),
        command=run.normalised,
    )


def _without_summary(invocation: Invocation, windows: _Windows, ending: Ending) -> Objective | None:
    """Return what the end of the call alone proves about its only run, if anything."""
    run = invocation.runs[-1]
    if run.runner is None:
        return None
    (recogniser,) = run.recognisers()
    only_checks = not any(one.tests for one in invocation.runs)
    if recogniser.silent and only_checks and run.must and ending.succeeded and not ending.contradicts_itself:
        return _told(run, _Reading(recogniser, _NOTHING_WRONG, frozenset()), ending)
    if len(invocation.runs) > 1 or not _ended_alone(run, ending):
        return None
    return _told(run, _Reading(recogniser, None, _shortened(windows, ())), ending)


def _ended_alone(run: Run, ending: Ending) -> bool:
    """Say whether the end of the call is known and is the runner's own, and its summary could have been seen."""
    if ending.status in {CallStatus.CANCELLED, CallStatus.TIMEOUT, CallStatus.DENIED}:
        return True
    seen = not (run.hidden or run.filtered or run.chained)
    return ending.succeeded is not None and run.own and seen


def _read(runs: Sequence[Run], windows: _Windows) -> _Reading | None:
    """Return the last summary of what these runs printed, or that there is none."""
    last = runs[-1]
    if len(runs) == 1 and last.runner is not None:
        return _read_direct(last, windows)
    recognisers = {one.runner: one for run in runs for one in run.recognisers()}
    reading = _read_any(tuple(recognisers.values()), windows)
    if reading is None or len(runs) == 1:
        return reading
    # Whose summary the last one is cannot be told, nor whose exit code.
    return _Reading(reading.recogniser, reading.summary, reading.flags | {Flag.MASKED, Flag.PARTIAL})


def _read_direct(run: Run, windows: _Windows) -> _Reading | None:
    (recogniser,) = run.recognisers()
    summaries = recogniser.read(windows.tail)
    if not summaries:
        return None
    flags = _shortened(windows, summaries)
    if recogniser.sums:
        incomplete = not windows.output.whole or windows.output.truncated or run.filtered
        return _Reading(recogniser, summaries[-1], flags | ({Flag.PARTIAL} if incomplete else frozenset()))
    # One run prints one summary: where two differ, one of them is not this run's.
    if len({summary.counts() for summary in (*recogniser.read(windows.head), *summaries)}) > 1:
        flags |= {Flag.INCONSISTENT}
    return _Reading(recogniser, summaries[-1], flags)


def _read_any(recognisers: Sequence[Recogniser], windows: _Windows) -> _Reading | None:
    """Return the last summary of any of them; a script may run several, and then the numbers are partial."""
    starts = windows.tail.starts()
    likely = [one for one in recognisers if not one.starts or not one.starts.isdisjoint(starts)]
    stated = [(one, summaries) for one in likely if (summaries := one.read(windows.tail))]
    found = [entry for entry in stated if entry[0].kind is not Kind.CHECK] or stated
    if not found:
        return None
    recogniser, summaries = max(found, key=lambda entry: entry[1][-1].last_line)
    flags = _shortened(windows, summaries)
    several = len(found) > 1 or len(summaries) > 1 or bool(recogniser.read(windows.head))
    if several or windows.output.truncated or not windows.output.whole:
        flags |= {Flag.PARTIAL}
    return _Reading(recogniser, summaries[-1], flags)


def _shortened(windows: _Windows, summaries: Sequence[Summary]) -> frozenset[Flag]:
    """Return what the host's own cut means: the last summary is whole only if it is known to stand after it."""
    output = windows.output
    if not output.truncated:
        return frozenset()
    cut = windows.tail.last(_CUT)
    before_window = not output.whole and _CUT.search(output.head) is not None
    last = summaries[-1].last_line if summaries else -1
    after_cut = last > cut if cut is not None else before_window
    return frozenset({Flag.TRUNCATED}) if after_cut else frozenset({Flag.TRUNCATED, Flag.PARTIAL})
