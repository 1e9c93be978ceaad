"""A database as the last program of version 1 or 2 has written it."""

import sqlite3
from contextlib import closing

from tests.simulators.worlds import World
from timeline.schema import APPLICATION_ID, TABLES_OF

MIGRATIONS = (
    """CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
)""",
    """CREATE UNIQUE INDEX [idx__sqlite_migrations_migration_set_name]
    ON [_sqlite_migrations] ([migration_set], [name])""",
    "INSERT INTO _sqlite_migrations VALUES (1, 'timeline', 'm001_initial', '2026-01-01 00:00:00.000000+00:00')",
)


_ASSERTION = (
    'leaf, id, tenant, subject, predicate, project, user, privacy, "group", portal, thread, evidence_kind, '
    "knowledge, observed_at, expires_at, supersedes, value_digest, hash, replaced"
)


def make_old(world: World, version: int = 1) -> None:
    """Write the database as that version wrote it, with the rows that stand there."""
    path = world.locations.database
    new = path.with_name("new")
    with closing(sqlite3.connect(new, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        for statement in (*MIGRATIONS, *TABLES_OF[version].values()):
            database.execute(statement)
        database.execute("ATTACH ? AS old", (str(path),))
        for table in ("leaf", "event", "pair", "number", "receipt", "setting"):
            database.execute(f"INSERT INTO {table} SELECT * FROM old.{table}")
        if version == 2:
            database.execute(f"INSERT INTO assertion SELECT {_ASSERTION} FROM old.assertion")
            ran = "INSERT INTO _sqlite_migrations VALUES (2, 'timeline', 'm002_assertions', ?)"
            database.execute(ran, ("2026-02-01 00:00:00.000000+00:00",))
        database.execute("DETACH old")
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {version}")
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    new.chmod(0o600)
    new.rename(path)
