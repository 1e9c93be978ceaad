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
from timeline.files import check_directory, is_there, make_directory, read_private, write_atomic
from timeline.limits import KEY_BYTES_MAX
from timeline.paths import Locations

_KEY_HEADER: Final = "timeline-key/v1"
_PINS_HEADER: Final = "timeline-pins/v1"
_ORIGIN_PREFIX: Final = "agent-timeline/"
_ORIGIN_BYTES: Final = 16
"""128 random bits: origins of different machines never meet, and say nothing about them."""


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


def create_keystore(locations: Locations, entropy: Entropy) -> Keystore:
    """Make origin and keys. The pins are written last: without them there is no keystore.

    Raises:
        StateExistsError: there are pins already.
        StateUnwritableError: a file cannot be written.
    """
    make_directory(locations.trust)
    make_directory(_folder(locations))
    if is_there(locations.pins):
        message = f"{locations.pins}: exists already"
        raise StateExistsError(message)
    origin = _ORIGIN_PREFIX + entropy.bytes(_ORIGIN_BYTES).hex()
    owner = Signer(f"{origin}/owner", _new_key(locations, "owner", entropy))
    log = Signer(origin, _new_key(locations, "log", entropy))
    fingerprint_key = _new_key(locations, "fingerprint", entropy)
    pins = Pins(origin, owner.verifier, log.verifier, _commitment(fingerprint_key))
    write_atomic(locations.pins, _format_pins(pins))
    return load_keystore(locations)


def load_keystore(locations: Locations) -> Keystore:
    """Read pins and keys, and check that they belong together.

    Raises:
        StateIncompleteError: a file is missing.
        UnsafeFileError: a file is not private.
        KeyMismatchError: a file is damaged, or a key is not the pinned one.
    """
    check_directory(locations.trust)
    check_directory(_folder(locations))
    pins = _read_pins(locations.pins)
    owner = _signer(locations, "owner", pins.owner)
    log = _signer(locations, "log", pins.log)
    fingerprint_key = _read_key(locations, "fingerprint")
    if _commitment(fingerprint_key) != pins.fingerprint:
        message = f"{_path(locations, 'fingerprint')}: not the pinned fingerprint key"
        raise KeyMismatchError(message)
    return Keystore(pins, owner, log, fingerprint_key)


def _folder(locations: Locations) -> Path:
    return locations.trust / "keys"


def _path(locations: Locations, name: str) -> Path:
    return _folder(locations) / f"{name}.key"


def _new_key(locations: Locations, name: str, entropy: Entropy) -> bytes:
    seed = entropy.bytes(SEED_BYTES)
    write_atomic(_path(locations, name), f"{_KEY_HEADER}\n{to_base64(seed)}\n".encode())
    return seed


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
