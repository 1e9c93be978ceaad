"""Which sources' claims were corroborated or contradicted by independent ones. Pure.

Corroborated: another voice says the same value, by the same bytes, of an overlapping time. Contradicted: another
voice says another value of an overlapping time, and the question's strictest class is ``immutable``: what may drift
or be replaced contradicts nothing (G16, G19, G24). In a class that changes slowly, another value within 180 days is
*suspicious*, and has no effect on anybody's credibility (G17).
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from sidecars.graded import ClaimSource, Mutability
from timeline.grading.claims import Claimed, sources_of
from timeline.grading.credibility import DAY_MS
from timeline.grading.independence import Crowd, Mark, Place, name_voices

SUSPICIOUS_DAYS: Final = 180
"""Within which a slow thing does not often change (G17); a choice of this version's tables."""


class Assessed(NamedTuple):
    """What became of one source's claim. ``retold``: another source of the same root stood nearer, and counts."""

    claimed: Claimed
    source: ClaimSource
    retold: bool = False
    corroborated: bool = False
    contradicted: bool = False
    contradicts_itself: bool = False


def assess(claims: Sequence[Claimed], mutability: Mutability) -> list[Assessed]:
    """Each source of the claims of one question that count for somebody's credibility (``Claimed.counts``).

    ``mutability`` is the strictest class of the question. Sources of unknown lineage corroborate and contradict
    nothing, and nothing corroborates or contradicts them (M7); nor is what is told again tested or rewarded (M6).
    """
    told = sources_of(one for one in claims if one.counts)
    nearest = _find_nearest(told)
    originals = [(one, source) for one, source in told if _is_nearest(one, source, nearest)]
    if len({source.root for _, source in originals}) < 2:
        # Nearly all questions: no voice has another beside it.
        return [Assessed(one, source, _is_retold(one, source, nearest)) for one, source in told]
    voices = name_voices(source for _, source in originals)
    everyone = Crowd(_place(one, source, voices) for one, source in originals)
    crowds = _by_value((one.claim.value, _place(one, source, voices)) for one, source in originals)
    found = []
    for one, source in told:
        if not _is_nearest(one, source, nearest):
            found.append(Assessed(one, source, _is_retold(one, source, nearest)))
            continue
        place, same = _place(one, source, voices), crowds[one.claim.value]
        agreeing = same.count_others(place)
        hard = mutability == "immutable"
        found.append(
            Assessed(
                one,
                source,
                corroborated=agreeing > 0,
                contradicted=hard and everyone.count_others(place) > agreeing,
                contradicts_itself=hard and everyone.count_of_entity(place) > same.count_of_entity(place),
            )
        )
    return found


def _find_nearest(told: Iterable[tuple[Claimed, ClaimSource]]) -> dict[tuple[str, str], int]:
    """The fewest hops by which each root says each value."""
    nearest: dict[tuple[str, str], int] = {}
    for one, source in told:
        if source.root is not None:
            place = (one.claim.value, source.root)
            nearest[place] = min(source.hops, nearest.get(place, source.hops))
    return nearest


def find_originals(claims: Iterable[Claimed]) -> list[tuple[Claimed, ClaimSource]]:
    """Of the claims of one question that count, the sources of known lineage that stood nearest to their roots."""
    told = sources_of(one for one in claims if one.counts)
    nearest = _find_nearest(told)
    return [(one, source) for one, source in told if _is_nearest(one, source, nearest)]


def _is_nearest(one: Claimed, source: ClaimSource, nearest: dict[tuple[str, str], int]) -> bool:
    return source.root is not None and source.hops == nearest[one.claim.value, source.root]


def _is_retold(one: Claimed, source: ClaimSource, nearest: dict[tuple[str, str], int]) -> bool:
    return source.root is not None and source.hops > nearest[one.claim.value, source.root]


def _place(one: Claimed, source: ClaimSource, voices: dict[str, Mark]) -> Place:
    return Place(voices[source.root or ""], ("speaker", source.entity), *one.window)


def _by_value(places: Iterable[tuple[str, Place]]) -> dict[str, Crowd]:
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
    crowds = _by_value((one.claim.value, place) for one, place in places)
    return frozenset(
        one.claim.id
        for one, place in places
        if everyone.count_of_entity(place) > crowds[one.claim.value].count_of_entity(place)
    )


_ANYBODY: Final[Mark] = ("speaker", "")


def _near(one: Claimed) -> Place:
    """A claim, whoever says it, at about the time when it was said."""
    claim = one.claim
    start = claim.said_at if claim.valid_from is None else claim.valid_from
    end = start + SUSPICIOUS_DAYS * DAY_MS if claim.valid_until is None else claim.valid_until
    return Place(_ANYBODY, _ANYBODY, min(start, end - 1), end)
