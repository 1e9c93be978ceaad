"""Version 2 of the computation: sources and values that earn credibility from each other. Pure.

After TruthFinder (Yin, Han, Yu 2008): an entity's trust is the mean confidence of what it says, and a value's
confidence grows with the trust of its independent witnesses. It is reported beside version 1 and used by nothing until
it is measurably better on data like the owner's (G14, ADR 0027).

It uses logarithms, in a fixed order and with exact sums; the scores are rounded to millionths at the end.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from sidecars.graded import MILLION
from timeline.grading.claims import Claimed, group_by_question, sources_of
from timeline.grading.credibility import GLOBAL
from timeline.grading.independence import group_witnesses
from timeline.grading.recompute import Run

ROUNDS: Final = 20
"""A fixed number, so that no comparison of fractions decides when to stop."""

FIRST_TRUST: Final = 0.9
GAMMA: Final = 0.3
"""How steeply confidence follows trust; both as published."""

TRUST_MAX: Final = 1 - 1e-6

Place = tuple[str, str]
"""Entity and domain."""

Value = list[list[Place]]
"""The independent witnesses of one value of one question, each with its entities in the domain of their claims."""


def score_again(run: Run, claims: Sequence[Claimed]) -> Run:
    """The rows of a run of version 1 with the scores of version 2; counts, weights and anomalies are the same."""
    trusts = _iterate(_values(claims))
    rows = tuple(
        msgspec.structs.replace(row, score=trusts.get((row.entity, row.domain), row.score))
        for row in run.rows
    )
    return msgspec.structs.replace(run, computation_version=2, rows=rows)


def _values(claims: Sequence[Claimed]) -> list[Value]:
    """Every value with its witnesses, in an order that does not depend on that of the claims."""
    values: list[Value] = []
    grouped = group_by_question(one for one in claims if one.counts)
    for _, members in sorted(grouped.items()):
        by_value: dict[str, list[Claimed]] = {}
        for one in members:
            by_value.setdefault(one.claim.value, []).append(one)
        for _, agreeing in sorted(by_value.items()):
            pairs = sources_of(agreeing)
            groups = group_witnesses([source for _, source in pairs])
            value = [
                sorted({(pairs[at][1].entity, pairs[at][0].claim.domain) for at in group}) for group in groups
            ]
            values.append(sorted(value))
    return values


def _iterate(values: Sequence[Value]) -> Mapping[Place, int]:
    """Trust in millionths by entity and domain, and of the whole record."""
    held: dict[Place, list[int]] = {}
    for number, value in enumerate(values):
        for place in sorted({place for group in value for place in group}):
            held.setdefault(place, []).append(number)
    trust = dict.fromkeys(held, FIRST_TRUST)
    for _ in range(ROUNDS):
        confidence = [_confidence(value, trust) for value in values]
        trust = {place: _mean([confidence[at] for at in numbers]) for place, numbers in held.items()}
    whole: dict[str, set[int]] = {}
    for (entity, _), numbers in held.items():
        whole.setdefault(entity, set()).update(numbers)
    confidence = [_confidence(value, trust) for value in values]
    trust |= {
        (entity, GLOBAL): _mean([confidence[at] for at in sorted(numbers)])
        for entity, numbers in whole.items()
    }
    return {place: round(mean * MILLION) for place, mean in trust.items()}


def _confidence(value: Value, trust: Mapping[Place, float]) -> float:
    """One number for each witness, its most trusted entity's: copies add nothing."""
    added = math.fsum(-math.log(1 - min(max(trust[place] for place in group), TRUST_MAX)) for group in value)
    return 1 / (1 + math.exp(-GAMMA * added))


def _mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)
