"""What a backup consists of: the manifest, signed with the log key, and the closed list of names. Pure.

A backup is the one spelling of its manifest (``docs/spec/backup.md``): which files, in which order, how long, and with
which digests. Names outside the list, sizes out of bounds and files that are missing are refused before anything of a
backup is written anywhere.
"""

import re
from typing import Annotated, Final, Literal

import msgspec

from sidecars.digest import Digest
from sidecars.encoding import from_hex
from sidecars.envelope import open_envelope, seal
from sidecars.keys import Signer, Verifier
from sidecars.store import FILE_BYTES_MAX
from sidecars.wire import Count, DigestText, Origin, TimeMs, format_struct, parse_struct
from timeline.errors import BackupInvalidError
from timeline.limits import (
    BACKUP_FILE_BYTES_MAX,
    CONFIG_BYTES_MAX,
    KEY_BYTES_MAX,
    NOTE_BYTES_MAX,
    SUPPRESSION_BYTES_MAX,
)

PAYLOAD_TYPE: Final = "application/vnd.timeline.backup.v1+json"
SCHEMA: Final = "timeline-backup/v1"

PINS: Final = "trust/pins"
"""The first file: without it nobody can say who has signed the manifest."""

DATABASE: Final = "state/state.db"
HEAD: Final = "state/head"
ANCHOR: Final = "trust/anchor"
ANCHOR_PIN: Final = "config/anchors"
SETTINGS: Final = "config/config.toml"
SUPPRESSION: Final = "trust/suppression"
SUPPRESSION_KEY: Final = "trust/suppression.key"
"""What was forgotten, as keyed digests: both are there, or nothing was ever forgotten."""

KEYS: Final = ("trust/keys/fingerprint.key", "trust/keys/log.key", "trust/keys/owner.key")
SIDECARS: Final = "state/sidecars/"
MEMORIES: Final = "trust/anchors/"

_NEEDED: Final = frozenset({PINS, DATABASE, HEAD, ANCHOR, ANCHOR_PIN})
_BOUNDS: Final[tuple[tuple[re.Pattern[str], int], ...]] = (
    (re.compile(r"state/sidecars/sha256-[0-9a-f]{64}"), FILE_BYTES_MAX),
    (re.compile(r"state/state\.db"), BACKUP_FILE_BYTES_MAX),
    (re.compile(r"state/head|trust/anchor|trust/anchors/[a-z0-9][a-z0-9-]{0,31}"), NOTE_BYTES_MAX),
    (re.compile(r"trust/suppression"), SUPPRESSION_BYTES_MAX),
    (
        re.compile(
            r"trust/pins|trust/suppression\.key|trust/keys/(?:fingerprint|log|owner)\.key|config/anchors"
        ),
        KEY_BYTES_MAX,
    ),
    (re.compile(r"config/config\.toml"), CONFIG_BYTES_MAX),
)
"""Every name that a file of a backup can have, and how many bytes it may hold."""


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of a backup: its name, ``/`` between the parts, its size in bytes and the digest of its bytes."""

    name: Annotated[str, msgspec.Meta(max_length=100)]
    size: Count
    digest: DigestText


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which log, of which size and root, was copied at ``at`` (UTC milliseconds), and every file of the copy in order.

    ``trust/pins`` is the first file; the others follow by name.
    """

    schema: Literal["timeline-backup/v1"] = SCHEMA
    origin: Origin
    size: Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]
    root: DigestText
    at: TimeMs
    members: Annotated[tuple[Member, ...], msgspec.Meta(min_length=1)]

    @property
    def names(self) -> frozenset[str]:
        """The names of all files."""
        return frozenset(member.name for member in self.members)

    @property
    def has_keys(self) -> bool:
        """Whether the private keys are among the files."""
        return set(KEYS) <= self.names


_DECODER: Final = msgspec.json.Decoder(Manifest)


def order_members(members: list[Member]) -> tuple[Member, ...]:
    """The files in the order in which a backup holds them."""
    return tuple(sorted(members, key=lambda member: (member.name != PINS, member.name)))


def seal_manifest(manifest: Manifest, signer: Signer) -> bytes:
    """The signed manifest.

    Raises:
        BackupInvalidError, MalformedError: the files are not those of a backup; of a database that is too large, too.
    """
    check_members(manifest)
    return seal(PAYLOAD_TYPE, format_struct(manifest, _DECODER, "manifest"), [signer])


def open_manifest(envelope: bytes, log_keys: tuple[Verifier, ...]) -> Manifest:
    """Verify a manifest with the pinned log keys, then read it.

    Raises:
        UnverifiedError, MalformedError, UnsupportedVersionError: not signed by one of these keys, or not a manifest.
        BackupInvalidError: its files are not those of a backup.
    """
    payload = open_envelope(envelope, PAYLOAD_TYPE, log_keys).payload
    manifest = parse_struct(payload, _DECODER, "manifest")
    check_members(manifest)
    return manifest


def check_members(manifest: Manifest) -> None:
    """Return only if the files are those that a backup holds, each once and in order, within their bounds.

    Raises:
        BackupInvalidError: they are not.
    """
    members, names = manifest.members, manifest.names
    if order_members(list(members)) != members or len(names) != len(members):
        message = "manifest: each file must stand there once, trust/pins first, the others by name"
        raise BackupInvalidError(message)
    if len(names & {SUPPRESSION, SUPPRESSION_KEY}) == 1:
        message = f"manifest: {SUPPRESSION} and {SUPPRESSION_KEY} come together or not at all"
        raise BackupInvalidError(message)
    if not names >= _NEEDED or 0 < len(names & set(KEYS)) < len(KEYS):
        message = f"manifest: a backup holds {', '.join(sorted(_NEEDED))}, and all of its keys or none"
        raise BackupInvalidError(message)
    for number, member in enumerate(members):
        bound = next((bound for form, bound in _BOUNDS if form.fullmatch(member.name)), None)
        if bound is None:
            message = f"manifest: file {number}: its name must be one that a backup can hold"
            raise BackupInvalidError(message)
        if member.size > bound:
            message = f"manifest: {member.name}: {member.size} bytes, at most {bound} allowed"
            raise BackupInvalidError(message)
        if member.name.startswith(SIDECARS) and sidecar_digest(member.name) != Digest.parse(member.digest):
            message = f"manifest: {member.name}: its digest must be that of its name"
            raise BackupInvalidError(message)


def sidecar_digest(name: str) -> Digest:
    """The digest that the name of a sidecar's file states."""
    return Digest(from_hex(name.removeprefix(SIDECARS).removeprefix("sha256-"), "file name"))


def sidecar_name(digest: Digest) -> str:
    """The name of a sidecar's file."""
    return f"{SIDECARS}sha256-{digest.hex()}"
