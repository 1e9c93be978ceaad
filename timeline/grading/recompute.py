"""The computation of every credibility from every claim (G13). Pure, and the same bytes on each machine.

Inputs are the claims, the credentials in force, the moment to which ages are counted and the rows of the run before;
nothing else, and never a clock. Their order does not matter. What an entity says many times counts once: a position is
one value that one entity holds of one question, as old as its first statement, so that copies, repetitions and what was
recalled and stored again change nothing (M5, M6).
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from sidecars.digest import Digest
from sidecars.graded import (
    ANOMALIES_MAX,
    ROWS_MAX,
    Anomaly,
    CredentialEntry,
    CredibilityEntry,
    CredibilityRow,
)
from timeline.grading.anomalies import Anomalies
from timeline.grading.assessment import Assessed, assess
from timeline.grading.claims import Claimed, group_by_question, strictest_mutability
from timeline.grading.credibility import (
    DAY_MS,
    GLOBAL,
    HALF_LIFE_DAYS,
    credential_qualities,
    decide_score,
    decide_weight,
)
from timeline.grading.distance import TABLES_VERSION

_ENCODER: Final = msgspec.json.Encoder()


class Run(msgspec.Struct, frozen=True):
    """What one computation gives: rows sorted by entity and domain, anomalies sorted, and what it was made of."""

    computation_version: int
    as_of: int
    inputs_digest: str
    rows: tuple[CredibilityRow, ...]
    anomalies: tuple[Anomaly, ...]


class _Position:
    """One value that one entity holds of one question."""

    __slots__ = ("contradicted", "corroborated", "said_at")

    def __init__(self, said_at: int) -> None:
        self.said_at = said_at
        self.corroborated = False
        self.contradicted = False

    def add(self, said_at: int, *, corroborated: bool, contradicted: bool) -> None:
        self.said_at = min(self.said_at, said_at)
        self.corroborated |= corroborated
        self.contradicted |= contradicted


class _Tally:
    """What an entity's positions in one domain add up to."""

    __slots__ = (
        "claims",
        "contradicted",
        "contradicted_weight",
        "corroborated",
        "corroborated_weight",
        "stood",
    )

    def __init__(self) -> None:
        self.claims = self.corroborated = self.contradicted = 0
        self.corroborated_weight = self.contradicted_weight = self.stood = 0

    def add(self, position: _Position, as_of: int) -> None:
        self.claims += 1
        if position.corroborated or position.contradicted:
            weight = decide_weight(position.said_at, as_of)
            self.corroborated += position.corroborated
            self.contradicted += position.contradicted
            self.corroborated_weight += weight * position.corroborated
            self.contradicted_weight += weight * position.contradicted
        if not position.contradicted:
            self.stood += max(as_of - position.said_at, 0) // DAY_MS

    def row(self, entity: str, domain: str, credential: int | None) -> CredibilityRow:
        return CredibilityRow(
            entity=entity,
            domain=domain,
            score=decide_score(self.corroborated_weight, self.contradicted_weight, credential),
            claims=self.claims,
            corroborated=self.corroborated,
            contradicted=self.contradicted,
            corroborated_weight=self.corroborated_weight,
            contradicted_weight=self.contradicted_weight,
            stood_days=self.stood // max(self.claims - self.contradicted, 1),
            credential=credential,
        )


def recompute(
    claims: Sequence[Claimed],
    credentials: Sequence[CredentialEntry],
    as_of: int,
    previous: Iterable[CredibilityRow] = (),
) -> Run:
    """Version 1. A row for each entity and domain that has evidence or a credential; none for one without.

    ``claims`` are all that were read (``read_claims``), ``credentials`` those in force (``credentials_in_force``),
    ``as_of`` is UTC milliseconds, and ``previous`` are the rows of the run before, for the anomalies alone.
    """
    anomalies = Anomalies(as_of)
    tallies: dict[tuple[str, str], _Tally] = {}
    for question in group_by_question(claims).values():
        assessed = assess(question, strictest_mutability(question))
        anomalies.add(assessed)
        for (entity, domain, _), position in _positions(assessed).items():
            tally = tallies.get((entity, domain))
            if tally is None:
                tally = tallies[entity, domain] = _Tally()
            tally.add(position, as_of)
    qualities = credential_qualities(credentials)
    rows = tuple(
        tallies.get(place, _Tally()).row(*place, qualities.get(place))
        for place in sorted(tallies.keys() | qualities.keys())
        if place in qualities or tallies[place].corroborated or tallies[place].contradicted
    )
    return Run(1, as_of, digest_inputs(claims, credentials, as_of), rows, anomalies.found(rows, previous))


def _positions(assessed: Sequence[Assessed]) -> dict[tuple[str, str, str], _Position]:
    """The positions of one question by entity, domain and value, in the claim's domain and in all together.

    What is told again is nobody's position: credibility is not earned by passing on what others have said.
    Where something of known lineage is there, what is of unknown lineage adds nothing, and makes nothing older.
    """
    rooted = _gather(one for one in assessed if one.source.root is not None and not one.retold)
    return _gather(one for one in assessed if one.source.root is None) | rooted


def _gather(assessed: Iterable[Assessed]) -> dict[tuple[str, str, str], _Position]:
    positions: dict[tuple[str, str, str], _Position] = {}
    for one in assessed:
        claim, entity = one.claimed.claim, one.source.entity
        for domain in {claim.domain, GLOBAL}:
            place = (entity, domain, claim.value)
            position = positions.get(place)
            if position is None:
                position = positions[place] = _Position(claim.said_at)
            position.add(claim.said_at, corroborated=one.corroborated, contradicted=one.contradicted)
    return positions


def digest_inputs(claims: Sequence[Claimed], credentials: Sequence[CredentialEntry], as_of: int) -> str:
    """SHA-256 of everything that a score depends on, whatever its order was."""
    constants = (TABLES_VERSION, HALF_LIFE_DAYS, as_of)
    parts = [_ENCODER.encode(constants)]
    parts += sorted(_ENCODER.encode(one) for one in claims)
    parts += sorted(_ENCODER.encode(entry) for entry in credentials)
    return str(Digest.of(b"\n".join(parts)))


def format_run(run: Run, name: str, inputs: int, previous: str | None) -> tuple[CredibilityEntry, ...]:
    """The bodies that record a run: ``name`` is its stable id, ``inputs`` the size of the log that was read.

    ``previous`` is the id of the run whose rows it was compared with. There is at least one part.
    """
    pages = [run.rows[start : start + ROWS_MAX] for start in range(0, len(run.rows), ROWS_MAX)] or [()]
    return tuple(
        CredibilityEntry(
            run=name,
            computation_version=run.computation_version,
            tables_version=TABLES_VERSION,
            part=number,
            parts=len(pages),
            as_of=run.as_of,
            inputs=inputs,
            inputs_digest=run.inputs_digest,
            rows=page,
            anomalies=run.anomalies[:ANOMALIES_MAX] if number == 1 else (),
            anomalies_found=len(run.anomalies) if number == 1 else 0,
            previous=previous,
        )
        for number, page in enumerate(pages, start=1)
    )
