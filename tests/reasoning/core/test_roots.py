import itertools

import pytest

from tests.reasoning.core.made import (
    ADA,
    NOW,
    OTHERS,
    derived,
    gone,
    graph,
    origin,
    replace,
    root,
    sets,
)
from timeline.reasoning.graph import Graph
from timeline.reasoning.roles import UNVERIFIED, OriginClass, Role
from timeline.reasoning.roots import (
    FAMILY_MAX,
    Effort,
    Family,
    Reading,
    are_independent,
    count_independent,
    disjoint_sets,
    in_order,
    invalidated,
    path_of,
    read_families,
    root_families,
    roots_of,
)

PLAIN = Reading(ADA, NOW, markers=False)
TIMELESS = Reading(ADA, None, markers=False)
RESTORED = Reading(ADA, NOW, markers=True)


def family(whole: Graph, name: str = "d", reading: Reading = PLAIN) -> Family:
    """The family of one vertex."""
    return root_families(whole, [name], reading)[name]


@pytest.mark.requirement("P10")
def test_a_root_stands_on_itself_or_on_what_it_counts_as() -> None:
    """Only a grounded one with a checked origin."""
    assert family(graph(root("r")), "r") == sets("r")
    assert family(graph(root("r", root="session")), "r") == sets("session")
    assert family(graph(root("r", origin=origin(OriginClass.MODEL_PRIOR))), "r") == ()
    bare = root("r", role=Role.DETERMINISTIC_DERIVATION, origin=origin(OriginClass.DETERMINISTIC_DERIVATION))
    assert family(graph(bare), "r") == ()


@pytest.mark.requirement("P14", "P46")
def test_an_interpretation_counts_where_its_evaluator_is_accepted() -> None:
    """Or where a belief takes it up, for that belief alone; other derivations need nobody."""
    chosen = [replace(PLAIN, evaluators=frozenset(names)) for names in ([], ["evaluator-2"], ["evaluator-1"])]
    read = [root("r"), derived("d", "r")]
    assert [family(graph(*read), "d", reading) for reading in chosen] == [(), (), sets("r")]
    assert [family(graph(*read, derived("e", "d")), "e", reading) for reading in chosen] == [
        (),
        (),
        sets("r"),
    ]
    program = replace(derived("p", "r"), role=Role.DETERMINISTIC_DERIVATION)
    assert family(graph(root("r"), program), "p", chosen[0]) == sets("r")
    belief = replace(derived("b", "x", "d"), role=Role.RECORDED_BELIEF)
    held = graph(*read, root("x"), belief)
    assert [family(held, name, chosen[0]) for name in "bd"] == [sets("r", "x"), ()]
    families = read_families(held, ["b", "d"], chosen[0])
    assert path_of(held, families, "b", frozenset({"r"})) == {"b": {"d"}, "d": {"r"}, "r": frozenset()}
    assert (
        family(
            graph(*read, derived("e", "d"), replace(belief, derivation=derived("b", "e").derivation)),
            "b",
            chosen[0],
        )
        == ()
    )
    unseen = graph(root("r"), derived("d", "r", scope=OTHERS), root("x"), belief)
    assert family(unseen, "b", chosen[0]) == sets("x")


@pytest.mark.requirement("P10", "N4")
def test_members_are_needed_together_and_alternatives_apart() -> None:
    """Minimal sets, by size and then by name."""
    roots = [root(name) for name in "abcd"]
    assert family(graph(*roots, derived("d2", "a b")), "d2") == sets("a b")
    assert family(graph(*roots, derived("d2", "b", "a")), "d2") == sets("a", "b")
    assert family(graph(*roots, derived("d2", "b c", "d", "a b", "d a")), "d2") == sets("d", "a b", "b c")
    two = derived("e", "a", "b")
    assert family(graph(*roots, two, derived("d2", "e c")), "d2") == sets("a c", "b c")
    assert family(graph(*roots, two, derived("d2", "e a")), "d2") == sets("a")
    diamond = [derived("e", "a"), derived("f", "a"), derived("g", "e f")]
    assert family(graph(*roots, *diamond), "g") == sets("a")


