"""Faults that a resolver could have, planted one by one: the oracle has to notice each of them."""

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, TypeVar

import msgspec
import pytest

from tests.reasoning import comparing, states
from tests.reasoning.comparing import Difference, Resolver, pair_difference, state_difference
from tests.reasoning.oracle import pairs, table
from timeline.reasoning.decision import Decision, Flag, Status
from timeline.reasoning.declassified import Standing, View
from timeline.reasoning.graph import Graph, Scope, Vertex
from timeline.reasoning.mediation import Emission, HeadUse
from timeline.reasoning.policy import Policy
from timeline.reasoning.resolution import resolve
from timeline.reasoning.roles import GROUNDED, UNVERIFIED, Role
from timeline.reasoning.view import view_of

FRONT, STEP, SOME = 4, 31, 1500
Case = TypeVar("Case")
replace = msgspec.structs.replace


def _seeing(change: Callable[[Graph], Graph]) -> Resolver:
    """A resolver that takes the graph for another."""
    return lambda graph, query, access, policy: resolve(change(graph), query, access, policy)


def _telling(change: Callable[[Decision, Graph], Decision]) -> Resolver:
    """A resolver that tells something else than it has found."""
    return lambda graph, query, access, policy: change(resolve(graph, query, access, policy), graph)


def _each(change: Callable[[Vertex], Vertex]) -> Resolver:
    """A resolver that takes each vertex for another."""
    return _seeing(
        lambda graph: replace(graph, vertices={name: change(one) for name, one in graph.vertices.items()})
    )


def _without(**fields: Any) -> Resolver:  # values of whichever fields are named
    return _seeing(lambda graph: replace(graph, **fields))


def _scoped(**fields: None) -> Resolver:
    return _each(lambda vertex: replace(vertex, scope=replace(vertex.scope, **fields)))


def _with_policy(**fields: Any) -> Resolver:  # values of whichever fields are named
    return lambda graph, query, access, policy: resolve(graph, query, access, replace(policy, **fields))


def _trusted(vertex: Vertex) -> Vertex:
    """Whatever is of no checked origin, taken for what somebody remembers."""
    return replace(vertex, role=Role.MEMORY_INTERPRETATION) if vertex.role in UNVERIFIED else vertex


def _distrusted(vertex: Vertex) -> Vertex:
    """Only what was captured or reported can support anything: what was derived from it cannot."""
    return vertex if vertex.role in GROUNDED else replace(vertex, role=Role.HYPOTHESIS)


def _believed(vertex: Vertex) -> Vertex:
    """A root of whatever origin, taken for a report."""
    if vertex.derivation is None and vertex.role in GROUNDED:
        return replace(vertex, origin=states.GOOD_REPORT, role=Role.ATTRIBUTED_REPORT)
    return vertex


def _ending_late(vertex: Vertex) -> Vertex:
    """The end of an interval, taken for its last moment."""
    return vertex if vertex.end is None else replace(vertex, end=vertex.end + 1)


def _found_again(graph: Graph) -> Graph:
    """What is gone, taken for a report that is there."""
    return replace(
        graph,
        vertices={**graph.vertices, **{name: states.report(name) for name in graph.markers}},
        markers={},
    )


def _copied(graph: Graph) -> Graph:
    """Each use of a root, taken for a root of its own: copies corroborate."""
    vertices = dict(graph.vertices)
    for vertex in graph.vertices.values():
        if vertex.derivation is not None:
            ways = tuple(
                frozenset(f"{vertex.id}/{name}" if name in graph.vertices else name for name in way)
                for way in vertex.derivation.alternatives
            )
            vertices |= {
                name: states.report(name) for way in ways for name in way if name not in graph.markers
            }
            vertices[vertex.id] = replace(vertex, derivation=states.derivation(*ways))
    return replace(graph, vertices=vertices)


def _one_alternative(vertex: Vertex) -> Vertex:
    """Only the first alternative is looked at."""
    if vertex.derivation is None:
        return vertex
    return replace(vertex, derivation=states.derivation(vertex.derivation.alternatives[0]))


