"""The owner's decisions about record types that were never reviewed: list, show, accept, take back.

A decision is a leaf signed with the owner key. It changes how sources are judged from then on, and nothing that was
signed before. Accepting says "such a record cannot say anything about a result"; only the owner can know that.
"""

import re

import msgspec

from adapters.registry import ADAPTERS
from sidecars.leaf import FormatPolicy
from timeline.account import judged
from timeline.errors import FormatDecisionError, FormatNameError
from timeline.provider import check_protocols
from timeline.service import Session
from timeline.state import State
from timeline.understanding import PROTOCOL, UNNAMED, FormatDecision

_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}", re.ASCII)


class TypeStatus(msgspec.Struct, frozen=True):
    """One unreviewed record type of a host: whether it is accepted, since when, and where it was met.

    ``sources`` are the active sources that were indexed with such a record; ``decisions`` are oldest first.
    """

    host: str
    type: str
    accepted: bool
    sources: tuple[str, ...]
    decisions: tuple[FormatDecision, ...]


def list_types(session: Session) -> tuple[TypeStatus, ...]:
    """Every unreviewed type that an active source was met with, or that was ever decided about, in order.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    with session.reading() as state:
        return _statuses(state)


def show_type(session: Session, host: str, name: str) -> TypeStatus:
    """One record type of a host; one that was never met and never decided about is not accepted.

    Raises:
        FormatNameError: not a host, or not the name of a type.
        StateError, SidecarError: the state is not to be believed.
    """
    _check_names(host, name)
    with session.reading() as state:
        return _status(_statuses(state), host, name)


def accept_type(session: Session, host: str, name: str) -> TypeStatus:
    """The owner accepts records of a type as carrying no evidence, or a protocol as one that was reviewed.

    A protocol is named ``protocol/<declared>:<reviewed>``.

    Raises:
        FormatNameError: not a host, not the name of a type, or a protocol that was never reviewed.
        FormatDecisionError: it is accepted already.
        StateError, SidecarError: the state cannot be used.
    """
    policy = FormatPolicy(host=_check_names(host, name), type=name, accepted=True)
    if name.startswith(PROTOCOL):
        declared, _, meant = name.removeprefix(PROTOCOL).rpartition(":")
        check_protocols(host, {declared: meant})
    return _decide(session, policy)


def revoke_type(session: Session, host: str, name: str) -> TypeStatus:
    """The owner takes an acceptance back; sources with such records are partly understood again, at once.

    Raises:
        FormatNameError: not a host, or not the name of a type.
        FormatDecisionError: it is not accepted.
        StateError, SidecarError: the state cannot be used.
    """
    return _decide(session, FormatPolicy(host=_check_names(host, name), type=name, accepted=False))


def _decide(session: Session, policy: FormatPolicy) -> TypeStatus:
    with session.writing() as state:
        if not state.view.formats.is_change(policy):
            said = "accepted already" if policy.accepted else "not accepted"
            message = f"{policy.host} {policy.type}: {said}"
            raise FormatDecisionError(message)
        state.commit([policy])
        return _status(_statuses(state), policy.host, policy.type)


def _check_names(host: str, name: str) -> str:
    if host not in ADAPTERS:
        message = f"host {host[:40]!r}: not a reviewed host"
        raise FormatNameError(message, hint=f"hosts: {', '.join(ADAPTERS)}")
    if not _TYPE.fullmatch(name):
        message = "not the name of a record type"
        raise FormatNameError(message)
    if name == UNNAMED:
        message = f"{UNNAMED!r} stands for every type without a name that is kept"
        raise FormatNameError(message, hint="such records cannot be accepted: nobody knows what they are")
    return host


def _statuses(state: State) -> tuple[TypeStatus, ...]:
    met: dict[tuple[str, str], list[str]] = {}
    for source in state.view.active:
        if source.entries:
            judgement, wire = judged(state, source), source.enrollment
            for name in (*judgement.accepted, *judgement.unreviewed):
                met.setdefault((wire.binding.host, name), []).append(wire.source.ref)
    rules = state.view.formats
    decided: dict[tuple[str, str], list[FormatDecision]] = {}
    for decision in rules.decisions:
        decided.setdefault((decision.policy.host, decision.policy.type), []).append(decision)
    return tuple(
        TypeStatus(
            *key,
            accepted=key in rules.accepted,
            sources=tuple(met.get(key, ())),
            decisions=tuple(decided.get(key, ())),
        )
        for key in sorted({*met, *decided})
    )


def _status(statuses: tuple[TypeStatus, ...], host: str, name: str) -> TypeStatus:
    never_met = TypeStatus(host, name, accepted=False, sources=(), decisions=())
    return next((status for status in statuses if (status.host, status.type) == (host, name)), never_met)
