"""The stored rows of assertions: written with the leaves they are of, and held against the tally of the verified log.

A row says where an assertion is and whether another has replaced it. The table counts only where its rows add up to
what the log adds up to; that is looked at once for as long as a state is open, and a table that does not is made anew
from the leaves.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import Final

import msgspec

from sidecars.assertion import AssertionEntry
from sidecars.envelope import parse_envelope
from sidecars.erased import is_erased
from sidecars.leaf import Kind, leaf_hash, parse_leaf, payload_type
from timeline.assertion_row import AssertionRow, AssertionTally, row_of
from timeline.errors import IndexUnverifiedError, LogRefusedError
from timeline.store import Store

_COLUMNS: Final = (
    'a.leaf, a.id, a.tenant, a.subject, a.predicate, a.project, a.user, a.privacy, a."group", a.portal, a.thread, '
    "a.evidence_kind, a.knowledge, a.observed_at, a.expires_at, a.supersedes, a.starts_at, a.purposes, a.about, "
    "a.derived, a.value_digest, a.hash, a.replaced"
)
_LISTS: Final = (15, 17, 19)
"""Where in a row lists stand (what it supersedes, its purposes, what it was derived from): the text of a JSON array."""

_INSERT: Final = (
    "INSERT OR REPLACE INTO assertion (leaf, id, tenant, subject, predicate, project, user, privacy, "
    '"group", portal, thread, evidence_kind, knowledge, observed_at, expires_at, supersedes, starts_at, purposes, '
    "about, derived, value_digest, hash) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
_TYPE: Final = payload_type(Kind.ASSERTION)


class StoredRow(msgspec.Struct, frozen=True):
    """A row as it is stored, with the leaf of the first assertion that supersedes it."""

    row: AssertionRow
    replaced: int | None


class StoredLeaf(msgspec.Struct, frozen=True):
    """A row together with salt and envelope of its leaf; ``None`` where the leaf is gone."""

    row: AssertionRow
    salt: bytes | None
    envelope: bytes | None


class StoredAssertions:
    """The table of assertions, as ``accounted.AccountedTable`` uses it."""

    name = "table of assertions"

    def sweep(self, store: Store, first: int) -> None:
        """Take out rows of leaves from ``first`` on, and what they have replaced."""
        store.write("DELETE FROM assertion WHERE leaf >= ?", [(first,)])
        store.write("UPDATE assertion SET replaced = NULL WHERE replaced >= ?", [(first,)])

    def write(self, store: Store, rows: Sequence[AssertionRow]) -> None:
        """See ``write_rows``."""
        write_rows(store, rows)

    def check(self, store: Store, tally: AssertionTally, size: int) -> None:
        """See ``check_rows``."""
        check_rows(store, tally, size)

    def rebuild(self, store: Store, tally: AssertionTally) -> None:
        """See ``rebuild_rows``."""
        rebuild_rows(store, tally)


def write_rows(store: Store, rows: Sequence[AssertionRow]) -> None:
    """Add rows behind those that are there, and mark what they replace; inside the transaction of their leaves.

    Raises:
        StateError: they cannot be written.
    """
    if not rows:
        return
    store.write(_INSERT, map(_stored, rows))
    store.write(
        "UPDATE assertion SET replaced = ? WHERE id = ? AND replaced IS NULL AND leaf < ?",
        [(row.leaf, replaced, row.leaf) for row in rows for replaced in row.supersedes],
    )


def select_rows(store: Store, condition: str, values: Sequence[object]) -> Generator[StoredRow, None, None]:
    """Rows ``a`` that meet a condition (which may end in ORDER BY and LIMIT).

    Raises:
        IndexUnverifiedError: a row cannot be one that was written here.
        StateError: they cannot be read.
    """
    for values_of_row in store.query(f"SELECT {_COLUMNS} FROM assertion a WHERE {condition}", values):  # noqa: S608  # conditions are constants
        *columns, replaced = values_of_row
        yield StoredRow(_read(store, columns), replaced)  # type: ignore[arg-type]  # STRICT columns


def select_leaves(
    store: Store, condition: str, values: Sequence[object]
) -> Generator[StoredLeaf, None, None]:
    """The same, each row with what is stored of its leaf.

    Raises:
        IndexUnverifiedError: a row cannot be one that was written here.
        StateError: they cannot be read.
    """
    statement = (
        f"SELECT {_COLUMNS}, l.salt, l.envelope FROM assertion a LEFT JOIN leaf l ON l.idx = a.leaf "  # noqa: S608  # conditions are constants
        f"WHERE {condition}"
    )
    for values_of_row in store.query(statement, values):
        *columns, _replaced, salt, envelope = values_of_row
        yield StoredLeaf(_read(store, columns), salt, envelope)  # type: ignore[arg-type]  # STRICT columns


def check_rows(store: Store, tally: AssertionTally, size: int) -> None:
    """Return only if the rows of the first ``size`` leaves add up to ``tally``, each marked as replaced as it is.

    Raises:
        IndexUnverifiedError: they do not.
        LogRefusedError: the log gives one id to two assertions.
        StateError: they cannot be read.
    """
    found = AssertionTally()
    first: dict[str, int] = {}
    marked: dict[str, int] = {}
    for stored in select_rows(store, "a.leaf < ? ORDER BY a.leaf", (size,)):
        row = stored.row
        found = found.with_row(row)
        for name in row.supersedes:
            if name not in first and _stands_before(store, name, row.leaf):
                first[name] = row.leaf
        # What was replaced after these leaves is no business of theirs.
        if stored.replaced is not None and stored.replaced < size:
            marked[row.id] = stored.replaced
    if found != tally:
        message = f"{store.path}: the table of assertions is not that of the log"
        raise IndexUnverifiedError(message)
    if marked != first:
        message = f"{store.path}: which assertions are replaced is not what the log says"
        raise IndexUnverifiedError(message)
    _check_ids(store, size)


def _stands_before(store: Store, name: str, leaf: int) -> bool:
    return any(store.query("SELECT 1 FROM assertion WHERE id = ? AND leaf < ? LIMIT 1", (name, leaf)))


def _check_ids(store: Store, size: int) -> None:
    """An id names one assertion for ever (W7); no program that keeps this rule has written a second."""
    statement = "SELECT max(leaf) FROM assertion WHERE leaf < ? GROUP BY id HAVING count(*) > 1 LIMIT 1"
    twice = list(store.query(statement, (size,)))
    if twice:
        message = f"leaf {twice[0][0]} (assertion): an earlier assertion has the same id"
        raise LogRefusedError(message)


def rebuild_rows(store: Store, tally: AssertionTally) -> None:
    """Make every row anew from the leaves, inside a transaction.

    Raises:
        IndexUnverifiedError: the leaves do not add up to ``tally``.
        StateError, SidecarError: they cannot be read.
    """
    store.write("DELETE FROM assertion", [()])
    found = AssertionTally()
    for row in _rows_of_leaves(store):
        found = found.with_row(row)
        write_rows(store, (row,))
    if found != tally:
        message = f"{store.path}: the leaves are not those that were verified"
        raise IndexUnverifiedError(message)
    _check_ids(store, store.next_index())


def _rows_of_leaves(store: Store) -> Iterator[AssertionRow]:
    # Written while it is read: the rows go into another table.
    for _index, salt, envelope in store.leaves():
        if is_erased(salt):
            continue
        parsed = parse_envelope(envelope)
        if parsed.payload_type != _TYPE:
            continue
        # Verified when the state was opened: that it still is the same, the tally shows.
        leaf = parse_leaf(parsed.payload, Kind.ASSERTION)
        if isinstance(leaf.body, AssertionEntry):
            yield row_of(leaf, leaf.body, leaf_hash(salt, envelope))


def _stored(row: AssertionRow) -> tuple[object, ...]:
    values = list(msgspec.structs.astuple(row))
    for place in _LISTS:
        values[place] = msgspec.json.encode(values[place]).decode()
    return tuple(values)


def _read(store: Store, columns: list[object]) -> AssertionRow:
    try:
        for place in _LISTS:
            columns[place] = msgspec.json.decode(str(columns[place]))
        return msgspec.convert(columns, AssertionRow)
    except (ValueError, RecursionError):
        message = f"{store.path}: a row of the table of assertions is not one that was written here"
        raise IndexUnverifiedError(message) from None
