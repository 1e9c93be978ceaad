"""The world model for other programs: as the reference's ``world-model.json``, and as PROV-JSON. Pure.

PROV-DM (W3C Recommendation of 2013-04-30): an assertion and its evidence are entities, what recorded it is an
activity, who stands behind it is an agent. A newer assertion is a revision of the one that it replaces, and
invalidates it. Assertions of one scope form a bundle; what belongs to other readers stands in others.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sidecars.digest import Digest
from timeline.clock import format_utc
from timeline.world.assertion import Assertion, value_digest
from timeline.world.presentation import ASSERTION_SCHEMA, AUTHORITY
from timeline.world.supersession import replacements

WORLD_MODEL_SCHEMA: Final = "agentspine.world-model/v1"
PREFIX: Final = "tl"
NAMESPACE: Final = "urn:timeline:world:"
XSD_TIME: Final = "xsd:dateTime"

Json = dict[str, Any]


# -- the reference's file --------------------------------------------------------------------------------------


def world_model(assertions: Sequence[Assertion], root: str) -> Json:
    """Everything given, in the shape of the reference; ``root`` is the project that it is exported for.

    What the reference has no field for (recorder, tenant, user) stands in ``timeline``, which it passes over.

    Raises:
        WorldStateError: the assertions contradict each other's history.
    """
    ordered = sorted(assertions, key=lambda assertion: assertion.leaf)
    replacements(ordered)
    return {
        "schema": WORLD_MODEL_SCHEMA,
        "root": root,
        "revision": len(ordered),
        "assertions": [_reference_assertion(assertion) for assertion in ordered],
        "events": [
            {
                "kind": "resolved" if assertion.entry.supersedes else "recorded",
                "assertionId": assertion.id,
                "supersedes": list(assertion.entry.supersedes),
                "at": format_utc(assertion.recorded_at),
                "authority": AUTHORITY,
            }
            for assertion in ordered
        ],
        "authority": AUTHORITY,
    }


def _reference_assertion(assertion: Assertion) -> Json:
    entry = assertion.entry
    found: Json = {
        "schema": ASSERTION_SCHEMA,
        "id": entry.id,
        "subjectId": entry.subject,
        "predicate": entry.predicate,
        "value": assertion.value,
        "valueDigest": hex_of(value_digest(entry.value)),
        "evidenceKind": entry.evidence_kind,
        "evidenceId": entry.evidence_id,
        "evidenceDigest": hex_of(entry.evidence_digest),
        "observedAt": format_utc(entry.observed_at),
        "expiresAt": None if entry.expires_at is None else format_utc(entry.expires_at),
        "projectId": entry.project,
        "groupId": entry.group,
        "privacy": entry.privacy,
        "supersedes": list(entry.supersedes),
        "reason": entry.reason or "",
        "status": "established" if entry.is_established else "proposed",
        "recordedAt": format_utc(assertion.recorded_at),
        "authority": AUTHORITY,
        "timeline": {"recorder": entry.recorder, "tenant": entry.tenant, "user": entry.user},
    }
    if entry.portal is not None:
        found |= {"portalRef": entry.portal, "threadRef": entry.thread}
    if entry.knowledge is not None:
        found |= {"knowledgeKind": entry.knowledge}
        if entry.session is not None:
            found |= {"sessionRef": entry.session, "messageRef": entry.message}
    return found


def hex_of(digest: str) -> str:
    """A digest as the reference spells it: 64 hex digits."""
    return Digest.parse(digest).raw.hex()


# -- PROV-JSON -------------------------------------------------------------------------------------------------


def prov_json(assertions: Sequence[Assertion]) -> Json:
    """Everything given as one PROV-JSON document with a bundle for each scope.

    Raises:
        WorldStateError: the assertions contradict each other's history.
    """
    ordered = sorted(assertions, key=lambda assertion: assertion.leaf)
    known = {assertion.id: assertion for assertion in ordered}
    replacements(ordered)
    bundles: dict[str, _Bundle] = {}
    for assertion in ordered:
        name = _scope_name(assertion)
        bundle = bundles.setdefault(name, _Bundle())
        bundle.add(assertion, [known[one] for one in assertion.entry.supersedes if one in known])
    return {
        "prefix": {PREFIX: NAMESPACE, "xsd": "http://www.w3.org/2001/XMLSchema#"},
        "entity": {
            name: {"prov:type": {"$": "prov:Bundle", "type": "prov:QUALIFIED_NAME"}} for name in bundles
        },
        "bundle": {name: bundle.document() for name, bundle in bundles.items()},
    }


class _Bundle:
    """The records of one scope, collected."""

    def __init__(self) -> None:
        self._records: dict[str, dict[str, Json]] = {}

    def add(self, assertion: Assertion, replaced: Iterable[Assertion]) -> None:
        entry, name = assertion.entry, _name("assertion", assertion.id)
        at = _time(assertion.recorded_at)
        recording, evidence = _name("recording", f"leaf-{assertion.leaf}"), _evidence_of(assertion)
        agent = _agent_of(assertion)
        self._put("entity", name, _attributes(assertion))
        self._put(
            "entity",
            evidence,
            {
                "prov:type": f"{PREFIX}:{entry.evidence_kind}",
                f"{PREFIX}:sha256": hex_of(entry.evidence_digest),
            },
        )
        self._put("activity", recording, {"prov:startTime": at, "prov:endTime": at})
        self._put("agent", agent, {"prov:type": f"{PREFIX}:{entry.recorder}"})
        self._relate(
            "used", recording, {"prov:activity": recording, "prov:entity": evidence, "prov:time": at}
        )
        self._relate(
            "wasGeneratedBy", recording, {"prov:entity": name, "prov:activity": recording, "prov:time": at}
        )
        self._relate("wasAssociatedWith", recording, {"prov:activity": recording, "prov:agent": agent})
        self._relate("wasAttributedTo", recording, {"prov:entity": name, "prov:agent": agent})
        self._relate("wasDerivedFrom", recording, {"prov:generatedEntity": name, "prov:usedEntity": evidence})
        for older in replaced:
            before = _name("assertion", older.id)
            pair = f"{assertion.leaf}-{older.leaf}"
            self._relate(
                "wasDerivedFrom",
                f"revision-{pair}",
                {
                    "prov:generatedEntity": name,
                    "prov:usedEntity": before,
                    "prov:type": {"$": "prov:Revision", "type": "prov:QUALIFIED_NAME"},
                },
            )
            self._relate(
                "wasInvalidatedBy",
                f"replaced-{pair}",
                {"prov:entity": before, "prov:activity": recording, "prov:time": at},
            )

    def document(self) -> Json:
        return dict(self._records)

    def _put(self, kind: str, name: str, attributes: Mapping[str, Any]) -> None:
        self._records.setdefault(kind, {})[name] = dict(attributes)

    def _relate(self, kind: str, name: str, attributes: Mapping[str, Any]) -> None:
        local = name.rpartition(":")[2]
        self._records.setdefault(kind, {})[f"_:{kind}-{local.replace('/', '-')}"] = dict(attributes)


def _attributes(assertion: Assertion) -> Json:
    entry = assertion.entry
    found: Json = {
        "prov:type": f"{PREFIX}:assertion",
        "prov:value": entry.value,
        f"{PREFIX}:subject": entry.subject,
        f"{PREFIX}:predicate": entry.predicate,
        f"{PREFIX}:valueSha256": hex_of(value_digest(entry.value)),
        f"{PREFIX}:status": "established" if entry.is_established else "proposed",
        f"{PREFIX}:observedAt": {"$": format_utc(entry.observed_at), "type": XSD_TIME},
        f"{PREFIX}:authority": AUTHORITY,
    }
    if entry.expires_at is not None:
        found[f"{PREFIX}:expiresAt"] = {"$": format_utc(entry.expires_at), "type": XSD_TIME}
    if entry.knowledge is not None:
        found[f"{PREFIX}:knowledgeKind"] = entry.knowledge
    if entry.reason is not None:
        found[f"{PREFIX}:reason"] = entry.reason
    return found


def _evidence_of(assertion: Assertion) -> str:
    """The bytes that an assertion rests on, as what it takes them for: an id alone anybody can name."""
    entry = assertion.entry
    return _name("evidence", f"{entry.evidence_id}/{entry.evidence_kind}/{hex_of(entry.evidence_digest)}")


def _agent_of(assertion: Assertion) -> str:
    """Who stands behind an assertion: whoever recorded it, with the session that it came from."""
    entry = assertion.entry
    return _name("agent", f"{entry.recorder}/{entry.session}" if entry.session else entry.recorder)


def _scope_name(assertion: Assertion) -> str:
    """A name for everybody who may see the same; of paths and names of people only a digest leaves."""
    entry = assertion.entry
    parts = [entry.tenant, entry.user, entry.project, entry.privacy, entry.group, entry.portal, entry.thread]
    named = "\0".join(part or "" for part in parts).encode()
    return _name("scope", Digest.of(named).raw.hex()[:32])


def _name(kind: str, local: str) -> str:
    return f"{PREFIX}:{kind}/{local.replace(':', '/')}"


def _time(at_ms: int) -> str:
    return format_utc(at_ms)
