"""A question over a real ledger: what supports it, and what no longer does."""

import pytest

from sidecars.reasoned import EvidencePolicyEntry, EvidenceRevocation
from tests.reasoning.ledger.asking import (
    ask,
    captured,
    commit,
    derived,
    record,
    said,
    session,
    standing,
    suggested,
)
from tests.simulators.worlds import World

TWO = EvidencePolicyEntry(1, 2, {}, collapse=True, snapshot=False)


@pytest.mark.requirement("P11", "P42")
def test_two_sessions_corroborate_and_one_twice_does_not(world: World) -> None:
    """One session is one witness, however often it has seen something (G21)."""
    commit(world, TWO)
    record(world, captured("a", seen_in=1), captured("b", seen_in=1))
    assert standing(world) == "unrecorded"
    record(world, captured("c", seen_in=2))
    found = ask(world)
    assert found.answer.view.standing == "supported"
    (content,) = found.answer.view.contents
    assert [source.id for source in content.sources] == ["assertion:a", "assertion:c"]
