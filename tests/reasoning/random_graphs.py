"""Random small graphs: a few roots, things that are gone, and vertices that rest on some of what came before them."""

from typing import NamedTuple, TypeVar

from hypothesis import strategies as st

from tests.reasoning import states
from timeline.reasoning.graph import Graph, Marker, Scope, Vertex
from timeline.reasoning.proposition import Proposition
from timeline.reasoning.roles import Role

Drawn = TypeVar("Drawn")
Interval = tuple[int | None, int | None]
SAID = (None, states.SAYS, states.SAYS, states.SAYS_OTHERWISE, states.SAYS_SOMETHING_ELSE)
HIDDEN = (
    Scope(principals=frozenset({"person:ben"})),
    Scope(purposes=frozenset({"billing"})),
    Scope(tasks=frozenset({"task:other"})),
)
SEEN = (
    Scope(),
    Scope(frozenset({states.WHO}), frozenset({states.WHY, "billing"}), frozenset({states.WHAT})),
)
CURRENT: tuple[Interval, ...] = ((None, None), (states.AT, None), (states.AT - 5, states.AT + 1))
NOT_CURRENT: tuple[Interval, ...] = ((None, states.AT), (states.AT + 1, None))


class Sample(NamedTuple):
    """A graph, and the ids of its roots whose origin proves something."""

    graph: Graph
    good: frozenset[str]


def mostly(usual: st.SearchStrategy[Drawn], rare: st.SearchStrategy[Drawn]) -> st.SearchStrategy[Drawn]:
    """Four times in five the usual, otherwise the rare."""
    return st.integers(0, 4).flatmap(lambda number: usual if number else rare)


@st.composite
def _common(draw: st.DrawFn) -> tuple[Proposition | None, int, Interval, Scope]:
    """What every vertex has: proposition, time of observation, interval and scope."""
    interval = draw(mostly(st.sampled_from(CURRENT), st.sampled_from(NOT_CURRENT)))
    scope = draw(mostly(st.sampled_from(SEEN), st.sampled_from(HIDDEN)))
    return draw(st.sampled_from(SAID)), draw(st.integers(0, 3)), interval, scope


@st.composite
def _root(draw: st.DrawFn, name: str) -> tuple[Vertex, bool]:
    """A root, and whether its origin proves something."""
    said, observed_at, interval, scope = draw(_common())
    role = draw(mostly(st.sampled_from((Role.OBSERVED_EVENT, Role.ATTRIBUTED_REPORT)), st.sampled_from(Role)))
    proves = draw(mostly(st.just(value=True), st.just(value=False)))
    grounded = {Role.OBSERVED_EVENT: states.GOOD_CAPTURE, Role.ATTRIBUTED_REPORT: states.GOOD_REPORT}
    origin = grounded.get(role, states.PROVES_NOTHING) if proves else states.PROVES_NOTHING
    session = draw(st.sampled_from((None, None, None, "session:1", "session:2")))
    vertex = Vertex(
        name, f"version:{name}", role, said, observed_at, *interval, scope, origin=origin, root=session
    )
    return vertex, bool(proves) and role in grounded


@st.composite
def _derived(draw: st.DrawFn, name: str, before: list[str]) -> Vertex:
    """A vertex with up to three alternatives among what came before it."""
    said, observed_at, interval, scope = draw(_common())
    way = st.frozensets(st.sampled_from(before), min_size=1, max_size=3)
    ways = draw(st.lists(way, min_size=1, max_size=3, unique=True))
    role = draw(
        mostly(
            st.sampled_from(
                (Role.DETERMINISTIC_DERIVATION, Role.MEMORY_INTERPRETATION, Role.RECORDED_BELIEF)
            ),
            st.sampled_from(Role),
        )
    )
    return Vertex(
        name,
        f"version:{name}",
        role,
        said,
        observed_at,
        *interval,
        scope,
        derivation=states.derivation(*ways),
    )


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    """Up to five roots, two things that are gone, and four derived vertices, with what became of some of them."""
    roots = [draw(_root(f"r{number}")) for number in range(draw(st.integers(1, 5)))]
    vertices = {vertex.id: vertex for vertex, _ in roots}
    markers = {f"m{number}": states.marker(f"m{number}") for number in range(draw(st.integers(0, 2)))}
    for number in range(draw(st.integers(0, 4))):
        derived = draw(_derived(f"d{number}", [*vertices, *markers]))
        vertices[derived.id] = derived
    return Sample(
        Graph(
            states.HEAD,
            vertices,
            markers,
            superseded=draw(_few(list(vertices))),
            revoked=draw(_few([*vertices, *markers, "session:1"])),
        ),
        frozenset(vertex.id for vertex, proves in roots if proves),
    )


def _few(names: list[str]) -> st.SearchStrategy[frozenset[str]]:
    return st.one_of(st.just(frozenset[str]()), st.frozensets(st.sampled_from(names), max_size=2))


def with_vertices(graph: Graph, *more: Vertex) -> Graph:
    """The same graph with more vertices."""
    return Graph(
        graph.head,
        {**graph.vertices, **{vertex.id: vertex for vertex in more}},
        graph.markers,
        graph.superseded,
        graph.revoked,
        graph.inscribed,
    )


def with_marker(graph: Graph, name: str) -> Graph:
    """The same graph, in which one vertex is gone and has left a marker."""
    gone: Marker = states.marker(name)
    kept = {other: vertex for other, vertex in graph.vertices.items() if other != name}
    return Graph(
        graph.head, kept, {**graph.markers, name: gone}, graph.superseded, graph.revoked, graph.inscribed
    )
