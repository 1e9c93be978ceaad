"""Accounting for the table of assertions: it is the one that the log adds up to, or nothing is answered from it (W65).

As ``timeline.account`` does for the search index; this one stands below the world model, which reads the table.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from timeline.errors import IndexUnverifiedError
from timeline.state import State


@contextmanager
def reading_assertions(state: State) -> Iterator[None]:
    """One moment of the table, which is accounted for.

    Raises:
        IndexUnverifiedError: it is not that of the log.
        LogRefusedError: the log gives one id to two assertions.
        StateError: the database is damaged, or cannot be read.
    """
    tally = state.view.assertions
    if tally.count and not state.assertions.is_accounted(tally):
        # A damaged index would hide rows that the table holds.
        state.check_structure()
    with state.store.snapshot():
        if not state.assertions.is_accounted(tally):
            state.assertions.check(tally, state.belief.size)
        yield


def account_assertions(state: State) -> None:
    """See to it that the table is the one of the log, and make it anew where it is not; under the writer lock.

    Raises:
        LogRefusedError: the log gives one id to two assertions.
        StateError, SidecarError: the state cannot be read or written.
    """
    if state.assertions.is_accounted(state.view.assertions):
        return
    try:
        with reading_assertions(state):
            pass
    except IndexUnverifiedError:
        state.assertions.rebuild(state.view.assertions)
