"""Bounded search: an exact UTC window or two terms, at most one transcript opened, at most eight cards (T20 to T24).

Ranking uses the accounted rows only. For each card the sidecar line is read and checked against the signed sidecar,
then the transcript's exact lines are read again, their digests compared, and the adapter derives the event anew: it
must be equal to the stored one. A miss is a miss: nothing is widened, retried or opened besides.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

import msgspec

from adapters.errors import AdapterError
from sidecars.event import Event
from timeline.account import check_accounted, judged
from timeline.errors import (
    LimitError,
    SourceError,
    StrictFormatError,
    TranscriptMissingError,
)
from timeline.events import read_header
from timeline.evidence import stored_event, verify_event
from timeline.limits import CARDS_MAX, WINDOW_SECONDS_MAX
from timeline.prefix import find_unread, is_prefix_pending, open_enrolled
from timeline.projection import near_bits
from timeline.provider import adapter_for
from timeline.state import State
from timeline.store import EventRow
from timeline.terms import MESSAGE_BIT, Query
from timeline.view import EnrolledSource


class Status(StrEnum):
    """What an answer says of the question."""

    FOUND = "found"
    NOT_FOUND = "not-found"
    INDEX_UNVERIFIED = "index-unverified"
    PARTLY_UNDERSTOOD = "partly-understood"
    STALE = "stale"
    SOURCE_GONE = "source-gone"
    UNAVAILABLE = "unavailable"


class Window(msgspec.Struct, frozen=True):
    """An exact time and the half-width around it, in milliseconds; 0 means that millisecond only."""

    at_ms: int
    half_ms: int

    def __post_init__(self) -> None:
        """Refuse a broad scan.

        Raises:
            LimitError: wider than the bound.
        """
        if not 0 <= self.half_ms <= WINDOW_SECONDS_MAX * 1000:
            message = f"the window must be 0 to {WINDOW_SECONDS_MAX} seconds"
            raise LimitError(message)


class Card(msgspec.Struct, frozen=True):
    """One verified event of one source: everything in it was re-derived from the transcript's bytes.

    ``prefix_pending`` says of a followed file that bytes which stood before it last grew have not all been compared
    since; ``None`` for a snapshot.
    """

    event: Event
    source: EnrolledSource
    partly_understood: bool
    prefix_pending: bool | None = None


class Answer(msgspec.Struct, frozen=True):
    """What a search found, and how sure a miss is.

    ``more`` says that the opened source holds more matches than cards are given. ``reread`` counts cards that were
    dropped because the program reads their lines differently now. ``anchored`` says what the external anchors say for
    the state that answered: ``none`` is required, ``confirmed`` now, ``remembered`` or ``unwitnessed``.
    """

    status: Status
    reason: str | None = None
    cards: tuple[Card, ...] = ()
    source: EnrolledSource | None = None
    more: bool = False
    reread: int = 0
    hint: str = ""
    anchored: str = "none"


class SearchScope:
    """Sources that the caller has found to be consented to and in scope, accounted for; answers many questions.

    Whatever costs something for each source is done once, here: a question costs the same among ten sources and
    among thousands. It holds for the state as it is; after a commit another one is needed.
    """

    def __init__(
        self, state: State, sources: Sequence[EnrolledSource], *, strict_formats: bool = False
    ) -> None:
        """Check that the rows of every source are those of its sidecars.

        ``strict_formats`` answers nothing from a source of which anything was not understood.

        Raises:
            StateError, SidecarError: the state is not to be believed.
        """
        for source in sources:
            check_accounted(state, source)
        self._state = state
        self._view = state.view
        self._sources = {source.index: source for source in sources}
        self._misses: dict[bool, Answer] = {}
        self._strict = strict_formats

    def search(self, *, window: Window | None, query: Query | None) -> Answer:
        """Search by a time, by two terms, or by both.

        Raises:
            StateError, SidecarError: the state is not to be believed.
        """
        self._check_current()
        found = _rank(self._state, self._sources, window, query)
        if found is None:
            return self._not_found(of_messages=query is not None and query.is_of_messages)
        source, rows = found
        return self._verified(source, rows[:CARDS_MAX], more=len(rows) > CARDS_MAX)

    def find_event(
        self, event_id: str, id64: int, *, window: Window | None = None, query: Query | None = None
    ) -> Answer:
        """The one event with this id, verified like any card; it must lie in the window and have the terms, if given.

        Raises:
            StateError, SidecarError: the state is not to be believed.
        """
        self._check_current()
        for row in self._state.store.events("WHERE id64 = ?", (id64,)):
            holder = self._sources.get(row.source)
            if holder is None or not (_is_within(row, window) and _matches(row, query)):
                continue
            if stored_event(self._state, holder, row).id == event_id:
                return self._verified(holder, [row], more=False)
        return self._not_found(of_messages=True)

    def _verified(self, source: EnrolledSource, rows: Sequence[EventRow], *, more: bool) -> Answer:
        if self._strict and not judged(self._state, source).is_understood:
            error = StrictFormatError
            return Answer(Status.UNAVAILABLE, error.reason, source=source, hint=error.default_hint)
        return _answer(self._state, source, rows, more=more)

    def _not_found(self, *, of_messages: bool) -> Answer:
        for source in self._sources.values():
            # Asked each time: a followed file grows without a change of the state.
            if source.enrollment.mode == "follow" and (reason := find_unread(self._state, source)):
                hint = "run `timeline index`: it reads on, or says what became of the file"
                return Answer(Status.INDEX_UNVERIFIED, reason, hint=hint)
        if of_messages not in self._misses:
            sources = tuple(self._sources.values())
            self._misses[of_messages] = _miss(self._state, sources, of_messages=of_messages)
        return self._misses[of_messages]

    def _check_current(self) -> None:
        if self._state.view is not self._view:
            raise RuntimeError("the state has changed: make another scope")


def search(
    state: State,
    sources: Sequence[EnrolledSource],
    *,
    window: Window | None,
    query: Query | None,
    strict_formats: bool = False,
) -> Answer:
    """Ask one question; see ``SearchScope``.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    scope = SearchScope(state, sources, strict_formats=strict_formats)
    return scope.search(window=window, query=query)


