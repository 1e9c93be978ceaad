"""How an assertion is written at the border: the reference's names, every time with its zone. Pure.

No leaf, no revision and no count of the log stands here, since they move with what a reader may not see (X12).
"""

from typing import Any, Final

from sidecars.assertion import AssertionEntry
from timeline.clock import format_utc
from timeline.world.assertion import Assertion

ASSERTION_SCHEMA: Final = "agentspine.world-assertion/v1"
AUTHORITY: Final = "context-only"
"""Stands in every record and every result (W61)."""


def format_assertion(assertion: Assertion) -> dict[str, Any]:
    """One assertion in the reference's shape, and who recorded it.

    What it supersedes is left out: those may be hidden from whoever reads this one.
    """
    entry = assertion.entry
    return {
        "schema": ASSERTION_SCHEMA,
        "id": entry.id,
        "subjectId": entry.subject,
        "predicate": entry.predicate,
        "value": assertion.value,
        "valueDigest": assertion.value_digest,
        "evidenceKind": entry.evidence_kind,
        "evidenceId": entry.evidence_id,
        "evidenceDigest": entry.evidence_digest,
        "observedAt": format_utc(entry.observed_at),
        "expiresAt": format_optional_utc(entry.expires_at),
        "recordedAt": format_utc(assertion.recorded_at),
        "status": "established" if entry.is_established else "proposed",
        "recorder": entry.recorder,
        **format_legacy(is_legacy=entry.recorder == "import"),
        "reason": entry.reason,
        **format_scope(entry),
        **_format_knowledge(entry),
        "authority": AUTHORITY,
    }


def format_scope(entry: AssertionEntry) -> dict[str, Any]:
    """For whom an assertion is; the route's references only where there are some."""
    scope: dict[str, Any] = {
        "projectId": entry.project,
        "groupId": entry.group,
        "privacy": entry.privacy,
    }
    if entry.portal is not None:
        scope |= {"portalRef": entry.portal, "threadRef": entry.thread}
    return scope


def format_legacy(*, is_legacy: bool) -> dict[str, bool]:
    """The mark of what another system recorded: nobody here has seen its evidence."""
    return {"legacy": True} if is_legacy else {}


def format_optional_utc(at_ms: int | None) -> str | None:
    """A time with its zone, or nothing."""
    return None if at_ms is None else format_utc(at_ms)


def _format_knowledge(entry: AssertionEntry) -> dict[str, Any]:
    if entry.knowledge is None:
        return {}
    return {"knowledgeKind": entry.knowledge, "sessionRef": entry.session, "messageRef": entry.message}
