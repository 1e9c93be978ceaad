"""Which sources are one voice, and how many others speak at the same time. Pure.

Two sources are independent if both have a root and belong to two voices (P11, M7). Whatever shares a root, a session
or an entity is one voice: one session is one voice, however many roots it has quoted, and nobody corroborates
himself (G21). A source without a root is independent of nothing.

What is told again is no source beside the first: of each root only those count that stood nearest, and a retelling is
one hop further (``distance.retell``). So no copy, wherever it is made, adds a voice or ties two of them together.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from sidecars.graded import ClaimSource

Mark: TypeAlias = tuple[str, str]
"""What sources may share: its kind, and the name."""


def name_voices(sources: Iterable[ClaimSource]) -> dict[str, Mark]:
    """The voice to which each root belongs; roots that are connected by shared marks have the same one.

    Sources of unknown lineage belong to none, and connect nothing.
    """
    leader: dict[Mark, Mark] = {}

    def find(mark: Mark) -> Mark:
        leader.setdefault(mark, mark)
        while leader[mark] != mark:
            leader[mark] = leader[leader[mark]]
            mark = leader[mark]
        return mark

    roots: set[str] = set()
    for source in sources:
        if source.root is not None:
            roots.add(source.root)
            leader[find(("entity", source.entity))] = find(("root", source.root))
            if source.session is not None:
                leader[find(("session", source.session))] = find(("root", source.root))
    return {root: find(("root", root)) for root in roots}


class Place(NamedTuple):
    """A source by its voice and its entity, and from when until before when its claim holds (UTC milliseconds)."""

    voice: Mark
    entity: Mark
    start: int
    end: int


class Crowd:
    """Sources of one question; says how many of them hold at some moment together with one.

    They are counted in sorted lists of times, so that no flood of sources makes it slow.
    """

    def __init__(self, places: Iterable[Place]) -> None:
        """Take the sources in; their order does not matter."""
        self._starts: dict[Mark | None, list[int]] = {}
        self._ends: dict[Mark | None, list[int]] = {}
        for place in places:
            for mark in (None, place.voice, place.entity):
                self._starts.setdefault(mark, []).append(place.start)
                self._ends.setdefault(mark, []).append(place.end)
        for times in (*self._starts.values(), *self._ends.values()):
            times.sort()

    def count_others(self, place: Place) -> int:
        """How many of other voices overlap with ``place``."""
        return self._overlapping(None, place) - self._overlapping(place.voice, place)

    def count_of_entity(self, place: Place) -> int:
        """How many of the same entity overlap with it."""
        return self._overlapping(place.entity, place)

    def _overlapping(self, mark: Mark | None, place: Place) -> int:
        """Those that begin before its end, without those that end by its beginning."""
        if mark not in self._starts:
            return 0
        return bisect_left(self._starts[mark], place.end) - bisect_right(self._ends[mark], place.start)
