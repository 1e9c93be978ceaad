"""Bounded indexing of one enrolled transcript (T19): each operation reads one span and commits one sidecar.

An operation covers 64 KiB to 16 MiB. What the adapter must remember between two is its cursor, kept in the signed
sidecar. The source is re-checked before and after; nothing is committed from a file that changed meanwhile.

A followed file is read on behind what was committed, once a call as far as it reaches then.
"""

from collections.abc import Callable

import msgspec

from adapters.base import Adapter, Header, Reader
from adapters.errors import TranscriptChangedError as CallLineChangedError
from sidecars.sidecar import Tallies
from timeline.committing import Work, commit_alone
from timeline.errors import (
    LimitError,
    SourceError,
    StrictFormatError,
    TranscriptRewrittenError,
    TranscriptSessionError,
)
from timeline.events import read_whole_header
from timeline.extend import break_work, current, decide_extension, proof_work
from timeline.forgetting.intake import check_source
from timeline.guard.enrollment import is_following
from timeline.hosts import HOSTS
from timeline.limits import HEAD_BYTES, INDEX_BYTES_MAX, INDEX_BYTES_MIN
from timeline.prefix import open_enrolled
from timeline.projection import is_user_message
from timeline.provider import adapter_for
from timeline.segment import Reached, find_reached, span_work, tallies_of
from timeline.source import OpenSource
from timeline.span import Span, read_span, without_collector
from timeline.state import State
from timeline.understanding import UNDERSTOOD, Judgement, judge
from timeline.view import EnrolledSource

Progress = Callable[[int, int], None]
"""Told after each operation: bytes done, bytes in all."""


class IndexResult(msgspec.Struct, frozen=True):
    """What indexing did. ``events`` are those kept but for the ``user_messages``; ``added`` and ``evicted`` too.

    ``pending`` are the bytes of an unfinished last line; ``forgotten`` are events that were left out, since the owner
    had them forgotten.
    """

    source: EnrolledSource
    indexed: int
    size: int
    added: int
    events: int
    user_messages: int
    evicted: int
    operations: int
    judgement: Judgement
    tallies: Tallies
    pending: int
    forgotten: int = 0

    @property
    def understanding(self) -> str:
        """Whether all that was read counts as understood."""
        return self.judgement.understanding

    @property
    def complete(self) -> bool:
        """Whether the whole snapshot was read."""
        return self.indexed >= self.size


def index_source(
    state: State,
    source: EnrolledSource,
    *,
    max_bytes: int = INDEX_BYTES_MAX,
    proof_bytes: int | None = None,
    operations: int | None = None,
    progress: Progress | None = None,
    strict_formats: bool = False,
) -> IndexResult:
    """Index a source from where it stands, in operations of at most ``max_bytes``; the caller holds the lock.

    ``proof_bytes`` of what stood before a followed file grew are compared as well, ``max_bytes`` unless given; with 0
    none are. ``operations`` bounds how many are run; ``None`` runs to the end of the snapshot. ``strict_formats``
    commits nothing of a file once something in it was not understood, nor accepted by the owner.

    Raises:
        LimitError: ``max_bytes`` is not within 64 KiB to 16 MiB (T19).
        SourceError: the transcript is not the enrolled snapshot, or its content does not add up.
        AdapterError: it is not of a format that is read.
        StateError, SidecarError: the state cannot be used or written.
    """
    work = index_work(
        state,
        source,
        max_bytes=max_bytes,
        proof_bytes=proof_bytes,
        operations=operations,
        progress=progress,
        strict_formats=strict_formats,
    )
    with without_collector():
        return commit_alone(state, work)


def index_work(
    state: State,
    source: EnrolledSource,
    *,
    max_bytes: int = INDEX_BYTES_MAX,
    proof_bytes: int | None = None,
    operations: int | None = None,
    progress: Progress | None = None,
    strict_formats: bool = False,
) -> Work[IndexResult]:
    """What ``index_source`` does, for a caller who commits what it wants.

    Raises:
        ForgottenError, ExcludedError: the owner has had it forgotten, or has excluded it.
        LimitError, SourceError, AdapterError, StateError, SidecarError: see ``index_source``.
    """
    if not INDEX_BYTES_MIN <= max_bytes <= INDEX_BYTES_MAX:
        message = f"max bytes: must be {INDEX_BYTES_MIN} to {INDEX_BYTES_MAX}"
        raise LimitError(message)
    check_source(state, source.enrollment.binding, source.enrollment.source.path)
    try:
        result = yield from reading_work(
            state,
            source,
            max_bytes=max_bytes,
            operations=operations,
            progress=progress,
            strict_formats=strict_formats,
        )
        budget = max_bytes if proof_bytes is None else proof_bytes
        if budget:
            yield from proof_work(state, source, budget)
    except SourceError as error:
        yield from break_work(state, source, error)
        raise
    return msgspec.structs.replace(result, source=current(state, source))


