"""Version 2 of the computation: sources and values that earn credibility from each other. Pure.

After TruthFinder (Yin, Han, Yu 2008): an entity's trust is the mean confidence of what it says, and a value's
confidence grows with the trust of its independent voices. It is reported beside version 1 and used by nothing until
it is measurably better on data like the owner's (G14, ADR 0028).

It uses logarithms, in a fixed order and with exact sums; the scores are rounded to millionths at the end.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from sidecars.graded import MILLION
from timeline.grading.assessment import find_originals
from timeline.grading.claims import Claimed, group_by_question
from timeline.grading.credibility import GLOBAL
from timeline.grading.independence import Mark, name_voices
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
"""The independent voices of one value of one question, each with its entities in the domain of their claims."""


def score_again(run: Run, claims: Sequence[Claimed]) -> Run:
    """The rows of a run of version 1 with the scores of version 2; counts, weights and anomalies are the same."""
    trusts = _iterate(_values(claims))
    rows = tuple(
        msgspec.structs.replace(row, score=trusts.get((row.entity, row.domain), row.score))
        for row in run.rows
    )
    return msgspec.structs.replace(run, computation_version=2, rows=rows)


def _values(claims: Sequence[Claimed]) -> list[Value]:
    """Every value with its voices, in an order that does not depend on that of the claims."""
    values: list[Value] = []
    for _, members in sorted(group_by_question(claims).items()):
        originals = find_originals(members)
        voices = name_voices(source for _, source in originals)
        held: dict[str, dict[Mark, set[Place]]] = {}
        for one, source in originals:
            groups = held.setdefault(one.claim.value, {})
            voice = voices[source.root or ""]
            groups.setdefault(voice, set()).add((source.entity, one.claim.domain))
        values += [sorted(sorted(group) for group in groups.values()) for _, groups in sorted(held.items())]
    return values


def _iterate(values: Sequence[Value]) -> Mapping[Place, int]:
    """Trust in millionths by entity and domain, and in all domains together."""
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
    """One number for each voice, its most trusted entity's: copies add nothing."""
    added = math.fsum(-math.log(1 - min(max(trust[place] for place in group), TRUST_MAX)) for group in value)
    return 1 / (1 + math.exp(-GAMMA * added))


def _mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)
