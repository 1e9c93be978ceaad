"""The rules of support by example: what may enter, what follows from what, what is relevant, and what never is."""

import msgspec
import pytest

from tests.reasoning import states
from tests.reasoning.comparing import SAME_HEAD, disposition, support
from tests.reasoning.random_graphs import with_vertices
from timeline.reasoning.admission import check_graph
from timeline.reasoning.decision import Flag, Status
from timeline.reasoning.declassified import Standing, View
from timeline.reasoning.errors import (
    DependencyCycleError,
    NonPromotionError,
    PromotionBindingError,
    PromotionRuleError,
    ScopeWidenedError,
    VertexReusedError,
    VertexUnknownError,
)
from timeline.reasoning.graph import Access, Derivation, Graph, Origin, Scope, Vertex
from timeline.reasoning.lifecycle import admit, erase, revoke
from timeline.reasoning.policy import Policy
from timeline.reasoning.promotion import PROMOTIONS, Target, promote, vertex_version
from timeline.reasoning.proposition import Proposition
from timeline.reasoning.rendering import render_set
from timeline.reasoning.resolution import resolve
from timeline.reasoning.roles import DERIVED, GROUNDED, UNVERIFIED, Role
from timeline.reasoning.roots import Reading, root_families

replace = msgspec.structs.replace
OPEN = Scope()
ALWAYS = (None, None)


def graph_of(*vertices: Vertex) -> Graph:
    """A graph of these alone."""
    return Graph(states.HEAD, {vertex.id: vertex for vertex in vertices})


def says(name: str, said: Proposition = states.SAYS) -> Vertex:
    """A report of a good origin that says something itself."""
    return replace(states.report(name), proposition=said)


def derived(name: str, *ways: frozenset[str], said: Proposition = states.SAYS, scope: Scope = OPEN) -> Vertex:
    """What somebody makes of others."""
    return states.claim(name, "memory-interpretation", said, ALWAYS, ways, scope)


def status(graph: Graph, policy: Policy = states.POLICY) -> tuple[Status, frozenset[Flag]]:
    """Status and flags of the question."""
    decision = resolve(graph, states.QUERY, states.ACCESS, policy)
    return decision.status, decision.flags


@pytest.mark.requirement("P2")
def test_an_id_is_a_vertex_or_a_marker_or_refused() -> None:
    """A dependency that is neither is no dependency, and one that is both is none either."""
    report = states.report("r")
    check_graph(graph_of(report, derived("d", frozenset({"r"}))))
    check_graph(replace(graph_of(derived("d", frozenset({"gone"}))), markers={"gone": states.marker("gone")}))
    with pytest.raises(VertexUnknownError):
        check_graph(graph_of(report, derived("d", frozenset({"r"}), frozenset({"r", "nowhere"}))))
    with pytest.raises(VertexReusedError):
        check_graph(replace(graph_of(report), markers={"r": states.marker("r")}))
    with pytest.raises(VertexReusedError):
        check_graph(Graph(states.HEAD, {"another": report}))


@pytest.mark.requirement("P2")
def test_what_has_no_marker_is_not_unavailable() -> None:
    """Only an authenticated marker says that something is gone; an id that nobody has heard of says nothing."""
    graph = graph_of(derived("d", frozenset({"nowhere:1"}), frozenset({"nowhere:2"})))
    assert status(graph) == (Status.UNKNOWN, frozenset())
    marked = replace(graph, markers={name: states.marker(name) for name in ("nowhere:1", "nowhere:2")})
    assert status(marked) == (Status.UNAVAILABLE, frozenset())


@pytest.mark.requirement("P18")
@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_circle_is_refused(length: int) -> None:
    """What rests on itself has no finite trace."""
    circle = [derived(f"d{one}", frozenset({f"d{(one + 1) % length}"})) for one in range(length)]
    with pytest.raises(DependencyCycleError):
        check_graph(graph_of(*circle))


@pytest.mark.requirement("P18", "N4")
def test_a_long_chain_counts_as_its_one_root() -> None:
    """Any number of steps from one session is one session."""
    chain = [
        derived(f"d{one}", frozenset({f"d{one - 1}"}) if one else frozenset({"r"})) for one in range(2_000)
    ]
    graph = graph_of(states.report("r"), *chain)
    check_graph(graph)
    assert status(graph) == (Status.UNKNOWN, frozenset())
    assert status(graph, Policy(1)) == (Status.SUPPORTED, frozenset())


