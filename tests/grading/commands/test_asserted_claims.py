"""Assertions as claims: who says it and from how far follows from who recorded it (M2)."""

from typing import Any

import pytest

from sidecars.graded import Claim, ClaimSource
from tests.world.ledger.ledgers import OBSERVED, entry
from timeline.asserted_claims import LEDGER, claim_of
from timeline.grading.grade import grade_question
from timeline.world.assertion import Assertion
from timeline.world.derivation import OWNER_ROOT

SESSION = "session-ref:" + "a" * 32


def claim(**changes: Any) -> Claim:
    """The claim of an assertion."""
    made = claim_of(Assertion(7, 8, entry("a", **changes), 1))
    assert (made.work, made.work_class, made.author) == (
        LEDGER,
        "conversation",
        made.claim.sources[0].entity,
    )
    return made.claim


@pytest.mark.requirement("G6", "G21", "M7")
@pytest.mark.parametrize(
    ("changes", "source"),
    [
        (
            {"session": SESSION},
            ClaimSource(
                entity="host:transcript", source_type="observed", hops=1, session=SESSION, root=SESSION
            ),
        ),
        (
            {},
            ClaimSource(entity="host:transcript", source_type="observed", hops=1, root="evidence:a"),
        ),
        (
            {"evidence_kind": "explicit-user-feedback", "recorder": "owner"},
            ClaimSource(entity=OWNER_ROOT, source_type="self", root=OWNER_ROOT),
        ),
        (
            {"evidence_kind": "explicit-user-feedback", "recorder": "capture", "session": SESSION},
            ClaimSource(entity="user:dev", source_type="self", session=SESSION, root=SESSION),
        ),
        (
            {"evidence_kind": "uninterpreted-user-message", "session": SESSION},
            ClaimSource(entity="user:dev", source_type="self", session=SESSION, root=SESSION),
        ),
        (
            {"evidence_kind": "model-suggestion"},
            ClaimSource(entity="model:suggestion", source_type="unknown", hops=1),
        ),
        (
            {"recorder": "import"},
            ClaimSource(entity="import:record", source_type="unknown", hops=1),
        ),
    ],
)
def test_the_recorder_decides(changes: dict[str, Any], source: ClaimSource) -> None:
    """What counts as one witness counts as one root; what a model or another system says has none."""
    made = claim(**changes)
    assert made.sources == (source,)
    assert made.intent == ("speculative" if source.entity == "model:suggestion" else "asserted")


def test_what_it_says_is_taken_over() -> None:
    """Its question, its value, its time and until when it holds; how it may change nobody has said (G26)."""
    made = claim(starts_at=OBSERVED + 1, expires_at=OBSERVED + 2)
    assert (made.id, made.subject, made.key, made.value) == (
        "assertion:a",
        "suite:unit",
        "test.result",
        "1",
    )
    assert (made.said_at, made.valid_from, made.valid_until) == (OBSERVED, OBSERVED + 1, OBSERVED + 2)
    assert (made.mutability, made.domain) == ("slow_changing", "_global")


@pytest.mark.requirement("G21", "P11")
def test_all_captures_are_one_voice() -> None:
    """One session under two references, two sessions, or a copy: the host has said it, and says it again."""
    once, twice = (
        grade_question(
            [claim_of(Assertion(7, 8, entry(name, session=f"session-ref:{name * 32}"), 1)) for name in names],
            {},
        )
        for names in ("a", "ab")
    )
    assert [(one.weight, one.voices) for one in twice.values] == [
        (one.weight, one.voices) for one in once.values
    ]
    assert twice.values[0].voices == 1
