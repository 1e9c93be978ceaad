"""Pinned origin and public keys, and the private keys that belong to them (DESIGN 5, TUF's root and online roles).

The log key signs sidecars and heads; the owner key signs consent and rules. The pins are the root of trust: they
are fixed at ``init`` and never read from the state that they verify. Every private key is checked against its pin
at each opening, so that a damaged or foreign key is a refusal and not a new identity.
"""

import hashlib
from pathlib import Path
from typing import Final

import msgspec

from sidecars.encoding import from_base64, to_base64
from sidecars.errors import SidecarError
from sidecars.keys import SEED_BYTES, Signer, Verifier
from timeline.clock import Entropy
from timeline.errors import KeyMismatchError, StateExistsError
from timeline.files import (
    check_directory,
    is_there,
    make_directory,
    read_private,
    rename_private,
    write_atomic,
)
from timeline.limits import KEY_BYTES_MAX
from timeline.paths import Locations

_KEY_HEADER: Final = "timeline-key/v1"
_PINS_HEADER: Final = "timeline-pins/v1"
_ORIGIN_PREFIX: Final = "agent-timeline/"
_ORIGIN_BYTES: Final = 16
"""128 random bits: origins of different machines never meet, and say nothing about them."""
_NAMES: Final = ("owner", "log", "fingerprint")


class Pins(msgspec.Struct, frozen=True):
    """What is pinned: the log's origin, both public keys, and the commitment to the fingerprint key."""

    origin: str
    owner: Verifier
    log: Verifier
    fingerprint: str


class Keystore(msgspec.Struct, frozen=True):
    """The pins and the private keys that fit them. Its representation shows no key."""

    pins: Pins
    owner: Signer
    log: Signer
    fingerprint_key: bytes

    def __repr__(self) -> str:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        """The origin only."""
        return f"Keystore({self.pins.origin})"


def begin_keystore(locations: Locations, entropy: Entropy) -> Keystore:
    """Make origin and keys, and write down what will be the pins; what an interrupted call has left is kept.

    Nothing is pinned until ``pin_keystore``: until then there is no log, and the keys have signed an empty tree at
    most. A key that is there is never written over. An origin that was written down is gone on with; keys without
    one get a new origin, so that nothing they may have signed before belongs to the new log.

    Raises:
        StateExistsError: there are pins already.
        StateUnwritableError: a file cannot be written.
        StateIncompleteError, UnsafeFileError, KeyMismatchError: see ``load_keystore``, for what was left.
    """
    make_directory(locations.trust)
    make_directory(locations.keys)
    if is_there(locations.pins):
        message = f"{locations.pins}: exists already"
        raise StateExistsError(message)
    if not is_there(locations.begun):
        origin = _ORIGIN_PREFIX + entropy.bytes(_ORIGIN_BYTES).hex()
        owner = Signer(f"{origin}/owner", _key(locations, "owner", entropy))
        log = Signer(origin, _key(locations, "log", entropy))
        commitment = _commitment(_key(locations, "fingerprint", entropy))
        pins = Pins(origin, owner.verifier, log.verifier, commitment)
        write_atomic(locations.begun, _format_pins(pins))
    return _load(locations, locations.begun)


def pin_keystore(locations: Locations) -> None:
    """Fix the pins that ``begin_keystore`` has written down: from now on a missing file is never a beginning.

    Raises:
        StateUnwritableError: they cannot be fixed.
    """
    rename_private(locations.begun, locations.pins)


def key_files(locations: Locations) -> tuple[Path, ...]:
    """Where the private keys lie."""
    return tuple(_path(locations, name) for name in _NAMES)


def load_keystore(locations: Locations) -> Keystore:
    """Read pins and keys, and check that they belong together.

    Raises:
        StateIncompleteError: a file is missing.
        UnsafeFileError: a file is not private.
        KeyMismatchError: a file is damaged, or a key is not the pinned one.
    """
    return _load(locations, locations.pins)


def _load(locations: Locations, pinned: Path) -> Keystore:
    check_directory(locations.trust)
    check_directory(locations.keys)
    pins = _read_pins(pinned)
    owner = _signer(locations, "owner", pins.owner)
    log = _signer(locations, "log", pins.log)
    fingerprint_key = _read_key(locations, "fingerprint")
    if _commitment(fingerprint_key) != pins.fingerprint:
        message = f"{_path(locations, 'fingerprint')}: not the pinned fingerprint key"
        raise KeyMismatchError(message)
    return Keystore(pins, owner, log, fingerprint_key)


def _path(locations: Locations, name: str) -> Path:
    return locations.keys / f"{name}.key"


def _key(locations: Locations, name: str, entropy: Entropy) -> bytes:
    """The key that is there, or a new one."""
    path = _path(locations, name)
    if not is_there(path):
        write_atomic(path, f"{_KEY_HEADER}\n{to_base64(entropy.bytes(SEED_BYTES))}\n".encode())
    return _read_key(locations, name)


def _read_key(locations: Locations, name: str) -> bytes:
    path = _path(locations, name)
    try:
        header, encoded, end = read_private(path, size_max=KEY_BYTES_MAX).decode("ascii").split("\n")
        seed = from_base64(encoded, "key")
    except (ValueError, SidecarError) as error:
        message = f"{path}: not a key file"
        raise KeyMismatchError(message) from error
    if header != _KEY_HEADER or end or len(seed) != SEED_BYTES:
        message = f"{path}: not a key file of this version"
        raise KeyMismatchError(message)
    return seed


def _signer(locations: Locations, name: str, pinned: Verifier) -> Signer:
    signer = Signer(pinned.name, _read_key(locations, name))
    if signer.verifier != pinned:
        message = f"{_path(locations, name)}: not the private key of the pinned {name} key"
        raise KeyMismatchError(message)
    return signer


def _commitment(fingerprint_key: bytes) -> str:
    return to_base64(hashlib.sha256(b"timeline fingerprint key\0" + fingerprint_key).digest())


def _format_pins(pins: Pins) -> bytes:
    lines = (
        _PINS_HEADER,
        f"origin {pins.origin}",
        f"owner {pins.owner}",
        f"log {pins.log}",
        f"fingerprint {pins.fingerprint}",
    )
    return ("\n".join(lines) + "\n").encode()


def _read_pins(path: Path) -> Pins:
    content = read_private(path, size_max=KEY_BYTES_MAX)
    try:
        fields = [line.partition(" ")[2] for line in content.decode("ascii").split("\n")]
        pins = Pins(fields[1], Verifier.parse(fields[2]), Verifier.parse(fields[3]), fields[4])
    except (ValueError, IndexError, SidecarError) as error:
        message = f"{path}: not a pins file"
        raise KeyMismatchError(message) from error
    # Format again and compare: one state has one spelling, so any changed byte shows here or in a signature.
    if _format_pins(pins) != content or pins.log.name != pins.origin:
        message = f"{path}: not a pins file of this version"
        raise KeyMismatchError(message)
    return pins
