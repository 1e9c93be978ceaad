"""Runs of the computation, credentials and verdicts, as tables for a person and as the JSON of the commands."""

from collections.abc import Sequence
from typing import Final

from sidecars.graded import CredibilityRow
from timeline.answers import AUTHORITY, Json
from timeline.cli.grading_render import part_of_one, verdict_table
from timeline.cli.tables import Cell, Table, Tone
from timeline.clock import format_utc
from timeline.grades_use import Credential, Given
from timeline.grading.distance import TABLES_VERSION
from timeline.grading_use import Audited, Computed, EntityHistory, ScoreChange

RECOMPUTED_SCHEMA: Final = "timeline-world-credibility/v1"
HISTORY_SCHEMA: Final = "timeline-world-credibility-history/v1"
AUDIT_SCHEMA: Final = "timeline-world-credibility-audit/v1"
CREDENTIALS_SCHEMA: Final = "timeline-world-credentials/v1"
VERDICTS_SCHEMA: Final = "timeline-world-verdicts/v1"
CHANGES_SHOWN_MAX: Final = 20
CHANGES_LISTED_MAX: Final = 1000

# -- runs ------------------------------------------------------------------------------------------------------


def computed_json(found: Computed) -> Json:
    """What a computation gave: rows, anomalies, and what it changes."""
    run = found.run
    return {
        "schema": RECOMPUTED_SCHEMA,
        "run": found.name,
        "recorded": found.is_recorded,
        "computationVersion": run.computation_version,
        "tablesVersion": TABLES_VERSION,
        "asOf": format_utc(run.as_of),
        "inputsDigest": run.inputs_digest,
        "claims": found.claims,
        "credentials": found.credentials,
        "rows": [_row_json(row) for row in run.rows],
        "anomalies": [
            {"kind": one.kind, "about": one.about, "domain": one.domain, "count": one.count}
            for one in run.anomalies
        ],
        "previous": found.previous,
        "changes": [
            {"entity": one.entity, "domain": one.domain, "before": one.before, "after": one.after}
            for one in found.changes[:CHANGES_LISTED_MAX]
        ],
        "changesFound": len(found.changes),
        "authority": AUTHORITY,
    }


def _row_json(row: CredibilityRow) -> Json:
    return {
        "entity": row.entity,
        "domain": row.domain,
        "score": row.score,
        "claims": row.claims,
        "corroborated": row.corroborated,
        "contradicted": row.contradicted,
        "stoodDays": row.stood_days,
        "credential": row.credential,
    }


def computed_tables(found: Computed) -> list[Table]:
    """The same for a person: what changes, and what to look at."""
    shown = [
        (
            Cell(one.entity),
            Cell(one.domain),
            Cell(part_of_one(one.before)),
            Cell(part_of_one(one.after), _tone(one)),
        )
        for one in found.changes[:CHANGES_SHOWN_MAX]
    ]
    more = len(found.changes) - len(shown)
    counted = f"claims: {found.claims}, credentials: {found.credentials}, rows: {len(found.run.rows)}"
    tables = [
        Table(
            f"{found.name}, version {found.run.computation_version}, {counted}",
            ("source", "domain", "before", "now"),
            shown,
            empty="no score changes",
            note=f"and {more} more; --json lists them" if more else "",
        )
    ]
    if found.run.anomalies:
        rows = [
            (Cell(one.kind, "look"), Cell(one.about), Cell(one.domain), Cell(str(one.count)))
            for one in found.run.anomalies[:CHANGES_SHOWN_MAX]
        ]
        left = len(found.run.anomalies) - len(rows)
        note = f"and {left} more; --json lists them" if left else "no score changes because of them"
        tables.append(Table("to look at", ("what", "about", "domain", "count"), rows, note=note))
    return tables


def _tone(change: ScoreChange) -> Tone:
    return "bad" if change.before is not None and (change.after or 0) < change.before else "plain"