@pytest.mark.requirement("N4", "P11")
def test_roots_are_counted_on_the_graph_and_not_on_a_list() -> None:
    """Together a and b name three roots, but each of their ways needs the shared one."""
    roots = [states.report(name) for name in ("mine", "yours", "shared")]
    a, b = derived("a", frozenset({"mine", "shared"})), derived("b", frozenset({"yours", "shared"}))
    assert status(graph_of(*roots, a, b)) == (Status.UNKNOWN, frozenset())
    apart = derived("b", frozenset({"yours", "shared"}), frozenset({"yours"}))
    assert status(graph_of(*roots, a, apart)) == (Status.SUPPORTED, frozenset())


@pytest.mark.requirement("P10", "P11")
def test_only_smallest_root_sets_are_kept() -> None:
    """A way that needs more than another one is no further way; one that needs something else is."""
    ways = (frozenset({"a"}), frozenset({"a", "b"}), frozenset({"b", "c"}), frozenset({"a", "b", "c"}))
    graph = graph_of(*map(states.report, "abc"), derived("d", *ways))
    families = root_families(graph, ["d"], Reading(states.ACCESS, states.AT, markers=False))
    assert families["d"] == (frozenset({"a"}), frozenset({"b", "c"}))


@pytest.mark.requirement("P5")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("subject", "person:anna"),
        ("predicate", "uses"),
        *(("modality", one) for one in ("possible", "obligatory")),
    ],
)
def test_another_subject_predicate_or_modality_is_another_question(field: str, value: str) -> None:
    """What was said of one is no answer about the other, and no conflict with it."""
    other = replace(states.SAYS_OTHERWISE, **{field: value})
    graph = graph_of(says("a"), says("b"), says("c", other), says("d", other))
    decision = resolve(graph, states.QUERY, states.ACCESS, states.POLICY)
    assert (decision.status, decision.flags) == (Status.SUPPORTED, frozenset())
    assert support(decision) == {"a", "b"}
    asked = replace(states.QUERY, **{field: value})
    assert support(resolve(graph, asked, states.ACCESS, states.POLICY)) == {"c", "d"}


@pytest.mark.requirement("P5")
def test_a_vertex_without_a_proposition_answers_nothing() -> None:
    """Evidence that says nothing is relevant to no question, not even as something withheld."""
    hidden = replace(states.report("r"), scope=Scope(principals=frozenset({"person:ben"})))
    decision = resolve(graph_of(hidden), states.QUERY, states.ACCESS, states.POLICY)
    assert (decision.status, decision.flags, decision.witness) == (Status.UNKNOWN, frozenset(), None)


@pytest.mark.requirement("P7", "P25")
def test_support_is_not_truth() -> None:
    """Two, or three, that cannot all be true may all be supported; the one that is not, is in no conflict."""
    third = replace(states.SAYS, value='"water"')
    fourth = replace(states.SAYS, value='"milk"')
    roots = [
        says(f"{place}:{one}", said)
        for place, said in enumerate((states.SAYS, states.SAYS_OTHERWISE, third))
        for one in range(2)
    ]
    decision = resolve(graph_of(*roots, says("alone", fourth)), states.QUERY, states.ACCESS, states.POLICY)
    assert (decision.status, decision.flags) == (Status.SUPPORTED, frozenset({Flag.CONFLICTED}))
    assert support(decision) == {root.id for root in roots}


@pytest.mark.requirement("P7", "P32")
@pytest.mark.parametrize("standing", Standing)
def test_nothing_that_may_be_said_denies_anything(standing: Standing) -> None:
    """That there is no evidence is never told as if the opposite were known."""
    for sentence in render_set(View(standing), states.QUERY):
        words = set(sentence.lower().replace(".", "").split())
        assert not words & {"false", "untrue", "wrong", "never", "denied", "cannot", "true", "proven"}


@pytest.mark.requirement("P7", "P32")
def test_what_is_unknown_supports_no_negation() -> None:
    """Neither yes nor no is released where nothing is recorded, and a yes that lacks a root makes no no."""
    yes, no = (Proposition("agent", "prefers", value) for value in ("true", "false"))
    for graph in (graph_of(), graph_of(says("a", yes))):
        decision = resolve(graph, states.QUERY, states.ACCESS, states.POLICY)
        assert decision.status is Status.UNKNOWN
        assert disposition(decision, states.POLICY, yes, SAME_HEAD) == "blocked"
        assert disposition(decision, states.POLICY, no, SAME_HEAD) == "blocked"


