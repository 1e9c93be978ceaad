"""On which roots a vertex stands, over the real graph, and how many independent ones there are (P10, P11, P34). Pure.

A *root set* is a smallest set of roots that suffices together. A vertex with alternatives has several: its *family*.
Whether two statements corroborate each other is decided by these sets alone: copies, paraphrases and summaries of one
source all stand on the same root and count once.

A family holds at most ``FAMILY_MAX`` sets, a reading makes at most ``UNIONS_MAX`` of them, and a search for disjoint
ones costs at most ``EFFORT_MAX``. Where there would be more, the smallest are kept and the rest is left out: to know
fewer ways in which something is supported can only count less, never more, and never empties a family. Else a few dozen
suggestions could keep whoever asks waiting for hours.
"""

from collections import ChainMap, Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec

from timeline.reasoning.admission import dependencies_first, is_root_ok
from timeline.reasoning.graph import Access, Graph, Vertex
from timeline.reasoning.roles import UNVERIFIED, Role

RootSet: TypeAlias = frozenset[str]
Family: TypeAlias = tuple[RootSet, ...]

FAMILY_MAX: Final = 64
"""Root sets kept of one vertex: more ways than any policy can ask for, and few enough to be combined."""

UNIONS_MAX: Final = 50_000
"""Unions of root sets made in one reading, for what was asked first before the rest; behind that, one root set of each
member is used."""

EFFORT_MAX: Final = 500_000
"""Root sets looked at in one search for disjoint ones; behind that there are none."""


class Effort:
    """What a search may still cost, in root sets looked at: as good as none to whom it does not matter."""

    __slots__ = ("_left",)

    def __init__(self, most: int = EFFORT_MAX) -> None:
        """Nothing was spent yet."""
        self._left = most

    @property
    def is_spent(self) -> bool:
        """Whether the search was given up."""
        return self._left < 0

    def spend(self, cost: int) -> None:
        """Count what is going to be looked at."""
        self._left -= cost


class Reading(msgspec.Struct, frozen=True):
    """Under what the graph is read: for whom; at which moment, or without time; and whether what is gone counts.

    ``evaluators`` are those whose interpretations are accepted; ``None`` is all.
    """

    access: Access
    at: int | None
    markers: bool = False
    evaluators: frozenset[str] | None = None


class Families(NamedTuple):
    """What vertices stand on: ``alone``; and ``taken_up``, interpretations that the policy does not accept.

    A belief stands on those too. Nothing else does, and no question: whether something counts must not depend on what
    else is asked about.
    """

    alone: dict[str, Family]
    taken_up: dict[str, Family]


def root_families(graph: Graph, ids: Iterable[str], reading: Reading) -> Mapping[str, Family]:
    """The families of these vertices and of all that they may use.

    A vertex that may not be used has none: unverified, read by nobody whom the policy accepts, superseded, revoked,
    hidden from the asker, or not valid at the moment. An alternative with such a member supports nothing: so validity
    is transitive.
    """
    return read_families(graph, ids, reading).alone


def read_families(graph: Graph, ids: Iterable[str], reading: Reading) -> Families:
    """The same, with what the interpretations stand on that count only where a belief takes them up."""
    alone: dict[str, Family] = {}
    taken_up: dict[str, Family] = {}
    effort = Effort(UNIONS_MAX)

    def is_usable(vertex: Vertex) -> bool:
        return _is_usable(graph, vertex, reading)

    for name in dependencies_first(graph, ids, through=is_usable):
        vertex = graph.vertices.get(name)
        alone[name] = ()
        if vertex is None:
            is_counted = reading.markers and name in graph.markers and name not in graph.revoked
            alone[name] = (frozenset({name}),) if is_counted else ()
        elif is_usable(vertex):
            found = _family(vertex, _members_of(vertex, Families(alone, taken_up)), effort)
            (alone if _is_accepted(vertex, reading) else taken_up)[name] = found
    return Families(alone, taken_up)


def _members_of(vertex: Vertex, families: Families) -> Mapping[str, Family]:
    """The families of what a vertex may be derived from: who holds a belief has the authority to take it up (P46)."""
    is_belief = vertex.role is Role.RECORDED_BELIEF
    return ChainMap(families.taken_up, families.alone) if is_belief else families.alone


def _family(vertex: Vertex, members: Mapping[str, Family], effort: Effort) -> Family:
    if vertex.derivation is None:
        return (frozenset({vertex.root_id}),) if is_root_ok(vertex) else ()
    found: set[RootSet] = set()
    for alternative in vertex.derivation.alternatives:
        found.update(_combined([members[member] for member in sorted(alternative)], effort))
    return _smallest(found)


def _is_usable(graph: Graph, vertex: Vertex, reading: Reading) -> bool:
    return (
        vertex.role not in UNVERIFIED
        and vertex.id not in graph.superseded
        and not _is_revoked(graph, vertex)
        and vertex.scope.allows(reading.access)
        and (reading.at is None or vertex.holds_at(reading.at))
    )


def _is_accepted(vertex: Vertex, reading: Reading) -> bool:
    """What somebody reads in a report counts by itself only where the policy accepts who read it."""
    if vertex.role is not Role.MEMORY_INTERPRETATION or reading.evaluators is None:
        return True
    return vertex.derivation is not None and vertex.derivation.evaluator in reading.evaluators


def _combined(members: Sequence[Family], effort: Effort) -> Family:
    """The root sets of members that are needed together: one of each."""
    if not all(members):
        return ()
    combined: Family = members[0]
    for family in members[1:]:
        effort.spend(len(combined) * len(family))
        some = (combined[:1], family[:1]) if effort.is_spent else (combined, family)
        combined = _smallest({one | other for one in some[0] for other in some[1]})
    return combined


def _smallest(sets: Iterable[RootSet]) -> Family:
    """The sets that contain no other one, in order; at most ``FAMILY_MAX``."""
    kept: list[RootSet] = []
    for candidate in in_order(sets):
        if len(kept) == FAMILY_MAX:
            break
        if not any(candidate.issuperset(other) for other in kept):
            kept.append(candidate)
    return tuple(kept)


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


def disjoint_sets(
    sets: Sequence[RootSet], wanted: int, effort: Effort | None = None
) -> tuple[RootSet, ...] | None:
    """The first so many of these sets, in their order, of which no two have a root in common; None if there are not.

    Exact as far as the effort goes; the work may grow with the number of sets to the power of ``wanted``.
    """
    if wanted == 0:
        return ()
    allowed = Effort() if effort is None else effort
    allowed.spend(wanted * len(sets))
    if allowed.is_spent or not _may_hold(sets, wanted):
        return None
    left = deque(sets)
    while left and not allowed.is_spent:
        first = left.popleft()
        allowed.spend(len(left))
        rest = disjoint_sets([other for other in left if first.isdisjoint(other)], wanted - 1, allowed)
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


def count_independent(sets: Iterable[RootSet], enough: int, effort: Effort | None = None) -> int:
    """How many of these sets, at most, are pairwise disjoint; counted up to ``enough``."""
    candidates = in_order(sets)
    return max(count for count in range(enough + 1) if disjoint_sets(candidates, count, effort) is not None)


def path_of(graph: Graph, families: Families, name: str, roots: RootSet) -> dict[str, frozenset[str]]:
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
        used: list[str] = []
        if vertex is not None and vertex.derivation is not None:
            known = _members_of(vertex, families)
            usable = (
                sorted(members)
                for members in vertex.derivation.alternatives
                if all(any(one <= roots for one in known[member]) for member in members)
            )
            used = min(usable, default=[])
        path[current] = frozenset(used)
        waiting.extend(used)
    return path
