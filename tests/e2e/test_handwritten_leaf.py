"""Rows written by hand into the database: no leaf is adopted by repair, no row changes an answer.

The writer of these rows holds the state folder and not the keys; where a case gives him a key, it says which.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from sidecars.digest import Digest
from sidecars.keys import Signer
from sidecars.leaf import (
    Body,
    KeyEpoch,
    Leaf,
    Policy,
    Revocation,
    SidecarEntry,
    leaf_hash,
    seal_leaf,
)
from sidecars.merkle import Frontier
from tests.simulators.worlds import (
    Moment,
    World,
    answers_of,
    contents,
    event_ids,
    is_refused,
    leaves_of,
    prompt_event,
    refusal_of,
    search_once,
    verdict_of,
)
from timeline import service
from timeline.guard.receipt import Receipt, receipt_digest
from timeline.keystore import Keystore
from timeline.schema import SCHEMA_VERSION
from timeline.state import open_state

Grown = tuple[World, tuple[Moment, ...]]
Row = tuple[int, bytes, bytes]
SALT = b"s" * 32


@dataclass(frozen=True)
class Desk:
    """What a forger works with: the log as it stands, and (for single cases) its keys."""

    rows: list[Row]
    keystore: Keystore
    enrollment_id: str

    @property
    def size(self) -> int:
        """Leaves in the log."""
        return len(self.rows)

    def leaf(self, body: Body, **changes: object) -> Leaf:
        """Give a leaf that links to the log as it stands, but for ``changes``."""
        frontier = Frontier()
        for _, salt, envelope in self.rows:
            frontier = frontier.append(leaf_hash(salt, envelope))
        proper = Leaf(
            origin=self.keystore.pins.origin,
            index=self.size,
            root=str(Digest(frontier.root())),
            batch_start=self.size,
            batch_size=1,
            at=1_787_223_600_000,
            body=body,
        )
        return msgspec.structs.replace(proper, **changes)

    def row(self, leaf: Leaf, signer: Signer) -> Row:
        """Give the row of a leaf, signed."""
        return leaf.index, SALT, seal_leaf(leaf, signer)

    def after(self, row: Row) -> "Desk":
        """Give the desk once a row is in."""
        return Desk([*self.rows, row], self.keystore, self.enrollment_id)


def insert(world: World, rows: list[Row]) -> None:
    """Write leaves by hand."""
    with closing(sqlite3.connect(world.locations.database)) as connection, connection:
        connection.executemany("INSERT INTO leaf (idx, salt, envelope) VALUES (?, ?, ?)", rows)


def desk_of(world: World) -> Desk:
    """Give the forger's desk before a world."""
    with open_state(world.locations, world.session.ports) as state:
        (source,) = state.view.active
        return Desk(leaves_of(world), state.keystore, source.enrollment.enrollment_id)


# -- leaves ----------------------------------------------------------------------------------------------------


def _policy(desk: Desk) -> Body:
    return Policy(owner_presence="any", simulated_host=True)


def _revocation(desk: Desk) -> Body:
    return Revocation(enrollment_id=desk.enrollment_id)


def _stranger(name: str) -> Signer:
    return Signer(name, b"\x07" * 32)


def _unsigned(desk: Desk) -> list[Row]:
    """A proper leaf whose signature is taken away."""
    index, salt, envelope = desk.row(desk.leaf(_policy(desk)), desk.keystore.owner)
    header, _, payload = envelope.partition(b"\n\n")
    lines = [line for line in header.split(b"\n") if not line.startswith(desk.keystore.pins.origin.encode())]
    assert len(lines) < header.count(b"\n") + 1
    return [(index, salt, b"\n".join(lines) + b"\n\n" + payload)]


def _empty(desk: Desk) -> list[Row]:
    return [(desk.size, SALT, b"")]


def _foreign_key(desk: Desk) -> list[Row]:
    """Signed by another key under the owner's name."""
    return [desk.row(desk.leaf(_policy(desk)), _stranger(desk.keystore.owner.verifier.name))]


