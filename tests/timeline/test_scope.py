"""A search scope: every pair of terms and numbers finds exactly what a look at every event finds."""

import itertools
from pathlib import Path

import pytest

from adapters.objective.vocabulary import CANONICAL_TERMS
from sidecars.leaf import Revocation
from tests.simulators.hosts import pytest_output
from tests.simulators.worlds import World, consent, new_world, rollout_of, write_transcript
from timeline import service
from timeline.search import SearchScope, Status
from timeline.state import State, open_for_writing, open_state
from timeline.terms import Query, event_mask, parse_query

NUMBERS = ("0", "1", "2", "3", "11", "12", "13", "14", "99", "suite-4")
SESSIONS = (
    [("pytest -q", 11, 1), ("npm test", 12, 0), ("cat old.log", 99, 3)],
    [("pytest -q", 13, 0), ("pytest -q", 11, 2)],
)
"""Runs of two sessions as command, passed, failed: numbers meet in one session that are apart in the other."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give two indexed sessions."""
    made = new_world(tmp_path_factory.mktemp("scope"))
    for seed, runs in enumerate(SESSIONS):
        rollout = rollout_of(made, runs=0, seed=seed)
        rollout.start_turn()
        rollout.prompt("go on")
        for command, passed, failed in runs:
            rollout.command(command, pytest_output(passed, failed), 1 if failed else 0)
        rollout.end_turn("done")
        consent(made, rollout, write_transcript(made, rollout))
    service.index(made.session, made.root)
    return made


def matching(state: State, query: Query) -> set[str]:
    """Look at every event of every sidecar."""
    found = set()
    for source in state.view.active:
        for entry in source.kept:
            for event in state.open_sidecar(entry)[1].events:
                numbers = {event.passed, event.failed, event.total}
                if event_mask(event) & query.mask == query.mask and numbers.issuperset(query.numbers):
                    found.add(event.id)
    return found


@pytest.mark.requirement("T20", "T21")
def test_every_pair_finds_what_a_look_at_every_event_finds(world: World) -> None:
    """No pair of terms or numbers is lost by the counts, and none is found that never meets in one event."""
    with open_state(world.locations, world.session.ports) as state:
        scope = SearchScope(state, state.view.active)
        hits = 0
        for words in itertools.combinations((*CANONICAL_TERMS, *NUMBERS), 2):
            query = parse_query(words)
            answer = scope.search(window=None, query=query)
            ids = {card.event.id for card in answer.cards}
            wanted = matching(state, query)
            assert (answer.status is Status.FOUND) == bool(wanted), words
            assert ids <= wanted, words
            assert answer.cards or answer.status is Status.NOT_FOUND, words
            hits += bool(wanted)
        assert 20 < hits < 400


def test_a_scope_ends_with_the_state_it_was_made_for(tmp_path: Path) -> None:
    """After a commit its sources may be others: it refuses to answer, whoever forgot to make another."""
    world = new_world(tmp_path)
    rollout = rollout_of(world)
    consent(world, rollout, write_transcript(world, rollout))
    service.index(world.session, world.root)
    query = parse_query(("pytest", "passed"))
    with open_for_writing(world.locations, world.session.ports) as state:
        scope = SearchScope(state, state.view.active)
        assert scope.search(window=None, query=query).status is Status.FOUND
        (source,) = state.view.active
        state.commit([Revocation(enrollment_id=source.enrollment.enrollment_id)])
        with pytest.raises(RuntimeError, match="changed"):
            scope.search(window=None, query=query)
