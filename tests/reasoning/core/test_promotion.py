import pytest

from sidecars.digest import Digest
from tests.reasoning.core.made import (
    EVENT,
    INTERPRETATION,
    NOW,
    REPORT,
    derived,
    gone,
    graph,
    origin,
    replace,
    root,
    says,
)
from timeline.reasoning.admission import ROOT_ROLES
from timeline.reasoning.errors import (
    NonPromotionError,
    PromotionBindingError,
    PromotionRuleError,
    ReasoningError,
    ScopeWidenedError,
    ShapeError,
    VertexReusedError,
    VertexUnknownError,
)
from timeline.reasoning.graph import Derivation, Graph, Scope, Vertex
from timeline.reasoning.promotion import (
    DEPENDENCIES,
    PROMOTIONS,
    Target,
    check_promotion,
    promote,
    vertex_version,
)
from timeline.reasoning.roles import DERIVED, GROUNDED, UNVERIFIED, OriginClass, Role

TABLE = {
    # target: (sources, what it binds)
    "attributed-report": ("attributed-report", "author channel content context"),
    "observed-event": ("observed-event", "at content device path"),
    "memory-interpretation": ("attributed-report deterministic-derivation observed-event", ""),
    "recorded-belief": ("memory-interpretation", "stance"),
    "deterministic-derivation": (
        "attributed-report deterministic-derivation memory-interpretation observed-event recorded-belief",
        "code output",
    ),
    "hypothesis": (" ".join(sorted(Role)), "label"),
    "probabilistic-interpretation": (" ".join(sorted(Role)), "inference input"),
}
"""Table 7, written out once more."""


def base() -> Graph:
    """One vertex of each role, and a marker."""
    return graph(*(root(f"{role}", role=role) for role in Role), gone("m"))


def digest(content: bytes) -> str:
    """The spelled SHA-256 of something."""
    return str(Digest.of(content))


def ways(*alternatives: str, **bindings: str) -> Derivation:
    """A derivation from these, with these bindings."""
    return Derivation(
        "rule", 3, "evaluator-9", tuple(frozenset(one.split()) for one in alternatives), bindings
    )


def bound(role: Role, *alternatives: str) -> Derivation:
    """A derivation with all that this role wants."""
    return ways(*alternatives, **dict.fromkeys(TABLE[role][1].split(), "given"))


def target(role: Role = INTERPRETATION, **changes: object) -> Target:
    """What is to be made."""
    return replace(Target("new", role, says("tea"), NOW), **changes)


@pytest.mark.requirement("P46", "P14")
def test_the_table_is_that_of_the_paper() -> None:
    """Which roles lead where, and what has to be bound."""
    found = {
        str(role): (" ".join(sorted(rule.sources)), " ".join(sorted(rule.binds)))
        for role, rule in PROMOTIONS.items()
    }
    assert found == TABLE


@pytest.mark.requirement("P46", "P15", "P14")
@pytest.mark.parametrize("source", Role)
@pytest.mark.parametrize("role", Role)
def test_only_what_the_table_has_is_promoted(source: Role, role: Role) -> None:
    """Every pair of roles: made, or refused for the right reason."""
    derivation = bound(role, str(source)) if role in PROMOTIONS else ways(str(source))
    if role in TABLE and source in TABLE[role][0].split():
        assert promote(base(), target(role), derivation).role is role
        return
    with pytest.raises(ReasoningError) as caught:
        promote(base(), target(role), derivation)
    prior = role in GROUNDED and source in UNVERIFIED
    assert caught.value.reason == ("promotion-of-unverified" if prior else "promotion-rule-missing")


@pytest.mark.requirement("P15")
@pytest.mark.parametrize("prior", sorted(UNVERIFIED))
@pytest.mark.parametrize("role", sorted(GROUNDED))
def test_one_unverified_dependency_in_any_alternative_forbids_a_grounded_target(
    prior: Role, role: Role
) -> None:
    """However good the rest is."""
    for alternatives in ([f"{role} {prior}"], [str(role), f"{role} {prior}"], [f"{prior}", str(role)]):
        with pytest.raises(
            NonPromotionError, match=f"^vertex new: {prior} is a {prior}, which makes no {role}$"
        ):
            promote(base(), target(role), bound(role, *alternatives))


