"""A database of version 1 is opened, said to be due for a migration, and migrated by whoever holds the lock."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.simulators.worlds import World, leaves_of, refusal_of, verdict_of
from tests.world.ledger.ledgers import about, entry, names, record
from tests.world.ledger.old import make_old
from timeline import schema
from timeline.errors import IndexUnverifiedError, StateError
from timeline.live import Live
from timeline.schema import TABLES_OF
from timeline.service import Session
from timeline.state import open_local
from timeline.store import open_store
from timeline.world import ledger

OLD_TABLES = "6378e6cb83d64b9a275288a19caa5d82e3d8dbd490151f97e97fc07c8beeafbd"
"""SHA-256 of the statements as the last program of version 1 had them."""


def version_of(world: World) -> int:
    """The version that the database says it is of."""
    with closing(sqlite3.connect(world.locations.database)) as database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


@pytest.fixture
def old(world: World) -> World:
    """Give a timeline of version 1."""
    make_old(world)
    return world


def test_version_1_never_changes() -> None:
    """What an older program has made cannot be made otherwise now."""
    text = "\n".join(f"{name}: {statement}" for name, statement in TABLES_OF[1].items())
    assert hashlib.sha256(text.encode()).hexdigest() == OLD_TABLES


def test_it_is_answered_from_and_migrated(old: World) -> None:
    """Who reads takes the lock once; the leaves are the same."""
    before = leaves_of(old)
    assert about(old) == ()
    assert version_of(old) == schema.SCHEMA_VERSION
    assert leaves_of(old) == before
    record(old, entry("a"))
    assert names(about(old)) == ["a"]
    assert verdict_of(old, deep=True) == ("ok", frozenset())


def test_who_records_first_migrates(old: World) -> None:
    """The same under the writer lock."""
    record(old, entry("a"))
    assert version_of(old) == schema.SCHEMA_VERSION


def test_the_daemon_migrates(old: World) -> None:
    """The opener that keeps a timeline open."""
    live = Live()
    session = Session(old.locations, old.session.ports, old.session.environment, live)
    with session.reading() as state:
        assert ledger.find(state, "assertion:a") is None
    with session.writing() as state:
        ledger.record(state, [entry("a")])
    live.close()
    assert names(about(old)) == ["a"]


def test_a_reader_without_the_lock_is_told(old: World) -> None:
    """`verify` changes nothing and says what is due; nothing is answered from a table that is not there."""
    content = old.locations.database.read_bytes()
    assert verdict_of(old, deep=True) == ("repairable", frozenset())
    with open_local(old.locations, old.session.ports) as state:
        assert not state.consistent
        with pytest.raises(IndexUnverifiedError, match="older program") as refused:
            ledger.find(state, "assertion:a")
        assert refused.value.hint == "the next writing command brings it up to date"
    assert old.locations.database.read_bytes() == content


def test_a_migration_that_fails_changes_nothing(old: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it is one transaction: a kill or a full disk in its midst leaves version 1."""
    before = leaves_of(old)

    def fail(connection: sqlite3.Connection) -> None:
        schema.migrate(connection)
        raise sqlite3.OperationalError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr("timeline.store.migrate", fail)
        with pytest.raises(StateError):
            record(old, entry("a"))
    assert version_of(old) == 1
    with closing(open_store(old.locations.database)) as store:
        assert store.outdated
    assert leaves_of(old) == before
    record(old, entry("a"))
    assert names(about(old)) == ["a"]


@pytest.mark.parametrize("statement", ["PRAGMA user_version = 2", "CREATE TABLE assertion (leaf INTEGER)"])
def test_half_a_migration_is_refused(old: World, statement: str) -> None:
    """Tables of one version under the number of another, or some of them."""
    with closing(sqlite3.connect(old.locations.database)) as database:
        database.execute(statement)
    assert refusal_of(lambda: about(old)) == "state-corrupt"


def test_a_new_timeline_needs_none(world: World, tmp_path: Path) -> None:
    """It is made in the newest version."""
    assert version_of(world) == schema.SCHEMA_VERSION


VERSION_2_TABLES = "05ac5bf8d788c5d0450a6155244dcab03eef8a59f76b90bbd9889b6f178ac4db"
"""SHA-256 of the statements as the last program of version 2 had them."""


def test_version_2_never_changes() -> None:
    """The same of the next version."""
    text = "\n".join(f"{name}: {statement}" for name, statement in TABLES_OF[2].items())
    assert hashlib.sha256(text.encode()).hexdigest() == VERSION_2_TABLES


def test_assertions_of_version_2_are_taken_over(world: World) -> None:
    """With what replaced them: the rows add up to what the log adds up to, and nothing is read from leaves again."""
    record(world, entry("a"), entry("b"), entry("c", subject="suite:other"))
    record(world, entry("d", supersedes=["b"]))
    before, leaves = about(world), leaves_of(world)
    make_old(world, 2)
    assert version_of(world) == 2
    with open_local(world.locations, world.session.ports) as state, pytest.raises(IndexUnverifiedError):
        ledger.find(state, "assertion:a")
    with world.session.writing_local():
        pass
    assert version_of(world) == schema.SCHEMA_VERSION
    with open_local(world.locations, world.session.ports) as state:
        assert ledger.is_replaced(state, "assertion:b")
    assert (about(world), leaves_of(world)) == (before, leaves)
    assert verdict_of(world, deep=True) == ("ok", frozenset())