@pytest.mark.requirement("P15", "M5")
@pytest.mark.parametrize("role", sorted(UNVERIFIED))
def test_an_unverified_vertex_stands_on_nothing_and_spoils_its_alternative(role: Role) -> None:
    """Whatever it depends on itself, and whatever stands beside it."""
    whole = graph(root("r"), derived("u", "r", role=role), derived("d", "r u"), derived("e", "r u", "r"))
    assert family(whole, "u") == ()
    assert family(whole, "d") == ()
    assert family(whole, "e") == sets("r")


@pytest.mark.requirement("P24", "P34")
@pytest.mark.parametrize("way", ["superseded", "revoked", "root", "hidden", "over"])
@pytest.mark.parametrize("where", ["below", "itself", "root itself"])
def test_what_may_not_be_used_supports_nothing(way: str, where: str) -> None:
    """Superseded, revoked, hidden or over: itself, and everything above it but for another alternative."""
    name = {"below": "x", "itself": "d", "root itself": "r"}[where]
    root_name = {"below": "session", "itself": "d", "root itself": "of-r"}[where]
    plain = graph(
        root("x", root="session"),
        root("r", root="of-r"),
        root("y"),
        derived("d", "x r"),
        derived("e", "d", "y"),
    )
    assert family(plain) == sets("of-r session")
    vertex = plain.vertices[name]
    whole = {
        "superseded": replace(plain, superseded=frozenset({name})),
        "revoked": replace(plain, revoked=frozenset({name})),
        "root": replace(plain, revoked=frozenset({root_name})),
        "hidden": replace(plain, vertices={**plain.vertices, name: replace(vertex, scope=OTHERS)}),
        "over": replace(plain, vertices={**plain.vertices, name: replace(vertex, end=NOW)}),
    }[way]
    assert family(whole, name) == ()
    assert family(whole, "d") == ()
    assert family(whole, "e") == sets("y")


@pytest.mark.requirement("P24")
def test_time_is_transitive_and_may_be_left_out() -> None:
    """What is derived is only as current as what it is derived from."""
    whole = graph(root("r", end=NOW), derived("d", "r"), derived("e", "d"))
    assert [family(whole, name) for name in "rde"] == [(), (), ()]
    assert [family(whole, name, TIMELESS) for name in "rde"] == [sets("r")] * 3


@pytest.mark.requirement("P2", "P50")
def test_a_marker_counts_only_where_what_is_gone_counts() -> None:
    """Then it is a root of its own, unless it was revoked; an id that is nothing never counts."""
    whole = graph(root("r"), gone("m"), derived("d", "r m"), derived("e", "n"))
    assert family(whole) == family(whole, "m") == ()
    assert family(whole, "d", RESTORED) == sets("m r")
    assert family(whole, "m", RESTORED) == sets("m")
    assert family(whole, "e", RESTORED) == ()
    assert family(graph(*whole.vertices.values(), gone("m"), revoked=frozenset({"m"})), "d", RESTORED) == ()


@pytest.mark.requirement("P34", "P35")
def test_what_has_lost_every_alternative_is_invalidated() -> None:
    """And what depends on it; one complete alternative is enough to stay."""
    whole = graph(
        root("r"),
        root("s", root="session"),
        root("t"),
        gone("m"),
        derived("a", "r t"),
        derived("b", "r", "t"),
        derived("c", "a", "s t"),
        derived("e", "c"),
        derived("f", "m"),
        derived("g", "b"),
    )
    everything = [*whole.vertices, *whole.markers]

    def left(*revoked: str) -> str:
        changed = graph(*whole.vertices.values(), *whole.markers.values(), revoked=frozenset(revoked))
        return "".join(sorted(invalidated(changed, everything)))

    assert left() == ""
    assert left("r") == "ar"
    assert left("session") == "s"
    assert left("r", "session") == "acers"
    assert left("r", "t") == "abcegrt"
    assert left("m") == "fm"
    assert left("g") == "g"


