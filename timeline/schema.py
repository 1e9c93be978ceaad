"""The tables of ``state.db`` and the migrations that make them.

``leaf`` holds the truth: salts and signed envelopes, covered by the log's root. Everything else is a projection
that can be dropped and built again from leaves and sidecars, but for ``receipt``, which is short-lived and lives
here (ADR 0009, 0020). A word of a transcript stands in no column but ``leaf.envelope``, and there only in an
assertion that captured one line of its user's; a projection holds none.
"""

import sqlite3
from contextlib import closing
from typing import Any, Final

SCHEMA_VERSION: Final = 3
"""Number of the newest migration; kept in ``PRAGMA user_version``."""

APPLICATION_ID: Final = 0x544C_4E31
"""``PRAGMA application_id``: says that this database is ours (``TLN1``)."""

# The columns of a primary key come first: `integrity_check` of SQLite 3.40 else reads others in their place.
_FIRST: Final = {
    "leaf": """CREATE TABLE leaf (
    idx INTEGER PRIMARY KEY,
    salt BLOB NOT NULL,
    envelope BLOB NOT NULL
) STRICT""",
    "event": """CREATE TABLE event (
    source INTEGER NOT NULL,
    pos INTEGER NOT NULL,
    id64 INTEGER NOT NULL,
    at INTEGER,
    mask INTEGER NOT NULL,
    label INTEGER,
    passed INTEGER,
    failed INTEGER,
    total INTEGER,
    segment INTEGER NOT NULL,
    start INTEGER NOT NULL,
    length INTEGER NOT NULL,
    PRIMARY KEY (source, pos, id64)
) STRICT, WITHOUT ROWID""",
    "event_by_time": "CREATE INDEX event_by_time ON event (at, source, pos)",
    "event_in_source_by_time": "CREATE INDEX event_in_source_by_time ON event (source, at, pos)",
    "event_by_id": "CREATE INDEX event_by_id ON event (id64)",
    "pair": """CREATE TABLE pair (
    a INTEGER NOT NULL,
    b INTEGER NOT NULL,
    newest INTEGER NOT NULL,
    source INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (a, b, newest, source)
) STRICT, WITHOUT ROWID""",
    "pair_by_source": "CREATE INDEX pair_by_source ON pair (source)",
    "number": """CREATE TABLE number (
    value INTEGER NOT NULL,
    source INTEGER NOT NULL,
    mask INTEGER NOT NULL,
    near BLOB NOT NULL,
    PRIMARY KEY (value, source)
) STRICT, WITHOUT ROWID""",
    "number_by_source": "CREATE INDEX number_by_source ON number (source)",
    "receipt": """CREATE TABLE receipt (
    digest BLOB PRIMARY KEY,
    envelope BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    "setting": """CREATE TABLE setting (
    key INTEGER PRIMARY KEY,
    value BLOB NOT NULL
) STRICT""",
}
"""Every object of version 1 and the one statement that makes it."""

_ASSERTIONS: Final = {
    "assertion": """CREATE TABLE assertion (
    leaf INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    subject TEXT NOT NULL,
    predicate TEXT NOT NULL,
    project TEXT,
    user TEXT NOT NULL,
    privacy TEXT NOT NULL,
    "group" TEXT,
    portal TEXT,
    thread TEXT,
    evidence_kind TEXT NOT NULL,
    knowledge TEXT,
    observed_at INTEGER NOT NULL,
    expires_at INTEGER,
    supersedes TEXT NOT NULL,
    value_digest BLOB NOT NULL,
    hash BLOB NOT NULL,
    replaced INTEGER
) STRICT""",
    "assertion_by_id": "CREATE INDEX assertion_by_id ON assertion (id)",
    "assertion_by_subject": "CREATE INDEX assertion_by_subject ON assertion (subject, tenant, project, predicate)",
    "assertion_by_time": """CREATE INDEX assertion_by_time ON assertion (tenant, project, observed_at, leaf)
    WHERE replaced IS NULL""",
    "assertion_by_replacement": """CREATE INDEX assertion_by_replacement ON assertion (replaced)
    WHERE replaced IS NOT NULL""",
}
"""What version 2 adds. ``replaced`` is the leaf of the first assertion that supersedes this one."""

_REGISTER: Final = {
    "register": """CREATE TABLE register (
    kind TEXT NOT NULL,
    about TEXT NOT NULL,
    leaf INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (kind, about, leaf)
) STRICT, WITHOUT ROWID""",
    "register_by_leaf": "CREATE INDEX register_by_leaf ON register (leaf)",
}
"""What version 3 adds: leaves of the evidence by kind and by what they are about."""

_USES: Final = {
    **_ASSERTIONS,
    "assertion": _ASSERTIONS["assertion"].replace(
        "    value_digest",
        """    starts_at INTEGER,
    purposes TEXT NOT NULL,
    about TEXT,
    derived TEXT NOT NULL,
    value_digest""",
    ),
}
"""What version 3 makes of the table of assertions: what each may be used for, and what it was derived from."""

TABLES_OF: Final = {
    1: _FIRST,
    2: {**_FIRST, **_ASSERTIONS},
    3: {**_FIRST, **_USES, **_REGISTER},
}
"""Every object of each version that can be opened; compared at every opening."""

MIGRATION_OBJECTS: Final = frozenset(
    {("table", "_sqlite_migrations"), ("index", "idx__sqlite_migrations_migration_set_name")}
)
"""What sqlite-utils keeps of the migrations it has run: nothing else may stand beside the tables."""

PROJECTIONS: Final = ("event", "pair", "number")
"""Tables of the search index: the rows of each belong to a source, and can be rebuilt from its sidecars."""

SETTING_VOCABULARY: Final = 1
"""Digest of the vocabulary that the masks were made with; another one means: rebuild."""

SETTING_PAGES_DUE: Final = 2
"""There while leaves were erased and files or pages may still hold what they said."""


_JOURNAL_VERSIONS: Final = slice(18, 20)
"""Two bytes of SQLite's file header: 1 for a rollback journal, 2 for the write-ahead log."""


def empty_database() -> bytes:
    """The file of a new database: every table, no row, and the write-ahead log switched on.

    As bytes it is written in one piece, so that no interruption leaves half a schema.

    Raises:
        sqlite3.Error: a statement failed.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection)
        content = bytearray(connection.serialize())
    # What `PRAGMA journal_mode = WAL` writes; a database in memory does not take the pragma.
    content[_JOURNAL_VERSIONS] = b"\x02\x02"
    return bytes(content)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a database to ``SCHEMA_VERSION``; inside a transaction where it is not a new one.

    Raises:
        sqlite3.Error: a statement failed.
    """
    # Imported here: it costs more than everything else a command loads, and is needed once per version.
    import sqlite_utils
    from sqlite_utils.migrations import Migrations

    migrations = Migrations("timeline")

    @migrations()
    def m001_initial(database: Any) -> None:  # noqa: ANN401  (sqlite_utils types its argument so)
        for statement in _FIRST.values():
            database.execute(statement)

    @migrations()
    def m002_assertions(database: Any) -> None:  # noqa: ANN401  (as above)
        for statement in _ASSERTIONS.values():
            database.execute(statement)

    @migrations()
    def m003_register(database: Any) -> None:  # noqa: ANN401  (as above)
        for statement in (*_REGISTER.values(), *_to_uses()):
            database.execute(statement)

    database = sqlite_utils.Database(connection, execute_plugins=False)
    migrations.apply(database)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


_COPIED: Final = (
    "leaf, id, tenant, subject, predicate, project, user, privacy, "
    '"group", portal, thread, evidence_kind, knowledge, observed_at, expires_at, supersedes'
)
"""Columns of an assertion that versions 2 and 3 have in common, before those of its value."""

BACK_TO: Final = 2
"""The oldest version that a database can be brought back to."""


def roll_back(connection: sqlite3.Connection) -> None:
    """Bring a database of ``SCHEMA_VERSION`` back to ``BACK_TO``; inside a transaction.

    What the newer version has added is dropped; that no leaf needs it the caller has seen.

    Raises:
        sqlite3.Error: a statement failed.
    """
    statements = (
        *(
            f"DROP {'INDEX' if name == 'register_by_leaf' else 'TABLE'} {name}"
            for name in reversed(_REGISTER)
        ),
        *_from_uses(),
        "DELETE FROM _sqlite_migrations WHERE migration_set = 'timeline' AND name = 'm003_register'",
        f"PRAGMA user_version = {BACK_TO}",
    )
    for statement in statements:
        connection.execute(statement)


def _from_uses() -> tuple[str, ...]:
    """What makes the table of version 2 from that of version 3."""
    copied = f"SELECT {_COPIED}, value_digest, hash, replaced FROM assertion_after"  # noqa: S608  # constants
    return (
        *(f"DROP INDEX {name}" for name in _USES if name != "assertion"),
        "ALTER TABLE assertion RENAME TO assertion_after",
        _ASSERTIONS["assertion"],
        f"INSERT INTO assertion {copied}",
        "DROP TABLE assertion_after",
        *(statement for name, statement in _ASSERTIONS.items() if name != "assertion"),
    )


def _to_uses() -> tuple[str, ...]:
    """What makes the table of version 3 from that of version 2: no assertion had a use or a derivation by then."""
    copied = f"SELECT {_COPIED}, NULL, '[]', NULL, '[]', value_digest, hash, replaced FROM assertion_before"  # noqa: S608  # constants
    return (
        *(f"DROP INDEX {name}" for name in _ASSERTIONS if name != "assertion"),
        "ALTER TABLE assertion RENAME TO assertion_before",
        _USES["assertion"],
        f"INSERT INTO assertion {copied}",
        "DROP TABLE assertion_before",
        *(statement for name, statement in _USES.items() if name != "assertion"),
    )
