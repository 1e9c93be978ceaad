"""What is decided where the paper leaves it open, and each rule of ADR 0026 once."""

import pytest

from tests.reasoning.core.made import (
    ADA,
    EVENT,
    HEAD,
    NOW,
    ONE,
    OTHERS,
    QUERY,
    TWO,
    derived,
    gone,
    graph,
    ids,
    origin,
    replace,
    root,
    says,
)
from timeline.reasoning.decision import Decision, Flag, Status
from timeline.reasoning.evaluation import evaluate
from timeline.reasoning.graph import Access, Graph, Marker, Scope, Vertex
from timeline.reasoning.policy import Policy
from timeline.reasoning.proposition import Query
from timeline.reasoning.resolution import relevant, resolve
from timeline.reasoning.roles import OriginClass, Role
from timeline.reasoning.roots import EFFORT_MAX, Effort

SUPPORTED, UNKNOWN, UNAVAILABLE = Status.SUPPORTED, Status.UNKNOWN, Status.UNAVAILABLE
CONFLICTED, WITHHELD, STALE = Flag.CONFLICTED, Flag.WITHHELD, Flag.STALE


def told(decision: Decision) -> str:
    """Status, flags and S in one line."""
    words = [str(decision.status), *sorted(decision.flags)]
    return " ".join(words) + ": " + " ".join(ids(decision.premises))


def ask(whole: Graph, policy: Policy = ONE, access: Access = ADA, query: Query = QUERY) -> str:
    """What comes of a question, in one line."""
    return told(resolve(whole, query, access, policy))


# -- relevance -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("P5", "P21")
def test_relevant_is_what_has_subject_predicate_and_modality_of_the_question() -> None:
    """Of any role, whoever may see it and whenever it holds; the oldest first, then by id."""
    tea = says("tea")
    assert tea is not None
    whole = graph(
        root("s", "coffee", observed_at=2),
        root("b", observed_at=1, scope=OTHERS),
        root("a", observed_at=1, end=NOW),
        derived("u", "a", role=Role.HYPOTHESIS),
        root("none", None),
        root("subject", proposition=replace(tea, subject="bob")),
        root("predicate", proposition=says("tea", "drinks")),
        root("modality", proposition=replace(tea, modality="hypothetical")),
    )
    assert ids(relevant(whole, QUERY)) == ["a", "b", "s", "u"]


@pytest.mark.requirement("P34", "P35")
def test_what_was_superseded_or_invalidated_is_not_relevant() -> None:
    """Neither is what depends on nothing else; what a superseded one was used for is relevant, and unsupported."""
    whole = graph(
        root("a"), root("b"), root("c"), derived("d", "b"), derived("e", "a"), derived("f", "b", "c")
    )
    changed = replace(whole, superseded=frozenset({"a"}), revoked=frozenset({"b"}))
    assert ids(relevant(changed, QUERY)) == ["c", "e", "f"]
    assert ask(replace(changed, vertices={name: changed.vertices[name] for name in "ae"})) == "unknown: "


@pytest.mark.requirement("P26", "P32")
def test_nothing_relevant_is_unknown_and_nothing_else() -> None:
    """No flag, no premise, no witness; and nothing is negated."""
    found = resolve(graph(root("r", None)), QUERY, ADA, ONE)
    assert (found.status, found.flags, found.premises, found.witness) == (UNKNOWN, frozenset(), (), None)


# -- support ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("P23", "P24")
def test_a_value_with_roots_enough_is_supported() -> None:
    """And S holds what supports it."""
    assert ask(graph(root("r"))) == "supported: r"
    assert ask(graph(root("r")), TWO) == "unknown: "
    assert ask(graph(root("r"), root("s")), TWO) == "supported: r s"
    assert ask(graph(root("r"), root("s", "coffee")), TWO) == "unknown: "


@pytest.mark.requirement("P3", "P24")
def test_the_policy_says_how_many_roots_a_predicate_needs() -> None:
    """By default, or for this one; a policy that wants none supports nothing."""
    whole = graph(root("r"), root("s"))
    assert ask(whole, Policy(1, required={"prefers": 3})) == "unknown: "
    assert ask(whole, Policy(1, roots=3, required={"prefers": 2})) == "supported: r s"
    assert ask(whole, Policy(1, roots=0)) == "unknown: "


