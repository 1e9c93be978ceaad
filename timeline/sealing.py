"""The owner key under a passphrase: the sealed form of its file, and a signer that asks before it signs. No files.

A passphrase becomes a key by Argon2id (RFC 9106) as libsodium has it, and XSalsa20-Poly1305 (secretbox) seals the
seed of Ed25519 under that. The costs are libsodium's MODERATE: 256 MiB and three passes, most of a second on a desktop
of today. SENSITIVE wants 1 GiB, which small machines do not have, for a key that is opened by hand.

Costs, salt and box stand in the file. A file that somebody has written with lower costs is refused, and so is a box
that holds another key than the pinned one.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from sidecars.encoding import from_base64, to_base64
from sidecars.errors import SidecarError
from sidecars.keys import SEED_BYTES, KeyRef, Signer, Signing, Verifier
from timeline.errors import KeyMismatchError
from timeline.owner_errors import OwnerKeyLockedError, PassphraseError, PassphraseUnfitError

HEADER: Final = "timeline-sealed-key/v1"

SALT_BYTES: Final = 16
"""Of Argon2id (libsodium ``crypto_pwhash_argon2id_SALTBYTES``)."""

NONCE_BYTES: Final = 24
"""Of secretbox."""

PASSPHRASE_CHARACTERS_MIN: Final = 12
"""Shorter ones are found by trying: whoever can read the sealed file can try without us."""

PASSPHRASE_BYTES_MAX: Final = 1024
"""One typed line."""


class Cost(msgspec.Struct, frozen=True):
    """What one try at a passphrase costs: passes of Argon2id, and bytes of memory."""

    passes: int
    memory_bytes: int


COST: Final = Cost(3, 256 * 1024 * 1024)
"""Of a key that is sealed now (libsodium ``MODERATE``)."""

COST_MIN: Final = Cost(2, 64 * 1024 * 1024)
"""A file below it is refused (libsodium ``INTERACTIVE``)."""

COST_MAX: Final = Cost(16, 1024 * 1024 * 1024)
"""A file above it is refused: it would only hold us up."""


class SealedKey(msgspec.Struct, frozen=True):
    """A private key that nobody can use without its passphrase, and the public key that it must turn out to be."""

    verifier: Verifier
    cost: Cost
    salt: bytes
    box: bytes


Unlock = Callable[[SealedKey], Signing]
"""Asks the owner for the passphrase, or for the word of an agent, and gives what signs in the owner's name.