def _one_family(vertex: Vertex) -> Vertex:
    """All alternatives together, taken for one: roots as a flat list."""
    if vertex.derivation is None:
        return vertex
    return replace(vertex, derivation=states.derivation(frozenset().union(*vertex.derivation.alternatives)))


def _about_the_same(vertex: Vertex) -> Vertex:
    """Whatever is said of the subject, taken for an answer."""
    said = vertex.proposition
    return vertex if said is None else replace(vertex, proposition=replace(said, predicate="prefers"))


def _hidden_first(graph: Graph) -> Graph:
    """What was replaced or revoked, where the one who asks may not see it, taken for current: withheld as well."""
    seen = frozenset(name for name, one in graph.vertices.items() if one.scope.allows(states.ACCESS))
    return replace(graph, superseded=graph.superseded & seen, revoked=graph.revoked & seen)


def _without_flag(flag: Flag) -> Resolver:
    return _telling(lambda decision, _: replace(decision, flags=decision.flags - {flag}))


def _newest_wins(decision: Decision, _: Graph) -> Decision:
    """Of two that contradict each other the newer is right."""
    if Flag.CONFLICTED not in decision.flags:
        return decision
    newest = max(decision.premises, key=lambda vertex: vertex.observed_at)
    return replace(decision, flags=decision.flags - {Flag.CONFLICTED}, premises=(newest,))


def _any_rival(decision: Decision, graph: Graph) -> Decision:
    """Whatever says otherwise is a conflict, supported or not."""
    values = {
        one.proposition.value
        for one in graph.vertices.values()
        if one.proposition
        and one.id not in graph.superseded | graph.revoked
        and states.QUERY.asks_about(one.proposition)
    }
    if decision.status is Status.SUPPORTED and len(values) > 1:
        return replace(decision, flags=decision.flags | {Flag.CONFLICTED})
    return decision


def _everything_in_support(decision: Decision, graph: Graph) -> Decision:
    """S holds whatever says so, and not only as much as is needed."""
    said = {vertex.proposition for vertex in decision.premises}
    return replace(
        decision, premises=tuple(one for one in graph.vertices.values() if one.proposition in said)
    )


def _gone_beats_support(decision: Decision, graph: Graph) -> Decision:
    """If anything is gone, nothing is supported."""
    return replace(decision, status=Status.UNAVAILABLE, premises=()) if graph.markers else decision


def _gone_is_unknown(decision: Decision, _: Graph) -> Decision:
    """Nobody can tell any more that there was something."""
    return replace(decision, status=Status.UNKNOWN) if decision.status is Status.UNAVAILABLE else decision


def _never_bound(decision: Decision, _: Graph) -> Decision:
    """A decision without support has no witness."""
    return decision if decision.premises else replace(decision, witness=None)


def _stale_is_support(graph: Graph) -> Graph:
    """What was so once is so."""
    return replace(
        graph, vertices={name: replace(one, start=None, end=None) for name, one in graph.vertices.items()}
    )


FAULTS: Mapping[str, Resolver] = {
    "what was replaced still counts": _without(superseded=frozenset()),
    "what was revoked still counts": _without(revoked=frozenset()),
    "inscribed conflicts are passed over": _without(inscribed=frozenset()),
    "everybody may see everything": _each(lambda vertex: replace(vertex, scope=Scope())),
    "the principal is not looked at": _scoped(principals=None),
    "the purpose is not looked at": _scoped(purposes=None),
    "the task is not looked at": _scoped(tasks=None),
    "what was so once is so": _seeing(_stale_is_support),
    "the end still belongs to the interval": _each(_ending_late),
    "one root is enough": _with_policy(roots=1),
    "three roots are asked for": _with_policy(roots=3),
    "what a model says supports": _each(_trusted),
    "what is derived supports nothing": _each(_distrusted),
    "any origin will do": _each(_believed),
    "what is gone is there": _seeing(_found_again),
    "what is gone was never there": _telling(_gone_is_unknown),
    "copies corroborate": _seeing(_copied),
    "one alternative is all": _each(_one_alternative),
    "alternatives are a flat list": _each(_one_family),
    "another predicate answers": _each(_about_the_same),
    "visibility comes before supersession": _seeing(_hidden_first),
    "nothing is ever withheld": _without_flag(Flag.WITHHELD),
    "nothing is ever stale": _without_flag(Flag.STALE),
    "nothing is ever a conflict": _without_flag(Flag.CONFLICTED),
    "the newest wins": _telling(_newest_wins),
    "an unsupported rival is a conflict": _telling(_any_rival),
    "S holds more than is needed": _telling(_everything_in_support),
    "one gone thing spoils all support": _telling(_gone_beats_support),
    "no witness without support": _telling(_never_bound),
}