@pytest.mark.requirement("M5", "P11")
def test_copies_of_one_root_count_once() -> None:
    """Said a hundred times in one session, and summarised again and again."""
    copies = [root(f"r{number:03}", root="session") for number in range(100)]
    chain = [derived("d", "r000"), derived("e", "d r001"), derived("f", "e", "r099")]
    assert ask(graph(*copies, *chain)) == "supported: r000"
    assert ask(graph(*copies, *chain), TWO) == "unknown: "
    assert ask(graph(*copies, *chain, root("s", observed_at=9)), TWO) == "supported: s r000"


@pytest.mark.requirement("P9", "M9")
def test_what_is_unverified_supports_nothing_however_often_it_is_stored() -> None:
    """Nor does anything that needs it."""
    priors = [root(f"p{n}", role=Role.MODEL_PRIOR, origin=origin(OriginClass.MODEL_PRIOR)) for n in range(5)]
    assert ask(graph(*priors, derived("d", "p0 p1"), derived("e", "d"))) == "unknown: "
    assert ask(graph(root("r"), *priors, derived("d", "p0 r"), derived("e", "p0", "r"))) == "supported: r"


@pytest.mark.requirement("P16", "M9")
def test_a_root_with_an_unchecked_origin_supports_nothing() -> None:
    """That something lies in a file that its owner can edit makes it no evidence."""
    assert ask(graph(root("r", role=EVENT))) == "unknown: "
    assert ask(graph(root("r", role=EVENT, origin=origin(OriginClass.DIRECT_CAPTURE)))) == "supported: r"


@pytest.mark.requirement("P11", "P24")
def test_one_vertex_with_two_independent_ways_has_two_roots() -> None:
    """An overlap of the ways has one."""
    roots = [root(name, None) for name in "abc"]
    assert ask(graph(*roots, derived("d", "a", "b")), TWO) == "supported: d"
    assert ask(graph(*roots, derived("d", "a b", "b c")), TWO) == "unknown: "
    assert ask(graph(*roots, derived("d", "a b"), derived("e", "b c")), TWO) == "unknown: "


@pytest.mark.requirement("P22")
def test_the_fewest_premises_are_taken_and_of_those_the_oldest() -> None:
    """By the time at which they were observed, then by id."""
    roots = [root(name, None) for name in "abcd"]
    whole = graph(*roots, derived("x", "a"), derived("y", "b"), derived("z", "c", "d", observed_at=9_000))
    assert ask(whole, TWO) == "supported: z"
    assert ask(graph(root("b"), root("a"), root("c", observed_at=999))) == "supported: c"
    assert ask(graph(root("b"), root("a"))) == "supported: a"
    roots = [*roots, *(root(name, None) for name in "uv")]
    pairs = [derived("k", "a", "b"), derived("l", "a u", "b v"), derived("m", "c"), derived("n", "d")]
    assert ask(graph(*roots, *pairs), Policy(1, roots=4)) == "supported: k m n"
    late = derived("e", "a", observed_at=500), derived("f", "a b", observed_at=400), derived("g", "c")
    assert ask(graph(*roots, *late), TWO) == "supported: f g"
    assert ask(graph(*roots, *late), Policy(1, roots=3)) == "unknown: "


def test_three_roots_may_need_two_premises() -> None:
    """The size of S lies between one and the count."""
    roots = [root(name, None) for name in "abc"]
    assert (
        ask(graph(*roots, derived("x", "a", "b"), derived("y", "c")), Policy(1, roots=3)) == "supported: x y"
    )
    assert ask(
        graph(*roots, derived("x", "a"), derived("y", "c"), derived("z", "b")), Policy(1, roots=3)
    ) == ("supported: x y z")


@pytest.mark.requirement("P19", "P22")
def test_many_sources_are_no_more_work_than_few() -> None:
    """Three hundred of their own, or most of them around one: the first that will do are found without trying all."""
    many = [root(f"r{number:03}") for number in range(300)]
    assert ask(graph(*many), Policy(1, roots=6)) == "supported: r000 r001 r002 r003 r004 r005"
    crowd = [derived(f"d{number:03}", f"r000 r{number:03}") for number in range(1, 300)]
    silent = [replace(one, proposition=None) for one in many]
    others = [root(f"s{number}", observed_at=NOW) for number in range(3)]
    assert ask(graph(*silent, *crowd, *others), Policy(1, roots=4)) == "supported: d001 s0 s1 s2"
    assert ask(graph(*silent, *crowd, *others), Policy(1, roots=5)) == "unknown: "


