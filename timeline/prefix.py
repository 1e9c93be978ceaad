"""What was committed of a transcript, compared with the file: the way to every byte of an enrolled source (T12, T13).

An enrolled snapshot must still be the very same file. A followed one may have grown: it must be the same file, not
shorter, and hold at its beginning and at its end what was committed there. That tells nothing of the bytes between;
comparing all of them is the prefix proof (``timeline.extend``), and until then answers say ``prefix-proof-pending``.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Final, NamedTuple

from sidecars.digest import Digest
from sidecars.sidecar import CHUNK_BYTES, SidecarHeader
from timeline.errors import (
    LogRefusedError,
    SourceError,
    TranscriptCompressedError,
    TranscriptMissingError,
    TranscriptReplacedError,
    TranscriptRewrittenError,
    TranscriptTruncatedError,
)
from timeline.guard.enrollment import is_following, newest_snapshot
from timeline.limits import HEAD_BYTES, READ_BYTES, TAIL_BYTES
from timeline.source import OpenSource, check_grown, look_at_source, open_source
from timeline.state import State
from timeline.view import EnrolledSource

BROKEN: Final[dict[str, type[SourceError]]] = {
    error.reason: error
    for error in (TranscriptRewrittenError, TranscriptTruncatedError, TranscriptReplacedError)
}
"""Findings after which a followed file is never answered from again; what an invalidation leaf may name."""

_COMPRESSED: Final = (".zst", ".gz")


class Chunk(NamedTuple):
    """Bytes of a transcript as they were committed; ``sha256`` is a digest as sidecars spell it."""

    offset: int
    length: int
    sha256: str


@contextmanager
def open_enrolled(
    state: State, source: EnrolledSource, *, from_offset: int | None = None
) -> Iterator[OpenSource]:
    """Open the transcript of a source as its consent allows now, and check again when the block ends.

    Of a followed file the committed bytes from ``from_offset`` on are compared first, and in any case the first 64 KiB
    and the last 256 KiB of them.

    Raises:
        SourceError: it is not what was committed.
        SidecarError: a sidecar is missing or not to be believed.
    """
    expected = newest_snapshot(source)
    if source.broken is not None:
        message = f"{expected.path}: was found changed, and following ended"
        raise BROKEN[source.broken.reason](message)
    if not is_following(source.enrollment, state.ports.clock.now_ms()):
        with open_source(expected) as opened:
            yield opened
        return
    try:
        with open_source(expected, check_grown) as opened:
            check_chunks(opened, _ends(state, source, from_offset))
            yield opened
    except TranscriptMissingError as error:
        beside = next((end for end in _COMPRESSED if os.path.lexists(expected.path + end)), None)
        if beside is None:
            raise
        message = f"{expected.path}: not there, but with {beside}"
        raise TranscriptCompressedError(message) from error


def find_unread(state: State, source: EnrolledSource) -> str | None:
    """Why the index of a source that is followed now says nothing of its end, from its metadata alone; else ``None``.

    Either the file has grown since, or it is not what was committed.
    """
    if source.broken is not None:
        return source.broken.reason
    if not is_following(source.enrollment, state.ports.clock.now_ms()):
        return None
    expected = newest_snapshot(source)
    try:
        return "source-grown" if look_at_source(expected, check_grown) > expected.size else None
    except SourceError as error:
        return error.reason


def is_prefix_pending(source: EnrolledSource, opened: OpenSource) -> bool:
    """Whether bytes that were committed before the file last grew have not all been compared since."""
    return not source.is_prefix_proven or opened.now.size > opened.snapshot.size


def check_chunks(opened: OpenSource, chunks: Iterable[Chunk]) -> None:
    """Compare chunks with the file.

    Raises:
        TranscriptRewrittenError: other bytes stand there.
        SourceError: the file is shorter now, or cannot be read.
    """
    for row in _rows(chunks):
        begin = row[0].offset
        content = memoryview(bytearray(row[-1].offset + row[-1].length - begin))
        opened.read_all_into(content, begin)
        for offset, length, sha256 in row:
            part = content[offset - begin : offset - begin + length]
            if str(Digest(hashlib.sha256(part).digest())) != sha256:
                message = (
                    f"{opened.now.path}: the {length} bytes at {offset} are not those that were committed"
                )
                raise TranscriptRewrittenError(message)


def _rows(chunks: Iterable[Chunk]) -> Iterator[list[Chunk]]:
    """Chunks that lie one behind the other, as many as are read at once: a file that grew by little has small ones."""
    row: list[Chunk] = []
    for chunk in chunks:
        if row and (
            row[-1].offset + row[-1].length != chunk.offset
            or chunk.offset + chunk.length - row[0].offset > READ_BYTES
        ):
            yield row
            row = []
        row.append(chunk)
    if row:
        yield row


def committed_chunks(state: State, source: EnrolledSource) -> tuple[Chunk, ...]:
    """Every chunk that was committed of a followed file, from byte 0 on without gaps.

    Raises:
        LogRefusedError: the sidecars do not follow each other, or not the generations.
        SidecarError: a sidecar is missing or not to be believed.
    """
    headers = [state.sidecar(entry).header for entry in source.kept]
    check_generations(source, headers)
    return tuple(chunk for header in headers for chunk in _chunks_of(header))


def check_generations(source: EnrolledSource, headers: Sequence[SidecarHeader]) -> None:
    """The spans of a followed file must follow each other, and none may reach over the end of a generation.

    Raises:
        LogRefusedError: they do not.
    """
    generations = source.generations
    ends = {generation.first_segment: before.size for before, generation in pairwise(generations)}
    position, bound = 0, generations[0].size
    sizes = iter(generation.size for generation in generations[1:])
    for header in headers:
        if header.segment in ends:
            if position != ends[header.segment]:
                raise _broken_spans(source)
            bound = next(sizes)
        if header.start != position or header.end > bound:
            raise _broken_spans(source)
        position = header.end


def _broken_spans(source: EnrolledSource) -> LogRefusedError:
    message = f"{source.enrollment.source.ref}: its sidecars do not follow each other and its generations"
    return LogRefusedError(message)


def _ends(state: State, source: EnrolledSource, from_offset: int | None) -> list[Chunk]:
    """The chunks at the beginning, and the last ones from ``from_offset`` on, 256 KiB in any case; in file order."""
    if not source.entries:
        return []
    end = state.sidecar(source.entries[-1]).header.end
    begin = max(0, end - TAIL_BYTES)
    begin = begin if from_offset is None else min(begin, from_offset)
    found: dict[int, Chunk] = {}
    for entry in source.kept:
        header = state.sidecar(entry).header
        if header.start >= HEAD_BYTES:
            break
        found |= {chunk.offset: chunk for chunk in _chunks_of(header) if chunk.offset < HEAD_BYTES}
    for entry in reversed(source.kept):
        header = state.sidecar(entry).header
        found |= {chunk.offset: chunk for chunk in _chunks_of(header) if chunk.offset + chunk.length > begin}
        if header.start <= begin:
            break
    return [found[offset] for offset in sorted(found)]


def _chunks_of(header: SidecarHeader) -> list[Chunk]:
    places = range(header.start, header.end, CHUNK_BYTES)
    return [
        Chunk(place, min(CHUNK_BYTES, header.end - place), sha256)
        for place, sha256 in zip(places, header.chunks, strict=True)
    ]
