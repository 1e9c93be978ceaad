import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from sidecars.checkpoint import Checkpoint, sign_checkpoint
from sidecars.digest import Digest
from tests.anchors.cluster import ADMIN, CLIENT, DATABASE, Cluster, find_binaries, running
from tests.anchors.contract import at_once, grown, question
from tests.anchors.database import TABLE, ask, held_size, said
from tests.anchors.stages import PostgresStage
from tests.services import skip_without
from tests.simulators.witnesses import LOG, ORIGIN, OTHER, Branch, HandClock
from timeline.anchors.errors import PostgresUnavailableError
from timeline.anchors.port import Answer, Standing
from timeline.anchors.postgres import (
    Found,
    Move,
    Row,
    decide_found,
    postgres_anchor,
)
from timeline.anchors.schema import format_schema

pytestmark = pytest.mark.requirement("X5")

# -- what the database refuses ---------------------------------------------------------------------------------

WRITES = {
    "insert": f"INSERT INTO {TABLE} VALUES ('another', 1, decode(repeat('00', 32), 'hex'), 'x')",
    "update": f"UPDATE {TABLE} SET size = 2",
    "delete": f"DELETE FROM {TABLE}",
    "truncate": f"TRUNCATE {TABLE}",
    "drop": f"DROP TABLE {TABLE}",
    "disable the trigger": f"ALTER TABLE {TABLE} DISABLE TRIGGER USER",
    "replace the function": "ALTER FUNCTION timeline_anchor.anchor_guard() RENAME TO other",
    "make a table beside it": "CREATE TABLE timeline_anchor.other (x int)",
    "pretend to be a replica": "SET session_replication_role = replica",
}


@pytest.mark.parametrize("what", WRITES)
def test_the_role_can_do_nothing_but_read_and_advance(cluster: Cluster, what: str) -> None:
    """Every direct way is denied; the row stays."""
    ask(cluster, grown(3))
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        cluster.execute(WRITES[what], role=CLIENT)
    assert held_size(cluster) == 3


BACKWARDS = {
    "smaller": f"UPDATE {TABLE} SET size = 2",
    "another root": f"UPDATE {TABLE} SET root = decode(repeat('00', 32), 'hex')",
    "another log": f"UPDATE {TABLE} SET origin = 'another', size = 9",
    "delete": f"DELETE FROM {TABLE}",
    "truncate": f"TRUNCATE {TABLE}",
}


@pytest.mark.parametrize("session", ["", "SET session_replication_role = replica"])
@pytest.mark.parametrize("what", BACKWARDS)
def test_not_even_a_superuser_moves_a_row_backwards(cluster: Cluster, what: str, session: str) -> None:
    """The trigger holds for everybody until somebody disables it, and in every kind of session."""
    ask(cluster, grown(3))
    with pytest.raises(psycopg.errors.IntegrityConstraintViolation):
        cluster.execute(*filter(None, [session]), BACKWARDS[what])
    assert held_size(cluster) == 3


def advance_by_hand(
    cluster: Cluster, old: int | None, new: int, root: bytes = b"\x07" * 32, note: bytes = b"note"
) -> bool:
    """Call the function of the server as a client might that is not this program."""
    with cluster.connect(role=CLIENT) as connection:
        row = connection.execute(
            "SELECT timeline_anchor.anchor_advance(%s, %s, %s, %s, %s)", (ORIGIN, old, new, root, note)
        ).fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize(("old", "new"), [(2, 9), (4, 9), (0, 9), (None, 9)])
def test_an_advance_from_another_size_than_the_held_one_moves_nothing(
    cluster: Cluster, old: int | None, new: int
) -> None:
    """Compare-and-set: who does not know what is there cannot replace it."""
    ask(cluster, grown(3))
    assert advance_by_hand(cluster, old, new) is False
    assert held_size(cluster) == 3


