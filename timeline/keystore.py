"""Pinned origin and public keys, and the private keys that belong to them (TUF's root and online roles).

The log key signs sidecars and heads; the owner key signs consent and rules. The pins are the root of trust: they
are fixed at ``init`` and never read from the state that they verify. Every private key is checked against its pin
at each opening, so that a damaged or foreign key is a refusal and not a new identity.

A change of the log key writes in this order, each file whole and durable before the next: the next private key, in a
file of its own; pins that name both keys; the commit (``timeline.epochs``); pins that name the key which the log then
has in force; and at last one private key is destroyed, the old one, or where nothing was committed the next one.
``settle_keys`` goes on from wherever that was interrupted.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from sidecars.encoding import to_base64
from sidecars.errors import SidecarError
from sidecars.keys import SEED_BYTES, Signer, Signing, Verifier
from timeline.clock import Entropy
from timeline.errors import KeyMismatchError, StateBusyError, StateExistsError, StateIncompleteError
from timeline.files import (
    check_directory,
    is_there,
    make_directory,
    overwrite_private,
    read_private,
    remove_private,
    rename_private,
    write_atomic,
)
from timeline.keyfile import find_owner, format_key, is_form_due, key_path, read_key, settle_owner
from timeline.limits import FILE_READS_MAX, KEY_BYTES_MAX
from timeline.paths import Locations
from timeline.sealing import LockedSigner, Unlock

_PINS_HEADER: Final = "timeline-pins/v1"
_ORIGIN_PREFIX: Final = "agent-timeline/"
_ORIGIN_BYTES: Final = 16
"""128 random bits: origins of different machines never meet, and say nothing about them."""
_NAMES: Final = ("owner", "log", "fingerprint")
_NEXT: Final = "log.next"
_LOST_HINT: Final = (
    "restore the key file of this state from a backup; where there is none, `timeline key rotate --lost` puts a new "
    "log key in force, with the owner key"
)
_UNFINISHED_HINT: Final = (
    "restore the key file of this state from a backup: an interrupted commit is finished with that key only"
)


class Pins(msgspec.Struct, frozen=True):
    """What is pinned: the log's origin, both public keys, and the commitment to the fingerprint key.

    ``next`` is the log key that is being put in force, while that change is not finished.
    """

    origin: str
    owner: Verifier
    log: Verifier
    fingerprint: str
    next: Verifier | None = None

    @property
    def log_keys(self) -> tuple[Verifier, ...]:
        """The log keys that heads may be signed with: one, or two during a change."""
        return (self.log,) if self.next is None else (self.log, self.next)


class Keystore(msgspec.Struct, frozen=True):
    """The pins and the private keys that fit them. Its representation shows no key.

    ``log_signers`` are the private keys that are here of ``pins.log_keys``. ``settled`` is false while a change of the
    log key was begun and is not finished.
    """

    pins: Pins
    owner: Signing
    log_signers: tuple[Signer, ...]
    fingerprint_key: bytes
    settled: bool = True

    @property
    def log(self) -> Signer:
        """The private key of the pinned log key.

        Raises:
            KeyMismatchError: it is not here.
        """
        return self.signers_of((self.pins.log,))[0]

    def signers_of(self, keys: Sequence[Verifier]) -> tuple[Signer, ...]:
        """The private keys of these log keys, in this order.

        Raises:
            KeyMismatchError: one is not here.
        """
        here = {signer.verifier: signer for signer in self.log_signers}
        for key in keys:
            if key not in here:
                message = f"the private log key {key.ref} is not here, and a head needs its signature"
                raise KeyMismatchError(message, hint=_UNFINISHED_HINT)
        return tuple(here[key] for key in keys)

    def asking(self, unlock: Unlock) -> "Keystore":
        """The same keys; where the owner key is locked, ``unlock`` is asked before each of its signatures."""
        if not isinstance(self.owner, LockedSigner):
            return self
        return msgspec.structs.replace(self, owner=self.owner.asking(unlock))

    def __repr__(self) -> str:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        """The origin only."""
        return f"Keystore({self.pins.origin})"


Keys = Callable[[Locations], Keystore]
"""How the keys of a timeline are loaded."""


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
    return _with_log_key(locations, _load(locations, _read_pins(locations.begun)))


def pin_keystore(locations: Locations) -> None:
    """Fix the pins that ``begin_keystore`` has written down: from now on a missing file is never a beginning.

    Raises:
        StateUnwritableError: they cannot be fixed.
    """
    rename_private(locations.begun, locations.pins)


def key_files(locations: Locations) -> tuple[Path, ...]:
    """Where the private keys lie."""
    return tuple(key_path(locations, name) for name in _NAMES)


def load_keystore(locations: Locations) -> Keystore:
    """Read pins and keys, and check that they belong together.

    Raises:
        StateIncompleteError: a file is missing.
        UnsafeFileError: a file is not private.
        KeyMismatchError: a file is damaged, or a key is not the pinned one.
        StateBusyError: each reading was overtaken by a change of the log key.
    """
    for _ in range(FILE_READS_MAX):
        pins = read_pins(locations)
        try:
            return _with_log_key(locations, _load(locations, pins))
        except (StateIncompleteError, KeyMismatchError):
            # A reader holds no lock: keys and pins may be of the two sides of a change.
            if read_pins(locations) == pins:
                raise
    message = f"{locations.pins}: changed each of the {FILE_READS_MAX} times that the keys were read"
    raise StateBusyError(message)


def load_owner_keystore(locations: Locations) -> Keystore:
    """The same for who needs no private log key: one that is missing or damaged is left out.

    Raises:
        StateIncompleteError, UnsafeFileError, KeyMismatchError: see ``load_keystore``, for all else.
    """
    return _load(locations, read_pins(locations))


def read_pins(locations: Locations) -> Pins:
    """The pins alone.

    Raises:
        StateIncompleteError, UnsafeFileError, KeyMismatchError: they are missing, not private, or no pins.
    """
    check_directory(locations.trust)
    return _read_pins(locations.pins)


# -- a change of the log key -----------------------------------------------------------------------------------


def begin_change(locations: Locations, keystore: Keystore, entropy: Entropy) -> Keystore:
    """Make the next log key and pin it beside the one in force; the caller holds the writer lock.

    Raises:
        StateUnwritableError: a file cannot be written; ``settle_keys`` takes back what was.
    """
    path = key_path(locations, _NEXT)
    write_atomic(path, format_key(entropy.bytes(SEED_BYTES)))
    signer = Signer(keystore.pins.origin, read_key(key_path(locations, _NEXT)))
    pins = msgspec.structs.replace(keystore.pins, next=signer.verifier)
    write_atomic(locations.pins, _format_pins(pins))
    return msgspec.structs.replace(
        keystore, pins=pins, log_signers=(*keystore.log_signers, signer), settled=False
    )


def settle_keys(locations: Locations, keystore: Keystore, in_force: Verifier) -> Keystore:
    """Finish or take back a change of the log key, by which key the log has in force; the caller holds the writer lock.

    Pins name that key alone, and the other private key is destroyed. Where nothing was begun, nothing is done.

    Raises:
        StateUnwritableError, UnsafeFileError: a file cannot be written; the next call goes on from there.
    """
    if keystore.settled:
        return keystore
    settle_owner(locations, keystore.pins.owner)
    pins = msgspec.structs.replace(keystore.pins, log=in_force, next=None)
    if pins != keystore.pins:
        write_atomic(locations.pins, _format_pins(pins))
    current, spare = key_path(locations, "log"), key_path(locations, _NEXT)
    found = _log_signer(locations, _NEXT, pins)
    if found is not None and found.verifier == in_force:
        if is_there(current):
            overwrite_private(current)
        rename_private(spare, current)
    elif is_there(spare):
        overwrite_private(spare)
        remove_private(spare)
    left = tuple(signer for signer in keystore.log_signers if signer.verifier == in_force)
    return msgspec.structs.replace(keystore, pins=pins, log_signers=left, settled=True)


# -- inside ----------------------------------------------------------------------------------------------------


def _load(locations: Locations, pins: Pins) -> Keystore:
    check_directory(locations.trust)
    check_directory(locations.keys)
    owner = find_owner(locations, pins.owner)
    # The next key first: where it has just been given the other's name, it is found there.
    found = [_log_signer(locations, name, pins) for name in (_NEXT, "log")]
    fingerprint_key = read_key(key_path(locations, "fingerprint"))
    if _commitment(fingerprint_key) != pins.fingerprint:
        message = f"{key_path(locations, 'fingerprint')}: not the pinned fingerprint key"
        raise KeyMismatchError(message)
    signers = tuple(s for s in found if s is not None and s.verifier in pins.log_keys)
    settled = pins.next is None and not is_there(key_path(locations, _NEXT)) and not is_form_due(locations)
    return Keystore(pins, owner, signers, fingerprint_key, settled)


def _with_log_key(locations: Locations, keystore: Keystore) -> Keystore:
    """``keystore`` itself, if a log key that can come into force, or is, has its private key here.

    Raises:
        StateIncompleteError, UnsafeFileError, KeyMismatchError: what is wrong with its file.
    """
    pins = keystore.pins
    name, needed = ("log", pins.log) if pins.next is None else (_NEXT, pins.next)
    if any(signer.verifier == needed for signer in keystore.log_signers):
        return keystore
    try:
        signer = _signer(locations, name, needed)
    except (StateIncompleteError, KeyMismatchError) as error:
        raise type(error)(error.message, hint=_LOST_HINT) from error
    return msgspec.structs.replace(keystore, log_signers=(*keystore.log_signers, signer))


def _log_signer(locations: Locations, name: str, pins: Pins) -> Signer | None:
    """The private log key in a file, whichever it is; ``None`` where the file is missing or damaged."""
    try:
        return Signer(pins.origin, read_key(key_path(locations, name)))
    except (StateIncompleteError, KeyMismatchError):
        return None


def _key(locations: Locations, name: str, entropy: Entropy) -> bytes:
    """The key that is there, or a new one."""
    path = key_path(locations, name)
    if not is_there(path):
        write_atomic(path, format_key(entropy.bytes(SEED_BYTES)))
    return read_key(key_path(locations, name))


def _signer(locations: Locations, name: str, pinned: Verifier) -> Signer:
    signer = Signer(pinned.name, read_key(key_path(locations, name)))
    if signer.verifier != pinned:
        message = f"{key_path(locations, name)}: not the private key of the pinned {name} key"
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
        *(() if pins.next is None else (f"next {pins.next}",)),
    )
    return ("\n".join(lines) + "\n").encode()


def _read_pins(path: Path) -> Pins:
    content = read_private(path, size_max=KEY_BYTES_MAX)
    try:
        fields = [line.partition(" ")[2] for line in content.decode("ascii").split("\n")]
        following = Verifier.parse(fields[5]) if fields[5] else None
        pins = Pins(fields[1], Verifier.parse(fields[2]), Verifier.parse(fields[3]), fields[4], following)
    except (ValueError, IndexError, SidecarError) as error:
        message = f"{path}: not a pins file"
        raise KeyMismatchError(message) from error
    # Format again and compare: one state has one spelling, so any changed byte shows here or in a signature.
    if _format_pins(pins) != content or any(key.name != pins.origin for key in pins.log_keys):
        message = f"{path}: not a pins file of this version"
        raise KeyMismatchError(message)
    return pins
