"""Reading leaves of the register: each is verified when it is read, and none is left out."""

from typing import NamedTuple

from sidecars.erased import is_erased
from sidecars.errors import DigestMismatchError
from sidecars.leaf import Body, Kind, leaf_hash, open_leaf
from timeline.assertion_account import reading_register
from timeline.errors import IndexUnverifiedError
from timeline.register_row import register_row
from timeline.state import State


class Registered(NamedTuple):
    """One leaf of the register: its index, the log's time at it (UTC milliseconds), and what it says."""

    leaf: int
    at: int
    body: Body


def read_register(state: State, kind: Kind, about: str | None = None) -> tuple[Registered, ...]:
    """Every leaf of a kind in the log's order, or those about one thing.

    Raises:
        IndexUnverifiedError: the register is not that of the log, or a row is not the one of its leaf.
        DigestMismatchError: a leaf is not the one that was counted.
        StateError, SidecarError: the state cannot be read, or a leaf is not to be believed.
    """
    condition = "r.kind = ? AND r.leaf < ?" if about is None else "r.kind = ? AND r.leaf < ? AND r.about = ?"
    values: tuple[object, ...] = (kind.value, state.belief.size)
    statement = (
        "SELECT DISTINCT r.leaf, r.hash, l.salt, l.envelope FROM register r LEFT JOIN leaf l ON l.idx = r.leaf "  # noqa: S608  # conditions are constants
        f"WHERE {condition} ORDER BY r.leaf"
    )
    with reading_register(state):
        rows = state.store.query(statement, values if about is None else (*values, about))
        return tuple(_open(state, *row) for row in rows)  # type: ignore[arg-type]  # STRICT columns


def newest_leaf(state: State, *kinds: Kind) -> int:
    """The newest leaf of some kinds in the register, -1 where there is none; no leaf is read for it.

    Raises:
        IndexUnverifiedError: the register is not that of the log.
        StateError: the state cannot be read.
    """
    marks = ", ".join("?" for _ in kinds)
    statement = f"SELECT coalesce(max(leaf), -1) FROM register WHERE kind IN ({marks}) AND leaf < ?"  # noqa: S608  # as many question marks as kinds
    with reading_register(state):
        (row,) = state.store.query(statement, (*(kind.value for kind in kinds), state.belief.size))
        return int(row[0])  # type: ignore[call-overload, no-any-return]  # of an INTEGER column


def count_leaves(state: State, kind: Kind) -> int:
    """How many leaves of a kind the register holds; none is read for it.

    Raises:
        IndexUnverifiedError: the register is not that of the log.
        StateError: the state cannot be read.
    """
    statement = "SELECT count(DISTINCT leaf) FROM register WHERE kind = ? AND leaf < ?"
    with reading_register(state):
        (row,) = state.store.query(statement, (kind.value, state.belief.size))
        return int(row[0])  # type: ignore[call-overload, no-any-return]  # a count is an integer


def _open(state: State, index: int, hashed: bytes, salt: bytes | None, envelope: bytes | None) -> Registered:
    if salt is None or envelope is None or is_erased(salt) or leaf_hash(salt, envelope) != hashed:
        raise DigestMismatchError(f"leaf {index}: its salt and envelope must be those that were verified")
    leaf = open_leaf(envelope, state.keystore.pins.owner, state.belief.key_at(index))
    if register_row(leaf, hashed) is None:
        message = f"{state.store.path}: the row of leaf {index} is not the one that the leaf gives"
        raise IndexUnverifiedError(message)
    return Registered(leaf.index, leaf.at, leaf.body)