def find_event(
    state: State,
    sources: Sequence[EnrolledSource],
    event_id: str,
    id64: int,
    *,
    window: Window | None = None,
    query: Query | None = None,
    strict_formats: bool = False,
) -> Answer:
    """Look up one event; see ``SearchScope``.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    scope = SearchScope(state, sources, strict_formats=strict_formats)
    return scope.find_event(event_id, id64, window=window, query=query)


def best_source(
    state: State, sources: Sequence[EnrolledSource], *, window: Window | None, query: Query | None
) -> EnrolledSource | None:
    """The source that a search among these would open, by the index alone; nothing is opened, and nothing verified."""
    found = _rank(state, {source.index: source for source in sources}, window, query)
    return None if found is None else found[0]


# -- ranking ---------------------------------------------------------------------------------------------------


def _rank(
    state: State, allowed: dict[int, EnrolledSource], window: Window | None, query: Query | None
) -> tuple[EnrolledSource, list[EventRow]] | None:
    """The one source to open and its matching rows, best first, one more than there may be cards."""
    candidates: Iterable[int]
    if len(allowed) == 1:  # there is nothing to choose from, among however many others
        candidates = allowed
    else:
        candidates = _by_time(state, window, query) if window is not None else _by_terms(state, query)
    seen: set[int] = set()
    for index in candidates:
        source = allowed.get(index)
        if source is None or index in seen:
            continue
        seen.add(index)
        rows = list(_rows_in(state, index, window, query))
        if rows:
            return source, rows
    return None


def _by_time(state: State, window: Window, query: Query | None) -> Iterator[int]:
    """Sources by the distance of their nearest event, the later one first where two are equally near."""
    low, high = window.at_ms - window.half_ms, window.at_ms + window.half_ms
    nearest = "SELECT at, source FROM event INDEXED BY event_by_time WHERE at BETWEEN ? AND ? "
    nearest += _but_messages(query) + " ORDER BY at {0}, source {0}"
    after = state.store.query(nearest.format("ASC"), (window.at_ms, high))
    before = state.store.query(nearest.format("DESC"), (low, window.at_ms - 1))
    for _, source in _merge_nearest(window.at_ms, after, before):
        yield source


def _merge_nearest(
    at_ms: int, after: Iterator[tuple[object, ...]], before: Iterator[tuple[object, ...]]
) -> Iterator[tuple[int, int]]:
    """Merge two streams of (time, source), each going away from ``at_ms``, by distance."""
    later, earlier = next(after, None), next(before, None)
    while later is not None or earlier is not None:
        ahead = None if later is None else _integer(later[0]) - at_ms
        behind = None if earlier is None else at_ms - _integer(earlier[0])
        if earlier is None or (ahead is not None and behind is not None and ahead <= behind):
            assert later is not None  # noqa: S101  (the loop's condition; for the type checker)
            yield _integer(later[0]), _integer(later[1])
            later = next(after, None)
        else:
            yield _integer(earlier[0]), _integer(earlier[1])
            earlier = next(before, None)


def _by_terms(state: State, query: Query | None) -> Iterator[int]:
    """Sources that may hold both terms in one event, the one whose newest match is latest first."""
    if query is None:
        return
    bits = sorted({term.bit for term in query.terms if term.bit is not None})
    if not bits:
        yield from _by_numbers(state, *query.numbers)
        return
    pairs = state.store.query(
        "SELECT source FROM pair WHERE a = ? AND b = ? ORDER BY newest DESC, source DESC",
        (bits[0], bits[-1]),
    )
    holding = _holding(state, query)
    for (source,) in pairs:
        if holding is None or source in holding:
            yield _integer(source)


def _by_numbers(state: State, first: int, second: int) -> Iterator[int]:
    """Sources that may hold both numbers in one event, the latest first.

    The filters of both numbers say so: they rarely name a source too many and never one too few.
    """
    statement = "SELECT source, near FROM number WHERE value = ? ORDER BY source DESC"
    others = {_integer(source): near for source, near in state.store.query(statement, (second,))}
    for source, near in state.store.query(statement, (first,)) if others else ():
        index = _integer(source)
        if index in others and _is_near(near, index, second) and _is_near(others[index], index, first):
            yield index


def _holding(state: State, query: Query) -> set[object] | None:
    """Sources in which the number of a query stands beside its term in one event; ``None`` without a number."""
    if not query.numbers:
        return None
    rows = state.store.query(
        "SELECT source FROM number WHERE value = ? AND mask & ? = ?",
        (query.numbers[0], query.mask, query.mask),
    )
    return {source for (source,) in rows}


def _is_near(near: object, source: int, number: int) -> bool:
    if not isinstance(near, bytes):
        raise TypeError(type(near))  # STRICT columns hold nothing else
    bits = near_bits(number, source)
    return int.from_bytes(near, "big") & bits == bits


def _rows_in(state: State, source: int, window: Window | None, query: Query | None) -> Iterator[EventRow]:
    """At most nine matching rows of a source: nearest in time, or newest by position."""
    limit = CARDS_MAX + 1
    if window is not None:
        low, high = window.at_ms - window.half_ms, window.at_ms + window.half_ms
        condition = (
            f"WHERE source = ? AND at BETWEEN ? AND ? {_but_messages(query)} ORDER BY at {{0}}, pos {{0}}"
        )
        after = state.store.events(
            condition.format("ASC") + _limit(query, limit), (source, window.at_ms, high)
        )
        before = state.store.events(
            condition.format("DESC") + _limit(query, limit), (source, low, window.at_ms - 1)
        )
        near = sorted(
            (row for row in (*after, *before) if _matches(row, query)),
            key=lambda row: (abs(_integer(row.at) - window.at_ms), -_integer(row.at), row.pos),
        )
        yield from near[:limit]
        return
    if query is None:
        return
    condition, values = "WHERE source = ? AND mask & ? = ?", [source, query.mask, query.mask]
    for number in query.numbers:
        condition += " AND ? IN (label, passed, failed, total)"
        values.append(number)
    yield from state.store.events(f"{condition} ORDER BY pos DESC LIMIT {limit}", values)


def _but_messages(query: Query | None) -> str:
    """A time alone finds what happened: user messages are found by their own two terms only."""
    return f"AND mask & {MESSAGE_BIT} = 0" if query is None else ""


def _limit(query: Query | None, limit: int) -> str:
    """Time alone needs only the nearest rows; with terms as well, every row of the window is looked at."""
    return f" LIMIT {limit}" if query is None else ""


def _is_within(row: EventRow, window: Window | None) -> bool:
    return window is None or (row.at is not None and abs(row.at - window.at_ms) <= window.half_ms)


def _matches(row: EventRow, query: Query | None) -> bool:
    if query is None:
        return True
    known = (row.label, row.passed, row.failed, row.total)
    return row.mask & query.mask == query.mask and all(number in known for number in query.numbers)


def _integer(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(type(value))  # STRICT columns hold nothing else
    return value


# -- misses ----------------------------------------------------------------------------------------------------


def _miss(state: State, sources: Sequence[EnrolledSource], *, of_messages: bool) -> Answer:
    """``not-found`` only where every event of every source asked is accounted for (X14).

    In a source of which lines were not understood an event may stand on one of them. User messages that were given up
    matter only ``of_messages``: where one of them could be what was asked for.
    """
    partly = False
    for source in sources:
        if not source.newest.size:
            continue  # enrolled before the host wrote: no bytes, no events, and nothing to index
        if not source.entries:
            return Answer(Status.INDEX_UNVERIFIED, "source-not-indexed", hint="run `timeline index`")
        header = state.sidecar(source.entries[-1]).header
        if header.end < source.newest.size:
            return Answer(
                Status.INDEX_UNVERIFIED, "source-partly-indexed", hint="run `timeline index` to its end"
            )
        if header.evicted:
            return Answer(
                Status.INDEX_UNVERIFIED,
                "events-evicted",
                hint="older events of a source were given up at the bound of 4,096; they may match",
            )
        if of_messages and header.bounds.messages_from:
            return Answer(
                Status.INDEX_UNVERIFIED,
                "messages-evicted",
                hint="older user messages of a source were given up at their bound of 256; they may match",
            )
        partly = partly or not judged(state, source).is_understood
    if partly:
        return Answer(
            Status.PARTLY_UNDERSTOOD,
            "lines-not-understood",
            hint="`timeline sources` shows which source; what stands on those lines is not known",
        )
    return Answer(Status.NOT_FOUND)


# -- verification ----------------------------------------------------------------------------------------------


def _answer(state: State, source: EnrolledSource, rows: Sequence[EventRow], *, more: bool) -> Answer:
    """Open the one source and verify each row's event against its bytes."""
    adapter = adapter_for(state.view.formats, source.enrollment.binding.host)
    cards, reread = [], 0
    header_now = state.sidecar(source.entries[-1]).header
    partly = not judged(state, source).is_understood or header_now.end < source.newest.size
    try:
        with open_enrolled(state, source) as opened:
            pending = is_prefix_pending(source, opened) if source.enrollment.mode == "follow" else None
            header = read_header(adapter, opened)
            for row in rows:
                event = stored_event(state, source, row)
                if verify_event(state, source, adapter, header, opened, event):
                    cards.append(Card(event, source, partly, pending))
                else:
                    reread += 1
    except TranscriptMissingError as error:
        return Answer(Status.SOURCE_GONE, error.reason, source=source, hint=error.hint)
    except SourceError as error:
        return Answer(Status.STALE, error.reason, source=source, hint=error.hint)
    except AdapterError as error:
        return Answer(Status.STALE, error.reason, source=source, hint=error.hint or "")
    status = Status.FOUND if cards else Status.UNAVAILABLE
    reason = None if cards else "event-read-differently"
    return Answer(status, reason, tuple(cards), source, more, reread)
