"""What the owner says about evidence: policies, revocations, contradictions, and consents of those spoken of.

Each is one leaf that the owner key signs. None changes what was recorded; all of them change what is told from then on.
"""

import re
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from sidecars.leaf import Kind
from sidecars.reasoned import (
    ConflictInscription,
    EvidencePolicyEntry,
    EvidenceRevocation,
    MediationTraceEntry,
    PersonConsent,
    ReasonedBody,
    check_reasoned,
)
from timeline.assertion_account import account_assertions
from timeline.reasoning.policy import Policy
from timeline.reasoning_reading import read_consents, read_policy
from timeline.registered import read_register
from timeline.service import Session
from timeline.state import State
from timeline.stated import check_stated
from timeline.world import ledger
from timeline.world.assertion import Assertion
from timeline.world.derivation import OWNER_ROOT
from timeline.world.errors import (
    AssertionUnknownError,
    EvidenceStatementError,
    EvidenceUnchangedError,
    TraceUnknownError,
)
from timeline.world.scope import Reader, is_visible

_ROOT: Final = re.compile(r"session-ref:[0-9a-f]{32}", re.ASCII)

Body = TypeVar("Body", bound=ReasonedBody)


class PolicyChange(msgspec.Struct, frozen=True, kw_only=True):
    """What of the policy is to be otherwise; ``None`` leaves it, and 0 in ``required`` takes an exception back.

    ``accept`` and ``reject`` are evaluators whose interpretations may support from now on, or no longer.
    """

    roots: int | None = None
    required: Mapping[str, int] = {}
    collapse: bool | None = None
    snapshot: bool | None = None
    accept: frozenset[str] = frozenset()
    reject: frozenset[str] = frozenset()


class Trace(msgspec.Struct, frozen=True):
    """What was kept of a mediated answer, and the leaf that keeps it."""

    leaf: int
    entry: MediationTraceEntry


def show_policy(session: Session) -> Policy:
    """The evidence policy in force.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    with session.reading() as state:
        return read_policy(state)


def set_policy(session: Session, change: PolicyChange) -> Policy:
    """Put the next version of the evidence policy in force (P3).

    Raises:
        EvidenceUnchangedError: it is the same.
        EvidenceStatementError: a number or a predicate is not of its form.
        StateError, SidecarError: the state cannot be used, or the owner key is not to be had.
    """
    with session.writing() as state:
        account_assertions(state)
        before = read_policy(state)
        roots = before.roots if change.roots is None else change.roots
        wanted = {**before.required, **change.required}
        required = {name: count for name, count in wanted.items() if count not in {0, roots}}
        accepted = ((before.evaluators or frozenset()) | change.accept) - change.reject
        after = Policy(
            before.version + 1,
            roots,
            required,
            before.collapse if change.collapse is None else change.collapse,
            before.snapshot if change.snapshot is None else change.snapshot,
            accepted,
        )
        if msgspec.structs.replace(after, version=before.version) == before:
            message = "the policy is this one already"
            raise EvidenceUnchangedError(message)
        body = EvidencePolicyEntry(
            after.version, roots, required, after.collapse, after.snapshot, tuple(sorted(accepted))
        )
        _commit(state, body)
        return after


def revoke_evidence(session: Session, reader: Reader, name: str, *, reason: str) -> EvidenceRevocation:
    """Let an assertion or a root count no longer, nor what rests on it alone (P34).

    Raises:
        AssertionUnknownError: it is no root, and the owner sees no assertion of this id.
        EvidenceUnchangedError: it is revoked already.
        EvidenceStatementError: the reason is not of its form.
        StateError, SidecarError: the state cannot be used, or the owner key is not to be had.
    """
    with session.writing() as state:
        account_assertions(state)
        if name != OWNER_ROOT and not _ROOT.fullmatch(name):
            _find(state, reader, name)
        if read_register(state, Kind.EVIDENCE_REVOCATION, name):
            message = f"{name[:240]}: is revoked already"
            raise EvidenceUnchangedError(message)
        return _commit(state, EvidenceRevocation(name, reason))


def inscribe_conflict(
    session: Session, reader: Reader, one: str, other: str, *, reason: str
) -> ConflictInscription:
    """Declare that two assertions contradict each other (P35).

    Raises:
        AssertionUnknownError: the owner sees none of one of these ids.
        EvidenceUnchangedError: that was declared already.
        EvidenceStatementError: they are one, or the reason is not of its form.
        StateError, SidecarError: the state cannot be used, or the owner key is not to be had.
    """
    first, second = sorted((one, other))
    with session.writing() as state:
        account_assertions(state)
        for name in (first, second):
            _find(state, reader, name)
        body = ConflictInscription((first, second), reason)
        known = (found.body for found in read_register(state, Kind.CONFLICT, first))
        if any(isinstance(two, ConflictInscription) and two.assertions == body.assertions for two in known):
            message = "they are known to contradict each other already"
            raise EvidenceUnchangedError(message)
        return _commit(state, body)


def set_person_consent(session: Session, consent: PersonConsent) -> PersonConsent:
    """Record what a person who is spoken of has said about who may be told (P49).

    Raises:
        EvidenceUnchangedError: it changes nothing.
        EvidenceStatementError: a field is not of its form.
        StateError, SidecarError: the state cannot be used, or the owner key is not to be had.
    """
    with session.writing() as state:
        account_assertions(state)
        before = tuple(one for one in read_consents(state) if one.person == consent.person)
        is_last = bool(before) and before[-1] == consent
        covered = consent.granted and any(
            one.granted and one.reader is None and one.purpose is None for one in before[-1:]
        )
        if is_last or covered or (not before and not consent.granted):
            message = f"{consent.person}: this is so already"
            raise EvidenceUnchangedError(message)
        return _commit(state, consent)


def list_person_consents(session: Session, person: str | None = None) -> tuple[PersonConsent, ...]:
    """What persons who are spoken of have said, oldest first.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    with session.reading() as state:
        return tuple(one for one in read_consents(state) if person in {None, one.person})


def open_trace(session: Session, trace: str) -> Trace:
    """What was kept of a mediated answer (P42).

    Raises:
        TraceUnknownError: nothing was, under this id.
        StateError, SidecarError: the state is not to be believed.
    """
    with session.reading() as state:
        for found in read_register(state, Kind.MEDIATION_TRACE, trace):
            if isinstance(found.body, MediationTraceEntry):
                return Trace(found.leaf, found.body)
    message = f"trace {trace[:64]!r}: none of this id"
    raise TraceUnknownError(message)


def _find(state: State, reader: Reader, name: str) -> Assertion:
    found = ledger.find(state, name)
    if found is None or not is_visible(found.entry, reader):
        message = f"assertion {name[:240]!r}: none of this id is visible in this project"
        raise AssertionUnknownError(message)
    return found


def _commit(state: State, body: Body) -> Body:
    checked = check_stated(body, check_reasoned, EvidenceStatementError)
    state.commit([checked])
    return checked
