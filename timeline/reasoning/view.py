"""``view_of``: the only way from a resolution to what its reader is told (P31, P48). Pure."""

from timeline.reasoning.decision import Decision, Flag, Status
from timeline.reasoning.declassified import Content, Source, Standing, View
from timeline.reasoning.graph import Access, Graph, Vertex
from timeline.reasoning.policy import Policy
from timeline.reasoning.proposition import Proposition, Query
from timeline.reasoning.resolution import resolve


def ask(graph: Graph, query: Query, access: Access, policy: Policy) -> View:
    """What this asker is told about a question: resolved, and declassified at once."""
    return view_of(resolve(graph, query, access, policy), policy)


def view_of(decision: Decision, policy: Policy) -> View:
    """The view of a decision under the policy that it was made by.

    Withheld is passed over here: what is hidden beside visible support, or beside nothing, must not show. Where the
    policy collapses, unknown and unavailable are one view as well.
    """
    if decision.status is Status.SUPPORTED:
        disputed = Flag.CONFLICTED in decision.flags
        return View(Standing.CONFLICTED if disputed else Standing.SUPPORTED, _contents(decision.premises))
    if decision.status is Status.UNAVAILABLE:
        return View(Standing.UNRECORDED if policy.collapse else Standing.UNAVAILABLE)
    return View(Standing.STALE if Flag.STALE in decision.flags else Standing.UNRECORDED)


def _contents(premises: tuple[Vertex, ...]) -> tuple[Content, ...]:
    """One content for each proposition, its sources oldest first."""
    found: dict[Proposition, list[Source]] = {}
    for vertex in sorted(premises, key=lambda one: (one.observed_at, one.id)):
        if vertex.proposition is not None:
            found.setdefault(vertex.proposition, []).append(
                Source(vertex.id, vertex.role, vertex.observed_at)
            )
    return tuple(Content(proposition, tuple(sources)) for proposition, sources in found.items())
