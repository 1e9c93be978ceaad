"""Whatever somebody writes into the database beside us is refused with a reason, never answered or left out."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import msgspec
import pytest

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.errors import SidecarError
from sidecars.keys import Signing
from sidecars.leaf import Leaf, leaf_hash, seal_leaf
from tests.sidecars.samples import LOG
from tests.simulators.worlds import NOW_MS, World, refusal_of, verdict_of
from tests.world.ledger.ledgers import (
    OBSERVED,
    PROJECT,
    SUBJECT,
    TENANT,
    about,
    entry,
    moved,
    reading,
    record,
)
from timeline import assertions, service
from timeline.assertion_account import account_assertions
from timeline.assertion_row import AssertionRow, AssertionTally, row_of
from timeline.assertions import StoredLeaf, select_rows
from timeline.errors import TimelineError
from timeline.schema import TABLES_OF
from timeline.state import State
from timeline.store import Store
from timeline.world import ledger
from timeline.world.scope import Reader

RECORDED = (
    entry("a", knowledge="fact"),
    entry("b", supersedes=["a"]),
    entry("c", privacy="private"),
    entry("d", portal="portal-ref:" + "a" * 32, thread="thread-ref:" + "b" * 32),
    entry("e", privacy="group", group="team"),
)
"""Leaves 2 to 6."""


@pytest.fixture(scope="module")
def filled(begun: World, tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give a timeline with a few assertions."""
    world = begun.copy(tmp_path_factory.mktemp("filled") / "world")
    record(world, *RECORDED)
    return world


@pytest.fixture
def world(filled: World, tmp_path: Any) -> World:
    """Give a copy of it."""
    return filled.copy(tmp_path / "world")


def by_hand(world: World, statement: str, *values: object) -> None:
    """Change the database as nobody but its owner could."""
    with closing(sqlite3.connect(world.locations.database)) as database, database:
        assert database.execute(statement, values).rowcount != 0


def reason_of(call: Callable[[], object]) -> str | None:
    """Why something was refused."""
    try:
        call()
    except (TimelineError, SidecarError) as error:
        return error.reason
    return None


CHANGES: dict[str, object] = {
    "leaf": 99,
    "id": "assertion:other",
    "tenant": "other",
    "subject": "suite:other",
    "predicate": "test.other",
    "project": None,
    "user": "other",
    "privacy": "private",
    "group": "other",
    "portal": "portal-ref:" + "c" * 32,
    "thread": "thread-ref:" + "c" * 32,
    "evidence_kind": "explicit-user-feedback",
    "knowledge": "decision",
    "observed_at": OBSERVED - 1,
    "expires_at": OBSERVED + 1,
    "supersedes": '["assertion:c"]',
    "starts_at": OBSERVED - 1,
    "purposes": '["planning"]',
    "about": "person:other",
    "derived": '["assertion:c"]',
    "value_digest": bytes(32),
    "hash": bytes(32),
    "replaced": 6,
}
_ONE_MORE = (
    "INSERT INTO assertion SELECT 1, 'assertion:z', tenant, subject, predicate, project, user, privacy, "
    '"group", portal, thread, evidence_kind, knowledge, observed_at, expires_at, supersedes, starts_at, '
    "purposes, about, derived, value_digest, hash, NULL FROM assertion WHERE leaf = ?"
)
STATEMENTS = {
    **{
        f"column {name}": (f'UPDATE assertion SET "{name}" = ? WHERE leaf = 5', value)
        for name, value in CHANGES.items()
    },
    "no json": ("UPDATE assertion SET supersedes = ? WHERE leaf = 5", "[" * 100_000),
    "no kind": ("UPDATE assertion SET privacy = ? WHERE leaf = 5", "public"),
    "unmarked": ("UPDATE assertion SET replaced = NULL WHERE leaf = ?", 2),
    "marked otherwise": ("UPDATE assertion SET replaced = ? WHERE leaf = 2", 4),
    "one is gone": ("DELETE FROM assertion WHERE leaf = ?", 4),
    "the newest is gone": ("DELETE FROM assertion WHERE leaf = ?", 6),
    "all are gone": ("DELETE FROM assertion WHERE leaf > ?", 0),
    "one too many": (_ONE_MORE, 2),
}


def test_each_column_is_changed_once() -> None:
    """A column that is added later is added here."""
    statement = TABLES_OF[3]["assertion"]
    columns = [line.split()[0].strip('"') for line in statement.splitlines()[1:-1]]
    assert columns == list(CHANGES)


@pytest.mark.requirement("W65")
@pytest.mark.parametrize("changed", STATEMENTS)
def test_an_altered_table_is_not_answered_from(world: World, changed: str) -> None:
    """Any column, and rows that are gone or too many; what is next recorded makes the table anew."""
    before = about(world)
    by_hand(world, *STATEMENTS[changed])
    assert reason_of(lambda: about(world)) == "index-unverified"
    assert reason_of(lambda: about(world, "suite:none")) == "index-unverified"
    assert verdict_of(world) == ("refused", frozenset({"index-unverified"}))
    record(world, entry("new", subject="suite:new"))
    assert about(world) == before
    assert verdict_of(world, deep=True) == ("ok", frozenset())


