"""What a timeline needs from outside: time, randomness, external anchors, and (in tests) an eye on its commits."""

from typing import TYPE_CHECKING

import msgspec

from sidecars.leaf import AnchorEntry
from timeline.clock import Clock, Entropy, Stopwatch, SystemStopwatch
from timeline.rewriting import Watch, unwatched
from timeline.sealing import Unlock, stay_locked
from timeline.tlog import Probe, no_probe

if TYPE_CHECKING:
    from timeline.anchors.port import Connect, MonotonicAnchor


def connect_anchor(entry: AnchorEntry, clock: Clock, stopwatch: Stopwatch) -> "MonotonicAnchor":
    """The external anchor that ``entry`` names; loaded only where one is required.

    Raises:
        TimelineError: it cannot be asked from here.
    """
    from timeline.anchors.connect import connect

    return connect(entry, clock, stopwatch)


class Ports(msgspec.Struct, frozen=True):
    """What comes from outside: time, randomness, external anchors, and (in tests) an eye on the steps of a commit.

    ``unlock`` gives the signatures of an owner key that is locked; as a rule nobody does. ``erasing`` is for tests too:
    an eye on the steps of an erasure.
    """

    clock: Clock
    entropy: Entropy
    probe: Probe = no_probe
    stopwatch: Stopwatch = msgspec.field(default_factory=SystemStopwatch)
    connect: "Connect" = connect_anchor
    unlock: Unlock = stay_locked
    erasing: Watch = unwatched
