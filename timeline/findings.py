"""What one pass over a file found: the report of ``timeline inspect``, built piece by piece. Pure.

Names and meanings are those of a ground truth that counts a file as it stands, copied history included; what of it
is copied is told apart in ``inherited``. There is no transcript text: counts, places, closed words, names that
the adapter has cleaned, and a call's id only where it is shaped like one.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from adapters.base import ID_CHARS, Adapter, Outcomes, Reader, Tallies, Understanding, Verdict
from adapters.errors import AdapterError
from adapters.objective import Objective, decide_objective
from adapters.record import Defect, Record, ToolResult
from timeline.errors import FormatNotUnderstoodError

DEFECTS_SHOWN_MAX: Final = 256
"""Defects named by their place; the counts are of all of them. A foreign file has one on every line."""

RUNS_SHOWN_MAX: Final = 4096
"""Results of runners that are listed: as many as an index keeps of one source (T34)."""

REFUSED: Final = "refused"

_CLEAN_ID = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:-]{{0,{ID_CHARS - 1}}}", re.ASCII)


class DefectFound(msgspec.Struct, frozen=True):
    """A line that was not understood; offset and length in bytes."""

    offset: int
    length: int
    kind: str


class RunFound(msgspec.Struct, frozen=True):
    """A run of a recognised runner, at the byte offset of the line that holds its output.

    A number that the runner does not print is ``None``. ``call_id`` is the host's, ``None`` where it is not shaped
    like an id. ``outcome`` is what is proved, and ``flags`` why it may be less than the numbers suggest.
    """

    offset: int
    call_id: str | None
    runner: str
    invocation: str
    passed: int | None
    failed: int | None
    errors: int | None
    skipped: int | None
    total: int | None
    packages_ok: int | None
    packages_failed: int | None
    exit_code: int | None
    outcome: str
    flags: tuple[str, ...]
    inherited: bool


_NO_OUTCOMES: Final = dict.fromkeys(Outcomes.__struct_fields__, 0)


class Inherited(msgspec.Struct, frozen=True):
    """History that was copied from another session: part of ``tool_results``, and no evidence for this one."""

    prompts: int = 0
    outcomes: dict[str, int] = msgspec.field(default_factory=_NO_OUTCOMES.copy)


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a pass over one file found.

    ``verdict`` is ``understood``, ``partly-understood`` or ``refused``; ``reason`` is the first of ``reasons``,
    ``detail`` says it in words and ``hint`` what to do. ``tool_results`` counts own and copied results,
    ``outcomes`` the own ones only. ``pending_bytes`` are those of an unfinished last line. Of ``defects`` and
    ``runner_results``, the first are listed, and ``*_left_out`` says how many are not.
    """

    host: str
    format: str
    verdict: str
    reason: str | None = None
    detail: str = ""
    hint: str = ""
    reasons: tuple[str, ...] = ()
    app_version: str | None = None
    bytes: int = 0
    pending_bytes: int = 0
    records: dict[str, int] = {}
    complete_records: int = 0
    prompts: int = 0
    inherited: Inherited = msgspec.field(default_factory=Inherited)
    tool_calls: dict[str, int] = {}
    tool_results: dict[str, int] = msgspec.field(default_factory=_NO_OUTCOMES.copy)
    outcomes: dict[str, int] = msgspec.field(default_factory=_NO_OUTCOMES.copy)
    command_executions: dict[str, int] = msgspec.field(default_factory=_NO_OUTCOMES.copy)
    failure_codes: dict[str, int] = {}
    calls_without_result: int = 0
    results_without_call: int = 0
    evidence_events: dict[str, int] = {}
    runner_results: tuple[RunFound, ...] = ()
    runner_results_left_out: int = 0
    defects: tuple[DefectFound, ...] = ()
    defects_left_out: int = 0
    unknown_types: dict[str, int] = {}