def answers_of(state: State) -> dict[str, Callable[[], object]]:
    """Each way to read."""
    return {
        "subject": lambda: ledger.read_subject(state, SUBJECT, tenant=TENANT, project=PROJECT),
        "current": lambda: ledger.read_current(state, SUBJECT, tenant=TENANT, project=PROJECT),
        "find": lambda: ledger.find(state, "assertion:d"),
        "replaced": lambda: ledger.is_replaced(state, "assertion:a"),
    }


@pytest.mark.requirement("W65")
@pytest.mark.parametrize("changed", STATEMENTS)
@pytest.mark.parametrize("way", ["subject", "current", "find", "replaced"])
def test_a_table_that_is_altered_while_it_is_open_is_not_answered_from(
    world: World, changed: str, way: str
) -> None:
    """It was accounted for a moment ago; somebody has written since, and it is compared again."""
    with reading(world) as state:
        read = answers_of(state)[way]
        read()
        by_hand(world, *STATEMENTS[changed])
        assert reason_of(read) == "index-unverified"


@pytest.mark.requirement("W65")
@pytest.mark.parametrize("what", ["salt", "envelope", "gone"])
def test_a_leaf_that_is_altered_while_it_is_open_is_refused(world: World, what: str) -> None:
    """The row stands and is right: its leaf has to have the hash that was counted."""
    statements = {
        "salt": ("UPDATE leaf SET salt = ? WHERE idx = 5", bytes(32)),
        "envelope": ("UPDATE leaf SET envelope = (SELECT envelope FROM leaf WHERE idx = ?) WHERE idx = 5", 4),
        "gone": ("DELETE FROM leaf WHERE idx = ?", 5),
    }
    with reading(world) as state:
        read = answers_of(state)
        read["subject"]()
        by_hand(world, *statements[what])
        assert reason_of(read["subject"]) == "digest-mismatch"
        assert reason_of(read["find"]) == "digest-mismatch"
    assert reason_of(lambda: about(world)) not in {None, "index-unverified"}


@pytest.mark.requirement("W65", "X7")
@pytest.mark.parametrize(
    ("kind", "signer"),
    [("explicit-user-feedback", "log"), ("objective-measurement", "owner"), ("model-suggestion", "")],
)
def test_a_leaf_that_another_key_signed_is_refused(world: World, kind: str, signer: str) -> None:
    """Though row and hash agree: the owner's word needs the owner key, the rest the log key in force at its leaf."""
    with reading(world) as state:
        keys = {"log": state.keystore.log, "owner": state.keystore.owner}
        stored = _sealed(state, entry("k", evidence_kind=kind), keys.get(signer) or LOG)
        assert reason_of(lambda: ledger._open(state, stored)) == "unknown-key"
        right = keys["owner" if kind == "explicit-user-feedback" else "log"]
        assert ledger._open(state, _sealed(state, entry("k", evidence_kind=kind), right)).id == "assertion:k"


@pytest.mark.requirement("W65")
@pytest.mark.parametrize("field", [name for name in CHANGES if name not in {"hash", "replaced"}])
def test_a_row_that_is_not_the_one_of_its_leaf_is_refused(world: World, field: str) -> None:
    """Each field is compared with what the leaf gives, at every reading."""
    with reading(world) as state:
        stored = _sealed(state, entry("k"), state.keystore.log)
        changed = CHANGES[field]
        if field in {"supersedes", "purposes", "derived"}:
            changed = tuple(msgspec.json.decode(str(changed)))
        other = msgspec.structs.replace(stored, row=msgspec.structs.replace(stored.row, **{field: changed}))
        refusals = {"leaf": {"unknown-key", "index-unverified"}}
        assert reason_of(lambda: ledger._open(state, other)) in refusals.get(field, {"index-unverified"})


@pytest.mark.requirement("W65")
def test_a_value_that_is_not_in_its_one_form_is_refused(world: World) -> None:
    """Well signed and well counted: what could not have been recorded here is not read either."""
    with reading(world) as state:
        stored = _sealed(state, moved(entry("k"), value='{"b": 1}'), state.keystore.log)
        assert reason_of(lambda: ledger._open(state, stored)) == "world-state-invalid"


def _sealed(state: State, body: AssertionEntry, signer: Signing) -> StoredLeaf:
    leaf = Leaf(
        origin=state.keystore.pins.origin,
        index=5,
        root=str(Digest(bytes(32))),
        batch_start=5,
        batch_size=1,
        at=NOW_MS,
        body=body,
    )
    salt, envelope = bytes(32), seal_leaf(leaf, signer)
    return StoredLeaf(row_of(leaf, body, leaf_hash(salt, envelope)), salt, envelope)