@pytest.mark.requirement("P15")
@pytest.mark.parametrize("role", sorted(DERIVED))
def test_what_is_derived_may_have_used_a_model(role: Role) -> None:
    """It is let in beside a source of the table; that alternative supports nothing, as the resolver's tests show."""
    source = TABLE[role][0].split()[0]
    promote(base(), target(role), bound(role, f"{source} model-prior"))


@pytest.mark.requirement("P46")
@pytest.mark.parametrize("role", [role for role in PROMOTIONS if TABLE[role][1]])
def test_each_binding_of_a_rule_is_needed(role: Role) -> None:
    """Without it, or with an empty one, nothing is made."""
    source = TABLE[role][0].split()[0]
    whole = bound(role, source)
    for name in TABLE[role][1].split():
        for bindings in (
            {key: text for key, text in whole.bindings.items() if key != name},
            {**whole.bindings, name: ""},
        ):
            with pytest.raises(PromotionBindingError, match=f"^vertex new: binding {name}: missing$"):
                promote(base(), target(role), replace(whole, bindings=bindings))


@pytest.mark.requirement("P46")
def test_every_alternative_needs_a_source_of_the_table() -> None:
    """A good alternative does not carry a bad one in; a marker is no source."""
    whole = replace(base(), vertices={**base().vertices, "d": derived("d", "hypothesis")})
    promote(whole, target(), ways("attributed-report m", "observed-event hypothesis d"))
    for bad in ("recorded-belief", "m", "d recorded-belief"):
        names = ", ".join(sorted(bad.split()))
        with pytest.raises(
            PromotionRuleError, match=f"^vertex new: no memory-interpretation follows from {names}$"
        ):
            promote(whole, target(), ways("attributed-report", bad))
    with pytest.raises(PromotionRuleError, match=r"^vertex new: nothing is promoted to model-prior$"):
        promote(whole, target(Role.MODEL_PRIOR), ways("attributed-report"))


@pytest.mark.requirement("P13", "P9")
def test_a_promotion_makes_a_fresh_vertex_and_changes_nothing() -> None:
    """Its id is new, its dependencies are exact, and everything that was there is as it was."""
    before = base()
    derivation = ways("attributed-report observed-event", "m attributed-report", note="kept")
    made = promote(before, target(start=1, end=9), derivation)
    assert before == base()
    assert (made.id, made.role, made.proposition, made.observed_at) == (
        "new",
        INTERPRETATION,
        says("tea"),
        NOW,
    )
    assert (made.start, made.end, made.origin, made.root) == (1, 9, None, None)
    assert made.derivation is not None
    assert made.derivation.alternatives == derivation.alternatives
    assert (made.derivation.rule, made.derivation.policy, made.derivation.evaluator) == (
        "rule",
        3,
        "evaluator-9",
    )
    assert made.derivation.bindings == {
        "note": "kept",
        DEPENDENCIES: digest(
            b'[[["attributed-report","v-attributed-report"],["m","c-m"]],'
            b'[["attributed-report","v-attributed-report"],["observed-event","v-observed-event"]]]'
        ),
    }
    check_promotion(before, made)
    for name in ("attributed-report", "m"):
        with pytest.raises(VertexReusedError, match=f"^vertex {name}: the id is in use$"):
            promote(before, target(id=name), derivation)


@pytest.mark.requirement("P13", "P46")
@pytest.mark.parametrize("changed", ["version", "marker", "alternatives", "none"])
def test_what_was_promoted_is_bound_to_exact_versions(changed: str) -> None:
    """The same ids with other contents, or other ways, are not what it was made of."""
    before = base()
    made = promote(before, target(), ways("attributed-report", "m observed-event"))
    derivation = made.derivation
    assert derivation is not None
    if changed == "version":
        other = replace(before.vertices["observed-event"], version="another")
        before = replace(before, vertices={**before.vertices, "observed-event": other})
    elif changed == "marker":
        before = replace(before, markers={"m": replace(before.markers["m"], commitment="another")})
    elif changed == "alternatives":
        made = replace(made, derivation=replace(derivation, alternatives=(frozenset({"attributed-report"}),)))
    else:
        made = replace(made, derivation=replace(derivation, bindings={}))
    with pytest.raises(
        PromotionBindingError, match=r"^vertex new: binding dependencies: not of these versions$"
    ):
        check_promotion(before, made)


