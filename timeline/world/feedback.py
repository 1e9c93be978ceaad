"""A user's own words about a task: quoted, and never interpreted. Pure.

A message becomes an assumption that points to the continuation of its task, and nothing more: not a fact, a correction,
a completion or a permission, and it replaces nothing (T38). It stays linked while that continuation is the current one;
under a newer one it is history. What it may mean, a model can propose: ``timeline.world.interpretation``.
"""

import hashlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.identity import canonical_bytes
from timeline.clock import format_utc
from timeline.statements import is_capturable
from timeline.world.assertion import Assertion, Evidence, Origin, RouteRefs, make_entry
from timeline.world.feedback_value import (
    FEEDBACK_ID_PREFIX,
    FEEDBACK_PREDICATE,
    UserFeedback,
    format_value,
    parse_feedback,
)
from timeline.world.task_state import Refused, TaskState

TEXT_INVALID: Final = "timeline-capture-evidence-invalid"
ROUTE_REQUIRED: Final = "timeline-feedback-route-required"
TARGET_UNRESOLVED: Final = "timeline-feedback-target-unresolved"
STALE: Final = "timeline-feedback-stale"
INTERPRETATION_INVALID: Final = "timeline-feedback-interpretation-invalid"
SOURCE_MISMATCH: Final = "timeline-feedback-interpretation-source-mismatch"
TASK_COMPLETED: Final = "timeline-feedback-interpretation-task-completed"
AMBIGUOUS_SET: Final = "timeline-feedback-interpretation-ambiguous-set"
CONFLICTED: Final = "timeline-feedback-interpretation-conflicted"
"""Reasons; all are the reference's."""

_FEEDBACK_ID_SCHEMA: Final = "timeline-user-feedback-id/v1"
_FEEDBACK_ID_HEX: Final = 32


HINTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        TEXT_INVALID: "a message is quoted if it is one line of at most 2048 bytes",
        ROUTE_REQUIRED: "only a session with the route of its task can quote a message",
        TARGET_UNRESOLVED: "the task needs exactly one continuation: `timeline task show`",
        STALE: "the task has a newer continuation than the message; quote a newer one",
        INTERPRETATION_INVALID: "give the fields that `docs/spec/feedback.md` lists, and the "
        "ids of the messages and the continuation that are current",
        SOURCE_MISMATCH: "a message does not stand in its source as it was quoted; ask the user",
        TASK_COMPLETED: "the task is completed; ask the user",
        AMBIGUOUS_SET: "name all open messages of the continuation, sorted: one in "
        "an interpretation, two or three in a clarification; of more than three ask the user",
        CONFLICTED: "another proposal about these messages is recorded; ask the user",
    }
)
"""For each reason that is given about user messages, what to do."""


class UserMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message of the user, re-derived from its source just now.

    ``digest`` is that of the raw line, ``observed_at`` its time in UTC milliseconds. ``source_digest`` is that of the
    registered source as it was enrolled, which a followed file keeps while it grows.
    """

    event_id: str
    digest: Digest
    observed_at: int
    session: str
    provider: str
    source_digest: str
    text: str


class Candidate(msgspec.Struct, frozen=True):
    """A quoted message that is linked to the current continuation."""

    assertion: Assertion
    feedback: UserFeedback


def quote(
    state: TaskState, message: UserMessage, recorded: Sequence[Assertion] = ()
) -> AssertionEntry | Refused:
    """The entry of a user's message about the reader's task, or of the one that quotes it already (T37, T38).

    ``recorded`` are the assertions about the task.

    Raises:
        SecretShapedError, AuthorityShapedError: the words hold what the world model never does.
    """
    if not is_capturable(message.text):
        return Refused(TEXT_INVALID)
    route = state.reader.route
    if route is None:
        return Refused(ROUTE_REQUIRED)
    target = state.continuations.sole
    if target is None:
        return Refused(TARGET_UNRESOLVED)
    if message.observed_at < target.entry.observed_at:
        return Refused(STALE)
    id_ = _feedback_id(state.task, state.reader.project, route, message, target.id)
    # A renewed snapshot has another digest and event: what is recorded keeps those under which it was read first.
    for known in recorded:
        is_quote = known.id == id_ and known.entry.recorder == "capture"
        if is_quote and parse_feedback(known.value).source_text == message.text:
            return known.entry
    feedback = UserFeedback(
        schema="agentspine.timeline-user-feedback/v1",
        source_text=message.text,
        speaker_role="user",
        source_provider=message.provider,
        source_digest=message.source_digest,
        target_assertion_id=target.id,
        interpretation_status="unresolved",
        completion_verified=False,
    )
    return make_entry(
        id=id_,
        recorder="capture",
        subject=state.task,
        predicate=FEEDBACK_PREDICATE,
        value=format_value(feedback),
        evidence=Evidence(
            "uninterpreted-user-message", message.event_id, message.digest, message.observed_at
        ),
        scope=state.scope,
        knowledge="task-state",
        origin=Origin(message.session, message.event_id),
    )


def active_candidates(assertions: Sequence[Assertion], continuation: Assertion) -> tuple[Candidate, ...]:
    """The quoted messages that are linked to a continuation, newest first; those about an earlier one are history."""
    found = []
    for assertion in assertions:
        entry = assertion.entry
        if entry.predicate != FEEDBACK_PREDICATE or entry.recorder != "capture":
            continue
        feedback = parse_feedback(assertion.value)
        if feedback.target_assertion_id == continuation.id and _place(entry) == _place(continuation.entry):
            found.append(Candidate(assertion, feedback))
    return tuple(sorted(found, key=_newest_first))


def _feedback_id(task: str, project: str | None, route: RouteRefs, message: UserMessage, target: str) -> str:
    """Of one line of one session for one continuation, so that a renewed snapshot does not make it two messages."""
    identity = canonical_bytes(
        {
            "schema": _FEEDBACK_ID_SCHEMA,
            "taskId": task,
            "projectId": project,
            "portalRef": route.portal,
            "threadRef": route.thread,
            "sessionRef": message.session,
            "messageDigest": str(message.digest),
            "observedAt": format_utc(message.observed_at),
            "targetAssertionId": target,
        }
    )
    return FEEDBACK_ID_PREFIX + hashlib.sha256(identity).hexdigest()[:_FEEDBACK_ID_HEX]


def _place(entry: AssertionEntry) -> tuple[str | None, ...]:
    """Whose assertion it is, about which task and on which route; a candidate has the place of its continuation."""
    return (entry.tenant, entry.user, entry.project, entry.privacy, entry.subject, entry.portal, entry.thread)


def _newest_first(candidate: Candidate) -> tuple[int, str]:
    return (-candidate.assertion.entry.observed_at, candidate.assertion.id)
