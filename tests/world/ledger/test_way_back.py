"""A database goes back to version 2 where the older program can read the log, whole or not at all (G29)."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sidecars.assertion import DerivationEntry
from sidecars.leaf import Body
from sidecars.reasoned import EvidenceRevocation
from tests.forgetting.lives import forget
from tests.programs import runner, use
from tests.simulators.worlds import World, leaves_of, refusal_of, verdict_of
from tests.world.ledger.ledgers import about, entry, names, record
from tests.world.ledger.old import make_old
from timeline import schema, schema_back
from timeline.errors import StateError
from timeline.forget_use import Named
from timeline.lock import hold_lock
from timeline.schema import SCHEMA_VERSION, TABLES_OF
from timeline.schema_back import SchemaStanding, go_back, show_schema

Row = tuple[object, ...]


def objects_of(world: World) -> dict[str, str]:
    """Every object of the database by its statement, without what keeps the migrations."""
    with closing(sqlite3.connect(world.locations.database)) as database:
        rows = database.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {name: sql for name, sql in rows if "_sqlite_migrations" not in name}


def rows_of(world: World) -> tuple[list[Row], list[Row], int]:
    """The rows of assertions and of migrations, and the version."""
    with closing(sqlite3.connect(world.locations.database)) as database:
        assertions = database.execute("SELECT * FROM assertion ORDER BY leaf").fetchall()
        migrations = database.execute(
            "SELECT migration_set, name FROM _sqlite_migrations ORDER BY id"
        ).fetchall()
        return assertions, migrations, database.execute("PRAGMA user_version").fetchone()[0]


@pytest.fixture
def told(world: World) -> World:
    """Give a timeline with assertions, one of which is replaced."""
    record(world, entry("a"), entry("b"), entry("c", subject="suite:other"))
    record(world, entry("d", supersedes=["b"]))
    return world


@pytest.mark.requirement("G29")
def test_it_is_what_the_older_program_made(told: World, tmp_path: Path) -> None:
    """Object by object and row by row; the log is the same, and it comes forward again with nothing lost."""
    before, leaves = about(told), leaves_of(told)
    old = told.copy(tmp_path / "old")
    make_old(old, 2)
    go_back(told.session, 2)
    assert rows_of(told) == rows_of(old)
    assert objects_of(told) == objects_of(old) == TABLES_OF[2]
    assert leaves_of(told) == leaves
    assert verdict_of(told, deep=True) == ("repairable", frozenset())
    assert show_schema(told.session) == SchemaStanding(2, SCHEMA_VERSION, 2, ())
    with told.session.writing_local():
        pass
    assert (about(told), leaves_of(told)) == (before, leaves)
    assert verdict_of(told, deep=True) == ("ok", frozenset())
    go_back(told.session, 2)
    record(told, entry("e"))
    assert names(about(told))[-1] == "e"


@pytest.mark.requirement("G29")
def test_it_goes_back_from_a_migrated_one(told: World) -> None:
    """The older program's own database, brought forward and back, is the same."""
    make_old(told, 2)
    before = rows_of(told), objects_of(told)
    with told.session.writing_local():
        pass
    assert rows_of(told)[2] == SCHEMA_VERSION
    go_back(told.session, 2)
    assert (rows_of(told), objects_of(told)) == before


DERIVED = DerivationEntry("deterministic-derivation", "rule.sum", 0, "timeline", (("assertion:a",),))

NEW = {
    "evidence-revocation": EvidenceRevocation("assertion:a", "wrong"),
    "starts": entry("x", starts_at=1),
    "purposes": entry("x", purposes=("planning",)),
    "about": entry("x", about="person:kim"),
    "derivation": entry("x", derivation=DERIVED),
}


@pytest.mark.requirement("G29")
@pytest.mark.parametrize("body", NEW.values(), ids=NEW.keys())
def test_what_the_older_program_does_not_know_keeps_it(told: World, body: Body) -> None:
    """A kind or a field of its time: it would refuse the whole log, and so nothing is changed."""
    with told.session.writing() as state:
        state.commit([body])
    before = rows_of(told), objects_of(told)
    standing = show_schema(told.session)
    assert (standing.can_go_back, sum(count for _, count in standing.obstacles)) == (False, 1)
    with pytest.raises(StateError) as refused:
        go_back(told.session, 2)
    assert refused.value.reason == "schema-back-refused"
    assert standing.obstacles[0][0] in refused.value.message
    assert (rows_of(told), objects_of(told)) == before
    assert verdict_of(told) == ("ok", frozenset())


