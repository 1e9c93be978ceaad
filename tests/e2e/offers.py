"""Offering a source through hook, enrollment and index, and seeing that the next good one works."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adapters.errors import AdapterError
from tests.simulators.hosts import CodexRollout
from tests.simulators.worlds import World, consent, rollout_of, verdict_of, write_transcript
from timeline import service
from timeline.errors import TimelineError
from timeline.index import IndexResult
from timeline.search import Answer, Status
from timeline.terms import parse_query

RUNS = 3
"""Test runs of an offered source."""

TEST_RUNS = parse_query(("pytest", "test-run"))
MIB = 1024 * 1024

Put = Callable[[World, CodexRollout], Path]
"""Puts a rollout, or something else, where the host would write it."""


@dataclass(frozen=True)
class Offered:
    """What became of one source."""

    reason: str | None
    hint: str
    result: IndexResult | None = None


def offer(world: World, seed: int, put: Put, runs: int = RUNS) -> Offered:
    """Offer one source through hook, enrollment and index."""
    rollout = rollout_of(world, seed=seed, runs=runs)
    path = put(world, rollout)
    try:
        ref = consent(world, rollout, path)
        (found,) = service.index(world.session, world.root, source_ref=ref)
    except service.REFUSALS as error:
        return Offered(error.reason, error.hint or "")
    if isinstance(found, IndexResult):
        return Offered(None, "", found)
    error = found[1]
    assert isinstance(error, TimelineError | AdapterError)
    return Offered(error.reason, error.hint or "")


def assert_good_one_works(world: World) -> None:
    """A good source offered next is enrolled, indexed and found."""
    good = offer(world, 99, write_transcript)
    assert good.result is not None, good
    assert good.result.complete
    assert good.result.events == RUNS
    answer = find(world, good.result.source.enrollment.source.ref)
    assert answer.status is Status.FOUND
    assert len(answer.cards) == RUNS
    assert verdict_of(world, deep=True) == ("ok", frozenset())


def find(world: World, source_ref: str | None = None) -> Answer:
    """Search for runs of pytest."""
    return service.find(world.session, world.root, query=TEST_RUNS, source_ref=source_ref)[0]
