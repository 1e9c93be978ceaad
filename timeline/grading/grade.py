"""Grades of the claims about one question: S, D and V of each source, what is unknown, and why. Pure.

The composite ``S * D * V`` is computed where it is asked for and stored nowhere (G23). A verification that nobody has
made counts as 0.5 there and is told apart from every number (G10).

Copies never add up. For each root the source that stood nearest counts, whoever has passed it on: no retelling by
somebody credible lifts what was said (M6). The composite of a claim or value is the largest over its roots; its weight
adds up one source for each independent voice. Where a root is known, sources of unknown lineage count for nothing,
else the nearest of them stands for all (M7).

A grade orders and explains. It makes no fact of anything and moves nothing out of a conflict; what is only speculated
stays an assumption, however large the number.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from sidecars.digest import Digest
from sidecars.graded import MILLION, ClaimSource, CredibilityRow, Intent, Mutability, SourceType
from timeline.grading.assessment import assess, find_suspicious
from timeline.grading.claims import Claimed, strictest_mutability
from timeline.grading.credibility import NEUTRAL, find_credibility
from timeline.grading.distance import TABLES_VERSION, UNKNOWN_DISTANCES, decide_distance
from timeline.grading.independence import Mark, name_voices

Unknown: TypeAlias = Literal["credibility", "distance", "lineage", "verification"]
"""What is not known of a source; the number in its place is a stand-in."""

Why: TypeAlias = Literal[
    "contradicted",
    "corroborated",
    "credibility-of-domain",
    "credibility-of-all-domains",
    "failed-verification",
    "intent-disclaimed",
    "intent-fictional",
    "intent-hypothetical",
    "retold",
    "speculative",
    "suspicious-change",
]
"""Why a grade is what it is, or why there is none."""

Rows: TypeAlias = Mapping[tuple[str, str], CredibilityRow]
"""Rows of one run by entity and domain (``read_run``)."""


class SourceGrade(msgspec.Struct, frozen=True, kw_only=True):
    """The grade of one source of one claim, in millionths; ``verification`` is absent where nobody assessed it.

    ``evidence`` is on how many assessed positions the credibility rests: 0.5 without evidence and 0.5 that was earned
    are two things.
    """

    entity: str
    source_type: SourceType
    hops: int
    credibility: int
    evidence: int
    distance: int
    verification: int | None
    composite: int
    unknowns: tuple[Unknown, ...]
    reasons: tuple[Why, ...]


class ClaimGrade(msgspec.Struct, frozen=True, kw_only=True):
    """The grade of one claim. ``composite`` is absent where its intent takes it out of the competition (G4).

    ``ceiling`` says as what it may be told at most, where that is less than its evidence would allow.
    """

    claim: str
    intent: Intent
    composite: int | None
    ceiling: Literal["assumption"] | None
    sources: tuple[SourceGrade, ...]
    reasons: tuple[Why, ...]


class ValueGrade(msgspec.Struct, frozen=True, kw_only=True):
    """What speaks for one value. ``composite`` is the best of its claims, ``weight`` adds up independent voices."""

    value: str
    composite: int
    weight: int
    voices: int
    ceiling: Literal["assumption"] | None
    claims: tuple[str, ...]


class QuestionGrade(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is claimed about one key of one subject, the heaviest value first."""

    subject: str
    key: str
    mutability: Mutability
    tables_version: int
    values: tuple[ValueGrade, ...]
    claims: tuple[ClaimGrade, ...]


def grade_source(source: ClaimSource, domain: str, rows: Rows, reasons: Sequence[Why] = ()) -> SourceGrade:
    """S, D, V and their product; ``reasons`` are those that are known of the source already."""
    credibility = find_credibility(rows, source.entity, domain)
    distance = decide_distance(source)
    verification = NEUTRAL if source.verification is None else source.verification
    unknowns: list[Unknown] = []
    why = list(reasons)
    if credibility.basis == "none":
        unknowns.append("credibility")
    else:
        why.append(_BASIS[credibility.basis])
    if source.source_type in UNKNOWN_DISTANCES:
        unknowns.append("distance")
    if source.root is None:
        unknowns.append("lineage")
    if source.verification is None:
        unknowns.append("verification")
    elif source.verification == 0:
        why.append("failed-verification")
    return SourceGrade(
        entity=source.entity,
        source_type=source.source_type,
        hops=source.hops,
        credibility=credibility.score,
        evidence=credibility.evidence,
        distance=distance,
        verification=source.verification,
        composite=credibility.score * distance * verification // MILLION**2,
        unknowns=tuple(unknowns),
        reasons=tuple(sorted(why)),
    )