class Collector:
    """Takes a reader's records as they come and keeps what the report names, in bounded memory."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._defects: list[DefectFound] = []
        self._runs: list[RunFound] = []
        self._defects_seen = self._runs_seen = 0

    def take(self, records: Iterable[Record]) -> None:
        """Take the records of one piece of the file."""
        for record in records:
            if isinstance(record, Defect):
                self._defects_seen += 1
                if len(self._defects) < DEFECTS_SHOWN_MAX:
                    self._defects.append(DefectFound(record.offset, record.length, record.kind.value))
            elif isinstance(record, ToolResult):
                self._take_result(record)

    def _take_result(self, result: ToolResult) -> None:
        # A copied run proves nothing here, and is still what the file says: asked as if own, and marked.
        objective = decide_objective(msgspec.structs.replace(result, inherited=False))
        if objective is None:
            return
        self._runs_seen += 1
        if len(self._runs) < RUNS_SHOWN_MAX:
            self._runs.append(_run_of(result, objective))

    def findings(
        self, adapter: Adapter, reader: Reader, *, app_version: str | None, size: int, pending: int
    ) -> Findings:
        """The report on a file that was read to its end of ``size`` bytes, ``pending`` of them unfinished."""
        tallies, check = reader.tallies, reader.self_check()
        runs = sorted(self._runs, key=lambda run: run.offset)  # a call that stays open ends with the file
        return Findings(
            host=adapter.host,
            format=adapter.format,
            verdict=REFUSED if check.verdict is Verdict.NOT else check.verdict.value,
            reason=check.reasons[0] if check.reasons else None,
            detail=_in_words(check, tallies),
            hint=_advice(adapter.host, check),
            reasons=check.reasons,
            app_version=app_version,
            bytes=size,
            pending_bytes=pending,
            records=dict(tallies.records),
            complete_records=sum(tallies.records.values()),
            prompts=tallies.prompts,
            inherited=Inherited(tallies.inherited_prompts, _counted(tallies.inherited_outcomes)),
            tool_calls=dict(tallies.tool_calls),
            tool_results=_counted(tallies.outcomes, tallies.inherited_outcomes),
            outcomes=_counted(tallies.outcomes),
            command_executions=_counted(tallies.executions),
            failure_codes=dict(tallies.failure_codes),
            calls_without_result=tallies.calls_without_result,
            results_without_call=tallies.results_without_call,
            evidence_events=dict(tallies.evidence),
            runner_results=tuple(runs),
            runner_results_left_out=self._runs_seen - len(runs),
            defects=tuple(self._defects),
            defects_left_out=self._defects_seen - len(self._defects),
            unknown_types=dict(tallies.unknown_types),
        )


def refused_findings(adapter: Adapter, error: AdapterError, size: int) -> Findings:
    """The report on a file that is none of this format: nothing was read of it but its beginning."""
    return Findings(
        host=adapter.host,
        format=adapter.format,
        verdict=REFUSED,
        reason=error.reason,
        detail=str(error),
        hint=error.hint or "",
        reasons=(error.reason,),
        bytes=size,
    )


def _run_of(result: ToolResult, objective: Objective) -> RunFound:
    return RunFound(
        offset=result.lines[-1].offset,
        call_id=result.call_id if _CLEAN_ID.fullmatch(result.call_id) else None,
        runner=objective.runner,
        invocation=objective.binding.value,
        passed=objective.passed,
        failed=objective.failed,
        errors=objective.errors,
        skipped=objective.skipped,
        total=objective.total,
        packages_ok=objective.packages_ok,
        packages_failed=objective.packages_failed,
        exit_code=objective.exit_code,
        outcome=objective.outcome.value,
        flags=tuple(flag.value for flag in objective.flags),
        inherited=result.inherited,
    )


def _counted(*parts: Outcomes) -> dict[str, int]:
    """Outcomes by name, summed up; all four are there, since none at all says something too."""
    return {name: sum(getattr(part, name) for part in parts) for name in _NO_OUTCOMES}


_UNKNOWN: Final = "unknown-type:"
_DEFECT: Final = "defect:"
_IN_WORDS: Final = {
    "turns-without-prompts": "the agent acted and nobody asked: prompts stand where this program does not look",
    "results-without-calls": "most results belong to no call: calls stand where this program does not look",
    "calls-without-results": "many calls and no result: results stand where this program does not look",
}


def _in_words(check: Understanding, tallies: Tallies) -> str:
    """Why the verdict is what it is, in one line; empty where the file was understood."""
    said = []
    for reason in check.reasons:
        if reason.startswith(_UNKNOWN):
            name = reason.removeprefix(_UNKNOWN)
            count = tallies.unknown_types.get(name, 0)
            said.append(f"{_number(count, 'record')} of the unreviewed type {name}")
        elif reason.startswith(_DEFECT):
            name = reason.removeprefix(_DEFECT)
            said.append(f"{_number(tallies.defects.get(name, 0), 'line')} skipped: {name}")
        else:
            said.append(_IN_WORDS.get(reason, reason))
    return "; ".join(said)


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _advice(host: str, check: Understanding) -> str:
    """What the owner can do about it."""
    if check.verdict is Verdict.NOT:
        return FormatNotUnderstoodError.default_hint
    names = [reason.removeprefix(_UNKNOWN) for reason in check.reasons if reason.startswith(_UNKNOWN)]
    advice = [_accept(host, names)] if names else []
    if any(reason.startswith(_DEFECT) for reason in check.reasons):
        advice.append("what stood on the skipped lines is not known; the other lines are used")
    return "; ".join(advice)


def _accept(host: str, names: Sequence[str]) -> str:
    command = f"timeline formats accept {host} {names[0]}"
    more = f" (and {_number(len(names) - 1, 'other type')})" if len(names) > 1 else ""
    return f"if such records cannot say anything about a result, accept their type: `{command}`{more}"
