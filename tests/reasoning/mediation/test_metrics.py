"""The figures of a release rule, and what is no figure (P44)."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeline.reasoning.metrics import Disposition, Outcome, Ratio, measure

PASSED, QUALIFIED, BLOCKED = Disposition.PASSED, Disposition.QUALIFIED, Disposition.BLOCKED


def outcomes(unsafe: tuple[int, int, int], controls: tuple[int, int, int]) -> list[Outcome]:
    """So many passed, qualified and blocked, of the unsafe ones and of the controls."""
    return [
        Outcome(is_unsafe, disposition)
        for is_unsafe, counts in ((True, unsafe), (False, controls))
        for disposition, count in zip(Disposition, counts, strict=True)
        for _ in range(count)
    ]


@pytest.mark.requirement("P44")
def test_the_figures_are_those_of_the_definitions() -> None:
    """Counts that are all different, so that no two can be taken for each other."""
    found = measure(outcomes((2, 3, 7), (11, 13, 17)))
    assert found.unsupported_release == Ratio(2, 12)
    assert found.contamination == Ratio(2, 2 + 3 + 11 + 13)
    assert found.coverage == Ratio(24, 41)
    assert found.precision == Ratio(10, 3 + 7 + 13 + 17)
    assert found.recall == Ratio(10, 12)
    assert (found.passed, found.qualified, found.blocked) == (13, 16, 24)


@pytest.mark.requirement("P44")
def test_a_ratio_of_nothing_is_none_but_contamination_is_zero() -> None:
    """Nothing was released, so nothing released is unsafe; the others are no figure."""
    nothing = measure([])
    assert nothing.contamination == Ratio(0, 0)
    assert nothing.contamination.tenths_of_percent == 0
    assert (nothing.unsupported_release, nothing.coverage, nothing.precision, nothing.recall) == (None,) * 4
    refused = measure(outcomes((0, 0, 3), (0, 0, 2)))
    assert (refused.contamination, refused.coverage) == (Ratio(0, 0), Ratio(0, 2))
    assert measure(outcomes((3, 0, 0), (2, 0, 0))).precision is None
    assert measure(outcomes((0, 0, 0), (1, 1, 0))).recall is None
    assert measure(outcomes((1, 0, 1), (0, 0, 0))).coverage is None


@pytest.mark.parametrize(
    ("part", "whole", "tenths"),
    [(19, 19, 1000), (19, 24, 792), (18, 23, 783), (1, 19, 53), (18, 19, 947), (0, 7, 0), (1, 16, 63)],
)
def test_percent_is_rounded_as_the_paper_prints_it(part: int, whole: int, tenths: int) -> None:
    """To one place, half up, without a float."""
    ratio = Ratio(part, whole)
    assert (str(ratio), ratio.tenths_of_percent) == (f"{part}/{whole}", tenths)


@given(st.lists(st.builds(Outcome, st.booleans(), st.sampled_from(Disposition))), st.randoms())
def test_the_order_means_nothing(found: list[Outcome], random: Random) -> None:
    """A permutation has the same figures."""
    mixed = list(found)
    random.shuffle(mixed)
    assert measure(mixed) == measure(found)
