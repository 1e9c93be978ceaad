"""Answers as data: the one form that ``--json`` prints and a tool call returns. Pure.

Schema and field names follow the reference where it has one. Every answer says ``context-only``: it grants no
permission and starts nothing (T4). Nothing here holds text of a transcript, a path of one, or an offset; what a capture
and the world model answer is formed in ``timeline.capturing`` and ``timeline.remembering``.
"""

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sidecars.consent import StandingConsent
from sidecars.event import CORRECTION, USER_MESSAGE, Event, Run
from sidecars.leaf import Enrollment
from timeline.binding import session_ref_of
from timeline.clock import format_utc
from timeline.search import Answer, Card, Status
from timeline.terms import Query
from timeline.understanding import Judgement
from timeline.view import EnrolledSource, Generation, LogView

if TYPE_CHECKING:
    from sidecars.lineage import Fork
    from timeline.findings import Findings
    from timeline.formats import TypeStatus
    from timeline.guard.receipt import Receipt
    from timeline.index import IndexResult
    from timeline.status import SourceStatus
    from timeline.verify import Report

AUTHORITY: Final = "context-only"
SEARCH_SCHEMA: Final = "agentspine.session-timeline-search/v1"
RECEIPT_SCHEMA: Final = "agentspine.session-timeline-host-receipt/v1"
ENROLLMENT_SCHEMA: Final = "agentspine.session-timeline-private-enrollment/v1"
CONSENT_SCHEMA: Final = "timeline-consent/v1"
INSPECTION_SCHEMA: Final = "timeline-inspection/v1"

_STATEMENT_NAMES: Final = {
    USER_MESSAGE: "user-message-candidate",
    CORRECTION: "explicit-next-step-correction",
}
"""Statements by kind, as the reference names them."""

Json = dict[str, Any]


class ToolAnswer(msgspec.Struct, frozen=True):
    """What a tool found, and whether the call was refused.

    ``structured`` is a JSON object with at least a ``status``; its cards, if any, are the list ``events``, best first.
    """

    structured: Mapping[str, Any]
    is_error: bool = False


def search_answer(answer: Answer, view: LogView, *, at_ms: int | None, query: Query | None) -> Json:
    """A search's answer."""
    status = str(answer.status)
    if answer.status is Status.FOUND and any(card.partly_understood for card in answer.cards):
        status = "partly-understood"
    found: Json = {
        "schema": SEARCH_SCHEMA,
        "status": status,
        "blocked": answer.status in {Status.STALE, Status.SOURCE_GONE, Status.UNAVAILABLE},
        "reason": answer.reason,
        "at": None if at_ms is None else format_utc(at_ms),
        "queryTerms": [] if query is None else [term.text for term in query.terms],
        "matched": [] if query is None else [f"{given}→{used}" for given, used in query.corrections],
        "events": [card_json(card) for card in answer.cards],
        "more": answer.more,
        "readDifferently": answer.reread,
        "hint": answer.hint,
        "anchors": answer.anchored,
        **_common(view),
    }
    if answer.source is not None:
        found["sourceDigest"] = source_digest(answer.source)
        found["sourceProvider"] = answer.source.enrollment.binding.host
    if answer.cards and answer.cards[0].prefix_pending is not None:
        found["prefixProof"] = _prefix_proof(pending=answer.cards[0].prefix_pending)
    return found


def card_json(card: Card) -> Json:
    """One evidence card."""
    event = card.event
    return {
        "id": event.id,
        "at": None if event.at is None else format_utc(event.at),
        **(_statement_json(event) if event.run is None else _result_json(event, event.run)),
        "sourceDigest": source_digest(card.source),
        "sourceProvider": card.source.enrollment.binding.host,
        "sessionRef": session_ref(card.source.enrollment),
        "messageRef": event.id,
        "understanding": "partly-understood" if card.partly_understood else "understood",
        **(
            {} if card.prefix_pending is None else {"prefixProof": _prefix_proof(pending=card.prefix_pending)}
        ),
        "trust": "untrusted-session-history",
        "authority": AUTHORITY,
    }


def _statement_json(event: Event) -> Json:
    """What a card says of a person's statement: that there is one, by whom, and that nobody has interpreted it."""
    found: Json = {"kind": _STATEMENT_NAMES[event.kind], "speakerRole": "user"}
    if event.kind == USER_MESSAGE:
        found["interpretationStatus"] = "unresolved"
    return found


