"""What may leave the resolver: one view of each resolution (P31, P40). Values only, and no way back.

Whoever renders or releases works on these values. They hold no head, no decision witness, no flag and no hidden
material, and this module imports nothing that does.
"""

from enum import StrEnum

import msgspec

from timeline.reasoning.proposition import Proposition
from timeline.reasoning.roles import Role


class Standing(StrEnum):
    """How a question stands for its reader."""

    SUPPORTED = "supported"
    CONFLICTED = "conflicted"
    STALE = "stale"
    UNAVAILABLE = "unavailable"
    UNRECORDED = "unrecorded"
    """Nothing is recorded that this reader may be told of; never that it is false (P7, P32)."""


class Source(msgspec.Struct, frozen=True):
    """To what a content is attributed: one premise that the reader may see; ``observed_at`` in UTC milliseconds."""

    id: str
    role: Role
    observed_at: int


class Content(msgspec.Struct, frozen=True):
    """What may be asserted, and on whose word."""

    proposition: Proposition
    sources: tuple[Source, ...]


class View(msgspec.Struct, frozen=True):
    """A resolution as its reader may know it.

    A supported one has the contents that may be asserted, a conflicted one those that contradict each other, of which
    none may be; no other has any.
    """

    standing: Standing
    contents: tuple[Content, ...] = ()
