"""Grades in words: what a claim weighs and why, as tables for a person and as the JSON of the commands.

Numbers are millionths in JSON and parts of one in tables. No grade is shown without its parts: what is unknown is named
beside the number that stands in for it.
"""

from collections.abc import Sequence
from typing import Final

from sidecars.graded import MILLION, VerdictEntry
from timeline.answers import AUTHORITY, Json
from timeline.cli.tables import Cell, Table
from timeline.clock import format_utc
from timeline.grades_use import GradedClaim, GradedQuestion, GradedSubject
from timeline.grading.claims import Claimed
from timeline.grading.current import Current
from timeline.grading.distance import TABLES_VERSION
from timeline.grading.grade import ClaimGrade, SourceGrade, ValueGrade
from timeline.grading_reading import Credibilities

GRADE_SCHEMA: Final = "timeline-world-grade/v1"
GRADES_SCHEMA: Final = "timeline-world-grades/v1"

WORDS: Final = {
    "contradicted": "another voice says another value, and it cannot change",
    "corroborated": "another voice says the same",
    "credibility-of-domain": "S is of this domain",
    "credibility-of-all-domains": "S is of all domains together: nothing is known in this one",
    "failed-verification": "it was checked, and failed",
    "intent-disclaimed": "it was disclaimed: no grade",
    "intent-fictional": "it is of a story: no grade",
    "intent-hypothetical": "it was only supposed: no grade",
    "retold": "told again: its root is heard from nearer",
    "speculative": "an assumption at most",
    "suspicious-change": "differs from another within 180 days; no number changes",
    "credibility": "nothing is known of this source: 0.5 stands in for S",
    "distance": "nobody recorded how it came to this: D is a stand-in",
    "lineage": "its root is unknown: independent of nothing",
    "verification": "nobody has checked it: 0.5 stands in for V",
}
"""Reasons and unknowns of a grade in the words of a person."""


def part_of_one(number: int | None) -> str:
    """A number of millionths for a person."""
    return "none" if number is None else f"{number / MILLION:.3f}"


# -- one claim -------------------------------------------------------------------------------------------------


def grade_json(found: GradedClaim) -> Json:
    """Everything about the grade of one claim."""
    return {
        "schema": GRADE_SCHEMA,
        **claim_json(found.claimed, found.grade),
        "questionMutability": found.question.mutability,
        "tablesVersion": found.question.tables_version,
        **run_json(found.credibilities),
        "values": [value_json(one) for one in found.question.values],
        "authority": AUTHORITY,
    }


def claim_json(claimed: Claimed, grade: ClaimGrade) -> Json:
    """One claim and its grade; ``verification`` is null where nobody has assessed it, which is not 0."""
    claim = claimed.claim
    return {
        "id": claim.id,
        "work": claimed.work,
        "workClass": claimed.work_class,
        "subject": claim.subject,
        "key": claim.key,
        "domain": claim.domain,
        "value": claim.value,
        "intent": claim.intent,
        "classifier": claim.classifier,
        "mutability": claim.mutability,
        "saidAt": format_utc(claim.said_at),
        "composite": grade.composite,
        "ceiling": grade.ceiling,
        "reasons": list(grade.reasons),
        "sources": [_source_json(one, claim.domain) for one in grade.sources],
    }


def _source_json(grade: SourceGrade, domain: str) -> Json:
    row = _row_of(grade)
    return {
        "entity": grade.entity,
        "S": {
            "score": grade.credibility,
            "row": row,
            "domain": domain if row == "domain" else None,
            "evidence": grade.evidence,
        },
        "D": {
            "factor": grade.distance,
            "sourceType": grade.source_type,
            "hops": grade.hops,
            "tablesVersion": TABLES_VERSION,
        },
        "V": {"value": grade.verification, "assessed": grade.verification is not None},
        "composite": grade.composite,
        "unknowns": list(grade.unknowns),
        "reasons": list(grade.reasons),
    }


