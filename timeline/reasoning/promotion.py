"""Which role may follow from which, and what the derivation has to bind (P13 to P15, P33, P46). Pure.

A promotion moves nothing: it makes a fresh vertex that depends on exact versions, and those stay what they are. The
table is the paper's table 7, with a row for each role that it names and has no row for. What is not in it is refused.
"""

from typing import Final

import msgspec

from sidecars.identity import value_digest
from timeline.reasoning.admission import ORIGIN_FIELDS, check_shape, dependencies_of
from timeline.reasoning.errors import (
    NonPromotionError,
    PromotionBindingError,
    PromotionRuleError,
    ScopeWidenedError,
    VertexReusedError,
    VertexUnknownError,
)
from timeline.reasoning.graph import Derivation, Graph, Scope, Vertex
from timeline.reasoning.proposition import Proposition
from timeline.reasoning.roles import DERIVED, GROUNDED, UNVERIFIED, OriginClass, Role

DEPENDENCIES: Final = "dependencies"
"""The binding of every promotion: the digest of the exact versions that it depends on."""


class Promotion(msgspec.Struct, frozen=True):
    """A rule: from which roles a role may follow, and what the derivation names besides its dependencies."""

    sources: frozenset[Role]
    binds: frozenset[str]


PROMOTIONS: Final[dict[Role, Promotion]] = {
    # A message of an authenticated user makes a report, and a device's capture an observation.
    Role.ATTRIBUTED_REPORT: Promotion(
        frozenset({Role.ATTRIBUTED_REPORT}), ORIGIN_FIELDS[OriginClass.ATTRIBUTED_REPORT]
    ),
    Role.OBSERVED_EVENT: Promotion(
        frozenset({Role.OBSERVED_EVENT}), ORIGIN_FIELDS[OriginClass.DIRECT_CAPTURE]
    ),
    # The dependency itself keeps the attribution; every derivation names its evaluator.
    Role.MEMORY_INTERPRETATION: Promotion(GROUNDED | {Role.DETERMINISTIC_DERIVATION}, frozenset()),
    # Whoever takes it as a stance is named; what was interpreted stays a dependency.
    Role.RECORDED_BELIEF: Promotion(frozenset({Role.MEMORY_INTERPRETATION}), frozenset({"stance"})),
    Role.DETERMINISTIC_DERIVATION: Promotion(GROUNDED | DERIVED, frozenset({"code", "output"})),
    # Down to the unverified roles everything may go, if it says what it is.
    Role.HYPOTHESIS: Promotion(frozenset(Role), frozenset({"label"})),
    Role.PROBABILISTIC_INTERPRETATION: Promotion(frozenset(Role), frozenset({"input", "inference"})),
}
"""The rule for each role that may follow from something (P46). None makes a model's prior or a retrieved text."""


class Target(msgspec.Struct, frozen=True):
    """What a promotion is to make: a vertex without its derivation and its version."""

    id: str
    role: Role
    proposition: Proposition | None
    observed_at: int
    start: int | None = None
    end: int | None = None
    scope: Scope = Scope()


def promote(graph: Graph, target: Target, derivation: Derivation) -> Vertex:
    """The fresh vertex that follows from others by a rule of the table; nothing that is there is changed (P13).

    The derivation's own binding of its dependencies is made here.

    Raises:
        VertexReusedError: the id is in use.
        ReasoningError: as ``check_promotion``.
    """
    if target.id in graph.vertices or target.id in graph.markers:
        raise VertexReusedError(f"vertex {target.id}: the id is in use")
    bindings = {**derivation.bindings, DEPENDENCIES: _dependencies_digest(graph, target.id, derivation)}
    draft = Vertex(
        version="",
        derivation=msgspec.structs.replace(derivation, bindings=bindings),
        **msgspec.structs.asdict(target),
    )
    vertex = msgspec.structs.replace(draft, version=_content_digest(draft))
    check_promotion(graph, vertex)
    return vertex


def check_promotion(graph: Graph, vertex: Vertex) -> None:
    """A derived vertex follows from what it depends on by the table, within its scope, and binds what it has to.

    Raises:
        ShapeError: it is not derived from something by somebody.
        VertexUnknownError: it depends on what is not there.
        NonPromotionError: an observation or a report would depend on something unverified (P15).
        PromotionRuleError: an alternative has no member from whose role this role follows.
        PromotionBindingError: a binding is missing, or the dependencies are other versions.
        ScopeWidenedError: it is for more than each of its dependencies is for (P33).
    """
    check_shape(vertex)
    derivation = vertex.derivation
    rule = PROMOTIONS.get(vertex.role)
    if derivation is None or rule is None:
        raise PromotionRuleError(f"vertex {vertex.id}: nothing is promoted to {vertex.role}")
    digest = _dependencies_digest(graph, vertex.id, derivation)
    # A marker stands for what is gone: it has no role from which anything would follow, and no scope.
    members = [graph.vertices[name] for name in sorted(dependencies_of(vertex)) if name in graph.vertices]
    for member in members:
        if vertex.role in GROUNDED and member.role in UNVERIFIED:
            raise NonPromotionError(
                f"vertex {vertex.id}: {member.id} is a {member.role}, which makes no {vertex.role}"
            )
        if not vertex.scope.within(member.scope):
            raise ScopeWidenedError(f"vertex {vertex.id}: its scope is wider than that of {member.id}")
    sources = frozenset(member.id for member in members if member.role in rule.sources)
    for alternative in derivation.alternatives:
        if alternative.isdisjoint(sources):
            names = ", ".join(sorted(alternative))
            raise PromotionRuleError(f"vertex {vertex.id}: no {vertex.role} follows from {names}")
    for name in sorted(rule.binds):
        if not derivation.bindings.get(name):
            raise PromotionBindingError(f"vertex {vertex.id}: binding {name}: missing")
    if derivation.bindings.get(DEPENDENCIES) != digest:
        raise PromotionBindingError(f"vertex {vertex.id}: binding {DEPENDENCIES}: not of these versions")


def vertex_version(vertex: Vertex) -> str:
    """The digest of exactly this content, with an empty version in the place of whatever it says."""
    return _content_digest(msgspec.structs.replace(vertex, version=""))


def _content_digest(vertex: Vertex) -> str:
    content = msgspec.to_builtins(vertex, order="deterministic")
    return str(value_digest({"schema": "timeline-vertex/v1", **content}))


def _dependencies_digest(graph: Graph, name: str, derivation: Derivation) -> str:
    """The digest of the alternatives, each with the exact versions of its members."""
    exact = (
        tuple((member, _version_of(graph, name, member)) for member in sorted(alternative))
        for alternative in derivation.alternatives
    )
    return str(value_digest(tuple(sorted(exact))))


def _version_of(graph: Graph, name: str, member: str) -> str:
    """What a dependency is bound by: its version, or the commitment of the marker in its place."""
    if member in graph.vertices:
        return graph.vertices[member].version
    if member in graph.markers:
        return graph.markers[member].commitment
    raise VertexUnknownError(f"vertex {name}: depends on {member}, which is not there")
