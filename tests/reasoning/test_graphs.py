"""The resolver over random graphs, beside a slow and plain model of the same thing, and what must never change."""

import itertools

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.reasoning import states
from tests.reasoning.comparing import flags, support
from tests.reasoning.random_graphs import HIDDEN, Sample, samples, with_marker, with_vertices
from tests.reasoning.slow_model import NOW, Lens, Slow, SlowDecision, is_invalidated, may_see
from timeline.reasoning.admission import check_graph
from timeline.reasoning.decision import Decision, Flag, Status
from timeline.reasoning.graph import Graph, Origin, Vertex
from timeline.reasoning.policy import Policy
from timeline.reasoning.resolution import resolve
from timeline.reasoning.roles import UNVERIFIED, OriginClass, Role
from timeline.reasoning.roots import (
    Reading,
    are_independent,
    count_independent,
    invalidated,
    path_of,
    read_families,
    root_families,
)
from timeline.reasoning.view import view_of

replace = msgspec.structs.replace
POLICIES = st.sampled_from([Policy(version=1, roots=number) for number in (1, 1, 2, 2, 3)])
LATER = 100
"""Observed after everything in a sample."""


def decide(graph: Graph, policy: Policy = states.POLICY) -> Decision:
    """The real decision about the question of these tests."""
    return resolve(graph, states.QUERY, states.ACCESS, policy)


def outcome(decision: Decision) -> SlowDecision:
    """Status, flags and S of a real decision."""
    return SlowDecision(str(decision.status).capitalize(), flags(decision), support(decision))


def slow(sample: Sample) -> Slow:
    """The slow model of a sample."""
    return Slow(sample.graph, states.ACCESS, states.AT, sample.good)


def reading(lens: Lens = NOW) -> Reading:
    """The real counterpart of a lens."""
    return Reading(states.ACCESS, None if lens.any_time else states.AT, lens.markers)


@pytest.mark.requirement("P10", "P24", "N4")
@given(samples(), st.booleans(), st.booleans())
def test_root_sets_are_those_of_every_complete_way(
    sample: Sample, any_time: bool, markers: bool
) -> None:  # drawn
    """Alternatives, shared dependencies and diamonds: the same minimal sets as by trying each way."""
    lens = Lens(any_time, markers)
    model = slow(sample)
    families = root_families(sample.graph, sample.graph.vertices, reading(lens))
    for name in sample.graph.vertices:
        assert set(families[name]) == model.root_sets(name, lens), name


@pytest.mark.requirement("P11")
@given(samples())
def test_two_are_independent_if_both_have_roots_and_none_in_common(sample: Sample) -> None:
    """Whatever hangs together below is not independent above, however many steps are between."""
    model = slow(sample)
    families = root_families(sample.graph, sample.graph.vertices, reading())
    for one, other in itertools.combinations(sample.graph.vertices, 2):
        mine = frozenset().union(*model.root_sets(one))
        yours = frozenset().union(*model.root_sets(other))
        expected = bool(mine) and bool(yours) and not mine & yours
        assert are_independent(families[one], families[other]) == expected


@pytest.mark.requirement("P21", "P22", "P23", "P24", "P25", "P30", "P34")
@given(samples(), POLICIES)
def test_a_resolution_is_that_of_the_slow_model(sample: Sample, policy: Policy) -> None:
    """Status, flags and S."""
    assert outcome(decide(sample.graph, policy)) == slow(sample).resolve(states.QUERY, policy)


@pytest.mark.requirement("P22", "P23", "P33", "M4")
@given(samples(), POLICIES)
def test_support_is_visible_current_and_of_a_role_that_may_support(sample: Sample, policy: Policy) -> None:
    """S is there exactly if it is supported, and all of it may be seen and said."""
    decision = decide(sample.graph, policy)
    assert bool(decision.premises) == (decision.status is Status.SUPPORTED)
    for vertex in decision.premises:
        assert may_see(vertex.scope, states.ACCESS)
        assert vertex.role not in UNVERIFIED
        assert vertex.holds_at(states.AT)
        assert vertex.id not in sample.graph.superseded | sample.graph.revoked
        assert vertex == sample.graph.vertices[vertex.id]


def copies_of(vertex: Vertex, number: int) -> list[Vertex]:
    """The same thing said again, later, by the same root or from the same dependencies."""
    root = vertex.root_id if vertex.derivation is None else None
    return [
        replace(vertex, id=f"{vertex.id}:copy:{one}", observed_at=LATER, root=root) for one in range(number)
    ]


@pytest.mark.requirement("P11", "M5")
@given(samples(), st.data(), st.integers(1, 4), POLICIES)
def test_copies_from_one_root_change_nothing(
    sample: Sample, data: st.DataObject, number: int, policy: Policy
) -> None:
    """However often the same is said by the same, it is said once."""
    graph = sample.graph
    name = data.draw(st.sampled_from(sorted(graph.vertices)))
    graph = replace(graph, superseded=graph.superseded - {name}, revoked=graph.revoked - {name})
    copies = copies_of(graph.vertices[name], number)
    assert outcome(decide(with_vertices(graph, *copies), policy)) == outcome(decide(graph, policy))


