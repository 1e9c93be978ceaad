import pytest

from tests.reasoning.core.made import REPORT, derived, gone, graph, origin, replace, root
from timeline.reasoning.admission import (
    ORIGIN_FIELDS,
    ROOT_ROLES,
    check_graph,
    check_root,
    check_shape,
    dependencies_first,
    is_root_ok,
)
from timeline.reasoning.errors import (
    DependencyCycleError,
    OriginError,
    ShapeError,
    VertexReusedError,
    VertexUnknownError,
)
from timeline.reasoning.graph import Vertex
from timeline.reasoning.roles import GROUNDED, OriginClass, Role

GROUNDED_CLASSES = (OriginClass.DIRECT_CAPTURE, OriginClass.ATTRIBUTED_REPORT)


def of(kind: OriginClass) -> Vertex:
    """A root of this class, with all that the class wants."""
    return root("r", role=ROOT_ROLES[kind], origin=origin(kind))


@pytest.mark.requirement("P45")
@pytest.mark.parametrize(
    ("kind", "fields", "role"),
    [
        ("direct-capture", "at content device path", "observed-event"),
        ("attributed-report", "author channel content context", "attributed-report"),
        ("imported-record", "custody document pipeline", "unverified-retrieval"),
        ("model-prior", "checkpoint model", "model-prior"),
        ("retrieved-external-text", "at content query url", "unverified-retrieval"),
        ("deterministic-derivation", "code dependencies output", "deterministic-derivation"),
        ("probabilistic-interpretation", "evaluator inference input", "probabilistic-interpretation"),
        ("hypothetical-simulation", "configuration framework scenario", "hypothesis"),
    ],
)
def test_each_class_of_origin_has_its_fields_and_its_role(kind: str, fields: str, role: str) -> None:
    """The table of origins, written out once more."""
    assert sorted(ORIGIN_FIELDS[OriginClass(kind)]) == fields.split()
    assert ROOT_ROLES[OriginClass(kind)] == role
    check_root(of(OriginClass(kind)))


@pytest.mark.requirement("P45")
@pytest.mark.parametrize("kind", OriginClass)
@pytest.mark.parametrize("value", [None, ""])
def test_a_root_without_one_of_its_fields_is_not_let_in(kind: OriginClass, value: str | None) -> None:
    """Each field of each class is needed, and an empty one is none."""
    whole = of(kind)
    assert whole.origin is not None
    for name in ORIGIN_FIELDS[kind]:
        fields = {key: text for key, text in whole.origin.fields.items() if key != name}
        fields |= {} if value is None else {name: value}
        poor = replace(whole, origin=replace(whole.origin, fields=fields))
        with pytest.raises(OriginError, match=f"^root r: its origin lacks {name}$"):
            check_root(poor)
        assert not is_root_ok(poor)


def test_all_that_an_origin_lacks_is_named_in_order() -> None:
    """One message for all of it."""
    poor = replace(of(OriginClass.MODEL_PRIOR), origin=replace(origin(OriginClass.MODEL_PRIOR), fields={}))
    with pytest.raises(OriginError, match=r"lacks checkpoint, model$") as caught:
        check_root(poor)
    assert caught.value.reason == "origin-not-checked"
    unchecked = replace(root("r"), origin=replace(origin(OriginClass.ATTRIBUTED_REPORT), checked=frozenset()))
    with pytest.raises(
        OriginError, match=r"^root r: nobody has checked author, channel, content, context of its"
    ):
        check_root(unchecked)


@pytest.mark.requirement("P16", "P17", "N8")
@pytest.mark.parametrize("kind", GROUNDED_CLASSES)
def test_a_grounded_root_needs_every_field_checked_by_the_recording_path(kind: OriginClass) -> None:
    """A capture path, a device, an author or a channel that nobody has verified grounds nothing."""
    whole = of(kind)
    assert whole.origin is not None
    assert is_root_ok(whole)
    for name in ORIGIN_FIELDS[kind]:
        poor = replace(whole, origin=replace(whole.origin, checked=whole.origin.checked - {name}))
        with pytest.raises(OriginError, match=f"nobody has checked {name} of its origin"):
            check_root(poor)
        assert not is_root_ok(poor)


@pytest.mark.requirement("P10", "P12")
@pytest.mark.parametrize("kind", OriginClass)
def test_only_grounded_roots_carry_anything(kind: OriginClass) -> None:
    """Others may be recorded, unchecked even, and nothing rests on them."""
    whole = of(kind)
    assert whole.origin is not None
    assert is_root_ok(whole) == (whole.role in GROUNDED)
    if whole.role not in GROUNDED:
        check_root(replace(whole, origin=replace(whole.origin, checked=frozenset())))


@pytest.mark.requirement("P16", "P17", "N8")
def test_no_origin_of_another_class_makes_a_grounded_root() -> None:
    """A simulation claimed as an observation, a message as an event, an import as a report: each is refused."""
    for role in GROUNDED:
        for kind in OriginClass:
            claimed = root("r", role=role, origin=origin(kind))
            assert is_root_ok(claimed) == (ROOT_ROLES[kind] == role)
            if ROOT_ROLES[kind] != role:
                with pytest.raises(OriginError, match=f"^root r: an origin of class {kind} makes no {role}$"):
                    check_root(claimed)


