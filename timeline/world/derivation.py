"""Assertions as vertices of the provenance graph, and what one may be derived from (P8, P9, P15, P45, P46). Pure.

What an assertion is follows from who recorded it and on what evidence, and never from what it says of itself (M2). Of a
capture, its session is the root: what was seen twice in one session was seen by one witness (G21). Of the owner's word,
the owner is: however often it is said, it is one person's.
"""

import hashlib
from collections.abc import Mapping
from typing import Final

import msgspec

from sidecars.assertion import AssertionEntry, DerivationEntry
from sidecars.digest import Digest
from timeline.reasoning.errors import ReasoningError
from timeline.reasoning.graph import Derivation, Graph, Head, Origin, Scope, Vertex
from timeline.reasoning.promotion import Target, promote
from timeline.reasoning.proposition import Proposition
from timeline.reasoning.roles import OriginClass, Role
from timeline.world.assertion import Assertion, value_digest
from timeline.world.errors import DerivationError
from timeline.world.scope import Reader, is_visible

_HERE: Final = "here"
"""Stands for the log where it does not matter which one it is."""

OWNER_ROOT: Final = "owner:word"
"""The root of everything that the owner says by a command."""

_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_UNKNOWN: Final = (
    "every id must be that of an assertion that whoever records may see, of this project or of none"
)


def role_of(entry: AssertionEntry) -> Role:
    """What an assertion is."""
    if entry.derivation is not None:
        return Role(entry.derivation.role)
    match entry.recorder:
        case "import":
            return Role.UNVERIFIED_RETRIEVAL
        case "model":
            return Role.MODEL_PRIOR
        case "capture" if entry.evidence_kind == "objective-measurement":
            return Role.OBSERVED_EVENT
        case _:
            return Role.ATTRIBUTED_REPORT


def root_of(entry: AssertionEntry) -> str:
    """By what its independence is counted, where it is a root."""
    match entry.recorder:
        case "owner":
            return OWNER_ROOT
        case "capture":
            # A capture without a kind of knowledge does not say where it came from: its event is its only witness.
            return entry.session or entry.evidence_id
        case _:
            return entry.id


def proposition_of(entry: AssertionEntry) -> Proposition | None:
    """What is claimed; a quoted message claims nothing until somebody has interpreted it."""
    if entry.evidence_kind == "uninterpreted-user-message":
        return None
    return Proposition(entry.subject, entry.predicate, entry.value)


def vertex_of(assertion: Assertion, reader: Reader, *, device: str, witness: str | None = None) -> Vertex:
    """An assertion as a vertex for one reader; ``device`` names the log.

    ``witness`` is by what a root is counted, where that is not ``root_of``: a session that was enrolled for two goals
    has two references, and is one witness (G21).

    Its scope is the ledger's own decision: everybody's where the reader may see it, and else nobody's.
    """
    entry = assertion.entry
    derivation = entry.derivation
    is_root = derivation is None
    return Vertex(
        id=entry.id,
        version=str(Digest(hashlib.sha256(_ENCODER.encode(entry)).digest())),
        role=role_of(entry),
        proposition=proposition_of(entry),
        observed_at=entry.observed_at,
        start=entry.observed_at if entry.starts_at is None else entry.starts_at,
        end=entry.expires_at,
        scope=Scope() if is_visible(entry, reader) else Scope(principals=frozenset()),
        origin=_origin_of(entry, device) if is_root else None,
        derivation=None if derivation is None else _derivation_of(entry, derivation),
        root=(root_of(entry) if witness is None else witness) if is_root else None,
    )


def _derivation_of(entry: AssertionEntry, derivation: DerivationEntry) -> Derivation:
    """With what its rule has to bind (P46): all of it stands in the signed entry."""
    bindings = {
        "recorded-belief": {"stance": "owner-key"},
        "hypothesis": {"label": "hypothesis"},
        "probabilistic-interpretation": {"input": entry.evidence_digest, "inference": derivation.rule},
        "deterministic-derivation": {"code": derivation.evaluator, "output": value_digest(entry.value)},
    }
    return Derivation(
        rule=derivation.rule,
        policy=derivation.policy,
        evaluator=derivation.evaluator,
        alternatives=tuple(frozenset(family) for family in derivation.alternatives),
        bindings=bindings.get(derivation.role, {}),
    )


