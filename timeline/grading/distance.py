"""How far a source stood from what it reports, as a factor (D). Pure.

``D = base * rate^(hops - 1)``, both by the type of the source: what a biographer cites decays more slowly with each
hand that it goes through than what is told in a bar (G8). Hops and type are what is stored; D is computed from them.
"""

from typing import Final, NamedTuple

from sidecars.graded import HOPS_MAX, MILLION, ClaimSource, SourceType

TABLES_VERSION: Final = 1
"""Of the table below and of every other constant that a grade depends on; each change is a new version."""


class Decay(NamedTuple):
    """Distance with one hop, and what each further hop leaves of it; in millionths."""

    base: int
    rate: int


DECAYS: Final[dict[SourceType, Decay]] = {
    "self": Decay(1_000_000, 1_000_000),
    "observed": Decay(900_000, 900_000),
    "cited": Decay(800_000, 950_000),
    "secondhand": Decay(800_000, 800_000),
    "hearsay": Decay(640_000, 600_000),
    "unstated": Decay(1_000_000, 1_000_000),
    "unknown": Decay(500_000, 500_000),
}
"""Version 1. The first values of ``self``, ``observed`` and ``secondhand`` are the ones that were proposed with the
design; ``hearsay`` begins where second-hand of second-hand would be; ``unstated`` is what older facts are filled up
with (G26) and is told as unknown beside its 1.0."""

UNKNOWN_DISTANCES: Final = frozenset({"unstated", "unknown"})
"""Types whose distance is a stand-in for one that nobody has recorded."""


_RETOLD: Final[dict[SourceType, SourceType]] = {
    "self": "secondhand",
    "observed": "secondhand",
    "unstated": "unknown",
}
"""What a source becomes once somebody else tells it; the other types stay what they are, one hop further."""


def retell(source: ClaimSource, entity: str, session: str | None) -> ClaimSource:
    """The source of a claim that ``entity`` has from ``source`` and tells again, as an agent does that stores a recall.

    It keeps the root, and so remains one voice with it; without one it has none (M6, M7). Nobody has verified it.
    """
    return ClaimSource(
        entity=entity,
        source_type=_RETOLD.get(source.source_type, source.source_type),
        hops=min(source.hops + 1, HOPS_MAX),
        session=session,
        root=source.root,
    )


def decide_distance(source: ClaimSource) -> int:
    """D of a source in millionths, rounded down."""
    decay = DECAYS[source.source_type]
    further = max(source.hops - 1, 0)
    left: int = decay.base * decay.rate**further
    return left // int(MILLION**further)