@pytest.mark.requirement("G29")
def test_an_erased_leaf_keeps_it(told: World) -> None:
    """What says that it was erased, and the leaf itself, of which only a hash is left."""
    forget(told, Named(assertions=("assertion:c",)))
    assert dict(show_schema(told.session).obstacles) == {"erased leaves": 1, "erasure": 1, "forget-report": 1}
    assert refusal_of(lambda: go_back(told.session, 2)) == "schema-back-refused"


@pytest.mark.requirement("G29")
def test_nothing_is_half_done(told: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each of its statements the process dies or the disk is full: it is of the newest version, and whole."""
    before = rows_of(told), objects_of(told)
    total = _count(told, monkeypatch, stop_at=None)
    assert total > 10
    with told.session.writing_local():
        pass
    for number in range(total):
        for error in (sqlite3.OperationalError("disk full"), KeyboardInterrupt()):
            with pytest.raises((StateError, KeyboardInterrupt)):
                _count(told, monkeypatch, stop_at=number, error=error)
            assert (rows_of(told), objects_of(told)) == before
    assert verdict_of(told, deep=True) == ("ok", frozenset())


def _count(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    *,
    stop_at: int | None,
    error: BaseException | None = None,
) -> int:
    """Go back, with an error behind so many statements; how many there were."""
    count = 0

    class Counting:
        def __init__(self, connection: sqlite3.Connection) -> None:
            self._connection = connection

        def execute(self, statement: str) -> object:
            nonlocal count
            found = self._connection.execute(statement)
            if count == stop_at and error is not None:
                raise error
            count += 1
            return found

    def back(connection: sqlite3.Connection) -> None:
        schema.roll_back(Counting(connection))  # type: ignore[arg-type]  # it executes, which is all that is asked

    with monkeypatch.context() as patched:
        patched.setattr("timeline.store.roll_back", back)
        go_back(world.session, 2)
    return count


def test_there_is_one_way(told: World) -> None:
    """To no other version, and not below a daemon, which would go forward at once."""
    assert refusal_of(lambda: go_back(told.session, 1)) == "schema-back-refused"
    with hold_lock(told.locations.daemon_lock) as held:
        assert held
        assert refusal_of(lambda: go_back(told.session, 2)) == "schema-back-refused"
    assert rows_of(told)[2] == SCHEMA_VERSION


def test_altered_tables_do_not_hide_an_obstacle(told: World) -> None:
    """What stands in the table is held against the log before it is asked."""
    with told.session.writing() as state:
        state.commit([entry("x", purposes=("planning",))])
    with closing(sqlite3.connect(told.locations.database)) as database, database:
        database.execute("UPDATE assertion SET purposes = '[]'")
    assert refusal_of(lambda: go_back(told.session, 2)) == "schema-back-refused"


def test_the_kinds_of_then_are_the_first_ones() -> None:
    """A kind that is added later is an obstacle, whoever adds it."""
    assert len(schema_back.KNOWN_BEFORE) == 15
    assert {kind.value for kind in schema_back.KNOWN_BEFORE} >= {"policy", "sidecar", "assertion"}


def test_the_command(told: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It shows, asks with a word about the backup, and goes back."""
    run: Callable[..., tuple[int, str, str]] = runner(monkeypatch)
    use(told, monkeypatch)
    code, out, _ = run("schema", "show")
    assert (code, "could read this log" in out) == (0, True)
    monkeypatch.setattr("timeline.cli.asking.has_terminal", lambda: True)
    code, out, _ = run("schema", "back", "--to", "2", given=b"n\n")
    assert (code, "timeline backup FILE" in out, rows_of(told)[2]) == (130, True, SCHEMA_VERSION)
    code, out, _ = run("schema", "back", "--to", "2", "--yes")
    assert (code, "of version 2 now" in out, rows_of(told)[2]) == (0, True, 2)
    code, out, _ = run("schema", "show", "--json")
    assert (code, '"version": 2' in out) == (0, True)
    with told.session.writing() as state:
        state.commit([EvidenceRevocation("assertion:a", "wrong")])
    code, out, _ = run("schema", "show")
    assert (code, "no way back to version 2" in out, "evidence-revocation (1)" in out) == (0, True, True)
