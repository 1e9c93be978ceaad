"""How the graph goes on from one head to the next: admission, supersession, revocation, conflict, erasure (P35). Pure.

Every change is a new graph at a later head; a vertex that was superseded, revoked or contradicted stays what it was.
Only an erasure takes a vertex away, and leaves a marker in its place; whether its bytes are gone is not claimed here.
"""

import msgspec

from timeline.reasoning.admission import check_root, check_shape
from timeline.reasoning.errors import HeadOrderError, VertexReusedError, VertexUnknownError
from timeline.reasoning.graph import Graph, Head, Marker, Vertex
from timeline.reasoning.promotion import check_promotion


def admit(graph: Graph, head: Head, vertex: Vertex) -> Graph:
    """Add a vertex: a root with a good origin, or one that follows from what is there (P1, P16, P17, P46).

    Raises:
        VertexReusedError: the id is in use.
        ReasoningError: as ``check_root`` and ``check_promotion``.
        HeadOrderError: the head is not a later one.
    """
    if vertex.id in graph.vertices or vertex.id in graph.markers:
        raise VertexReusedError(f"vertex {vertex.id}: the id is in use")
    check_shape(vertex)
    if vertex.derivation is None:
        check_root(vertex)
    else:
        check_promotion(graph, vertex)
    return _at(graph, head, vertices={**graph.vertices, vertex.id: vertex})


def supersede(graph: Graph, head: Head, successor: str, replaced: str) -> Graph:
    """Let one claim replace another for current questions; both stay readable.

    Raises:
        VertexUnknownError: one of the two is not there.
        VertexReusedError: they are one and the same.
        HeadOrderError: the head is not a later one.
    """
    _two(graph, successor, replaced)
    return _at(graph, head, superseded=graph.superseded | {replaced})


def revoke(graph: Graph, head: Head, name: str) -> Graph:
    """Take the ground from under a vertex or a root, and from all that has no other alternative (P34).

    Raises:
        VertexUnknownError: nothing of this id is there, nor a root.
        HeadOrderError: the head is not a later one.
    """
    if name not in graph.markers and not any(
        name in (vertex.id, vertex.root_id) for vertex in graph.vertices.values()
    ):
        raise VertexUnknownError(f"vertex {name}: is not there")
    return _at(graph, head, revoked=graph.revoked | {name})


def inscribe(graph: Graph, head: Head, one: str, other: str) -> Graph:
    """Declare that two vertices contradict each other, where no rule says which of them holds.

    Raises:
        VertexUnknownError: one of the two is not there.
        VertexReusedError: they are one and the same.
        HeadOrderError: the head is not a later one.
    """
    _two(graph, one, other)
    return _at(graph, head, inscribed=graph.inscribed | {(min(one, other), max(one, other))})


def erase(graph: Graph, head: Head, marker: Marker) -> Graph:
    """Put a marker in the place of the vertex of its id: what depends on that one has lost it (P50).

    Raises:
        VertexUnknownError: there is no such vertex.
        HeadOrderError: the head is not a later one.
    """
    if marker.id not in graph.vertices:
        raise VertexUnknownError(f"vertex {marker.id}: is not there")
    kept = {name: vertex for name, vertex in graph.vertices.items() if name != marker.id}
    return _at(graph, head, vertices=kept, markers={**graph.markers, marker.id: marker})


def _two(graph: Graph, one: str, other: str) -> None:
    for name in (one, other):
        if name not in graph.vertices:
            raise VertexUnknownError(f"vertex {name}: is not there")
    if one == other:
        raise VertexReusedError(f"vertex {one}: two different ones are needed")


def _at(graph: Graph, head: Head, **changes: object) -> Graph:
    if head.size <= graph.head.size:
        raise HeadOrderError(f"head {head.size}: has to be after {graph.head.size}")
    return msgspec.structs.replace(graph, head=head, **changes)
