"""Reading what bears on some questions: assertions, what the owner has said about evidence, and consents.

Only what the questions need is read, through the indexes of ledger and register; each leaf is verified when it is read.
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from sidecars.leaf import Kind
from sidecars.reasoned import ConflictInscription, EvidencePolicyEntry, PersonConsent
from timeline.binding import session_ref_of
from timeline.forgetting.intake import is_suppressed
from timeline.forgetting.suppression import Forgotten
from timeline.reasoning.graph import Graph, Head
from timeline.reasoning.policy import Policy
from timeline.reasoning_graph import make_graph, policy_of
from timeline.registered import read_register
from timeline.state import State
from timeline.view import EnrolledSource
from timeline.world import ledger
from timeline.world.derivation import root_of
from timeline.world.ledger import Gathered
from timeline.world.scope import Reader

Question = tuple[str, str]
"""A subject and a predicate."""

Body = TypeVar("Body")


def head_of(state: State) -> Head:
    """The head at which a state was read."""
    belief = state.belief
    return Head(belief.size, str(belief.root))


def read_policy(state: State) -> Policy:
    """The evidence policy in force.

    Raises:
        WorldStateError: the log's policies are not numbered as they have to be.
        IndexUnverifiedError, StateError, SidecarError: the state is not to be believed.
    """
    return policy_of(_bodies(state, Kind.EVIDENCE_POLICY, EvidencePolicyEntry))


def read_consents(state: State) -> tuple[PersonConsent, ...]:
    """What persons who are spoken of have said, in the log's order (P49).

    Raises:
        IndexUnverifiedError, StateError, SidecarError: the state is not to be believed.
    """
    return _bodies(state, Kind.PERSON_CONSENT, PersonConsent)


def consenting(state: State, reader: Reader) -> Reader:
    """The reader with the consents of those who are spoken of.

    Raises:
        IndexUnverifiedError, StateError, SidecarError: the state is not to be believed.
    """
    return msgspec.structs.replace(reader, consents=read_consents(state))


def read_graph(state: State, reader: Reader, questions: Sequence[Question]) -> Graph:
    """The graph of some questions for a reader, at the state's head.

    Of a pair that somebody has inscribed as contradictory, the other one's own question is read as well.

    Raises:
        WorldStateError: an assertion breaks the rules (W65).
        IndexUnverifiedError, StateError, SidecarError: the state is not to be believed.
    """
    evidence = _read(state, reader, questions)
    inscriptions = _about(state, Kind.CONFLICT, evidence.assertions, ConflictInscription)
    # Also of one that was read only because something is derived from it: what supports it was not.
    named = sorted({name for one in inscriptions for name in one.assertions})
    about = {found for name in named if (found := _question_of(state, reader, name)) is not None}
    beside = sorted(about - set(questions))
    if beside:
        evidence = _read(state, reader, (*questions, *beside))
    names = {name for one in evidence.assertions.values() for name in (one.id, root_of(one.entry))}
    witnesses = _witnesses(state.view.sources)
    counted = {witnesses[name] for name in names & witnesses.keys()}
    names |= {name for name, witness in witnesses.items() if witness in counted}
    revoked = {name for name in names | evidence.missing if _is_revoked(state, name)}
    # By whichever reference it was, a session that is revoked is so whole.
    revoked |= {witnesses[name] for name in revoked & witnesses.keys()}
    return make_graph(
        evidence,
        reader,
        head_of(state),
        device=state.keystore.pins.origin,
        revoked=frozenset(revoked),
        inscriptions=inscriptions,
        erased=frozenset(
            name for name in evidence.missing if is_suppressed(state, Forgotten.ASSERTION, name)
        ),
        witnesses=witnesses,
    )


def _witnesses(sources: Iterable[EnrolledSource]) -> dict[str, str]:
    """By which reference each session is counted: the one of its first enrollment, for whatever task or goal."""
    first: dict[tuple[str, str, str, str], str] = {}
    found: dict[str, str] = {}
    for source in sources:
        binding = source.enrollment.binding
        ref = session_ref_of(binding)
        found[ref] = first.setdefault((binding.host, binding.tenant, binding.user, binding.session), ref)
    return found


def _read(state: State, reader: Reader, questions: Iterable[Question]) -> Gathered:
    return ledger.read_evidence(state, questions, tenant=reader.tenant, project=reader.project)


def _question_of(state: State, reader: Reader, name: str) -> Question | None:
    """The question that an assertion of the reader's project answers."""
    found = ledger.find(state, name)
    if found is None or found.entry.tenant != reader.tenant:
        return None
    entry = found.entry
    return (entry.subject, entry.predicate) if entry.project in {None, reader.project} else None


def _is_revoked(state: State, name: str) -> bool:
    has_any = state.view.register.count > 0
    return has_any and bool(read_register(state, Kind.EVIDENCE_REVOCATION, name))


def _bodies(state: State, kind: Kind, form: type[Body]) -> tuple[Body, ...]:
    if not state.view.register.count:
        return ()
    return tuple(one.body for one in read_register(state, kind) if isinstance(one.body, form))


def _about(state: State, kind: Kind, names: Iterable[str], form: type[Body]) -> tuple[Body, ...]:
    if not state.view.register.count:
        return ()
    found = {
        one.leaf: one.body
        for name in names
        for one in read_register(state, kind, name)
        if isinstance(one.body, form)
    }
    return tuple(found[leaf] for leaf in sorted(found))