def test_an_advance_backwards_is_an_error_even_from_the_held_size(cluster: Cluster) -> None:
    """Knowing what is there is no leave to make it smaller, or to give the size another root."""
    ask(cluster, grown(3))
    for new in (2, 3):
        with pytest.raises(psycopg.errors.IntegrityConstraintViolation):
            advance_by_hand(cluster, 3, new)
    assert held_size(cluster) == 3


def test_the_caller_does_not_choose_what_the_function_calls(cluster: Cluster) -> None:
    """An operator of the caller's own would run with the owner's rights; the function has its own search path."""
    ask(cluster, grown(3))
    cluster.execute("DROP SCHEMA IF EXISTS evil CASCADE", f"CREATE SCHEMA evil AUTHORIZATION {CLIENT}")
    with cluster.connect(role=CLIENT) as connection:
        for statement in (
            "CREATE FUNCTION evil.yes(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
            "CREATE OPERATOR evil.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.yes)",
            "SET search_path = evil, pg_catalog",
        ):
            connection.execute(statement)
        values = (ORIGIN, 999, 9, b"\x07" * 32, b"note")
        call = "SELECT timeline_anchor.anchor_advance(%s, %s, %s, %s, %s), 1::bigint = 2::bigint"
        assert connection.execute(call, values).fetchone() == (False, True)
    assert held_size(cluster) == 3


@pytest.mark.parametrize("old", [None, 3])
def test_of_forty_advances_from_one_size_exactly_one_wins(cluster: Cluster, old: int | None) -> None:
    """The race of the first row, and of every later one (integrity §1.13)."""
    if old is not None:
        ask(cluster, grown(old))

    def advance(number: int) -> Callable[[], bool]:
        return lambda: advance_by_hand(cluster, old, 5, bytes([number]) * 32)

    won = at_once([advance(number) for number in range(40)])
    with cluster.connect() as connection:
        rows = connection.execute(f"SELECT size, root FROM {TABLE}").fetchall()
    assert sum(won) == 1
    assert rows == [(5, bytes([won.index(True)]) * 32)]


def test_the_schema_may_be_run_again_and_for_another_role(cluster: Cluster) -> None:
    """Nothing is lost, and the second role can ask, too."""
    ask(cluster, grown(3))
    cluster.execute(format_schema("second_role"))
    assert ask(cluster, grown(5), 3, role="second_role").standing is Standing.CONFIRMED
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        cluster.execute(WRITES["delete"], role="second_role")
    assert ask(cluster, grown(5), 5).standing is Standing.CONFIRMED


def test_running_the_schema_again_takes_rights_back(cluster: Cluster) -> None:
    """A grant too many ends where an administrator runs the printed SQL once more."""
    cluster.execute(f"GRANT ALL ON {TABLE} TO {CLIENT}")
    assert said(ask(cluster, grown(3))) == ("refused", "role-may-write")
    cluster.execute(format_schema())
    assert ask(cluster, grown(3)).standing is Standing.CONFIRMED


def test_what_was_confirmed_survives_a_crash_of_the_server(cluster: Cluster) -> None:
    """An advance is answered when it is on disk."""
    assert ask(cluster, grown(7)).standing is Standing.CONFIRMED
    cluster.stop("immediate")
    try:
        assert said(ask(cluster, grown(7), 7)) == ("unavailable", "no-connection")
    finally:
        cluster.start()
    assert said(ask(cluster, grown(3))) == ("ahead", "larger-tree")


# -- servers that are no anchor --------------------------------------------------------------------------------


@contextmanager
def changed(cluster: Cluster, change: str, back: str) -> Iterator[None]:
    """Change the server for the block."""
    cluster.execute(change)
    try:
        yield
    finally:
        cluster.execute(back)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("synchronous_commit = off", "synchronous-commit-off"),
        ("default_transaction_read_only = on", "read-only"),
    ],
)
def test_a_role_whose_commits_are_no_commits_is_refused(cluster: Cluster, setting: str, reason: str) -> None:
    """A setting that the server keeps for the role counts as one of the whole server does."""
    ask(cluster, grown(3))
    name = setting.partition(" ")[0]
    with changed(cluster, f"ALTER ROLE {CLIENT} SET {setting}", f"ALTER ROLE {CLIENT} RESET {name}"):
        assert said(ask(cluster, grown(5), 3)) == ("refused", reason)
    assert held_size(cluster) == 3