@pytest.mark.requirement("P19", "P22")
def test_where_the_fewest_are_too_much_to_look_for_enough_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest that stand on each of the roots by which it was seen that there are enough."""
    whole = graph(root("a", observed_at=3_000), root("b"), derived("d", "a", "b"))
    assert ask(whole, TWO) == "supported: d"
    monkeypatch.setattr("timeline.reasoning.evaluation.Effort", lambda: Effort(0))
    assert ask(whole, TWO) == "supported: b d"
    (support,) = evaluate(whole, QUERY, ADA, TWO).supports
    assert [(vertex.id, set(roots)) for vertex, roots in support.grounds] == [("d", {"a"}), ("b", {"b"})]
    assert support.paths == ({"d": {"a"}, "a": frozenset()}, {"b": frozenset()})
    assert ask(whole, Policy(1, roots=3)) == "unknown: "


@pytest.mark.requirement("P19")
def test_the_whole_search_for_the_fewest_has_one_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a vertex nor a root that is wanted brings a bound of its own."""
    bounds = []

    class Counted(Effort):
        def __init__(self, most: int = EFFORT_MAX) -> None:
            bounds.append(most)
            super().__init__(most)

    monkeypatch.setattr("timeline.reasoning.roots.Effort", Counted)
    whole = graph(root("a"), root("b"), root("c"))
    assert ask(whole, Policy(1, roots=1)) == "supported: a"
    few = len(bounds)
    assert ask(whole, Policy(1, roots=3)) == "supported: a b c"
    assert len(bounds) == 2 * few


@pytest.mark.requirement("P14", "P46")
def test_an_interpretation_supports_where_its_evaluator_is_accepted() -> None:
    """And only there is it the side of a declared contradiction."""
    nobody, somebody = (Policy(1, evaluators=frozenset(names)) for names in ([], ["evaluator-1"]))
    read = graph(root("r", None), derived("d", "r"))
    assert [ask(read, policy) for policy in (nobody, somebody)] == ["unknown: ", "supported: d"]
    side = derived("s", "x", proposition=says("coffee", "drinks"))
    pair = graph(root("r"), root("x", None), side, inscribed=frozenset({("r", "s")}))
    assert [ask(pair, policy) for policy in (nobody, somebody)] == [
        "supported: r",
        "supported conflicted: r s",
    ]
    both = graph(*pair.vertices.values(), root("t", proposition=says("coffee", "drinks")))
    both = replace(both, inscribed=pair.inscribed)
    assert [ask(both, policy) for policy in (nobody, somebody)] == [
        "supported: r",
        "supported conflicted: r t",
    ]


# -- open points -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("P25")
def test_two_supported_values_are_a_conflict_and_an_unsupported_one_is_none() -> None:
    """Both have to meet the count."""
    rivals = graph(root("r"), root("s"), root("t", "coffee"), root("v", "coffee"))
    assert ask(rivals) == "supported conflicted: r t"
    assert ask(rivals, TWO) == "supported conflicted: r s t v"
    assert ask(graph(root("r"), root("s"), root("t", "coffee")), TWO) == "supported: r s"
    unverified = root("t", "coffee", role=Role.MODEL_PRIOR, origin=origin(OriginClass.MODEL_PRIOR))
    assert ask(graph(root("r"), unverified)) == "supported: r"
    assert ask(graph(root("r"), root("t", "coffee", end=NOW))) == "supported: r"
    three = graph(root("r"), root("t", "coffee"), root("v", "cocoa", observed_at=1))
    assert ask(three) == "supported conflicted: v r t"


@pytest.mark.requirement("P30", "P22")
def test_support_that_may_be_seen_stands_beside_what_is_withheld() -> None:
    """Supported and Withheld together; a hidden rival makes no conflict, and a hidden root does not count."""
    assert ask(graph(root("r"), root("s", scope=OTHERS))) == "supported withheld: r"
    assert ask(graph(root("r"), root("s", scope=OTHERS)), TWO) == "unknown withheld: "
    assert ask(graph(root("r"), root("s", "coffee", scope=OTHERS))) == "supported withheld: r"
    assert ask(graph(root("s", scope=OTHERS))) == "unknown withheld: "
    assert ask(graph(root("s", scope=OTHERS), root("r", end=NOW))) == "unknown stale withheld: "
    rivals = graph(root("s", scope=OTHERS), root("r"), root("t", "coffee"))
    assert ask(rivals) == "supported conflicted withheld: r t"