@pytest.mark.requirement("P32")
def test_one_unknown_answer_leaves_the_others_alone() -> None:
    """What is not recorded about one predicate says nothing about another one."""
    other = replace(states.SAYS, predicate="uses")
    graph = graph_of(says("a", other), says("b", other))
    assert status(graph) == (Status.UNKNOWN, frozenset())
    asked = replace(states.QUERY, predicate="uses")
    assert resolve(graph, asked, states.ACCESS, states.POLICY).status is Status.SUPPORTED


@pytest.mark.requirement("P12")
def test_nine_roles_in_three_families() -> None:
    """Each role is grounded, derived or unverified, and only one of them."""
    assert len(Role) == 9
    assert set(Role) == GROUNDED | DERIVED | UNVERIFIED
    assert len(GROUNDED) + len(DERIVED) + len(UNVERIFIED) == 9


def target(role: Role, scope: Scope = OPEN) -> Target:
    """Something to promote to."""
    return Target("fresh", role, states.SAYS, observed_at=9, scope=scope)


def bound(role: Role, *ways: frozenset[str]) -> Derivation:
    """A derivation that names whatever the rule for this role wants."""
    return Derivation("rule", 1, "evaluator", ways, dict.fromkeys(PROMOTIONS[role].binds, "x"))


def of_role(name: str, role: Role) -> Vertex:
    """A vertex of any role; whether it was let in rightly is not asked."""
    return replace(says(name), role=role)


@pytest.mark.requirement("P13", "M4")
def test_a_promotion_makes_a_fresh_vertex_and_leaves_the_old_ones() -> None:
    """It depends on exactly these versions, and changes none of them."""
    graph = graph_of(says("r"))
    before = msgspec.json.encode(graph.vertices["r"], order="sorted")
    fresh = promote(
        graph, target(Role.MEMORY_INTERPRETATION), bound(Role.MEMORY_INTERPRETATION, frozenset({"r"}))
    )
    after = admit(graph, states.NEWER_HEAD, fresh)
    assert msgspec.json.encode(after.vertices["r"], order="sorted") == before
    assert set(after.vertices) == {"r", "fresh"}
    assert set(graph.vertices) == {"r"}
    assert fresh.derivation is not None
    assert fresh.derivation.alternatives == (frozenset({"r"}),)
    assert fresh.version == vertex_version(fresh)
    changed = graph_of(replace(says("r"), version="another"))
    with pytest.raises(PromotionBindingError):
        admit(changed, states.NEWER_HEAD, fresh)


@pytest.mark.requirement("P13")
def test_a_promotion_in_place_is_refused() -> None:
    """An id stands for one version for ever."""
    graph = graph_of(of_role("fresh", Role.HYPOTHESIS), says("r"))
    with pytest.raises(VertexReusedError):
        promote(
            graph, target(Role.MEMORY_INTERPRETATION), bound(Role.MEMORY_INTERPRETATION, frozenset({"r"}))
        )


@pytest.mark.requirement("P14")
@pytest.mark.parametrize(
    ("source", "role"),
    [
        (Role.ATTRIBUTED_REPORT, Role.MEMORY_INTERPRETATION),
        (Role.MEMORY_INTERPRETATION, Role.RECORDED_BELIEF),
        (Role.MODEL_PRIOR, Role.HYPOTHESIS),
    ],
)
def test_a_report_may_be_interpreted_and_a_prior_supposed(source: Role, role: Role) -> None:
    """These are the ways of the paper's table."""
    fresh = promote(graph_of(of_role("s", source)), target(role), bound(role, frozenset({"s"})))
    assert fresh.role is role


@pytest.mark.requirement("P15")
@pytest.mark.parametrize("role", sorted(GROUNDED))
@pytest.mark.parametrize("source", sorted(UNVERIFIED))
def test_nothing_unverified_becomes_grounded(role: Role, source: Role) -> None:
    """Not alone, not beside something grounded, and not as one of several alternatives."""
    graph = graph_of(of_role("good", role), of_role("bad", source))
    assert promote(graph, target(role), bound(role, frozenset({"good"}))).role is role
    for ways in (
        [frozenset({"bad"})],
        [frozenset({"good", "bad"})],
        [frozenset({"good"}), frozenset({"good", "bad"})],
    ):
        with pytest.raises(NonPromotionError):
            promote(graph, target(role), bound(role, *ways))


