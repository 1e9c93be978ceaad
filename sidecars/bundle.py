"""The proof of one event as a file: event, leaves and checkpoint with the Merkle paths between them.

``docs/spec/proof.md`` has the format. It has one spelling: what was read is written again and compared. Nothing here
is verified; ``proven`` does that, with keys that come from elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sidecars.checkpoint import parse_checkpoint
from sidecars.closed import EVENT_BYTES_MAX, EVENTS_MAX, LEAF_BYTES_MAX
from sidecars.cosignature import COSIGNATURE_BYTES
from sidecars.encoding import from_base64, parse_decimal, to_base64
from sidecars.envelope import HEADER_BYTES_MAX
from sidecars.errors import MalformedError, NonCanonicalError, UnsupportedVersionError
from sidecars.keys import SIGNATURE_BYTES
from sidecars.merkle import HASH_BYTES, PROOF_HASHES_MAX, inclusion_proof
from sidecars.note import Note, NoteSignature, format_note, parse_note

MAGIC: Final = "timeline-proof/v1"

BUNDLE_BYTES_MAX: Final = 1024 * 1024
"""One sidecar leaf that gives up 4,096 sidecars takes a quarter of this; a usual proof takes 5 KB."""

EVENT_HASHES_MAX: Final = (EVENTS_MAX - 1).bit_length()
"""Hashes from an event up to its sidecar's root."""

LEAVES_MAX: Final = 8
"""Policy, sidecar, and the epoch of each log key that signed something: as a rule three, four after a rotation."""

SALT_BYTES: Final = 32
ENTRY_BYTES_MAX: Final = SALT_BYTES + HEADER_BYTES_MAX + LEAF_BYTES_MAX

_FAMILY: Final = "timeline-proof/v"


@dataclass(frozen=True, slots=True)
class BundleLeaf:
    """One leaf of the log with its salt, its exact envelope, and the path from its sibling up to the root."""

    index: int
    salt: bytes
    envelope: bytes
    hashes: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Bundle:
    """A parsed proof. Parsed is not verified.

    ``place`` is the number of the event in its sidecar, from 0, ``event`` its exact line without the newline, and
    ``hashes`` the path from its sibling up to the sidecar's root. ``leaves`` are in order of their indexes.
    ``checkpoint`` is the exact note.
    """

    place: int
    event: bytes
    hashes: tuple[bytes, ...]
    leaves: tuple[BundleLeaf, ...]
    checkpoint: bytes


def assemble_bundle(
    event: bytes,
    place: int,
    events: Sequence[bytes],
    entries: Mapping[int, tuple[bytes, bytes]],
    leaves: Sequence[bytes],
    note: bytes,
) -> Bundle:
    """The proof of the event line ``event``, number ``place`` of its sidecar.

    ``events`` are the hashes of all events of the sidecar, ``leaves`` those of all leaves under the checkpoint
    ``note``, and ``entries`` salt and envelope of the leaves to be shown, by their indexes.

    Raises:
        MalformedError: the note is none, or no signature of a known form is on it.
    """
    shown = tuple(
        BundleLeaf(index, *entries[index], inclusion_proof(leaves, index)) for index in sorted(entries)
    )
    return Bundle(place, event, inclusion_proof(events, place), shown, arrange_note(parse_note(note)))


def format_bundle(bundle: Bundle) -> bytes:
    """The one spelling of a proof.

    Raises:
        MalformedError: a field is out of bounds; ``NonCanonicalError`` where an order is wrong.
    """
    _check_bounds(bundle)
    lines = [MAGIC, f"event {bundle.place}", bundle.event.decode("ascii")]
    lines.extend(map(to_base64, bundle.hashes))
    for leaf in bundle.leaves:
        lines += [f"leaf {leaf.index}", to_base64(leaf.salt + leaf.envelope), *map(to_base64, leaf.hashes)]
    content = "\n".join([*lines, "", ""]).encode() + bundle.checkpoint
    if len(content) > BUNDLE_BYTES_MAX:
        raise MalformedError(f"a proof must be at most {BUNDLE_BYTES_MAX} bytes")
    return content


