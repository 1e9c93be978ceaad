"""Committing what a span gave: its sidecar, the rows of the search index, and how far a source has come.

Results of calls that may still be told more about are known only at the end of a file. In a snapshot that is the end;
of a followed file they go into a sidecar of their own with an empty span, which the next sidecar gives up (ADR 0013).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from adapters.base import Adapter, Cursor, Reader, Verdict, decode_cursor, encode_cursor
from adapters.record import ToolResult
from sidecars.errors import MalformedError
from sidecars.event import USER_MESSAGE, Event
from sidecars.leaf import Body, Extension, Leaf, SidecarEntry
from sidecars.sidecar import UNKNOWN_TYPES_MAX, Bounds, SidecarHeader, Tallies, format_sidecar
from timeline.account import expected_rows, is_accounted, sidecar_rows
from timeline.committing import Wanted, Work
from timeline.errors import FormatNotUnderstoodError
from timeline.events import event_of, statement_event
from timeline.extend import current
from timeline.forgetting.intake import kept_events, suppression_of
from timeline.limits import EVENTS_PER_SOURCE_MAX, USER_MESSAGES_PER_SOURCE_MAX
from timeline.projection import (
    SourceRows,
    is_kept,
    is_user_message,
    source_rows,
    update_source,
    write_source,
    write_vocabulary,
)
from timeline.span import Span
from timeline.state import State
from timeline.statements import StatementLine
from timeline.store import EventRow, Store
from timeline.verified import SealedSidecar
from timeline.view import EnrolledSource

_NONCE_BYTES = 16


class Reached(msgspec.Struct):
    """How far the indexing of a source has come; ``span_work`` moves it on.

    ``user_messages`` are those in all sidecars that are kept. ``open`` is the sidecar of results of calls that may
    still be told more about. ``forgotten`` are events that were met in this call and left out, since the owner had
    them forgotten.
    """

    position: int
    segment: int
    cursor: Cursor | None
    rows: SourceRows
    evicted: int
    bounds: Bounds
    user_messages: int
    understanding: str
    tallies: Tallies
    pending: int = 0
    open: SidecarEntry | None = None
    forgotten: int = 0

    @property
    def looks_back_to(self) -> int | None:
        """From which byte on what was committed is read again: the one before an unfinished line."""
        return None if self.cursor is None else max(0, self.cursor.offset - 1)

    @property
    def lasting(self) -> list[EventRow]:
        """The rows that the next sidecar does not give up."""
        given_up = None if self.open is None else self.open.segment
        return [row for row in self.rows.events if row.segment != given_up]


def find_reached(state: State, source: EnrolledSource) -> Reached:
    """Where a source stands; its index is built again from the sidecars where it does not account for them.

    Raises:
        StateError, SidecarError: the state cannot be used or written.
    """
    rows = _known_rows(state, source)
    if not source.entries:
        return Reached(0, 0, None, rows, 0, Bounds(), 0, Verdict.UNDERSTOOD.value, Tallies())
    header = state.sidecar(source.entries[-1]).header
    cursor = decode_cursor(header.cursor)
    return Reached(
        position=header.end,
        segment=header.segment + 1,
        cursor=cursor,
        rows=rows,
        evicted=header.evicted,
        bounds=header.bounds,
        user_messages=header.user_messages or 0,
        understanding=header.understanding,
        tallies=header.tallies,
        pending=max(0, header.end - cursor.offset),
        open=source.entries[-1] if header.start == header.end else None,
    )


def _known_rows(state: State, source: EnrolledSource) -> SourceRows:
    known = state.followed.get(source.index)
    if known is not None and known[0] == len(source.entries):
        return known[1]
    rows = expected_rows(state, source)
    if not is_accounted(state, source):
        with state.store.transaction():
            write_source(state.store, source.index, rows)
            write_vocabulary(state.store)
    return rows


def span_work(
    state: State,
    source: EnrolledSource,
    adapter: Adapter,
    reached: Reached,
    span: Span,
    reader: Reader,
    extension: Extension | None,
) -> Work[int]:
    """Commit what a span gave, with the generation that it begins; returns how many events but user messages are new.

    Raises:
        FormatNotUnderstoodError: the file does not add up, or has a value that cannot be stored; nothing is committed.
        SidecarError: an earlier sidecar is missing or not to be believed.
    """
    size = source.newest.size if extension is None else extension.size
    understanding = _understanding(source, reader, reached, at_end=span.end == size)
    found, suppression = _events_of(state, source, span), suppression_of(state)
    settled, unsettled = (kept_events(suppression, events) for events in found)
    reached.forgotten += sum(map(len, found)) - len(settled) - len(unsettled)
    evicted, bounds = _evict(reached, [*settled, *unsettled])
    given_up = _given_up(state, source, reached, bounds)
    header = msgspec.structs.replace(
        _header_of(state, source, adapter, reached, span, reader),
        evicted=evicted,
        keeps_from=bounds.keeps_from,
        messages_from=bounds.messages_from or msgspec.UNSET,
        user_messages=_messages_after(state, reached, given_up, settled, bounds) or msgspec.UNSET,
        understanding="understood" if understanding == Verdict.UNDERSTOOD.value else "partly-understood",
    )
    entry, sealed, added = _seal(
        state, source, header, settled, tuple(sorted(entry.digest for entry in given_up))
    )
    bodies: list[Body] = [entry] if extension is None else [extension, entry]
    sidecars = [sealed]
    opened = None
    if unsettled:
        opened, sealed, more = _seal(state, source, _after(state, header), unsettled, ())
        bodies.append(opened)
        sidecars.append(sealed)
        added += more
    old, rows = reached.rows, _rows_after(reached, added, bounds)

    def project(store: Store, _leaves: Sequence[Leaf]) -> None:
        if rows is not old:
            update_source(store, source.index, old, rows)
            write_vocabulary(store)

    yield Wanted(tuple(bodies), tuple(sidecars), project)
    if source.enrollment.mode == "follow":
        # Written by us under the lock from rows that were accounted for: they are those of the sidecars.
        state.followed[source.index] = (len(current(state, source).entries), rows)
    _move_on(reached, span, header, understanding, rows, opened)
    known = {row.id64 for row in old.events}
    return len({row.id64 for row in added if not is_user_message(row)} - known)


def _header_of(
    state: State, source: EnrolledSource, adapter: Adapter, reached: Reached, span: Span, reader: Reader
) -> SidecarHeader:
    """The header of a span's sidecar, but for how much was understood and what is given up."""
    return SidecarHeader(
        origin=state.keystore.pins.origin,
        nonce=_nonce(state),
        source=source.enrollment.source.ref,
        host=adapter.host,
        format=adapter.format,
        segment=reached.segment,
        start=span.start,
        end=span.end,
        chunks=span.chunks,
        understanding="partly-understood",
        tallies=tallies_of(reader),
        cursor=encode_cursor(span.cursor),
    )


