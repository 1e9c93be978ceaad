"""What the graph says about a question to one asker: what is relevant, what supports what, what is in the way. Pure.

The reader's rules, and the points that the paper leaves open, are decided in ADR 0026. ``resolution`` makes a decision
of an evaluation, and ``witness`` binds what the decision rests on.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from timeline.reasoning.decision import Flag, Status
from timeline.reasoning.graph import Access, Graph, Vertex
from timeline.reasoning.policy import Policy
from timeline.reasoning.proposition import Query
from timeline.reasoning.roots import (
    Effort,
    Families,
    Family,
    Reading,
    RootSet,
    count_independent,
    disjoint_sets,
    in_order,
    invalidated,
    path_of,
    read_families,
    root_families,
)

_STALE: Final = frozenset({Flag.STALE})


class Support(msgspec.Struct, frozen=True):
    """A value that has roots enough: its premises, the oldest first, and disjoint root sets with the premise of each.

    ``paths`` are, for each root set, what was used from the premise down to it: vertices and markers, with the members
    used of each.
    """

    value: str
    premises: tuple[Vertex, ...]
    grounds: tuple[tuple[Vertex, RootSet], ...]
    paths: tuple[Mapping[str, frozenset[str]], ...]


class _Choice(msgspec.Struct, frozen=True):
    """A vertex that may become a premise, its family, and how many roots it reaches alone."""

    vertex: Vertex
    family: Family
    alone: int


class Contradiction(msgspec.Struct, frozen=True):
    """Two vertices that somebody has declared to contradict each other, and what supports the value of each."""

    pair: tuple[Vertex, ...]
    supports: tuple[Support, ...]


class Evaluation(msgspec.Struct, frozen=True):
    """What was found: ``supports`` answer the question, ``contradictions`` are declared ones that concern them.

    ``hindered`` is the support that there would be if nothing were gone, or time left out; only where there is none.
    """

    status: Status
    flags: frozenset[Flag]
    relevant: tuple[Vertex, ...]
    hidden: tuple[Vertex, ...]
    supports: tuple[Support, ...]
    contradictions: tuple[Contradiction, ...]
    hindered: Support | None

    @property
    def standing(self) -> tuple[Support, ...]:
        """What supports an answer, or what contradicts it by declaration."""
        rivals = [support for one in self.contradictions for support in one.supports]
        return (*self.supports, *(support for support in rivals if support not in self.supports))

    @property
    def premises(self) -> tuple[Vertex, ...]:
        """The members of S, the oldest first."""
        found = {vertex.id: vertex for support in self.standing for vertex in support.premises}
        return tuple(sorted(found.values(), key=_age))


def relevant(graph: Graph, query: Query) -> tuple[Vertex, ...]:
    """The vertices of any role that answer the question, whoever may see them, the oldest first (P21).

    Not what was superseded or invalidated: both take part in nothing.
    """
    asked = [
        vertex
        for vertex in graph.vertices.values()
        if query.asks_about(vertex.proposition) and vertex.id not in graph.superseded
    ]
    void = invalidated(graph, [vertex.id for vertex in asked])
    return tuple(sorted((vertex for vertex in asked if vertex.id not in void), key=_age))


def evaluate(graph: Graph, query: Query, access: Access, policy: Policy) -> Evaluation:
    """Decide the status of a question at its moment, for one asker (P22 to P25, P30)."""
    found = relevant(graph, query)
    visible = [vertex for vertex in found if vertex.scope.allows(access)]
    hidden = tuple(vertex for vertex in found if not vertex.scope.allows(access))
    wanted = policy.roots_for(query.predicate)
    now = Reading(access, query.at, evaluators=policy.evaluators)
    supports = _supports(graph, visible, now, wanted)
    status, flags, hindered = Status.SUPPORTED, frozenset[Flag](), None
    if not supports:
        status, flags, hindered = _hindered(graph, visible, now, wanted)
    contradictions = _inscribed(graph, query, access, policy)
    if len(supports) > 1 or contradictions:
        flags = frozenset({Flag.CONFLICTED})
    if hidden:
        flags |= {Flag.WITHHELD}
    return Evaluation(
        status=status,
        flags=flags,
        relevant=found,
        hidden=hidden,
        supports=supports,
        contradictions=contradictions,
        hindered=hindered,
    )


def _hindered(
    graph: Graph, visible: Sequence[Vertex], now: Reading, wanted: int
) -> tuple[Status, frozenset[Flag], Support | None]:
    """The least that is in the way: something gone, another time, or both; otherwise nothing is known."""
    for at, markers, status, flags in (
        (now.at, True, Status.UNAVAILABLE, frozenset[Flag]()),
        (None, False, Status.UNKNOWN, _STALE),
        (None, True, Status.UNAVAILABLE, _STALE),
    ):
        supports = _supports(graph, visible, msgspec.structs.replace(now, at=at, markers=markers), wanted)
        if supports:
            return status, flags, supports[0]
    return Status.UNKNOWN, frozenset(), None


def _supports(graph: Graph, vertices: Sequence[Vertex], reading: Reading, wanted: int) -> tuple[Support, ...]:
    """A support for each value that has one, in the order in which the values were first said."""
    families = read_families(graph, [vertex.id for vertex in vertices], reading)
    by_value: dict[str, list[Vertex]] = {}
    for vertex in vertices:
        if vertex.proposition is not None:
            by_value.setdefault(vertex.proposition.value, []).append(vertex)
    found = (_support(graph, value, said, families, wanted) for value, said in by_value.items())
    return tuple(support for support in found if support is not None)


def _support(
    graph: Graph, value: str, said: Sequence[Vertex], families: Families, wanted: int
) -> Support | None:
    """The fewest vertices that reach the count, and of those the oldest; of one and the same family one is enough.

    Where it would take too long to find the fewest, those with whose roots it was seen that there are enough.
    """
    unlike: dict[Family, Vertex] = {}
    for vertex in said:
        unlike.setdefault(families.alone[vertex.id], vertex)
    owners = {one: vertex for family, vertex in reversed(unlike.items()) for one in family}
    enough = disjoint_sets(in_order(owners), wanted)
    if not enough:
        return None
    premises = _fewest(unlike, wanted)
    if premises is None:
        premises = tuple(sorted({owners[one].id: owners[one] for one in enough}.values(), key=_age))
    else:
        owners = {one: vertex for vertex in reversed(premises) for one in families.alone[vertex.id]}
        enough = disjoint_sets(in_order(owners), wanted) or ()
    return Support(
        value,
        premises,
        tuple((owners[one], one) for one in enough),
        tuple(path_of(graph, families, owners[one].id, one) for one in enough),
    )


def _fewest(unlike: Mapping[Family, Vertex], wanted: int) -> tuple[Vertex, ...] | None:
    """The fewest vertices that reach the count, and of those the oldest; None if that is too much to try."""
    effort = Effort()
    choices = [
        _Choice(vertex, family, count_independent(family, wanted, effort))
        for family, vertex in unlike.items()
    ]
    for size in range(1, wanted + 1):
        premises = _chosen(choices, size, wanted, (), effort)
        if effort.is_spent:
            return None
        if premises is not None:
            return premises
    return None


def _chosen(
    choices: Sequence[_Choice], size: int, wanted: int, sets: tuple[RootSet, ...], effort: Effort
) -> tuple[Vertex, ...] | None:
    """The first so many choices, in their order, that reach the count together with these sets; None if none do.

    A choice adds no more than it reaches alone, so most ways need not be gone to their end.
    """
    effort.spend(len(choices))
    missing = wanted - count_independent(sets, wanted, effort)
    if size == 0:
        return None if missing else ()
    if missing > sum(sorted((choice.alone for choice in choices), reverse=True)[:size]):
        return None
    left = deque(choices)
    while left and not effort.is_spent:
        choice = left.popleft()
        rest = _chosen(tuple(left), size - 1, wanted, sets + choice.family, effort)
        if rest is not None:
            return (choice.vertex, *rest)
    return None


def _inscribed(graph: Graph, query: Query, access: Access, policy: Policy) -> tuple[Contradiction, ...]:
    """The declared contradictions about this question of which both sides stand now."""
    found = []
    for names in sorted(graph.inscribed):
        pair = [graph.vertices[name] for name in names if name in graph.vertices]
        if any(query.asks_about(vertex.proposition) for vertex in pair):
            sides = [_standing(graph, vertex, query.at, access, policy) for vertex in pair]
            supports = [support for support in sides if support is not None]
            if len(supports) == 2:
                found.append(Contradiction(tuple(pair), tuple(supports)))
    return tuple(found)


def _standing(graph: Graph, vertex: Vertex, at: int, access: Access, policy: Policy) -> Support | None:
    """What supports the value of a vertex at a moment, if the vertex is part of it: seen, in force, and with roots."""
    said = vertex.proposition
    if said is None:
        return None
    query = Query(said.subject, said.predicate, at, said.modality)
    visible = [one for one in relevant(graph, query) if one.scope.allows(access)]
    reading = Reading(access, query.at, evaluators=policy.evaluators)
    if vertex not in visible or not root_families(graph, [vertex.id], reading)[vertex.id]:
        return None
    supports = _supports(graph, visible, reading, policy.roots_for(said.predicate))
    return next((support for support in supports if support.value == said.value), None)


def _age(vertex: Vertex) -> tuple[int, str]:
    return vertex.observed_at, vertex.id
