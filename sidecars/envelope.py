"""Signed bytes: an envelope around the exact payload; verify first, then parse, never serialise again.

The signature covers DSSE's pre-authentication encoding of payload type and payload
(https://github.com/secure-systems-lab/dsse/blob/v1.0.2/protocol.md): the type is part of what is signed, so
what was signed as one thing cannot be offered as another. The file is our own text frame around the raw payload
(``docs/spec/envelope.md``), so that one event can be read at its place without decoding base64.

Rules
- one spelling: the header is formatted again and compared;
- 1 to 8 signatures, sorted, none twice; signatures by unknown keys are ignored, one bad signature by a known key
  refuses the whole, one good one by a known key is needed;
- bounds are checked before anything is decoded.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from sidecars.encoding import from_base64, parse_decimal, to_base64
from sidecars.errors import (
    MalformedError,
    NonCanonicalError,
    PayloadTypeError,
    UnknownKeyError,
    UnsupportedVersionError,
)
from sidecars.keys import SIGNATURE_BYTES, KeyRef, Signing, Verifier, find_verifier

MAGIC: Final = "timeline-envelope/v1"
HEADER_BYTES_MAX: Final = 8 * 1024
"""Eight signature lines with the longest names need a quarter of this; more is not ours."""

PAYLOAD_BYTES_MAX: Final = 64 * 1024 * 1024
"""Far above the largest sidecar (4096 events); keeps a hostile file from filling memory."""

SIGNATURES_MAX: Final = 8

_FAMILY = b"timeline-envelope/"
_PAYLOAD_TYPE = re.compile(r"[a-z0-9][a-z0-9.+/-]{0,126}")
_FIXED_LINES = 3


class EnvelopeSignature(NamedTuple):
    """One signature line: who it claims to be by, and 64 bytes."""

    key: KeyRef
    signature: bytes

    def line(self) -> str:
        """The line without its newline."""
        return f"{self.key} {to_base64(self.signature)}"


class Envelope(NamedTuple):
    """A parsed envelope. Parsed is not verified: only ``open_envelope`` says whom to believe."""

    payload_type: str
    signatures: tuple[EnvelopeSignature, ...]
    payload: bytes


class Verified(NamedTuple):
    """A payload that at least one expected key signed as the expected type.

    ``payload_offset`` is where the payload begins in the file; ``keys`` names the keys whose signatures are good.
    """

    payload: bytes
    payload_offset: int
    keys: tuple[KeyRef, ...]


def pae(payload_type: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: lengths before values, so no two pairs encode alike."""
    name = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(payload), payload)


def seal(payload_type: str, payload: bytes, signers: Sequence[Signing]) -> bytes:
    """The envelope of ``payload`` signed by 1 to 8 different signers.

    Raises:
        MalformedError: the type, the payload's size or the number of signers is out of bounds.
    """
    message = pae(payload_type, payload)
    signatures = [EnvelopeSignature(signer.ref, signer.sign(message)) for signer in signers]
    return format_envelope(
        Envelope(payload_type, tuple(sorted(signatures, key=EnvelopeSignature.line)), payload)
    )


def format_envelope(envelope: Envelope) -> bytes:
    """The one spelling of an envelope.

    Raises:
        MalformedError: a field is out of bounds; signatures out of order are ``NonCanonicalError``.
    """
    if not _PAYLOAD_TYPE.fullmatch(envelope.payload_type):
        raise MalformedError("an envelope's payload type must be 1 to 127 of a-z 0-9 . + / -")
    if len(envelope.payload) > PAYLOAD_BYTES_MAX:
        raise MalformedError(f"an envelope's payload must be at most {PAYLOAD_BYTES_MAX} bytes")
    return (
        _format_header(envelope.payload_type, len(envelope.payload), envelope.signatures) + envelope.payload
    )


def parse_envelope(content: bytes) -> Envelope:
    """Read an envelope; nothing is verified yet.

    Raises:
        MalformedError: not an envelope, truncated, too large, or another spelling.
        UnsupportedVersionError: an envelope of another version.
    """
    return _parse(content)[0]


