"""minisign signature files: one signer, any file, and a signed comment (https://jedisct1.github.io/minisign/).

Four lines, each ended by a newline
    untrusted comment: <text that nobody signed>
    <base64 of "ED", the 8 bytes of the key's id, and the signature>
    trusted comment: <text>
    <base64 of the signature over signature and trusted comment>

Rules
- the signature is Ed25519 over the 64 bytes of BLAKE2b-512 of the file (prehashed, ``ED``);
- the legacy form ``Ed`` is refused: it signs the file's own bytes, so that whatever else a key has signed, such as the
  text of a note, could be passed off as a file that was signed on purpose;
- minisign itself reads several spellings (CRLF, lines behind the fourth); here a file has one.
What a comment says is believed only from ``verify_comment``, and a file only after ``verify_file``.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from sidecars.encoding import from_base64, to_base64
from sidecars.errors import MalformedError, UnknownKeyError, UnsupportedVersionError
from sidecars.keys import SIGNATURE_BYTES, Signer, Verifier

PREHASHED: Final = b"ED"
"""Signatures over BLAKE2b-512 of the file."""

LEGACY: Final = b"Ed"
"""Signatures over the file itself; also the algorithm that every public key names."""

KEY_ID_BYTES: Final = 8
UNTRUSTED_LINE_BYTES_MAX: Final = 1023
TRUSTED_LINE_BYTES_MAX: Final = 8191
"""With prefix and newline: minisign reads each into a buffer of one byte more (``COMMENTMAXBYTES`` and its sister)."""

SIGNATURE_FILE_BYTES_MAX: Final = 10 * 1024
"""Both comments at their longest, 101 and 89 bytes of base64 lines, and room."""

_UNTRUSTED: Final = "untrusted comment: "
_TRUSTED: Final = "trusted comment: "
_LINES: Final = 4
_CONTROL: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
"""All but the tabulator, which minisign's own comments hold; and what is no character."""


@dataclass(frozen=True, slots=True)
class MinisignSignature:
    """A parsed signature file. Parsed is not verified.

    Raises:
        MalformedError: a comment is too long or not one line of text, or a part has another length.
    """

    untrusted_comment: str
    key_id: bytes
    signature: bytes
    trusted_comment: str
    global_signature: bytes

    def __post_init__(self) -> None:
        """Refuse what no file can hold."""
        _check_line(_UNTRUSTED + self.untrusted_comment, UNTRUSTED_LINE_BYTES_MAX)
        _check_line(_TRUSTED + self.trusted_comment, TRUSTED_LINE_BYTES_MAX)
        lengths = (len(self.key_id), len(self.signature), len(self.global_signature))
        if lengths != (KEY_ID_BYTES, SIGNATURE_BYTES, SIGNATURE_BYTES):
            raise MalformedError("a minisign file must hold a key id of 8 bytes and two signatures of 64")


@dataclass(frozen=True, slots=True)
class MinisignKey:
    """A public key with the id under which minisign knows it; text is the line that ``minisign -P`` takes.

    Raises:
        MalformedError: the id is not 8 bytes.
    """

    key_id: bytes
    verifier: Verifier

    def __post_init__(self) -> None:
        """Check the length; minisign draws ids at random, so nothing else can be."""
        if len(self.key_id) != KEY_ID_BYTES:
            raise MalformedError("the id of a minisign key must be 8 bytes")

    @classmethod
    def of(cls, verifier: Verifier) -> "MinisignKey":
        """The key under our own id for it: the first 8 bytes of SHA-256 of the public key."""
        return cls(hashlib.sha256(verifier.public_key).digest()[:KEY_ID_BYTES], verifier)

    def __str__(self) -> str:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        """``RW…``: base64 of ``Ed``, id and public key."""
        return to_base64(LEGACY + self.key_id + self.verifier.public_key)


