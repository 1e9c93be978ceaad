"""How credible an entity has been in a domain (S): a ratio of what became of its claims (G11, G12, G14). Pure.

``S = (1 + Σ w·c + K·q) / (2 + Σ w·(c + x) + K)`` over the entity's positions: ``c`` is 1 where a source that is
independent of it says the same, ``x`` is 1 where one contradicts it, ``w = 0.5^(age / 90 days)``. ``q`` is the quality
of its verified credentials in that domain and ``K`` two observations, or none without a credential. Everything is a
whole number, so that two machines get the same bytes.

There is no way to state a score: every row carries what it is computed from, and ``score_of`` computes it again (G7).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from sidecars.graded import MILLION, CredentialEntry, CredibilityEntry, CredibilityRow
from timeline.grading.errors import RunIncompleteError

GLOBAL: Final = "_global"
"""The domain that stands for all of them together."""

HALF_LIFE_DAYS: Final = 90
"""After as many days a position weighs half (G12)."""

DAY_MS: Final = 86_400_000
CREDENTIAL_OBSERVATIONS: Final = 2
"""As much as the prior: a credential moves somebody of whom nothing is known, and some claims outweigh it."""

NEUTRAL: Final = MILLION // 2
"""What takes the place of a score that nobody can compute, or of a verification that nobody has made."""

_DAILY: Final = 992_327_946_262_943_481
"""0.5^(1/90) in units of 10^-18, rounded down."""


def _fractions() -> tuple[int, ...]:
    exact, fractions = 10**18, []
    for _ in range(HALF_LIFE_DAYS):
        fractions.append(exact)
        exact = exact * _DAILY // 10**18
    return tuple(fractions)


_FRACTIONS: Final = _fractions()


def decide_weight(said_at: int, as_of: int) -> int:
    """What a position weighs, in millionths, by its age in whole days; one from the future as one of today."""
    days = max(as_of - said_at, 0) // DAY_MS
    return (_FRACTIONS[days % HALF_LIFE_DAYS] >> (days // HALF_LIFE_DAYS)) // 10**12


def decide_score(corroborated_weight: int, contradicted_weight: int, credential: int | None) -> int:
    """S in millionths, rounded down, of weights and a credential's quality in millionths."""
    observed = 0 if credential is None else CREDENTIAL_OBSERVATIONS
    good = MILLION + corroborated_weight + observed * (credential or 0)
    all_told = 2 * MILLION + corroborated_weight + contradicted_weight + observed * MILLION
    return good * MILLION // all_told


def score_of(row: CredibilityRow) -> int:
    """The score that a row has to have under version 1 of the computation."""
    return decide_score(row.corroborated_weight, row.contradicted_weight, row.credential)


# -- credentials -----------------------------------------------------------------------------------------------


def credentials_in_force(entries: Iterable[CredentialEntry], as_of: int) -> tuple[CredentialEntry, ...]:
    """The newest of each id that is valid at a moment; ``entries`` are in the order of the log."""
    newest = {entry.id: entry for entry in entries}
    return tuple(
        entry
        for _, entry in sorted(newest.items())
        if entry.valid_from <= as_of and (entry.valid_until is None or as_of < entry.valid_until)
    )


def credential_qualities(credentials: Iterable[CredentialEntry]) -> dict[tuple[str, str], int]:
    """The mean quality of an entity's credentials in a domain, in millionths: two are not more than one."""
    grouped: dict[tuple[str, str], list[int]] = {}
    for entry in credentials:
        grouped.setdefault((entry.entity, entry.domain), []).append(entry.quality)
    return {place: sum(qualities) // len(qualities) for place, qualities in grouped.items()}


# -- looking up ------------------------------------------------------------------------------------------------


class Credibility(NamedTuple):
    """S as a grade uses it: where it comes from, and on how many assessed positions it rests.

    ``basis`` is ``none`` where neither the domain nor all domains together say anything: the score is then 0.5, and it
    is another 0.5 than one that was earned (G11).
    """

    score: int
    basis: Literal["domain", "global", "none"]
    evidence: int


def find_credibility(rows: Mapping[tuple[str, str], CredibilityRow], entity: str, domain: str) -> Credibility:
    """S of an entity in a domain; else in all domains together; else the neutral 0.5, said to be unknown."""
    own = rows.get((entity, domain))
    if own is not None and domain != GLOBAL:
        return Credibility(own.score, "domain", own.corroborated + own.contradicted)
    whole = rows.get((entity, GLOBAL))
    if whole is not None:
        return Credibility(whole.score, "global", whole.corroborated + whole.contradicted)
    return Credibility(NEUTRAL, "none", 0)


# -- runs ------------------------------------------------------------------------------------------------------


def read_run(parts: Sequence[CredibilityEntry]) -> dict[tuple[str, str], CredibilityRow]:
    """The rows of one run by entity and domain.

    Raises:
        RunIncompleteError: a part is missing, is there twice, or says another thing of the run than the others.
    """
    if sorted(part.part for part in parts) != list(range(1, len(parts) + 1)):
        raise RunIncompleteError("a run of the computation must have each of its parts once")
    said = {
        (
            one.run,
            one.computation_version,
            one.tables_version,
            one.parts,
            one.as_of,
            one.inputs,
            one.inputs_digest,
        )
        for one in parts
    }
    if len(said) != 1 or parts[0].parts != len(parts):
        raise RunIncompleteError("the parts of a run must be all of one run")
    rows = {(row.entity, row.domain): row for part in parts for row in part.rows}
    if len(rows) != sum(len(part.rows) for part in parts):
        raise RunIncompleteError("a run must have one row for each entity and domain")
    if parts[0].computation_version == 1 and any(row.score != score_of(row) for row in rows.values()):
        raise RunIncompleteError("a row's score must be the one that its counts give")
    return rows


def newest_run(entries: Iterable[CredibilityEntry], version: int) -> tuple[CredibilityEntry, ...]:
    """The parts of the newest complete run of a version, empty if there is none; ``entries`` in the log's order."""
    found: dict[str, list[CredibilityEntry]] = {}
    complete: tuple[CredibilityEntry, ...] = ()
    for entry in entries:
        if entry.computation_version == version:
            parts = found.setdefault(entry.run, [])
            parts.append(entry)
            if len(parts) == entry.parts:
                complete = tuple(parts)
    return complete


class PastScore(NamedTuple):
    """One score of the history of an entity in a domain."""

    as_of: int
    computation_version: int
    score: int
    evidence: int


def score_history(entries: Iterable[CredibilityEntry], entity: str, domain: str) -> tuple[PastScore, ...]:
    """Every score that was computed for an entity in a domain, in the order of the log: none is overwritten."""
    return tuple(
        PastScore(entry.as_of, entry.computation_version, row.score, row.corroborated + row.contradicted)
        for entry in entries
        for row in entry.rows
        if (row.entity, row.domain) == (entity, domain)
    )
