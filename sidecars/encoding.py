"""One spelling for numbers and bytes in text: strict decimal, base64, base64url and lower-case hex.

Python's own decoders are generous: ``int`` takes underscores, spaces and other digits, ``b64decode`` takes
several spellings of one value. A signature could then be dressed up without breaking it. So every decoder here
encodes again and compares.
"""

import binascii
import re

from sidecars.errors import MalformedError, NonCanonicalError

INTEGER_MAX = 2**53 - 1
"""Largest integer that every JSON reader keeps exactly (RFC 8785, section 3.2.2.3; RFC 7493, section 2.2)."""

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}")
_HEX = re.compile(r"(?:[0-9a-f]{2})*")


def parse_decimal(text: str, field: str) -> int:
    """A number without sign, spaces or leading zeros, at most 19 digits and below 2**63.

    Raises:
        MalformedError: ``text`` is not such a number.
    """
    if not _DECIMAL.fullmatch(text) or (value := int(text)) >= 2**63:
        raise MalformedError(f"{field} must be a decimal number without leading zeros, below 2^63")
    return value


def to_base64(raw: bytes) -> str:
    """Standard base64 with padding (RFC 4648, section 4)."""
    return binascii.b2a_base64(raw, newline=False).decode("ascii")


def from_base64(text: str, field: str) -> bytes:
    """The bytes of standard, padded base64.

    Raises:
        MalformedError: not base64.
        NonCanonicalError: base64, but not the one spelling of its bytes.
    """
    try:
        raw = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise MalformedError(f"{field} must be standard base64") from error
    if to_base64(raw) != text:
        raise NonCanonicalError(f"{field} must be the one canonical base64 spelling of its bytes")
    return raw


def to_base64url(raw: bytes) -> str:
    """Base64url without padding (RFC 4648, section 5)."""
    return to_base64(raw).rstrip("=").replace("+", "-").replace("/", "_")


def from_base64url(text: str, field: str) -> bytes:
    """The bytes of unpadded base64url.

    Raises:
        MalformedError: not base64url.
        NonCanonicalError: base64url, but not the one spelling of its bytes.
    """
    if "+" in text or "/" in text or "=" in text:
        raise MalformedError(f"{field} must be base64url without padding")
    standard = text.replace("-", "+").replace("_", "/")
    return from_base64(standard + "=" * (-len(text) % 4), field)


def from_hex(text: str, field: str) -> bytes:
    """The bytes of lower-case hex.

    Raises:
        MalformedError: anything else.
    """
    if not _HEX.fullmatch(text):
        raise MalformedError(f"{field} must be lower-case hex")
    return bytes.fromhex(text)