def reading_work(
    state: State,
    source: EnrolledSource,
    *,
    max_bytes: int,
    operations: int | None,
    progress: Progress | None,
    strict_formats: bool,
) -> Work[IndexResult]:
    """As ``index_work``, without the proof of what stood before a followed file grew.

    Raises:
        SourceError, AdapterError, StateError, SidecarError: see ``index_source``.
    """
    adapter = adapter_for(state.view.formats, source.enrollment.binding.host)
    may_extend = is_following(source.enrollment, state.ports.clock.now_ms())
    size = source.newest.size
    reached = find_reached(state, source)
    done = added = 0
    while (reached.position < size or may_extend) and (operations is None or done < operations):
        with open_enrolled(state, source, from_offset=reached.looks_back_to) as opened:
            extension = decide_extension(source, reached.position, opened.now) if may_extend else None
            if extension is not None:
                # Once a call: a file that is written faster than it is read must not hold the lock for ever.
                size, may_extend = extension.size, False
            elif reached.position == size:
                break
            end = min(size, reached.position + _operation_bytes(source, reached, max_bytes))
            span, reader = _read(adapter, source, opened, reached, end, size)
        if strict_formats:
            _check_strict(state, source, reader)
        added += yield from span_work(state, source, adapter, reached, span, reader, extension)
        source = current(state, source)
        done += 1
        if progress is not None:
            progress(reached.position, size)
    if not size:
        adapter.read_header(b"")  # refuses, with the reason: a file without a byte is no transcript yet
    messages = sum(map(is_user_message, reached.rows.events))
    return IndexResult(
        source=source,
        indexed=reached.position,
        size=size,
        added=added,
        events=len(reached.rows.events) - messages,
        user_messages=messages,
        evicted=reached.evicted,
        operations=done,
        judgement=judge(state.view.formats, adapter.host, reached.understanding, reached.tallies),
        tallies=reached.tallies,
        pending=reached.pending,
        forgotten=reached.forgotten,
    )


def _operation_bytes(source: EnrolledSource, reached: Reached, max_bytes: int) -> int:
    """How many bytes the next operation covers: of a followed file first those that every use compares."""
    if source.enrollment.mode == "follow" and reached.position == 0:
        return min(max_bytes, HEAD_BYTES)
    return max_bytes


def _read(
    adapter: Adapter, source: EnrolledSource, opened: OpenSource, reached: Reached, end: int, size: int
) -> tuple[Span, Reader]:
    """Read the bytes up to ``end`` of a file of which ``size`` bytes count."""
    header = read_whole_header(adapter, opened, size)
    _check_session(source, header)
    try:
        return read_span(
            adapter, header, opened, cursor=reached.cursor, start=reached.position, end=end, size=size
        )
    except CallLineChangedError as error:
        if source.enrollment.mode == "snapshot":
            raise
        message = f"{source.enrollment.source.path}: a line of a call is not the one that was committed"
        raise TranscriptRewrittenError(message) from error


def _check_session(source: EnrolledSource, header: Header) -> None:
    """The file's own header must name the session that was enrolled, where the host writes it there (T70)."""
    named = HOSTS[source.enrollment.binding.host].header_names_session
    if named and header.session_id != source.enrollment.binding.session:
        message = f"{source.enrollment.source.path}: its header names another session"
        raise TranscriptSessionError(message)


def _check_strict(state: State, source: EnrolledSource, reader: Reader) -> None:
    """The owner wants nothing of a file that is not understood; asked before anything of a span is committed.

    Raises:
        StrictFormatError: something was not understood.
    """
    tallies = tallies_of(reader)
    judgement = judge(state.view.formats, source.enrollment.binding.host, UNDERSTOOD, tallies)
    if not judgement.is_understood:
        types = ", ".join(judgement.unreviewed) or "none"
        message = f"{source.enrollment.source.path}: {tallies.defects} lines not understood; unreviewed types: {types}"
        raise StrictFormatError(message)
