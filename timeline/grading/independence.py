"""Which sources are independent of each other, counted without comparing every pair. Pure.

Two sources are independent if both have a root, and root, session and entity all differ (P11, G21, M7): one session is
one witness, however many roots it has quoted, and nobody corroborates himself. A source without a root is independent
of nothing.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

from sidecars.graded import ClaimSource

Marks: TypeAlias = tuple[str | None, str | None, str | None]
"""Entity, root and session; ``None`` stands for any."""


class Place(NamedTuple):
    """A source with a root, and from when until before when its claim holds (UTC milliseconds)."""

    entity: str
    root: str
    session: str | None
    start: int
    end: int


def find_place(source: ClaimSource, window: tuple[int, int]) -> Place | None:
    """Where a source stands; ``None`` for one of unknown lineage."""
    if source.root is None:
        return None
    return Place(source.entity, source.root, source.session, *window)


class Crowd:
    """Sources of one question; says how many of them are independent of one, and hold at some moment together with it.

    Counted by inclusion and exclusion over the three marks, so that no flood of sources makes it slow: the cost is that
    of sorting.
    """

    def __init__(self, places: Iterable[Place]) -> None:
        """Take the sources in; their order does not matter."""
        self._starts: dict[Marks, list[int]] = {}
        self._ends: dict[Marks, list[int]] = {}
        for place in places:
            for marks in _marks(place):
                self._starts.setdefault(marks, []).append(place.start)
                self._ends.setdefault(marks, []).append(place.end)
        for times in (*self._starts.values(), *self._ends.values()):
            times.sort()

    def count_independent(self, place: Place) -> int:
        """How many are independent of ``place`` and overlap with it."""
        return sum(self._overlapping(marks, place) * (-1 if _is_odd(marks) else 1) for marks in _marks(place))

    def count_of_entity(self, place: Place) -> int:
        """How many are of the same entity and overlap with it."""
        return self._overlapping((place.entity, None, None), place)

    def _overlapping(self, marks: Marks, place: Place) -> int:
        """Those that begin before its end, without those that end by its beginning."""
        starts = self._starts.get(marks)
        if starts is None:
            return 0
        return bisect_left(starts, place.end) - bisect_right(self._ends[marks], place.start)


def _marks(place: Place) -> Iterable[Marks]:
    """Every set of its marks, the empty one included."""
    return product(
        (None, place.entity), (None, place.root), (None, place.session) if place.session else (None,)
    )


def _is_odd(marks: Marks) -> bool:
    return sum(mark is not None for mark in marks) % 2 == 1


def group_witnesses(sources: Sequence[ClaimSource]) -> list[list[int]]:
    """Which of the sources are one witness: their positions, by the first of each.

    Whatever shares a root, a session or an entity is one witness, and so is what is connected by such steps: a session
    that has seen another root's words is no second witness to them. Sources of unknown lineage are in no group.
    """
    leader: dict[tuple[str, str], tuple[str, str]] = {}

    def find(mark: tuple[str, str]) -> tuple[str, str]:
        leader.setdefault(mark, mark)
        while leader[mark] != mark:
            leader[mark] = leader[leader[mark]]
            mark = leader[mark]
        return mark

    for source in sources:
        if source.root is not None:
            for mark in _shared(source):
                leader[find(mark)] = find(("root", source.root))
    groups: dict[tuple[str, str], list[int]] = {}
    for position, source in enumerate(sources):
        if source.root is not None:
            groups.setdefault(find(("root", source.root)), []).append(position)
    return list(groups.values())


def _shared(source: ClaimSource) -> list[tuple[str, str]]:
    """What makes a source one witness with another, apart from its root."""
    marks = [("entity", source.entity)]
    if source.session is not None:
        marks.append(("session", source.session))
    return marks