@functools.cache
def _cases() -> tuple[tuple[table.State, ...], tuple[pairs.Pair, ...]]:
    """All states and all pairs, the first few of each outcome in front: what is rare is found as soon."""
    return (
        _rare_first(table.all_states(), table.expected),
        _rare_first(pairs.all_pairs(), lambda pair: (pairs.expected(pair), pair.relation, pair.shared)),
    )


def _rare_first(cases: Iterable[Case], sort: Callable[[Case], object]) -> tuple[Case, ...]:
    seen = Counter[object]()
    first: list[Case] = []
    rest: list[Case] = []
    for case in cases:
        kind = sort(case)
        seen[kind] += 1
        (first if seen[kind] <= FRONT else rest).append(case)
    return (*first, *rest[::STEP], *rest)


def _first_difference(resolver: Resolver) -> Difference | None:
    """The first that comes, if any."""
    some_states, some_pairs = _cases()
    found = chain(
        (state_difference(state, resolver) for state in some_states[:SOME]),
        (pair_difference(pair, resolver) for pair in some_pairs),
        (state_difference(state, resolver) for state in some_states),
    )
    return next((difference for difference in found if difference), None)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    """A wrong resolver is told from a right one."""
    assert _first_difference(FAULTS[fault]), "the oracle has not noticed"


def _ignores_head(_emission: Emission, _policy: Policy, _as_of: int | None) -> HeadUse:
    return HeadUse.SAME


def _ignores_policy(emission: Emission, _policy: Policy, _as_of: int | None) -> HeadUse:
    return HeadUse.SAME if emission.prompt == emission.emission else HeadUse.SNAPSHOT


def _never_speaks_of_before(emission: Emission, _policy: Policy, _as_of: int | None) -> HeadUse:
    return HeadUse.SAME if emission.prompt == emission.emission else HeadUse.MOVED


@pytest.mark.parametrize("fault", [_ignores_head, _ignores_policy, _never_speaks_of_before])
def test_a_planted_fault_of_the_head_race_is_found(
    fault: Callable[[Emission, Policy, int | None], HeadUse], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that does not look at the head, or not at the policy, is told from a right one."""
    monkeypatch.setattr(comparing, "decide_head_use", fault)
    assert _first_difference(resolve)


def _tells_what_is_gone(decision: Decision, policy: Policy) -> View:
    return view_of(decision, replace(policy, collapse=False))


def _tells_what_is_hidden(decision: Decision, policy: Policy) -> View:
    return View(Standing.UNAVAILABLE) if Flag.WITHHELD in decision.flags else view_of(decision, policy)


def _tells_both_sides(decision: Decision, policy: Policy) -> View:
    return view_of(replace(decision, flags=decision.flags - {Flag.CONFLICTED}), policy)


@pytest.mark.parametrize("fault", [_tells_what_is_gone, _tells_what_is_hidden, _tells_both_sides])
def test_a_planted_fault_of_the_view_is_found(
    fault: Callable[[Decision, Policy], View], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A view that tells more than the policy allows is told from a right one."""
    monkeypatch.setattr(comparing, "view_of", fault)
    assert _first_difference(resolve)