@pytest.mark.requirement("P15")
@pytest.mark.parametrize("role", sorted(DERIVED))
@pytest.mark.parametrize("source", sorted(UNVERIFIED))
def test_nothing_unverified_is_remembered_as_more(role: Role, source: Role) -> None:
    """What rests on it alone has no rule to follow by, and if it were there all the same it would support nothing."""
    bad = of_role("bad", source)
    with pytest.raises(PromotionRuleError):
        promote(graph_of(bad), target(role), bound(role, frozenset({"bad"})))
    smuggled = states.claim("d", role, states.SAYS, ALWAYS, (frozenset({"bad"}),))
    assert status(graph_of(bad, smuggled), Policy(1)) == (Status.UNKNOWN, frozenset())


NARROW = {
    "principals": frozenset({states.WHO}),
    "purposes": frozenset({states.WHY}),
    "tasks": frozenset({states.WHAT}),
}


@pytest.mark.requirement("P33")
@pytest.mark.parametrize("axis", NARROW)
def test_what_was_for_one_is_not_for_all(axis: str) -> None:
    """A preference for one task, person or purpose makes none for the rest, by promotion or by resolution."""
    narrow = Scope(**{axis: NARROW[axis]})
    graph = graph_of(replace(says("r"), scope=narrow))
    made = bound(Role.MEMORY_INTERPRETATION, frozenset({"r"}))
    assert promote(graph, target(Role.MEMORY_INTERPRETATION, narrow), made).scope == narrow
    for wide in (OPEN, Scope(**{axis: NARROW[axis] | {"another"}})):
        with pytest.raises(ScopeWidenedError):
            promote(graph, target(Role.MEMORY_INTERPRETATION, wide), made)
    # Let in all the same, it would be support for nobody but those who may see what it rests on.
    silent = replace(states.report("r"), scope=narrow)
    smuggled = graph_of(silent, derived("d", frozenset({"r"})))
    another = {"principals": "principal", "purposes": "purpose", "tasks": "task"}[axis]
    outsider = replace(states.ACCESS, **{another: "another"})
    assert resolve(smuggled, states.QUERY, states.ACCESS, Policy(1)).status is Status.SUPPORTED
    assert resolve(smuggled, states.QUERY, outsider, Policy(1)).status is Status.UNKNOWN


@pytest.mark.requirement("P33")
def test_a_missing_purpose_or_task_is_for_no_scope_that_names_one() -> None:
    """Whoever says nothing of his purpose is not taken to have all of them."""
    for axis in ("purposes", "tasks"):
        graph = graph_of(replace(says("r"), scope=Scope(**{axis: NARROW[axis]})))
        assert resolve(graph, states.QUERY, states.ACCESS, Policy(1)).status is Status.SUPPORTED
        decision = resolve(graph, states.QUERY, Access(states.WHO), Policy(1))
        assert (decision.status, decision.flags) == (Status.UNKNOWN, frozenset({Flag.WITHHELD}))


@pytest.mark.requirement("P33", "P24")
def test_what_was_so_in_one_year_is_not_so_in_the_next() -> None:
    """A summary is no longer true than what it sums up, whatever interval it claims for itself."""
    past = [replace(states.report(name), end=states.AT) for name in ("r1", "r2")]
    graph = graph_of(*past, derived("d", frozenset({"r1"}), frozenset({"r2"})))
    assert status(graph) == (Status.UNKNOWN, frozenset({Flag.STALE}))
    then = replace(states.QUERY, at=states.AT - 1)
    assert resolve(graph, then, states.ACCESS, states.POLICY).status is Status.SUPPORTED


@pytest.mark.requirement("M4")
@pytest.mark.parametrize("role", [Role.HYPOTHESIS, Role.PROBABILISTIC_INTERPRETATION])
def test_what_an_agent_concludes_says_from_what_and_that_it_is_uncertain(role: Role) -> None:
    """Its derivation binds what the rule wants, and however good its grounds are, it supports nothing."""
    graph = graph_of(states.report("r1"), states.report("r2"))
    ways = (frozenset({"r1"}), frozenset({"r2"}))
    fresh = promote(graph, target(role), bound(role, *ways))
    assert fresh.derivation is not None
    assert set(fresh.derivation.bindings) == PROMOTIONS[role].binds | {"dependencies"}
    assert status(with_vertices(graph, fresh), Policy(1)) == (Status.UNKNOWN, frozenset())
    for name in PROMOTIONS[role].binds:
        made = bound(role, *ways)
        lacking = replace(made, bindings={key: one for key, one in made.bindings.items() if key != name})
        with pytest.raises(PromotionBindingError):
            promote(graph, target(role), lacking)
    with pytest.raises(PromotionRuleError):
        promote(
            with_vertices(graph, fresh),
            replace(target(Role.MEMORY_INTERPRETATION), id="more"),
            bound(Role.MEMORY_INTERPRETATION, frozenset({"fresh"})),
        )