def remembered(decision: Decision, cycle: int) -> list[Vertex]:
    """What an agent might store after it has been told something, on its own and on no other word."""
    recalled = frozenset(vertex.id for vertex in decision.premises)
    told = [(recalled,)] if recalled else []
    derived = [
        Vertex(
            f"stored:{cycle}:{role}",
            f"version:{cycle}:{role}",
            role,
            states.SAYS,
            LATER + cycle,
            derivation=states.derivation(*ways),
        )
        for ways in told
        for role in (Role.MEMORY_INTERPRETATION, Role.RECORDED_BELIEF, Role.PROBABILISTIC_INTERPRETATION)
    ]
    own = Origin(
        OriginClass.MODEL_PRIOR, {"model": "m", "checkpoint": "c"}, frozenset({"model", "checkpoint"})
    )
    priors = [
        Vertex(
            f"stored:{cycle}:{role}", f"version:{cycle}:{role}", role, states.SAYS, LATER + cycle, origin=own
        )
        for role in (Role.MODEL_PRIOR, Role.HYPOTHESIS, Role.UNVERIFIED_RETRIEVAL)
    ]
    return derived + priors


@pytest.mark.requirement("M5", "M6", "P15")
@given(samples(), POLICIES, st.integers(1, 4))
def test_recalling_and_storing_changes_nothing(sample: Sample, policy: Policy, cycles: int) -> None:
    """An answer that is stored, recalled and stored again does not come to be better supported than it was."""
    graph = sample.graph
    first = decide(graph, policy)
    assume(Flag.CONFLICTED not in first.flags)
    assume(all(vertex.proposition == states.SAYS for vertex in first.premises))
    for cycle in range(cycles):
        graph = with_vertices(graph, *remembered(decide(graph, policy), cycle))
        assert outcome(decide(graph, policy)) == outcome(first)
    said = [name for name, one in graph.vertices.items() if one.proposition == states.SAYS]
    before = [name for name in said if name in sample.graph.vertices]
    assert independent(graph, said) == independent(graph, before)


def independent(graph: Graph, names: list[str]) -> int:
    """How many independent root sets these vertices have, all of them."""
    families = root_families(graph, names, reading())
    return count_independent([one for name in names for one in families[name]], enough=9)


@pytest.mark.requirement("P11", "P24")
@given(samples(), POLICIES)
def test_one_more_independent_root_never_takes_support_away(sample: Sample, policy: Policy) -> None:
    """More people who say so, each on his own word: the count goes up by one, and what was supported still is."""
    witness = replace(states.report("witness"), proposition=states.SAYS, observed_at=LATER)
    more = with_vertices(sample.graph, witness)
    names = [
        name
        for name, one in sample.graph.vertices.items()
        if one.proposition == states.SAYS and name not in sample.graph.superseded
    ]
    assert independent(more, [*names, "witness"]) == independent(sample.graph, names) + 1
    before, after = decide(sample.graph, policy), decide(more, policy)
    if before.status is Status.SUPPORTED:
        assert after.status is Status.SUPPORTED
        assert {one.proposition for one in before.premises} <= {one.proposition for one in after.premises}


@pytest.mark.requirement("P15")
@given(samples(), POLICIES)
def test_what_rests_on_something_unverified_supports_nothing(sample: Sample, policy: Policy) -> None:
    """If every way to everything leads over something of no checked origin, there is no support to be had."""
    prior = Vertex("prior", "version:prior", Role.MODEL_PRIOR, None, 0, origin=states.PROVES_NOTHING)
    vertices = {
        name: one
        if one.derivation is None
        else replace(
            one, derivation=states.derivation(*(way | {"prior"} for way in one.derivation.alternatives))
        )
        for name, one in sample.graph.vertices.items()
    }
    graph = replace(sample.graph, vertices={**vertices, "prior": prior})
    for vertex in decide(graph, policy).premises:
        assert vertex.derivation is None


@pytest.mark.requirement("P34")
@given(samples())
def test_what_is_invalidated_has_no_complete_way_without_something_revoked(sample: Sample) -> None:
    """Support survives a revocation as long as one complete alternative does."""
    found = invalidated(sample.graph, sample.graph.vertices)
    for name in sample.graph.vertices:
        assert (name in found) == is_invalidated(sample.graph, name), name


@pytest.mark.requirement("P34")
@given(samples(), st.data(), POLICIES)
def test_a_revocation_supports_nothing_new(sample: Sample, data: st.DataObject, policy: Policy) -> None:
    """Taking something back leaves less, or as much."""
    more = data.draw(st.frozensets(st.sampled_from(sorted(sample.graph.vertices)), min_size=1, max_size=2))
    before = decide(sample.graph, policy)
    after = decide(replace(sample.graph, revoked=sample.graph.revoked | more), policy)
    assert {one.proposition for one in after.premises} <= {one.proposition for one in before.premises}
    assert not more & support(after)


