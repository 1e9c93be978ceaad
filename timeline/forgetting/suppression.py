"""What was forgotten and must not come back, as keyed digests: nobody without the key can try out likely contents.

The list and its key lie in the trust folder and travel with a backup. The same digests stand in the erasure leaves of
the log, so that a list which is missing or was put back is made anew from there. Without the key nothing can be
compared, and nothing is taken in (M18, ADR 0029).

A digest is HMAC-SHA-256 over the RFC 8785 form of an array: the word for what it is, then its parts.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from sidecars.digest import Digest
from sidecars.errors import SidecarError
from sidecars.identity import canonical_bytes
from timeline.clock import Entropy
from timeline.errors import KeyMismatchError
from timeline.files import is_there, read_private, write_atomic
from timeline.forgetting.errors import ForgottenError, SuppressionInvalidError, SuppressionKeyLostError
from timeline.keyfile import format_key, read_key
from timeline.limits import SUPPRESSION_BYTES_MAX
from timeline.paths import Locations

Logged: TypeAlias = Mapping[str, frozenset[str]]
"""What the log's erasures suppress, by the commitment of the key that it was made with."""

_HEADER: Final = "timeline-suppression/v1"
_KEY_BYTES: Final = 32


class Forgotten(StrEnum):
    """What a digest is of, and of which parts."""

    SESSION = "session"  # host, session
    PATH = "path"  # path
    PREFIX = "prefix"  # length, digest of the first bytes as enrolled
    SOURCE = "source"  # reference
    EVENT = "event"  # event id
    LINES = "lines"  # digests of all lines of an event
    ASSERTION = "assertion"  # id
    SUBJECT = "subject"  # id
    VALUE = "value"  # tenant, project or nothing, audience, subject, predicate, text of the value
    IMPORTED_VALUE = "imported-value"  # the same without the audience: what the owner may not bring back
    WORK = "work"  # id
    CLAIM = "claim"  # id
    RECORD = "record"  # hash in the tree of a leaf that nothing else here names


class Suppression(msgspec.Struct, frozen=True):
    """The digests that are in force, and the key that they were made with; no key where nothing was ever forgotten."""

    key: bytes | None = None
    digests: frozenset[str] = frozenset()

    def digest(self, kind: Forgotten, *parts: str) -> str:
        """The keyed digest of something, as digests are spelled.

        Raises:
            RuntimeError: there is no key.
        """
        if self.key is None:
            message = "a digest is made with a key"
            raise RuntimeError(message)
        return digest_of(self.key, kind, *parts)

    def holds(self, kind: Forgotten, *parts: str) -> bool:
        """Whether exactly this was forgotten."""
        return bool(self.digests) and self.digest(kind, *parts) in self.digests

    def with_digests(self, more: Iterable[str]) -> "Suppression":
        """The same with more digests."""
        return msgspec.structs.replace(self, digests=self.digests.union(more))

    @property
    def commitment(self) -> str | None:
        """What names the key and tells nothing of it."""
        return None if self.key is None else commitment_of(self.key)

    def __repr__(self) -> str:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        """How many; no key."""
        return f"Suppression({len(self.digests)} digests)"


def digest_of(key: bytes, kind: Forgotten, *parts: str) -> str:
    """HMAC-SHA-256 of what ``kind`` and ``parts`` name, as digests are spelled. Pure."""
    message = canonical_bytes([kind.value, *parts])
    return str(Digest(hmac.new(key, message, hashlib.sha256).digest()))


def commitment_of(key: bytes) -> str:
    """SHA-256 that names a key. Pure."""
    return str(Digest(hashlib.sha256(b"timeline suppression key\0" + key).digest()))


# -- the two files ---------------------------------------------------------------------------------------------


def format_list(digests: Iterable[str]) -> bytes:
    """The one spelling of the list: a header, then each digest once, sorted."""
    return "\n".join([_HEADER, *sorted(set(digests)), ""]).encode()


def parse_list(content: bytes, name: str) -> frozenset[str]:
    """The digests of a list; ``name`` is what messages call it.

    Raises:
        SuppressionInvalidError: not the one spelling of a list.
    """
    try:
        header, *digests, end = content.decode("ascii").split("\n")
        parsed = [str(Digest.parse(text)) for text in digests]
    except (ValueError, SidecarError) as error:
        message = f"{name}: not a list of what was forgotten"
        raise SuppressionInvalidError(message) from error
    if header != _HEADER or end or parsed != sorted(set(parsed)):
        message = f"{name}: must be the header and each digest once, sorted"
        raise SuppressionInvalidError(message)
    return frozenset(parsed)