@pytest.mark.requirement("P11")
def test_two_are_independent_with_roots_and_none_in_common() -> None:
    """No roots are never independent."""
    assert are_independent(sets("a"), sets("b"))
    assert are_independent(sets("a b"), sets("c", "d"))
    assert not are_independent(sets("a", "b"), sets("b", "c"))
    assert not are_independent((), sets("a"))
    assert not are_independent(sets("a"), ())
    assert roots_of(sets("a b", "c")) == {"a", "b", "c"}
    assert roots_of(()) == frozenset()


@pytest.mark.requirement("P11", "N4")
@pytest.mark.parametrize(
    ("some", "count"),
    [
        ("", 0),
        ("a", 1),
        ("a|a|a", 1),
        ("a|b", 2),
        ("a b|b c|a c", 1),
        ("a b|b c|c d", 2),
        ("a b c|a|b|c", 3),
        ("a b|c d|a c|b d|e", 3),
        ("a d|b e|a b|c", 3),
    ],
)
def test_independence_is_counted_by_disjoint_sets(some: str, count: int) -> None:
    """The largest family, not the first one that comes."""
    family_ = [frozenset(one.split()) for one in some.split("|") if one]
    assert count_independent(family_, 5) == count
    assert count_independent(reversed(family_), 5) == count
    assert count_independent(family_, 2) == min(count, 2)
    assert count_independent(family_, 0) == 0


def test_the_first_disjoint_sets_in_order_are_taken() -> None:
    """One result for one input."""
    some = sets("a b", "c", "b", "a", "d")
    assert disjoint_sets(some, 0) == ()
    assert disjoint_sets(some, 1) == sets("a b")
    assert disjoint_sets(some, 3) == sets("a b", "c", "d")
    assert disjoint_sets(some, 4) == sets("c", "b", "a", "d")
    assert disjoint_sets(some, 5) is None
    assert disjoint_sets((), 1) is None
    assert disjoint_sets(sets("a"), 2) is None
    assert in_order(sets("b c", "c", "a b c", "c", "b", "a c")) == list(sets("b", "c", "a c", "b c", "a b c"))


@pytest.mark.requirement("P11", "P19")
def test_thousands_of_sets_around_few_roots_are_seen_through_at_once() -> None:
    """Three sources, each with three hundred different companions, are not four."""
    crowd = [frozenset({f"source{n % 3}", f"companion{n}"}) for n in range(900)]
    assert count_independent(crowd, 4) == 3
    assert disjoint_sets(crowd, 3) == tuple(crowd[:3])
    effort = Effort(5_000)
    assert disjoint_sets(crowd, 4, effort) is None
    assert not effort.is_spent


@pytest.mark.requirement("P11", "N4")
def test_too_many_root_sets_are_counted_too_low_and_never_too_high() -> None:
    """The first sixty-four are kept of each step, and none is left without any."""
    names = [f"r{number:02}" for number in range(FAMILY_MAX + 1)]
    assert FAMILY_MAX == 64
    whole = graph(
        *(root(name) for name in names),
        derived("all", *names),
        derived("most", *names[:FAMILY_MAX]),
        derived("both", "all most"),
    )
    families = root_families(whole, ["both"], PLAIN)
    assert families["all"] == families["most"] == sets(*names[:FAMILY_MAX])
    assert families["both"] == sets(*names[:FAMILY_MAX])
    pairs = derived("pairs", "left right")
    left, right = derived("left", *names[:9]), derived("right", *names[9:18])
    found = family(graph(*(root(name) for name in names), left, right, pairs), "pairs")
    assert len(found) == FAMILY_MAX
    assert found[0] == {names[0], names[9]}
    assert count_independent(found, 9) <= 9


