"""What a reader knows between two lines. The handlers of ``records`` change it; nothing else does."""

import re
from typing import Final

import msgspec

from adapters.base import Tallies, add_to
from adapters.claude.ledger import Ledger
from adapters.claude.origin import Origin
from adapters.objective.reviewed import ReviewedCommands

MAX_NAMES: Final = 16
"""Most different names of tools, and of unknown types, that are counted apart; the rest share ``OTHER``."""

OTHER: Final = "other"
"""The name of whatever has no name that is kept."""

_CLEAN_NAME = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_./-]{0,46}[A-Za-z0-9_])?")


class State(msgspec.Struct):
    """The counts, the calls, whose history it is, and whether anything stood where prompts stand."""

    tallies: Tallies
    ledger: Ledger
    origin: Origin
    asked: bool = False
    reviewed: ReviewedCommands = msgspec.field(default_factory=ReviewedCommands)


def clean_name(name: str) -> str:
    """Return ``name`` if it is shaped like a name, else ``OTHER``: a type is text from the file."""
    return name if _CLEAN_NAME.fullmatch(name) else OTHER


def count_name(counts: dict[str, int], name: str) -> str:
    """Count ``name`` as itself or, once there are too many names, as ``OTHER``; return which."""
    kept = clean_name(name)
    if kept not in counts and len(counts) >= MAX_NAMES:
        kept = OTHER
    add_to(counts, kept)
    return kept
