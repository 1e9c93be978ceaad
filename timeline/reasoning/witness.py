"""The decision witness: bound to its decision, no more and no less than its obligations, and sealed (P26 to P29). Pure.

A witness is for an audit. It is no support of anything, and nothing that is rendered or released is ever made of it.
Outsiders get a commitment to it, SHA-256(salt || RFC 8785 text); whoever opens it has to be within its scope, which is
what everything relevant and everything used have in common (N2, N6, N7): that there is a witness tells of it already.
"""

import hashlib
from typing import Final

import msgspec

from sidecars.digest import Digest
from sidecars.identity import canonical_bytes
from timeline.reasoning.decision import Decision, Dispute, Ground, Missing, Untimely, Version, Witness
from timeline.reasoning.errors import WitnessClosedError, WitnessRefusedError
from timeline.reasoning.evaluation import Evaluation, Support, evaluate
from timeline.reasoning.graph import Access, Graph, Scope, Vertex
from timeline.reasoning.policy import Policy
from timeline.reasoning.proposition import Query

SALT_BYTES: Final = 32
"""As long as the digest: who does not know the salt cannot try out contents (RFC 5869 section 3.1)."""

NO_SALT: Final = bytes(SALT_BYTES)
"""Hides nothing by itself; enough where versions are digests of salted leaves."""


class SealedWitness(msgspec.Struct, frozen=True):
    """All that an outsider gets of a witness."""

    commitment: str


def query_digest(query: Query) -> str:
    """The SHA-256 of a question's canonical form, as digests are spelled."""
    content = canonical_bytes({"schema": "timeline-query/v1", **msgspec.to_builtins(query)})
    return str(Digest.of(content))


def bind_witness(
    evaluation: Evaluation, graph: Graph, query: Query, access: Access, policy: Policy, salt: bytes
) -> Witness | None:
    """The witness that a decision is obliged to have; none where nothing relevant was admitted (P26, P27).

    ``salt`` are the 32 bytes under which withheld versions are committed to.
    """
    if not evaluation.relevant:
        return None
    used = evaluation.standing if evaluation.hindered is None else (evaluation.hindered,)
    return msgspec.structs.replace(
        _empty_witness(graph, query, access, policy),
        scope=_scope_of([*_used_vertices(graph, used), *evaluation.relevant]),
        supported=_grounds(evaluation),
        conflicted=_disputes(evaluation),
        stale=_untimely(graph, evaluation.hindered, query.at),
        withheld=tuple(sorted(_withheld(vertex, salt) for vertex in evaluation.hidden)),
        unavailable=_missing(graph, evaluation.hindered),
    )


def check_witness(
    witness: Witness | None,
    decision: Decision,
    graph: Graph,
    query: Query,
    access: Access,
    policy: Policy,
    *,
    salt: bytes = NO_SALT,
) -> None:
    """WitnessOK: evaluate the question again, and compare; where nothing is relevant an empty witness will do (P28).

    Raises:
        WitnessRefusedError: the decision is not that of this graph, question, asker and policy; or the witness is bound
            to something else, or has less or more than its decision obliges it to have.
    """
    evaluation = evaluate(graph, query, access, policy)
    found = (evaluation.status, evaluation.flags, evaluation.premises)
    if found != (decision.status, decision.flags, decision.premises):
        raise WitnessRefusedError("decision witness: the decision is not what the graph says")
    obliged = bind_witness(evaluation, graph, query, access, policy, salt)
    if witness is None:
        if obliged is not None:
            raise WitnessRefusedError(
                "decision witness: something relevant was admitted, so there has to be one"
            )
        return
    if obliged is None:
        obliged = _empty_witness(graph, query, access, policy)
    for name in Witness.__struct_fields__:
        if getattr(witness, name) != getattr(obliged, name):
            raise WitnessRefusedError(
                f"decision witness: field {name}: not what the decision obliges it to be"
            )


def canonical_witness(witness: Witness) -> bytes:
    """The RFC 8785 bytes of a witness: the same for the same witness, whoever writes them (N7)."""
    fields = msgspec.to_builtins(witness, order="deterministic")
    return canonical_bytes({"schema": "timeline-decision-witness/v1", **fields})


