"""A stored table that counts only where it is the one that the verified log adds up to.

While the log is verified, what each leaf adds to the table goes into one running hash, the tally. A table is compared
with it once for as long as a state is open, and made anew from the leaves where it differs.
"""

from collections.abc import Hashable, Sequence
from typing import Generic, Protocol, TypeVar

from timeline.errors import IndexUnverifiedError
from timeline.store import Store

Tally = TypeVar("Tally")
Row = TypeVar("Row")
_Given_contra = TypeVar("_Given_contra", contravariant=True)
_Added_contra = TypeVar("_Added_contra", contravariant=True)


class Stored(Protocol[_Given_contra, _Added_contra]):
    """How one table is written and read; ``name`` is what it is called in messages."""

    name: str

    def sweep(self, store: Store, first: int) -> None:
        """Take out what stands at leaf ``first`` and behind it."""

    def write(self, store: Store, rows: Sequence[_Added_contra]) -> None:
        """Add rows behind those that are there."""

    def check(self, store: Store, tally: _Given_contra, size: int) -> None:
        """Return only if the rows of the first ``size`` leaves are those of the tally."""

    def rebuild(self, store: Store, tally: _Given_contra) -> None:
        """Make every row anew from the leaves, inside a transaction."""


class AccountedTable(Generic[Tally, Row]):
    """The table of one open state. Nothing of it is used before it was found to be what the log adds up to."""

    def __init__(self, store: Store, stored: Stored[Tally, Row]) -> None:
        """Nothing was compared yet."""
        self._store = store
        self._stored = stored
        self.claimed: set[Hashable] = set()
        """What works of one group commit depend on that are not committed yet: no other may decide about it."""
        self._accounted: tuple[Tally, int] | None = None
        """The tally that the table adds up to, and the database's number of changes by others when it was found."""
        self._is_swept = False
        """Whether what stood behind the log's end was taken out; where others write, the state is opened anew."""

    def forget(self) -> None:
        """The log was read again: whatever was found of the table is worth nothing."""
        self._accounted, self._is_swept = None, False

    def is_accounted(self, tally: Tally) -> bool:
        """Whether the table was found to add up to ``tally``, and nobody else has written since.

        Raises:
            StateError: the database cannot be read.
        """
        return self._accounted == (tally, self._store.data_version())

    def committed(self, before: Tally, after: Tally) -> None:
        """A batch was committed with its rows: a table that was accounted for still is."""
        self._is_swept = True
        if self._accounted is not None and self._accounted[0] == before:
            self._accounted = (after, self._accounted[1])

    def append(self, first: int, rows: Sequence[Row]) -> None:
        """Add the rows of a batch whose first leaf is ``first``, inside its transaction.

        What was written behind the end of the log before there was a leaf is taken out first: it is nobody's row, and
        would be believed once the log has grown so far. Once is enough for as long as nobody else writes.

        Raises:
            StateError: they cannot be written.
        """
        if not self._is_swept:
            self._stored.sweep(self._store, first)
        self._stored.write(self._store, rows)

    def check(self, tally: Tally, size: int) -> None:
        """Compare the table with what the first ``size`` leaves add up to; inside a snapshot.

        Raises:
            IndexUnverifiedError: they differ; nothing may be answered from the table.
            LogRefusedError: the log gives one id to two assertions.
            StateError: it cannot be read.
        """
        if self._store.outdated:
            message = (
                f"{self._store.path}: made by an older program, the {self._stored.name} is not there yet"
            )
            raise IndexUnverifiedError(message, hint="the next writing command brings it up to date")
        self._stored.check(self._store, tally, size)
        self._accounted = (tally, self._store.data_version())

    def rebuild(self, tally: Tally) -> None:
        """Make the table from the leaves; the caller holds the writer lock.

        Raises:
            IndexUnverifiedError: the leaves are no longer those that were verified; nothing was changed.
            LogRefusedError: the log gives one id to two assertions.
            StateError, SidecarError: they cannot be read, or the table not be written.
        """
        with self._store.transaction():
            self._stored.rebuild(self._store, tally)
        self._accounted = (tally, self._store.data_version())
