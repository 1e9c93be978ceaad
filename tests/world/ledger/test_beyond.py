"""Rows and marks behind the end of the log: somebody put them there to be believed once the log has grown so far."""

import pytest

from sidecars.leaf import FormatPolicy
from tests.simulators.worlds import World
from tests.world.ledger.ledgers import about, entry, reading, record
from tests.world.ledger.test_altered import by_hand
from timeline.state import State
from timeline.world import ledger
from timeline.world.supersession import bucket_of_entry

_BESIDE = (
    "INSERT INTO assertion SELECT ?, ?, tenant, subject, predicate, project, user, privacy, "
    '"group", portal, thread, evidence_kind, knowledge, observed_at, expires_at, supersedes, starts_at, '
    "purposes, about, derived, value_digest, hash, NULL FROM assertion WHERE id = 'assertion:a'"
)
FAR = 10**9


def current(state: State) -> list[str]:
    """The names of what nothing has replaced."""
    found = ledger.read_bucket(state, bucket_of_entry(entry("a")))
    return [one.id.removeprefix("assertion:") for one in found if not ledger.is_replaced(state, one.id)]


@pytest.mark.requirement("W65", "W9")
def test_a_mark_behind_the_end_hides_no_replacement(world: World) -> None:
    """What is replaced afterwards is marked by the leaf that replaces it, in the same process too."""
    record(world, entry("a"))
    by_hand(world, "UPDATE assertion SET replaced = ? WHERE id = 'assertion:a'", FAR)
    with world.session.writing() as state:
        ledger.record(state, [entry("b", supersedes=["a"])])
        assert current(state) == ["b"]
    assert len(about(world)) == 2


@pytest.mark.requirement("W65", "W12")
def test_a_mark_behind_the_end_never_takes_effect(world: World) -> None:
    """Neither while the state is open nor later: a rival that is hidden would make the other a fact."""
    record(world, entry("a", value=1), entry("b", value=2))
    with reading(world) as state:
        size = state.belief.size
    by_hand(world, "UPDATE assertion SET replaced = ? WHERE id = 'assertion:a'", size + 1)
    with world.session.writing() as state:
        assert current(state) == ["a", "b"]
        for number in range(3):
            ledger.record(state, [entry(f"other{number}", subject="suite:other")])
        assert current(state) == ["a", "b"]
    with reading(world) as state:
        assert current(state) == ["a", "b"]


@pytest.mark.requirement("W65")
def test_what_is_active_is_not_hidden_by_a_mark_behind_the_end(world: World) -> None:
    """Compare-and-set decides on what a reader is shown."""
    record(world, entry("a"))
    by_hand(world, "UPDATE assertion SET replaced = ? WHERE id = 'assertion:a'", FAR)
    expected = {"assertion:b": frozenset({"assertion:a"})}
    record(world, entry("b", supersedes=["a"]), expect_active=expected)


@pytest.mark.requirement("W65", "W7")
@pytest.mark.parametrize("ahead", [0, 1, FAR])
def test_a_row_behind_the_end_occupies_no_id(world: World, ahead: int) -> None:
    """The log gives the id to nobody: it is not refused for what stands beside it, and the id is free."""
    record(world, entry("a"))
    with reading(world) as state:
        size = state.belief.size
    by_hand(world, _BESIDE, size + ahead, "assertion:new")
    with world.session.writing() as state:
        assert ledger.find(state, "assertion:new") is None
        ledger.record(state, [entry("z"), entry("new", value=3)])
        found = ledger.find(state, "assertion:new")
        assert found is not None
        assert found.value == 3
    assert [one.id for one in about(world)] == ["assertion:a", "assertion:z", "assertion:new"]
    record(world, entry("later"))


@pytest.mark.requirement("W65")
def test_a_row_behind_the_end_is_gone_before_the_log_has_grown_so_far(world: World) -> None:
    """Leaves of other kinds take its place: nothing stands there that could be read."""
    record(world, entry("a"))
    with reading(world) as state:
        size = state.belief.size
    by_hand(world, _BESIDE, size + 1, "assertion:ghost")
    with world.session.writing() as state:
        assert current(state) == ["a"]
        for name in ("one", "two"):
            state.commit([FormatPolicy(host="codex", type=name, accepted=True)])
        assert current(state) == ["a"]


@pytest.mark.requirement("W65", "W7")
def test_a_row_behind_the_end_is_no_second_with_its_id(world: World) -> None:
    """Neither is one that another process has recorded since: the log as it was read has only the first."""
    record(world, entry("a"))
    by_hand(world, _BESIDE, FAR, "assertion:a")
    assert [one.id for one in about(world)] == ["assertion:a"]
