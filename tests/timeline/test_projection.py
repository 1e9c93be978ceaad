"""The index as rows: counted pairs are what a scan would count, and every way of writing gives the same rows."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeline.projection import (
    SourceRows,
    id_number,
    near_bits,
    read_source,
    source_rows,
    stored_sources,
    update_source,
    vocabulary_is_current,
    write_source,
    write_vocabulary,
)
from timeline.schema import SETTING_VOCABULARY
from timeline.store import EventRow, Store, create_store

SOURCE = 3
BITS = 5

ROW = st.builds(
    EventRow,
    source=st.just(SOURCE),
    pos=st.integers(0, 40),
    at=st.none() | st.integers(0, 50),
    mask=st.integers(1, 2**BITS - 1),
    label=st.none() | st.integers(1 << 40, (1 << 40) + 2),
    passed=st.none() | st.integers(0, 3),
    failed=st.none() | st.integers(0, 3),
    total=st.none() | st.integers(0, 6),
    segment=st.integers(0, 3),
    start=st.integers(0, 9),
    length=st.integers(1, 9),
    id64=st.integers(-(2**63), 2**63 - 1),
)
ROWS = st.lists(ROW, max_size=25, unique_by=lambda row: (row.pos, row.id64))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Give an empty database; each test writes whole sources."""
    made = create_store(tmp_path_factory.mktemp("projection") / "state.db")
    yield made
    made.close()


@contextmanager
def writing(store: Store) -> Iterator[None]:
    """Write in a transaction."""
    with store.transaction():
        yield


def oracle(rows: Sequence[EventRow]) -> dict[tuple[int, int], tuple[int, int]]:
    """Count pairs by looking at every row for every pair: (time at the newest position, number)."""
    found = {}
    for a, b in itertools.combinations_with_replacement(range(BITS), 2):
        hits = [row for row in rows if row.mask >> a & 1 and row.mask >> b & 1]
        if hits:
            newest = max(hits, key=lambda row: (row.pos, row.id64))
            found[a, b] = (-1 if newest.at is None else newest.at, len(hits))
    return found


@given(ROWS)
def test_pairs_are_what_a_scan_would_count(rows: list[EventRow]) -> None:
    """Every pair that occurs, with its count and the time of its newest event; no other."""
    found = source_rows(rows)
    assert {(a, b): (newest, n) for a, b, newest, _, n in found.pairs} == oracle(rows)
    assert len(found.pairs) == len(oracle(rows))
    assert {source for _, _, _, source, _ in found.pairs} <= {SOURCE}


@given(ROWS)
def test_numbers_are_those_that_occur(rows: list[EventRow]) -> None:
    """Counts and labels, each once, with the terms of all events that have it; an absent number is no zero."""
    wanted: dict[int, int] = {}
    for row in rows:
        for n in numbers_of(row):
            wanted[n] = wanted.get(n, 0) | row.mask
    found = [(value, source, mask) for value, source, mask, _ in source_rows(rows).numbers]
    assert found == [(value, SOURCE, mask) for value, mask in sorted(wanted.items())]


@given(ROWS)
def test_numbers_of_one_event_are_never_missed_beside_each_other(rows: list[EventRow]) -> None:
    """A number's filter knows every number that stands with it in some event."""
    near = {value: int.from_bytes(known, "big") for value, _, _, known in source_rows(rows).numbers}
    for row in rows:
        for one, other in itertools.permutations(numbers_of(row), 2):
            bits = near_bits(other, SOURCE)
            assert near[one] & bits == bits


def test_the_filter_keeps_most_strangers_out() -> None:
    """Of ten thousand numbers that never stand beside ten others, fewer than one in fifty pass."""
    (_, _, _, known), *_ = source_rows([_row_of(pos, 7, 1_000 + pos) for pos in range(10)]).numbers
    near = int.from_bytes(known, "big")
    strangers = [near_bits(number, SOURCE) for number in range(2_000, 12_000)]
    assert sum(near & bits == bits for bits in strangers) < len(strangers) // 50


def numbers_of(row: EventRow) -> set[int]:
    """Give the numbers that an event states."""
    return {n for n in (row.passed, row.failed, row.total, row.label) if n is not None}


def _row_of(pos: int, passed: int, total: int) -> EventRow:
    return EventRow(SOURCE, pos, None, 1, None, passed, None, total, 0, 0, 1, 0)


@given(ROWS, st.randoms())
def test_the_order_of_the_events_is_nothing(rows: list[EventRow], order: "st.Random") -> None:
    """Rows are sorted by their keys, so that two states can be compared."""
    shuffled = list(rows)
    order.shuffle(shuffled)
    assert source_rows(shuffled) == source_rows(rows)


@given(ROWS)
def test_stored_rows_are_read_back_equal(store: Store, rows: list[EventRow]) -> None:
    """What the database gives is what was computed."""
    wanted = source_rows(rows)
    with writing(store):
        write_source(store, SOURCE, wanted)
    assert read_source(store, SOURCE) == wanted
    assert stored_sources(store) == ({SOURCE} if rows else set())


@given(ROWS, ROWS)
def test_updating_gives_what_writing_anew_gives(
    store: Store, old: list[EventRow], new: list[EventRow]
) -> None:
    """Only the difference is written, and the result is the same."""
    before, wanted = source_rows(old), source_rows(new)
    with writing(store):
        write_source(store, SOURCE, before)
    with writing(store):
        update_source(store, SOURCE, before, wanted)
    assert read_source(store, SOURCE) == wanted


@given(ROWS)
def test_another_source_is_left_alone(store: Store, rows: list[EventRow]) -> None:
    """Writing one source touches no row of its neighbour."""
    other = EventRow(9, 1, 1, 1, None, 1, None, None, 0, 0, 1, 1)
    neighbour = source_rows([other])
    with writing(store):
        write_source(store, 9, neighbour)
        write_source(store, SOURCE, source_rows(rows))
        store.drop_source(SOURCE)
    assert read_source(store, 9) == neighbour
    assert read_source(store, SOURCE) == SourceRows((), (), ())
    with writing(store):
        store.drop_source(9)


@given(st.text("0123456789abcdef", min_size=32, max_size=32))
def test_the_number_of_an_id_is_its_first_64_bits(digits: str) -> None:
    """It fits SQLite's signed integer."""
    number = id_number(f"timeline-event:{digits}")
    assert -(2**63) <= number < 2**63
    assert number % 2**64 == int(digits[:16], 16)


def test_another_vocabulary_is_noticed(tmp_path: Path) -> None:
    """Masks without their vocabulary, or of another one, are not current."""
    made = create_store(tmp_path / "state.db")
    assert not vocabulary_is_current(made)
    with made.transaction():
        write_vocabulary(made)
    assert vocabulary_is_current(made)
    with made.transaction():
        made.write("UPDATE setting SET value = ? WHERE key = ?", [(b"other", SETTING_VOCABULARY)])
    assert not vocabulary_is_current(made)
    made.close()
