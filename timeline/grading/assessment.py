"""Which sources' claims were corroborated or contradicted by independent ones. Pure.

Corroborated: an independent source says the same value, by the same bytes, of an overlapping time. Contradicted: an
independent source says another value of an overlapping time, and the question's strictest class is ``immutable``: what
may drift or be replaced contradicts nothing (G16, G19, G24). In a class that changes slowly, another value within 180
days is *suspicious*, and has no effect on anybody's record (G17).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sidecars.graded import ClaimSource, Mutability
from timeline.grading.claims import Claimed, sources_of
from timeline.grading.credibility import DAY_MS
from timeline.grading.independence import Crowd, Place, find_place

SUSPICIOUS_DAYS: Final = 180
"""Within which a slow thing does not often change (G17); a choice of this version's tables."""


class Assessed(NamedTuple):
    """What became of one source's claim."""

    claimed: Claimed
    source: ClaimSource
    corroborated: bool
    contradicted: bool
    contradicts_itself: bool


def assess(claims: Sequence[Claimed], mutability: Mutability) -> list[Assessed]:
    """Each source of the claims of one question that count for somebody's record (``Claimed.counts``).

    ``mutability`` is the strictest class of the question. Sources of unknown lineage corroborate and contradict
    nothing, and nothing corroborates or contradicts them (M7).
    """
    placed = [
        (one, source, find_place(source, one.window))
        for one, source in sources_of(one for one in claims if one.counts)
    ]
    places = [(one.claim.value, place) for one, _, place in placed if place is not None]
    if (
        len({place.root for _, place in places}) < 2
    ):  # nearly all questions: nothing is independent of anything
        crowds: dict[str, Crowd] = {}
        everyone = Crowd(())
    else:
        crowds = _by_value(places)
        everyone = Crowd(place for _, place in places)
    hard = mutability == "immutable"
    found = []
    for one, source, place in placed:
        same = crowds.get(one.claim.value)
        if place is None or same is None:
            found.append(Assessed(one, source, False, False, False))
            continue
        agreeing = same.count_independent(place)
        found.append(
            Assessed(
                one,
                source,
                agreeing > 0,
                hard and everyone.count_independent(place) > agreeing,
                hard and everyone.count_of_entity(place) > same.count_of_entity(place),
            )
        )
    return found


def _by_value(places: Sequence[tuple[str, Place]]) -> dict[str, Crowd]:
    grouped: dict[str, list[Place]] = {}
    for value, place in places:
        grouped.setdefault(value, []).append(place)
    return {value: Crowd(members) for value, members in grouped.items()}


def find_suspicious(claims: Sequence[Claimed], mutability: Mutability) -> frozenset[str]:
    """Ids of claims of one question that differ from another within a short time, where change is slow (G17).

    A claim without bounds of its own is taken to be about the 180 days from when it was said.
    """
    if mutability != "slow_changing":
        return frozenset()
    places = [(one, _near(one)) for one in claims if one.counts]
    everyone = Crowd(place for _, place in places)
    crowds = _by_value([(one.claim.value, place) for one, place in places])
    return frozenset(
        one.claim.id
        for one, place in places
        if everyone.count_of_entity(place) > crowds[one.claim.value].count_of_entity(place)
    )


def _near(one: Claimed) -> Place:
    """A claim, whoever says it, at about the time when it was said."""
    claim = one.claim
    start = claim.said_at if claim.valid_from is None else claim.valid_from
    end = start + SUSPICIOUS_DAYS * DAY_MS if claim.valid_until is None else claim.valid_until
    return Place("", "", None, min(start, end - 1), end)
