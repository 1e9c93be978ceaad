"""The daemon computes credibilities once a day where claims have changed, when a hook comes (G13)."""

import pytest

from sidecars.graded import CredentialEntry, CredibilityEntry
from sidecars.leaf import Kind
from tests.daemon.conftest import RunningDaemon
from timeline.registered import read_register

DAY = 86_400_000


def runs(daemon: RunningDaemon) -> int:
    """How many parts of runs the log holds."""
    with daemon.world.session.reading() as state:
        found = read_register(state, Kind.CREDIBILITY)
        assert all(isinstance(one.body, CredibilityEntry) for one in found)
        return len(found)


def credit(daemon: RunningDaemon, name: str) -> None:
    """The owner records a credential."""
    entry = CredentialEntry(
        id=f"credential:{name}",
        entity=f"person:{name}",
        domain="chess",
        quality=1,
        basis="seen",
        valid_from=0,
    )
    with daemon.world.session.writing() as state:
        state.commit([entry])


@pytest.mark.requirement("G13")
def test_a_hook_has_it_computed_once_a_day(daemon: RunningDaemon) -> None:
    """A second hook of the day looks at nothing; without news nothing is computed the next day either."""
    credit(daemon, "ada")
    daemon.hook("SessionStart")
    daemon.settle()
    assert runs(daemon) == 1
    credit(daemon, "bo")
    daemon.hook("Stop")
    daemon.settle()
    assert runs(daemon) == 1
    for expected in (2, 2):
        daemon.world.clock.at_ms += DAY + 1
        daemon.hook("Stop")
        daemon.settle()
        assert runs(daemon) == expected


def test_without_claims_nothing_is_computed(daemon: RunningDaemon) -> None:
    """A daemon of an owner who grades nothing writes nothing."""
    daemon.hook("SessionStart")
    daemon.settle()
    assert runs(daemon) == 0
