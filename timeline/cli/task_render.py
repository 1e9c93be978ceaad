"""A task in words: one screen of where it stands, and the same as JSON."""

from typing import Final

from timeline.answers import AUTHORITY, Json
from timeline.cli.status import ago
from timeline.cli.tables import Cell, Table, Tone
from timeline.cli.world_render import held_text
from timeline.task_use import TaskView
from timeline.world.assertion import Assertion
from timeline.world.capsules import Capsule, format_capsule
from timeline.world.continuation import Continuation, parse_continuation
from timeline.world.feedback import Candidate
from timeline.world.outcome_contract import OutcomeContract, format_contract
from timeline.world.presentation import format_assertion

TASK_SCHEMA: Final = "timeline-task/v1"

_STATUSES: Final[dict[str, Tone]] = {
    "active": "good",
    "blocked": "bad",
    "paused": "look",
    "completed": "good",
    "disputed": "bad",
    "not started": "quiet",
}
_RESULTS: Final[dict[str, Tone]] = {"passed": "good", "failed": "bad", "blocked": "look"}

_COLUMNS: Final = ("next step", "held on", "assertion")
_STACKED: Final = (((0,), (1,), (2,)),)

Row = tuple[str, str, Tone]


def task_tables(view: TaskView, now_ms: int) -> list[Table]:
    """Where a task stands, on one screen."""
    tables = [Table(view.state.task, (), _cells([*_standing_rows(view, now_ms), *_contract_rows(view)]))]
    if view.state.continuations.is_disputed:
        rows = [_choice(one, now_ms) for one in view.state.continuations.usable]
        note = "timeline task confirm ID"
        tables.append(Table("continuations that differ", _COLUMNS, rows, note=note, stacked=_STACKED))
    if view.words:
        tables.append(_words(view.words, now_ms))
    if view.suggestions:
        rows = [_choice(one, now_ms) for one in view.suggestions]
        note = "none of them moves the task; timeline task confirm ID"
        tables.append(Table("models suggest", _COLUMNS, rows, note=note, stacked=_STACKED))
    return tables


def continuation_table(title: str, assertion: Assertion, now_ms: int) -> Table:
    """One continuation by itself, as it says where the task stands."""
    continuation = parse_continuation(assertion.value)
    held: list[Row] = [
        ("held on", f"{held_text(assertion)}, {ago(now_ms, assertion.entry.observed_at)}", "plain"),
        ("assertion", assertion.id, "quiet"),
    ]
    return Table(title, (), _cells([*_continuation_rows(continuation, now_ms), *held]))


def _standing_rows(view: TaskView, now_ms: int) -> list[Row]:
    rows: list[Row] = []
    current, continuation = view.current, view.continuation
    if view.state.continuations.is_disputed:
        rows.append(("status", "disputed: established continuations differ, and nothing goes on", "bad"))
    elif current is None or continuation is None:
        rows.append(("status", "not started: `timeline task start`", "quiet"))
    else:
        rows += _continuation_rows(continuation, now_ms)
        said = f"{held_text(current)}, {ago(now_ms, current.entry.observed_at)}"
        rows += [("held on", said, "plain"), ("assertion", current.id, "quiet")]
    if view.elsewhere:
        conversations = "conversation" if view.elsewhere == 1 else "conversations"
        rows.append(
            ("elsewhere", f"{view.elsewhere} more {conversations} of a launcher go on with it", "quiet")
        )
    return rows


def _continuation_rows(continuation: Continuation, now_ms: int) -> list[Row]:
    rows: list[Row] = [
        ("objective", continuation.objective, "plain"),
        ("status", continuation.status, _STATUSES[continuation.status]),
    ]
    step = continuation.last_verified_step
    if step is None:
        rows.append(("verified", "no step was measured yet", "quiet"))
    else:
        rows.append(("verified", f"{step.result}: {step.summary}", _RESULTS[step.result]))
        rows.append(("", f"{step.evidence_id}, {ago(now_ms, step.observed_at)}", "quiet"))
    if continuation.next_step is not None:
        rows.append(("next step", continuation.next_step.summary, "plain"))
    rows += [("open", question.question, "look") for question in continuation.open_questions]
    return rows


def _contract_rows(view: TaskView) -> list[Row]:
    contract, continuation = view.contract, view.continuation
    if contract is None:
        if view.state.contracts.assertions:
            return [("contract", "disputed: more than one is in force", "bad")]
        is_open = continuation is not None and not continuation.is_completed
        return (
            [("contract", "none: no result moves the task; `timeline task contract`", "quiet")]
            if is_open
            else []
        )
    if continuation is None or contract.step != continuation.next_step:
        return [("contract", "agreed for another step; it counts no more", "quiet")]
    return [("contract", _contract_text(contract), "plain")]


def _contract_text(contract: OutcomeContract) -> str:
    expected, then = contract.measurement, contract.on_success
    count = "" if expected.total is None else f" with {expected.success_count} of {expected.total}"
    leads = "completes the task" if then.next_step is None else f"leads to: {then.next_step.summary}"
    paused = " (paused)" if then.status == "paused" else ""
    return f"{expected.test_label} passing{count} {leads}{paused}"


def _choice(assertion: Assertion, now_ms: int) -> tuple[Cell, ...]:
    continuation = parse_continuation(assertion.value)
    step = "completed" if continuation.next_step is None else continuation.next_step.summary
    said = f"{held_text(assertion)}, {ago(now_ms, assertion.entry.observed_at)}"
    return Cell(step, "look"), Cell(said), Cell(assertion.id, "quiet")


def _words(words: tuple[Candidate, ...], now_ms: int) -> Table:
    rows = [
        (
            Cell(ago(now_ms, one.assertion.entry.observed_at)),
            Cell(f"“{one.feedback.source_text}”", "look"),
            Cell(one.assertion.id, "quiet"),
        )
        for one in words
    ]
    note = "quoted and not understood by anybody; `timeline task correct` if one changes the next step"
    return Table(
        "user's words that wait", ("", "said", "assertion"), rows, note=note, stacked=(((0,),), ((1,), (2,)))
    )


def _cells(rows: list[Row]) -> list[tuple[Cell, ...]]:
    return [(Cell(name, "quiet"), Cell(text, tone)) for name, text, tone in rows]


# -- JSON ------------------------------------------------------------------------------------------------------


def task_json(view: TaskView) -> Json:
    """Where a task stands."""
    current, continuation, contract = view.current, view.continuation, view.contract
    capsule = (
        None if current is None or continuation is None else format_capsule(Capsule(current, continuation))
    )
    return {
        "schema": TASK_SCHEMA,
        "taskId": view.state.task,
        "disputed": view.state.continuations.is_disputed,
        "continuation": capsule,
        "contract": None
        if contract is None
        else {
            **format_contract(contract),
            "applies": continuation is not None and contract.step == continuation.next_step,
        },
        "choices": [format_assertion(one) for one in view.choices],
        "suggestions": [one.id for one in view.suggestions],
        "userWords": [format_assertion(one.assertion) for one in view.words],
        "elsewhere": view.elsewhere,
        "authority": AUTHORITY,
    }