@pytest.mark.requirement("P2", "P35")
@given(samples(), st.data(), POLICIES)
def test_what_is_gone_makes_unavailable_and_never_unknown(
    sample: Sample, data: st.DataObject, policy: Policy
) -> None:
    """A root that leaves a marker was enough before, so the answer is that something is gone, or still support."""
    roots = sorted(name for name, one in sample.graph.vertices.items() if one.derivation is None)
    name = data.draw(st.sampled_from(roots))
    silent = replace(sample.graph.vertices[name], proposition=None, root=None)
    graph = with_vertices(sample.graph, silent)
    before, after = decide(graph, policy), decide(with_marker(graph, name), policy)
    if before.status is Status.SUPPORTED:
        assert after.status in {Status.SUPPORTED, Status.UNAVAILABLE}
        assert Flag.STALE not in after.flags
    else:
        assert after.status is not Status.SUPPORTED


@pytest.mark.requirement("P22")
@given(samples(), st.randoms(use_true_random=False), POLICIES)
def test_the_order_of_a_dictionary_decides_nothing(sample: Sample, random: object, policy: Policy) -> None:
    """The whole decision is the same, its witness included."""
    shuffle = getattr(random, "shuffle")  # noqa: B009  # hypothesis gives no type that can be imported
    graph = sample.graph
    vertices, markers = list(graph.vertices.items()), list(graph.markers.items())
    shuffle(vertices)
    shuffle(markers)
    turned = replace(graph, vertices=dict(vertices), markers=dict(markers))
    assert decide(turned, policy) == decide(graph, policy)


@pytest.mark.requirement("P18")
@given(samples(), st.booleans())
def test_every_trace_ends_at_roots_or_markers(sample: Sample, markers: bool) -> None:  # drawn
    """The way down from each vertex to each of its root sets is finite, and ends exactly there."""
    graph = sample.graph
    check_graph(graph)
    families = read_families(graph, graph.vertices, reading(Lens(markers=markers)))
    for name in graph.vertices:
        for roots in families.alone[name]:
            path = path_of(graph, families, name, roots)
            ends = {one for one, used in path.items() if not used}
            assert {graph.vertices[one].root_id if one in graph.vertices else one for one in ends} == roots
            assert all(one in graph.markers or graph.vertices[one].derivation is None for one in ends)


@pytest.mark.requirement("P6")
@given(samples(), POLICIES)
def test_another_model_changes_nothing(sample: Sample, policy: Policy) -> None:
    """At a fixed head it does not matter which model or evaluator works with it."""

    def swapped(vertex: Vertex) -> Vertex:
        if vertex.derivation is None:
            return vertex
        return replace(vertex, derivation=replace(vertex.derivation, evaluator="another model"))

    graph = replace(
        sample.graph, vertices={name: swapped(one) for name, one in sample.graph.vertices.items()}
    )
    assert outcome(decide(graph, policy)) == outcome(decide(sample.graph, policy))


@pytest.mark.requirement("P6", "P15")
@given(samples(), POLICIES)
def test_what_models_have_said_adds_and_takes_nothing(sample: Sample, policy: Policy) -> None:
    """Without anything unverified that answers, support and conflict are the same."""
    silent = {
        name: replace(one, proposition=None) if one.role in UNVERIFIED else one
        for name, one in sample.graph.vertices.items()
    }
    with_them, without = decide(sample.graph, policy), decide(replace(sample.graph, vertices=silent), policy)
    assert with_them.status is without.status
    assert with_them.premises == without.premises
    assert with_them.flags - {Flag.WITHHELD} == without.flags - {Flag.WITHHELD}


@pytest.mark.requirement("P30", "P21")
@given(samples(), st.data(), POLICIES)
def test_what_is_hidden_does_not_show(sample: Sample, data: st.DataObject, policy: Policy) -> None:
    """What is hidden may say anything, of any role and time: what its reader is given is the same."""
    name = data.draw(st.sampled_from(sorted(sample.graph.vertices)))
    hidden = replace(sample.graph.vertices[name], scope=data.draw(st.sampled_from(HIDDEN)))
    graph = with_vertices(sample.graph, hidden)
    other = replace(
        hidden,
        proposition=data.draw(st.sampled_from((None, states.SAYS, states.SAYS_OTHERWISE))),
        role=data.draw(st.sampled_from(Role)),
        observed_at=data.draw(st.integers(0, 5)),
        start=data.draw(st.sampled_from((None, states.AT + 1))),
    )
    before, after = decide(graph, policy), decide(with_vertices(graph, other), policy)
    assert view_of(after, policy) == view_of(before, policy)
    assert after.premises == before.premises