def _move_on(
    reached: Reached,
    span: Span,
    header: SidecarHeader,
    understanding: str,
    rows: SourceRows,
    opened: SidecarEntry | None,
) -> None:
    reached.position, reached.segment = span.end, header.segment + (1 if opened is None else 2)
    reached.cursor, reached.pending, reached.open = span.cursor, span.pending, opened
    reached.rows, reached.evicted, reached.bounds = rows, header.evicted, header.bounds
    reached.user_messages = header.user_messages or 0
    reached.understanding, reached.tallies = understanding, header.tallies


def _rows_after(reached: Reached, added: list[EventRow], bounds: Bounds) -> SourceRows:
    """All rows of a source with those that a commit adds; the very same where it changes none."""
    lasting = reached.lasting
    if not added and len(lasting) == len(reached.rows.events) and bounds == reached.bounds:
        return reached.rows
    return source_rows([row for row in (*lasting, *added) if is_kept(row, bounds)])


def _nonce(state: State) -> str:
    return state.ports.entropy.bytes(_NONCE_BYTES).hex()


def _after(state: State, header: SidecarHeader) -> SidecarHeader:
    """The header of the empty span behind a span."""
    return msgspec.structs.replace(
        header,
        nonce=_nonce(state),
        segment=header.segment + 1,
        start=header.end,
        chunks=(),
    )


def _seal(
    state: State,
    source: EnrolledSource,
    header: SidecarHeader,
    events: Sequence[Event],
    evicts: tuple[str, ...],
) -> tuple[SidecarEntry, SealedSidecar, list[EventRow]]:
    """Make one sidecar of those events that are kept; its leaf's body, the sidecar itself, and its rows."""
    bounds = header.bounds
    kept = [event for event in events if bounds.keeps_event(event)]
    with _storable(source):
        payload, sidecar = format_sidecar(header, kept)
    sealed = state.seal_sidecar(payload, sidecar)
    entry = SidecarEntry(
        digest=str(sealed.verified.digest),
        source=header.source,
        segment=header.segment,
        enrollment_id=source.enrollment.enrollment_id,
        count=sidecar.header.count,
        root=sidecar.header.root,
        evicts=evicts,
    )
    return entry, sealed, sidecar_rows(source.index, sealed.verified, sidecar)


def _events_of(state: State, source: EnrolledSource, span: Span) -> tuple[list[Event], list[Event]]:
    """The events that stay and, of a followed file, those that may still be told more about."""
    if source.enrollment.mode == "snapshot":
        return _events(state, source, [*span.results, *span.open_results], span.statements), []
    settled = _events(state, source, span.results, span.statements)
    return settled, _events(state, source, span.open_results, [])


