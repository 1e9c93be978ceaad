"""Claims that were found in a text, held against what was captured of the task: which question, and what fits. Pure.

The extractor is a heuristic (``timeline.reasoning.extraction``), and so is what is made of it here: a claim that has no
captured counterpart is asked about under a predicate of its own, about which nothing is ever recorded.
"""

from collections.abc import Iterable
from typing import Final

from sidecars.identity import JSON
from timeline.measurement import PREDICATE_PREFIX, fitted_label
from timeline.reasoning.extraction import Unit, UnitKind
from timeline.world.assertion import fields_of
from timeline.world.continuation import CONTINUATION_PREDICATE

CLAIM_PREDICATE: Final = "task.claim"
"""What nothing is recorded under: of a claim for which there is nothing to be held against."""

_TESTS: Final = frozenset({UnitKind.TESTS_PASSED, UnitKind.TESTS_FAILED})

_CHECKERS: Final = {"lint": ("eslint", "ruff"), "types": ("mypy", "tsc"), "format": ()}
"""Which programs' results a check is about that is named by its sort; all of those that were captured."""

_PASSING: Final = frozenset({UnitKind.TESTS_PASSED, UnitKind.BUILD_PASSED, UnitKind.CHECK_PASSED})


def predicates_for(claim: Unit, captured: Iterable[str]) -> tuple[str, ...]:
    """Under which of the ``captured`` predicates of the task a claim has to hold, sorted.

    One that names a program is about that program's results, and one about tests that names none about all tests.
    A build or a check that names nothing is about no result in particular, and so about none.
    """
    if claim.kind is UnitKind.COMPLETED:
        return (CONTINUATION_PREDICATE,)
    if claim.scope is not None:
        names = _CHECKERS.get(claim.scope, (claim.scope,))
        found = {PREDICATE_PREFIX + fitted_label(name) for name in names}
        return tuple(sorted(found & set(captured))) or (CLAIM_PREDICATE,)
    if claim.kind not in _TESTS:
        return (CLAIM_PREDICATE,)
    checks = {PREDICATE_PREFIX + name for names in _CHECKERS.values() for name in names}
    results = {name for name in captured if name.startswith(PREDICATE_PREFIX)}
    return tuple(sorted(results - checks)) or (CLAIM_PREDICATE,)


def fits(claim: Unit, value: JSON) -> bool:
    """Whether a captured value says what is claimed: the outcome, and every number that both give."""
    fields = fields_of(value)
    if claim.kind is UnitKind.COMPLETED:
        return fields.get("status") == "completed"
    wanted = "pass" if claim.kind in _PASSING else "fail"
    if fields.get("outcome") != wanted:
        return False
    count = fields_of(fields.get("count"))
    if not count:
        return claim.passed is None and claim.failed is None and claim.total is None
    total, passed = count.get("total"), count.get("value")
    return (
        claim.passed in {None, passed}
        and claim.total in {None, total}
        and (claim.failed is None or not isinstance(total, int) or claim.failed <= total - int(passed or 0))
    )


def claimed_value(claim: Unit) -> JSON:
    """A claim as a value: what stands for it where nothing that was captured fits."""
    said: dict[str, JSON] = {
        "kind": claim.kind.value,
        "passed": claim.passed,
        "failed": claim.failed,
        "skipped": claim.skipped,
        "part": claim.part,
        "total": claim.total,
        "scope": claim.scope,
    }
    return {"claimed": {name: value for name, value in said.items() if value is not None}}
