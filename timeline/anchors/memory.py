"""What is remembered of each external anchor's confirmations: one file for each below the trust folder.

A file holds the time of the confirmation and the note that was confirmed, with the anchor's own signature where it
signs (a witness). It tells a later run from which size to prove, shows that an anchor has forgotten what it had
confirmed, and carries the cosignatures that a proof shows. A missing or damaged file is no fresh start: the anchor has
to be asked, and until it confirms, nothing of it counts.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from sidecars.checkpoint import Checkpoint, open_checkpoint
from sidecars.cosignature import WitnessVerifier, open_cosignatures
from sidecars.errors import SidecarError
from sidecars.keys import Verifier
from sidecars.leaf import AnchorEntry
from timeline.anchors.rules import Memory
from timeline.errors import StateIncompleteError
from timeline.files import is_there, make_directory, read_private, remove_private, write_unsynced
from timeline.limits import NOTE_BYTES_MAX
from timeline.paths import Locations

_HEADER: Final = b"timeline-anchor-memory/v1\nconfirmed "
_TIME = re.compile(rb"(0|[1-9][0-9]{0,11})\n\n")
_SIZE = re.compile(rb"timeline-anchor-memory/v1\nconfirmed [0-9]+\n\n[^\n]*\n([0-9]{1,18})\n")
_SECONDS_MAX: Final = 253_402_300_799
"""The end of year 9999: no time that is shown lies after it."""


class Remembered(msgspec.Struct, frozen=True):
    """A confirmation as it was stored: the checkpoint, when, and the note."""

    checkpoint: Checkpoint
    at: int
    note: bytes

    @property
    def memory(self) -> Memory:
        """Size and time."""
        return Memory(self.checkpoint.size, self.at)


def read_memory(
    locations: Locations, entry: AnchorEntry, origin: str, verifiers: Sequence[Verifier]
) -> Remembered | None:
    """What is remembered of an anchor; ``None`` where nothing is, or nothing that its signatures vouch for.

    Raises:
        UnsafeFileError: the file is not private.
    """
    path = memory_path(locations, entry.name)
    if not is_there(path):
        return None
    content = read_private(path, size_max=NOTE_BYTES_MAX)
    time = _TIME.match(content, len(_HEADER)) if content.startswith(_HEADER) else None
    if time is None:
        return None
    note, at = content[time.end() :], int(time.group(1))
    if at > _SECONDS_MAX:
        return None
    try:
        checkpoint = open_checkpoint(note, origin, verifiers).checkpoint
        cosigned = [] if entry.key is None else open_cosignatures(note, [WitnessVerifier.parse(entry.key)])
    except SidecarError:
        return None
    if entry.key is not None and [found.at for found in cosigned] != [at]:
        return None
    return Remembered(checkpoint, at, note)


def stated_size(locations: Locations, name: str) -> int:
    """The size that a file states, unverified; 0 where none does. For looking whether a closer look is needed.

    Raises:
        UnsafeFileError: the file is not private.
    """
    path = memory_path(locations, name)
    try:
        found = _SIZE.match(read_private(path, size_max=NOTE_BYTES_MAX))
    except StateIncompleteError:
        return 0
    return 0 if found is None else int(found.group(1))


def write_memory(locations: Locations, name: str, remembered: Remembered) -> None:
    """Store a confirmation in place of the one before.

    Not synced: what a power failure takes is asked for again, and a commit waits for one sync less.

    Raises:
        StateUnwritableError: it cannot be written.
    """
    path = memory_path(locations, name)
    if not is_there(path.parent):
        make_directory(path.parent)
    write_unsynced(path, b"%b%d\n\n%b" % (_HEADER, remembered.at, remembered.note))


def forget_memory(locations: Locations, name: str) -> None:
    """Remove what is remembered of an anchor that is not required any more.

    Raises:
        StateUnwritableError: it cannot be removed.
    """
    path = memory_path(locations, name)
    if is_there(path):
        remove_private(path)


def memory_path(locations: Locations, name: str) -> Path:
    """Where it is remembered."""
    return locations.memories / name