def sign_file(content: bytes, trusted_comment: str, untrusted_comment: str, signer: Signer) -> bytes:
    """The signature file of ``content``.

    Raises:
        MalformedError: a comment is too long or not one line of text.
    """
    _check_line(_TRUSTED + trusted_comment, TRUSTED_LINE_BYTES_MAX)
    signature = signer.sign(_prehash(content))
    key_id = MinisignKey.of(signer.verifier).key_id
    global_signature = signer.sign(signature + trusted_comment.encode())
    return format_signature(
        MinisignSignature(untrusted_comment, key_id, signature, trusted_comment, global_signature)
    )


def format_signature(found: MinisignSignature) -> bytes:
    """The one spelling of a signature file."""
    lines = (
        _UNTRUSTED + found.untrusted_comment,
        to_base64(PREHASHED + found.key_id + found.signature),
        _TRUSTED + found.trusted_comment,
        to_base64(found.global_signature),
    )
    return "".join(f"{line}\n" for line in lines).encode()


def is_signature_file(content: bytes) -> bool:
    """Whether this is to be read as a signature file, and not as one that was signed."""
    return content.startswith(_UNTRUSTED.encode())


def parse_signature(content: bytes) -> MinisignSignature:
    """Read a signature file; nothing is verified yet.

    Raises:
        MalformedError: not such a file, too large, or another spelling.
        UnsupportedVersionError: a signature of another algorithm, the legacy one among them.
    """
    if len(content) > SIGNATURE_FILE_BYTES_MAX:
        raise MalformedError(f"a minisign file must be at most {SIGNATURE_FILE_BYTES_MAX} bytes")
    try:
        lines = content.decode().split("\n")
    except UnicodeDecodeError as error:
        raise MalformedError("a minisign file must be UTF-8") from error
    if len(lines) != _LINES + 1 or lines[-1]:
        raise MalformedError("a minisign file must be four lines, each ended by a newline")
    if not lines[0].startswith(_UNTRUSTED) or not lines[2].startswith(_TRUSTED):
        raise MalformedError("a minisign file must have its untrusted and its trusted comment")
    raw = from_base64(lines[1], "minisign signature")
    if raw[:2] == LEGACY:
        raise UnsupportedVersionError(
            "the minisign signature must be over the file's hash (ED), not over the file (Ed)",
            hint="sign without -l",
        )
    if raw[:2] != PREHASHED:
        raise UnsupportedVersionError("the minisign signature must be of the algorithm ED")
    return MinisignSignature(
        lines[0].removeprefix(_UNTRUSTED),
        raw[2 : 2 + KEY_ID_BYTES],
        raw[2 + KEY_ID_BYTES :],
        lines[2].removeprefix(_TRUSTED),
        from_base64(lines[3], "minisign global signature"),
    )


def verify_comment(found: MinisignSignature, key: MinisignKey) -> str:
    """The trusted comment, if ``key`` signed it together with the signature.

    Raises:
        UnknownKeyError: the file names another key.
        BadSignatureError: the signature does not fit.
    """
    _check_key(found, key)
    key.verifier.verify(found.signature + found.trusted_comment.encode(), found.global_signature)
    return found.trusted_comment


def verify_file(found: MinisignSignature, content: bytes, key: MinisignKey) -> None:
    """Return only if ``key`` signed ``content``. The comment is a matter of its own: ``verify_comment``.

    Raises:
        UnknownKeyError: the file names another key.
        BadSignatureError: the signature does not fit.
    """
    _check_key(found, key)
    key.verifier.verify(_prehash(content), found.signature)


def _check_key(found: MinisignSignature, key: MinisignKey) -> None:
    if found.key_id != key.key_id:
        raise UnknownKeyError("the minisign signature must be by the given key")


def _prehash(content: bytes) -> bytes:
    return hashlib.blake2b(content).digest()


def _check_line(line: str, size_max: int) -> None:
    """Refuse a comment, given with its prefix."""
    if _CONTROL.search(line):
        raise MalformedError("a minisign comment must be text without control characters but tabulators")
    if len(line.encode()) + 1 > size_max:
        raise MalformedError(f"a minisign comment's line must be at most {size_max} bytes")