def _origin_of(entry: AssertionEntry, device: str) -> Origin:
    """Where a root came from. All of it was filled in and checked when the leaf was signed by whoever recorded it."""
    seen = root_of(entry)
    match role_of(entry):
        case Role.OBSERVED_EVENT:
            class_ = OriginClass.DIRECT_CAPTURE
            fields = {"path": seen, "device": device, "content": entry.evidence_digest}
            fields["at"] = str(entry.observed_at)
        case Role.ATTRIBUTED_REPORT:
            class_ = OriginClass.ATTRIBUTED_REPORT
            is_owner = entry.recorder == "owner"
            fields = {"author": "owner-key" if is_owner else f"user:{entry.user}"}
            fields |= {"channel": "owner-command" if is_owner else seen, "content": entry.evidence_digest}
            fields["context"] = entry.evidence_id
        case Role.UNVERIFIED_RETRIEVAL:
            class_ = OriginClass.IMPORTED_RECORD
            fields = {"document": entry.evidence_id, "custody": "owner", "pipeline": "import"}
        case _:
            class_ = OriginClass.MODEL_PRIOR
            fields = {"model": entry.evidence_id, "checkpoint": "unknown"}
    return Origin(class_, fields, frozenset(fields))


def check_derivation(new: Assertion, known: Mapping[str, Assertion], reader: Reader | None) -> None:
    """Return only if what an assertion was derived from is there, may be seen, and is not for fewer than itself.

    ``known`` may hold other assertions too. An id that is not there and one that is hidden are refused in the same
    words (X12).

    Raises:
        DerivationError: it is not.
    """
    entry = new.entry
    if entry.derivation is None:
        return
    for name in entry.derivation.dependencies:
        found = known.get(name)
        if found is None or reader is None or not _is_known_to(found.entry, entry, reader):
            message = f"field derivation: {_UNKNOWN}"
            raise DerivationError(message)
        rule = _wider(entry, found.entry)
        if rule is not None:
            message = f"field derivation: {rule}"
            raise DerivationError(message)
    _check_promotion(new, known, reader)


def _check_promotion(new: Assertion, known: Mapping[str, Assertion], reader: Reader | None) -> None:
    """By the table of promotions, over the assertions themselves; what may be seen was settled before."""
    if reader is None or new.entry.derivation is None:
        return
    members = {
        name: vertex_of(known[name], reader, device=_HERE) for name in new.entry.derivation.dependencies
    }
    made = vertex_of(new, reader, device=_HERE)
    target = Target(made.id, made.role, made.proposition, made.observed_at, made.start, made.end)
    try:
        promote(Graph(Head(0, ""), members), target, _derivation_of(new.entry, new.entry.derivation))
    except ReasoningError as error:
        message = f"field derivation: {error.message}"
        raise DerivationError(message) from error


def _is_known_to(dependency: AssertionEntry, entry: AssertionEntry, reader: Reader) -> bool:
    in_scope = dependency.tenant == entry.tenant and dependency.project in {None, entry.project}
    return in_scope and is_visible(dependency, reader)


def _wider(entry: AssertionEntry, dependency: AssertionEntry) -> str | None:
    """The rule by which an assertion is for more than what it was derived from (P33); nothing if it is not."""
    match dependency.privacy:
        case "private" if (entry.privacy, entry.user) != ("private", dependency.user):
            return "what follows from something private must be private to the same user"
        case "group" if (entry.privacy, entry.group) != ("group", dependency.group):
            return "what follows from something of a group must be of that group"
    if dependency.portal is not None and (entry.portal, entry.thread) != (
        dependency.portal,
        dependency.thread,
    ):
        return "what follows from something of a conversation must be of that conversation"
    if dependency.purposes and not (entry.purposes and set(entry.purposes) <= set(dependency.purposes)):
        return "it must be for no purpose for which one of its dependencies is not"
    if dependency.about is not None and entry.about != dependency.about:
        return "what follows from something about a person must be about that person"
    return None
