"""Claims of a few words, for tests that change one thing at a time."""

from collections.abc import Sequence
from typing import Any

import msgspec

from sidecars.graded import Claim, ClaimSource, CredentialEntry, CredibilityRow, WorkClass
from timeline.grading.claims import Claimed
from timeline.grading.grade import Rows
from timeline.grading.recompute import Run

DAY = 86_400_000
AS_OF = 20_000 * DAY
"""The moment to which ages are counted in the tests."""


def source(name: str = "ada", **changes: Any) -> ClaimSource:
    """Give a source that saw it itself, with a root of its own."""
    fields: dict[str, Any] = {
        "entity": f"person:{name}",
        "source_type": "observed",
        "hops": 1,
        "root": f"root:{name}",
    }
    return ClaimSource(**(fields | changes))


def claimed(
    name: str, *sources: ClaimSource, work_class: WorkClass = "conversation", **changes: Any
) -> Claimed:
    """Give one claim about the birth of a person, said at ``AS_OF``."""
    fields: dict[str, Any] = {
        "id": f"claim:{name}",
        "subject": "person:bob",
        "key": "born",
        "domain": "history",
        "value": "1970",
        "intent": "asserted",
        "mutability": "immutable",
        "said_at": AS_OF,
        "sources": sources or (source(),),
    }
    return Claimed(Claim(**(fields | changes)), "work:talk", work_class, "person:ada")


def says(who: str, value: str, **changes: Any) -> Claimed:
    """Give what one person, with a root of his own, says."""
    fields: dict[str, Any] = {"value": value}
    return claimed(f"{who}-{value}", source(who), **(fields | changes))


def said_of(one: Claimed, **changes: Any) -> Claimed:
    """Give a claim like it, with other fields of the claim."""
    return one._replace(claim=msgspec.structs.replace(one.claim, **changes))


def credential(name: str = "ada", **changes: Any) -> CredentialEntry:
    """Give a full credential in history that never ends."""
    fields: dict[str, Any] = {
        "id": f"credential:{name}",
        "entity": f"person:{name}",
        "domain": "history",
        "quality": 1_000_000,
        "basis": "a degree that was seen",
        "valid_from": 0,
    }
    return CredentialEntry(**(fields | changes))


def rows_of(run: Run) -> Rows:
    """Give the rows of a run by entity and domain."""
    return {(row.entity, row.domain): row for row in run.rows}


def row_of(run: Run, name: str, domain: str = "history") -> CredibilityRow:
    """Give one row of a run."""
    return rows_of(run)[f"person:{name}", domain]


def scores_of(run: Run, names: Sequence[str]) -> dict[str, int]:
    """Give the scores of people over their whole record, where there are some."""
    rows = rows_of(run)
    places = {name: (f"person:{name}", "_global") for name in names}
    return {name: rows[place].score for name, place in places.items() if place in rows}


OF_CLASSES = (
    ("fiction", "fictional", "self", 0),
    ("autobiography", "asserted", "observed", 1),
    ("biography", "asserted", "secondhand", 1),
    ("paper", "asserted", "observed", 1),
    ("reference", "asserted", "cited", 1),
    ("conversation", "asserted", "secondhand", 1),
    ("data", "asserted", "observed", 1),
)
"""What the class of a work makes of a line that says nothing else: intent, type of source and hops."""
