"""The strict correction of a next step: a line of the user's that can mean nothing else, and what follows (T59 to T62).

The grammar alone decides. A message is a correction if all of it is one line that begins with the fixed words; quotes,
hypotheses, negations and claims that something is done begin otherwise, and stay context (T62). What follows changes
the next step of one continuation and nothing else (T60). Pure.

The umlaut may be written in either Unicode form; the rest of the line is kept as it was given, but for its spaces.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from sidecars.digest import Digest
from timeline.statements import corrected_step
from timeline.world.assertion import Evidence, Origin
from timeline.world.continuation import NextStep, parse_continuation
from timeline.world.names import is_authority
from timeline.world.secrets import find_secret
from timeline.world.task_state import (
    Refused,
    Repeated,
    Replacement,
    TaskState,
    continuation_id,
    made_id,
    replace_captured,
)

ROUTE_REQUIRED: Final = "timeline-correction-route-required"
CONTINUATION_MISSING: Final = "timeline-correction-continuation-missing"
CONTINUATION_CONFLICTED: Final = "timeline-correction-continuation-conflicted"
TASK_COMPLETED: Final = "timeline-correction-task-completed"
CORRECTION_STALE: Final = "timeline-correction-stale"
"""Reasons, as in the reference."""

CORRECTION_HINTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        ROUTE_REQUIRED: "only a session with the route of its task can correct a step",
        CONTINUATION_MISSING: "the owner begins the task: `timeline task start`",
        CONTINUATION_CONFLICTED: "the owner says which continuation holds: `timeline task confirm`",
        TASK_COMPLETED: "the owner begins the task anew: `timeline task start`",
        CORRECTION_STALE: "the task has a newer continuation than the line; the user types it again",
    }
)
"""For each reason what to do."""

_ASSIGNED: Final = re.compile(r"([^\s:=]+)\s*[:=]")
"""A name with something assigned to it, such as ``accessToken=``."""


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """One correction that a user has typed, re-derived from its line. ``observed_at`` is UTC milliseconds."""

    summary: str
    evidence_id: str
    evidence_digest: Digest
    observed_at: int
    origin: Origin


def parse_correction(text: str) -> str | None:
    """The next step that a user's whole message sets; ``None`` if the message is no correction.

    Spaces within it are folded. It must then be 1 to 500 printable characters, and hold no secret and nothing that
    reads like a grant.
    """
    summary = corrected_step(text)
    if summary is None or not summary.isprintable():
        return None
    return None if _is_unsafe(summary) else summary


def _is_unsafe(summary: str) -> bool:
    if find_secret(summary) is not None:
        return True
    return any(is_authority(match[1]) for match in _ASSIGNED.finditer(summary))


def correct(state: TaskState, correction: Correction) -> Replacement | Repeated | Refused:
    """The continuation with another next step, or why there is none.

    Raises:
        AssertionInvalidError, AuthorityShapedError, SecretShapedError: the correction is not of its form.
    """
    if state.reader.route is None:
        return Refused(ROUTE_REQUIRED)
    id_ = continuation_id("timeline-correction", state, correction.evidence_id, correction.evidence_digest)
    digest, session = correction.evidence_digest, correction.origin.session
    known = state.find(id_) or state.find_said(digest, session, correction.observed_at)
    if known is not None:
        return Repeated(known)
    if not state.continuations.usable:
        return Refused(CONTINUATION_MISSING)
    if state.continuations.is_disputed:
        return Refused(CONTINUATION_CONFLICTED)
    continuation = parse_continuation(state.continuations.usable[0].value)
    if continuation.is_completed:
        return Refused(TASK_COMPLETED)
    if any(correction.observed_at < one.entry.observed_at for one in state.continuations.assertions):
        return Refused(CORRECTION_STALE)
    step = NextStep(
        made_id("step:user-correction-", state.task, correction.evidence_id, correction.summary),
        correction.summary,
    )
    following = msgspec.structs.replace(continuation, next_step=step)
    evidence = Evidence(
        "explicit-user-feedback",
        correction.evidence_id,
        correction.evidence_digest,
        correction.observed_at,
    )
    return replace_captured(state, id_, following, evidence, correction.origin)
