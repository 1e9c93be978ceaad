"""The typed view: assertions that have opted into a kind of knowledge, with their status (W20 to W28). Pure.

It is a view over the same assertions that the context is made of, and no second store (W21). What is current is
shown; what was replaced or has expired is history, and shown only when it is asked for. An assertion without a kind
is never given one here (W27).
"""

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from timeline.clock import format_utc
from timeline.limits import WORLD_ITEMS_DEFAULT
from timeline.world.assertion import Assertion
from timeline.world.presentation import AUTHORITY, format_optional_utc, format_scope
from timeline.world.scope import Reader
from timeline.world.standing import Standing, check_items, decide_standing

KNOWLEDGE_SCHEMA: Final = "agentspine.structured-knowledge/v1"

Status = Literal["confirmed", "assumption", "contradictory", "superseded"]
StatusReason = Literal[
    "established-evidence",
    "model-suggestion",
    "uninterpreted-user-message",
    "active-conflict",
    "replaced",
    "expired",
]


class Item(msgspec.Struct, frozen=True):
    """One typed assertion and how it stands; ``replaced_by`` and ``supersedes`` name only what the reader may see."""

    assertion: Assertion
    status: Status
    reason: StatusReason
    replaced_by: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()


class StatusCounts(msgspec.Struct, frozen=True):
    """How many items of each status the reader may see, shown or not."""

    confirmed: int
    assumption: int
    contradictory: int
    superseded: int


class Knowledge(msgspec.Struct, frozen=True):
    """Current items and, if it was asked for, history, newest first and as far as they fit."""

    current: tuple[Item, ...]
    history: tuple[Item, ...]
    counts: StatusCounts
    omitted_current: int
    omitted_history: int


def structured_knowledge(
    assertions: Sequence[Assertion],
    reader: Reader,
    now_ms: int,
    *,
    subject: str | None = None,
    include_history: bool = False,
    max_items: int = WORLD_ITEMS_DEFAULT,
) -> Knowledge:
    """The typed view of a reader at ``now_ms`` (UTC milliseconds).

    ``assertions`` as for ``decide_standing``; without the replaced ones there is no history to show. ``max_items``
    bounds current items and history, each by itself.

    Raises:
        WorldError: ``max_items`` is out of its bounds.
        WorldStateError: a stored assertion breaks a rule (W65).
    """
    check_items(max_items)
    items = knowledge_items(decide_standing(assertions, reader, now_ms, subject=subject))
    current = [item for item in items if item.status != "superseded"]
    history = [item for item in items if item.status == "superseded"]
    shown = history[:max_items] if include_history else []
    return Knowledge(
        current=tuple(current[:max_items]),
        history=tuple(shown),
        counts=StatusCounts(
            confirmed=_count(items, "confirmed"),
            assumption=_count(items, "assumption"),
            contradictory=_count(items, "contradictory"),
            superseded=len(history),
        ),
        omitted_current=max(0, len(current) - max_items),
        omitted_history=len(history) - len(shown),
    )


def knowledge_items(standing: Standing) -> tuple[Item, ...]:
    """Every typed assertion of a standing with its status, newest first, history included."""
    found = [
        *(_item(one, "confirmed", "established-evidence") for group in standing.agreed for one in group),
        *(_item(one, "contradictory", "active-conflict") for group in standing.disputed for one in group),
        *(_item(one, "assumption", _suggested(one)) for one in standing.proposals),
        *(_item(one, "superseded", "expired") for one in standing.stale),
        *(
            _item(one, "superseded", "replaced", tuple(newer.id for newer in by))
            for one, by in standing.replaced
        ),
    ]
    known = {item.assertion.id for item in found}
    typed = (item for item in found if item.assertion.entry.knowledge is not None)
    return tuple(
        sorted(
            (
                msgspec.structs.replace(
                    item, supersedes=tuple(id_ for id_ in item.assertion.entry.supersedes if id_ in known)
                )
                for item in typed
            ),
            key=lambda item: (-item.assertion.entry.observed_at, item.assertion.id),
        )
    )


def format_knowledge(knowledge: Knowledge) -> dict[str, Any]:
    """A typed view in the reference's shape."""
    return {
        "schema": KNOWLEDGE_SCHEMA,
        "current": [format_item(item) for item in knowledge.current],
        "history": [format_item(item) for item in knowledge.history],
        "counts": msgspec.to_builtins(knowledge.counts),
        "omitted": {"current": knowledge.omitted_current, "history": knowledge.omitted_history},
        "authority": AUTHORITY,
    }


def format_item(item: Item) -> dict[str, Any]:
    """One typed item: value, status, source, times, rationale and exact scope (W22)."""
    entry = item.assertion.entry
    return {
        "id": entry.id,
        "kind": entry.knowledge,
        "subjectId": entry.subject,
        "predicate": entry.predicate,
        "value": item.assertion.value,
        "status": item.status,
        "statusReason": item.reason,
        "source": {
            "kind": entry.evidence_kind,
            "id": entry.evidence_id,
            "digest": entry.evidence_digest,
            "sessionRef": entry.session,
            "messageRef": entry.message,
            "recorder": entry.recorder,
        },
        "observedAt": format_utc(entry.observed_at),
        "expiresAt": format_optional_utc(entry.expires_at),
        "recordedAt": format_utc(item.assertion.recorded_at),
        "rationale": entry.reason,
        "scope": format_scope(entry),
        "supersedes": list(item.supersedes),
        "replacedBy": list(item.replaced_by),
        "authority": AUTHORITY,
    }


def _item(
    assertion: Assertion, status: Status, reason: StatusReason, replaced_by: tuple[str, ...] = ()
) -> Item:
    return Item(assertion, status, reason, replaced_by)


def _suggested(assertion: Assertion) -> StatusReason:
    if assertion.entry.evidence_kind == "uninterpreted-user-message":
        return "uninterpreted-user-message"
    return "model-suggestion"


def _count(items: Sequence[Item], status: Status) -> int:
    return sum(item.status == status for item in items)
