"""The files of private keys: where they lie, their plain form, and the owner key in whichever form it stands.

The owner key stands in one file, plain or sealed under a passphrase. Its form changes in this order, each step whole
and durable before the next: the new form, in a file of its own; zeros over the old form; the new form takes the name.
So at every moment one of the two forms can be read, and ``settle_owner`` goes on from wherever that was interrupted.
"""

from pathlib import Path
from typing import Final

from sidecars.encoding import from_base64, to_base64
from sidecars.errors import SidecarError
from sidecars.keys import SEED_BYTES, Signer, Signing, Verifier
from timeline import sealing
from timeline.errors import KeyMismatchError, StateIncompleteError
from timeline.files import (
    is_there,
    overwrite_private,
    read_private,
    remove_private,
    rename_private,
    write_atomic,
)
from timeline.limits import KEY_BYTES_MAX
from timeline.paths import Locations
from timeline.sealing import LockedSigner, parse_sealed

_HEADER: Final = "timeline-key/v1"
OWNER: Final = "owner"
OWNER_NEXT: Final = "owner.next"
_LOOKS_MAX: Final = 3
"""Who looks without the lock meets a change of form at most once: then the other file is there."""


def key_path(locations: Locations, name: str) -> Path:
    """Where the private key of this name lies."""
    return locations.keys / f"{name}.key"


def format_key(seed: bytes) -> bytes:
    """The plain form of a key of 32 bytes."""
    return f"{_HEADER}\n{to_base64(seed)}\n".encode()


def read_key(path: Path) -> bytes:
    """The 32 bytes of a key in its plain form.

    Raises:
        StateIncompleteError, UnsafeFileError: the file is missing or not private.
        KeyMismatchError: it is no key file of this version.
    """
    return _parse_key(path, read_private(path, size_max=KEY_BYTES_MAX))


def _parse_key(path: Path, content: bytes) -> bytes:
    try:
        header, encoded, end = content.decode("ascii").split("\n")
        seed = from_base64(encoded, "key")
    except (ValueError, SidecarError) as error:
        message = f"{path}: not a key file"
        raise KeyMismatchError(message) from error
    if header != _HEADER or end or len(seed) != SEED_BYTES:
        message = f"{path}: not a key file of this version"
        raise KeyMismatchError(message)
    return seed


# -- the owner key ---------------------------------------------------------------------------------------------


def find_owner(locations: Locations, pinned: Verifier) -> Signing:
    """The owner key, plain or locked, also while its form is being changed.

    Raises:
        StateIncompleteError, UnsafeFileError: its file is missing or not private.
        KeyMismatchError: the file is damaged, or is another key than the pinned one.
    """
    for tries_left in reversed(range(_LOOKS_MAX)):
        try:
            return _read_owner(key_path(locations, OWNER_NEXT), pinned)
        except (StateIncompleteError, KeyMismatchError):
            pass  # as a rule there is none
        try:
            return _read_owner(key_path(locations, OWNER), pinned)
        except (StateIncompleteError, KeyMismatchError):
            if not tries_left:
                raise
    raise AssertionError  # the last look has returned or raised


def _read_owner(path: Path, pinned: Verifier) -> Signing:
    content = read_private(path, size_max=KEY_BYTES_MAX)
    if content.startswith(sealing.HEADER.encode()):
        try:
            found: Signing = LockedSigner(parse_sealed(content))
        except KeyMismatchError as error:
            message = f"{path}: {error.message}"
            raise KeyMismatchError(message) from error
    else:
        found = Signer(pinned.name, _parse_key(path, content))
    if found.verifier != pinned:
        message = f"{path}: not the private key of the pinned owner key"
        raise KeyMismatchError(message)
    return found


def begin_form(locations: Locations, content: bytes) -> None:
    """Write the form that the owner key is to have; the caller holds the writer lock, and then settles.

    Raises:
        StateUnwritableError: it cannot be written; the old form stands.
    """
    write_atomic(key_path(locations, OWNER_NEXT), content)


def is_form_due(locations: Locations) -> bool:
    """Whether a change of the owner key's form was begun and is not finished."""
    return is_there(key_path(locations, OWNER_NEXT))


def settle_owner(locations: Locations, pinned: Verifier) -> None:
    """Finish a change of form that was begun; the caller holds the writer lock. Nothing is done where none was.

    Raises:
        StateUnwritableError, UnsafeFileError: a file cannot be written; the next call goes on from there.
    """
    following, current = key_path(locations, OWNER_NEXT), key_path(locations, OWNER)
    if not is_there(following):
        return
    try:
        _read_owner(following, pinned)
    except KeyMismatchError:  # nothing of ours: the form that stands is left alone
        remove_private(following)
        return
    if is_there(current):
        overwrite_private(current)
    rename_private(following, current)
