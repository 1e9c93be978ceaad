"""The stored register: written with the leaves it is of, and held against the tally of the verified log.

A leaf has one stored row for each text by which it is found.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from sidecars.envelope import parse_envelope
from sidecars.erased import is_erased
from sidecars.leaf import SIGNED_BY, leaf_hash, parse_leaf, payload_type
from timeline.errors import IndexUnverifiedError
from timeline.register_row import RegisterRow, RegisterTally, register_row
from timeline.store import Store

_KIND_OF_TYPE = {payload_type(kind): kind for kind in SIGNED_BY}
_INSERT = "INSERT OR REPLACE INTO register (kind, about, leaf, hash) VALUES (?, ?, ?, ?)"


class StoredRegister:
    """The register, as ``accounted.AccountedTable`` uses it."""

    name = "register"

    def sweep(self, store: Store, first: int) -> None:
        """Take out rows of leaves from ``first`` on."""
        store.write("DELETE FROM register WHERE leaf >= ?", [(first,)])

    def write(self, store: Store, rows: Sequence[RegisterRow]) -> None:
        """Add rows, inside the transaction of their leaves."""
        if rows:
            store.write(
                _INSERT, ((row.kind, about, row.leaf, row.hash) for row in rows for about in row.abouts)
            )

    def check(self, store: Store, tally: RegisterTally, size: int) -> None:
        """Return only if the stored rows of the first ``size`` leaves add up to ``tally``.

        Raises:
            IndexUnverifiedError: they do not.
            StateError: they cannot be read.
        """
        if _tally_of(stored_rows(store, size)) != tally:
            message = f"{store.path}: the register is not that of the log"
            raise IndexUnverifiedError(message)

    def rebuild(self, store: Store, tally: RegisterTally) -> None:
        """Make every row anew from the leaves, inside a transaction.

        Raises:
            IndexUnverifiedError: the leaves do not add up to ``tally``.
            StateError, SidecarError: they cannot be read.
        """
        store.write("DELETE FROM register", [()])
        found = RegisterTally()
        for row in _rows_of_leaves(store):
            found = found.with_row(row)
            self.write(store, (row,))
        if found != tally:
            message = f"{store.path}: the leaves are not those that were verified"
            raise IndexUnverifiedError(message)


def stored_rows(store: Store, size: int) -> Iterator[RegisterRow]:
    """The rows of the first ``size`` leaves in the log's order, as they are stored.

    Raises:
        StateError: they cannot be read.
    """
    statement = "SELECT leaf, kind, hash, about FROM register WHERE leaf < ? ORDER BY leaf, kind, hash, about"
    for (leaf, kind, hashed), rows in groupby(store.query(statement, (size,)), key=itemgetter(0, 1, 2)):
        yield RegisterRow(leaf, kind, tuple(str(row[3]) for row in rows), hashed)


def _tally_of(rows: Iterator[RegisterRow]) -> RegisterTally:
    found = RegisterTally()
    for row in rows:
        found = found.with_row(row)
    return found


def _rows_of_leaves(store: Store) -> Iterator[RegisterRow]:
    # Written while it is read: the rows go into another table.
    for _index, salt, envelope in store.leaves():
        if is_erased(salt):
            continue
        parsed = parse_envelope(envelope)
        kind = _KIND_OF_TYPE.get(parsed.payload_type)
        if kind is None:
            continue
        # Verified when the state was opened: that it still is the same, the tally shows.
        row = register_row(parse_leaf(parsed.payload, kind), leaf_hash(salt, envelope))
        if row is not None:
            yield row
