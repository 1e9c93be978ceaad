"""What the owner says to the world model: new statements, confirmations, corrections, resolutions (W18, W26).

An agent cannot say so for itself: what is recorded here rests on the owner's own statement, and the owner key signs it.
What is written is decided on what stands under the writer lock, and where the owner was shown something before, on
nothing else than that: what another writer did in between is refused, never overruled.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from sidecars.assertion import SUPERSEDES_MAX, AssertionEntry, DerivationEntry, KnowledgeKind, Privacy
from sidecars.digest import Digest
from sidecars.identity import JSON, canonical_bytes
from timeline.reasoning_reading import read_policy
from timeline.service import Session
from timeline.state import State
from timeline.world import ledger
from timeline.world.assertion import (
    ANY_USE,
    Assertion,
    RouteRefs,
    Scope,
    Use,
    canonical_text,
    make_entry,
)
from timeline.world.continuation import CONTINUATION_PREDICATE
from timeline.world.errors import CompareAndSetError, NotToBeConfirmedError, TaskMovedError
from timeline.world.feedback_value import FEEDBACK_PREDICATE, INTERPRETATION_PREDICATE
from timeline.world.ledger import Recorded
from timeline.world.outcome_contract import CONTRACT_PREDICATE
from timeline.world.owner_statement import owner_evidence
from timeline.world.scope import Reader, attached_route
from timeline.world.standing import Group, decide_standing
from timeline.world.supersession import bucket_of
from timeline.world_view import Placed, Standpoint, disputes, find_placed, read_about

_ID_HEX: Final = 32

TASK_COMMANDS: Final = {
    CONTINUATION_PREDICATE: "timeline task start|confirm|correct",
    CONTRACT_PREDICATE: "timeline task contract",
    FEEDBACK_PREDICATE: "timeline task correct",
    INTERPRETATION_PREDICATE: "timeline task correct",
}
"""Predicates about which the owner speaks by commands of their own, since they move a task."""


class OwnerStatement(msgspec.Struct, frozen=True, kw_only=True):
    """What the owner says anew. ``everywhere`` is for all projects; ``expires_at`` is in UTC milliseconds.

    With ``derived_from`` it is a belief that he records: his own stance on what these assertions say together (P46).
    """

    subject: str
    predicate: str
    value: JSON
    knowledge: KnowledgeKind | None = None
    privacy: Privacy = "private"
    group: str | None = None
    everywhere: bool = False
    expires_at: int | None = None
    reason: str | None = None
    use: Use = ANY_USE
    derived_from: tuple[str, ...] = ()


class Spoken(msgspec.Struct, frozen=True):
    """What was recorded, and what is disputed about its subject and predicate afterwards."""

    recorded: tuple[Recorded, ...]
    disputed: tuple[Assertion, ...]


def record_statement(session: Session, where: Standpoint, statement: OwnerStatement) -> Spoken:
    """The owner says something new. It replaces nothing: where it differs from what is held, that is a conflict.

    Raises:
        WorldError: it is not of its form, or looks like a permission or a secret; nothing was written.
        ClockError: the clock stands before the newest leaf.
        StateError, SidecarError: the state cannot be used, or the owner key is not to be had.
    """
    scope = Scope(
        tenant=where.reader.tenant,
        user=where.reader.user,
        project=None if statement.everywhere else where.reader.project,
        privacy=statement.privacy,
        group=statement.group,
        route=attached_route(statement.subject, statement.knowledge, where.task),
    )
    with session.writing() as state:
        entry = _owner_entry(
            scope,
            statement.subject,
            statement.predicate,
            statement.value,
            now_ms=ledger.now_ms(state),
            knowledge=statement.knowledge,
            expires_at=statement.expires_at,
            reason=statement.reason,
            use=statement.use,
            derivation=_belief(state, statement.derived_from),
        )
        return _speak(state, where.reader, [entry])


def _belief(state: State, derived_from: tuple[str, ...]) -> DerivationEntry | None:
    if not derived_from:
        return None
    return DerivationEntry(
        role="recorded-belief",
        rule="rule.stance",
        policy=read_policy(state).version,
        evaluator="owner",
        alternatives=(tuple(sorted(set(derived_from))),),
    )


def confirm_proposal(
    session: Session, where: Standpoint, assertion_id: str, *, reason: str | None = None
) -> Spoken:
    """The owner says himself what was suggested. The suggestion stays one (W3, W4).

    Its reason is taken over, if none is given.

    Raises:
        AssertionUnknownError: he sees none of this id.
        NotToBeConfirmedError, TaskMovedError: it is no suggestion in force, or moves a task.
        ClockError, StateError, SidecarError: see ``record_statement``.
    """
    with session.writing() as state:
        now_ms = ledger.now_ms(state)
        found, _ = find_placed(state, where.reader, assertion_id, now_ms)
        check_to_confirm(found)
        old = found.assertion.entry
        entry = _owner_entry(
            _scope_of(old, where.reader),
            old.subject,
            old.predicate,
            found.assertion.value,
            now_ms=now_ms,
            knowledge=old.knowledge,
            expires_at=old.expires_at,
            reason=reason or old.reason,
        )
        return _speak(state, where.reader, [entry])


def check_to_confirm(found: Placed) -> None:
    """Return only if the owner may confirm an assertion by saying the same himself. Pure.

    Raises:
        TaskMovedError: it moves a task.
        NotToBeConfirmedError: it is no suggestion in force.
    """
    entry = found.assertion.entry
    check_general(entry.predicate)
    if found.place != "proposal":
        message = f"{entry.id}: stands as {found.place}, and is no suggestion in force"
        raise NotToBeConfirmedError(message, hint="say it anew with `timeline world record`, if it holds")


def correct_value(
    session: Session,
    where: Standpoint,
    assertion_ids: Sequence[str],
    value: JSON,
    *,
    reason: str | None = None,
    expires_at: int | None = None,
) -> Spoken:
    """The owner replaces assertions of one subject and predicate by another value; all must still be in force (W26).

    Raises:
        AssertionUnknownError: he sees none of one of these ids.
        CompareAndSetError: one of them is replaced already.
        SupersessionError: they are not of one subject, predicate, project and conversation.
        WorldError, ClockError, StateError, SidecarError: see ``record_statement``.
    """
    with session.writing() as state:
        now_ms = ledger.now_ms(state)
        replaced = []
        for assertion_id in assertion_ids:
            found, _ = find_placed(state, where.reader, assertion_id, now_ms)
            if found.place == "superseded":
                message = f"{assertion_id[:240]}: is replaced already"
                raise CompareAndSetError(message)
            replaced.append(found.assertion)
        entry = _replacement(where.reader, tuple(replaced), replaced[0], value, now_ms, reason, expires_at)
        return _speak(state, where.reader, [entry])


def resolve_dispute(
    session: Session,
    where: Standpoint,
    shown: Group,
    value: JSON,
    *,
    chosen: Assertion | None = None,
    reason: str | None = None,
) -> Spoken:
    """The owner settles a conflict: what is recorded supersedes all that was ``shown`` (W18).

    That is one assertion, but for a conflict between what is said for this project and what is said for all, or with
    a conversation and without: each of them is replaced where it stands. So is more than one assertion can name.
    ``chosen`` is whose value it is, if anybody's.

    Raises:
        CompareAndSetError: the conflict is no longer exactly what was shown.
        WorldError, ClockError, StateError, SidecarError: see ``record_statement``.
    """
    entry = shown[0].entry
    with session.writing() as state:
        now_ms = ledger.now_ms(state)
        standing = decide_standing(read_about(state, where.reader, entry.subject), where.reader, now_ms)
        ids = {one.id for one in shown}
        if ids not in [{one.id for one in group} for group in disputes(standing, entry.predicate)]:
            message = (
                f"{entry.subject} {entry.predicate}: the conflict is not the one that was shown any more"
            )
            raise CompareAndSetError(message)
        entries = [
            _replacement(where.reader, part, _like(part, chosen), value, now_ms, reason, None)
            for part in resolution_parts(shown, value)
        ]
        return _speak(state, where.reader, entries)


def resolution_parts(shown: Group, value: JSON) -> tuple[Group, ...]:
    """The parts of a conflict that one assertion each has to replace so that ``value`` holds. Pure.

    What one assertion may replace is replaced whole, unless all of it says just that already; one names at most
    ``SUPERSEDES_MAX``, so that a longer part is several.
    """
    text = canonical_text(value)
    parts: dict[object, list[Assertion]] = {}
    for one in shown:
        parts.setdefault(bucket_of(one), []).append(one)
    return tuple(
        tuple(some)
        for part in parts.values()
        if {one.entry.value for one in part} != {text}
        for some in (part[at : at + SUPERSEDES_MAX] for at in range(0, len(part), SUPERSEDES_MAX))
    )


def check_general(predicate: str) -> None:
    """Return only if the owner speaks about a predicate by the general commands. Pure.

    Raises:
        TaskMovedError: it moves a task, and has commands of its own.
    """
    if command := TASK_COMMANDS.get(predicate):
        message = f"predicate {predicate}: moves a task"
        raise TaskMovedError(message, hint=f"use `{command}`")


def _like(part: Group, chosen: Assertion | None) -> Assertion:
    """The one whose scope and kind the resolution takes over: the chosen one, else a private one, else the newest."""
    if chosen in part:
        return chosen
    return next((one for one in part if one.entry.privacy == "private"), part[0])


def _replacement(
    reader: Reader,
    replaced: Sequence[Assertion],
    like: Assertion,
    value: JSON,
    now_ms: int,
    reason: str | None,
    expires_at: int | None,
) -> AssertionEntry:
    old = like.entry
    # A decision needs a reason; that of the same value is the same.
    kept = old.reason if old.knowledge == "decision" and canonical_text(value) == old.value else None
    return _owner_entry(
        _scope_of(old, reader),
        old.subject,
        old.predicate,
        value,
        now_ms=now_ms,
        knowledge=old.knowledge,
        expires_at=expires_at,
        reason=reason or kept,
        supersedes=tuple(one.id for one in replaced),
    )


def _scope_of(old: AssertionEntry, reader: Reader) -> Scope:
    """The scope of what the owner says in place of an assertion: the same, but that it is his."""
    route = None if old.portal is None or old.thread is None else RouteRefs(old.portal, old.thread)
    return Scope(old.tenant, reader.user, old.project, old.privacy, old.group, route)


def _owner_entry(  # noqa: PLR0913  # each is a field of its own
    scope: Scope,
    subject: str,
    predicate: str,
    value: JSON,
    *,
    now_ms: int,
    knowledge: KnowledgeKind | None,
    expires_at: int | None,
    reason: str | None,
    supersedes: tuple[str, ...] = (),
    use: Use = ANY_USE,
    derivation: DerivationEntry | None = None,
) -> AssertionEntry:
    check_general(predicate)
    evidence = owner_evidence(subject, predicate, value, now_ms)
    uses = {} if use == ANY_USE else msgspec.to_builtins(use)
    identity = canonical_bytes(
        {
            **uses,
            **({} if derivation is None else {"derivedFrom": derivation.dependencies}),
            "tenant": scope.tenant,
            "projectId": scope.project,
            "user": scope.user,
            "privacy": scope.privacy,
            "groupId": scope.group,
            "threadRef": None if scope.route is None else scope.route.thread,
            "evidenceId": evidence.id,
            "evidenceDigest": str(evidence.digest),
            "supersedes": tuple(sorted(supersedes)),
        }
    )
    return make_entry(
        id=f"assertion:timeline-owner-{Digest.of(identity).hex()[:_ID_HEX]}",
        recorder="owner",
        subject=subject,
        predicate=predicate,
        value=value,
        evidence=evidence,
        scope=scope,
        expires_at=expires_at,
        knowledge=knowledge,
        supersedes=supersedes,
        reason=reason,
        use=use,
        derivation=derivation,
    )


def _speak(state: State, reader: Reader, entries: Sequence[AssertionEntry]) -> Spoken:
    recorded = ledger.record(state, entries, reader=reader)
    entry = entries[0]
    standing = decide_standing(read_about(state, reader, entry.subject), reader, ledger.now_ms(state))
    disputed = {one.id: one for group in disputes(standing, entry.predicate) for one in group}
    return Spoken(recorded, tuple(disputed.values()))
