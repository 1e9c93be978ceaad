"""One thing that was looked at: how it stands, in words, and the command that mends it. Values only."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec


class Level(StrEnum):
    """How much a finding matters. Only the last two ask for something to be done."""

    FINE = "fine"
    NOTE = "note"
    """Not as good as it could be, or not known."""

    WARNING = "warning"
    """Something is missing or has ended; the rest works."""

    ERROR = "error"
    """Something does not work, or is not safe."""


class Finding(msgspec.Struct, frozen=True):
    """``about`` names what was looked at: a host, a folder, a source. ``code`` is interface; ``message`` is not.

    ``remedy`` is a command, or words where none mends it; empty where nothing has to be done.
    """

    level: Level
    code: str
    about: str
    message: str
    remedy: str = ""


def worst_of(findings: Iterable[Finding]) -> Level:
    """The gravest level; fine where nothing was found."""
    order = tuple(Level)
    return max((finding.level for finding in findings), key=order.index, default=Level.FINE)
