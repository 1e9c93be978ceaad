"""What was unpacked and checked is put in place, where nothing stands.

Putting in place is two renames: first the state, then the trust folder. A state without trust is refused by every
command, ``init`` included, and shows the next restore that only the second rename is missing.
"""

from pathlib import Path
from typing import Final

from timeline.anchors.errors import AnchorPinError
from timeline.anchors.pin import read_pin
from timeline.errors import StateExistsError
from timeline.files import (
    is_there,
    make_directory,
    read_private,
    rename_private,
    sync_directory,
    write_atomic,
)
from timeline.keystore import read_pins
from timeline.limits import CONFIG_BYTES_MAX, KEY_BYTES_MAX
from timeline.paths import Locations
from timeline.workspaces import beside_for_restoring, clear, clear_folder, is_trust_due

_MOVE_HINT: Final = (
    "a timeline is never written over: move its folders away, or point TIMELINE_STATE_DIR, TIMELINE_TRUST_DIR and "
    "TIMELINE_CONFIG_DIR elsewhere; where the trust folder alone is lost, `timeline restore FILE --trust-only`"
)
_NO_POLICY: Final = b"\npolicy none\n"
"""How the pin of a log without external anchors ends."""


def is_free(folder: Path) -> bool:
    """Whether nothing stands at the place of a folder, or an empty one; where one cannot look, something does."""
    if not is_there(folder):
        return True
    try:
        return not folder.is_symlink() and not any(folder.iterdir())
    except OSError:
        return False


def check_free(locations: Locations, *, state: bool, trust: bool) -> None:
    """Return only if nothing stands where something is to be put.

    Raises:
        StateExistsError: something does.
    """
    for wanted, folder in ((state, locations.state), (trust, locations.trust)):
        if wanted and not is_free(folder):
            message = f"{folder}: something stands there already"
            raise StateExistsError(message, hint=_MOVE_HINT)


def check_same_log(locations: Locations, origin: str) -> None:
    """Return only if the trust folder that stands is of the log ``origin``.

    Raises:
        StateExistsError: it is of another log.
        StateError: it cannot be read.
    """
    if read_pins(locations).origin != origin:
        message = f"{locations.trust}: of another log than the backup"
        raise StateExistsError(message, hint=_MOVE_HINT)


def check_unpinned(locations: Locations) -> None:
    """Return only if the configuration pins no external anchors of any log.

    Raises:
        StateExistsError: it does: a log that must be confirmed by them stood here, and shall not be forgotten.
        StateError: it cannot be read.
    """
    path = locations.anchor_pin
    if is_there(path) and not read_private(path, size_max=KEY_BYTES_MAX).endswith(_NO_POLICY):
        message = f"{path}: pins the external anchors of another log"
        raise StateExistsError(message, hint=_MOVE_HINT)


def has_pin_of(locations: Locations, origin: str) -> bool:
    """Whether the configuration pins the external anchors of this log; a pin that names none of any log counts not.

    Raises:
        StateExistsError: it pins those of another log.
        StateError: it cannot be read.
    """
    path = locations.anchor_pin
    if not is_there(path):
        return False
    try:
        read_pin(path, origin)
    except AnchorPinError:
        check_unpinned(locations)
        return False
    return True


def place(staged: Locations, locations: Locations, *, with_trust: bool, with_pin: bool) -> None:
    """Put what was checked in place; a configuration that stands is kept.

    ``with_trust`` and ``with_pin``: the trust folder and the pin of external anchors are new too.

    Raises:
        StateExistsError: something stands there now.
        StateUnwritableError: it cannot be put there; the next restore goes on from there, or begins anew.
    """
    for folder in (locations.state, *([locations.trust] if with_trust else [])):
        if not is_free(folder):
            message = f"{folder}: not empty"
            raise StateExistsError(message)
    make_directory(locations.config)
    if is_there(staged.settings) and not is_there(locations.settings):
        write_atomic(locations.settings, read_private(staged.settings, size_max=CONFIG_BYTES_MAX))
    if with_pin:
        write_atomic(locations.anchor_pin, read_private(staged.anchor_pin, size_max=KEY_BYTES_MAX))
    for folder in (staged.sidecars, staged.state, staged.keys, staged.memories, staged.trust):
        if is_there(folder):
            sync_directory(folder)
    if not with_trust:
        clear_folder(staged.trust)
    rename_private(staged.state, locations.state)
    if with_trust:
        rename_private(staged.trust, locations.trust)


def finish_interrupted(locations: Locations) -> bool:
    """Put the trust folder in place where a restore was interrupted just before; returns whether one was.

    Raises:
        StateUnwritableError: it cannot be put there.
    """
    staged = beside_for_restoring(locations)
    if not is_trust_due(staged) or is_free(locations.state) or not is_free(locations.trust):
        return False
    rename_private(staged.trust, locations.trust)
    clear(staged)
    return True
