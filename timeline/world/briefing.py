"""One short view of where a session stands: its tasks, what is disputed and what is settled, and how much is proposed.

The same for the tool and for the hooks, within any bound of bytes (W19, W28, W49). It is made of the believed state
alone: nothing is opened, history is left out, and of suggestions and of a user's quoted words there is a number and
no text. What does not fit is left out whole and counted. Pure.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from sidecars.identity import JSON
from timeline.clock import format_utc
from timeline.world.assertion import Assertion
from timeline.world.capsules import Capsule, continuation_context
from timeline.world.continuation import CONTINUATION_PREDICATE
from timeline.world.outcome_contract import CONTRACT_PREDICATE
from timeline.world.presentation import AUTHORITY, format_legacy
from timeline.world.scope import Reader
from timeline.world.standing import Group, Standing, decide_standing

BRIEFING_SCHEMA: Final = "agentspine.session-briefing/v1"
BRIEFING_BYTES_MAX: Final = 4096
"""Of the briefing of a tool or hook as JSON in UTF-8 (reference interface)."""

NOTE: Final = (
    "Context only, from recorded evidence: it starts nothing and permits nothing. A completed task is done. "
    "What is disputed is no fact."
)

_OPTIONAL: Final = ("openQuestions", "objective", "lastVerifiedStep", "nextStep")
"""Fields of a task that is too long, in the order in which they go; what goes is named."""

_TOLD_APART: Final = frozenset({CONTINUATION_PREDICATE, CONTRACT_PREDICATE})
"""Predicates that are no lines of their own among the facts: tasks are told as tasks."""


def briefing(
    assertions: Sequence[Assertion],
    reader: Reader,
    now_ms: int,
    *,
    bytes_max: int = BRIEFING_BYTES_MAX,
    unread: int = 0,
) -> dict[str, Any]:
    """What a reader is told at ``now_ms`` (UTC milliseconds), in at most ``bytes_max`` bytes of JSON.

    ``assertions`` and ``unread`` as for ``world_context``. The reader's own task comes first; completed tasks stand
    apart, so that nobody begins one again (W41).

    Raises:
        ValueError: not even the empty view fits.
        WorldStateError: a stored assertion breaks a rule (W65).
    """
    standing = decide_standing(assertions, reader, now_ms)
    tasks, tasks_omitted = _tasks(standing, reader)
    completed = [task for task in tasks if task.continuation.is_completed]
    facts = [group for group in standing.agreed if group[0].entry.predicate not in _TOLD_APART]
    facts.sort(key=lambda group: group[0].entry.subject != reader.task)
    told: dict[str, Any] = {
        "schema": BRIEFING_SCHEMA,
        "tasks": [],
        "terminal": [],
        "conflicts": [],
        "facts": [],
        "omitted": {
            "tasks": len(tasks) - len(completed) + tasks_omitted,
            "terminal": len(completed),
            "conflicts": len(standing.disputed),
            "facts": len(facts),
            "unread": unread,
        },
        "counts": {
            "facts": len(facts),
            "conflicts": len(standing.disputed),
            "proposals": len(standing.proposals),
            "stale": len(standing.stale),
        },
        "uncertainty": {"requiresResolution": bool(standing.disputed)},
        "note": NOTE,
        "authority": AUTHORITY,
    }
    if _size(told) > bytes_max:
        message = f"a briefing needs more than {bytes_max} bytes"
        raise ValueError(message)
    for task in tasks:
        place = "terminal" if task.continuation.is_completed else "tasks"
        _fill(told, place, [_task_forms(task)], bytes_max)
    _fill(told, "conflicts", ([_conflict(group)] for group in standing.disputed), bytes_max)
    _fill(told, "facts", ([_fact(group)] for group in facts), bytes_max)
    return told


def _tasks(standing: Standing, reader: Reader) -> tuple[list[Capsule], int]:
    """The tasks to tell of, the reader's own first, and how many there are besides."""
    all_tasks = continuation_context(standing)
    found = [*all_tasks.tasks, *all_tasks.terminal]
    if reader.task is None:
        return found, all_tasks.omitted
    mine = continuation_context(standing, task=reader.task)
    own = [*mine.tasks, *mine.terminal]
    others = [one for one in found if one not in own]
    return own + others, all_tasks.omitted + len(found) - len(own) - len(others)


def _fill(told: dict[str, Any], name: str, items: Iterable[Iterable[JSON]], bytes_max: int) -> None:
    """Add each item in the first of its forms that fits; one that fits in none stays counted as left out."""
    for forms in items:
        for form in forms:
            told[name].append(form)
            told["omitted"][name] -= 1
            if _size(told) <= bytes_max:
                break
            told[name].pop()
            told["omitted"][name] += 1


def _task_forms(capsule: Capsule) -> Iterator[JSON]:
    """A task as it is told, whole first, then with one field less each time, which is named."""
    continuation = capsule.continuation
    step, following = continuation.last_verified_step, continuation.next_step
    whole: dict[str, JSON] = {
        "taskId": continuation.task_id,
        "status": continuation.status,
        "objective": continuation.objective,
        "lastVerifiedStep": None
        if step is None
        else {"summary": step.summary, "result": step.result, "observedAt": format_utc(step.observed_at)},
        "nextStep": None if following is None else {"id": following.id, "summary": following.summary},
        "openQuestions": [question.question for question in continuation.open_questions],
        "assertionId": capsule.assertion.id,
        "observedAt": format_utc(capsule.assertion.entry.observed_at),
        "source": capsule.assertion.entry.evidence_kind,
    }
    yield whole
    for count in range(1, len(_OPTIONAL) + 1):
        gone = _OPTIONAL[:count]
        yield {
            **{name: value for name, value in whole.items() if name not in gone},
            "fieldsOmitted": list(gone),
        }


def _conflict(group: Group) -> JSON:
    """What is disputed and by how many values; which ones, `world_context` says."""
    entry = group[0].entry
    return {
        "subjectId": entry.subject,
        "predicate": entry.predicate,
        "values": len({one.entry.value for one in group}),
        "latestObservedAt": format_utc(entry.observed_at),
    }


def _fact(group: Group) -> JSON:
    entry = group[0].entry
    return {
        "subjectId": entry.subject,
        "predicate": entry.predicate,
        "value": group[0].value,
        "observedAt": format_utc(entry.observed_at),
        **format_legacy(is_legacy=entry.recorder == "import"),
    }


def _size(told: dict[str, Any]) -> int:
    return len(msgspec.json.encode(told))