def _row_of(grade: SourceGrade) -> str:
    """Which row of credibility was used: of the domain, of all of them, or none."""
    if "credibility" in grade.unknowns:
        return "none"
    return "domain" if "credibility-of-domain" in grade.reasons else "global"


def run_json(credibilities: Credibilities) -> Json:
    """By which run sources are graded, and whether something came after it."""
    run = credibilities.run
    return {
        "run": None if run is None else run.run,
        "computedAt": None if run is None else format_utc(run.as_of),
        "runOutdated": credibilities.is_outdated,
    }


def grade_tables(found: GradedClaim, *, explains: bool) -> list[Table]:
    """The grade of one claim; ``explains`` adds every part with its reasons."""
    claim, grade = found.claimed.claim, found.grade
    rows = [
        ("about", f"{claim.subject} {claim.key}"),
        ("value", claim.value),
        ("said by", ", ".join(dict.fromkeys(one.entity for one in grade.sources))),
        ("intent", claim.intent + (f" (by {claim.classifier})" if claim.classifier else "")),
        ("composite", part_of_one(grade.composite)),
        *((("at most", grade.ceiling),) if grade.ceiling else ()),
        *(("why", WORDS[reason]) for reason in grade.reasons),
        ("credibilities", run_text(found.credibilities)),
    ]
    tables = [Table(claim.id, (), [(Cell(name, "quiet"), Cell(text)) for name, text in rows])]
    if not explains:
        unknown = sorted({name for one in grade.sources for name in one.unknowns})
        note = f"unknown: {', '.join(unknown) or 'nothing'}; --explain shows S, D and V of each source"
        return [Table(tables[0].title, (), tables[0].rows, note=note)]
    return [*tables, *(_source_table(one) for one in grade.sources)]


def _source_table(grade: SourceGrade) -> Table:
    row = _row_of(grade)
    from_row = (
        "no row: a stand-in"
        if row == "none"
        else f"{row} row; corroborated or contradicted: {grade.evidence}"
    )
    distance = f"{grade.source_type}, hops: {grade.hops}, table {TABLES_VERSION}"
    checked = "not assessed: 0.500 stands in" if grade.verification is None else "assessed"
    rows = [
        (Cell("S"), Cell(part_of_one(grade.credibility)), Cell(from_row)),
        (Cell("D"), Cell(part_of_one(grade.distance)), Cell(distance)),
        (Cell("V"), Cell(part_of_one(grade.verification)), Cell(checked)),
        (Cell("S·D·V"), Cell(part_of_one(grade.composite)), Cell("computed now, stored nowhere", "quiet")),
        *((Cell("unknown", "look"), Cell(name), Cell(WORDS[name])) for name in grade.unknowns),
        *((Cell("why", "quiet"), Cell(name), Cell(WORDS[name])) for name in grade.reasons),
    ]
    return Table(f"source {grade.entity}", (), rows)


def run_text(credibilities: Credibilities) -> str:
    """The run in words."""
    if credibilities.run is None:
        return "never computed: timeline world recompute"
    computed = f"{credibilities.run.run}, {format_utc(credibilities.run.as_of)}"
    return (
        f"{computed}; claims or credentials may have changed since" if credibilities.is_outdated else computed
    )


# -- a subject -------------------------------------------------------------------------------------------------


def grades_json(found: GradedSubject) -> Json:
    """Every question about a subject, the heaviest value of each first."""
    return {
        "schema": GRADES_SCHEMA,
        "subject": found.subject,
        **run_json(found.credibilities),
        "questions": [_question_json(one) for one in found.questions],
        "authority": AUTHORITY,
    }


def _question_json(one: GradedQuestion) -> Json:
    claims = {claimed.claim.id: claimed for claimed in one.claims}
    return {
        "key": one.question.key,
        "mutability": one.question.mutability,
        "tablesVersion": one.question.tables_version,
        "values": [value_json(value) for value in one.question.values],
        "claims": [claim_json(claims[grade.claim], grade) for grade in ordered(one.question.claims)],
        "current": _current_json(one.current),
        "verdicts": [
            {"id": found.verdict.id, "chosen": list(found.verdict.chosen), "gradesChanged": found.is_outdated}
            for found in one.verdicts
        ],
    }


