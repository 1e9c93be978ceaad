"""C2SP signed notes: text with signature lines (https://c2sp.org/signed-note).

Rules
- the text ends with a newline and is split from the signatures by the *last* empty line;
- valid UTF-8, no control character below U+0020 but newline;
- signatures by unknown keys are ignored; a known key's bad signature refuses the whole note; without a good one by
  a known key it is refused. Known keys are Ed25519 keys (type 0x01).
Text that was not opened by ``open_note`` must not be used.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from sidecars.encoding import from_base64, to_base64
from sidecars.errors import MalformedError, NonCanonicalError, UnknownKeyError
from sidecars.keys import KEY_ID_BYTES, KeyRef, Signer, Verifier, check_key_name, find_verifier

NOTE_BYTES_MAX: Final = 128 * 1024
"""Room for 16 signatures of 5 kB, which C2SP asks every verifier to accept, and for a long text."""

SIGNATURES_MAX: Final = 32
"""C2SP: at least 16 must be accepted, and there should be a limit."""

_DASH: Final = "\u2014 "
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class NoteSignature(NamedTuple):
    """One signature line: the key it names and the signature's bytes, of any type and length."""

    key: KeyRef
    signature: bytes

    def line(self) -> str:
        """The line without its newline."""
        return f"{_DASH}{self.key.name} {to_base64(self.key.key_id + self.signature)}"


class Note(NamedTuple):
    """A parsed note. Parsed is not verified."""

    text: str
    signatures: tuple[NoteSignature, ...]


class OpenedNote(NamedTuple):
    """A note that at least one known key signed; ``keys`` are the known keys whose signatures are good."""

    text: str
    keys: tuple[KeyRef, ...]


def sign_note(text: str, signers: Sequence[Signer]) -> bytes:
    """The note of ``text`` with the signers' lines in the given order.

    Raises:
        MalformedError: ``text`` is no note text, or there are no or too many signers.
    """
    _check_text(text)
    message = text.encode()
    return format_note(
        Note(text, tuple(NoteSignature(signer.ref, signer.sign(message)) for signer in signers))
    )


def format_note(note: Note) -> bytes:
    """The bytes of a note.

    Raises:
        MalformedError: the text or the number of signatures is not allowed.
    """
    _check_text(note.text)
    if not 1 <= len(note.signatures) <= SIGNATURES_MAX:
        raise MalformedError(f"a note must have 1 to {SIGNATURES_MAX} signatures")
    lines = "".join(f"{signature.line()}\n" for signature in note.signatures)
    return f"{note.text}\n{lines}".encode()


def parse_note(content: bytes) -> Note:
    """Read a note; nothing is verified yet.

    Raises:
        MalformedError: not a note, too large, or another spelling.
    """
    if len(content) > NOTE_BYTES_MAX:
        raise MalformedError(f"a note must be at most {NOTE_BYTES_MAX} bytes")
    try:
        whole = content.decode()
    except UnicodeDecodeError as error:
        raise MalformedError("a note must be UTF-8") from error
    if not whole.endswith("\n"):
        raise MalformedError("a note must end with a newline")
    text, border, tail = whole[:-1].rpartition("\n\n")
    if not border:
        raise MalformedError("a note's signatures must follow an empty line")
    lines = tail.split("\n")
    if len(lines) > SIGNATURES_MAX:
        raise MalformedError(f"a note must have 1 to {SIGNATURES_MAX} signatures")
    note = Note(text + "\n", tuple(_parse_signature(line) for line in lines))
    if format_note(note) != content:
        raise NonCanonicalError("a note has one spelling")
    return note


def open_note(content: bytes, verifiers: Sequence[Verifier]) -> OpenedNote:
    """Verify a note with the keys that are known here.

    Raises:
        MalformedError: as ``parse_note``.
        BadSignatureError: a known key's signature does not fit.
        UnknownKeyError: no known key signed.
    """
    note = parse_note(content)
    message = note.text.encode()
    keys: list[KeyRef] = []
    for signature in note.signatures:
        verifier = find_verifier(signature.key, verifiers)
        if verifier is None:
            continue
        verifier.verify(message, signature.signature)
        if signature.key not in keys:
            keys.append(signature.key)
    if not keys:
        raise UnknownKeyError("no signature of the note is by a known key")
    return OpenedNote(note.text, tuple(keys))


def _check_text(text: str) -> None:
    if not text.endswith("\n"):
        raise MalformedError("a note's text must end with a newline")
    if _CONTROL.search(text):
        raise MalformedError("a note must hold no control characters")
    if _SURROGATE.search(text):
        raise MalformedError("a note must hold no lone surrogates")


def _parse_signature(line: str) -> NoteSignature:
    if not line.startswith(_DASH):
        raise MalformedError("a signature line must begin with an em dash and a space")
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    raw = from_base64(encoded, "note signature")
    if len(raw) <= KEY_ID_BYTES:
        raise MalformedError("a note signature must be a key id and at least one byte")
    return NoteSignature(KeyRef(check_key_name(name), raw[:KEY_ID_BYTES]), raw[KEY_ID_BYTES:])
