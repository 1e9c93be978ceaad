"""The real resolver and the real release, in the oracle's words. What is compared with the oracle can be exchanged."""

from collections.abc import Callable
from typing import NamedTuple

from tests.reasoning import states
from tests.reasoning.oracle import pairs, table
from timeline.reasoning.decision import Decision
from timeline.reasoning.declassified import Standing
from timeline.reasoning.graph import Access, Graph
from timeline.reasoning.mediation import ContentUnit, Emission, Released, decide_head_use, decide_release
from timeline.reasoning.policy import Policy
from timeline.reasoning.proposition import Proposition, Query
from timeline.reasoning.resolution import resolve
from timeline.reasoning.view import view_of

Resolver = Callable[[Graph, Query, Access, Policy], Decision]

SAME_HEAD = Emission(states.HEAD, states.HEAD, states.AT)
MOVED_HEAD = Emission(states.HEAD, states.NEWER_HEAD, states.AT + 1)
VIEWS = {
    Standing.SUPPORTED: "supported",
    Standing.CONFLICTED: "conflicted",
    Standing.STALE: "stale",
    Standing.UNAVAILABLE: "unavailable",
    Standing.UNRECORDED: "none",
}


class Difference(NamedTuple):
    """Where a resolver and the oracle do not agree."""

    about: object
    expected: object
    found: object


def disposition(decision: Decision, policy: Policy, said: Proposition, emission: Emission) -> str:
    """What becomes of a candidate that says this and, where the head has moved, of which moment it speaks."""
    as_of = None if emission is SAME_HEAD else states.AT
    unit = ContentUnit("unit", Query(said.subject, said.predicate, states.AT), said, as_of)
    head = decide_head_use(emission, policy, as_of)
    result = decide_release(unit, view_of(decision, policy), head, emission.at)
    return str(result.disposition) if isinstance(result, Released) else "blocked"


def support(decision: Decision) -> frozenset[str]:
    """The ids of S."""
    return frozenset(vertex.id for vertex in decision.premises)


def flags(decision: Decision) -> frozenset[str]:
    """The flags, as the oracle spells them."""
    return frozenset(str(flag).capitalize() for flag in decision.flags)


def state_outcome(state: table.State, resolver: Resolver = resolve) -> table.Outcome:
    """What really comes of a claim alone."""
    policy = states.SNAPSHOT_POLICY if state.snapshot else states.POLICY
    decision = resolver(states.state_graph(state), states.QUERY, states.ACCESS, policy)
    return table.Outcome(
        str(decision.status).capitalize(),
        flags(decision),
        support(decision) == {"claim"},
        decision.witness is None,
        disposition(decision, policy, states.SAYS, SAME_HEAD if state.head_equal else MOVED_HEAD),
        VIEWS[view_of(decision, policy).standing],
    )


def pair_outcome(pair: pairs.Pair, resolver: Resolver = resolve) -> pairs.Outcome:
    """What really comes of two claims."""
    decision = resolver(states.pair_graph(pair), states.QUERY, states.ACCESS, states.POLICY)
    numbers = {name: number for number, name in states.NAMES.items()}
    said = (states.SAYS, states.SAID[pair.relation])
    first, second = (disposition(decision, states.POLICY, one, SAME_HEAD) for one in said)
    return pairs.Outcome(
        str(decision.status).capitalize(),
        flags(decision),
        frozenset(numbers[name] for name in support(decision)),
        decision.witness is None,
        (first, second),
        VIEWS[view_of(decision, states.POLICY).standing],
    )


def state_difference(state: table.State, resolver: Resolver = resolve) -> Difference | None:
    """Where the oracle disagrees about a claim alone."""
    expected, found = table.expected(state), state_outcome(state, resolver)
    return None if expected == found else Difference(state, expected, found)


def pair_difference(pair: pairs.Pair, resolver: Resolver = resolve) -> Difference | None:
    """Where the oracle disagrees about two claims."""
    expected, found = pairs.expected(pair), pair_outcome(pair, resolver)
    return None if expected == found else Difference(pair, expected, found)