Raises ``OwnerKeyLockedError``, ``PassphraseError`` or another ``TimelineError`` where that fails.
"""


def stay_locked(_sealed: SealedKey) -> Signing:
    """For who may never sign in the owner's name, such as the daemon.

    Raises:
        OwnerKeyLockedError: always.
    """
    message = "the owner key is locked, and this process may not ask for its passphrase"
    raise OwnerKeyLockedError(message)


class LockedSigner:
    """The owner key while it is locked: it knows who it is, and each signature is asked for."""

    def __init__(self, sealed: SealedKey, unlock: Unlock = stay_locked) -> None:
        """Take the sealed key, and who asks for it."""
        self.sealed = sealed
        self._unlock = unlock

    @property
    def verifier(self) -> Verifier:
        """The public key."""
        return self.sealed.verifier

    @property
    def name(self) -> str:
        """The key name."""
        return self.sealed.verifier.name

    @property
    def ref(self) -> KeyRef:
        """How its signatures name the key."""
        return self.sealed.verifier.ref

    def sign(self, message: bytes) -> bytes:
        """The 64-byte signature over ``message``, once the owner has agreed.

        Raises:
            OwnerKeyLockedError, PassphraseError, AgentRefusedError: the owner could not be asked, or did not agree.
            BadSignatureError: what was signed is not by this key.
        """
        signature = self._unlock(self.sealed).sign(message)
        self.verifier.verify(message, signature)
        return signature

    def asking(self, unlock: Unlock) -> "LockedSigner":
        """The same key, asked for in another way."""
        return LockedSigner(self.sealed, unlock)


def check_new_passphrase(passphrase: str) -> str:
    """The passphrase itself, if it may seal a key.

    Raises:
        PassphraseUnfitError: too short or too long.
    """
    if len(passphrase) < PASSPHRASE_CHARACTERS_MIN or len(_encoded(passphrase)) > PASSPHRASE_BYTES_MAX:
        message = (
            f"a passphrase must have {PASSPHRASE_CHARACTERS_MIN} characters at least and {PASSPHRASE_BYTES_MAX} "
            "bytes at most"
        )
        raise PassphraseUnfitError(message)
    return passphrase


def seal_key(verifier: Verifier, seed: bytes, passphrase: str, *, salt: bytes, nonce: bytes) -> SealedKey:
    """Seal the seed of a key; ``salt`` and ``nonce`` are fresh random bytes."""
    from nacl.bindings import crypto_secretbox

    box = nonce + crypto_secretbox(seed, nonce, _stretch(passphrase, salt, COST))
    return SealedKey(verifier, COST, salt, box)


def unseal_key(sealed: SealedKey, passphrase: str) -> bytes:
    """The seed.

    Raises:
        PassphraseError: not the passphrase that sealed it, or the box was changed.
        KeyMismatchError: it holds another key.
    """
    from nacl import exceptions
    from nacl.bindings import crypto_secretbox_open

    key = _stretch(passphrase, sealed.salt, sealed.cost)
    try:
        seed = crypto_secretbox_open(sealed.box[NONCE_BYTES:], sealed.box[:NONCE_BYTES], key)
    except exceptions.CryptoError as error:
        message = "the passphrase does not open the owner key"
        raise PassphraseError(message) from error
    if len(seed) != SEED_BYTES or Signer(sealed.verifier.name, seed).verifier != sealed.verifier:
        message = "the sealed key is not the private key of the pinned owner key"
        raise KeyMismatchError(message)
    return seed


def format_sealed(sealed: SealedKey) -> bytes:
    """The one spelling of a sealed key's file."""
    lines = (
        HEADER,
        str(sealed.verifier),
        f"argon2id {sealed.cost.passes} {sealed.cost.memory_bytes} {to_base64(sealed.salt)}",
        to_base64(sealed.box),
        "",
    )
    return "\n".join(lines).encode()


def parse_sealed(content: bytes) -> SealedKey:
    """Read a sealed key's file.

    Raises:
        KeyMismatchError: it is none, of another version, or its costs are out of bounds.
    """
    try:
        _header, vkey, costs, box, _end = content.decode("ascii").split("\n")
        kind, passes, memory_bytes, salt = costs.split(" ")
        sealed = SealedKey(
            Verifier.parse(vkey),
            Cost(int(passes), int(memory_bytes)),
            from_base64(salt, "salt"),
            from_base64(box, "box"),
        )
    except (ValueError, SidecarError) as error:
        message = "not a sealed key"
        raise KeyMismatchError(message) from error
    if kind != "argon2id" or format_sealed(sealed) != content or not _is_within_bounds(sealed):
        message = "not a sealed key of this version, or its costs are out of bounds"
        raise KeyMismatchError(message)
    return sealed


def _is_within_bounds(sealed: SealedKey) -> bool:
    cost = sealed.cost
    return (
        COST_MIN.passes <= cost.passes <= COST_MAX.passes
        and COST_MIN.memory_bytes <= cost.memory_bytes <= COST_MAX.memory_bytes
        and len(sealed.salt) == SALT_BYTES
        and len(sealed.box) == NONCE_BYTES + 16 + SEED_BYTES  # nonce, tag, seed
    )


def _stretch(passphrase: str, salt: bytes, cost: Cost) -> bytes:
    from nacl import pwhash

    return pwhash.argon2id.kdf(
        32,  # bytes of a secretbox key
        _encoded(passphrase),
        salt,
        opslimit=cost.passes,
        memlimit=cost.memory_bytes,
    )


def _encoded(passphrase: str) -> bytes:
    """One text, one spelling: keyboards differ in how they compose an accent."""
    import unicodedata

    return unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogateescape")
