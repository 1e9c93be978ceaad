"""Resolve a question against the graph: status, flags, premises, witness (P22). Pure.

The graph may be a part of the whole: every vertex that answers the question, all that these depend on, and what was
declared to contradict them with what answers its question. Only these are looked at.
"""

from timeline.reasoning.decision import Decision, Flag, Status
from timeline.reasoning.evaluation import evaluate, relevant
from timeline.reasoning.graph import Access, Graph
from timeline.reasoning.policy import Policy
from timeline.reasoning.proposition import Query
from timeline.reasoning.witness import NO_SALT, bind_witness

__all__ = ["Decision", "Flag", "Status", "relevant", "resolve"]


def resolve(graph: Graph, query: Query, access: Access, policy: Policy, *, salt: bytes = NO_SALT) -> Decision:
    """Decide a question for one asker, at the question's moment, under one policy (ADR 0026).

    Args:
        graph: what ``admission.check_graph`` lets pass.
        query: what is asked, and for which moment.
        access: who asks, and what for.
        policy: how many independent roots are wanted.
        salt: 32 bytes under which the witness commits to withheld versions.
    """
    evaluation = evaluate(graph, query, access, policy)
    return Decision(
        status=evaluation.status,
        flags=evaluation.flags,
        premises=evaluation.premises,
        witness=bind_witness(evaluation, graph, query, access, policy, salt),
    )
