"""One stored event as evidence: read from its signed sidecar, and told again by the transcript's own bytes (T22).

A row of the index only says where to look. What is believed is the line under the sidecar's signed root, and then only
if exactly the lines that it names still stand in the transcript and still tell the same event.
"""

import hashlib
from collections.abc import Iterator
from typing import Final

from adapters.base import Adapter, Header
from adapters.lines import CitedLine
from adapters.record import Statement
from sidecars.digest import Digest
from sidecars.errors import DigestMismatchError
from sidecars.event import Event, parse_event
from sidecars.merkle import leaf_hash
from timeline.errors import TranscriptChangedError, TranscriptRewrittenError
from timeline.events import derive_again
from timeline.files import read_private_range
from timeline.source import OpenSource
from timeline.state import State
from timeline.store import EventRow
from timeline.verified import VerifiedSidecar
from timeline.view import EnrolledSource

_HASH_BYTES = 32
_OTHER_BYTES: Final = {"snapshot": TranscriptChangedError, "follow": TranscriptRewrittenError}


def verify_event(
    state: State,
    source: EnrolledSource,
    adapter: Adapter,
    header: Header,
    opened: OpenSource,
    event: Event,
) -> bool:
    """Read an event's exact lines again; true if they still tell the same event.

    Raises:
        TranscriptChangedError, TranscriptRewrittenError: a line's bytes are not those that were indexed.
        SourceError: the file cannot be read.
    """
    return _is_told_again(state, source, adapter, header, _read_lines(source, opened, event), event)


def read_statement_again(
    state: State,
    source: EnrolledSource,
    adapter: Adapter,
    header: Header,
    opened: OpenSource,
    event: Event,
) -> Statement | None:
    """The words of a stored statement, read again from exactly its line; ``None`` where it no longer reads as stored.

    They are whole and in memory only (T35). A capture is the one use that may keep them.

    Raises:
        TranscriptChangedError, TranscriptRewrittenError: the line's bytes are not those that were indexed.
        SourceError: the file cannot be read.
    """
    if not event.is_statement:
        return None
    (line,) = _read_lines(source, opened, event)
    told = _is_told_again(state, source, adapter, header, [line], event)
    return adapter.read_statement(header, line) if told else None


def _is_told_again(
    state: State,
    source: EnrolledSource,
    adapter: Adapter,
    header: Header,
    lines: list[CitedLine],
    event: Event,
) -> bool:
    """Whether lines that were just read tell exactly this event."""
    again = derive_again(
        adapter,
        header,
        lines,
        source_ref=source.enrollment.source.ref,
        fingerprint_key=state.keystore.fingerprint_key,
    )
    return again == event


def _read_lines(source: EnrolledSource, opened: OpenSource, event: Event) -> list[CitedLine]:
    """The exact lines of an event.

    Raises:
        TranscriptChangedError, TranscriptRewrittenError: one of them has other bytes than those that were indexed.
        SourceError: the file cannot be read.
    """
    lines = []
    for line in event.lines:
        content = opened.read(line.offset, line.length)
        if str(Digest(hashlib.sha256(content).digest())) != line.sha256:
            message = (
                f"{opened.snapshot.path}: the line at byte {line.offset} is not the one that was indexed"
            )
            raise _OTHER_BYTES[source.enrollment.mode](message)
        lines.append(CitedLine(line.offset, content, line.part))
    return lines


def stored_event(state: State, source: EnrolledSource, row: EventRow) -> Event:
    """The event that a row points to, read from its sidecar file and checked against the signed root.

    Raises:
        SidecarError: the bytes are not those of the sidecar.
    """
    entry = source.entries[row.segment]
    verified = state.sidecar(entry)
    line = _read_range(state, verified, row)
    place = next(
        (n for n, r in _ranges_at(verified, row.start - verified.payload_offset) if r == row.length), None
    )
    if place is None:
        raise DigestMismatchError("a row must point to an event of its sidecar")
    if leaf_hash(line) != verified.leaf_hashes[place * _HASH_BYTES : (place + 1) * _HASH_BYTES]:
        raise DigestMismatchError("an event line must be the one that its sidecar's root covers")
    return parse_event(line)


def _ranges_at(verified: VerifiedSidecar, offset: int) -> Iterator[tuple[int, int]]:
    """Number and length of the event that begins at a byte of the payload, if one does."""
    low, high = 0, len(verified.ranges)
    while low < high:
        middle = (low + high) // 2
        if verified.ranges[middle].offset < offset:
            low = middle + 1
        else:
            high = middle
    if low < len(verified.ranges) and verified.ranges[low].offset == offset:
        yield low, verified.ranges[low].length


def _read_range(state: State, verified: VerifiedSidecar, row: EventRow) -> bytes:
    path = state.locations.sidecars / f"sha256-{verified.digest.hex()}"
    return read_private_range(path, row.start, row.length)
