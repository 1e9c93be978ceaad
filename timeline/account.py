"""Accounting: a source's stored rows are exactly those of its signed sidecars, or they are not used (X14).

A miss may be called ``not-found`` only where this holds and no event was evicted; else an absent row could be a
lost one.
"""

from collections.abc import Iterable

from sidecars.sidecar import Bounds, Sidecar
from timeline.errors import IndexUnverifiedError
from timeline.projection import (
    SourceRows,
    event_row,
    is_kept,
    read_source,
    source_rows,
    vocabulary_is_current,
)
from timeline.state import State
from timeline.store import EventRow
from timeline.understanding import Judgement, judge
from timeline.verified import VerifiedSidecar
from timeline.view import EnrolledSource


def sidecar_rows(source: int, verified: VerifiedSidecar, sidecar: Sidecar) -> list[EventRow]:
    """The event rows of one sidecar."""
    return [
        event_row(
            event,
            place,
            source=source,
            segment=verified.header.segment,
            payload_offset=verified.payload_offset,
        )
        for event, place in zip(sidecar.events, sidecar.ranges, strict=True)
    ]


def expected_rows(state: State, source: EnrolledSource) -> SourceRows:
    """The rows that a source must have, from its sidecars alone.

    Raises:
        SidecarError: a sidecar is missing or not to be believed.
    """
    return rows_of_sidecars(source.index, map(state.open_sidecar, source.kept))


def rows_of_sidecars(source: int, opened: Iterable[tuple[VerifiedSidecar, Sidecar]]) -> SourceRows:
    """The rows of a source of which these are all sidecars that are kept."""
    rows: list[EventRow] = []
    bounds = Bounds()
    for verified, sidecar in opened:
        bounds = bounds.beside(verified.header.bounds)
        rows += sidecar_rows(source, verified, sidecar)
    return source_rows([row for row in rows if is_kept(row, bounds)])


def check_accounted(state: State, source: EnrolledSource) -> None:
    """Compare a source's stored rows with its sidecars, once while the state is open.

    Raises:
        IndexUnverifiedError: they differ; nothing may be answered from them.
        SidecarError: a sidecar is missing or not to be believed.
    """
    if state.accounted.get(source.index) == len(source.entries):
        return
    state.check_structure()
    if not vocabulary_is_current(state.store):
        message = f"{state.store.path}: the index was made with another vocabulary"
        raise IndexUnverifiedError(message)
    if read_source(state.store, source.index) != expected_rows(state, source):
        message = f"{state.store.path}: the rows of source {source.enrollment.source.ref} are not those of its sidecars"
        raise IndexUnverifiedError(message)
    state.accounted[source.index] = len(source.entries)


def is_accounted(state: State, source: EnrolledSource) -> bool:
    """Whether ``check_accounted`` holds.

    Raises:
        SidecarError: a sidecar is missing or not to be believed.
    """
    try:
        check_accounted(state, source)
    except IndexUnverifiedError:
        return False
    return True


def count_events(state: State, source: EnrolledSource) -> int:
    """How many events the kept sidecars of a source hold, but for its user messages; from what is signed alone.

    Raises:
        SidecarError: its newest sidecar is not to be believed.
    """
    if not source.entries:
        return 0
    stored = sum(entry.count for entry in source.kept)
    return stored - (state.sidecar(source.entries[-1]).header.user_messages or 0)


def judged(state: State, source: EnrolledSource) -> Judgement:
    """How much of an indexed source counts as understood now.

    Raises:
        SidecarError: its newest sidecar is not to be believed.
    """
    header = state.sidecar(source.entries[-1]).header
    host = source.enrollment.binding.host
    return judge(state.view.formats, host, header.understanding, header.tallies)
