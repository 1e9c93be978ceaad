"""Which leaves a key has signed, as ranges."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from timeline.revoked import format_ranges, join_ranges

INDEXES = st.sets(st.integers(0, 60)).map(sorted)


@given(INDEXES)
def test_ranges_hold_exactly_the_leaves_and_are_as_few_as_can_be(indexes: list[int]) -> None:
    """Written out again they are the same, and between two ranges a leaf is missing."""
    ranges = join_ranges(indexes)
    assert [index for first, last in ranges for index in range(first, last + 1)] == indexes
    assert all(one[1] + 1 < other[0] for one, other in itertools.pairwise(ranges))


def test_ranges_are_spelled_for_a_person() -> None:
    """A single leaf is no range."""
    assert format_ranges(join_ranges([2, 3, 4, 5, 7])) == "2-5, 7"
    assert format_ranges(()) == ""
