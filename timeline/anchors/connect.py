"""From an anchor's entry in the policy to the anchor itself; each kind is loaded only where it is used."""

from pathlib import Path

from sidecars.leaf import AnchorEntry
from timeline.anchors.errors import AnchorAddressError
from timeline.anchors.port import MonotonicAnchor
from timeline.clock import Clock, Stopwatch


def connect(entry: AnchorEntry, clock: Clock, stopwatch: Stopwatch) -> MonotonicAnchor:
    """The anchor that ``entry`` names; nothing is asked yet.

    Raises:
        AnchorAddressError, WitnessAddressError: its address is not one of its kind.
        PostgresUnavailableError: the extra for PostgreSQL is not installed.
    """
    match entry.type:
        case "witness":
            from timeline.anchors.witnessed import witness_anchor

            return witness_anchor(entry.address, entry.key or "", clock, stopwatch)
        case "postgres":
            from timeline.anchors.postgres import postgres_anchor

            return postgres_anchor(entry.address, clock)
        case "file":
            from timeline.anchors.filed import FileAnchor

            path = Path(entry.address)
            if not path.is_absolute():
                message = "a file anchor's path must be absolute"
                raise AnchorAddressError(message)
            return FileAnchor(path, clock)
