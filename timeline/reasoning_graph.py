"""The provenance graph of some questions, made of assertions and of what the owner has said about evidence. Pure.

An assertion is admitted as a vertex if its root has all that its origin has to bring, and if everything that it was
derived from is there or has left a marker; any other is passed over, with what rests on it (P1, P2, P18).
"""

import hashlib
from collections.abc import Iterable, Mapping
from graphlib import CycleError
from types import MappingProxyType
from typing import Final

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.reasoned import ConflictInscription, EvidencePolicyEntry
from timeline.reasoning.admission import check_root, dependencies_first, dependencies_of
from timeline.reasoning.errors import OriginError
from timeline.reasoning.graph import Graph, Head, Marker, Vertex
from timeline.reasoning.policy import DEFAULT_POLICY, Policy
from timeline.reasoning.roles import Role
from timeline.world.assertion import Assertion
from timeline.world.derivation import role_of, root_of, vertex_of
from timeline.world.errors import WorldStateError
from timeline.world.ledger import Gathered
from timeline.world.scope import Reader, is_visible

_NONE: Final[Mapping[str, str]] = MappingProxyType({})


def make_graph(
    evidence: Gathered,
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
    ``witnesses``, by which reference a session is counted where that is not its own, see ``vertex_of``.
    """
    known = evidence.assertions
    own = {name: witnesses.get(root_of(one.entry), root_of(one.entry)) for name, one in known.items()}
    runs = _runs(known, own, reader)
    vertices = {
        name: vertex_of(one, reader, device=device, witness=_witness_of(one.entry, runs, own[name]))
        for name, one in known.items()
    }
    markers = {name: marker_of(name) for name in evidence.missing & erased}
    admitted = _admitted(head, vertices, markers)
    return Graph(
        head=head,
        vertices=admitted,
        markers=markers,
        superseded=evidence.replaced,
        # With the session in which it was seen, also where it is counted by another one.
        revoked=revoked
        | {name for name, one in known.items() if one.entry.derivation is None and own[name] in revoked},
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


def _runs(
    assertions: Mapping[str, Assertion], own: Mapping[str, str], reader: Reader
) -> dict[tuple[str, str, str, int], str]:
    """By which session each measured run is counted.

    A host that copies a session into another one copies what was run, to the millisecond: that is one run, and no
    second witness (P11). Only what the reader may see is compared, so that nothing hidden takes a witness away (X12).
    """
    found: dict[tuple[str, str, str, int], str] = {}
    for name, one in assertions.items():
        if role_of(one.entry) is Role.OBSERVED_EVENT and is_visible(one.entry, reader):
            run = _run_of(one.entry)
            found[run] = min(own[name], found.get(run, own[name]))
    return found


def _witness_of(entry: AssertionEntry, runs: Mapping[tuple[str, str, str, int], str], own: str) -> str:
    return runs.get(_run_of(entry), own) if role_of(entry) is Role.OBSERVED_EVENT else own


def _run_of(entry: AssertionEntry) -> tuple[str, str, str, int]:
    return (entry.subject, entry.predicate, entry.value, entry.observed_at)


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
