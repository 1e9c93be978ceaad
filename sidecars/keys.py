"""Key names, key ids, and ``Signer`` and ``Verifier`` over Ed25519: values only, no files.

Names, ids and the text of a public key (``vkey``) follow C2SP signed-note
(https://c2sp.org/signed-note, "Signatures"); the signature type is 0x01, Ed25519 of RFC 8032.
PyNaCl is the only verifier: two libraries disagree on edge cases, and two verifiers in one system are two answers.
There is no choice of algorithm.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from sidecars.encoding import from_base64, from_hex, to_base64
from sidecars.errors import BadSignatureError, MalformedError, UnsupportedVersionError

ED25519_TYPE: Final = b"\x01"
"""Signature type of plain Ed25519 (C2SP signed-note, "Signature types")."""

SEED_BYTES: Final = 32
PUBLIC_KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
KEY_ID_BYTES: Final = 4

KEY_NAME_BYTES_MAX: Final = 128
"""Longer names than any origin of ours; C2SP sets no bound, a bound keeps headers small."""


_BREAKS_A_NAME = re.compile(r"[\s+\x00-\x1f]")
"""Unicode white space, the border between name and id, and control characters."""


class KeyRef(NamedTuple):
    """Which key a signature claims to be by: the name and the four bytes of its id; text is ``name+hex``."""

    name: str
    key_id: bytes

    def __str__(self) -> str:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        """``name+0123abcd``, as vkeys and envelopes spell it."""
        return f"{self.name}+{self.key_id.hex()}"

    @classmethod
    def parse(cls, text: str) -> "KeyRef":
        """Read ``name+0123abcd``.

        Raises:
            MalformedError: not that form.
        """
        name, plus, tail = text.partition("+")
        key_id = from_hex(tail, "key id")
        if not plus or len(key_id) != KEY_ID_BYTES:
            raise MalformedError("a key is named as <name>+<8 hex digits>")
        return cls(check_key_name(name), key_id)


def check_key_name(name: str) -> str:
    """``name`` itself, if C2SP allows it as a key name and it is at most ``KEY_NAME_BYTES_MAX`` bytes.

    Raises:
        MalformedError: empty, too long, or with a space, plus, control character or lone surrogate.
    """
    try:
        size = len(name.encode())
    except UnicodeEncodeError as error:
        raise MalformedError("a key name must be valid Unicode") from error
    if not 0 < size <= KEY_NAME_BYTES_MAX:
        raise MalformedError(f"a key name must be 1 to {KEY_NAME_BYTES_MAX} bytes")
    if _BREAKS_A_NAME.search(name):
        raise MalformedError("a key name must hold no space, plus or control character")
    return name


def compute_key_id(name: str, public_key: bytes, kind: bytes = ED25519_TYPE) -> bytes:
    """The four bytes that C2SP recommends as id of an Ed25519 key; another signature type gives another id."""
    return hashlib.sha256(name.encode() + b"\n" + kind + public_key).digest()[:KEY_ID_BYTES]


def split_vkey(text: str) -> tuple[KeyRef, bytes, bytes]:
    """Split a vkey into the reference that it states, its signature type (one byte) and its key, none of them checked.

    Raises:
        MalformedError: not ``<name>+<8 hex>+<base64 of type and key>``.
    """
    name, _, rest = text.partition("+")
    key_id, _, encoded = rest.partition("+")
    ref = KeyRef.parse(f"{name}+{key_id}")
    raw = from_base64(encoded, "vkey")
    if not raw:
        raise MalformedError("a vkey must be <name>+<id>+<base64 of type and key>")
    return ref, raw[:1], raw[1:]


def check_public_key(name: str, public_key: bytes) -> None:
    """Refuse a name that is not allowed, or a key that is not 32 bytes.

    Raises:
        MalformedError: it is.
    """
    check_key_name(name)
    if len(public_key) != PUBLIC_KEY_BYTES:
        raise MalformedError("an Ed25519 public key must be 32 bytes")


@dataclass(frozen=True, slots=True)
class Verifier:
    """A public key with its name.

    Raises:
        MalformedError: the name is not allowed or the key is not 32 bytes.
    """

    name: str
    public_key: bytes

    def __post_init__(self) -> None:
        """Check both."""
        check_public_key(self.name, self.public_key)

    @property
    def key_id(self) -> bytes:
        """The four bytes that signatures by this key carry."""
        return compute_key_id(self.name, self.public_key)

    @property
    def ref(self) -> KeyRef:
        """How signatures by this key name it."""
        return KeyRef(self.name, self.key_id)

    @classmethod
    def parse(cls, text: str) -> "Verifier":
        """Read a vkey, ``<name>+<8 hex>+<base64 of 0x01 and the key>``.

        Raises:
            MalformedError: not a vkey, or its id is not that of its name and key.
            UnsupportedVersionError: another signature type than Ed25519.
        """
        ref, kind, public_key = split_vkey(text)
        if kind != ED25519_TYPE:
            raise UnsupportedVersionError(f"signature type 0x{kind.hex()} of a vkey is not Ed25519 (0x01)")
        verifier = cls(ref.name, public_key)
        if verifier.key_id != ref.key_id:
            raise MalformedError("the id in a vkey must be that of its name and key")
        return verifier

    def __str__(self) -> str:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        """The vkey text."""
        return f"{self.ref}+{to_base64(ED25519_TYPE + self.public_key)}"

    def verify(self, message: bytes, signature: bytes) -> None:
        """Return only if ``signature`` is this key's over ``message``.

        Raises:
            BadSignatureError: it is not.
        """
        from nacl import exceptions  # noqa: PLC0415  (13 ms; who verifies nothing pays nothing)
        from nacl.bindings import crypto_sign_open  # noqa: PLC0415  (as above)

        if len(signature) != SIGNATURE_BYTES:
            raise BadSignatureError(f"signature by {self.ref} must be 64 bytes")
        try:
            crypto_sign_open(signature + message, self.public_key)
        except exceptions.CryptoError as error:
            raise BadSignatureError(f"signature by {self.ref} does not fit the signed bytes") from error


class Signing(Protocol):
    """What signs for a public key, wherever the private key is and whoever has to be asked."""

    @property
    def verifier(self) -> Verifier:
        """The public key."""
        ...

    @property
    def ref(self) -> KeyRef:
        """How its signatures name the key."""
        ...

    def sign(self, message: bytes) -> bytes:
        """The 64-byte signature over ``message``."""
        ...


class Signer:
    """A private key with its name. It signs, and never shows its seed: its representation is the default one."""

    __slots__ = ("_secret", "verifier")

    verifier: Verifier
    _secret: bytes

    def __init__(self, name: str, seed: bytes) -> None:
        """Take the 32-byte seed of RFC 8032.

        Raises:
            MalformedError: the name is not allowed or the seed is not 32 bytes.
        """
        # Not `nacl.signing`: it loads the public-key boxes as well, for every command that opens a keystore.
        from nacl.bindings import crypto_sign_seed_keypair  # noqa: PLC0415  (as above)

        if len(seed) != SEED_BYTES:
            raise MalformedError("an Ed25519 seed must be 32 bytes")
        public, self._secret = crypto_sign_seed_keypair(seed)
        self.verifier = Verifier(name, public)

    @property
    def name(self) -> str:
        """The key name."""
        return self.verifier.name

    @property
    def ref(self) -> KeyRef:
        """How its signatures name the key."""
        return self.verifier.ref

    def sign(self, message: bytes) -> bytes:
        """The 64-byte signature over ``message``; Ed25519 needs no randomness."""
        from nacl.bindings import crypto_sign  # noqa: PLC0415  (as above)

        return crypto_sign(message, self._secret)[:SIGNATURE_BYTES]


def find_verifier(ref: KeyRef, verifiers: Iterable[Verifier]) -> Verifier | None:
    """The one verifier that ``ref`` names, or ``None``.

    Two different keys under one name and id make signatures ambiguous; the caller built such a set, so this is
    ``RuntimeError``.
    """
    found = None
    for verifier in verifiers:
        if verifier.name == ref.name and verifier.key_id == ref.key_id:
            if found is not None and found != verifier:
                message = f"two keys share the name and id {ref}"
                raise RuntimeError(message)
            found = verifier
    return found