def test_a_server_without_fsync_and_a_standby_are_refused(tmp_path: Path) -> None:
    """The one may forget what it has said, and the other may not have heard it yet."""
    binaries = find_binaries()
    if binaries is None:
        skip_without("PostgreSQL server (initdb, pg_ctl)")
    with running(binaries) as cluster:
        assert ask(cluster, grown(3)).standing is Standing.CONFIRMED
        cluster.stop("fast")
        cluster.start("fsync=off")
        assert said(ask(cluster, grown(3), 3)) == ("refused", "fsync-off")
        cluster.stop("fast")
        (cluster.folder / "data" / "standby.signal").touch()
        cluster.start()
        assert said(ask(cluster, grown(3), 3)) == ("refused", "standby")


def test_an_account_that_could_put_the_row_back_is_refused(cluster: Cluster) -> None:
    """An anchor that the asker's own account may change is none: a superuser, or a grant too many."""
    assert said(ask(cluster, grown(3), role=ADMIN)) == ("refused", "role-may-write")
    for right in ("INSERT", "UPDATE", "DELETE", "TRUNCATE", "TRIGGER"):
        with changed(
            cluster, f"GRANT {right} ON {TABLE} TO {CLIENT}", f"REVOKE {right} ON {TABLE} FROM {CLIENT}"
        ):
            assert said(ask(cluster, grown(3))) == ("refused", "role-may-write"), right
    assert held_size(cluster) is None


BOSS = "anchor_boss"
OWNED = {
    "table": f"TABLE {TABLE}",
    "function": "FUNCTION timeline_anchor.anchor_advance(text, bigint, bigint, bytea, bytea)",
    "trigger's function": "FUNCTION timeline_anchor.anchor_guard()",
    "schema": "SCHEMA timeline_anchor",
    "database": f"DATABASE {DATABASE}",
}


@pytest.fixture
def boss(cluster: Cluster) -> Iterator[Cluster]:
    """Give a server with a second role, which is gone afterwards together with all that it owns."""
    cluster.execute(f"CREATE ROLE {BOSS} LOGIN")
    yield cluster
    cluster.execute(
        f"ALTER ROLE {CLIENT} INHERIT",
        f"ALTER DATABASE {DATABASE} OWNER TO {ADMIN}",
        f"DROP OWNED BY {BOSS} CASCADE",
        f"DROP ROLE {BOSS}",
    )


@pytest.mark.parametrize("what", OWNED)
def test_an_account_that_can_become_the_owner_is_refused(boss: Cluster, what: str) -> None:
    """It has no right of its own and inherits none (NOINHERIT); one SET ROLE later it could replace everything."""
    # The function runs with its owner's rights.
    boss.execute(f"GRANT USAGE ON SCHEMA timeline_anchor TO {BOSS}", f"GRANT ALL ON {TABLE} TO {BOSS}")
    boss.execute(f"ALTER {OWNED[what]} OWNER TO {BOSS}")
    assert ask(boss, grown(3)).standing is Standing.CONFIRMED
    boss.execute(f"REVOKE ALL ON {TABLE} FROM {BOSS}")
    boss.execute(f"ALTER ROLE {CLIENT} NOINHERIT", f"GRANT {BOSS} TO {CLIENT}")
    assert said(ask(boss, grown(5), 3)) == ("refused", "role-may-write")
    assert held_size(boss) == 3


def test_an_owner_who_took_his_own_rights_away_is_refused(cluster: Cluster) -> None:
    """He can give them back."""
    ask(cluster, grown(3))
    cluster.execute(
        f"ALTER TABLE {TABLE} OWNER TO {CLIENT}",
        f"REVOKE ALL ON {TABLE} FROM {CLIENT}",
        f"GRANT SELECT ON {TABLE} TO {CLIENT}",
    )
    assert said(ask(cluster, grown(5), 3)) == ("refused", "role-may-write")


