"""The provenance graph at one head: vertices, what they depend on, and what became of them (P1, P2, P8, P9). Values.

What follows from it is decided in ``admission``, ``roots`` and ``resolution``.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from timeline.reasoning.proposition import Proposition
from timeline.reasoning.roles import OriginClass, Role

Unavailability = Literal["erased", "sealed", "lost", "unsupported-adapter"]


class Scope(msgspec.Struct, frozen=True):
    """For whom, for what purpose and for which tasks a vertex may be used; ``None`` means for all (P8, P33)."""

    principals: frozenset[str] | None = None
    purposes: frozenset[str] | None = None
    tasks: frozenset[str] | None = None

    def allows(self, access: "Access") -> bool:
        """Whether this asker, purpose and task are within the scope."""
        return (
            _admits(self.principals, access.principal)
            and _admits(self.purposes, access.purpose)
            and _admits(self.tasks, access.task)
        )

    def common(self, other: "Scope") -> "Scope":
        """What both scopes allow."""
        return Scope(
            _common(self.principals, other.principals),
            _common(self.purposes, other.purposes),
            _common(self.tasks, other.tasks),
        )

    def within(self, other: "Scope") -> bool:
        """Whether this scope allows nothing that the other does not (P33)."""
        return self.common(other) == self


class Access(msgspec.Struct, frozen=True):
    """Who asks, for what purpose, in which task; a missing purpose or task matches only a scope that is for all."""

    principal: str
    purpose: str | None = None
    task: str | None = None


def _admits(allowed: frozenset[str] | None, asked: str | None) -> bool:
    return allowed is None or asked in allowed


def _common(mine: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    if mine is None or other is None:
        return other if mine is None else mine
    return mine & other


class Origin(msgspec.Struct, frozen=True):
    """Where a root came from. ``fields`` are what its class has to bring (P45), filled by the recording path only (M2).

    ``checked`` are the names of those fields that the recording path has verified itself.
    """

    origin: OriginClass
    fields: Mapping[str, str] = {}
    checked: frozenset[str] = frozenset()


class Derivation(msgspec.Struct, frozen=True):
    """How a vertex follows from others (P9, P13): the rule, the policy's version, and the evaluator that ran.

    ``alternatives`` are families of dependency ids; the members of one suffice together. ``bindings`` are what the rule
    has to name besides (P46, ``promotion``).
    """

    rule: str
    policy: int
    evaluator: str
    alternatives: tuple[frozenset[str], ...]
    bindings: Mapping[str, str] = {}


class Vertex(msgspec.Struct, frozen=True):
    """One immutable epistemic object. ``version`` is the digest of exactly this content.

    It holds from ``start`` to before ``end`` (UTC milliseconds, ``None`` without a bound). A root has an ``origin``,
    any other a ``derivation``. ``observed_at`` orders; ``root`` is the id on which a root's independence is counted, by
    default its own: what was seen in one session is one witness (P11, G21).
    """

    id: str
    version: str
    role: Role
    proposition: Proposition | None
    observed_at: int
    start: int | None = None
    end: int | None = None
    scope: Scope = Scope()
    origin: Origin | None = None
    derivation: Derivation | None = None
    root: str | None = None

    @property
    def root_id(self) -> str:
        """The id that stands for this root in root sets."""
        return self.id if self.root is None else self.root

    def holds_at(self, moment: int) -> bool:
        """Whether its own interval contains the moment; those of what it is derived from are not asked here."""
        return (self.start is None or self.start <= moment) and (self.end is None or moment < self.end)


class Marker(msgspec.Struct, frozen=True):
    """An authenticated statement that a dependency is gone (P2): it has no role and no proposition."""

    id: str
    cause: Unavailability
    commitment: str


class Head(msgspec.Struct, frozen=True):
    """The accepted head that a graph belongs to: size and root of the log."""

    size: int
    root: str


class Graph(msgspec.Struct, frozen=True):
    """Everything that is admitted at one head.

    ``superseded`` are ids that another claim has replaced, whoever may see that one: decided over the whole ledger.
    ``revoked`` are ids of vertices or roots that were revoked (P34). ``inscribed`` are pairs of ids that somebody has
    declared to contradict each other (P35), each pair sorted.
    """

    head: Head
    vertices: Mapping[str, Vertex]
    markers: Mapping[str, Marker] = {}
    superseded: frozenset[str] = frozenset()
    revoked: frozenset[str] = frozenset()
    inscribed: frozenset[tuple[str, str]] = frozenset()
