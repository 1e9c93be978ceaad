"""What else may still name what was forgotten: the daemon's diary, and copies that an interrupted command has left."""

from functools import cache

from timeline.diary import Entry, drop_entries, read_diary
from timeline.errors import StateError
from timeline.forgetting.suppression import Forgotten, Suppression
from timeline.lock import hold_writer_lock
from timeline.paths import Locations
from timeline.workspaces import BACKING_UP, backup_lock, beside, clear, is_trust_due, left_over


def drop_diary_lines(locations: Locations, suppression: Suppression) -> int:
    """Take lines about forgotten sessions and sources out of the diary; how many. What is added meanwhile may be lost.

    Raises:
        StateUnwritableError, UnsafeFileError: it cannot be rewritten.
    """
    named = _Named(suppression)
    return drop_entries(locations.diary, named.is_by) if suppression.digests else 0


def is_in_diary(locations: Locations, suppression: Suppression) -> bool:
    """Whether a line of the diary is about a forgotten session or source.

    Raises:
        UnsafeFileError: it cannot be read.
    """
    named = _Named(suppression)
    return bool(suppression.digests) and any(map(named.is_by, read_diary(locations.diary)))


class _Named:
    """Whether lines name what was forgotten; each name is looked up once."""

    def __init__(self, suppression: Suppression) -> None:
        self._holds = cache(suppression.holds)

    def is_by(self, entry: Entry) -> bool:
        host, session, source = (entry.fields.get(name) for name in ("host", "session", "source"))
        return (
            isinstance(host, str)
            and isinstance(session, str)
            and self._holds(Forgotten.SESSION, host, session)
        ) or (isinstance(source, str) and self._holds(Forgotten.SOURCE, source))


def drop_copies(locations: Locations) -> int:
    """Remove the folders that an interrupted backup, restore or fork has left; how many.

    The caller holds the writer lock.

    Raises:
        StateBusyError: a backup is being made.
        StateUnwritableError, UnsafeFileError: one cannot be removed.
    """
    found = [one for one in left_over(locations) if not is_trust_due(one)]
    for one in found:
        if one == beside(locations, BACKING_UP):
            with hold_writer_lock(backup_lock(locations), wait_seconds=0):
                clear(one)
        else:
            clear(one)
    return len(found)


def are_copies_left(locations: Locations) -> bool:
    """Whether such folders are there.

    Raises:
        UnsafeFileError: it cannot be seen.
    """
    try:
        return any(not is_trust_due(one) for one in left_over(locations))
    except StateError:
        return True
