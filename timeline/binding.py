"""Who and what a session belongs to: a complete binding, or none.

Scope comes from the host's hook input, the environment and the owner's configuration, never from a model or a
tool argument (T8). A field that is missing, partial or of another form makes no binding at all.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from timeline.errors import ScopeError
from timeline.hosts import HOSTS

if TYPE_CHECKING:
    from sidecars.leaf import EnrollmentBinding

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9:_.@/-]{0,127}", re.ASCII)
_PROJECT_CHARACTERS_MAX = 4096

SCOPE_FIELD: Final = "agent_spine_scope"
"""Where a hook's input or a tool's arguments may hold scope fields, besides at their top."""

_GROUP_NAMES: Final = frozenset({"group", "groups", "groupid", "groupids", "groupref", "groupscope"})


class Route(msgspec.Struct, frozen=True):
    """The portal and thread of a session; both or neither."""

    portal: str
    thread: str


class Binding(msgspec.Struct, frozen=True):
    """What a receipt, an enrollment and everything recalled under it are bound to (T7).

    ``project`` is the canonical path of the project root. Two bindings cover the same things only when all
    fields are equal.
    """

    host: str
    session: str
    user: str
    tenant: str
    project: str
    task: str
    goal: str | None = None
    route: Route | None = None

    def __post_init__(self) -> None:
        """Refuse what is not complete.

        Raises:
            ScopeError: a field is missing or not of its form.
        """
        if self.host not in HOSTS:
            raise _refused("host", "must be a reviewed host")
        for name in ("session", "user", "tenant", "task"):
            _check_id(name, getattr(self, name))
        if self.goal is not None:
            _check_id("goal", self.goal)
        if self.route is not None:
            _check_id("portal", self.route.portal)
            _check_id("thread", self.route.thread)
        if not self.project.startswith("/") or len(self.project) > _PROJECT_CHARACTERS_MAX:
            raise _refused("project", "must be an absolute path")
        if any(ord(character) < 0x20 for character in self.project):
            raise _refused("project", "must hold no control characters")

    def scope(self) -> tuple[str | None, ...]:
        """All that must be equal between two sessions of one private task: everything but host and session."""
        route = (None, None) if self.route is None else (self.route.portal, self.route.thread)
        return (self.user, self.tenant, self.project, self.task, self.goal, *route)


def is_scope_id(value: str) -> bool:
    """Whether a text can name a session, user, tenant or task."""
    return _ID.fullmatch(value) is not None


def folded(name: str) -> str:
    """A field's name without case, hyphens and underscores: another spelling of a group is a group all the same."""
    return name.replace("_", "").replace("-", "").casefold()


def is_group(name: str) -> bool:
    """Whether a field of this name claims a group, in any spelling."""
    return folded(name) in _GROUP_NAMES


def names_group(found: Mapping[str, object]) -> bool:
    """Whether an object claims a group, at its top or in its scope, whatever the value is (T8)."""
    nested = found.get(SCOPE_FIELD)
    return any(is_group(name) for scope in (found, nested) if isinstance(scope, Mapping) for name in scope)


def _check_id(name: str, value: str) -> None:
    if not is_scope_id(value):
        raise _refused(name, "must be 1 to 128 letters, digits or : _ . @ / -")


def _refused(field: str, rule: str) -> ScopeError:
    message = f"scope field {field}: {rule}"
    return ScopeError(message)


def binding_of(wire: "EnrollmentBinding") -> Binding:
    """The binding that a receipt or leaf spells.

    Raises:
        ScopeError: it is not complete.
    """
    route = None
    if wire.portal is not None and wire.thread is not None:
        route = Route(wire.portal, wire.thread)
    return Binding(wire.host, wire.session, wire.user, wire.tenant, wire.project, wire.task, wire.goal, route)


def session_ref_of(wire: "EnrollmentBinding") -> str:
    """The opaque reference of a session in its scope."""
    names = ("host", "user", "tenant", "project", "task", "goal", "portal", "thread", "session")
    parts = [f"{name}:{getattr(wire, name) or ''}" for name in names]
    return "session-ref:" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
