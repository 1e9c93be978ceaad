"""How much of a source counts as understood: defects and unreviewed types say no, the owner's word lifts the latter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.leaf import FormatPolicy
from sidecars.sidecar import UNKNOWN_TYPES_MAX, Tallies
from timeline.understanding import PARTLY, UNDERSTOOD, UNNAMED, FormatDecision, FormatRules, judge

NAMES = ("event_msg/new_thing", "quantum_state", "response_item/other_thing")
POLICIES = st.builds(
    FormatPolicy, host=st.sampled_from(("codex", "king")), type=st.sampled_from(NAMES), accepted=st.booleans()
)


def rules_of(*policies: FormatPolicy) -> FormatRules:
    """The rules after these decisions, those that change nothing left out."""
    rules = FormatRules()
    for index, policy in enumerate(policies):
        if rules.is_change(policy):
            rules = rules.with_decision(FormatDecision(index, 0, policy))
    return rules


def accepting(*names: str, host: str = "codex") -> FormatRules:
    """The rules that accept these types."""
    return rules_of(*(FormatPolicy(host=host, type=name, accepted=True) for name in names))


@pytest.mark.parametrize(
    ("rules", "stated", "tallies", "expected"),
    [
        (accepting(), UNDERSTOOD, Tallies(), UNDERSTOOD),
        (accepting(), PARTLY, Tallies(unknown=1, unknown_types=NAMES[:1]), PARTLY),
        (accepting(), UNDERSTOOD, Tallies(unknown=1, unknown_types=NAMES[:1]), PARTLY),
        (accepting(NAMES[0]), PARTLY, Tallies(unknown=1, unknown_types=NAMES[:1]), UNDERSTOOD),
        (accepting(NAMES[0]), PARTLY, Tallies(unknown=2, unknown_types=NAMES[:2]), PARTLY),
        (accepting(*NAMES), PARTLY, Tallies(unknown=3, unknown_types=NAMES), UNDERSTOOD),
        (accepting(NAMES[0], host="king"), PARTLY, Tallies(unknown=1, unknown_types=NAMES[:1]), PARTLY),
        (accepting(NAMES[0]), PARTLY, Tallies(defects=1, unknown=1, unknown_types=NAMES[:1]), PARTLY),
        (accepting(), UNDERSTOOD, Tallies(defects=1), PARTLY),
        (accepting(*NAMES), PARTLY, Tallies(), PARTLY),
    ],
)
def test_only_what_is_reviewed_or_accepted_is_understood(
    rules: FormatRules, stated: str, tallies: Tallies, expected: str
) -> None:
    """A defect is never accepted, nor a verdict that nothing explains; acceptance is of one host."""
    judgement = judge(rules, "codex", stated, tallies)
    assert judgement.understanding == expected
    assert {*judgement.accepted, *judgement.unreviewed} == set(tallies.unknown_types)


def test_a_full_list_of_types_may_be_cut() -> None:
    """What is not named was not accepted."""
    names = tuple(sorted(f"type-{number:02d}" for number in range(UNKNOWN_TYPES_MAX)))
    tallies = Tallies(unknown=99, unknown_types=names)
    assert judge(accepting(*names), "codex", PARTLY, tallies).understanding == PARTLY
    fewer = Tallies(unknown=99, unknown_types=names[1:])
    assert judge(accepting(*names), "codex", PARTLY, fewer).understanding == UNDERSTOOD


def test_what_has_no_name_is_never_accepted() -> None:
    """``other`` is where every name that is not kept is counted."""
    assert not FormatRules().is_change(FormatPolicy(host="codex", type=UNNAMED, accepted=True))


@given(policies=st.lists(POLICIES, max_size=12))
def test_the_last_decision_about_a_type_counts(policies: list[FormatPolicy]) -> None:
    """Replaying all decisions gives what the last one of each host and type says."""
    last = {(policy.host, policy.type): policy.accepted for policy in policies}
    rules = rules_of(*policies)
    assert rules.accepted == {key for key, accepted in last.items() if accepted}
    assert all(
        not rules.is_change(policy)
        for policy in policies
        if policy.accepted == last[policy.host, policy.type]
    )
