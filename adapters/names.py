"""Names that are counted: those of tools and record types are text from a file, so shape and number are bounded."""

import re
from typing import Final

from adapters.base import add_to

MAX_NAMES: Final = 16
"""Most different names of tools, and of unknown types, that are counted apart; the rest share ``OTHER``."""

MAX_STATEMENTS: Final = 32
"""Most different exit codes, and statements of reports, that are counted apart; the rest share ``OTHER``."""

OTHER: Final = "other"
"""The name of whatever has no name that is kept."""

_CLEAN_NAME = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_./-]{0,46}[A-Za-z0-9_])?")


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


def count_bounded(counts: dict[str, int], name: str) -> None:
    """Count ``name``, which this program made of numbers and its own words."""
    add_to(counts, name if name in counts or len(counts) < MAX_STATEMENTS else OTHER)
