"""What is in force about one task on one route, and what a decision about it can come to. Pure.

``task_state`` is the one way to it: from all assertions of the task's subject and the reader that the runtime has
derived. What the reader may not see does not count, so that no refusal tells of it (X12).
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.identity import canonical_bytes
from timeline.world.assertion import Assertion, Evidence, Origin, RouteRefs, Scope, make_entry
from timeline.world.continuation import CONTINUATION_PREDICATE, Continuation, format_continuation
from timeline.world.outcome_contract import CONTRACT_PREDICATE
from timeline.world.scope import Reader
from timeline.world.standing import Group, Standing, decide_standing, newest_first

CONTINUATION_ID_SCHEMA: Final = "timeline-continuation-id/v1"

_ID_HEX: Final = 32
_STEP_HEX: Final = 24
"""As in the reference."""


class InForce(msgspec.Struct, frozen=True):
    """The established assertions of one predicate that a new one would replace, newest first.

    ``is_disputed``: the reader sees an established one that says something else.
    """

    assertions: Group = ()
    is_disputed: bool = False

    @property
    def usable(self) -> Group:
        """Those that a private task can go on from: typed, and nobody else's to read."""
        return tuple(
            one
            for one in self.assertions
            if one.entry.knowledge == "task-state" and one.entry.privacy == "private"
        )

    @property
    def sole(self) -> Assertion | None:
        """The only one, if it is usable and undisputed."""
        usable = self.usable
        return usable[0] if len(self.assertions) == len(usable) == 1 and not self.is_disputed else None

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all of them, sorted: what a new one has to supersede."""
        return tuple(sorted(one.id for one in self.assertions))


class TaskState(msgspec.Struct, frozen=True):
    """One task as its reader sees it: continuations and outcome contracts in force on his route.

    ``past`` holds the continuations on it that were replaced or have expired.
    """

    task: str
    reader: Reader
    continuations: InForce
    contracts: InForce
    past: Group = ()

    def find(self, id_: str) -> Assertion | None:
        """The continuation of an id, in force or past."""
        known = (*self.continuations.assertions, *self.past)
        return next((one for one in known if one.id == id_), None)

    def find_said(self, line: Digest, session: str, observed_at: int) -> Assertion | None:
        """The continuation to which a person's line has led, also under an enrollment that was renewed since.

        The same bytes of the same session at the same time (UTC milliseconds) were said once.
        """
        for one in (*self.continuations.assertions, *self.past):
            entry = one.entry
            said = (entry.evidence_digest, entry.session, entry.observed_at)
            is_said = (entry.recorder, entry.evidence_kind) == ("capture", "explicit-user-feedback")
            if is_said and said == (str(line), session, observed_at):
                return one
        return None

    @property
    def scope(self) -> Scope:
        """The scope of what is newly recorded about the task: private, in its project, on its route."""
        reader = self.reader
        return Scope(reader.tenant, reader.user, reader.project, route=reader.route)


class Replacement(msgspec.Struct, frozen=True):
    """A new continuation to record in place of all that were in force, or not at all."""

    entry: AssertionEntry
    continuation: Continuation

    @property
    def expect_active(self) -> dict[str, frozenset[str]]:
        """For the ledger's compare-and-set: what must still be in force when the entry is recorded."""
        return {self.entry.id: frozenset(self.entry.supersedes)}


class Repeated(msgspec.Struct, frozen=True):
    """The same evidence has already led to this continuation, which may have been replaced since."""

    assertion: Assertion


class Refused(msgspec.Struct, frozen=True):
    """The continuation stays as it is; ``reason`` is interface."""

    reason: str


def task_state(assertions: Sequence[Assertion], reader: Reader, now_ms: int) -> TaskState:
    """What is in force about the reader's task at ``now_ms`` (UTC milliseconds).

    ``assertions`` holds all of the task's subject, replaced ones too. A reader without a task is given an empty state.

    Raises:
        WorldStateError: a stored assertion breaks a rule (W65).
    """
    if reader.task is None:
        return TaskState("", reader, InForce(), InForce())
    standing = decide_standing(assertions, reader, now_ms, subject=reader.task)
    return TaskState(
        reader.task,
        reader,
        _in_force(standing, reader, CONTINUATION_PREDICATE),
        _in_force(standing, reader, CONTRACT_PREDICATE),
        newest_first(
            one
            for one in (*standing.stale, *(old for old, _ in standing.replaced))
            if one.entry.predicate == CONTINUATION_PREDICATE and is_replaceable(one.entry, reader)
        ),
    )


def _in_force(standing: Standing, reader: Reader, predicate: str) -> InForce:
    agreed = [one for group in standing.agreed for one in group if one.entry.predicate == predicate]
    disputed = [one for group in standing.disputed for one in group if one.entry.predicate == predicate]
    return InForce(
        newest_first(one for one in (*agreed, *disputed) if is_replaceable(one.entry, reader)), bool(disputed)
    )


def is_replaceable(entry: AssertionEntry, reader: Reader) -> bool:
    """Whether an assertion of this reader's may replace it: the same project and route (W54)."""
    refs = None if entry.portal is None or entry.thread is None else RouteRefs(entry.portal, entry.thread)
    return entry.project == reader.project and refs == reader.route


def replace_captured(
    state: TaskState, id_: str, following: Continuation, evidence: Evidence, origin: Origin
) -> Replacement:
    """The continuation to which a captured line leads, in place of all in force, of which there is a usable one.

    It ends when that one would have ended.

    Raises:
        AssertionInvalidError, AuthorityShapedError, SecretShapedError: what it says is not of its form.
    """
    entry = make_entry(
        id=id_,
        recorder="capture",
        subject=state.task,
        predicate=CONTINUATION_PREDICATE,
        value=format_continuation(following),
        evidence=evidence,
        scope=state.scope,
        expires_at=state.continuations.usable[0].entry.expires_at,
        knowledge="task-state",
        origin=origin,
        supersedes=state.continuations.ids,
    )
    return Replacement(entry, following)


def continuation_id(prefix: str, state: TaskState, evidence_id: str, digest: Digest) -> str:
    """The one id of the continuation to which this evidence leads on this route: replaying it makes no other."""
    route = state.reader.route
    identity = canonical_bytes(
        {
            "schema": CONTINUATION_ID_SCHEMA,
            "taskId": state.task,
            "projectId": state.reader.project,
            "portalRef": None if route is None else route.portal,
            "threadRef": None if route is None else route.thread,
            "evidenceId": evidence_id,
            "evidenceDigest": str(digest),
        }
    )
    return f"assertion:{prefix}-{Digest.of(identity).hex()[:_ID_HEX]}"


def made_id(prefix: str, *parts: str) -> str:
    """The id of a step or question, made of what it says and what says so."""
    return f"{prefix}{Digest.of(canonical_bytes([*parts])).hex()[:_STEP_HEX]}"