def test_the_order_of_alternatives_binds_nothing() -> None:
    """They are a family, not a list."""
    made, turned = (
        promote(base(), target(), ways(*some))
        for some in (["attributed-report", "observed-event"], ["observed-event", "attributed-report"])
    )
    assert made.derivation is not None
    assert turned.derivation is not None
    assert made.derivation.bindings == turned.derivation.bindings


@pytest.mark.requirement("P33")
@pytest.mark.parametrize("part", ["principals", "purposes", "tasks"])
def test_a_scope_never_widens(part: str) -> None:
    """What follows is for no more people, purposes and tasks than each of its dependencies."""
    narrow = Scope(**{part: frozenset({"a", "b"})})
    whole = graph(root("r"), root("s", scope=narrow), root("t", scope=Scope(**{part: frozenset({"b", "c"})})))
    promote(whole, target(scope=Scope(**{part: frozenset({"b"})})), ways("r s t"))
    promote(whole, target(scope=narrow), ways("r s"))
    promote(whole, target(), ways("r"))
    for alternatives, scope, first in (
        (["r s"], Scope(), "s"),
        (["r", "s"], Scope(), "s"),
        (["s t"], narrow, "t"),
        (["s t"], Scope(**{part: frozenset({"c"})}), "s"),
    ):
        with pytest.raises(ScopeWidenedError, match=f"^vertex new: its scope is wider than that of {first}$"):
            promote(whole, target(scope=scope), ways(*alternatives))


@pytest.mark.requirement("P2")
def test_what_is_not_there_is_no_dependency() -> None:
    """An id without a version cannot be bound."""
    with pytest.raises(VertexUnknownError, match=r"^vertex new: depends on nobody, which is not there$"):
        promote(base(), target(), ways("attributed-report nobody"))
    made = promote(base(), target(), ways("attributed-report", "observed-event"))
    with pytest.raises(
        VertexUnknownError, match=r"^vertex new: depends on observed-event, which is not there$"
    ):
        check_promotion(graph(root("attributed-report")), made)


def test_a_promotion_has_a_shape() -> None:
    """A root is not promoted, and nothing follows from nothing or by nobody."""
    with pytest.raises(ShapeError):
        promote(base(), target(), ways())
    with pytest.raises(ShapeError):
        promote(base(), target(), replace(ways("attributed-report"), evaluator=""))
    with pytest.raises(PromotionRuleError, match=r"nothing is promoted to attributed-report$"):
        check_promotion(base(), root("new", role=REPORT))


@pytest.mark.requirement("N7")
def test_a_version_is_made_of_the_canonical_form() -> None:
    """Written out once, so that others can compute it."""
    vertex = root("r", origin=None, scope=Scope(tasks=frozenset("gfedcba")))
    assert vertex_version(vertex) == digest(
        b'{"derivation":null,"end":null,"id":"r","observed_at":1000,"origin":null,'
        b'"proposition":{"modality":"asserted","predicate":"prefers","subject":"ada","value":"\\"tea\\""},'
        b'"role":"attributed-report","root":null,"schema":"timeline-vertex/v1",'
        b'"scope":{"principals":null,"purposes":null,"tasks":["a","b","c","d","e","f","g"]},"start":null,"version":""}'
    )


@pytest.mark.requirement("P9", "N7")
def test_a_version_is_the_digest_of_exactly_the_content() -> None:
    """Every field but the version itself changes it."""
    made = promote(base(), target(), ways("attributed-report"))
    assert made.version == vertex_version(made) == vertex_version(replace(made, version="whatever"))
    others: list[Vertex] = [
        replace(made, id="other"),
        replace(made, role=EVENT),
        replace(made, proposition=says("coffee")),
        replace(made, observed_at=1),
        replace(made, start=1),
        replace(made, end=1),
        replace(made, scope=Scope(tasks=frozenset({"a"}))),
        replace(made, origin=origin(OriginClass.MODEL_PRIOR)),
        replace(made, derivation=None),
        replace(made, root="r"),
    ]
    assert len({vertex_version(vertex) for vertex in [made, *others]}) == len(others) + 1
    assert ROOT_ROLES[OriginClass.DIRECT_CAPTURE] is EVENT
