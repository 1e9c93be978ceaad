"""Every two claims of a reduced set, in every relation: conflict, corroboration, withholding, and what is gone."""

import pytest

from tests.reasoning.comparing import pair_difference
from tests.reasoning.oracle import pairs


@pytest.mark.requirement("P11", "P25", "P30", "N14")
@pytest.mark.parametrize("relation", pairs.RELATIONS)
def test_every_pair_is_decided_as_the_oracle_says(relation: str) -> None:
    """Two claims that say the same, that contradict each other, or that have nothing to do with each other."""
    some = [pair for pair in pairs.all_pairs() if pair.relation == relation]
    differences = [difference for difference in map(pair_difference, some) if difference]
    assert len(some) >= len(pairs.CLAIMS) ** 2
    assert not differences, f"{len(differences)} pairs, the first: {differences[0]}"