@pytest.mark.parametrize(
    "right",
    [
        f"GRANT UPDATE ON {TABLE} TO {BOSS}",
        f"GRANT pg_write_all_data TO {BOSS}",
        f"ALTER ROLE {BOSS} SUPERUSER",
    ],
)
def test_a_right_of_a_role_that_it_can_become_counts(boss: Cluster, right: str) -> None:
    """Whether or not the account has it at this moment."""
    boss.execute(f"ALTER ROLE {CLIENT} NOINHERIT", f"GRANT {BOSS} TO {CLIENT}")
    assert ask(boss, grown(3)).standing is Standing.CONFIRMED
    boss.execute(right)
    assert said(ask(boss, grown(5), 3)) == ("refused", "role-may-write")


def test_the_role_that_a_login_wears_hides_no_right(boss: Cluster) -> None:
    """The account that logged in counts: it takes its own rights back with RESET ROLE."""
    ask(boss, grown(3))
    boss.execute(f"GRANT UPDATE ON {TABLE} TO {BOSS}", f"GRANT {CLIENT} TO {BOSS}")
    boss.execute(f"ALTER ROLE {BOSS} SET role = {CLIENT}")
    assert said(ask(boss, grown(5), 3, role=BOSS)) == ("refused", "role-may-write")


def test_a_right_to_one_column_is_one_too_many(cluster: Cluster) -> None:
    """The checkpoint alone is all there is to put back."""
    cluster.execute(f"GRANT UPDATE (checkpoint) ON {TABLE} TO {CLIENT}")
    assert said(ask(cluster, grown(3))) == ("refused", "role-may-write")


def test_a_database_that_was_not_set_up_is_refused(cluster: Cluster) -> None:
    """Without the schema, without a grant, without the function: each time the word says which."""
    assert said(ask(cluster, grown(3), database="postgres")) == ("refused", "schema-missing")
    cluster.execute("DROP ROLE IF EXISTS stranger", "CREATE ROLE stranger LOGIN")
    assert said(ask(cluster, grown(3), role="stranger")) == ("refused", "permission-denied")
    cluster.execute(
        "GRANT USAGE ON SCHEMA timeline_anchor TO stranger", f"GRANT SELECT ON {TABLE} TO stranger"
    )
    assert said(ask(cluster, grown(3), role="stranger")) == ("refused", "permission-denied")
    rename = "ALTER FUNCTION timeline_anchor.{} RENAME TO {}"
    with changed(cluster, rename.format("anchor_advance", "gone"), rename.format("gone", "anchor_advance")):
        assert said(ask(cluster, grown(3))) == ("refused", "schema-missing")
    assert held_size(cluster) is None


def test_a_login_that_fails_is_no_answer(cluster: Cluster) -> None:
    """A missing password is told apart; all else is text in the server's language, which is not read."""
    cluster.execute("DROP ROLE IF EXISTS needs_password", "CREATE ROLE needs_password LOGIN PASSWORD 'x'")
    assert said(ask(cluster, grown(3), role="needs_password")) == ("refused", "login-refused")
    assert said(ask(cluster, grown(3), role="nobody_here")) == ("unavailable", "no-connection")
    assert said(ask(cluster, grown(3), database="nowhere")) == ("unavailable", "no-connection")


# -- rows that are none ----------------------------------------------------------------------------------------


def note_of(size: int, *, origin: str = ORIGIN, signer: Any = LOG, log: Branch | None = None) -> bytes:
    """Sign a checkpoint of any size."""
    root = Digest((log or grown(size)).root())
    return sign_checkpoint(Checkpoint(origin, size, root), [signer])


GARBLED: dict[str, tuple[int, bytes, bytes, str]] = {
    "no note": (9, grown(9).root(), b"garbage", "malformed"),
    "another key": (9, grown(9).root(), note_of(9, signer=OTHER), "unknown-key"),
    "another log": (9, grown(9).root(), note_of(9, origin="log.example/two"), "origin-mismatch"),
    "a larger size than signed": (99, grown(9).root(), note_of(9), "row-contradicts-checkpoint"),
    "a smaller size than signed": (2, grown(9).root(), note_of(9), "row-contradicts-checkpoint"),
    "another root than signed": (9, grown(8).root(), note_of(9), "row-contradicts-checkpoint"),
    "a broken signature": (9, grown(9).root(), note_of(9)[:-8] + b"AAAAAA=\n", "bad-signature"),
}