def _log_key_for_owner(desk: Desk) -> list[Row]:
    """The log key is online and may leak: it cannot consent or take back."""
    return [desk.row(desk.leaf(_revocation(desk)), desk.keystore.log)]


def _log_key_appoints_a_key(desk: Desk) -> list[Row]:
    stranger = _stranger(desk.keystore.pins.origin)
    pins = desk.keystore.pins
    body = KeyEpoch(epoch=1, log_key=str(stranger.verifier), owner_key=str(pins.owner), reason="compromised")
    return [desk.row(desk.leaf(body), desk.keystore.log)]


def _copy_of_the_last(desk: Desk) -> list[Row]:
    """A real leaf once more, at the next index."""
    _, salt, envelope = desk.rows[-1]
    return [(desk.size, salt, envelope)]


def _copy_of_the_first(desk: Desk) -> list[Row]:
    _, salt, envelope = desk.rows[0]
    return [(desk.size, salt, envelope)]


def _wrong_root(desk: Desk) -> list[Row]:
    """Properly signed, but for another tree before it."""
    return [desk.row(desk.leaf(_policy(desk), root=str(Digest(b"0" * 32))), desk.keystore.owner)]


def _wrong_index(desk: Desk) -> list[Row]:
    later = desk.leaf(_policy(desk), index=desk.size + 1, batch_start=desk.size + 1)
    index, salt, envelope = desk.row(later, desk.keystore.owner)
    return [(index - 1, salt, envelope)]


def _wrong_origin(desk: Desk) -> list[Row]:
    leaf = desk.leaf(_policy(desk), origin="agent-timeline/" + "0" * 32)
    return [desk.row(leaf, desk.keystore.owner)]


def _part_of_a_batch(desk: Desk) -> list[Row]:
    """Properly signed and linked, the first of two; the second never came."""
    return [desk.row(desk.leaf(_policy(desk), batch_size=2), desk.keystore.owner)]


def _end_of_a_batch(desk: Desk) -> list[Row]:
    """Says that its batch began before the head."""
    leaf = desk.leaf(_policy(desk), batch_start=desk.size - 1, batch_size=2)
    return [desk.row(leaf, desk.keystore.owner)]


def _two_batches(desk: Desk) -> list[Row]:
    """Both properly signed and linked; a crash leaves one at most."""
    first = desk.row(desk.leaf(_policy(desk)), desk.keystore.owner)
    second_desk = desk.after(first)
    return [first, second_desk.row(second_desk.leaf(_policy(desk)), desk.keystore.owner)]


def _another_rule_for_the_host(desk: Desk) -> list[Row]:
    """Properly signed: a simulated host cannot be declared a real one later."""
    body = Policy(owner_presence="any", simulated_host=False)
    return [desk.row(desk.leaf(body), desk.keystore.owner)]


def _a_gap(desk: Desk) -> list[Row]:
    index, salt, envelope = desk.row(desk.leaf(_policy(desk)), desk.keystore.owner)
    return [(index + 1, salt, envelope)]


def _short_salt(desk: Desk) -> list[Row]:
    index, _, envelope = desk.row(desk.leaf(_policy(desk)), desk.keystore.owner)
    return [(index, b"short", envelope)]


def _a_sidecar_out_of_order(desk: Desk) -> list[Row]:
    """Properly signed and linked, and against what the leaves before it say."""
    body = SidecarEntry(
        digest=str(Digest(b"1" * 32)),
        source="source:" + "2" * 32,
        segment=0,
        enrollment_id=desk.enrollment_id,
        count=0,
        root=str(Digest(b"3" * 32)),
    )
    return [desk.row(desk.leaf(body), desk.keystore.log)]


FORGED: dict[Callable[[Desk], list[Row]], str] = {
    _unsigned: "malformed",
    _empty: "malformed",
    _foreign_key: "unknown-key",
    _log_key_for_owner: "unknown-key",
    _log_key_appoints_a_key: "unknown-key",
    _copy_of_the_last: "broken-link",
    _copy_of_the_first: "broken-link",
    _wrong_root: "broken-link",
    _wrong_index: "broken-link",
    _wrong_origin: "origin-mismatch",
    _part_of_a_batch: "broken-link",
    _end_of_a_batch: "broken-link",
    _two_batches: "lag-beyond-one-batch",
    _another_rule_for_the_host: "broken-link",
    _a_gap: "broken-link",
    _short_salt: "malformed",
    _a_sidecar_out_of_order: "log-refused",
}