def open_envelope(content: bytes, payload_type: str, verifiers: Sequence[Verifier]) -> Verified:
    """Verify an envelope; the caller parses the payload only after this returns.

    Raises:
        MalformedError, UnsupportedVersionError: as ``parse_envelope``.
        PayloadTypeError: it was signed as another type (prevents passing a leaf off as a sidecar).
        UnknownKeyError: none of ``verifiers`` signed it.
        BadSignatureError: a signature of one of ``verifiers`` does not fit.
    """
    envelope, payload_offset = _parse(content)
    return Verified(envelope.payload, payload_offset, verify_envelope(envelope, payload_type, verifiers))


def verify_envelope(
    envelope: Envelope, payload_type: str, verifiers: Sequence[Verifier]
) -> tuple[KeyRef, ...]:
    """The keys among ``verifiers`` whose signatures on ``envelope`` are good; at least one.

    Raises:
        PayloadTypeError, UnknownKeyError, BadSignatureError: as ``open_envelope``.
    """
    if envelope.payload_type != payload_type:
        raise PayloadTypeError(f"payload type must be {payload_type}")
    message = pae(envelope.payload_type, envelope.payload)
    keys = []
    for signature in envelope.signatures:
        verifier = find_verifier(signature.key, verifiers)
        if verifier is None:  # Whoever adds a signature of their own must not be able to spoil ours.
            continue
        verifier.verify(message, signature.signature)
        keys.append(signature.key)
    if not keys:
        raise UnknownKeyError("no signature of the envelope is by an expected key")
    return tuple(keys)


def _format_header(payload_type: str, size: int, signatures: Sequence[EnvelopeSignature]) -> bytes:
    if not 1 <= len(signatures) <= SIGNATURES_MAX:
        raise MalformedError(f"an envelope must have 1 to {SIGNATURES_MAX} signatures")
    if len({signature.key for signature in signatures}) != len(signatures):
        raise MalformedError("an envelope must have at most one signature of a key")
    lines = [signature.line() for signature in signatures]
    if lines != sorted(lines):
        raise NonCanonicalError("an envelope's signature lines must be sorted")
    return "\n".join([MAGIC, payload_type, str(size), *lines, "", ""]).encode()


def _parse(content: bytes) -> tuple[Envelope, int]:
    end = content.find(b"\n\n", 0, HEADER_BYTES_MAX)
    if not content.startswith(MAGIC.encode() + b"\n"):
        if content.startswith(_FAMILY) and b"\n" in content[: len(_FAMILY) + 16]:
            raise UnsupportedVersionError("the envelope is of another version than v1")
        raise MalformedError(f"an envelope must begin with the line {MAGIC}")
    if end < 0:
        raise MalformedError(f"an envelope's header must end within {HEADER_BYTES_MAX} bytes")
    try:
        lines = content[:end].decode().split("\n")
    except UnicodeDecodeError as error:
        raise MalformedError("an envelope's header must be UTF-8") from error
    if not _FIXED_LINES < len(lines) <= _FIXED_LINES + SIGNATURES_MAX:
        raise MalformedError(f"an envelope must have type, length and 1 to {SIGNATURES_MAX} signatures")
    if not _PAYLOAD_TYPE.fullmatch(lines[1]):
        raise MalformedError("an envelope's payload type must be 1 to 127 of a-z 0-9 . + / -")
    offset = end + 2
    size = parse_decimal(lines[2], "payload length")
    if size > PAYLOAD_BYTES_MAX or size != len(content) - offset:
        raise MalformedError("an envelope must end exactly where its payload does")
    signatures = tuple(_parse_signature(line) for line in lines[_FIXED_LINES:])
    if _format_header(lines[1], size, signatures) != content[:offset]:
        raise NonCanonicalError("an envelope's header has one spelling")
    return Envelope(lines[1], signatures, content[offset:]), offset


def _parse_signature(line: str) -> EnvelopeSignature:
    ref, _, encoded = line.partition(" ")
    signature = from_base64(encoded, "signature")
    if len(signature) != SIGNATURE_BYTES:
        raise MalformedError("a signature must be 64 bytes")
    return EnvelopeSignature(KeyRef.parse(ref), signature)