@pytest.mark.requirement("W65")
def test_the_tally_binds_each_row_to_its_leaf(world: World) -> None:
    """The same rows over a leaf of another hash add up to something else, and so do rows in another order."""
    with reading(world) as state:
        rows = [stored.row for stored in select_rows(state.store, "1 ORDER BY leaf", ())]
        tally = state.view.assertions
    assert _tally(rows) == tally
    assert tally.count == len(RECORDED)
    assert _tally([*rows[:-1], msgspec.structs.replace(rows[-1], hash=bytes(32))]) != tally
    assert _tally([rows[1], rows[0], *rows[2:]]) != tally


def _tally(rows: Sequence[AssertionRow]) -> AssertionTally:
    tally = AssertionTally()
    for row in rows:
        tally = tally.with_row(row)
    return tally


@pytest.mark.requirement("W7", "W65")
def test_a_log_that_gives_one_id_twice_is_refused(world: World) -> None:
    """The ledger never writes that; whoever has the keys can. Nothing is then answered, and nothing recorded."""
    with world.session.writing() as state:
        state.commit([entry("a", value=2)])
    assert reason_of(lambda: about(world)) == "log-refused"
    assert reason_of(lambda: record(world, entry("new"))) == "log-refused"
    assert "log-refused" in verdict_of(world)[1]


@pytest.mark.requirement("W65")
def test_the_table_is_made_anew_from_leaves_that_stand(world: World) -> None:
    """A leaf that was exchanged since the log was verified is not adopted: nothing is changed."""
    with world.session.writing() as state:
        by_hand(world, "DELETE FROM assertion WHERE leaf = ?", 3)
        by_hand(world, "UPDATE leaf SET salt = ? WHERE idx = 5", bytes(32))
        assert reason_of(lambda: account_assertions(state)) == "index-unverified"
        assert len(list(select_rows(state.store, "1", ()))) == len(RECORDED) - 1


@pytest.mark.requirement("W65")
def test_the_owners_index_command_makes_the_table_anew(world: World) -> None:
    """As the hint of the refusal says; it does so before it looks whether anything is enrolled."""
    before = about(world)
    by_hand(world, "DELETE FROM assertion WHERE leaf = ?", 4)
    assert refusal_of(lambda: service.index(world.session, world.root)) == "private-enrollment-unavailable"
    assert about(world) == before


@pytest.mark.requirement("W65")
def test_an_index_that_hides_rows_is_found(world: World) -> None:
    """The table holds every row and adds up; a look-up by the index would miss one."""
    with closing(sqlite3.connect(world.locations.database)) as database:
        whole = "FROM sqlite_master WHERE name = 'assertion_by_subject'"
        (sql,) = database.execute(f"SELECT sql {whole}").fetchone()
        database.execute("PRAGMA writable_schema = ON")
        change = "UPDATE sqlite_master SET sql = ? WHERE name = 'assertion_by_subject'"
        with database:
            database.execute(change, (f"{sql} WHERE leaf <> 5",))
        database.execute("PRAGMA writable_schema = RESET")
        with database:
            database.execute("REINDEX assertion_by_subject")
            database.execute("PRAGMA writable_schema = ON")
            database.execute(change, (sql,))
    assert reason_of(lambda: about(world)) == "state-corrupt"


@pytest.mark.requirement("H-h")
def test_a_commit_reads_nothing_of_the_table_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compared once for as long as a state is open and nobody else writes, however much is recorded."""
    compared: list[int] = []
    check = assertions.check_rows

    def counted(store: Store, tally: AssertionTally, size: int) -> None:
        compared.append(size)
        check(store, tally, size)

    monkeypatch.setattr(assertions, "check_rows", counted)
    with world.session.writing() as state:
        for number in range(3):
            ledger.record(state, [entry(f"n{number}")])
            assert ledger.find(state, f"assertion:n{number}") is not None
        state.commit([entry("beside")])
        assert ledger.find(state, "assertion:beside") is not None
    assert len(compared) == 1


def test_a_state_that_was_read_before_a_commit_shows_what_stood_then(world: World) -> None:
    """A reader holds no lock: what another process has added or replaced since is not there for it yet."""
    with reading(world) as state:
        record(world, entry("f", supersedes=["b"]), entry("z", subject="suite:z"))
        current = ledger.read_current(state, SUBJECT, tenant=TENANT, project=PROJECT)
        assert [one.id.removeprefix("assertion:") for one in current] == ["b", "c", "d", "e"]
        page = ledger.read_visible(state, Reader(TENANT, "dev", PROJECT, is_owner=True), limit=9)
        assert {one.id.removeprefix("assertion:") for one in page.assertions} == {"b", "c", "d"}
        assert not ledger.is_replaced(state, "assertion:b")
        assert ledger.find(state, "assertion:z") is None
    with reading(world) as state:
        assert ledger.is_replaced(state, "assertion:b")