@pytest.mark.requirement("T66", "T67", "D3")
@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__.lstrip("_"))
def test_a_handwritten_leaf_is_never_adopted(world: World, forge: Callable[[Desk], list[Row]]) -> None:
    """Search, index, enroll and ``verify`` all refuse; head and anchor stay where they were."""
    insert(world, forge(desk_of(world)))
    before = contents(world.folder)
    reason = FORGED[forge]
    attempts = (
        lambda: search_once(world),
        lambda: service.index(world.session, world.root),
        lambda: service.receive_prompt(world.session, "codex", _named_prompt(world)),
    )
    assert attempts[0]() == f"refused: {reason}".encode()
    assert [refusal_of(attempt) for attempt in attempts[1:]] == [reason, reason]
    verdict, reasons = verdict_of(world)
    assert (verdict, reasons) == ("refused", {reason})
    assert contents(world.folder) == before


@pytest.mark.requirement("T66")
def test_the_one_leaf_that_repair_adopts_is_signed_linked_and_complete(world: World) -> None:
    """What the forgeries above differ from: the same leaf without a flaw is adopted."""
    desk = desk_of(world)
    insert(world, [desk.row(desk.leaf(_policy(desk)), desk.keystore.owner)])
    before = search_once(world)
    assert not is_refused(before)
    assert verdict_of(world) == ("ok", frozenset())


@pytest.mark.requirement("T65", "T67")
@pytest.mark.parametrize(
    ("statement", "reasons"),
    [
        ("DELETE FROM leaf WHERE idx = (SELECT max(idx) FROM leaf)", {"state-behind-head"}),
        ("DELETE FROM leaf", {"state-behind-head"}),
        ("DELETE FROM leaf WHERE idx = 1", {"broken-link", "unknown-key"}),
        ("UPDATE leaf SET salt = zeroblob(32) WHERE idx = (SELECT max(idx) FROM leaf)", {"digest-mismatch"}),
        ("UPDATE leaf SET salt = zeroblob(32) WHERE idx = 0", {"broken-link"}),
        (
            "UPDATE leaf SET envelope = (SELECT envelope FROM leaf WHERE idx = 0) WHERE idx = 1",
            {"broken-link"},
        ),
        ("UPDATE leaf SET idx = idx + 100", {"broken-link"}),
        ("UPDATE leaf SET idx = idx - 100", {"broken-link"}),
        ("INSERT INTO leaf SELECT -1, salt, envelope FROM leaf WHERE idx = 0", {"broken-link"}),
    ],
)
def test_a_leaf_that_is_moved_or_removed_is_refused(world: World, statement: str, reasons: set[str]) -> None:
    """Deleting and shuffling rows by SQL is seen, too."""
    _by_hand(world, statement)
    answer = search_once(world)
    assert is_refused(answer)
    assert answer.removeprefix(b"refused: ").decode() in reasons
    assert verdict_of(world)[0] == "refused"


# -- projections ------------------------------------------------------------------------------------------------


PROJECTED = [
    (
        "INSERT INTO event SELECT source, pos + 1, id64, at, mask, label, passed, failed, total, segment, start, length"
        " FROM event LIMIT 1"
    ),
    "DELETE FROM event WHERE pos = (SELECT min(pos) FROM event)",
    "DELETE FROM event",
    "UPDATE event SET at = at + 1000",
    "UPDATE event SET at = NULL",
    "UPDATE event SET mask = -1",
    "UPDATE event SET passed = 99, failed = 0",
    "UPDATE event SET start = start + 1",
    "UPDATE event SET length = 1 << 40",
    "UPDATE event SET segment = 7",
    "UPDATE event SET id64 = id64 + 1",
    "INSERT INTO pair SELECT 0, 1, 9, source, 1 FROM pair LIMIT 1",
    "UPDATE pair SET n = n + 1",
    "UPDATE pair SET newest = newest + 1",
    "DELETE FROM pair",
    "INSERT INTO number SELECT 4711, source, mask, near FROM number LIMIT 1",
    "UPDATE number SET mask = 0",
    "UPDATE number SET near = zeroblob(32)",
    "DELETE FROM number",
    "DELETE FROM setting",
    "UPDATE setting SET value = zeroblob(32)",
]


