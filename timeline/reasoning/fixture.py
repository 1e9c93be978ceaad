"""The graph, question and candidate that a conformance case describes, admitted by the rules of every graph. Pure."""

from collections.abc import Callable
from typing import Final

import msgspec

from sidecars.identity import canonical_bytes
from timeline.reasoning.admission import check_graph
from timeline.reasoning.case import Audience, Case, Claim, Evidence
from timeline.reasoning.errors import ReasoningError, VertexUnknownError
from timeline.reasoning.graph import Access, Derivation, Graph, Head, Marker, Origin, Scope, Vertex
from timeline.reasoning.lifecycle import admit, erase, inscribe, revoke, supersede
from timeline.reasoning.mediation import ContentUnit, Emission
from timeline.reasoning.policy import Policy
from timeline.reasoning.promotion import Target, promote, vertex_version
from timeline.reasoning.proposition import Proposition, Query

POLICY_VERSION: Final = 1
"""Of the policy that a case states; there is one."""


_FIRST: Final = Head(0, "")
"""Before the first record; the heads in between are the fixture's own, and the last one is the prompt's."""

_UNVERSIONED: Final = ""
"""Until there is a content to be digested."""


class Admitted(msgspec.Struct, frozen=True):
    """The graph of a case; ``refused`` has each record that did not enter it, with the reason of the refusal."""

    graph: Graph
    refused: dict[str, str]


def policy_of(case: Case) -> Policy:
    """The policy of the case."""
    stated = case.policy
    return Policy(
        version=POLICY_VERSION,
        roots=stated.roots,
        required=stated.required,
        collapse=stated.collapse,
        snapshot=stated.snapshot,
    )


def access_of(case: Case) -> Access:
    """Who asks in the case."""
    return Access(case.reader.principal, case.reader.purpose, case.reader.task)


def query_of(case: Case) -> Query:
    """The question of the case."""
    return Query(case.query.subject, case.query.predicate, case.query.at, case.query.modality)


def unit_of(case: Case) -> ContentUnit:
    """The candidate as the one unit of an answer."""
    query, candidate = query_of(case), case.candidate
    value = canonical_bytes(candidate.value).decode()
    said = Proposition(query.subject, query.predicate, value, query.modality)
    return ContentUnit("candidate", query, said, candidate.as_of)


def emission_of(case: Case) -> Emission:
    """The heads between which the answer arises; emitted at the question's moment, unless the case says otherwise."""
    heads = case.heads
    return Emission(
        Head(heads.prompt.size, heads.prompt.root),
        Head(heads.emission.size, heads.emission.root),
        case.query.at if heads.emitted_at is None else heads.emitted_at,
    )


def admit_records(case: Case) -> Admitted:
    """The graph at the prompt's head of what is admitted of the case's records, by the rules of every graph.

    A root enters by its origin, a claim by promotion from what stands before it. Only then is a record replaced,
    revoked, contradicted or made unavailable: those are changes of what was admitted.
    """
    graph = Graph(_FIRST, {})
    refused: dict[str, str] = {}
    for record in case.records:
        try:
            vertex = _root(record) if isinstance(record, Evidence) else _promoted(graph, record)
            graph = admit(graph, _next(graph), vertex)
        except ReasoningError as error:
            refused[record.id] = error.reason
    for record in case.records:
        for replaced in record.supersedes:
            graph = _changed(graph, supersede, record.id, replaced)
    for name in case.revoked:
        graph = _changed(graph, revoke, name)
    for one, other in case.inscribed:
        graph = _changed(graph, inscribe, one, other)
    for evidence in case.evidence:
        if evidence.unavailable is not None and evidence.id in graph.vertices:
            version = graph.vertices[evidence.id].version
            graph = erase(graph, _next(graph), Marker(evidence.id, evidence.unavailable, version))
    graph = msgspec.structs.replace(graph, head=emission_of(case).prompt)
    check_graph(graph)
    return Admitted(graph, refused)


def _changed(graph: Graph, change: Callable[..., Graph], *names: str) -> Graph:
    """The graph after a change; what was not admitted changes nothing, and nothing is changed about it."""
    try:
        return change(graph, _next(graph), *names)
    except VertexUnknownError:
        return graph


def _next(graph: Graph) -> Head:
    return Head(graph.head.size + 1, _FIRST.root)


def _root(evidence: Evidence) -> Vertex:
    checked = evidence.fields.keys() - set(evidence.unchecked)
    root = Vertex(
        id=evidence.id,
        version=_UNVERSIONED,
        role=evidence.role,
        proposition=_proposition(evidence),
        observed_at=evidence.observed_at,
        start=evidence.start,
        end=evidence.end,
        scope=_scope(evidence.scope),
        origin=Origin(evidence.origin, evidence.fields, frozenset(checked)),
        root=evidence.root,
    )
    return msgspec.structs.replace(root, version=vertex_version(root))


def _promoted(graph: Graph, claim: Claim) -> Vertex:
    alternatives = tuple(frozenset(members) for members in claim.alternatives)
    return promote(
        graph,
        Target(
            id=claim.id,
            role=claim.role,
            proposition=_proposition(claim),
            observed_at=claim.observed_at,
            start=claim.start,
            end=claim.end,
            scope=_scope(claim.scope),
        ),
        Derivation(claim.rule, POLICY_VERSION, claim.evaluator, alternatives, claim.bindings),
    )


def _proposition(record: Evidence | Claim) -> Proposition | None:
    return None if record.says is None else record.says.proposition


def _scope(audience: Audience) -> Scope:
    return Scope(
        *(None if names is None else frozenset(names) for names in msgspec.structs.astuple(audience))
    )
