"""Verdicts: how the owner has settled questions for now, and whether that still rests on the same grades. Pure.

A verdict uses grades and is no part of them: no score moves because of one (G27). It is never changed; a newer one says
which it replaces, and the older stays in the log (G28).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sidecars.graded import VerdictEntry
from timeline.grading.claims import Claimed
from timeline.grading.grade import QuestionGrade, digest_grade


class VerdictInForce(NamedTuple):
    """A verdict in force. ``is_outdated``: the grades of its question are others now than when it was given."""

    verdict: VerdictEntry
    is_outdated: bool


def verdicts_in_force(entries: Iterable[VerdictEntry], grade: QuestionGrade) -> tuple[VerdictInForce, ...]:
    """The verdicts on one question that none has replaced, oldest first; ``entries`` in the order of the log.

    Two at once is a disagreement that the owner has to settle; none of them is preferred.
    """
    about = [one for one in entries if (one.subject, one.key) == (grade.subject, grade.key)]
    replaced = {name for one in about for name in one.supersedes}
    digest = digest_grade(grade)
    return tuple(VerdictInForce(one, one.grades_digest != digest) for one in about if one.id not in replaced)


def find_objection(
    verdict: VerdictEntry, claims: Sequence[Claimed], earlier: Iterable[VerdictEntry]
) -> str | None:
    """Why a verdict cannot be given, in words for the owner; ``None`` if it can.

    ``claims`` are those of its question, ``earlier`` the verdicts of the log.
    """
    known = {one.claim.id: one for one in claims}
    if any(name not in known for name in verdict.chosen):
        return "a verdict must choose among the claims of its question"
    if any(not known[name].is_graded for name in verdict.chosen):
        return "a verdict must not choose what was not meant to be believed"
    about = {one.id for one in earlier if (one.subject, one.key) == (verdict.subject, verdict.key)}
    if any(name not in about for name in verdict.supersedes):
        return "a verdict must replace verdicts on its own question"
    return None
