"""What a person should look at in a run of the computation. Pure.

An anomaly explains itself by counts and changes no score: a rule that punished what only looks odd would be one more
way to damage a source.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from sidecars.graded import Anomaly, AnomalyKind, CredibilityRow
from timeline.grading.assessment import Assessed
from timeline.grading.credibility import GLOBAL

RING_MIN: Final = 3
"""Positions of two entities that nobody but the other one corroborates, before they are told of."""

FLOOD_MIN: Final = 8
"""Sources of one value with one root, before they are told of."""

UNKNOWN_MIN: Final = 3
"""Claims of unknown lineage, more than half of an entity's, before they are told of."""

DROP_MIN: Final = 200_000
"""By how many millionths a score falls from one run to the next, before it is told of."""


class Anomalies:
    """Collects what is odd, question by question."""

    def __init__(self, as_of: int) -> None:
        """Count what is said after ``as_of`` (UTC milliseconds) as said in the future."""
        self._as_of = as_of
        self._future: dict[str, int] = {}
        self._divided: dict[str, int] = {}
        self._said: dict[str, int] = {}
        self._without_root: dict[str, int] = {}
        self._floods: dict[str, int] = {}
        self._partners: dict[str, list[str]] = {}

    def add(self, assessed: Sequence[Assessed]) -> None:
        """Look at the sources of one question."""
        roots: dict[tuple[str, str], int] = {}
        agreeing: dict[str, set[str]] = {}
        divided = set()
        for one in assessed:
            claim, source = one.claimed.claim, one.source
            _count(self._said, source.entity)
            if claim.said_at > self._as_of:
                _count(self._future, source.entity)
            if source.root is None:
                _count(self._without_root, source.entity)
            else:
                place = (source.root, claim.value)
                roots[place] = roots.get(place, 0) + 1
            if one.corroborated:
                agreeing.setdefault(claim.value, set()).add(source.entity)
            if one.contradicts_itself:
                divided.add(source.entity)
        for (root, _), number in roots.items():
            if number >= FLOOD_MIN:
                _count(self._floods, root, number)
        for entity in divided:
            _count(self._divided, entity)
        for entities in agreeing.values():
            for entity in entities:
                others = "" if len(entities) != 2 else next(iter(entities - {entity}))
                self._partners.setdefault(entity, []).append(others)

    def found(
        self, rows: Iterable[CredibilityRow], previous: Iterable[CredibilityRow]
    ) -> tuple[Anomaly, ...]:
        """Everything odd, sorted by kind, then whom it is about, then domain."""
        kinds: tuple[tuple[AnomalyKind, dict[str, int]], ...] = (
            ("mutual-corroboration", self._rings()),
            ("one-root-flood", self._floods),
            ("said-in-future", self._future),
            ("self-contradiction", self._divided),
            ("unknown-lineage", self._unknown()),
        )
        found = [
            Anomaly(kind=kind, about=about, domain=GLOBAL, count=number)
            for kind, counts in kinds
            for about, number in counts.items()
        ]
        found += _drops(rows, previous)
        return tuple(sorted(found, key=lambda one: (one.kind, one.about, one.domain)))

    def _rings(self) -> dict[str, int]:
        """Entities that are corroborated by one other alone, which is corroborated by them alone."""
        only = {
            entity: names[0]
            for entity, names in self._partners.items()
            if len(names) >= RING_MIN and len(set(names)) == 1 and names[0]
        }
        return {
            entity: len(self._partners[entity]) for entity, other in only.items() if only.get(other) == entity
        }

    def _unknown(self) -> dict[str, int]:
        return {
            entity: number
            for entity, number in self._without_root.items()
            if number >= UNKNOWN_MIN and 2 * number > self._said[entity]
        }


def _count(counts: dict[str, int], name: str, number: int = 1) -> None:
    counts[name] = counts.get(name, 0) + number


def _drops(rows: Iterable[CredibilityRow], previous: Iterable[CredibilityRow]) -> list[Anomaly]:
    """Scores that are far below those of the run before, with how many positions are contradicted now."""
    before = {(row.entity, row.domain): row.score for row in previous}
    return [
        Anomaly(kind="sudden-drop", about=row.entity, domain=row.domain, count=row.contradicted)
        for row in rows
        if before.get((row.entity, row.domain), 0) - row.score >= DROP_MIN
    ]
