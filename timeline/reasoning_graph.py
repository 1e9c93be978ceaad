"""The provenance graph of some questions, made of assertions and of what the owner has said about evidence. Pure.

An assertion is admitted as a vertex if its root has all that its origin has to bring, and if everything that it was
derived from is there or has left a marker; any other is passed over, with what rests on it (P1, P2, P18).
"""

import hashlib
from collections.abc import Iterable, Mapping
from graphlib import CycleError
from types import MappingProxyType
from typing import Final

from sidecars.digest import Digest
from sidecars.reasoned import ConflictInscription, EvidencePolicyEntry
from timeline.reasoning.admission import check_root, dependencies_first, dependencies_of
from timeline.reasoning.errors import OriginError
from timeline.reasoning.graph import Graph, Head, Marker, Vertex
from timeline.reasoning.policy import DEFAULT_POLICY, Policy
from timeline.world.derivation import vertex_of
from timeline.world.errors import WorldStateError
from timeline.world.ledger import Evidence
from timeline.world.scope import Reader

_NONE: Final[Mapping[str, str]] = MappingProxyType({})


def make_graph(
    evidence: Evidence,
    reader: Reader,
    head: Head,
    *,
    device: str,
    revoked: frozenset[str],
    inscriptions: Iterable[ConflictInscription] = (),
    erased: frozenset[str] = frozenset(),
    witnesses: Mapping[str, str] = _NONE,
) -> Graph:
    """The graph at a head for one reader; ``device`` names the log.

    ``revoked`` are ids of assertions and roots, ``erased`` those of the missing dependencies that were erased. For
    ``witnesses`` see ``vertex_of``.
    """
    vertices = {
        name: vertex_of(one, reader, device=device, witnesses=witnesses)
        for name, one in evidence.assertions.items()
    }
    markers = {name: marker_of(name) for name in evidence.missing & erased}
    admitted = _admitted(head, vertices, markers)
    return Graph(
        head=head,
        vertices=admitted,
        markers=markers,
        superseded=evidence.replaced,
        revoked=revoked,
        inscribed=frozenset(one.assertions for one in inscriptions if admitted.keys() >= set(one.assertions)),
    )


def marker_of(name: str) -> Marker:
    """What stands for an assertion that was erased: its id, and a commitment to that."""
    return Marker(name, "erased", str(Digest(hashlib.sha256(name.encode()).digest())))


def policy_of(entries: Iterable[EvidencePolicyEntry]) -> Policy:
    """The policy in force after these, in the log's order.

    Raises:
        WorldStateError: their versions do not count from 1 without gaps (P3).
    """
    policy = DEFAULT_POLICY
    for entry in entries:
        if entry.version != policy.version + 1:
            message = f"evidence policy {entry.version}: must be version {policy.version + 1}"
            raise WorldStateError(message)
        policy = Policy(
            version=entry.version,
            roots=entry.roots,
            required=entry.required,
            collapse=entry.collapse,
            snapshot=entry.snapshot,
            evaluators=frozenset(entry.evaluators),
        )
    return policy


def _admitted(head: Head, vertices: Mapping[str, Vertex], markers: Mapping[str, Marker]) -> dict[str, Vertex]:
    admitted: dict[str, Vertex] = {}
    try:
        order = dependencies_first(Graph(head, vertices, markers), vertices)
    except CycleError as error:
        message = "an assertion is derived from itself"
        raise WorldStateError(message) from error
    for name in order:
        vertex = vertices.get(name)
        if vertex is not None and _may_enter(vertex, admitted, markers):
            admitted[name] = vertex
    return admitted


def _may_enter(vertex: Vertex, admitted: Mapping[str, Vertex], markers: Mapping[str, Marker]) -> bool:
    if vertex.derivation is not None:
        return all(name in admitted or name in markers for name in dependencies_of(vertex))
    try:
        check_root(vertex)
    except OriginError:
        return False
    return True
