"""The search index as rows, computed from verified sidecars: written, compared and rebuilt by the same code.

For each source: one row an event, counts for every pair of terms that occurs (so that a pair of common terms costs
one look-up and not a scan), and the numbers that occur, each with the terms and (in a small filter) the numbers that
stand beside it in some event, so that a pair which never meets costs no scan either. Nothing here is believed on its
own: a source's rows are compared with its sidecars before they are used.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

from sidecars.event import Event
from sidecars.sidecar import Bounds, EventRange
from timeline.errors import QueryError
from timeline.schema import SETTING_VOCABULARY
from timeline.store import EventRow, Store
from timeline.terms import MESSAGE_BIT, event_mask, label_number, mask_bits, vocabulary_digest

_ID_BITS = 64
_SIGN = 1 << 63
_MIX: Final = (1 << _ID_BITS) - 1
PairRow = tuple[int, int, int, int, int]
"""Two terms (``a`` ≤ ``b``), newest position, source, number of events."""

NumberRow = tuple[int, int, int, bytes]
"""A number, its source, the terms of all events that have it, and the filter of numbers those events have."""

NEAR_BYTES: Final = 32
"""Size of a number's filter. With ten companions, two bits each, one pair in 160 that never meets passes it."""


class SourceRows(msgspec.Struct, frozen=True):
    """All rows of one source, each kind sorted by its primary key."""

    events: tuple[EventRow, ...]
    pairs: tuple[PairRow, ...]
    numbers: tuple[NumberRow, ...]


def event_row(event: Event, place: EventRange, *, source: int, segment: int, payload_offset: int) -> EventRow:
    """The row of one event; ``start`` counts from the beginning of the sidecar file."""
    return EventRow(
        source=source,
        pos=event.lines[0].offset,
        at=event.at,
        mask=event_mask(event),
        label=label_number(event),
        passed=event.passed,
        failed=event.failed,
        total=event.total,
        segment=segment,
        start=payload_offset + place.offset,
        length=place.length,
        id64=id_number(event.id),
    )


def is_user_message(row: EventRow) -> bool:
    """Whether a row is that of a user message, which is bounded and found apart from all other events."""
    return row.mask & MESSAGE_BIT != 0


def is_kept(row: EventRow, bounds: Bounds) -> bool:
    """Whether a row lies above the bounds of its source."""
    return bounds.keeps(row.pos, is_user_message=is_user_message(row))


