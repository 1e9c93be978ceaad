"""What may enter the graph: roots with the origin that their class wants, and dependencies that end somewhere. Pure.

An origin is what the recording path says of itself (M2): fields that it has filled, and the names of those that it has
checked. What a text says about its own origin is in none of them. A user's or a tool's message can ground a report that
something was said, never the observation that it is so (P17). Not decided here: what may follow from what
(``promotion``).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Final

from timeline.reasoning.errors import (
    DependencyCycleError,
    OriginError,
    ShapeError,
    VertexReusedError,
    VertexUnknownError,
)
from timeline.reasoning.graph import Graph, Vertex
from timeline.reasoning.roles import GROUNDED, OriginClass, Role

ORIGIN_FIELDS: Final[Mapping[OriginClass, frozenset[str]]] = {
    OriginClass.DIRECT_CAPTURE: frozenset({"path", "device", "content", "at"}),
    OriginClass.ATTRIBUTED_REPORT: frozenset({"author", "channel", "content", "context"}),
    OriginClass.IMPORTED_RECORD: frozenset({"document", "custody", "pipeline"}),
    OriginClass.MODEL_PRIOR: frozenset({"model", "checkpoint"}),
    OriginClass.RETRIEVED_TEXT: frozenset({"query", "content", "url", "at"}),
    OriginClass.DETERMINISTIC_DERIVATION: frozenset({"dependencies", "code", "output"}),
    OriginClass.PROBABILISTIC_INTERPRETATION: frozenset({"evaluator", "input", "inference"}),
    OriginClass.HYPOTHETICAL_SIMULATION: frozenset({"framework", "configuration", "scenario"}),
}
"""What the origin of each class has to bring (P45, table 6 of the paper)."""

ROOT_ROLES: Final[Mapping[OriginClass, Role]] = {
    OriginClass.DIRECT_CAPTURE: Role.OBSERVED_EVENT,
    OriginClass.ATTRIBUTED_REPORT: Role.ATTRIBUTED_REPORT,
    OriginClass.IMPORTED_RECORD: Role.UNVERIFIED_RETRIEVAL,
    OriginClass.MODEL_PRIOR: Role.MODEL_PRIOR,
    OriginClass.RETRIEVED_TEXT: Role.UNVERIFIED_RETRIEVAL,
    OriginClass.DETERMINISTIC_DERIVATION: Role.DETERMINISTIC_DERIVATION,
    OriginClass.PROBABILISTIC_INTERPRETATION: Role.PROBABILISTIC_INTERPRETATION,
    OriginClass.HYPOTHETICAL_SIMULATION: Role.HYPOTHESIS,
}
"""The one role that a root of each class has."""


def check_root(vertex: Vertex) -> None:
    """Let a root in whose origin fits its role and has every field of its class, checked if the role is grounded.

    Raises:
        OriginError: it has not (P16, P17, P45).
    """
    for fault in _origin_faults(vertex):
        raise OriginError(f"root {vertex.id}: {fault}")


def is_root_ok(vertex: Vertex) -> bool:
    """Whether something can rest on this root (RootOK): it is grounded, and its origin was checked whole (P10)."""
    return vertex.role in GROUNDED and not any(_origin_faults(vertex))


def _origin_faults(vertex: Vertex) -> Iterator[str]:
    """What is wrong with the origin of a root, one rule after the other."""
    origin = vertex.origin
    if origin is None:
        yield "has no origin"
        return
    if ROOT_ROLES[origin.origin] != vertex.role:
        yield f"an origin of class {origin.origin} makes no {vertex.role}"
    wanted = sorted(ORIGIN_FIELDS[origin.origin])
    missing = [name for name in wanted if not origin.fields.get(name)]
    if missing:
        yield f"its origin lacks {', '.join(missing)}"
    unchecked = [name for name in wanted if name not in origin.checked]
    if unchecked and vertex.role in GROUNDED:
        yield f"nobody has checked {', '.join(unchecked)} of its origin"


def check_shape(vertex: Vertex) -> None:
    """A vertex is a root, with an origin; or derived, with a rule, an evaluator and what it depends on (P9).

    Raises:
        ShapeError: it is both, neither, or derived from nothing or by nobody.
    """
    derivation = vertex.derivation
    if (vertex.origin is None) == (derivation is None):
        raise ShapeError(f"vertex {vertex.id}: has to have an origin or a derivation, and not both")
    if derivation is None:
        return
    if not derivation.alternatives or not all(derivation.alternatives):
        raise ShapeError(f"vertex {vertex.id}: is derived from nothing")
    if not derivation.rule or not derivation.evaluator:
        raise ShapeError(f"vertex {vertex.id}: its derivation names no rule or no evaluator")
    if vertex.root is not None:
        raise ShapeError(f"vertex {vertex.id}: is derived, and its roots are those of what it depends on")


def check_graph(graph: Graph) -> None:
    """Every vertex is of one of the two shapes, every dependency is there, and every trace ends (P2, P8, P18).

    Raises:
        ShapeError: a vertex is no root and not derived.
        VertexReusedError: an id stands for two things.
        VertexUnknownError: a dependency is neither a vertex nor a marker.
        DependencyCycleError: vertices depend on each other in a circle.
    """
    ids = {name: vertex.id for name, vertex in graph.vertices.items()}
    ids |= {name: marker.id for name, marker in graph.markers.items()}
    for name, own in sorted(ids.items()):
        if name != own:
            raise VertexReusedError(f"vertex {own}: stands under the id {name}")
    for name in sorted(graph.vertices.keys() & graph.markers.keys()):
        raise VertexReusedError(f"vertex {name}: is a vertex and an unavailable marker")
    for vertex in graph.vertices.values():
        check_shape(vertex)
        for name in sorted(dependencies_of(vertex)):
            if name not in graph.vertices and name not in graph.markers:
                raise VertexUnknownError(f"vertex {vertex.id}: depends on {name}, which is not there")
    try:
        dependencies_first(graph, graph.vertices)
    except CycleError as error:
        name = min(error.args[1])
        raise DependencyCycleError(f"vertex {name}: depends on itself") from error


def dependencies_of(vertex: Vertex | None) -> frozenset[str]:
    """The ids of everything that a vertex depends on, whichever alternative is used; a marker depends on nothing."""
    if vertex is None or vertex.derivation is None:
        return frozenset()
    return frozenset().union(*vertex.derivation.alternatives)


def dependencies_first(
    graph: Graph, ids: Iterable[str], *, through: Callable[[Vertex], bool] | None = None
) -> tuple[str, ...]:
    """These ids and all that they depend on, each behind what it depends on itself; always in the same order.

    Of a vertex that is not gone ``through``, what it depends on is left out. Without recursion, since what is derived
    from what was derived may go on for thousands of steps.

    Raises:
        CycleError: vertices depend on each other in a circle; ``check_graph`` refuses such a graph.
    """
    known: dict[str, list[str]] = {}
    waiting = list(ids)[::-1]
    while waiting:
        name = waiting.pop()
        if name in known:
            continue
        vertex = graph.vertices.get(name)
        goes_on = vertex is not None and (through is None or through(vertex))
        known[name] = sorted(dependencies_of(vertex)) if goes_on else []
        waiting.extend(reversed(known[name]))
    return tuple(TopologicalSorter(known).static_order())