def read_key_file(locations: Locations) -> bytes | None:
    """The key, ``None`` where there is no file.

    Raises:
        SuppressionInvalidError: it is no key file.
        UnsafeFileError: it is not private.
    """
    path = locations.suppression_key
    if not is_there(path):
        return None
    try:
        return read_key(path)
    except KeyMismatchError as error:
        raise SuppressionInvalidError(error.message) from error


def read_list(locations: Locations) -> frozenset[str] | None:
    """The digests in the trust folder's list, ``None`` where there is no file.

    Raises:
        SuppressionInvalidError: it is no such list.
        UnsafeFileError: it is not private.
    """
    path = locations.suppression
    if not is_there(path):
        return None
    return parse_list(read_private(path, size_max=SUPPRESSION_BYTES_MAX), str(path))


def load_suppression(
    locations: Locations, logged: Logged, given_up: Callable[[], frozenset[str]] = frozenset
) -> Suppression:
    """What is in force: the list together with what the log holds (``logged``). Writes nothing.

    ``given_up`` tells the commitments of lost keys that the owner goes on without; asked only where one is missing.

    Raises:
        SuppressionKeyLostError: something was forgotten, and the key that it needs is gone.
        SuppressionInvalidError, UnsafeFileError: a file is not what was written.
    """
    key, listed = read_key_file(locations), read_list(locations)
    commitment = None if key is None else commitment_of(key)
    missing = {name for name, digests in logged.items() if digests and name != commitment}
    if (missing and not missing <= given_up()) or (key is None and listed):
        message = f"{locations.suppression_key}: is missing, or not the key of what was forgotten"
        raise SuppressionKeyLostError(message)
    if key is None or commitment is None:
        return Suppression()
    return Suppression(key, logged.get(commitment, frozenset()) | (listed or frozenset()))


def ready_suppression(
    locations: Locations, logged: Logged, given_up: Callable[[], frozenset[str]], entropy: Entropy
) -> Suppression:
    """The same to add to: where nothing was ever forgotten, a key is made; the caller holds the writer lock.

    Raises:
        SuppressionKeyLostError, SuppressionInvalidError, StateError: see ``load_suppression``.
        StateUnwritableError: the key cannot be written.
    """
    found = load_suppression(locations, logged, given_up)
    return found if found.key is not None else make_new_key(locations, entropy)


def write_suppression(locations: Locations, digests: Iterable[str]) -> None:
    """Make the list hold exactly these, durably.

    Raises:
        SuppressionInvalidError: it would be longer than can be read again; the old list stands.
        StateUnwritableError: it cannot be written; the old list stands.
    """
    content = format_list(digests)
    path = locations.suppression
    if len(content) > SUPPRESSION_BYTES_MAX:
        message = f"{path}: would be longer than {SUPPRESSION_BYTES_MAX} bytes"
        raise SuppressionInvalidError(
            message, hint="forget less; what the log holds is in force without the list"
        )
    if not is_there(path) or read_private(path, size_max=SUPPRESSION_BYTES_MAX) != content:
        write_atomic(path, content)


def make_new_key(locations: Locations, entropy: Entropy) -> Suppression:
    """Begin a new key and an empty list, after the owner has given the lost one up.

    Raises:
        StateUnwritableError: a file cannot be written.
    """
    write_atomic(locations.suppression, format_list(()))
    write_atomic(locations.suppression_key, format_key(entropy.bytes(_KEY_BYTES)))
    return Suppression(read_key_file(locations))


# -- what may be taken in --------------------------------------------------------------------------------------


def check_not_forgotten(suppression: Suppression, what: str, kind: Forgotten, *parts: str) -> None:
    """Return only if this was not forgotten. Pure.

    Raises:
        ForgottenError: it was; the message says ``what`` and nothing of it.
    """
    if suppression.holds(kind, *parts):
        message = f"{what}: was forgotten"
        raise ForgottenError(message)


def check_transcript(
    suppression: Suppression, *, host: str, session: str, path: str, beginning: bytes = b""
) -> None:
    """Return only if a session, its path and its first bytes were not forgotten. Pure.

    A copied transcript has another path and the same ``beginning``; how much of it was known then is not known now, so
    that each length is tried.

    Raises:
        ForgottenError: one was.
    """
    check_not_forgotten(suppression, "the session", Forgotten.SESSION, host, session)
    check_not_forgotten(suppression, "the transcript's path", Forgotten.PATH, path)
    if not suppression.digests:
        return
    for length in range(1, len(beginning) + 1):
        digest = str(Digest.of(beginning[:length]))
        check_not_forgotten(suppression, "the transcript", Forgotten.PREFIX, str(length), digest)
