"""Records of a group commit: each is decided on what stands before it, though all become one batch where they can."""

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecars.assertion import AssertionEntry
from tests.simulators.worlds import World, leaves_of, verdict_of
from tests.world.ledger.ledgers import about, entry, names
from timeline.committing import commit_together
from timeline.world import ledger


def outcomes(world: World, *calls: Sequence[AssertionEntry], **expected: Sequence[str]) -> list[str]:
    """Record each call of one group; what came of it."""
    active = {
        f"assertion:{name}": frozenset(f"assertion:{other}" for other in others)
        for name, others in expected.items()
    }
    with world.session.writing() as state:
        found = commit_together(state, [ledger.work(state, call, expect_active=active) for call in calls])
        assert not state.assertions.claimed
    return [
        one.reason if isinstance(one, Exception) else " ".join(item.status for item in one) for one in found
    ]


@pytest.fixture
def commits(world: World, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Give a list to which each commit adds how many leaves it wrote."""
    sizes: list[int] = []
    from timeline import tlog

    write = tlog.write_batch

    def counted(*arguments: object, **named: object) -> bytes:
        sizes.append(len(arguments[3].leaves))
        return write(*arguments, **named)

    monkeypatch.setattr("timeline.state.write_batch", counted)
    return sizes


def test_what_is_apart_becomes_one_batch(world: World, commits: list[int]) -> None:
    """Other subjects, other predicates: nobody waits."""
    calls = [[entry(str(number), subject=f"suite:{number}")] for number in range(5)]
    assert outcomes(world, *calls) == ["recorded"] * 5
    assert commits == [5]
    assert verdict_of(world, deep=True) == ("ok", frozenset())


@pytest.mark.requirement("W6", "W7")
def test_one_id_is_recorded_once(world: World, commits: list[int]) -> None:
    """The second of a group sees the first: the same material, and other material."""
    assert outcomes(world, [entry("a")], [entry("a")], [entry("a", value=2)]) == [
        "recorded",
        "duplicate",
        "world-assertion-id-reused",
    ]
    assert commits == [1]
    assert names(about(world)) == ["a"]


def test_only_one_of_a_group_replaces_what_it_expects(world: World) -> None:
    """Compare-and-set within a group as between two processes."""
    outcomes(world, [entry("a")])
    found = outcomes(world, [entry("b", supersedes=["a"])], [entry("c", supersedes=["a"])], b=["a"], c=["a"])
    assert found == ["recorded", "world-compare-and-set-failed"]
    assert names(about(world)) == ["a", "b"]


def test_one_replaces_what_another_of_its_group_records(world: World) -> None:
    """It waits for it, and then it is there."""
    assert (
        outcomes(world, [entry("a")], [entry("b", supersedes=["a"])], [entry("c", supersedes=["b"])])
        == ["recorded"] * 3
    )
    with world.session.reading() as state:
        assert ledger.is_replaced(state, "assertion:a")
        assert ledger.is_replaced(state, "assertion:b")


def test_more_than_a_batch_holds(world: World, commits: list[int]) -> None:
    """Some of a group wait for a batch of their own; those who wait for these come to their end as well."""
    calls = [
        [entry(f"{call}.{number}", subject=f"suite:{call % 2}") for number in range(100)] for call in range(4)
    ]
    assert outcomes(world, *calls) == [" ".join(["recorded"] * 100)] * 4
    assert sum(commits) == 400
    assert max(commits) <= 256
    assert len(about(world, "suite:0")) == 200


NAMES = "abcd"
calls_of = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(NAMES), st.sampled_from((1, 2)), st.sets(st.sampled_from(NAMES), max_size=2)
        ),
        min_size=1,
        max_size=2,
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls_of)
def test_a_group_is_as_one_after_the_other(
    begun: World, tmp_path_factory: pytest.TempPathFactory, calls: list[list[tuple[str, int, set[str]]]]
) -> None:
    """Outcomes and assertions are those of the same calls committed alone."""
    entries = [
        [entry(name, value=value, supersedes=sorted(others - {name})) for name, value, others in call]
        for call in calls
    ]
    folder = tmp_path_factory.mktemp("group")
    group, alone = begun.copy(folder / "group"), begun.copy(folder / "alone")
    assert outcomes(group, *entries) == [outcomes(alone, call)[0] for call in entries]
    assert [one.entry for one in about(group)] == [one.entry for one in about(alone)]
    assert len(leaves_of(group)) == len(leaves_of(alone))
