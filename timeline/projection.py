"""The search index as rows, computed from verified sidecars: written, compared and rebuilt by the same code.

For each source: one row an event, counts for every pair of terms that occurs (so that a pair of common terms costs
one look-up and not a scan), and the numbers that occur. Nothing here is believed on its own: a source's rows are
compared with its sidecars before they are used.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from sidecars.event import Event
from sidecars.sidecar import EventRange
from timeline.schema import SETTING_VOCABULARY
from timeline.store import EventRow, Store
from timeline.terms import event_mask, label_number, mask_bits, vocabulary_digest

_ID_BITS = 64
_SIGN = 1 << 63
PairRow = tuple[int, int, int, int, int]
"""Two terms (``a`` ≤ ``b``), newest position, source, number of events."""


class SourceRows(msgspec.Struct, frozen=True):
    """All rows of one source, each kind sorted by its primary key."""

    events: tuple[EventRow, ...]
    pairs: tuple[PairRow, ...]
    numbers: tuple[tuple[int, int], ...]


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


def id_number(event_id: str) -> int:
    """The first 64 bits of an event id as SQLite's signed integer."""
    number = int(event_id.rpartition(":")[2][: _ID_BITS // 4], 16)
    return number - (1 << _ID_BITS) if number >= _SIGN else number


def source_rows(events: Sequence[EventRow]) -> SourceRows:
    """The rows of one source from its event rows."""
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    numbers: set[tuple[int, int]] = set()
    ordered = sorted(events, key=lambda row: row.pos)
    # Events of one mask share their pairs: count masks first, pairs once a mask.
    masks = Counter(row.mask for row in ordered)
    newest = {row.mask: row.pos for row in ordered}
    for mask, count in masks.items():
        bits = mask_bits(mask)
        for position, a in enumerate(bits):
            for b in bits[position:]:
                known = pairs.get((a, b), (-1, 0))
                pairs[a, b] = (max(known[0], newest[mask]), known[1] + count)
    for row in ordered:
        numbers.update(
            (value, row.source)
            for value in (row.passed, row.failed, row.total, row.label)
            if value is not None
        )
    source = ordered[0].source if ordered else 0
    # Ranking compares sources by time; the newest time of a pair is looked up from its newest position.
    at = {row.pos: -1 if row.at is None else row.at for row in ordered}
    return SourceRows(
        tuple(ordered),
        tuple(sorted((a, b, at[pos], source, count) for (a, b), (pos, count) in pairs.items())),
        tuple(sorted(numbers)),
    )


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
    store.write("DELETE FROM event WHERE source = ? AND pos = ?", [(source, row.pos) for row in gone])
    store.insert_events(added)
    pairs_gone, pairs_added = set(old.pairs) - set(new.pairs), set(new.pairs) - set(old.pairs)
    keys = [(a, b, newest, source) for a, b, newest, _, _ in pairs_gone]
    store.write("DELETE FROM pair WHERE a = ? AND b = ? AND newest = ? AND source = ?", keys)
    store.write("INSERT INTO pair (a, b, newest, source, n) VALUES (?,?,?,?,?)", pairs_added)
    store.write("DELETE FROM number WHERE value = ? AND source = ?", set(old.numbers) - set(new.numbers))
    store.write("INSERT INTO number (value, source) VALUES (?,?)", set(new.numbers) - set(old.numbers))


def read_source(store: Store, source: int) -> SourceRows:
    """The rows of a source as they are stored.

    Raises:
        StateError: they cannot be read.
    """
    pairs = store.query("SELECT a, b, newest, source, n FROM pair WHERE source = ? ORDER BY a, b", (source,))
    numbers = store.query("SELECT value, source FROM number WHERE source = ? ORDER BY value", (source,))
    return SourceRows(
        tuple(store.events("WHERE source = ? ORDER BY pos", (source,))),
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