@pytest.mark.requirement("P18")
def test_a_path_leads_to_exactly_one_root_set() -> None:
    """Of several ways the first by name, and nothing beside it."""
    whole = graph(
        *(root(name) for name in "abc"),
        gone("m"),
        derived("e", "b", "a"),
        derived("f", "c", "m"),
        derived("d", "e f"),
        derived("g", "e", "a"),
        derived("h", "b"),
        derived("i", "c"),
        derived("j", "c"),
        derived("k", "h i j"),
    )
    families = read_families(whole, ["d", "g", "k"], RESTORED)

    def steps(name: str, roots: str) -> dict[str, str]:
        found = path_of(whole, families, name, frozenset(roots.split()))
        return {key: " ".join(sorted(members)) for key, members in found.items()}

    assert steps("d", "a m") == {"d": "e f", "e": "a", "f": "m", "a": "", "m": ""}
    assert steps("d", "b c") == {"d": "e f", "e": "b", "f": "c", "b": "", "c": ""}
    assert steps("g", "a") == {"g": "a", "a": ""}
    assert steps("g", "b") == {"g": "e", "e": "b", "b": ""}
    assert steps("a", "a") == {"a": ""}
    assert steps("d", "") == {"d": ""}
    assert steps("k", "b c") == {"k": "h i j", "h": "b", "i": "c", "j": "c", "b": "", "c": ""}


@pytest.mark.requirement("P18", "M6")
def test_a_long_chain_stands_on_its_one_root() -> None:
    """Recalled and stored a thousand times, it is one source, and no recursion is needed."""
    chain = [derived(f"d{number:04}", f"d{number - 1:04}") for number in range(1, 2_000)]
    whole = graph(root("d0000"), *chain)
    families = read_families(whole, ["d1999"], PLAIN)
    assert families.alone["d1999"] == sets("d0000")
    assert len(path_of(whole, families, "d1999", frozenset({"d0000"}))) == 2_000


@pytest.mark.requirement("P10", "P19")
def test_no_number_of_ways_keeps_whoever_asks_waiting() -> None:
    """Behind a bound one way of each member is used: less is counted, nothing is emptied, and nothing is invented."""
    roots = [root(f"r{number:02}") for number in range(64)]
    wide = [
        derived(f"w{number:02}", *(f"r{number + step:02}" for step in range(8))) for number in range(0, 64, 8)
    ]
    names = " ".join(one.id for one in wide)
    many = [derived(f"m{number:03}", names) for number in range(200)]
    families = root_families(graph(*roots, *wide, *many), [one.id for one in many], PLAIN)
    first, last = families["m000"], families["m199"]
    assert (len(first), len(last)) == (FAMILY_MAX, 1)
    assert last == sets("r00 r08 r16 r24 r32 r40 r48 r56")


@pytest.mark.requirement("P10", "P19")
def test_what_may_not_be_used_costs_nothing() -> None:
    """What hidden material rests on is not looked at, so that it takes no way from what is visible."""
    hidden = derived("h", "a b", scope=OTHERS)
    assert set(root_families(graph(root("a"), root("b"), hidden), ["h"], PLAIN)) == {"h"}


@pytest.mark.requirement("P11", "P19")
def test_a_search_is_given_up_and_finds_nothing_then() -> None:
    """Seven pairs among thirteen roots there are not; to see that by trying would take minutes."""
    names = [f"r{number:02}" for number in range(15)]
    pairs = in_order(frozenset(pair) for pair in itertools.combinations(names, 2))
    effort = Effort(20_000)
    assert disjoint_sets(pairs, 8, effort) is None
    assert effort.is_spent
    assert disjoint_sets(pairs, 7) == disjoint_sets(pairs, 7, Effort(10**9))
    assert count_independent(pairs[:3], 2, Effort(0)) == 0