@pytest.mark.requirement("X14", "T67", "T69")
@pytest.mark.parametrize("statement", PROJECTED)
def test_a_handwritten_row_gives_no_answer_and_is_built_again(world: World, statement: str) -> None:
    """No card and no miss from rows that are not those of the sidecars; ``index`` builds them again."""
    before = answers_of(world)
    ids = event_ids(world)
    _by_hand(world, statement)
    for question, answer in answers_of(world).items():
        if question == "sources":  # said from the log alone
            assert answer == before[question]
        else:
            assert answer == b"refused: index-unverified", question
    verdict, reasons = verdict_of(world, deep=True)
    assert (verdict, reasons) == ("refused", {"index-unverified"})
    service.index(world.session, world.root)
    assert answers_of(world) == before
    assert event_ids(world) == ids
    assert verdict_of(world, deep=True) == ("ok", frozenset())


@pytest.mark.requirement("X14")
@pytest.mark.parametrize("table", ["event", "pair", "number"])
def test_rows_of_a_source_that_nobody_enrolled_change_no_answer(world: World, table: str) -> None:
    """They are not looked at; the deep verification names them."""
    before = answers_of(world)
    columns = {
        "event": "99, pos, id64, at, mask, label, passed, failed, total, segment, start, length",
        "pair": "a, b, newest, 99, n",
        "number": "value, 99, mask, near",
    }[table]
    _by_hand(world, f"INSERT INTO {table} SELECT {columns} FROM {table}")
    assert answers_of(world) == before
    assert verdict_of(world, deep=True) == ("refused", frozenset({"index-unverified"}))


@pytest.mark.requirement("T67")
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER added AFTER INSERT ON leaf BEGIN DELETE FROM event; END",
        "CREATE VIEW added AS SELECT 1",
        "CREATE TABLE added (x)",
        "DROP INDEX event_by_time",
        "ALTER TABLE event ADD COLUMN added INTEGER",
        "PRAGMA application_id = 1",
        "PRAGMA user_version = 0",
    ],
)
def test_a_changed_schema_is_refused(world: World, statement: str) -> None:
    """A trigger or a view would run with our rights; the schema is compared at every opening."""
    _by_hand(world, statement)
    assert search_once(world) == b"refused: state-corrupt"
    assert verdict_of(world) == ("refused", frozenset({"state-corrupt"}))


