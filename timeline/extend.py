"""A followed file grows: its next generation, the proof of all that stood before, and the end of following.

What is decided here is pure. ``proof_work`` and ``break_work`` read, and want their findings committed; whoever runs
them holds the writer lock.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from sidecars.leaf import Extension, Invalidation, PrefixProof
from timeline.committing import Wanted, Work
from timeline.errors import EnrollmentUnavailableError, SourceError
from timeline.guard.enrollment import is_following
from timeline.prefix import BROKEN, Chunk, check_chunks, committed_chunks, open_enrolled
from timeline.source import Snapshot
from timeline.state import State
from timeline.view import EnrolledSource

_BREAKS: Final = tuple(BROKEN.values())
"""What no later growth makes good: the file is not the one that was committed."""


class Round(NamedTuple):
    """A comparison of all that stood before ``generation``, which has come as far as ``offset``."""

    generation: int
    offset: int


def current(state: State, source: EnrolledSource) -> EnrolledSource:
    """The source as the log has it now.

    Raises:
        EnrollmentUnavailableError: the owner has taken it back since, or it was replaced.
    """
    found = next((known for known in state.view.active if known.index == source.index), None)
    if found is None:
        message = f"{source.enrollment.enrollment_id}: not active any more"
        raise EnrollmentUnavailableError(message)
    return found


def decide_extension(source: EnrolledSource, position: int, now: Snapshot) -> Extension | None:
    """The generation that a file found as ``now`` adds, ``None`` if there is none yet.

    A generation is indexed to its end (``position``) before the next one begins, so that each proves a whole one.
    """
    newest = source.newest
    if position < newest.size or now.size <= newest.size:
        return None
    return Extension(
        source=source.enrollment.source.ref,
        enrollment_id=source.enrollment.enrollment_id,
        generation=newest.number + 1,
        size=now.size,
        mtime_ns=str(now.mtime_ns),
        ctime_ns=str(now.ctime_ns),
    )


def decide_round(source: EnrolledSource) -> Round | None:
    """Where the proof of a source goes on, ``None`` if nothing is left to prove.

    A round that was begun is brought to its end even if the file has grown meanwhile: else a large file that grows
    faster than it is compared would never be compared whole. Then the next round is that of the newest generation.
    """
    if source.is_prefix_proven:
        return None
    proof = source.proof
    if proof is not None and proof.proven < source.generations[proof.generation - 1].size:
        return Round(proof.generation, proof.proven)
    return Round(source.newest.number, 0)


def decide_step(
    source: EnrolledSource, chunks: Sequence[Chunk], max_bytes: int
) -> tuple[list[Chunk], PrefixProof | None]:
    """The chunks to compare next, at most ``max_bytes`` but at least one, and what is recorded if they are equal.

    ``chunks`` are all that were committed, in file order.
    """
    due: list[Chunk] = []
    step: PrefixProof | None = None
    left = max_bytes
    while (begun := decide_round(source)) is not None:
        size = source.generations[begun.generation - 1].size
        proven = begun.offset
        for chunk in chunks:
            if not begun.offset <= chunk.offset < size:
                continue
            if due and chunk.length > left:
                break
            due.append(chunk)
            left -= chunk.length
            proven = chunk.offset + chunk.length
        if proven == begun.offset:
            break
        step = PrefixProof(
            source=source.enrollment.source.ref,
            enrollment_id=source.enrollment.enrollment_id,
            generation=begun.generation,
            proven=proven,
        )
        source = msgspec.structs.replace(source, proof=step)
    return due, step


def proof_work(state: State, source: EnrolledSource, max_bytes: int) -> Work[None]:
    """Compare the next part of what stood before the newest generation, and record how far it came.

    Raises:
        SourceError: the file is not what was committed.
        StateError, SidecarError: the state cannot be used.
    """
    source = current(state, source)
    if source.is_prefix_proven:
        return
    due, step = decide_step(source, committed_chunks(state, source), max_bytes)
    with open_enrolled(state, source) as opened:
        check_chunks(opened, due)
    if step is not None:
        yield Wanted((step,))


def break_work(state: State, source: EnrolledSource, error: SourceError) -> Work[None]:
    """Record what was found of a followed file, if it is one of the findings that end following for good."""
    source = current(state, source)
    if (
        source.broken is None
        and is_following(source.enrollment, state.ports.clock.now_ms())
        and isinstance(error, _BREAKS)
    ):
        finding = Invalidation(
            source=source.enrollment.source.ref,
            enrollment_id=source.enrollment.enrollment_id,
            reason=error.reason,  # type: ignore[arg-type]  # the reasons of ``BROKEN`` are the leaf's words
        )
        yield Wanted((finding,))
