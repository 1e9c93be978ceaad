"""What a resolution comes to: a status, flags, the premises that may be released, and a decision witness (P22).

They are made by ``resolution``; the witness is bound and checked by ``witness``.
"""

from enum import StrEnum
from typing import Literal

import msgspec

from timeline.reasoning.graph import Access, Head, Scope, Unavailability, Vertex


class Status(StrEnum):
    """Whether there is support; none of the three says whether anything is true (P7)."""

    SUPPORTED = "supported"
    UNKNOWN = "unknown"
    UNAVAILABLE = "unavailable"


class Flag(StrEnum):
    """What else is to be said of a status."""

    CONFLICTED = "conflicted"
    WITHHELD = "withheld"
    STALE = "stale"


class Version(msgspec.Struct, frozen=True):
    """One exact version of a vertex."""

    id: str
    version: str


class Ground(msgspec.Struct, frozen=True):
    """A premise, and one set of roots on which it stands: sorted ids, disjoint from those of its other grounds."""

    premise: Version
    roots: tuple[str, ...]


class Dispute(msgspec.Struct, frozen=True):
    """Current versions that cannot all be right: of different values, or inscribed as contradictory (P35)."""

    relation: Literal["different-values", "inscribed"]
    versions: tuple[Version, ...]


class Untimely(msgspec.Struct, frozen=True):
    """A version that would be needed and does not hold at the moment, with its interval."""

    version: Version
    start: int | None
    end: int | None


class Missing(msgspec.Struct, frozen=True):
    """A marker in the place of something that would be needed, and the version that depends on it."""

    marker: str
    cause: Unavailability
    commitment: str
    dependant: Version


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision rests on, for an audit and for nothing else (P26 to P29).

    It is bound to a head, to the digests of query and policy, to the moment ``at`` (UTC milliseconds) by which validity
    was decided (start <= at < end), and to who asked. Whoever is within ``scope`` may open it. Each of the other fields
    is there exactly as far as the status or flag of its name obliges it; ``withheld`` has commitments alone.
    """

    head: Head
    query: str
    policy: str
    at: int
    access: Access
    scope: Scope = Scope()
    supported: tuple[Ground, ...] = ()
    conflicted: tuple[Dispute, ...] = ()
    stale: tuple[Untimely, ...] = ()
    withheld: tuple[str, ...] = ()
    unavailable: tuple[Missing, ...] = ()


class Decision(msgspec.Struct, frozen=True):
    """The result of a resolution; only a member of ``premises`` can ever be released."""

    status: Status
    flags: frozenset[Flag]
    premises: tuple[Vertex, ...]
    witness: Witness | None