@pytest.mark.parametrize("what", GARBLED)
def test_a_row_that_our_log_has_not_signed_is_misbehaviour(stage: PostgresStage, what: str) -> None:
    """Nobody but the log's key can raise an alarm about our state, or confirm it."""
    size, root, note, reason = GARBLED[what]
    stage.put_back([(ORIGIN, size, root, note)])
    for log in (grown(3), grown(9), grown(12)):
        answer = ask(stage.cluster, log, 3)
        assert said(answer) == ("misbehaved", reason)
        assert answer.evidence is None
    assert stage.keep() == [(ORIGIN, size, root, note)]


ODD = {
    "no root": "ALTER TABLE {0} ALTER root DROP NOT NULL; UPDATE {0} SET root = NULL",
    "text for bytes": "ALTER TABLE {0} ALTER checkpoint TYPE text USING 'x'",
    "text for a number": "ALTER TABLE {0} ALTER size TYPE text",
}


@pytest.mark.parametrize("what", ODD)
def test_a_row_of_another_form_is_misbehaviour(cluster: Cluster, what: str) -> None:
    """A table that only looks like ours."""
    cluster.execute("DROP DATABASE IF EXISTS odd", "CREATE DATABASE odd", database="postgres")
    cluster.execute(format_schema(), database="odd")
    assert ask(cluster, grown(3), database="odd").standing is Standing.CONFIRMED
    checks = ", ".join(f"DROP CONSTRAINT anchor_{name}_check" for name in ("size", "root", "checkpoint"))
    cluster.execute(
        f"ALTER TABLE {TABLE} DISABLE TRIGGER USER",
        f"ALTER TABLE {TABLE} {checks}",
        ODD[what].format(TABLE),
        database="odd",
    )
    answer = ask(cluster, grown(3), 3, database="odd")
    assert said(answer) == ("misbehaved", "malformed-row")


# -- without a server ------------------------------------------------------------------------------------------

GOOD = Found(
    is_standby=False, has_fsync=True, has_synchronous_commit=True, role_may_write=False,
    row=Row(3, grown(3).root(), note_of(3)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"is_standby": True}, "standby"),
        ({"has_fsync": False}, "fsync-off"),
        ({"has_synchronous_commit": False}, "synchronous-commit-off"),
        ({"role_may_write": True}, "role-may-write"),
    ],
)
@pytest.mark.parametrize("row", [GOOD.row, None])
def test_each_setting_alone_refuses(change: dict[str, bool], reason: str, row: Row | None) -> None:
    """A server that is no anchor is refused whatever its row says, even where it would confirm."""
    found = msgspec.structs.replace(GOOD, row=row, **change)
    for log in (grown(2), grown(3), grown(5)):
        assert decide_found(found, question(log), 0) == Answer(Standing.REFUSED, reason=reason)


def test_a_good_reading_is_decided_by_its_row() -> None:
    """The table of what a row means, without a server."""
    assert decide_found(GOOD, question(grown(3)), 3) is None
    assert decide_found(GOOD, question(grown(5)), 3) == Move(3)
    nothing = msgspec.structs.replace(GOOD, row=None)
    assert decide_found(nothing, question(grown(5)), 0) == Move(None)
    forgotten = decide_found(nothing, question(grown(5)), 3)
    assert isinstance(forgotten, Answer)
    assert (said(forgotten), forgotten.size) == (("regressed", "row-missing"), 0)


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy that names a database on a machine without psycopg is no crash."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(PostgresUnavailableError) as caught:
        postgres_anchor("postgresql://db.example.org/anchors?sslmode=verify-full", HandClock())
    assert "transcript-timeline[postgres]" in caught.value.hint
