"""A host's file as it stands on disk: looked at, replaced whole, or taken away.

The file behind a link is what changes; the link stays. Mode and owner stay too. A write goes to a temporary file beside
it, which is synced and renamed, so that a crash leaves the old bytes or the new. What was changed by somebody else
since it was looked at is not replaced.
"""

import os
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from timeline.errors import StateUnwritableError, UnsafeFileError
from timeline.files import (
    create_private,
    is_there,
    make_durable,
    open_regular,
    remove_private,
    rename_private,
    sync_directory,
)
from timeline.install.errors import HostFileChangedError, HostFileError, HostFileReadOnlyError
from timeline.limits import HOST_FILE_BYTES_MAX

_FOLDER_MODE: Final = 0o700
_TEMPORARY: Final = ".timeline-tmp"


class Placed(msgspec.Struct, frozen=True):
    """What stands at a path: ``target`` is the file behind links, ``content`` is ``None`` where there is none."""

    path: Path
    target: Path
    content: bytes | None
    mode: int = 0o600
    owner: int = -1
    group: int = -1


def look(path: Path) -> Placed:
    """What stands at ``path`` now.

    Raises:
        HostFileError: a folder, device, link in a circle or second name, a file that is too big or cannot be read.
    """
    target = Path(os.path.realpath(path))
    try:
        if not is_there(target):
            return Placed(path, target, None)
        with open_regular(target) as file:
            found = os.fstat(file.fileno())
            content = file.read(HOST_FILE_BYTES_MAX + 1)
    except UnsafeFileError as error:
        raise HostFileError(error.message) from error
    if found.st_nlink > 1:
        message = f"{target}: has {found.st_nlink} names, and replacing it would part them"
        raise HostFileError(message)
    if len(content) > HOST_FILE_BYTES_MAX:
        message = f"{target}: over {HOST_FILE_BYTES_MAX} bytes"
        raise HostFileError(message)
    return Placed(path, target, content, stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid)


def check_writable(found: Placed) -> None:
    """Refuse to change what is protected, before anything is changed.

    Raises:
        HostFileReadOnlyError: the file or the nearest folder that exists is read-only.
        HostFileError: something else than a folder stands on the way.
    """
    if found.content is not None and not found.mode & stat.S_IWUSR:
        message = f"{found.target}: is read-only"
        raise HostFileReadOnlyError(message, hint=f"chmod u+w {found.target}, then run the command again")
    folder = next(above for above in found.target.parents if is_there(above))
    if not folder.is_dir():
        message = f"{folder}: not a folder"
        raise HostFileError(message)
    if not os.access(folder, os.W_OK | os.X_OK) or not folder.stat().st_mode & stat.S_IWUSR:
        message = f"{folder}: this folder is read-only"
        raise HostFileReadOnlyError(message, hint=f"chmod u+w {folder}, then run the command again")


def missing_folders(found: Placed) -> tuple[Path, ...]:
    """The folders that a write has to make, outermost first."""
    return tuple(reversed([above for above in found.target.parents if not is_there(above)]))


def replace(found: Placed, content: bytes) -> None:
    """Put ``content`` in the place of what was found, with the same mode and owner; missing folders are made.

    Raises:
        HostFileChangedError: something else stands there by now.
        HostFileError, StateUnwritableError: it cannot be written; the old bytes stand.
    """
    temporary = found.target.with_name(found.target.name + _TEMPORARY)
    try:
        for folder in missing_folders(found):
            folder.mkdir(_FOLDER_MODE)
            sync_directory(folder.parent)
        with suppress(FileNotFoundError):
            temporary.unlink()  # left by a killed process of ours; two of us never work at once
    except OSError as error:
        message = f"{found.target}: cannot be written"
        raise StateUnwritableError(message) from error
    with create_private(temporary) as file:
        file.write(content)
        made = os.fstat(file.fileno())
        if found.content is not None and (made.st_uid, made.st_gid) != (found.owner, found.group):
            os.fchown(file.fileno(), found.owner, found.group)
        os.fchmod(file.fileno(), found.mode)
        make_durable(file)
    try:
        _check_same(found)
        rename_private(temporary, found.target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def take_away(found: Placed) -> None:
    """Remove a file that we made.

    Raises:
        HostFileChangedError: something else stands there by now.
        StateUnwritableError: it cannot be removed.
    """
    _check_same(found)
    if found.content is not None:
        remove_private(found.target)


def remove_folders(folders: Collection[Path]) -> None:
    """Remove folders that we made, innermost first, as far as nobody has put anything in."""
    for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
        with suppress(OSError):  # not empty, or gone already
            folder.rmdir()
            sync_directory(folder.parent)


def _check_same(found: Placed) -> None:
    now = look(found.path)
    if (now.target, now.content) != (found.target, found.content):
        message = f"{found.path}: was changed meanwhile"
        raise HostFileChangedError(message)