def history_json(found: EntityHistory) -> Json:
    """Every score that was computed for an entity."""
    return {
        "schema": HISTORY_SCHEMA,
        "entity": found.entity,
        "domains": [
            {
                "domain": domain,
                "scores": [
                    {
                        "asOf": format_utc(one.as_of),
                        "computationVersion": one.computation_version,
                        "score": one.score,
                        "evidence": one.evidence,
                    }
                    for one in scores
                ],
            }
            for domain, scores in found.scores
        ],
        "authority": AUTHORITY,
    }


def history_tables(found: EntityHistory) -> list[Table]:
    """The same for a person, oldest first."""
    rows = [
        (
            Cell(domain),
            Cell(format_utc(one.as_of)),
            Cell(f"version {one.computation_version}"),
            Cell(part_of_one(one.score)),
            Cell(f"{one.evidence} assessed"),
        )
        for domain, scores in found.scores
        for one in scores
    ]
    return [Table(f"scores of {found.entity}", (), rows, empty="none was ever computed")]


def audited_json(found: Audited) -> Json:
    """Whether a recorded run is what its inputs give."""
    return {
        "schema": AUDIT_SCHEMA,
        "run": found.name,
        "computationVersion": found.computation_version,
        "asOf": format_utc(found.as_of),
        "rows": found.rows,
        "same": found.is_same,
        "inputsThere": found.has_inputs,
        "authority": AUTHORITY,
    }


def audited_lines(found: Audited) -> list[str]:
    """The same for a person."""
    if found.is_same and found.has_inputs:
        return [f"{found.name}: computed again from the same claims, {found.rows} rows, all the same"]
    if not found.has_inputs:
        return [f"{found.name}: what it was computed from is not all there any more; it cannot be checked"]
    return [f"{found.name}: the same claims give other rows"]


# -- what the owner says ---------------------------------------------------------------------------------------


def credentials_json(found: Sequence[Credential]) -> Json:
    """Credentials, oldest first."""
    return {
        "schema": CREDENTIALS_SCHEMA,
        "credentials": [
            {
                "id": one.entry.id,
                "entity": one.entry.entity,
                "domain": one.entry.domain,
                "quality": one.entry.quality,
                "basis": one.entry.basis,
                "validFrom": format_utc(one.entry.valid_from),
                "validUntil": None if one.entry.valid_until is None else format_utc(one.entry.valid_until),
                "inForce": one.is_in_force,
            }
            for one in found
        ],
        "authority": AUTHORITY,
    }


def credentials_tables(found: Sequence[Credential]) -> list[Table]:
    """The same for a person."""
    rows = [
        (
            Cell("counts", "good") if one.is_in_force else Cell("does not count", "quiet"),
            Cell(one.entry.entity),
            Cell(one.entry.domain),
            Cell(part_of_one(one.entry.quality), "plain" if one.entry.quality else "bad"),
            Cell(one.entry.basis),
            Cell(one.entry.id),
        )
        for one in found
    ]
    columns = ("", "whose", "domain", "quality", "basis", "credential")
    return [Table("credentials, oldest first", columns, rows, empty="none was recorded")]


def verdicts_json(found: Sequence[Given]) -> Json:
    """Verdicts, oldest first; ``gradesChanged`` says that the question's grades are others now."""
    return {
        "schema": VERDICTS_SCHEMA,
        "verdicts": [
            {
                "id": one.verdict.id,
                "subject": one.verdict.subject,
                "key": one.verdict.key,
                "chosen": list(one.verdict.chosen),
                "reason": one.verdict.reason,
                "gradesDigest": one.verdict.grades_digest,
                "supersedes": list(one.verdict.supersedes),
                "inForce": one.is_in_force,
                "gradesChanged": one.is_outdated,
            }
            for one in found
        ],
        "authority": AUTHORITY,
    }


def verdicts_tables(found: Sequence[Given]) -> list[Table]:
    """The same for a person."""
    if not found:
        return [Table("verdicts", (), [], empty="none was given")]
    return [
        verdict_table(one.verdict, is_outdated=one.is_outdated, is_in_force=one.is_in_force) for one in found
    ]