def _result_json(event: Event, run: Run) -> Json:
    """What a card says of an objective result."""
    found: Json = {
        "kind": "objective-result",
        "measure": event.kind,
        "runner": run.runner,
        "outcome": run.outcome.value,
        "count": event_count(event),
        "testLabel": event.label,
        "binding": run.binding,
        "tool": run.tool,
        "flags": list(event.flags),
        "fingerprint": run.fingerprint,
    }
    for name, value in (
        ("passed", event.passed),
        ("failed", event.failed),
        ("errors", event.errors),
        ("skipped", event.skipped),
        ("warnings", event.warnings),
        ("total", event.total),
        ("packagesOk", event.packages_ok),
        ("packagesFailed", event.packages_failed),
        ("exitCode", event.exit_code),
        ("durationMs", event.duration_ms),
    ):
        if value is not None:  # a number that the runner did not print stays absent
            found[name] = value
    return found


def receipts_answer(receipts: "tuple[Receipt, ...]", *, every: bool) -> Json:
    """The pending receipt of a project, as the reference gives it: no binding and no path."""
    base: Json = {"schema": RECEIPT_SCHEMA, "authority": AUTHORITY}
    if every:
        listed = [{"receipt": r.id, "expiresAt": format_utc(r.expires_at)} for r in receipts]
        return {**base, "status": "pending" if listed else "unavailable", "receipts": listed}
    if not receipts:
        return {
            **base,
            "status": "unavailable",
            "receipt": None,
            "reason": "host-transcript-receipt-unavailable",
            "expiresAt": None,
        }
    only = receipts[0]
    return {**base, "status": "pending", "receipt": only.id, "expiresAt": format_utc(only.expires_at)}


def enrollment_answer(enrollment: Enrollment) -> Json:
    """A recorded consent."""
    return {
        "schema": ENROLLMENT_SCHEMA,
        "status": "enrolled",
        "id": enrollment.enrollment_id,
        "source": enrollment.source.ref,
        "host": enrollment.binding.host,
        "mode": enrollment.mode,
        "bytes": enrollment.source.size,
        "confirmedAt": format_utc(enrollment.confirmed_at),
        "expiresAt": format_utc(enrollment.expires_at),
        "recallUntil": format_utc(enrollment.recall_until),
        "timelineVisibility": "private-verified",
        "stateBootstrap": {"status": "registered", "reason": None},
        **_consent_of(enrollment),
        "authority": AUTHORITY,
    }


def consent_answer(consent: StandingConsent) -> Json:
    """A standing consent in force."""
    policy = consent.policy
    return {
        "schema": CONSENT_SCHEMA,
        "status": "standing",
        "host": policy.host,
        "project": policy.project,
        "mode": "follow" if policy.follow else "snapshot",
        "leaf": consent.leaf,
        "since": format_utc(consent.at),
        "authority": AUTHORITY,
    }


def no_consent_answer(host: str, project: str, *, still_enrolled: int) -> Json:
    """That no standing consent is in force any more, and how many sessions rest on an earlier one."""
    return {
        "schema": CONSENT_SCHEMA,
        "status": "none",
        "host": host,
        "project": project,
        "stillEnrolled": still_enrolled,
        "authority": AUTHORITY,
    }


def _consent_of(enrollment: Enrollment) -> Json:
    """The leaf of the standing consent that an enrollment rests on, if it does."""
    return {} if enrollment.consent is None else {"standingConsent": enrollment.consent}


def index_answer(result: "IndexResult") -> Json:
    """What indexing one source did."""
    tallies = result.tallies
    return {
        "status": "indexed" if result.complete else "partial",
        "source": result.source.enrollment.source.ref,
        "indexedBytes": result.indexed,
        "size": result.size,
        "pendingBytes": result.pending,
        "operations": result.operations,
        "added": result.added,
        "events": result.events,
        "userMessages": result.user_messages,
        "evicted": result.evicted,
        **({"forgotten": result.forgotten} if result.forgotten else {}),
        **_judgement(result.judgement),
        "records": tallies.records,
        "calls": tallies.calls,
        "results": tallies.results,
        "prompts": tallies.prompts,
        "defects": tallies.defects,
        "unknown": tallies.unknown,
        "unknownTypes": list(tallies.unknown_types),
        "inherited": tallies.inherited,
        **_following(result.source, pending=not result.source.is_prefix_proven),
        "authority": AUTHORITY,
    }


def refused_source(source: EnrolledSource, reason: str, message: str, hint: str) -> Json:
    """A source that was not indexed, and why."""
    return {
        "status": "refused",
        "source": source.enrollment.source.ref,
        "reason": reason,
        "message": message,
        "hint": hint,
        "authority": AUTHORITY,
    }


