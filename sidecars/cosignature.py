"""C2SP cosignatures: a witness's timed signature over a checkpoint (https://c2sp.org/tlog-cosignature, type 0x04).

A cosignature says: at that time, this was the largest consistent tree that the witness had seen of this origin. It
stands as one more signature line in the checkpoint's note; its bytes are the POSIX time in 8 bytes, big-endian, and
the 64 bytes of an Ed25519 signature over

    cosignature/v1
    time <decimal seconds>
    <text of the note>

The signed bytes do not name the witness, so a key must belong to one witness only. Keys of other types than Ed25519,
ML-DSA-44 among them, are refused where they are pinned and ignored in a note.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sidecars.encoding import to_base64
from sidecars.errors import BadSignatureError, MalformedError, NonCanonicalError, UnsupportedVersionError
from sidecars.keys import (
    SIGNATURE_BYTES,
    KeyRef,
    Signer,
    Verifier,
    check_public_key,
    compute_key_id,
    split_vkey,
)
from sidecars.note import Note, NoteSignature, format_note, parse_note

COSIGNATURE_TYPE: Final = b"\x04"
"""Signature type of a timed Ed25519 cosignature (C2SP signed-note, "Signature types")."""

TIME_BYTES: Final = 8
COSIGNATURE_BYTES: Final = TIME_BYTES + SIGNATURE_BYTES
SECONDS_MAX: Final = 2**63 - 1
"""The latest time that C2SP allows."""


# Dataclasses: a third party verifies proofs without msgspec (ADR 0015, tests/sidecars/test_two_dependencies.py).
@dataclass(frozen=True, slots=True)
class Cosignature:
    """A verified cosignature: whose, and from when (POSIX seconds, by the witness's clock)."""

    key: KeyRef
    at: int


@dataclass(frozen=True, slots=True)
class WitnessVerifier:
    """A witness's public key with its name.

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
        """The four bytes that cosignatures by this key carry; another type than a log's gives another id."""
        return compute_key_id(self.name, self.public_key, COSIGNATURE_TYPE)

    @property
    def ref(self) -> KeyRef:
        """How signature lines by this key name it."""
        return KeyRef(self.name, self.key_id)

    @classmethod
    def parse(cls, text: str) -> "WitnessVerifier":
        """Read a vkey, ``<name>+<8 hex>+<base64 of 0x04 and the key>``.

        Raises:
            MalformedError: not a vkey, or its id is not that of its name and key.
            UnsupportedVersionError: another signature type, a log's 0x01 among them.
        """
        ref, kind, public_key = split_vkey(text)
        if kind != COSIGNATURE_TYPE:
            raise UnsupportedVersionError(
                f"signature type 0x{kind.hex()} of a witness's vkey is not the Ed25519 cosignature (0x04)",
                hint="pin the key that the witness publishes for cosignatures; it begins with B after the last +",
            )
        verifier = cls(ref.name, public_key)
        if verifier.key_id != ref.key_id:
            raise MalformedError("the id in a vkey must be that of its name and key")
        return verifier

    def __str__(self) -> str:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        """The vkey text."""
        return f"{self.ref}+{to_base64(COSIGNATURE_TYPE + self.public_key)}"

    def verify(self, text: str, signature: bytes) -> int:
        """Return the time of a cosignature, only if it is this witness's over the note text ``text``.

        Raises:
            BadSignatureError: it is not.
        """
        if len(signature) != COSIGNATURE_BYTES:
            raise BadSignatureError(f"cosignature by {self.ref} must be {COSIGNATURE_BYTES} bytes")
        at = int.from_bytes(signature[:TIME_BYTES], "big")
        if at > SECONDS_MAX:
            raise BadSignatureError(f"cosignature by {self.ref} must have a time below 2^63")
        try:
            Verifier(self.name, self.public_key).verify(cosigned_message(text, at), signature[TIME_BYTES:])
        except BadSignatureError as error:  # it names the key as a log's, with another id
            raise BadSignatureError(f"cosignature by {self.ref} does not fit the checkpoint") from error
        return at


class WitnessSigner:
    """A witness's private key with its name. Its representation is the default one and shows no seed."""

    __slots__ = ("_signer", "verifier")

    verifier: WitnessVerifier
    _signer: Signer

    def __init__(self, name: str, seed: bytes) -> None:
        """Take the 32-byte seed of RFC 8032.

        Raises:
            MalformedError: the name is not allowed or the seed is not 32 bytes.
        """
        self._signer = Signer(name, seed)
        self.verifier = WitnessVerifier(name, self._signer.verifier.public_key)

    def cosign(self, text: str, at: int) -> NoteSignature:
        """The signature line over the note text ``text`` at ``at`` POSIX seconds.

        Raises:
            MalformedError: the time is out of bounds.
        """
        signature = self._signer.sign(cosigned_message(text, at))
        return NoteSignature(self.verifier.ref, at.to_bytes(TIME_BYTES, "big") + signature)


def cosigned_message(text: str, at: int) -> bytes:
    """The bytes that a witness signs.

    Raises:
        MalformedError: the time is out of bounds.
    """
    if not 0 <= at <= SECONDS_MAX:
        raise MalformedError("a cosignature's time must be 0 to 2^63 - 1 seconds")
    return f"cosignature/v1\ntime {at}\n{text}".encode()


def open_cosignatures(note: bytes, witnesses: Iterable[WitnessVerifier]) -> tuple[Cosignature, ...]:
    """The cosignatures of a note by the witnesses that are known here, in the order of their lines; maybe none.

    The log's own signature is not looked at: ``open_checkpoint`` verifies it.

    Raises:
        MalformedError: not a note; ``NonCanonicalError``: a witness has two lines, so that one could count twice.
        BadSignatureError: a known witness's line does not verify.
    """
    parsed = parse_note(note)
    known = {witness.ref: witness for witness in witnesses}
    found: dict[KeyRef, Cosignature] = {}
    for line in parsed.signatures:
        witness = known.get(line.key)
        if witness is None:
            continue
        if line.key in found:
            raise NonCanonicalError("a witness must have one line in a note")
        found[line.key] = Cosignature(line.key, witness.verify(parsed.text, line.signature))
    return tuple(found.values())


def add_signatures(note: bytes, lines: Sequence[NoteSignature]) -> bytes:
    """The note with these lines in place of those by the same keys, after the rest.

    Raises:
        MalformedError: not a note, or too many signatures.
    """
    return format_note(with_signatures(parse_note(note), lines))


def with_signatures(note: Note, lines: Sequence[NoteSignature]) -> Note:
    """The same for a parsed note."""
    replaced = {line.key for line in lines}
    kept = [line for line in note.signatures if line.key not in replaced]
    return Note(note.text, (*kept, *lines))
