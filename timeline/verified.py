"""A sidecar that was checked against the leaf that names it. Pure: the bytes come in as an argument."""

import msgspec

from sidecars.digest import Digest
from sidecars.envelope import open_envelope
from sidecars.errors import DigestMismatchError
from sidecars.keys import Verifier
from sidecars.leaf import SidecarEntry
from sidecars.sidecar import PAYLOAD_TYPE, EventRange, Sidecar, SidecarHeader, parse_sidecar


class VerifiedSidecar(msgspec.Struct, frozen=True):
    """A sidecar whose signature, digest, count and root were checked against its leaf.

    ``payload_offset`` is where the payload begins in the file; ``ranges`` count from there.
    """

    header: SidecarHeader
    digest: Digest
    payload_offset: int
    ranges: tuple[EventRange, ...]
    leaf_hashes: bytes
    """32 bytes for each event: what a line that is read later must hash to."""


class SealedSidecar(msgspec.Struct, frozen=True):
    """A sidecar that we have signed ourselves, with its file's bytes; it is stored with the leaf that names it."""

    verified: VerifiedSidecar
    content: bytes


def verify_sidecar(
    content: bytes, entry: SidecarEntry, *, origin: str, log_key: Verifier
) -> tuple[VerifiedSidecar, Sidecar]:
    """Check a sidecar file's bytes against the leaf that names it, at which ``log_key`` was in force.

    No other key will do: a newer one would let its holder write the past anew (X7, CVE-2023-31439).

    Raises:
        SidecarError: not those of the leaf, or not signed by that key.
    """
    opened = open_envelope(content, PAYLOAD_TYPE, [log_key])
    sidecar = parse_sidecar(opened.payload)
    header = sidecar.header
    stated = (header.origin, header.source, header.segment, header.count, header.root)
    if stated != (origin, entry.source, entry.segment, entry.count, entry.root):
        raise DigestMismatchError("a sidecar's header must state what its leaf states")
    verified = VerifiedSidecar(
        header, Digest.of(content), opened.payload_offset, sidecar.ranges, b"".join(sidecar.leaf_hashes)
    )
    return verified, sidecar
