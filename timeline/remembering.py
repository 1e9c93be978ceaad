"""The world model as a session's tools see it: a suggestion is recorded, and what is known is told (W10 to W61).

Scope and route come from the session's own enrollment, never from an argument (W48, W56). The caller has spent a
permit; to record, he holds the writer lock. Nothing here opens a transcript.
"""

import hashlib
from typing import Any, Final

import msgspec

from sidecars.assertion import AssertionEntry, DerivationEntry
from sidecars.digest import Digest
from sidecars.identity import canonical_bytes
from timeline.answers import AUTHORITY, Json, session_ref
from timeline.binding import Binding, binding_of
from timeline.guard.asked import SuggestionAsked, ViewAsked
from timeline.limits import SUGGESTIONS_PER_SUBJECT_MAX, WORLD_READ_MAX
from timeline.reasoning_reading import consenting, read_policy
from timeline.state import State
from timeline.view import EnrolledSource
from timeline.world import ledger
from timeline.world.assertion import (
    Assertion,
    Evidence,
    Origin,
    Scope,
    Use,
    canonical_text,
    make_entry,
)
from timeline.world.briefing import BRIEFING_BYTES_MAX, briefing
from timeline.world.capsules import continuation_context, format_continuation_context
from timeline.world.context import CONTEXT_SCHEMA, format_context, world_context
from timeline.world.errors import EvidenceDigestError, EvidenceKindError, SuggestionsFullError
from timeline.world.knowledge import format_knowledge, structured_knowledge
from timeline.world.presentation import format_assertion
from timeline.world.scope import Reader, attached_route, is_visible, reader_of
from timeline.world.standing import decide_standing
from timeline.world.task_context import format_task_context, task_context

SUGGESTION_SCHEMA: Final = "agentspine.world-assertion-record/v1"
SUGGESTION_ID_PREFIX: Final = "assertion:suggestion-"
TOOL_USE_NAMESPACE: Final = "tool-use"

NAMED_MAX: Final = 8
"""Assertions that a session is named of one fact or conflict."""

_ID_HEX: Final = 32
_FRAME_BYTES: Final = 256
"""What a tool adds to a briefing: its status, and how the call was attributed."""


def record_suggestion(state: State, own: EnrolledSource, asked: SuggestionAsked, *, tool_use: str) -> Json:
    """Record what the model of a session suggests. ``tool_use`` is the digest of the host's id of the call, in hex.

    The same suggestion again is a duplicate, whichever call makes it.

    Raises:
        EvidenceKindError: the model claims to have measured something, or to speak for the user.
        EvidenceDigestError: the given digest is not that of the value.
        SuggestionsFullError: the session sees too many about the subject already.
        WorldError: the world model does not take it; nothing was recorded.
        StateError, SidecarError: the world model is not to be believed, or cannot be written.
    """
    entry = _entry_of(state, own, asked, tool_use)
    _check_room(state, own, entry)
    (recorded,) = ledger.record(state, [entry], reader=_reader_of(state, own, asked.purposes))
    return {
        "schema": SUGGESTION_SCHEMA,
        "blocked": False,
        "status": recorded.status,
        "reason": None,
        "givenId": asked.id,
        "assertionId": recorded.assertion.id,
        "assertion": format_assertion(recorded.assertion),
        "authority": AUTHORITY,
    }


def _reader_of(state: State, own: EnrolledSource, purposes: tuple[str, ...] = ()) -> Reader:
    """The reader that a session is; where it speaks for one purpose only, for that."""
    reader = consenting(state, reader_of(binding_of(own.enrollment.binding)))
    return msgspec.structs.replace(reader, purpose=purposes[0] if len(purposes) == 1 else None)


def _check_room(state: State, own: EnrolledSource, entry: AssertionEntry) -> None:
    """Counted is what the session may see, so that no refusal tells it of more (X12)."""
    reader = _reader_of(state, own)
    known = ledger.count_suggestions(state, reader, entry.subject, most=SUGGESTIONS_PER_SUBJECT_MAX)
    if known == SUGGESTIONS_PER_SUBJECT_MAX and ledger.find(state, entry.id) is None:
        message = f"{known} suggestions about this subject wait already"
        raise SuggestionsFullError(message)


def suggestion_id(binding: Binding, name: str) -> str:
    """The id of what a session calls ``name``: it is a name of its own conversation, and collides with nobody's.

    Two sessions that cannot see each other cannot learn from a refusal that the other has used a name (X12).
    """
    reader = reader_of(binding)
    route = reader.route
    identity = canonical_bytes(
        {
            "tenantId": reader.tenant,
            "userId": reader.user,
            "projectId": reader.project,
            "taskId": reader.task,
            "portalRef": None if route is None else route.portal,
            "threadRef": None if route is None else route.thread,
            "id": name,
        }
    )
    return SUGGESTION_ID_PREFIX + hashlib.sha256(identity).hexdigest()[:_ID_HEX]


