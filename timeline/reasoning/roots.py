"""On which roots a vertex stands, over the real graph, and how many independent ones there are (P10, P11, P34). Pure.

A *root set* is a smallest set of roots that suffices together. A vertex with alternatives has several: its *family*.
Whether two statements corroborate each other is decided by these sets alone: copies, paraphrases and summaries of one
source all stand on the same root and count once.

A family holds at most ``FAMILY_MAX`` sets. Where there would be more, the smallest are kept and the rest is left out:
to know fewer ways in which something is supported can only count less, never more, and never empties a family.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from timeline.reasoning.admission import dependencies_first, is_root_ok
from timeline.reasoning.graph import Access, Graph, Vertex
from timeline.reasoning.roles import UNVERIFIED

RootSet: TypeAlias = frozenset[str]
Family: TypeAlias = tuple[RootSet, ...]

FAMILY_MAX: Final = 64
"""Root sets kept of one vertex: more ways than any policy can ask for, and few enough to be combined."""


class Reading(msgspec.Struct, frozen=True):
    """Under what the graph is read: for whom; at which moment, or without time; and whether what is gone counts."""

    access: Access
    at: int | None
    markers: bool = False


def root_families(graph: Graph, ids: Iterable[str], reading: Reading) -> dict[str, Family]:
    """The families of these vertices and of all that they depend on.

    A vertex that may not be used has none: unverified, superseded, revoked, hidden from the asker, or not valid at the
    moment; and an alternative with such a member supports nothing. So validity is transitive.
    """
    families: dict[str, Family] = {}
    for name in dependencies_first(graph, ids):
        vertex = graph.vertices.get(name)
        if vertex is not None:
            families[name] = _family(graph, vertex, reading, families)
        elif reading.markers and name in graph.markers and name not in graph.revoked:
            families[name] = (frozenset({name}),)
        else:
            families[name] = ()
    return families


def _family(graph: Graph, vertex: Vertex, reading: Reading, families: Mapping[str, Family]) -> Family:
    if not _is_usable(graph, vertex, reading):
        return ()
    if vertex.derivation is None:
        return (frozenset({vertex.root_id}),) if is_root_ok(vertex) else ()
    found: set[RootSet] = set()
    for alternative in vertex.derivation.alternatives:
        found.update(_combined([families[member] for member in sorted(alternative)]))
    return _smallest(found)


def _is_usable(graph: Graph, vertex: Vertex, reading: Reading) -> bool:
    return (
        vertex.role not in UNVERIFIED
        and vertex.id not in graph.superseded
        and not _is_revoked(graph, vertex)
        and vertex.scope.allows(reading.access)
        and (reading.at is None or vertex.holds_at(reading.at))
    )


def _combined(members: Sequence[Family]) -> Family:
    """The root sets of members that are needed together: one of each."""
    combined: Family = members[0]
    for family in members[1:]:
        combined = _smallest({one | other for one in combined for other in family})
    return combined


def _smallest(sets: Iterable[RootSet]) -> Family:
    """The sets that contain no other one, in order; at most ``FAMILY_MAX``."""
    kept: list[RootSet] = []
    for candidate in in_order(sets):
        if not any(candidate.issuperset(other) for other in kept):
            kept.append(candidate)
    return tuple(kept[:FAMILY_MAX])


def in_order(sets: Iterable[RootSet]) -> list[RootSet]:
    """The different ones of these sets in their one order: by size, then by name."""
    return sorted(set(sets), key=lambda one: (len(one), sorted(one)))


def _is_revoked(graph: Graph, vertex: Vertex) -> bool:
    return vertex.id in graph.revoked or vertex.root_id in graph.revoked


def invalidated(graph: Graph, ids: Iterable[str]) -> frozenset[str]:
    """Which of these, and of what they depend on, are revoked or left without an alternative that is not (P34)."""
    found: set[str] = set()
    for name in dependencies_first(graph, ids):
        vertex = graph.vertices.get(name)
        if vertex is None:
            gone = name in graph.revoked
        else:
            gone = _is_revoked(graph, vertex) or (
                vertex.derivation is not None
                and all(not found.isdisjoint(members) for members in vertex.derivation.alternatives)
            )
        if gone:
            found.add(name)
    return frozenset(found)


def roots_of(family: Family) -> frozenset[str]:
    """All roots on which something stands, whichever of its root sets is used (P10)."""
    return frozenset().union(*family)


def are_independent(one: Family, other: Family) -> bool:
    """Whether both have roots, and no root in common (P11)."""
    mine, others = roots_of(one), roots_of(other)
    return bool(mine) and bool(others) and mine.isdisjoint(others)


def disjoint_sets(sets: Sequence[RootSet], wanted: int) -> tuple[RootSet, ...] | None:
    """The first so many of these sets, in their order, of which no two have a root in common; None if there are not.

    Exact; the work may grow with the number of sets to the power of ``wanted``, which a policy keeps small.
    """
    if wanted == 0:
        return ()
    if not _may_hold(sets, wanted):
        return None
    left = deque(sets)
    while left:
        first = left.popleft()
        rest = disjoint_sets([other for other in left if first.isdisjoint(other)], wanted - 1)
        if rest is not None:
            return (first, *rest)
    return None


def _may_hold(sets: Sequence[RootSet], wanted: int) -> bool:
    """Whether it is worth while to look: not if fewer roots than are wanted are, one or another, in every set.

    However many sets share a root, this sees in one pass that they count once.
    """
    left = sets
    for _ in range(wanted - 1):
        shared = Counter(root for one in left for root in one)
        commonest = {root for root, _ in shared.most_common(1)}
        left = [one for one in left if commonest.isdisjoint(one)]
    return bool(left)


def count_independent(sets: Iterable[RootSet], enough: int) -> int:
    """How many of these sets, at most, are pairwise disjoint; counted up to ``enough``."""
    candidates = in_order(sets)
    return max(count for count in range(enough + 1) if disjoint_sets(candidates, count) is not None)


def path_of(
    graph: Graph, families: Mapping[str, Family], name: str, roots: RootSet
) -> dict[str, frozenset[str]]:
    """One way from a vertex down to a root set of its family: each vertex and marker used, with the members used.

    Of several alternatives that would do, the first in order of their sorted members is taken.
    """
    path: dict[str, frozenset[str]] = {}
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current in path:
            continue
        vertex = graph.vertices.get(current)
        alternatives = () if vertex is None or vertex.derivation is None else vertex.derivation.alternatives
        usable = [
            sorted(members)
            for members in alternatives
            if all(any(one <= roots for one in families[member]) for member in members)
        ]
        used = min(usable, default=[])
        path[current] = frozenset(used)
        waiting.extend(used)
    return path