def source_answer(status: "SourceStatus") -> Json:
    """One enrolled source; the owner sees the path of his own file."""
    enrollment = status.source.enrollment
    return {
        "source": enrollment.source.ref,
        "enrollment": enrollment.enrollment_id,
        "host": enrollment.binding.host,
        "session": enrollment.binding.session,
        "project": enrollment.binding.project,
        "path": enrollment.source.path,
        "state": status.state,
        "reason": status.reason,
        "size": status.source.newest.size,
        "mode": enrollment.mode,
        **_following(status.source, pending=status.prefix_pending),
        "indexedBytes": status.indexed,
        "events": status.events,
        **_judgement(status.judgement),
        "confirmedAt": format_utc(enrollment.confirmed_at),
        "expiresAt": format_utc(enrollment.expires_at),
        **_consent_of(enrollment),
        **({} if status.fork is None else {"forkOf": fork_answer(status.fork)}),
    }


def inspection_answer(findings: "Findings") -> Json:
    """What a pass over one file found, under the names of the ground truth that it is compared with."""
    return {"schema": INSPECTION_SCHEMA, **msgspec.to_builtins(findings), "authority": AUTHORITY}


def type_answer(status: "TypeStatus") -> Json:
    """What the owner decided about one record type."""
    return {
        "host": status.host,
        "type": status.type,
        "standing": _standing(accepted=status.accepted),
        "sources": list(status.sources),
        "decisions": [
            {
                "leaf": decision.index,
                "at": format_utc(decision.at_ms),
                "standing": _standing(accepted=decision.policy.accepted),
            }
            for decision in status.decisions
        ],
        "authority": AUTHORITY,
    }


def _standing(*, accepted: bool) -> str:
    return "accepted" if accepted else "unreviewed"


def report_answer(report: "Report") -> Json:
    """A verification report."""
    return {
        "schema": "timeline-verify/v1",
        "verdict": report.verdict,
        "level": report.level,
        "carriedSize": report.carried_size,
        "origin": report.origin,
        "size": report.size,
        "root": report.root,
        "simulatedHost": report.simulated_host,
        "forkOf": None if report.fork is None else fork_answer(report.fork),
        "checks": [
            {"name": c.name, "ok": c.ok, "detail": c.detail, "reason": c.reason, "hint": c.hint}
            for c in report.checks
        ],
        "notChecked": report.not_checked,
        "authority": AUTHORITY,
    }


def fork_answer(fork: "Fork") -> Json:
    """From which log a declared fork goes on."""
    return {"origin": fork.origin, "size": fork.size, "root": fork.root, "ownerKey": fork.old_owner_key}


def encode(value: Json) -> bytes:
    """A value as JSON bytes."""
    return msgspec.json.encode(value)


def source_digest(source: EnrolledSource) -> str:
    """The public digest of the snapshot that counts, of a followed file the newest; it tells nothing of its path."""
    return _digest_of(source, source.newest)


def enrolled_digest(source: EnrolledSource) -> str:
    """The same of the snapshot that was enrolled: it stays while a followed file grows, so that memory may name it."""
    return _digest_of(source, source.generations[0])


def _digest_of(source: EnrolledSource, generation: Generation) -> str:
    wire = source.enrollment.source
    times = (str(generation.mtime_ns), str(generation.ctime_ns))
    parts = (wire.path, wire.device, wire.inode, str(generation.size), *times)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def session_ref(enrollment: Enrollment) -> str:
    """The opaque reference of a session in its scope."""
    return session_ref_of(enrollment.binding)


def _judgement(judgement: Judgement | None) -> Json:
    """How much counts as understood; ``accepted`` are unknown types that the owner accepted."""
    if judgement is None:
        return {"understanding": None, "accepted": []}
    return {"understanding": judgement.understanding, "accepted": list(judgement.accepted)}


def _prefix_proof(*, pending: bool) -> str:
    return "prefix-proof-pending" if pending else "proven"


def _following(source: EnrolledSource, *, pending: bool | None) -> Json:
    """What is said of a followed source only; ``pending`` is ``None`` where its file could not be looked at."""
    if source.enrollment.mode != "follow":
        return {}
    found: Json = {
        "generation": source.newest.number,
        "provenBytes": source.proven,
        "bytesToProve": source.to_prove,
        "recallUntil": format_utc(source.enrollment.recall_until),
    }
    return found if pending is None else {**found, "prefixProof": _prefix_proof(pending=pending)}


def event_count(event: Event) -> Json | None:
    """How many of how many passed, where a runner said both."""
    if event.passed is None or not event.total or event.passed > event.total:
        return None
    return {"value": event.passed, "total": event.total}


def _common(view: LogView) -> Json:
    found: Json = {"authority": AUTHORITY}
    if view.simulated_host:
        found["simulatedHost"] = True
    return found