@pytest.mark.requirement("M7", "P10")
@pytest.mark.parametrize(
    "good", [states.GOOD_REPORT, states.GOOD_CAPTURE], ids=lambda origin: str(origin.origin)
)
def test_an_origin_that_lacks_anything_grounds_nothing(good: Origin) -> None:
    """What is not known about where something came from does not come to be known by its being stored."""
    role = Role.ATTRIBUTED_REPORT if good is states.GOOD_REPORT else Role.OBSERVED_EVENT
    whole = replace(says("r"), role=role, origin=good)
    assert status(graph_of(whole), Policy(1)) == (Status.SUPPORTED, frozenset())
    other = states.GOOD_CAPTURE if good is states.GOOD_REPORT else states.GOOD_REPORT
    lacking = [None, states.PROVES_NOTHING, other]
    for name in good.fields:
        kept = {key: one for key, one in good.fields.items() if key != name}
        lacking += [replace(good, fields=kept), replace(good, checked=good.checked - {name})]
        lacking.append(replace(good, fields={**good.fields, name: ""}))
    for origin in lacking:
        graph = graph_of(replace(whole, origin=origin), derived("d", frozenset({"r"})))
        assert status(graph, Policy(1)) == (Status.UNKNOWN, frozenset())


@pytest.mark.requirement("M5", "P11")
def test_one_who_says_it_three_times_has_said_it_once() -> None:
    """Statements of one person, and events of one session, stand on one root."""
    often = [replace(says(name), root="key:anna") for name in ("monday", "tuesday", "friday")]
    assert status(graph_of(*often)) == (Status.UNKNOWN, frozenset())
    assert status(graph_of(*often, replace(says("ben"), root="key:ben"))) == (Status.SUPPORTED, frozenset())


@pytest.mark.requirement("P30", "P35")
def test_a_hidden_correction_retires_what_is_visible() -> None:
    """The one who may not see the correction is not told the old value either, and not that there is a correction."""
    hidden = replace(says("new", states.SAYS_OTHERWISE), scope=Scope(principals=frozenset({"person:ben"})))
    graph = replace(graph_of(says("old"), hidden), superseded=frozenset({"old"}))
    assert status(graph, Policy(1)) == (Status.UNKNOWN, frozenset({Flag.WITHHELD}))


@pytest.mark.requirement("P30")
def test_support_may_stand_beside_something_withheld() -> None:
    """What may be seen is support enough, and S has nothing of what may not."""
    hidden = replace(says("c"), scope=Scope(principals=frozenset({"person:ben"})))
    decision = resolve(graph_of(says("a"), says("b"), hidden), states.QUERY, states.ACCESS, states.POLICY)
    assert (decision.status, decision.flags) == (Status.SUPPORTED, frozenset({Flag.WITHHELD}))
    assert support(decision) == {"a", "b"}
    rivals = (says("d", states.SAYS_OTHERWISE), says("e", states.SAYS_OTHERWISE))
    graph = graph_of(says("a"), says("b"), hidden, *rivals)
    assert status(graph) == (Status.SUPPORTED, frozenset({Flag.WITHHELD, Flag.CONFLICTED}))


@pytest.mark.requirement("P34")
def test_one_of_three_roots_may_fall() -> None:
    """Two are enough; when a second one falls, what rests on them is void and no longer relevant."""
    names = ("passkey", "telephone", "mail")
    claim = derived("d", *(frozenset({name}) for name in names))
    graph = graph_of(*map(states.report, names), claim)
    for name, expected in zip(names, (Status.SUPPORTED, Status.UNKNOWN, Status.UNKNOWN), strict=True):
        head = replace(graph.head, size=graph.head.size + 1)
        graph = revoke(graph, head, name)
        decision = resolve(graph, states.QUERY, states.ACCESS, states.POLICY)
        assert decision.status is expected
        assert (decision.witness is None) == (name == "mail")


