"""``Digest``: a SHA-256 value with one spelling in text.

In text it is unpadded base64url, 43 characters; file names use ``hex``, C2SP notes use standard base64 and take
``raw``. There is no other hash: an algorithm that can be chosen is one that an attacker chooses.
"""

import hashlib
from dataclasses import dataclass

from sidecars.encoding import from_base64url, to_base64url
from sidecars.errors import MalformedError

DIGEST_BYTES = 32
"""Length of SHA-256 (FIPS 180-4)."""

DIGEST_PATTERN = r"^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]\Z"
"""The one spelling as a pattern: the last character carries four bits, so its two low bits are zero."""


@dataclass(frozen=True, slots=True)
class Digest:
    """32 bytes of SHA-256, comparable and hashable.

    Raises:
        MalformedError: ``raw`` is not 32 bytes.
    """

    raw: bytes

    def __post_init__(self) -> None:
        """Refuse any other length."""
        if len(self.raw) != DIGEST_BYTES:
            raise MalformedError("a digest must be 32 bytes")

    @classmethod
    def of(cls, content: bytes) -> "Digest":
        """The digest of ``content``."""
        return cls(hashlib.sha256(content).digest())

    @classmethod
    def parse(cls, text: str) -> "Digest":
        """The digest that ``text`` spells.

        Raises:
            MalformedError: not 43 characters of base64url, or another spelling of the same bytes.
        """
        return cls(from_base64url(text, "digest"))

    def hex(self) -> str:
        """64 lower-case hex digits, for file names."""
        return self.raw.hex()

    def __str__(self) -> str:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        """43 characters of unpadded base64url."""
        return to_base64url(self.raw)
