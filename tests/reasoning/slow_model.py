"""Root sets and support the slow and plain way: every way in which the whole graph could have come about, one by one.

A *choice* picks one alternative for each derived vertex of the graph. Under one choice a vertex needs exactly the
vertices and markers that can be reached from it, and whether that is sound can be read off the list. Nothing here is
recursive over sets of sets, and nothing is taken from the real resolver but its types.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import NamedTuple

from timeline.reasoning.graph import Access, Graph, Scope, Vertex
from timeline.reasoning.policy import Policy
from timeline.reasoning.proposition import Proposition, Query

UNVERIFIED = {"model-prior", "unverified-retrieval", "probabilistic-interpretation", "hypothesis"}
Choice = Mapping[str, frozenset[str]]
RootSet = frozenset[str]


class Lens(NamedTuple):
    """What is looked away from."""

    any_time: bool = False
    markers: bool = False


NOW = Lens()
LENSES = {
    NOW: ("Supported", frozenset[str]()),
    Lens(markers=True): ("Unavailable", frozenset[str]()),
    Lens(any_time=True): ("Unknown", frozenset({"Stale"})),
    Lens(any_time=True, markers=True): ("Unavailable", frozenset({"Stale"})),
}


class SlowDecision(NamedTuple):
    """Status, flags, and the ids of S."""

    status: str
    flags: frozenset[str]
    premises: frozenset[str]


def choices(graph: Graph) -> Iterator[Choice]:
    """Every way to pick one alternative for each derived vertex."""
    derived = [vertex for vertex in graph.vertices.values() if vertex.derivation]
    for picked in product(*(vertex.derivation.alternatives for vertex in derived if vertex.derivation)):
        yield {vertex.id: way for vertex, way in zip(derived, picked, strict=True)}


def needed(start: str, choice: Choice) -> set[str]:
    """The ids that ``start`` needs under ``choice``, itself included."""
    found, todo = set[str](), [start]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo.extend(choice.get(name, ()))
    return found


def _fits(wanted: str | None, allowed: frozenset[str] | None) -> bool:
    return allowed is None or wanted in allowed


def may_see(scope: Scope, access: Access) -> bool:
    """Whether all three parts of a scope allow the one who asks."""
    return (
        _fits(access.principal, scope.principals)
        and _fits(access.purpose, scope.purposes)
        and _fits(access.task, scope.tasks)
    )


def is_revoked(graph: Graph, name: str) -> bool:
    """Whether this id itself, or the root that it stands for, was revoked."""
    vertex = graph.vertices.get(name)
    return name in graph.revoked or (
        vertex is not None and vertex.derivation is None and vertex.root_id in graph.revoked
    )


def is_invalidated(graph: Graph, name: str) -> bool:
    """Whether each complete way to it leads over something revoked."""
    return all(any(is_revoked(graph, one) for one in needed(name, choice)) for choice in choices(graph))


def _is_current(vertex: Vertex, at: int) -> bool:
    return (vertex.start is None or vertex.start <= at) and (vertex.end is None or at < vertex.end)


class Slow:
    """One graph, seen by one reader at one moment."""

    def __init__(self, graph: Graph, access: Access, at: int, good: frozenset[str]) -> None:
        """``good`` are the ids of the roots whose origin proves something."""
        self.graph = graph
        self.access = access
        self.at = at
        self.good = good
        self._choices = list(choices(graph))
        self._found: dict[tuple[str, Lens], set[RootSet]] = {}

    def _spoils(self, name: str, lens: Lens) -> bool:
        if name in self.graph.markers:
            return not lens.markers or is_revoked(self.graph, name)
        vertex = self.graph.vertices[name]
        return (
            vertex.role in UNVERIFIED
            or not may_see(vertex.scope, self.access)
            or name in self.graph.superseded
            or is_revoked(self.graph, name)
            or (vertex.derivation is None and name not in self.good)
            or not (lens.any_time or _is_current(vertex, self.at))
        )

    def _roots_in(self, names: set[str]) -> RootSet:
        roots = [self.graph.vertices[name] for name in names if name in self.graph.vertices]
        return frozenset(
            {vertex.root_id for vertex in roots if vertex.derivation is None}
            | {name for name in names if name in self.graph.markers}
        )

    def root_sets(self, name: str, lens: Lens = NOW) -> set[RootSet]:
        """The minimal root sets of a vertex."""
        if (name, lens) not in self._found:
            self._found[name, lens] = self._root_sets(name, lens)
        return self._found[name, lens]

    def _root_sets(self, name: str, lens: Lens) -> set[RootSet]:
        found = {
            self._roots_in(names)
            for names in (needed(name, choice) for choice in self._choices)
            if not any(self._spoils(one, lens) for one in names)
        }
        return {one for one in found if not any(other < one for other in found)}

    def count(self, names: frozenset[str], lens: Lens = NOW) -> int:
        """The largest number of root sets of these vertices of which no two have anything in common."""
        sets = sorted({roots for name in names for roots in self.root_sets(name, lens)}, key=sorted)
        for size in range(len(sets), 0, -1):
            for some in combinations(sets, size):
                if sum(map(len, some)) == len(frozenset().union(*some)):
                    return size
        return 0

    def _relevant(self, query: Query) -> list[Vertex]:
        return [
            vertex
            for vertex in self.graph.vertices.values()
            if query.asks_about(vertex.proposition)
            and vertex.id not in self.graph.superseded
            and not is_invalidated(self.graph, vertex.id)
        ]

    def _by_value(self, query: Query) -> dict[Proposition, frozenset[str]]:
        visible = [vertex for vertex in self._relevant(query) if may_see(vertex.scope, self.access)]
        return {
            said: frozenset(vertex.id for vertex in visible if vertex.proposition == said)
            for said in {vertex.proposition for vertex in visible if vertex.proposition}
        }

    def _premises(self, names: frozenset[str], wanted: int) -> frozenset[str]:
        order = sorted(names, key=lambda name: (self.graph.vertices[name].observed_at, name))
        return next(
            frozenset(some)
            for size in range(1, len(order) + 1)
            for some in combinations(order, size)
            if self.count(frozenset(some)) >= wanted
        )

    def resolve(self, query: Query, policy: Policy) -> SlowDecision:
        """Status, flags and S, without inscribed conflicts."""
        wanted = policy.roots_for(query.predicate)
        by_value = self._by_value(query)
        withheld = any(not may_see(vertex.scope, self.access) for vertex in self._relevant(query))
        reached, status, flags = self._first_reached(by_value, wanted)
        premises = frozenset[str]()
        if status == "Supported":
            premises = frozenset(name for names in reached for name in self._premises(names, wanted))
            flags = frozenset({"Conflicted"}) if len(reached) > 1 else flags
        return SlowDecision(status, flags | (frozenset({"Withheld"}) if withheld else frozenset()), premises)

    def _first_reached(
        self, by_value: Mapping[Proposition, frozenset[str]], wanted: int
    ) -> tuple[list[frozenset[str]], str, frozenset[str]]:
        for lens, (status, flags) in LENSES.items():
            reached = [names for names in by_value.values() if self.count(names, lens) >= wanted]
            if reached:
                return reached, status, flags
        return [], "Unknown", frozenset()