def id_number(event_id: str) -> int:
    """The first 64 bits of an event id as SQLite's signed integer."""
    number = int(event_id.rpartition(":")[2][: _ID_BITS // 4], 16)
    return number - (1 << _ID_BITS) if number >= _SIGN else number


def parse_event_id(text: str) -> int:
    """The first 64 bits of what somebody gives as an event id, as ``id_number``.

    Raises:
        QueryError: not an event id.
    """
    prefix, _, digits = text.partition(":")
    if prefix != "timeline-event" or len(digits) != 32 or not set(digits) <= set("0123456789abcdef"):
        message = "not an event id"
        raise QueryError(message, hint="an id is timeline-event: and 32 hex digits, from `timeline search`")
    return id_number(text)


def source_rows(events: Sequence[EventRow]) -> SourceRows:
    """The rows of one source from its event rows."""
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    ordered = sorted(events, key=lambda row: (row.pos, row.id64))
    # Events of one mask share their pairs: count masks first, pairs once a mask.
    masks = Counter(row.mask for row in ordered)
    newest = {row.mask: number for number, row in enumerate(ordered)}
    for mask, count in masks.items():
        bits = mask_bits(mask)
        for position, a in enumerate(bits):
            for b in bits[position:]:
                known = pairs.get((a, b), (-1, 0))
                pairs[a, b] = (max(known[0], newest[mask]), known[1] + count)
    source = ordered[0].source if ordered else 0
    # Ranking compares sources by time; the newest time of a pair is that of its newest event.
    at = [-1 if row.at is None else row.at for row in ordered]
    return SourceRows(
        tuple(ordered),
        tuple(sorted((a, b, at[number], source, count) for (a, b), (number, count) in pairs.items())),
        _number_rows(ordered, source),
    )


def _number_rows(events: Sequence[EventRow], source: int) -> tuple[NumberRow, ...]:
    found: dict[int, tuple[int, int]] = {}
    for mask, *stated in {(row.mask, row.passed, row.failed, row.total, row.label) for row in events}:
        values = {value for value in stated if value is not None}
        beside = 0
        for value in values:
            beside |= near_bits(value, source)
        for value in values:
            terms, near = found.get(value, (0, 0))
            found[value] = (terms | mask, near | beside)
    rows = ((value, source, mask, near.to_bytes(NEAR_BYTES, "big")) for value, (mask, near) in found.items())
    return tuple(sorted(rows))


@lru_cache(maxsize=4096)
def near_bits(value: int, source: int) -> int:
    """The two bits by which a number is known in the filters of a source.

    They are others in every source, so that no pair of numbers is unlucky everywhere.
    """
    mixed = (value * 0x9E37_79B9_7F4A_7C15 + source * 0xC2B2_AE3D_27D4_EB4F) & _MIX
    mixed = ((mixed ^ mixed >> 30) * 0xBF58_476D_1CE4_E5B9) & _MIX
    mixed ^= mixed >> 27
    return 1 << (mixed & 0xFF) | 1 << (mixed >> 8 & 0xFF)


def write_source(store: Store, source: int, rows: SourceRows) -> None:
    """Replace every row of a source, inside a transaction.

    Raises:
        StateError: they cannot be written.
    """
    store.drop_source(source)
    update_source(store, source, SourceRows((), (), ()), rows)


def update_source(store: Store, source: int, old: SourceRows, new: SourceRows) -> None:
    """Turn the rows ``old`` of a source, which are stored, into ``new``, inside a transaction.

    Raises:
        StateError: they cannot be written.
    """
    gone, added = set(old.events) - set(new.events), set(new.events) - set(old.events)
    store.write(
        "DELETE FROM event WHERE source = ? AND pos = ? AND id64 = ?",
        [(source, row.pos, row.id64) for row in gone],
    )
    store.insert_events(added)
    pairs_gone, pairs_added = set(old.pairs) - set(new.pairs), set(new.pairs) - set(old.pairs)
    keys = [(a, b, newest, source) for a, b, newest, _, _ in pairs_gone]
    store.write("DELETE FROM pair WHERE a = ? AND b = ? AND newest = ? AND source = ?", keys)
    store.write("INSERT INTO pair (a, b, newest, source, n) VALUES (?,?,?,?,?)", pairs_added)
    numbers_gone, numbers_added = set(old.numbers) - set(new.numbers), set(new.numbers) - set(old.numbers)
    store.write(
        "DELETE FROM number WHERE value = ? AND source = ?",
        [(value, source) for value, _, _, _ in numbers_gone],
    )
    store.write("INSERT INTO number (value, source, mask, near) VALUES (?,?,?,?)", numbers_added)


def read_source(store: Store, source: int) -> SourceRows:
    """The rows of a source as they are stored.

    Raises:
        StateError: they cannot be read.
    """
    pairs = store.query("SELECT a, b, newest, source, n FROM pair WHERE source = ? ORDER BY a, b", (source,))
    numbers = store.query(
        "SELECT value, source, mask, near FROM number WHERE source = ? ORDER BY value", (source,)
    )
    return SourceRows(
        tuple(store.events("WHERE source = ? ORDER BY pos, id64", (source,))),
        tuple(pairs),  # type: ignore[arg-type]  # STRICT columns
        tuple(numbers),  # type: ignore[arg-type]  # STRICT columns
    )


def stored_sources(store: Store) -> frozenset[int]:
    """Every source that has rows of any kind.

    Raises:
        StateError: they cannot be read.
    """
    tables = ("event", "pair", "number")
    return frozenset(
        int(str(row[0]))
        for table in tables
        for row in store.query(f"SELECT DISTINCT source FROM {table}")  # noqa: S608  (constant names)
    )


def write_vocabulary(store: Store) -> None:
    """Record which vocabulary the masks are of, inside a transaction.

    Raises:
        StateError: it cannot be written.
    """
    store.write(
        "INSERT OR REPLACE INTO setting (key, value) VALUES (?,?)",
        [(SETTING_VOCABULARY, vocabulary_digest())],
    )


def vocabulary_is_current(store: Store) -> bool:
    """Whether stored masks are of the vocabulary of this program.

    Raises:
        StateError: it cannot be read.
    """
    rows = list(store.query("SELECT value FROM setting WHERE key = ?", (SETTING_VOCABULARY,)))
    return rows == [(vocabulary_digest(),)]
