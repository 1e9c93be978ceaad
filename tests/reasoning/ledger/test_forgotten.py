"""What was forgotten leaves a gap that is authentic, and that is told only where the policy lets it be."""

import pytest

from sidecars.reasoned import EvidenceRevocation
from tests.reasoning.ledger.asking import (
    ME,
    accepting,
    ask,
    captured,
    commit,
    derived,
    record,
    standing,
    suggested,
)
from tests.simulators.worlds import World
from tests.world.ledger.ledgers import SUBJECT
from timeline.forget_use import Named, apply_plan, plan_forgetting
from timeline.reasoning_graph import marker_of
from timeline.reasoning_reading import read_graph


@pytest.mark.requirement("P2", "P34", "P35", "P50")
def test_what_rests_on_something_forgotten_is_unavailable(world: World) -> None:
    """Another ground keeps its support; without one it looks like what was never recorded, unless it may be told."""
    commit(world, accepting())
    record(world, captured("a"), captured("b", seen_in=2))
    record(world, derived(suggested("i", predicate="x.y"), "memory-interpretation", ("a",), ("b",)))
    planned = plan_forgetting(world.session, Named(assertions=("assertion:a",)), "keep")
    apply_plan(world.session, planned.digest, confirmed=True)

    assert standing(world) == standing(world, predicate="x.y") == "supported"
    with world.session.reading() as state:
        graph = read_graph(state, ME, [(SUBJECT, "x.y")])
    assert dict(graph.markers) == {"assertion:a": marker_of("assertion:a")}
    commit(world, EvidenceRevocation("assertion:b", "why"))
    told, nothing = (ask(world, predicate=name).answer for name in ("x.y", "x.z"))
    assert told.view == nothing.view
    assert [text.replace("x.y", "x.z") for text in told.status] == list(nothing.status)
    commit(world, accepting(2, collapse=False))
    assert (standing(world, predicate="x.y"), standing(world, predicate="x.z")) == (
        "unavailable",
        "unrecorded",
    )