def _entry_of(state: State, own: EnrolledSource, asked: SuggestionAsked, tool_use: str) -> AssertionEntry:
    if asked.evidence_kind != "model-suggestion":
        message = "field evidenceKind: a model can only suggest"
        raise EvidenceKindError(message)
    digest = Digest.of(canonical_text(asked.value).encode())
    if asked.evidence_digest not in {None, digest.hex()}:
        message = "field evidenceDigest: must be the SHA-256 of the value in its RFC 8785 form"
        raise EvidenceDigestError(message)
    binding = binding_of(own.enrollment.binding)
    reader = reader_of(binding)
    id_ = suggestion_id(binding, asked.id)
    call = f"{TOOL_USE_NAMESPACE}:{tool_use[:_ID_HEX]}"
    now_ms = ledger.now_ms(state)
    # What the caller leaves to the runtime is taken from the first time that it was said.
    before = ledger.find(state, id_)
    evidence_id, observed_at, origin = (
        (call, now_ms, Origin(session_ref(own.enrollment), call)) if before is None else _said_in(before)
    )
    return make_entry(
        id=id_,
        recorder="model",
        subject=asked.subject,
        predicate=asked.predicate,
        value=asked.value,
        evidence=Evidence(
            "model-suggestion",
            asked.evidence_id or evidence_id,
            digest,
            observed_at if asked.observed_at is None else asked.observed_at,
        ),
        scope=Scope(
            binding.tenant,
            binding.user,
            binding.project,
            asked.privacy,
            None,
            attached_route(asked.subject, asked.knowledge, reader),
        ),
        expires_at=asked.expires_at,
        knowledge=asked.knowledge,
        origin=None if asked.knowledge is None else origin,
        reason=asked.reason,
        use=Use(asked.starts_at, asked.purposes, asked.about),
        derivation=_derivation_of(state, own, asked, before),
    )


def _derivation_of(
    state: State, own: EnrolledSource, asked: SuggestionAsked, before: Assertion | None
) -> DerivationEntry | None:
    """What a model says that its suggestion follows from; which program and policy, the runtime adds (P9, M2)."""
    if asked.derivation is None:
        return None
    said = None if before is None else before.entry.derivation
    return DerivationEntry(
        role=asked.derivation.role,
        rule=asked.derivation.rule,
        policy=read_policy(state).version if said is None else said.policy,
        evaluator=f"model:{own.enrollment.binding.host}",
        alternatives=asked.derivation.alternatives,
    )


def _said_in(before: Assertion) -> tuple[str, int, Origin | None]:
    entry = before.entry
    origin = None if entry.session is None or entry.message is None else Origin(entry.session, entry.message)
    return entry.evidence_id, entry.observed_at, origin


# -- what is known ---------------------------------------------------------------------------------------------


def world_view(state: State, own: EnrolledSource, asked: ViewAsked) -> Json:
    """What the session may see of the world model, with the typed view beside it.

    Raises:
        WorldError: the question is not one that is answered.
        StateError, SidecarError: the world model is not to be believed.
    """
    reader = msgspec.structs.replace(_reader_of(state, own), private=asked.private)
    now_ms = ledger.now_ms(state)
    everything, left_out = _read(state, reader, asked.continuation_task)
    assertions, unread = everything, left_out
    if asked.subject is not None:
        assertions = ledger.read_subject(state, asked.subject, tenant=reader.tenant, project=reader.project)
        unread = 0
    context = world_context(
        assertions, reader, now_ms, subject=asked.subject, max_items=asked.items_max, unread=unread
    )
    typed = structured_knowledge(
        assertions,
        reader,
        now_ms,
        subject=asked.subject,
        include_history=asked.history,
        max_items=asked.items_max,
    )
    standing = decide_standing(everything, reader, now_ms)
    knowledge = {
        **format_knowledge(typed),
        "continuation": format_continuation_context(
            continuation_context(standing, task=asked.continuation_task, max_items=asked.items_max)
        ),
        "taskContext": format_task_context(
            task_context(standing, asked.continuation_task, max_items=asked.items_max)
        ),
    }
    return {
        "status": "available",
        "blocked": False,
        "reason": None,
        **_named_briefly(format_context(context, knowledge=knowledge)),
        "schema": CONTEXT_SCHEMA,
    }


def _named_briefly(context: Json) -> Json:
    """The same with few names under each fact, and one assertion for each value of a conflict, the newest.

    What was measured often would else not fit into an answer, and would be left out whole.
    """
    return {
        **context,
        "facts": [_cut(fact, "assertionIds", fact["assertionIds"][:NAMED_MAX]) for fact in context["facts"]],
        "conflicts": [
            _cut(conflict, "assertions", _newest_of_each_value(conflict["assertions"])[:NAMED_MAX])
            for conflict in context["conflicts"]
        ],
    }


def _newest_of_each_value(assertions: list[Json]) -> list[Json]:
    found: dict[str, Json] = {}
    for one in assertions:
        found.setdefault(canonical_text(one["value"]), one)
    return list(found.values())


def _cut(holder: Json, name: str, kept: list[Any]) -> Json:
    left_out = len(holder[name]) - len(kept)
    return {**holder, name: kept, "assertionsOmitted": left_out} if left_out else holder


def session_briefing(state: State, own: EnrolledSource) -> Json:
    """Where the session's task stands, in one short view.

    Raises:
        StateError, SidecarError: the world model is not to be believed.
    """
    reader = _reader_of(state, own)
    assertions, unread = _read(state, reader, reader.task)
    told = briefing(
        assertions,
        reader,
        ledger.now_ms(state),
        bytes_max=BRIEFING_BYTES_MAX - _FRAME_BYTES,
        unread=unread,
    )
    return {"status": "available", "blocked": False, "reason": None, **told}


def _read(state: State, reader: Reader, subject: str | None) -> tuple[tuple[Assertion, ...], int]:
    """The newest that a reader may see, with all that is in force about one subject; and how many were not read."""
    page = ledger.read_visible(state, reader, limit=WORLD_READ_MAX)
    if subject is None:
        return page.assertions, page.left_out
    known = {one.id for one in page.assertions}
    beside = [
        one
        for one in ledger.read_current(state, subject, tenant=reader.tenant, project=reader.project)
        if one.id not in known and is_visible(one.entry, reader)
    ]
    return (*page.assertions, *beside), max(0, page.left_out - len(beside))