@pytest.mark.requirement("P34")
def test_a_revocation_reaches_whatever_rests_on_it() -> None:
    """Through any number of steps; and one step that has another ground is not reached."""
    roots = [states.report(name) for name in ("a", "b", "c")]
    middle = replace(derived("middle", frozenset({"a"})), proposition=None)
    top = derived("top", frozenset({"middle"}), frozenset({"b"}), frozenset({"c"}))
    graph = graph_of(*roots, middle, top)
    revoked = replace(graph, revoked=frozenset({"a", "b"}))
    assert status(graph) == (Status.SUPPORTED, frozenset())
    assert status(revoked) == (Status.UNKNOWN, frozenset())
    assert status(revoked, Policy(1)) == (Status.SUPPORTED, frozenset())


@pytest.mark.requirement("P2", "P34")
def test_what_is_gone_may_be_revoked_as_well() -> None:
    """Then it is no longer what is missing: what rested on it is void."""
    ways = (frozenset({"gone:1"}), frozenset({"gone:2"}))
    markers = {f"gone:{one}": states.marker(f"gone:{one}") for one in (1, 2)}
    graph = replace(graph_of(derived("d", *ways)), markers=markers)
    assert status(graph) == (Status.UNAVAILABLE, frozenset())
    assert status(replace(graph, revoked=frozenset({"gone:1"}))) == (Status.UNKNOWN, frozenset())
    void = replace(graph, revoked=frozenset(markers))
    decision = resolve(void, states.QUERY, states.ACCESS, states.POLICY)
    assert (decision.status, decision.flags, decision.witness) == (Status.UNKNOWN, frozenset(), None)


USES = replace(states.SAYS, predicate="uses")
OWNS = replace(states.SAYS, predicate="owns")


@pytest.mark.requirement("P25", "P35")
def test_a_declared_contradiction_is_about_what_it_names() -> None:
    """It makes a conflict of the two questions that it is about, and of no other."""
    graph = replace(graph_of(says("a"), says("b", USES), says("c", OWNS)), inscribed=frozenset({("b", "c")}))
    assert status(graph, Policy(1)) == (Status.SUPPORTED, frozenset())
    for predicate in ("uses", "owns"):
        asked = replace(states.QUERY, predicate=predicate)
        decision = resolve(graph, asked, states.ACCESS, Policy(1))
        assert decision.flags == {Flag.CONFLICTED}
        assert support(decision) == {"b", "c"}


@pytest.mark.requirement("P25", "P35")
@pytest.mark.parametrize("role", sorted(UNVERIFIED))
def test_a_declared_contradiction_with_what_supports_nothing_is_none(role: Role) -> None:
    """Even if what it says is supported by others: it is not the one that supports it."""
    graph = graph_of(says("a"), says("b", USES), of_role("prior", role))
    prior = replace(graph.vertices["prior"], proposition=USES)
    with_prior = replace(with_vertices(graph, prior), inscribed=frozenset({("a", "prior")}))
    assert status(with_prior, Policy(1)) == (Status.SUPPORTED, frozenset())
    declared = replace(with_prior, inscribed=frozenset({("a", "b")}))
    assert status(declared, Policy(1)) == (Status.SUPPORTED, frozenset({Flag.CONFLICTED}))


@pytest.mark.requirement("P2", "P35")
def test_an_erased_root_leaves_an_unavailable_answer() -> None:
    """What rested on it says that something is gone, and goes on where it has other grounds."""
    graph = graph_of(states.report("a"), states.report("b"), derived("d", frozenset({"a"}), frozenset({"b"})))
    erased = erase(graph, states.NEWER_HEAD, states.marker("a"))
    assert status(erased) == (Status.UNAVAILABLE, frozenset())
    assert status(erased, Policy(1)) == (Status.SUPPORTED, frozenset())


@pytest.mark.requirement("P24")
def test_a_policy_asks_for_its_own_number_of_roots() -> None:
    """By predicate, and otherwise the usual one."""
    graph = graph_of(says("a"), says("b"))
    assert status(graph, Policy(version=1, roots=3)) == (Status.UNKNOWN, frozenset())
    assert status(graph, Policy(version=1, roots=3, required={"prefers": 2}))[0] is Status.SUPPORTED
    assert status(graph, Policy(version=1, roots=1, required={"prefers": 3}))[0] is Status.UNKNOWN
