"""A reference ``world-model.json``, read for import: its assertions stay what they are, legacy records (W27). Pure.

The file says of itself what was measured and what was confirmed, and no signature stands behind it. The owner who
imports it takes that on himself; every record keeps the mark ``import``, is given no kind of knowledge, now or
later, and no route: an older binding is not inferred (W53).
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sidecars.assertion import AssertionEntry, EvidenceKind
from sidecars.digest import Digest
from sidecars.errors import SidecarError
from sidecars.identity import strict_loads_with_floats
from timeline.clock import parse_utc
from timeline.world.assertion import NAMESPACE, Evidence, Scope, make_entry, value_digest
from timeline.world.errors import AssertionInvalidError, WorldError, WorldScopeError
from timeline.world.export import WORLD_MODEL_SCHEMA, hex_of
from timeline.world.presentation import ASSERTION_SCHEMA

FILE_BYTES_MAX: Final = 5 * 1024 * 1024
"""As large as the reference writes it (W64)."""

_NAMESPACE: Final = "legacy"
_HEX: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_ID_CHARACTERS_MAX: Final = 32 + 1 + 191
"""Namespace, colon and name."""

_KINDS: Final[Mapping[object, EvidenceKind]] = {
    "objective-measurement": "objective-measurement",
    "explicit-user-feedback": "explicit-user-feedback",
    "model-suggestion": "model-suggestion",
}


class LegacyRecord(msgspec.Struct, frozen=True):
    """One record of the file: the entry that it becomes, or why it is left out.

    ``id`` is what the file calls it. The entry's own id never is one that a capture or a command here makes.
    """

    id: str
    entry: AssertionEntry | None
    reason: str | None = None


class Target(msgspec.Struct, frozen=True):
    """Where records go: whose they become, and the project for those whose ``projectId`` is among ``named``."""

    tenant: str
    user: str
    project: str
    named: frozenset[str]
    now_ms: int


def read_world_model(content: bytes, target: Target) -> tuple[LegacyRecord, ...]:
    """The records of a file in its order.

    A record that is not one, or holds what the world model never does, is given with the reason and no entry.

    Raises:
        AssertionInvalidError: the file as a whole is none of that format.
    """
    if len(content) > FILE_BYTES_MAX:
        message = f"the file must be at most {FILE_BYTES_MAX} bytes"
        raise AssertionInvalidError(message)
    try:
        found = strict_loads_with_floats(content)
    except SidecarError as error:
        message = f"the file is not strict JSON: {error.rule}"
        raise AssertionInvalidError(message) from error
    if not isinstance(found, dict) or found.get("schema") != WORLD_MODEL_SCHEMA:
        message = f"field schema: must be {WORLD_MODEL_SCHEMA}"
        raise AssertionInvalidError(message)
    records = found.get("assertions")
    if not isinstance(records, list):
        message = "field assertions: must be a list"
        raise AssertionInvalidError(message)
    return tuple(_record(number, record, target) for number, record in enumerate(records))


def _record(number: int, record: object, target: Target) -> LegacyRecord:
    fields: Mapping[str, Any] = record if isinstance(record, dict) else {}
    id_ = fields.get("id")
    is_name = isinstance(id_, str) and len(id_) <= _ID_CHARACTERS_MAX and id_.isprintable()
    name = str(id_) if is_name else f"record {number}"
    try:
        return LegacyRecord(name, _entry(fields, target))
    except WorldError as error:
        return LegacyRecord(name, None, error.reason)


def _entry(fields: Mapping[str, Any], target: Target) -> AssertionEntry:
    if fields.get("schema") != ASSERTION_SCHEMA:
        raise _invalid("schema", f"must be {ASSERTION_SCHEMA}")
    named = fields.get("evidenceKind")
    kind = _KINDS.get(named) if isinstance(named, str) else None
    if kind is None:
        raise _invalid("evidenceKind", "must be one of the three that are imported")
    digest = _text(fields, "evidenceDigest")
    if not _HEX.fullmatch(digest):
        raise _invalid("evidenceDigest", "must be 64 hex digits")
    observed_at, expires_at = _time(fields, "observedAt"), _optional_time(fields, "expiresAt")
    if observed_at > target.now_ms:
        raise _invalid("observedAt", "must not lie in the future")
    supersedes = fields.get("supersedes", [])
    if not isinstance(supersedes, list) or not all(isinstance(one, str) for one in supersedes):
        raise _invalid("supersedes", "must be a list of ids")
    entry = make_entry(
        id=legacy_id(_text(fields, "id")),
        recorder="import",
        subject=_text(fields, "subjectId"),
        predicate=_text(fields, "predicate"),
        value=fields.get("value"),
        evidence=Evidence(kind, _text(fields, "evidenceId"), Digest(bytes.fromhex(digest)), observed_at),
        scope=Scope(
            tenant=target.tenant,
            user=target.user,
            project=_project(fields, target),
            privacy=fields.get("privacy", "private"),
            group=_optional_text(fields, "groupId"),
        ),
        expires_at=expires_at,
        supersedes=tuple(map(legacy_id, supersedes)),
        reason=_optional_text(fields, "reason") or None,
    )
    if fields.get("valueDigest") != hex_of(value_digest(entry.value)):
        raise _invalid("valueDigest", "must be that of the value")
    return entry


def legacy_id(name: str) -> str:
    """The id of an imported record: what is made here begins with ``assertion:``, and must stay free."""
    namespace, _, rest = name.partition(":")
    return f"{_NAMESPACE}:{rest}" if namespace == NAMESPACE else name


def _project(fields: Mapping[str, Any], target: Target) -> str | None:
    """The project that a record is of; another system's names of projects mean nothing here unless the owner says so.

    Raises:
        WorldScopeError: it is of a project that the owner did not name.
    """
    named = _optional_text(fields, "projectId")
    if named is None:
        return None
    if named == target.project or named in target.named:
        return target.project
    message = "field projectId: of a project that was not named"
    raise WorldScopeError(message)


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise _invalid(name, "must be a text")
    return value


def _optional_text(fields: Mapping[str, Any], name: str) -> str | None:
    return None if fields.get(name) is None else _text(fields, name)


def _time(fields: Mapping[str, Any], name: str) -> int:
    try:
        return parse_utc(_text(fields, name))
    except (ValueError, OverflowError) as error:
        raise _invalid(name, "must be an exact UTC time YYYY-MM-DDTHH:MM:SS[.mmm]Z") from error


def _optional_time(fields: Mapping[str, Any], name: str) -> int | None:
    return None if fields.get(name) is None else _time(fields, name)


def _invalid(field: str, rule: str) -> AssertionInvalidError:
    message = f"field {field}: {rule}"
    return AssertionInvalidError(message)