@pytest.mark.requirement("P30")
def test_what_is_withheld_may_be_of_any_role_and_time() -> None:
    """Relevant and hidden is all that counts; a hidden answer to another question does not."""
    prior = root("s", scope=OTHERS, role=Role.MODEL_PRIOR, origin=origin(OriginClass.MODEL_PRIOR))
    assert ask(graph(prior)) == "unknown withheld: "
    assert ask(graph(root("s", scope=OTHERS, end=NOW))) == "unknown withheld: "
    assert ask(graph(root("s", scope=OTHERS, proposition=says("tea", "drinks")))) == "unknown: "
    assert ask(graph(root("s", scope=OTHERS), revoked=frozenset({"s"}))) == "unknown: "


@pytest.mark.requirement("P30", "P35")
def test_a_hidden_successor_removes_what_it_replaced() -> None:
    """The visible older value does not come back for who may not see the newer one."""
    whole = graph(root("old"), root("new", "coffee", scope=OTHERS), superseded=frozenset({"old"}))
    assert ask(whole) == "unknown withheld: "
    assert ask(whole, access=Access("bob")) == "supported: new"


@pytest.mark.requirement("P2", "P34")
def test_a_surviving_alternative_beats_what_is_gone() -> None:
    """Unavailable only where nothing else would do."""
    whole = graph(root("r", None), gone("m"), derived("d", "m", "r"))
    assert ask(whole) == "supported: d"
    assert ask(whole, TWO) == "unavailable: "
    assert ask(graph(gone("m"), derived("d", "m"), root("r"))) == "supported: r"
    assert ask(graph(gone("m"), derived("d", "m"), root("r", "coffee"))) == "supported: r"


@pytest.mark.requirement("P8", "P24")
def test_hidden_material_supports_nothing_for_who_may_not_see_it() -> None:
    """A visible summary of it is neither supported nor withheld by that."""
    whole = graph(root("r", None, scope=OTHERS), derived("d", "r"))
    assert ask(whole) == "unknown: "
    assert ask(whole, access=Access("bob")) == "supported: d"
    assert ask(graph(*whole.vertices.values(), root("s"), derived("e", "r", "s"))) == "supported: s"


@pytest.mark.requirement("P33", "N5")
@pytest.mark.parametrize("part", ["principals", "purposes", "tasks"])
def test_a_scope_holds_for_principal_purpose_and_task(part: str) -> None:
    """Each one apart."""
    hidden = root("r", scope=Scope(**{part: frozenset({"another"})}))
    assert ask(graph(hidden)) == "unknown withheld: "


# -- time and absence ------------------------------------------------------------------------------------------


@pytest.mark.requirement("P24", "P33")
def test_what_does_not_hold_now_is_stale() -> None:
    """No longer and not yet, itself or what it is derived from; the end is no part of the interval."""
    for start, end in ((None, NOW), (NOW + 1, None)):
        assert ask(graph(root("r", start=start, end=end))) == "unknown stale: "
        assert ask(graph(root("r", None, start=start, end=end), derived("d", "r"))) == "unknown stale: "
    assert ask(graph(root("r", start=NOW, end=NOW + 1))) == "supported: r"
    assert ask(graph(root("r", end=NOW), root("s", "coffee"))) == "supported: s"
    assert ask(graph(root("r", end=NOW), root("s")), TWO) == "unknown stale: "


@pytest.mark.requirement("P2", "P22", "P50")
def test_what_needs_something_gone_is_unavailable() -> None:
    """Now if it would hold now; stale as well if it would not; unknown if even that would not be enough."""
    lost = gone("m")
    assert ask(graph(lost, derived("d", "m"))) == "unavailable: "
    assert ask(graph(lost, derived("d", "m", end=NOW))) == "unavailable stale: "
    assert ask(graph(lost, derived("d", "m")), TWO) == "unknown: "
    assert ask(graph(lost, derived("d", "m"), root("r")), TWO) == "unavailable: "
    assert ask(graph(lost, derived("d", "m"), root("r", end=NOW)), TWO) == "unavailable stale: "


def test_something_gone_now_comes_before_something_that_no_longer_holds() -> None:
    """Of two hindrances the lesser is told."""
    assert ask(graph(gone("m"), derived("d", "m"), root("r", "coffee", end=NOW))) == "unavailable: "
    assert (
        ask(graph(gone("m"), derived("d", "m", end=NOW), root("r", "coffee", end=NOW))) == "unknown stale: "
    )


# -- inscribed conflicts ---------------------------------------------------------------------------------------


