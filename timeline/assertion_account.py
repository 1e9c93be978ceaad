"""Accounting for assertions and register: their tables are those that the log adds up to, or nothing is answered (W65).

As ``timeline.account`` does for the search index; this one stands below the world model, which reads the tables.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from timeline.accounted import AccountedTable, Row, Tally
from timeline.assertion_row import AssertionTally
from timeline.errors import IndexUnverifiedError
from timeline.register_row import RegisterTally
from timeline.state import State


@contextmanager
def reading_assertions(state: State) -> Iterator[None]:
    """One moment of the table of assertions, which is accounted for.

    Raises:
        IndexUnverifiedError: it is not that of the log.
        LogRefusedError: the log gives one id to two assertions.
        StateError: the database is damaged, or cannot be read.
    """
    tally = state.view.assertions
    with _reading(state, state.assertions, tally, is_empty=tally == AssertionTally()):
        yield


@contextmanager
def reading_register(state: State) -> Iterator[None]:
    """One moment of the register, which is accounted for.

    Raises:
        IndexUnverifiedError: it is not that of the log.
        StateError: the database is damaged, or cannot be read.
    """
    tally = state.view.register
    with _reading(state, state.register, tally, is_empty=tally == RegisterTally()):
        yield


def account_assertions(state: State) -> None:
    """See to it that both tables are those of the log, and make one anew where it is not; under the writer lock.

    Raises:
        LogRefusedError: the log gives one id to two assertions.
        StateError, SidecarError: the state cannot be read or written.
    """
    view = state.view
    _account(state, state.assertions, view.assertions, is_empty=view.assertions == AssertionTally())
    _account(state, state.register, view.register, is_empty=view.register == RegisterTally())


@contextmanager
def _reading(
    state: State, table: AccountedTable[Tally, Row], tally: Tally, *, is_empty: bool
) -> Iterator[None]:
    if not is_empty and not table.is_accounted(tally):
        # A damaged index would hide rows that the table holds.
        state.check_structure()
    with state.store.snapshot():
        if not table.is_accounted(tally):
            table.check(tally, state.belief.size)
        yield


def _account(state: State, table: AccountedTable[Tally, Row], tally: Tally, *, is_empty: bool) -> None:
    if table.is_accounted(tally):
        return
    try:
        with _reading(state, table, tally, is_empty=is_empty):
            pass
    except IndexUnverifiedError:
        table.rebuild(tally)
