"""Work that wants things committed, and the two ways to commit them: each at once, or those of several together.

Work is a generator. It reads, gives what it wants committed, and is sent the leaves once they are in the log; while it
waits it holds no file open. It has written nothing by then, so that what is never committed leaves nothing behind.

A group commit makes what several works want at one time one batch: one transaction, one head, one anchor, and one
question to the external anchors. Each work sees what it would see alone; only which leaves share a batch differs, and
how the leaves of different works follow each other.
"""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from typing import TypeAlias, TypeVar

import msgspec

from adapters.errors import AdapterError
from sidecars.errors import SidecarError
from sidecars.leaf import BATCH_SIZE_MAX, Body, Leaf
from timeline.errors import TimelineError
from timeline.state import State
from timeline.store import Store
from timeline.verified import SealedSidecar

Result = TypeVar("Result")

Project = Callable[[Store, Sequence[Leaf]], None]
"""Writes projections of these leaves, inside their transaction."""

_REFUSES_ONE = (TimelineError, SidecarError, AdapterError)


class Wanted(msgspec.Struct, frozen=True):
    """What is to be committed in one piece: leaves in order, the sidecars that they name, and their projections.

    Without a leaf it asks for nothing but to go on once what another of its group wants is committed.
    """

    bodies: tuple[Body, ...]
    sidecars: tuple[SealedSidecar, ...] = ()
    project: Project | None = None


Work: TypeAlias = Generator[Wanted, tuple[Leaf, ...] | None, Result]
"""Gives what it wants committed, is sent its leaves, and returns what came of it."""


def commit_alone(state: State, work: Work[Result]) -> Result:
    """Commit at once whatever ``work`` wants, until it is done; the caller holds the writer lock.

    Raises:
        StateError, SidecarError: see ``State.commit``.
        Exception: whatever the work raised.
    """
    with closing(work):
        leaves: tuple[Leaf, ...] | None = None
        while True:
            try:
                wanted = work.send(leaves)
            except StopIteration as end:
                result: Result = end.value
                return result
            leaves = state.commit(wanted.bodies, sidecars=wanted.sidecars, project=wanted.project)


def commit_together(state: State, works: Sequence[Work[Result]]) -> tuple[Result | Exception, ...]:
    """Commit what all ``works`` want in as few batches as the log's bounds allow; the caller holds the writer lock.

    A work that is refused leaves the group, and the others go on.

    Returns, for each, what came of it, or the error that refused it.

    Raises:
        StateError, SidecarError: a batch could not be committed (``State.commit``); nothing of it is in the log, or a
            repair by this batch is due at the next opening. Batches before it stand.
    """
    outcomes: dict[int, Result | Exception] = {}
    due: deque[tuple[int, tuple[Leaf, ...] | None]] = deque((number, None) for number in range(len(works)))
    gathered: dict[int, Wanted] = {}
    with ExitStack() as open_works:
        for work in works:
            open_works.callback(work.close)
        while due:
            number, leaves = due.popleft()
            try:
                wanted = works[number].send(leaves)
            except StopIteration as end:
                outcomes[number] = end.value
            except _REFUSES_ONE as error:
                outcomes[number] = error
            else:
                if gathered and not _fits(state, (*gathered.values(), wanted)):
                    due.extend(_commit(state, gathered))
                    gathered = {}
                gathered[number] = wanted
            if not due and gathered:
                due.extend(_commit(state, gathered))
                gathered = {}
    return tuple(outcomes[number] for number in range(len(works)))


def _fits(state: State, wanted: Sequence[Wanted]) -> bool:
    """Whether one batch may hold all of it: by its own bound, and by what may follow the last confirmation."""
    count = sum(len(part.bodies) for part in wanted)
    return count <= BATCH_SIZE_MAX and state.external.has_room(count)


def _commit(state: State, gathered: dict[int, Wanted]) -> list[tuple[int, tuple[Leaf, ...]]]:
    """Commit what was gathered as one batch; each work's number with its own leaves."""
    ends: list[int] = []
    for wanted in gathered.values():
        ends.append(len(wanted.bodies) + (ends[-1] if ends else 0))
    slices = [
        slice(end - len(wanted.bodies), end) for end, wanted in zip(ends, gathered.values(), strict=True)
    ]

    def project(store: Store, leaves: Sequence[Leaf]) -> None:
        for own, wanted in zip(slices, gathered.values(), strict=True):
            if wanted.project is not None:
                wanted.project(store, leaves[own])

    leaves = state.commit(
        [body for wanted in gathered.values() for body in wanted.bodies],
        sidecars=[sealed for wanted in gathered.values() for sealed in wanted.sidecars],
        project=project,
    )
    return [(number, leaves[own]) for number, own in zip(gathered, slices, strict=True)]
