"""The physical part of an erasure: what its leaf names goes out of the rows, the files and the pages of the state.

The leaf that says so is committed before any of it begins, and is what the work goes on from after an interruption.
The rows go in one transaction, together with a mark that files and pages are still to follow; the mark goes when
nothing is left that could hold what was erased. Each step may be taken again.

What this does not reach: blocks that the file system has given to somebody else or keeps in a snapshot, the memory of
other processes, and copies of the state.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum

from sidecars.envelope import parse_envelope
from sidecars.erased import ERASED_SALT, is_erased, stored_hash
from sidecars.errors import MalformedError
from sidecars.leaf import Kind, SidecarEntry, parse_leaf, payload_type
from timeline.errors import LogRefusedError
from timeline.schema import SETTING_PAGES_DUE
from timeline.store import Store
from timeline.tlog import LogReading
from timeline.view import LogView

_SIDECAR = payload_type(Kind.SIDECAR)


class Erasing(StrEnum):
    """The steps of carrying out an erasure that was committed; each is named just before it is taken."""

    ROWS = "rows"
    ROWS_DONE = "rows-done"
    FILES = "files"
    PAGES = "pages"
    MARK = "mark"
    DONE = "done"


Watch = Callable[[Erasing], None]
"""Called before each step; tests use it to stop or kill the process there."""


def unwatched(_step: Erasing) -> None:
    """Nobody is watching."""


class Pages(StrEnum):
    """What became of pages that held what was erased."""

    CLEAN = "clean"
    """There were none, since the last erasure was carried out to its end."""

    REWRITTEN = "rewritten"
    RETAINED = "retained"
    """Somebody goes on reading an older moment of the database; the next writing command tries again."""


def erase_rows(store: Store, reading: LogReading, watch: Watch) -> None:
    """Take the leaves that are due out of the database, with every row made from them; the caller holds the lock.

    Pending receipts go with them: one may speak of a session that is to be forgotten.

    Raises:
        LogRefusedError: a leaf is no longer the one that was verified; nothing was changed.
        StateError: it cannot be written; nothing was changed.
    """
    watch(Erasing.ROWS)
    store.zero_deleted()
    with store.transaction():
        kept = list(_kept(store, reading.due))
        for source in {*reading.due, *_sources_of_sidecars(store, reading)}:
            store.drop_source(source)
        for table in ("assertion", "register"):
            store.write(f"DELETE FROM {table} WHERE leaf = ?", ((index,) for index in reading.due))  # noqa: S608  # constant names
        store.write("DELETE FROM receipt", [()])
        store.write("UPDATE leaf SET salt = ?, envelope = ? WHERE idx = ?", kept)
        mark_pages_due(store)
        watch(Erasing.ROWS_DONE)


def mark_pages_due(store: Store) -> None:
    """Note, inside a transaction that deletes what is to be erased, that files and pages are to follow.

    Raises:
        StateError: it cannot be written.
    """
    store.write("INSERT OR REPLACE INTO setting (key, value) VALUES (?, ?)", [(SETTING_PAGES_DUE, b"")])


def are_pages_due(store: Store) -> bool:
    """Whether leaves were erased and files or pages may still hold what they said.

    Raises:
        StateError: the database cannot be read.
    """
    return any(store.query("SELECT 1 FROM setting WHERE key = ?", (SETTING_PAGES_DUE,)))


def rewrite_pages(store: Store, watch: Watch) -> Pages:
    """Rewrite database and write-ahead log, once no file is left that was erased; the caller holds the lock.

    Raises:
        StateError: they cannot be written; the next writing command tries again.
    """
    watch(Erasing.PAGES)
    if not store.rewrite():
        return Pages.RETAINED
    watch(Erasing.MARK)
    with store.transaction():
        store.write("DELETE FROM setting WHERE key = ?", [(SETTING_PAGES_DUE,)])
    watch(Erasing.DONE)
    return Pages.REWRITTEN


def _kept(store: Store, due: Iterable[int]) -> Iterator[tuple[bytes, bytes, int]]:
    """What stays of each leaf: an empty salt, its hash in the tree, and its index."""
    for index in due:
        row = store.leaf(index)
        try:
            if row is None:
                raise MalformedError("it must be there")
            yield ERASED_SALT, stored_hash(*row), index
        except MalformedError as error:
            message = f"{store.path}: leaf {index} is not the one that was verified"
            raise LogRefusedError(message) from error


def _sources_of_sidecars(store: Store, reading: LogReading) -> Iterator[int]:
    """The sources, by their enrollments' leaves, that lose sidecars and are not erased themselves."""
    known = _by_enrollment(reading.view)
    for index in reading.due:
        salt, envelope = store.leaf(index) or (ERASED_SALT, b"")
        if is_erased(salt):
            continue
        parsed = parse_envelope(envelope)
        if parsed.payload_type == _SIDECAR:
            body = parse_leaf(parsed.payload, Kind.SIDECAR).body
            if isinstance(body, SidecarEntry) and body.enrollment_id in known:
                yield known[body.enrollment_id]


def _by_enrollment(view: LogView) -> dict[str, int]:
    return {source.enrollment.enrollment_id: source.index for source in view.sources}