def test_a_newer_schema_is_said_to_be_newer(world: World) -> None:
    """A state of a later program is refused, not read by guesswork."""
    _by_hand(world, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    assert search_once(world) == b"refused: state-version-unsupported"


# -- receipts ----------------------------------------------------------------------------------------------------


@pytest.fixture
def prompted(grown: Grown, tmp_path: Path) -> tuple[World, Receipt]:
    """Give a timeline with one pending receipt and nothing enrolled."""
    world = grown[0].copy(tmp_path / "prompted")
    grown[1][0].place(world)
    path = _transcript(world)
    session = path[-len("00000000-0000-0000-0000-000000000000.jsonl") : -len(".jsonl")]
    return world, service.receive_prompt(world.session, "codex", prompt_event(world, session, path))


def enroll_reason(world: World, receipt_id: str) -> str | None:
    """Give the reason with which a receipt is refused."""
    return refusal_of(lambda: service.enroll(world.session, world.root, receipt_id, confirmed=True))


@pytest.mark.requirement("T67")
def test_a_spent_receipt_put_back_by_hand_is_not_spent_twice(prompted: tuple[World, Receipt]) -> None:
    """The row is replayed after its use: the log knows that the receipt was spent."""
    world, receipt = prompted
    rows = _rows(world, "SELECT digest, envelope FROM receipt")
    assert enroll_reason(world, receipt.id) is None
    _insert_receipts(world, rows)
    assert enroll_reason(world, receipt.id) in {"log-refused", "host-transcript-receipt-unavailable"}
    assert len(service.list_sources(world.session, world.root)) == 1
    assert verdict_of(world) == ("ok", frozenset())


@pytest.mark.requirement("T67")
@pytest.mark.parametrize("how", ["other id", "foreign key", "changed byte", "later end", "other type"])
def test_a_forged_receipt_is_not_pending(prompted: tuple[World, Receipt], how: str) -> None:
    """Only what the log key signed as a receipt is one; a forged row is not listed and enrolls nothing."""
    world, receipt = prompted
    ((digest, envelope),) = _rows(world, "SELECT digest, envelope FROM receipt")
    forged_id = "asthr_" + "A" * 43
    wanted = receipt.id
    if how == "other id":
        rows, wanted = [(receipt_digest(forged_id), envelope)], forged_id
    elif how == "changed byte":
        rows = [(digest, envelope[:-2] + bytes([envelope[-2] ^ 1]) + envelope[-1:])]
    elif how == "later end":
        later = str(receipt.expires_at).encode()
        assert later in envelope
        rows = [(digest, envelope.replace(later, str(receipt.expires_at + 1).encode()))]
    elif how == "foreign key":
        rows = [(receipt_digest(forged_id), _seal_receipt(world, forged_id, receipt))]
        wanted = forged_id
    else:
        rows, wanted = [(receipt_digest(forged_id), leaves_of(world)[0][2])], forged_id
    _by_hand(world, "DELETE FROM receipt")
    _insert_receipts(world, rows)
    assert enroll_reason(world, wanted) == "host-transcript-receipt-unavailable"
    assert service.list_sources(world.session, world.root) == ()


@pytest.mark.requirement("T67")
def test_a_receipt_of_an_earlier_hour_is_not_pending(prompted: tuple[World, Receipt]) -> None:
    """A row that is kept aside and put back later has ended."""
    world, receipt = prompted
    world.clock.at_ms = receipt.expires_at
    assert enroll_reason(world, receipt.id) == "host-transcript-receipt-unavailable"


# -- by hand -----------------------------------------------------------------------------------------------------


def _named_prompt(world: World) -> bytes:
    """The host's event for the session that the world's transcript is of."""
    path = _transcript(world)
    return prompt_event(world, path.removesuffix(".jsonl")[-36:], path)


def _transcript(world: World) -> str:
    # Other tests may have written further sessions into the home that all copies share; this one is the oldest.
    path = min((world.home / ".codex" / "sessions").rglob("*.jsonl"))
    return str(path)


def _seal_receipt(world: World, receipt_id: str, receipt: Receipt) -> bytes:
    """A receipt with a known id, signed by a key that only bears the log's name."""
    from sidecars.envelope import seal
    from timeline.guard.receipt import PAYLOAD_TYPE

    payload = msgspec.json.encode(msgspec.structs.replace(receipt, id=receipt_id))
    return seal(PAYLOAD_TYPE, payload, [_stranger(desk_origin(world))])


def desk_origin(world: World) -> str:
    """Give the log's origin, which is public."""
    with open_state(world.locations, world.session.ports) as state:
        return state.keystore.pins.origin


def _rows(world: World, statement: str) -> list[tuple[bytes, bytes]]:
    with closing(sqlite3.connect(world.locations.database)) as connection:
        return connection.execute(statement).fetchall()


def _insert_receipts(world: World, rows: list[tuple[bytes, bytes]]) -> None:
    with closing(sqlite3.connect(world.locations.database)) as connection, connection:
        connection.executemany("INSERT INTO receipt (digest, envelope) VALUES (?, ?)", rows)


def _by_hand(world: World, statement: str) -> None:
    with closing(sqlite3.connect(world.locations.database)) as connection, connection:
        connection.execute(statement)
