"""Which files of a timeline stand, and what ``timeline init`` may make of them. The decision is pure.

``init`` writes in this order, each file whole and durable before the next: keys; what will be the pins; anchor and
head of the empty tree; the database; the pin of external anchors; then it fixes the pins, and only then commits the
first batch. So, while no pins stand, nothing was ever recorded and ``init`` may complete what it finds. Once they
stand, every file stood: a missing one was lost, and is never a fresh start.
"""

from enum import StrEnum

import msgspec

from timeline.files import is_there
from timeline.keystore import key_files
from timeline.paths import Locations


class Remains(msgspec.Struct, frozen=True):
    """What stands, whatever is in it; ``keys`` are all keys, ``begun`` is what will be the pins."""

    sidecars: bool
    keys: bool
    begun: bool
    anchor: bool
    head: bool
    database: bool
    pins: bool


class Stage(StrEnum):
    """How far a timeline has come."""

    UNPINNED = "unpinned"
    """``init`` has not begun, or was interrupted before the pins: it may go on."""

    PINNED = "pinned"
    """Every file stands; what is in them says the rest."""

    LOST = "lost"
    """No interruption leaves it so: something was taken away or put there."""


def find_remains(locations: Locations) -> Remains:
    """Look which files stand."""
    return Remains(
        sidecars=is_there(locations.sidecars),
        keys=all(is_there(path) for path in key_files(locations)),
        begun=is_there(locations.begun),
        anchor=is_there(locations.anchor),
        head=is_there(locations.head),
        database=is_there(locations.database),
        pins=is_there(locations.pins),
    )


def decide_stage(found: Remains) -> Stage:
    """What the standing files mean, by the order in which ``init`` writes them."""
    if found.pins:
        whole = found.sidecars and found.keys and found.anchor and found.head and found.database
        return Stage.PINNED if whole else Stage.LOST
    steps = (found.keys, found.begun, found.anchor, found.head, found.database)
    written = steps.index(False) if False in steps else len(steps)
    return Stage.LOST if any(steps[written:]) else Stage.UNPINNED
