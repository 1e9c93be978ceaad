"""A witness's folder: its key, its memory, and how both are made and kept together.

The memory names the key that it belongs to, and a key without its memory is never used again: what it had signed is
forgotten, and it would sign the opposite. So the memory is written before the key, and whichever of the two is missing
later was lost.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from sidecars.cosignature import WitnessSigner, WitnessVerifier
from sidecars.encoding import from_base64, to_base64
from sidecars.errors import SidecarError
from sidecars.keys import SEED_BYTES, check_key_name
from timeline.clock import Entropy
from timeline.errors import ConfigError, KeyMismatchError, UsageError
from timeline.files import (
    check_directory,
    hold_directory,
    is_there,
    make_directory,
    read_private,
    write_atomic,
)
from timeline.limits import KEY_BYTES_MAX
from timeline.witness.errors import WitnessExistsError, WitnessLostError, WitnessMissingError
from timeline.witness.store import WitnessStore, empty_database, open_store

FOLDER_VARIABLE: Final = "TIMELINE_WITNESS_DIR"

_HEADER: Final = "timeline-witness-key/v1"
_NAME_PREFIX: Final = "timeline-witness/"
_NAME_BYTES: Final = 16
"""128 random bits: names of different witnesses never meet, and say nothing about them."""


class Folder(msgspec.Struct, frozen=True):
    """Where a witness lives; mode 0700, and no part of a timeline's state."""

    path: Path

    @property
    def database(self) -> Path:
        """What it remembers."""
        return self.path / "witness.db"

    @property
    def key(self) -> Path:
        """Its private key."""
        return self.path / "key"


class OpenWitness(msgspec.Struct, frozen=True):
    """The private key and the memory that belongs to it."""

    signer: WitnessSigner
    store: WitnessStore


def find_folder(environment: Mapping[str, str], given: str | None) -> Folder:
    """The folder that is given, or that the environment names, or the platform's default.

    Raises:
        ConfigError: not an absolute path.
    """
    text = given if given is not None else environment.get(FOLDER_VARIABLE)
    if text is None:
        import platformdirs

        return Folder(Path(platformdirs.user_data_dir("timeline-witness")))
    if not Path(text).is_absolute() or "\0" in text:
        message = f"--dir or {FOLDER_VARIABLE}: must be an absolute path"
        raise ConfigError(message, hint=f"give the whole path, or unset {FOLDER_VARIABLE}")
    return Folder(Path(os.path.normpath(text)))


def init_witness(folder: Folder, name: str | None, entropy: Entropy) -> WitnessVerifier:
    """Make key and memory, once; what an interrupted call has left is completed.

    Raises:
        UsageError: ``name`` is no key name.
        WitnessExistsError: there is a witness.
        WitnessLostError: a key without its memory, or a memory that has cosigned without its key.
        StateError: the folder cannot be written.
    """
    chosen = _checked_name(name or _NAME_PREFIX + entropy.bytes(_NAME_BYTES).hex())
    make_directory(folder.path)
    with hold_directory(folder.path):
        if is_there(folder.key):
            _refuse_second(folder)
        signer = WitnessSigner(chosen, seed := entropy.bytes(SEED_BYTES))
        if is_there(folder.database):
            _take_over(folder, signer.verifier)
        else:
            write_atomic(folder.database, empty_database(str(signer.verifier)))
        write_atomic(folder.key, _format_key(chosen, seed))
    open_witness(folder).store.close()
    return signer.verifier


def open_witness(folder: Folder) -> OpenWitness:
    """Read the key, open the memory, and check that they belong together.

    Raises:
        WitnessMissingError: there is no witness.
        WitnessLostError: one of key and memory is missing.
        KeyMismatchError: the key is damaged, or the memory belongs to another.
        UnsafeFileError: a file is not private.
        StateError: the memory is damaged, newer or busy.
    """
    key, memory = is_there(folder.key), is_there(folder.database)
    if not key and not memory:
        message = f"{folder.path}: there is no witness"
        raise WitnessMissingError(message)
    if not memory:
        message = f"{folder.database}: the key is there and the memory is not"
        raise WitnessLostError(message)
    if not key:
        message = f"{folder.key}: the memory is there and the key is not"
        raise WitnessLostError(
            message,
            hint="restore the key file; where `timeline-witness init` was interrupted, run it again",
        )
    check_directory(folder.path)
    signer = _read_key(folder.key)
    store = open_store(folder.database)
    try:
        _check_owner(folder, store, signer.verifier)
    except BaseException:
        store.close()
        raise
    return OpenWitness(signer, store)


def _check_owner(folder: Folder, store: WitnessStore, verifier: WitnessVerifier) -> None:
    if store.vkey() != str(verifier):
        message = f"{folder.database}: belongs to another key than {folder.key}"
        raise KeyMismatchError(message, hint="restore key and witness.db of the same witness")


def _refuse_second(folder: Folder) -> None:
    if is_there(folder.database):
        message = f"{folder.path}: there is a witness already"
        raise WitnessExistsError(message)
    message = f"{folder.database}: the key is there and the memory is not"
    raise WitnessLostError(message)


def _take_over(folder: Folder, verifier: WitnessVerifier) -> None:
    """Give a memory that has cosigned nothing to the new key: its own was never written."""
    store = open_store(folder.database)
    try:
        with store.transaction():
            if any(log.note is not None for log in store.logs()):
                message = f"{folder.key}: the memory has cosigned, and its key is missing"
                raise WitnessLostError(message, hint="restore the key file, or make a new witness elsewhere")
            store.set_vkey(str(verifier))
    finally:
        store.close()


def _checked_name(name: str) -> str:
    try:
        return check_key_name(name)
    except SidecarError as error:
        raise UsageError(f"--name: {error.rule}", hint="such as witness.example.org/w1") from error


def _format_key(name: str, seed: bytes) -> bytes:
    return f"{_HEADER}\n{name}\n{to_base64(seed)}\n".encode()


def _read_key(path: Path) -> WitnessSigner:
    content = read_private(path, size_max=KEY_BYTES_MAX)
    try:
        header, name, encoded, end = content.decode().split("\n")
        signer = WitnessSigner(name, from_base64(encoded, "key"))
    except (ValueError, SidecarError) as error:
        message = f"{path}: not a witness's key file"
        raise KeyMismatchError(message) from error
    if header != _HEADER or end:
        message = f"{path}: not a key file of this version"
        raise KeyMismatchError(message)
    return signer