@pytest.mark.requirement("M2", "M3", "M8")
@pytest.mark.parametrize("claim", ["trusted", "verified", "owner-approved", "display-name", "signature"])
def test_what_a_text_says_of_itself_stands_in_for_no_checked_field(claim: str) -> None:
    """A display name is no author, and a message that calls itself checked or approved is not."""
    whole = root("r")
    assert whole.origin is not None
    fields = {key: text for key, text in whole.origin.fields.items() if key != "author"}
    posing = replace(
        whole,
        origin=replace(whole.origin, fields={**fields, claim: "ada"}, checked=whole.origin.checked | {claim}),
    )
    assert not is_root_ok(posing)
    unchecked = replace(
        whole,
        origin=replace(
            whole.origin,
            fields={**whole.origin.fields, claim: "yes"},
            checked=whole.origin.checked - {"author"},
        ),
    )
    assert not is_root_ok(unchecked)


def test_a_root_without_origin_is_none() -> None:
    """Unknown lineage stays unknown."""
    with pytest.raises(OriginError, match=r"^root r: has no origin$"):
        check_root(root("r", origin=None))
    assert not is_root_ok(root("r", origin=None))


@pytest.mark.requirement("P8", "P9")
def test_a_vertex_is_a_root_or_derived() -> None:
    """Never both, never neither."""
    for vertex in (root("r", origin=None), derived("d", "r", origin=origin(OriginClass.MODEL_PRIOR))):
        with pytest.raises(
            ShapeError, match=f"^vertex {vertex.id}: has to have an origin or a derivation, and"
        ):
            check_shape(vertex)
    check_shape(root("r", root="session"))
    check_shape(derived("d", "r"))


@pytest.mark.requirement("P9")
def test_a_derivation_names_what_it_rests_on_and_who_derived_it() -> None:
    """No alternative, an empty one, no rule, no evaluator, or a root of its own: each is refused."""
    good = derived("d", "r")
    assert good.derivation is not None
    for alternatives in ((), (frozenset[str](),), (frozenset({"r"}), frozenset[str]())):
        with pytest.raises(ShapeError, match=r"^vertex d: is derived from nothing$"):
            check_shape(replace(good, derivation=replace(good.derivation, alternatives=alternatives)))
    for changes in ({"rule": ""}, {"evaluator": ""}):
        with pytest.raises(ShapeError, match=r"^vertex d: its derivation names no rule or no evaluator$"):
            check_shape(replace(good, derivation=replace(good.derivation, **changes)))
    with pytest.raises(
        ShapeError, match=r"^vertex d: is derived, and its roots are those of what it depends on$"
    ):
        check_shape(replace(good, root="session"))


@pytest.mark.requirement("P2", "P8", "P18")
def test_every_dependency_of_a_graph_is_a_vertex_or_a_marker() -> None:
    """Anything else has no version that could be looked at."""
    check_graph(graph(root("r"), gone("m"), derived("d", "r m", "r")))
    with pytest.raises(VertexUnknownError, match=r"^vertex d: depends on n, which is not there$"):
        check_graph(graph(root("r"), derived("d", "r", "z n")))


def test_every_vertex_of_a_graph_has_a_shape() -> None:
    """A graph is no way around the rules for one vertex."""
    with pytest.raises(ShapeError):
        check_graph(graph(root("r"), root("s", origin=None)))


@pytest.mark.requirement("P2")
def test_an_id_stands_for_one_thing() -> None:
    """A vertex or a marker under a foreign id, or one id for both, is refused."""
    with pytest.raises(VertexReusedError, match=r"^vertex r: stands under the id s$"):
        check_graph(replace(graph(), vertices={"s": root("r")}))
    with pytest.raises(VertexReusedError, match=r"^vertex m: stands under the id n$"):
        check_graph(replace(graph(), markers={"n": gone("m")}))
    with pytest.raises(VertexReusedError, match=r"^vertex r: is a vertex and an unavailable marker$"):
        check_graph(graph(root("r"), gone("r")))


@pytest.mark.requirement("P8", "P18")
def test_nothing_depends_on_itself() -> None:
    """Neither directly nor around corners, in whatever alternative."""
    for items in ([derived("a", "a")], [derived("b", "a"), derived("a", "r", "b"), root("r")]):
        with pytest.raises(DependencyCycleError, match=r"^vertex a: depends on itself$"):
            check_graph(graph(*items))


@pytest.mark.requirement("P18", "N4")
def test_a_trace_may_be_long() -> None:
    """Five thousand steps of recalling and storing again need no recursion."""
    steps = [derived(f"d{number:04}", f"d{number - 1:04}") for number in range(1, 5_000)]
    order = dependencies_first(graph(root("d0000"), *steps), ["d4999"])
    assert order == tuple(f"d{number:04}" for number in range(5_000))
    check_graph(graph(root("d0000"), *steps))


def test_only_what_is_needed_is_looked_at() -> None:
    """The closure of an id, each behind its own dependencies."""
    whole = graph(
        root("r"), root("s"), gone("m"), derived("d", "r", "m"), derived("e", "d"), derived("f", "s")
    )
    order = dependencies_first(whole, ["e"])
    assert sorted(order) == ["d", "e", "m", "r"]
    assert order[-2:] == ("d", "e")


def test_the_role_of_a_report_is_not_that_of_an_event() -> None:
    """A message grounds that it was said."""
    assert ROOT_ROLES[OriginClass.ATTRIBUTED_REPORT] is REPORT is not Role.OBSERVED_EVENT