def _events(
    state: State, source: EnrolledSource, records: list[ToolResult], statements: list[StatementLine]
) -> list[Event]:
    ref, key = source.enrollment.source.ref, state.keystore.fingerprint_key
    with _storable(source):
        results = [event_of(record, source_ref=ref, fingerprint_key=key) for record in records]
        said = [statement_event(statement, source_ref=ref) for statement in statements]
    found = [*said, *(event for event in results if event is not None)]
    return sorted(found, key=lambda event: event.sort_key)


@contextmanager
def _storable(source: EnrolledSource) -> Iterator[None]:
    """Refuse the one file whose content does not fit the stored types; the next file is indexed all the same."""
    try:
        yield
    except MalformedError as error:
        message = f"{source.enrollment.source.path}: a value cannot be stored: {error.rule}"
        raise FormatNotUnderstoodError(message) from error


def _place(event: Event) -> tuple[int, bool]:
    """Where an event begins, and by which of the two bounds it is given up."""
    return event.lines[0].offset, event.kind == USER_MESSAGE


def _evict(reached: Reached, events: list[Event]) -> tuple[int, Bounds]:
    """How many events other than user messages were evicted in all, and from where on events are kept (T33, T34).

    User messages have the room that the others leave: none of those is given up for one.
    """
    known = [(row.pos, is_user_message(row)) for row in reached.lasting]
    found = sorted([*known, *(_place(event) for event in events)])
    places = [place for place, is_message in found if not is_message]
    messages = [place for place, is_message in found if is_message]
    keeps_from = _bound(places, EVENTS_PER_SOURCE_MAX, reached.bounds.keeps_from)
    evicted = sum(place < keeps_from for place in places)
    room = min(USER_MESSAGES_PER_SOURCE_MAX, max(0, EVENTS_PER_SOURCE_MAX - (len(places) - evicted)))
    messages_from = _bound(messages, room, reached.bounds.messages_from)
    return reached.evicted + evicted, Bounds(keeps_from, messages_from)


def _bound(places: Sequence[int], room: int, known: int) -> int:
    """From which place on at most ``room`` of the ascending ``places`` are kept; never below what is ``known``."""
    surplus = len(places) - room
    # Events may begin at one place (several calls in one line): they go together.
    return max(known, places[surplus - 1] + 1) if surplus > 0 else known


def _messages_after(
    state: State, reached: Reached, given_up: Sequence[SidecarEntry], added: Sequence[Event], bounds: Bounds
) -> int:
    """How many user messages all kept sidecars hold after a commit."""
    gone = [event for entry in given_up for event in state.open_sidecar(entry)[1].events]
    new = [event for event in added if bounds.keeps_event(event)]
    return reached.user_messages - _count_messages(gone) + _count_messages(new)


def _count_messages(events: Sequence[Event]) -> int:
    return sum(event.kind == USER_MESSAGE for event in events)


def _given_up(
    state: State, source: EnrolledSource, reached: Reached, bounds: Bounds
) -> tuple[SidecarEntry, ...]:
    """Sidecars that are not needed any more. The last one stays: it holds the cursor until the next is in.

    Of a followed file every span stays: its chunks are what the file is compared with.
    """
    if source.enrollment.mode == "follow":
        return () if reached.open is None else (reached.open,)
    kept = current(state, source).kept
    holding = {row.segment for row in reached.lasting if is_user_message(row) and is_kept(row, bounds)}
    return tuple(
        entry
        for entry in kept
        if entry.count
        and entry.segment not in holding
        and state.sidecar(entry).header.end <= bounds.keeps_from
    )


def _understanding(source: EnrolledSource, reader: Reader, reached: Reached, *, at_end: bool) -> str:
    """How much was understood. What the whole file adds up to shows at its end only.

    Raises:
        FormatNotUnderstoodError: it does not add up.
    """
    if not at_end:
        return Verdict.PARTLY.value if reader.tallies.unknown_types else reached.understanding
    check = reader.self_check()
    if check.verdict is Verdict.NOT:
        message = f"{source.enrollment.source.path}: {', '.join(check.reasons)}"
        raise FormatNotUnderstoodError(message)
    return check.verdict.value


def tallies_of(reader: Reader) -> Tallies:
    """The adapter's counts, reduced to what a sidecar states; all of the source so far."""
    found = reader.tallies
    outcomes = found.outcomes
    return Tallies(
        records=sum(found.records.values()),
        calls=sum(found.tool_calls.values()),
        results=outcomes.success + outcomes.failure + outcomes.unknown + outcomes.cancelled,
        prompts=found.prompts,
        defects=sum(found.defects.values()),
        unknown=sum(found.unknown_types.values()),
        inherited=found.inherited_prompts,
        unknown_types=tuple(sorted(found.unknown_types))[:UNKNOWN_TYPES_MAX],
    )