def parse_bundle(content: bytes) -> Bundle:
    """Read a proof; nothing is verified yet.

    Raises:
        MalformedError: not a proof, or too large; ``NonCanonicalError`` for another spelling.
        UnsupportedVersionError: a proof of another version.
    """
    if len(content) > BUNDLE_BYTES_MAX:
        raise MalformedError(f"a proof must be at most {BUNDLE_BYTES_MAX} bytes")
    head, border, checkpoint = content.partition(b"\n\n")
    try:
        first, *lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError as error:
        raise MalformedError("a proof's lines must be ASCII") from error
    if first != MAGIC:
        if first.startswith(_FAMILY):
            raise UnsupportedVersionError(f"the proof must be {MAGIC}")
        raise MalformedError(f"a proof must begin with the line {MAGIC}")
    if not border:
        raise MalformedError("a proof's checkpoint must follow an empty line")
    place, event, hashes, rest = _take(lines, "event")
    leaves: list[BundleLeaf] = []
    while rest:
        index, entry, path, rest = _take(rest, "leaf")
        if len(leaves) == LEAVES_MAX or len(entry) > ENTRY_BYTES_MAX * 4 // 3 + 4:
            raise MalformedError(f"a proof must have at most {LEAVES_MAX} leaves, each within its bound")
        raw = from_base64(entry, "leaf entry")
        leaves.append(BundleLeaf(index, raw[:SALT_BYTES], raw[SALT_BYTES:], path))
    bundle = Bundle(place, event.encode(), hashes, tuple(leaves), checkpoint)
    if format_bundle(bundle) != content:
        raise NonCanonicalError("a proof has one spelling")
    return bundle


def _take(lines: Sequence[str], word: str) -> tuple[int, str, tuple[bytes, ...], Sequence[str]]:
    """Number, content and path of the part that begins here, and the lines after it."""
    if len(lines) < 2 or not lines[0].startswith(f"{word} "):
        raise MalformedError(f"a proof must have a line `{word}` with a number, and its content below")
    number = parse_decimal(lines[0].removeprefix(f"{word} "), word)
    end = next((n for n, line in enumerate(lines) if n > 1 and line.startswith("leaf ")), len(lines))
    if end - 2 > PROOF_HASHES_MAX:
        raise MalformedError(f"a path must have at most {PROOF_HASHES_MAX} hashes")
    return number, lines[1], tuple(from_base64(line, "hash") for line in lines[2:end]), lines[end:]


def _check_bounds(bundle: Bundle) -> None:
    if not 0 <= bundle.place < EVENTS_MAX or len(bundle.hashes) > EVENT_HASHES_MAX:
        raise MalformedError(f"an event's place must be below {EVENTS_MAX}, with a path that fits")
    if not 0 < len(bundle.event) <= EVENT_BYTES_MAX or not bundle.event.isascii() or b"\n" in bundle.event:
        raise MalformedError(f"a proof's event must be one line of ASCII, at most {EVENT_BYTES_MAX} bytes")
    if not 0 < len(bundle.leaves) <= LEAVES_MAX:
        raise MalformedError(f"a proof must have 1 to {LEAVES_MAX} leaves")
    border = -1
    for leaf in bundle.leaves:
        if not border < leaf.index < 2**63:
            raise NonCanonicalError("a proof's leaves must be in order of their indexes, none twice")
        border = leaf.index
        entry_bytes = len(leaf.salt) + len(leaf.envelope)
        if (
            len(leaf.salt) != SALT_BYTES
            or entry_bytes > ENTRY_BYTES_MAX
            or len(leaf.hashes) > PROOF_HASHES_MAX
        ):
            raise MalformedError("a leaf's salt, envelope or path is out of bounds")
    paths = [bundle.hashes, *(leaf.hashes for leaf in bundle.leaves)]
    if any(len(value) != HASH_BYTES for path in paths for value in path):
        raise MalformedError(f"a hash must be {HASH_BYTES} bytes")
    note = parse_note(bundle.checkpoint)
    parse_checkpoint(note.text)
    if arrange_note(note) != bundle.checkpoint:
        raise NonCanonicalError("a proof's checkpoint must have its signatures in order")


def arrange_note(note: Note) -> bytes:
    """The note with signatures in the order of a proof: log keys, then witnesses, each by their lines.

    Signatures that are neither Ed25519 nor Ed25519 cosignatures by their length are left out: no reader of this
    version could verify them, and a proof holds nothing that is not verified.

    Raises:
        MalformedError: no signature is left; ``NonCanonicalError`` where one key has two.
    """
    kept = [s for s in note.signatures if len(s.signature) in (SIGNATURE_BYTES, COSIGNATURE_BYTES)]
    kept.sort(key=lambda signature: (len(signature.signature), signature.line()))
    if len({signature.key for signature in kept}) != len(kept):
        raise NonCanonicalError("a proof's checkpoint must have at most one signature of a key")
    return format_note(Note(note.text, tuple(kept)))


def is_cosignature(signature: NoteSignature) -> bool:
    """Whether a signature has the length of a witness's; what it is shows when it is verified."""
    return len(signature.signature) == COSIGNATURE_BYTES
