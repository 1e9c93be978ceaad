"""Folders beside a timeline's own, in which a backup, a restore or a fork is made; each is gone when that is done.

The state's folder is made first and removed last, so that a trust folder alone is left by exactly one interruption:
that between the two renames which put a backup in place. Whoever is killed in between leaves the folders: the next of
its kind clears them, and so does a forgetting.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from timeline.errors import StateUnwritableError
from timeline.files import check_directory, is_there, make_directory, overwrite_private
from timeline.paths import Locations

BACKING_UP: Final = "backing-up"
RESTORING: Final = "restoring"
FORKING: Final = "forking"


def beside(locations: Locations, suffix: str) -> Locations:
    """Folders of the same kind beside these, on the same file systems."""
    folders = (locations.state, locations.trust, locations.config, locations.runtime)
    return Locations(*(folder.with_name(f"{folder.name}.{suffix}") for folder in folders))


def beside_for_restoring(locations: Locations) -> Locations:
    """Where a backup is unpacked before it is put in place."""
    return beside(locations, RESTORING)


def backup_lock(locations: Locations) -> Path:
    """What is held while a backup is made; for the others it is the writer lock."""
    return locations.runtime / "backup.lock"


@contextmanager
def workspace(staged: Locations) -> Iterator[None]:
    """Make the folders anew, and remove what is left of them when the block ends.

    A trust folder whose state was put in place just now stays: ``placing.finish_interrupted`` goes on from there.

    Raises:
        StateUnwritableError, UnsafeFileError: they cannot be made or removed.
    """
    clear(staged)
    try:
        for folder in (staged.state, staged.sidecars, staged.trust, staged.keys, staged.config):
            make_directory(folder)
        yield
    finally:
        if not is_trust_due(staged):
            clear(staged)


def clear(staged: Locations) -> None:
    """Remove the folders, the state's last.

    Raises:
        StateUnwritableError, UnsafeFileError: one cannot be removed.
    """
    for folder in (staged.runtime, staged.config, staged.trust, staged.state):
        clear_folder(folder)


def clear_folder(folder: Path) -> None:
    """Remove a folder, if it is there; zeros are put over private keys first.

    Raises:
        UnsafeFileError: it is a link, or not ours: what lies behind it may be somebody's keys in use.
        StateUnwritableError: it cannot be removed.
    """
    if not is_there(folder):
        return
    check_directory(folder)
    if is_there(folder / "keys"):
        check_directory(folder / "keys")
        for key in sorted((folder / "keys").iterdir()):
            overwrite_private(key)
    try:
        shutil.rmtree(folder)
    except OSError as error:
        message = f"{folder}: cannot be removed"
        raise StateUnwritableError(message) from error


def is_trust_due(staged: Locations) -> bool:
    """Whether the state was put in place and the trust folder was not."""
    return is_there(staged.pins) and not is_there(staged.state)


def left_over(locations: Locations) -> tuple[Locations, ...]:
    """The folders of all three kinds beside a timeline, those that are there."""
    found = (beside(locations, suffix) for suffix in (BACKING_UP, RESTORING, FORKING))
    return tuple(one for one in found if any(map(is_there, (one.state, one.trust, one.config, one.runtime))))