def inscribed(other: object = None, **changes: object) -> Graph:
    """Ada prefers tea, and Ada drinks coffee: somebody says that both cannot be."""
    rival = root("s", proposition=says("coffee", "drinks"), observed_at=1_500)
    changed = replace(rival, **other) if isinstance(other, dict) else rival
    return graph(root("r"), changed, **{"inscribed": frozenset({("r", "s")}), **changes})


@pytest.mark.requirement("P35", "P25")
def test_an_inscribed_pair_is_a_conflict_of_both_questions() -> None:
    """Whatever the predicates; S holds the premises of both, whichever is asked about."""
    drinks = Query("ada", "drinks", NOW)
    assert ask(inscribed()) == "supported conflicted: r s"
    assert ask(inscribed(), query=drinks) == "supported conflicted: r s"
    assert ask(inscribed(), query=Query("ada", "eats", NOW)) == "unknown: "
    assert ask(inscribed(inscribed=frozenset())) == "supported: r"


@pytest.mark.requirement("P35", "P25", "P30")
@pytest.mark.parametrize(
    ("other", "changes"),
    [
        ({"scope": OTHERS}, {}),
        ({"end": NOW}, {}),
        ({"role": Role.MODEL_PRIOR}, {}),
        ({"proposition": None}, {}),
        ({"id": "elsewhere"}, {}),
        ({}, {"superseded": frozenset({"s"})}),
        ({}, {"revoked": frozenset({"s"})}),
    ],
)
def test_a_side_that_does_not_stand_makes_no_conflict(
    other: dict[str, object], changes: dict[str, object]
) -> None:
    """Hidden, over, unverified, without a proposition, gone, superseded, revoked: the other side stands alone."""
    whole = inscribed(other, **changes)
    whole = replace(whole, vertices={vertex.id: vertex for vertex in whole.vertices.values()})
    assert ask(whole) == "supported: r"


@pytest.mark.requirement("P35")
def test_a_side_that_needs_something_gone_makes_no_conflict() -> None:
    """It does not stand either, until what is gone is found again."""
    lost = derived("s", "m", proposition=says("coffee", "drinks"))
    assert ask(graph(root("r"), gone("m"), lost, inscribed=frozenset({("r", "s")}))) == "supported: r"
    found = graph(root("r"), root("m", None), lost, inscribed=frozenset({("r", "s")}))
    assert ask(found) == "supported conflicted: r s"


@pytest.mark.requirement("P35")
def test_a_side_needs_the_count_of_its_own_predicate() -> None:
    """And is part of what reaches it."""
    picky = Policy(1, required={"drinks": 2})
    assert ask(inscribed(), picky) == "supported: r"
    more = replace(
        inscribed(), vertices={**inscribed().vertices, "t": root("t", proposition=says("coffee", "drinks"))}
    )
    assert ask(more, picky) == "supported conflicted: r t s"
    over = replace(more, vertices={**more.vertices, "s": replace(more.vertices["s"], end=NOW)})
    assert ask(over) == "supported: r"


@pytest.mark.requirement("P35", "P5")
def test_the_other_side_may_be_of_another_modality() -> None:
    """It is asked about as it is meant."""
    said = says("coffee", "drinks")
    assert said is not None
    assert ask(inscribed({"proposition": replace(said, modality="permitted")})) == "supported conflicted: r s"


def test_a_pair_of_one_value_and_a_pair_of_one_question_are_conflicts_too() -> None:
    """Who declares it decides what contradicts; no premise is named twice."""
    same = graph(root("r"), root("s"), inscribed=frozenset({("r", "s")}))
    assert ask(same) == "supported conflicted: r"
    assert ask(same, TWO) == "supported conflicted: r s"
    rivals = graph(root("r"), root("s", "coffee"), inscribed=frozenset({("r", "s")}))
    assert ask(rivals) == "supported conflicted: r s"


# -- what does not matter --------------------------------------------------------------------------------------


@pytest.mark.requirement("P6")
def test_the_same_graph_gives_the_same_decision() -> None:
    """Whatever the order in which its vertices come, and whichever model did the asking."""
    items: list[Vertex | Marker] = [
        root("a"),
        root("b", "coffee"),
        root("c", scope=OTHERS),
        derived("d", "a"),
        gone("m"),
        derived("e", "m"),
    ]
    one, other = (resolve(graph(*some), QUERY, ADA, ONE) for some in (items, items[::-1]))
    assert one == other
    assert one.witness is not None
    assert one.witness.head == HEAD
