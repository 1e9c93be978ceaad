"""All 41,472 states of one claim alone, against a truth table that knew nothing of the resolver."""

import pytest

from tests.reasoning.comparing import state_difference
from tests.reasoning.oracle import table


@pytest.mark.requirement("P12", "P21", "P22", "P23", "P24", "P30")
@pytest.mark.parametrize("role", table.ROLES)
def test_every_state_of_a_role_is_decided_as_the_table_says(role: str) -> None:
    """Status, flags, S, whether a witness is due, what becomes of the candidate, and what its reader is given."""
    states = [state for state in table.all_states() if state.role == role]
    differences = [difference for difference in map(state_difference, states) if difference]
    assert len(states) == table.STATES // len(table.ROLES)
    assert not differences, f"{len(differences)} states, the first: {differences[0]}"