def ordered(grades: Sequence[ClaimGrade]) -> list[ClaimGrade]:
    """Claims by their grade: asserted before assumed, the best first, those without a grade last."""
    return sorted(
        grades,
        key=lambda one: (
            one.composite is None,
            one.ceiling is not None,
            -(one.composite or 0),
            one.claim,
        ),
    )


def value_json(value: ValueGrade) -> Json:
    """What speaks for one value."""
    return {
        "value": value.value,
        "composite": value.composite,
        "weight": value.weight,
        "voices": value.voices,
        "ceiling": value.ceiling,
        "claims": list(value.claims),
    }


def _current_json(current: Current | None) -> Json | None:
    if current is None:
        return None
    return {
        "values": list(current.values),
        "assumption": current.is_assumption,
        "trajectory": [
            {"claim": one.claim.id, "value": one.claim.value, "saidAt": format_utc(one.claim.said_at)}
            for one in current.trajectory
        ],
    }


def grades_tables(found: GradedSubject) -> list[Table]:
    """The same for a person."""
    tables = []
    for one in found.questions:
        question = one.question
        title = f"{question.key} of {found.subject} ({question.mutability})"
        rows = [
            (
                Cell(part_of_one(value.weight)),
                Cell(part_of_one(value.composite)),
                Cell(str(value.voices)),
                Cell(value.value),
                Cell(value.ceiling or "", "look"),
            )
            for value in question.values
        ]
        columns = ("weight", "best", "voices", "value", "")
        tables.append(Table(title, columns, rows, empty="nothing that was meant to be believed"))
        tables.append(_claims_table(one))
        if one.current is not None:
            tables.append(_current_table(one.current))
        tables += [verdict_table(given.verdict, is_outdated=given.is_outdated) for given in one.verdicts]
    return tables


def _claims_table(one: GradedQuestion) -> Table:
    claims = {claimed.claim.id: claimed for claimed in one.claims}
    rows = []
    for grade in ordered(one.question.claims):
        claimed = claims[grade.claim]
        told = (grade.intent, *(reason for source in grade.sources for reason in source.reasons))
        said = ", ".join(dict.fromkeys(reason for reason in told if not reason.startswith("credibility-")))
        rows.append(
            (
                Cell(part_of_one(grade.composite), "quiet" if grade.composite is None else "plain"),
                Cell(claimed.claim.value),
                Cell(said),
                Cell(claimed.work),
                Cell(grade.claim),
            )
        )
    return Table("claims", ("composite", "value", "", "work", "claim"), rows)


def _current_table(current: Current) -> Table:
    held = ", ".join(current.values) or "nothing"
    rows = [
        (
            Cell(format_utc(one.claim.said_at)),
            Cell(one.claim.value),
            Cell(one.claim.intent),
            Cell(one.claim.id),
        )
        for one in current.trajectory
    ]
    note = f"current: {held}" + (", as an assumption" if current.is_assumption else "")
    return Table("how it came to be so", ("said", "value", "intent", "claim"), rows, note=note)


def verdict_table(verdict: VerdictEntry, *, is_outdated: bool, is_in_force: bool = True) -> Table:
    """A verdict for a person."""
    stands = "in force" if is_in_force else "replaced"
    if is_outdated and is_in_force:
        stands += "; grades have changed since"
    rows = [
        ("about", f"{verdict.subject} {verdict.key}"),
        ("stands", stands),
        ("chosen", ", ".join(verdict.chosen) or "none: it stays open"),
        ("why", verdict.reason),
    ]
    return Table(verdict.id, (), [(Cell(name, "quiet"), Cell(text)) for name, text in rows])
