"""``distance``: how far a source stood."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.graded import HOPS_MAX, SourceType
from tests.grading.examples import source
from timeline.grading.distance import DECAYS, TABLES_VERSION, decide_distance, retell


@pytest.mark.requirement("G8")
@pytest.mark.parametrize(
    ("source_type", "hops", "distance"),
    [
        ("self", 0, 1_000_000),
        ("observed", 1, 900_000),
        ("observed", 2, 810_000),
        ("cited", 1, 800_000),
        ("cited", 3, 722_000),
        ("secondhand", 1, 800_000),
        ("secondhand", 2, 640_000),
        ("secondhand", 3, 512_000),
        ("hearsay", 1, 640_000),
        ("hearsay", 2, 384_000),
        ("unstated", 0, 1_000_000),
        ("unknown", 1, 500_000),
        ("unknown", 2, 250_000),
        ("hearsay", HOPS_MAX, 300),
    ],
)
def test_distance_decays_by_the_type_of_the_source(source_type: SourceType, hops: int, distance: int) -> None:
    """Each type has its own base and its own rate: what is cited decays more slowly than what is told on."""
    assert decide_distance(source(source_type=source_type, hops=hops)) == distance


def test_the_table_is_of_version_1() -> None:
    """Whoever changes a number has to give the table a new version, and this test new numbers."""
    assert TABLES_VERSION == 1
    assert {kind: tuple(decay) for kind, decay in DECAYS.items()} == {
        "self": (1_000_000, 1_000_000),
        "observed": (900_000, 900_000),
        "cited": (800_000, 950_000),
        "secondhand": (800_000, 800_000),
        "hearsay": (640_000, 600_000),
        "unstated": (1_000_000, 1_000_000),
        "unknown": (500_000, 500_000),
    }


@pytest.mark.requirement("M6", "M7")
@pytest.mark.parametrize(
    ("source_type", "retold"),
    [
        ("self", "secondhand"),
        ("observed", "secondhand"),
        ("cited", "cited"),
        ("secondhand", "secondhand"),
        ("hearsay", "hearsay"),
        ("unstated", "unknown"),
        ("unknown", "unknown"),
    ],
)
def test_what_is_told_again_is_one_hop_further_and_keeps_its_root(
    source_type: SourceType, retold: SourceType
) -> None:
    """Nothing that is recalled and stored comes nearer, and nothing gains a root or a verification."""
    hops = 0 if source_type in {"self", "unstated"} else 1
    first = source(source_type=source_type, hops=hops, verification=900_000)
    again = retell(first, "agent:me", "session:2")
    assert (again.source_type, again.hops, again.root) == (retold, hops + 1, "root:ada")
    assert (again.entity, again.session, again.verification) == ("agent:me", "session:2", None)
    assert retell(source(root=None), "agent:me", None).root is None


@given(st.sampled_from(sorted(DECAYS)), st.integers(1, HOPS_MAX))
def test_no_retelling_comes_nearer(source_type: SourceType, hops: int) -> None:
    """For every type and number of hops."""
    first = source(source_type=source_type, hops=hops)
    assert decide_distance(retell(first, "agent:me", None)) <= decide_distance(first)
    assert retell(source(hops=HOPS_MAX), "agent:me", None).hops == HOPS_MAX