_BASIS: Final[dict[str, Why]] = {
    "domain": "credibility-of-domain",
    "global": "credibility-of-all-domains",
}

_NOT_GRADED: Final[dict[str, Why]] = {
    "disclaimed": "intent-disclaimed",
    "fictional": "intent-fictional",
    "hypothetical": "intent-hypothetical",
}


def grade_question(claims: Sequence[Claimed], rows: Rows) -> QuestionGrade:
    """The grades of all claims about one question; ``claims`` must not be empty, and their order does not matter."""
    ordered = sorted(claims, key=lambda one: one.claim.id)
    mutability = strictest_mutability(ordered)
    suspicious = find_suspicious(ordered, mutability)
    why: dict[tuple[str, ClaimSource], list[Why]] = {}
    for one in assess(ordered, mutability):
        found: list[Why] = []
        if one.corroborated:
            found.append("corroborated")
        if one.contradicted:
            found.append("contradicted")
        if one.retold:
            found.append("retold")
        why[one.claimed.claim.id, one.source] = found
    graded = tuple(_grade_claim(one, rows, why, suspicious) for one in ordered)
    return QuestionGrade(
        subject=ordered[0].claim.subject,
        key=ordered[0].claim.key,
        mutability=mutability,
        tables_version=TABLES_VERSION,
        values=_grade_values(ordered, graded),
        claims=graded,
    )


def _grade_claim(
    one: Claimed,
    rows: Rows,
    why: Mapping[tuple[str, ClaimSource], list[Why]],
    suspicious: frozenset[str],
) -> ClaimGrade:
    claim = one.claim
    sources = tuple(
        grade_source(source, claim.domain, rows, why.get((claim.id, source), ())) for source in claim.sources
    )
    reasons: list[Why] = []
    if not one.is_graded:
        reasons.append(_NOT_GRADED[claim.intent])
    elif claim.intent == "speculative":
        reasons.append("speculative")
    if claim.id in suspicious:
        reasons.append("suspicious-change")
    return ClaimGrade(
        claim=claim.id,
        intent=claim.intent,
        composite=_combine(list(zip(claim.sources, sources, strict=True))).composite
        if one.is_graded
        else None,
        ceiling="assumption" if claim.intent == "speculative" else None,
        sources=sources,
        reasons=tuple(reasons),
    )


def _grade_values(claims: Sequence[Claimed], grades: Sequence[ClaimGrade]) -> tuple[ValueGrade, ...]:
    grouped: dict[str, list[tuple[Claimed, ClaimGrade]]] = {}
    for one, grade in zip(claims, grades, strict=True):
        if one.is_graded:
            grouped.setdefault(one.claim.value, []).append((one, grade))
    values = [_grade_value(value, members) for value, members in grouped.items()]
    return tuple(sorted(values, key=lambda one: (-one.weight, -one.composite, one.value)))


def _grade_value(value: str, members: Sequence[tuple[Claimed, ClaimGrade]]) -> ValueGrade:
    """What was asserted decides; only where nothing was, what was speculated does."""
    asserted = [member for member in members if member[1].ceiling is None]
    combined = _combine(
        [
            pair
            for one, claim in asserted or members
            for pair in zip(one.claim.sources, claim.sources, strict=True)
        ]
    )
    return ValueGrade(
        value=value,
        composite=combined.composite,
        weight=combined.weight,
        voices=combined.voices,
        ceiling=None if asserted else "assumption",
        claims=tuple(one.claim.id for one, _ in members),
    )


class _Combined(NamedTuple):
    composite: int
    weight: int
    voices: int


def _combine(pairs: Sequence[tuple[ClaimSource, SourceGrade]]) -> _Combined:
    """One number for each root, by its nearest source; then the largest, and the sum over independent voices."""
    nearest: dict[str | None, tuple[int, int, int]] = {}
    for source, grade in pairs:
        place = (source.hops, -grade.distance, -grade.composite)
        nearest[source.root] = min(place, nearest.get(source.root, place))
    if nearest.keys() == {None}:  # for all that is known it is all from one root
        best = -nearest[None][2]
        return _Combined(best, best, 0)
    heaviest: dict[Mark, int] = {}
    originals = [
        source for source, _ in pairs if source.root is not None and source.hops == nearest[source.root][0]
    ]
    for root, voice in name_voices(originals).items():
        heaviest[voice] = max(-nearest[root][2], heaviest.get(voice, 0))
    return _Combined(max(heaviest.values()), sum(heaviest.values()), len(heaviest))


def digest_grade(grade: QuestionGrade) -> str:
    """What a verdict fixes of the grades that it was made on: SHA-256 of their exact form."""
    return str(Digest.of(msgspec.json.encode(grade)))
