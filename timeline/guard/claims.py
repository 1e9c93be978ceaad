"""What a tool's arguments claim of scope, in any spelling; nothing in it is believed. Pure.

A claim must be absent or equal to what the session has (``request.check_claims``); a group and a proof are never
taken.
"""

from collections.abc import Mapping
from typing import Final

from timeline.binding import SCOPE_FIELD, folded, is_group
from timeline.guard.errors import (
    GroupSuppressedError,
    RequestError,
    ScopeClaimError,
    ScopeConflictError,
    SmuggledFieldError,
)
from timeline.limits import PATH_BYTES_MAX

_SPELLINGS: Final[Mapping[str, str]] = {
    "root": "root",
    "sessionId": "session_id",
    "host": "host",
    "entityId": "entity_id",
    "userId": "user_id",
    "tenantId": "tenant_id",
    "projectId": "project_id",
    "taskId": "task_id",
    "goalId": "goal_id",
    "goalStepId": "goal_step_id",
    "portalRef": "portal_ref",
    "threadRef": "thread_ref",
    "timelineVisibility": "timeline_visibility",
    "enrollmentDigest": "enrollment_digest",
}
_CLAIM_OF: Final[Mapping[str, str]] = {
    spelling: name for name, other in _SPELLINGS.items() for spelling in (name, other)
}

# By their folded names: another spelling of a proof is one all the same.
_PROOFS: Final = frozenset({"accessproof", "invocationpermit", "transportdigest"})


def is_claim(name: str) -> bool:
    """Whether a field of this name is one spelling of a scope field."""
    return name in _CLAIM_OF


def is_scope(name: str) -> bool:
    """Whether a field is about scope: a claim, the object of claims, or a group."""
    return name in _CLAIM_OF or name == SCOPE_FIELD or is_group(name)


def refuse_foreign(arguments: Mapping[str, object]) -> None:
    """No group and no proof, flat or nested, in any spelling. A group that is null is none.

    Raises:
        GroupSuppressedError, SmuggledFieldError: there is one.
    """
    nested = arguments.get(SCOPE_FIELD)
    for scope in (arguments, nested if isinstance(nested, Mapping) else {}):
        for name, value in scope.items():
            if is_group(str(name)) and value is not None:
                message = "the arguments name a group"
                raise GroupSuppressedError(message)
            if folded(str(name)) in _PROOFS:
                message = "the arguments hold a field that only the guard makes"
                raise SmuggledFieldError(message)


def known_claims(nested: object) -> object:
    """The nested scope as a hook keeps it: only what is a claim; what is no object stays, and is refused later."""
    if not isinstance(nested, Mapping):
        return nested
    return {name: value for name, value in nested.items() if name in _CLAIM_OF}


def read_claims(arguments: Mapping[str, object]) -> dict[str, str | None]:
    """Every claim by its camel-case name.

    Raises:
        ScopeClaimError: one is not of its form; ``ScopeConflictError`` where two spellings of one differ.
        RequestError: the nested scope holds something else.
    """
    nested = arguments.get(SCOPE_FIELD)
    if nested is not None and not isinstance(nested, Mapping):
        message = f"field {SCOPE_FIELD}: must be an object"
        raise ScopeClaimError(message)
    claims: dict[str, str | None] = {}
    for scope, only_claims in ((arguments, False), (nested or {}, True)):
        for name, value in scope.items():
            claim = _CLAIM_OF.get(name)
            if claim is None:
                if only_claims and not is_group(name):
                    message = f"field {SCOPE_FIELD}: holds a field that is unknown"
                    raise RequestError(message)
                continue
            if value is not None and not (isinstance(value, str) and 0 < len(value) <= PATH_BYTES_MAX):
                message = f"scope field {claim}: must be a text"
                raise ScopeClaimError(message)
            if claims.setdefault(claim, value) != value:
                message = f"scope field {claim}: two spellings differ"
                raise ScopeConflictError(message)
    return claims
