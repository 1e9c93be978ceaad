"""What the owner may look at behind an answer: status, flags, premises and the decision witness (P22, P26).

The one place outside of the view and the mediator that knows a decision. It is for the owner's own commands: nothing of
it goes to a session, an agent or a group, and nothing that is said or released is made of it (P29).
"""

from typing import Any

import msgspec

from timeline.reasoning.graph import Access
from timeline.reasoning.proposition import Query
from timeline.reasoning.resolution import resolve
from timeline.reasoning_reading import consenting, read_graph, read_policy
from timeline.state import State
from timeline.world import ledger
from timeline.world.errors import WorldScopeError
from timeline.world.scope import Reader


class Premise(msgspec.Struct, frozen=True):
    """An assertion on which an answer stands."""

    id: str
    role: str
    value: str
    observed_at: int


class AuditedDecision(msgspec.Struct, frozen=True):
    """A decision as its owner sees it. ``witness`` is in the form of JSON; there is none where nothing is relevant."""

    status: str
    flags: tuple[str, ...]
    premises: tuple[Premise, ...]
    policy: int
    witness: dict[str, Any] | None


def audit_question(
    state: State, owner: Reader, subject: str, predicate: str, *, at: int | None = None
) -> AuditedDecision:
    """How a question was decided, for the owner.

    Raises:
        WorldScopeError: somebody else asks.
        WorldStateError, IndexUnverifiedError, StateError, SidecarError: see ``reasoning_use.resolve_question``.
    """
    if not owner.is_owner or owner.group is not None:
        message = "a decision and its witness are for the owner alone"
        raise WorldScopeError(message)
    reader = consenting(state, owner)
    policy = read_policy(state)
    query = Query(subject, predicate, ledger.now_ms(state) if at is None else at)
    graph = read_graph(state, reader, [(subject, predicate)])
    decision = resolve(graph, query, Access(reader.name, reader.purpose, reader.task), policy)
    premises = tuple(
        Premise(
            one.id, one.role.value, "" if one.proposition is None else one.proposition.value, one.observed_at
        )
        for one in decision.premises
    )
    witness = (
        None if decision.witness is None else msgspec.to_builtins(decision.witness, order="deterministic")
    )
    return AuditedDecision(
        decision.status.value,
        tuple(sorted(flag.value for flag in decision.flags)),
        premises,
        policy.version,
        witness,
    )
