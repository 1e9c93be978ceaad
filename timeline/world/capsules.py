"""What a reader may go on with: one capsule for each task whose continuation nobody disputes (W36 to W43). Pure.

Suggestions, however often repeated, and competing continuations give no capsule (W37, W38); what is completed stands
apart, so that nobody begins it again (W41). A capsule is working memory: no lease, no order and no permission (W43).
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from timeline.clock import format_utc
from timeline.world.assertion import Assertion
from timeline.world.continuation import (
    CONTINUATION_PREDICATE,
    CONTINUATION_SCHEMA,
    Continuation,
    format_continuation,
    parse_continuation,
)
from timeline.world.presentation import AUTHORITY, format_scope
from timeline.world.standing import Standing

CONTINUATION_CONTEXT_SCHEMA: Final = "agentspine.task-continuation-context/v1"
CAPSULES_MAX: Final = 8
"""In one answer, completed tasks included (W42)."""

NOTE: Final = "Where tasks stand, as context only: it starts nothing, reserves nothing and permits nothing."


class Capsule(msgspec.Struct, frozen=True):
    """One task's undisputed continuation and the assertion that holds it."""

    assertion: Assertion
    continuation: Continuation


class ContinuationContext(msgspec.Struct, frozen=True):
    """Resumable tasks and completed ones, newest first, and how many more the reader may see."""

    tasks: tuple[Capsule, ...]
    terminal: tuple[Capsule, ...]
    omitted: int

    @property
    def only(self) -> Capsule | None:
        """The one capsule that there is; nothing if there are none or several."""
        capsules = (*self.tasks, *self.terminal)
        return capsules[0] if len(capsules) == 1 and not self.omitted else None


def continuation_context(
    standing: Standing, *, task: str | None = None, max_items: int = CAPSULES_MAX
) -> ContinuationContext:
    """The capsules of a reader's standing; ``task`` narrows them to one subject (W42).

    At most eight are given, however many ``max_items`` allows.
    """
    found = tuple(
        capsule for capsule in _capsules(standing) if task is None or capsule.continuation.task_id == task
    )
    shown = found[: min(max_items, CAPSULES_MAX)]
    return ContinuationContext(
        tasks=tuple(capsule for capsule in shown if not capsule.continuation.is_completed),
        terminal=tuple(capsule for capsule in shown if capsule.continuation.is_completed),
        omitted=len(found) - len(shown),
    )


def format_continuation_context(context: ContinuationContext) -> dict[str, Any]:
    """The view in the reference's shape."""
    return {
        "schema": CONTINUATION_CONTEXT_SCHEMA,
        "tasks": [format_capsule(capsule) for capsule in context.tasks],
        "terminal": [format_capsule(capsule) for capsule in context.terminal],
        "omitted": context.omitted,
        "authority": AUTHORITY,
        "note": NOTE,
    }


def format_capsule(capsule: Capsule) -> dict[str, Any]:
    """One capsule: the continuation, and the source, time and scope of the assertion that holds it."""
    entry = capsule.assertion.entry
    return {
        **format_continuation(capsule.continuation),
        "schema": CONTINUATION_SCHEMA,
        "assertionId": entry.id,
        "source": {
            "kind": entry.evidence_kind,
            "id": entry.evidence_id,
            "digest": entry.evidence_digest,
            "sessionRef": entry.session,
            "messageRef": entry.message,
            "recorder": entry.recorder,
        },
        "observedAt": format_utc(entry.observed_at),
        "scope": format_scope(entry),
        "authority": AUTHORITY,
    }


def _capsules(standing: Standing) -> Iterator[Capsule]:
    for group in standing.agreed:
        if group[0].entry.predicate != CONTINUATION_PREDICATE:
            continue
        # What was imported may agree with a continuation and is none (W27).
        typed = next((one for one in group if one.entry.knowledge == "task-state"), None)
        if typed is not None:
            yield Capsule(typed, parse_continuation(typed.value))