def seal(witness: Witness, salt: bytes) -> SealedWitness:
    """Commit to a witness under 32 random bytes that are kept with it (N6)."""
    return SealedWitness(_commitment(salt, canonical_witness(witness)))


def open_sealed(sealed: SealedWitness, content: bytes, salt: bytes, access: Access) -> Witness:
    """The witness whose canonical bytes are ``content``, for one who may see everything that it is about.

    Raises:
        WitnessRefusedError: content and salt are not what was committed to, or no witness in canonical form.
        WitnessClosedError: the asker is not within the witness's scope.
    """
    if _commitment(salt, content) != sealed.commitment:
        raise WitnessRefusedError("decision witness: content and salt do not open this seal")
    try:
        witness = msgspec.json.decode(content, type=Witness)
    except msgspec.MsgspecError as error:
        raise WitnessRefusedError("decision witness: the content is none") from error
    if canonical_witness(witness) != content:
        raise WitnessRefusedError("decision witness: the content is not in canonical form")
    if not witness.scope.allows(access):
        raise WitnessClosedError("decision witness: it is about more than the asker may see")
    return witness


def _empty_witness(graph: Graph, query: Query, access: Access, policy: Policy) -> Witness:
    return Witness(
        head=graph.head, query=query_digest(query), policy=policy.digest, at=query.at, access=access
    )


def _used_vertices(graph: Graph, supports: tuple[Support, ...]) -> list[Vertex]:
    names = {name for support in supports for path in support.paths for name in path}
    return [graph.vertices[name] for name in names if name in graph.vertices]


def _scope_of(vertices: list[Vertex]) -> Scope:
    scope = Scope()
    for vertex in vertices:
        scope = scope.common(vertex.scope)
    return scope


def _version(vertex: Vertex) -> Version:
    return Version(vertex.id, vertex.version)


def _grounds(evaluation: Evaluation) -> tuple[Ground, ...]:
    """The premises' versions and the root sets used (supported)."""
    return tuple(
        Ground(_version(vertex), tuple(sorted(roots)))
        for support in evaluation.standing
        for vertex, roots in support.grounds
    )


def _disputes(evaluation: Evaluation) -> tuple[Dispute, ...]:
    """The exact versions that disagree, and how (conflicted)."""
    inscribed = [
        Dispute("inscribed", tuple(_version(vertex) for vertex in one.pair))
        for one in evaluation.contradictions
    ]
    if len(evaluation.supports) < 2:
        return tuple(inscribed)
    rivals = [vertex for support in evaluation.supports for vertex in support.premises]
    return (Dispute("different-values", tuple(_version(vertex) for vertex in rivals)), *inscribed)


def _untimely(graph: Graph, hindered: Support | None, at: int) -> tuple[Untimely, ...]:
    """The versions that would be needed and do not hold at the moment, with their times (stale)."""
    used = {} if hindered is None else {vertex.id: vertex for vertex in _used_vertices(graph, (hindered,))}
    return tuple(
        Untimely(_version(vertex), vertex.start, vertex.end)
        for _, vertex in sorted(used.items())
        if not vertex.holds_at(at)
    )


def _missing(graph: Graph, hindered: Support | None) -> tuple[Missing, ...]:
    """The markers that stand in the way, and what depends on each (unavailable)."""
    steps = (
        set()
        if hindered is None
        else {
            (member, name)
            for path in hindered.paths
            for name, members in path.items()
            for member in members & graph.markers.keys()
        }
    )
    return tuple(
        Missing(marker.id, marker.cause, marker.commitment, _version(graph.vertices[name]))
        for marker, name in ((graph.markers[member], name) for member, name in sorted(steps))
    )


def _withheld(vertex: Vertex, salt: bytes) -> str:
    """A commitment to one hidden version: whoever has the version can check it, and nobody else learns it."""
    return _commitment(salt, canonical_bytes(["timeline-withheld/v1", vertex.id, vertex.version]))


def _commitment(salt: bytes, content: bytes) -> str:
    if len(salt) != SALT_BYTES:
        raise RuntimeError(f"a salt has {SALT_BYTES} bytes")
    return str(Digest(hashlib.sha256(salt + content).digest()))
