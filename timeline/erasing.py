"""Erasing leaves from the log: decided, stated by the owner in a leaf, and only then carried out.

Whatever instruction a crash hits: without the leaf nothing was erased, and with it the next writing command goes on
(``timeline.rewriting``). That what is left adds up, and to nothing that was not so before, is looked at before the
leaf is written: after that there is no way back.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import zip_longest
from typing import Final, TypeVar

import msgspec

from sidecars.envelope import parse_envelope
from sidecars.erased import is_erased
from sidecars.erasure import ERASED_MAX, Erasure
from sidecars.leaf import (
    BATCH_SIZE_MAX,
    SIGNED_BY,
    Body,
    Leaf,
    SidecarEntry,
    leaf_hash,
    parse_leaf,
    payload_type,
)
from timeline.entangled import Entangled
from timeline.erasure_errors import ErasureRefusedError
from timeline.errors import LogRefusedError
from timeline.fold import LogFold
from timeline.rewriting import Pages, are_pages_due, mark_pages_due
from timeline.state import State
from timeline.store import Store
from timeline.verified import SealedSidecar
from timeline.view import EnrolledSource, LogView

Value = TypeVar("Value", int, str)

_KIND_OF_TYPE: Final = {payload_type(kind): kind for kind in SIGNED_BY}


class Reduced(msgspec.Struct, frozen=True):
    """Sidecars that take the place of others and lack some of their events (ADR 0030).

    ``project`` writes the rows of their sources, and deletes those of the events that they lack.
    """

    entries: tuple[SidecarEntry, ...] = ()
    sidecars: tuple[SealedSidecar, ...] = ()
    project: Callable[[Store], None] | None = None


def close_over(state: State, leaves: Collection[int]) -> frozenset[int]:
    """Leaves with all that has to be erased with them (``entangled``).

    Raises:
        LogRefusedError: the leaves are no longer those that were verified.
        StateError, SidecarError: they cannot be read.
    """
    entangled = Entangled()
    for leaf, _hashed in _leaves(state):
        entangled.add(leaf)
    return entangled.close_over(leaves)


def erase(
    state: State,
    *,
    plan: str,
    leaves: Collection[int],
    suppressed: Collection[str],
    key: str,
    also: Sequence[Body] = (),
    reduced: Reduced = Reduced(),  # noqa: B008  # immutable
) -> tuple[Leaf, ...]:
    """State in one batch what is erased, with ``also`` and ``reduced``, and erase it; the caller holds the writer lock.

    ``leaves`` are indexes, ``suppressed`` keyed digests under the key that ``key`` commits to, and ``plan`` the digest
    of what is carried out. What an erasure of the same plan has stated already is left out: where all of it was,
    nothing is committed, ``also`` and ``reduced`` neither, and what is left to do is done.

    Returns the leaves that were committed. ``state`` is read anew.

    Raises:
        ErasureRefusedError: a leaf is not there, is of a kind that stays, or would leave something behind that had
            ended; or it is more than one commit can state. Nothing was written.
        KeyMismatchError: the owner key is not here, or locked. Nothing was written.
        StateError, SidecarError: nothing was written, or it was stated and the next writing command goes on.
    """
    made = [erasure.body for erasure in state.view.erasures if erasure.body.plan == plan]
    places = frozenset(leaves).difference(*(body.leaves for body in made))
    digests = frozenset(suppressed).difference(*(body.suppressed for body in made))
    if not places and not digests:
        finish(state)
        return ()
    if places:
        _check(state, places)
    bodies = tuple(
        Erasure(plan, stated or (), forgotten or (), key)
        for stated, forgotten in zip_longest(_parts(places), _parts(digests))
    )
    more = (*reduced.entries, *also)
    if len(bodies) + len(more) > BATCH_SIZE_MAX:
        message = f"{len(places)} leaves and {len(digests)} digests are more than one commit can state"
        raise ErasureRefusedError(message, hint="forget less at a time")
    committed = state.commit(
        [*bodies, *more],
        sidecars=reduced.sidecars,
        project=lambda store, _leaves: _write_reduced(store, reduced),
    )
    state.repair()
    state.finish_erasure()
    return committed


def _write_reduced(store: Store, reduced: Reduced) -> None:
    if reduced.project is not None:
        mark_pages_due(store)
        reduced.project(store)


def finish(state: State) -> Pages:
    """Carry out what was stated and is not done yet; the caller holds the writer lock. May be called at any time.

    Raises:
        StateError, SidecarError: it cannot be written; the next writing command goes on.
    """
    if not state.consistent:
        state.repair()
    return state.finish_erasure()


def pages_due(state: State) -> bool:
    """Whether files or pages may still hold what was erased.

    Raises:
        StateError: the database cannot be read.
    """
    return bool(state.reading.due) or are_pages_due(state.store)


def _parts(values: frozenset[Value]) -> Iterator[tuple[Value, ...]]:
    """Values in order, as many at a time as one erasure states."""
    ordered = sorted(values)
    for start in range(0, len(ordered), ERASED_MAX):
        yield tuple(ordered[start : start + ERASED_MAX])


def _check(state: State, chosen: frozenset[int]) -> None:
    """Return only if these leaves may be erased, and what is left says the same as before of everything else."""
    entangled, fold = Entangled(), LogFold()
    for leaf, hashed in _leaves(state):
        entangled.add(leaf)
        if leaf.index not in chosen:
            fold.add(leaf, hashed)
    entangled.check(chosen)
    try:
        left = fold.view()
    except LogRefusedError as error:
        message = f"what is left would not add up: {error.message}"
        raise ErasureRefusedError(message) from error
    if _lasting(left, frozenset()) != _lasting(state.view, chosen):
        message = "what is left would say something else of what is not erased"
        raise ErasureRefusedError(message)


def _lasting(view: LogView, chosen: frozenset[int]) -> LogView:
    """What a view says of everything but the leaves that are chosen, as far as it says more than a tally."""
    sources = tuple(_without(source, chosen) for source in view.sources if source.index not in chosen)
    kept = LogView(sources=sources)
    return msgspec.structs.replace(
        view,
        newest_ms=0,
        sources=kept.sources,
        receipts=frozenset(),
        assertions=kept.assertions,
        register=kept.register,
    )


def _without(source: EnrolledSource, chosen: frozenset[int]) -> EnrolledSource:
    """A source that stays: with its sidecars, or without all of them."""
    if not source.leaves or not chosen.issuperset(source.leaves):
        return source
    return msgspec.structs.replace(source, entries=(), leaves=(), evicted=frozenset())


def _leaves(state: State) -> Iterator[tuple[Leaf, bytes]]:
    """Every leaf that is still there, with its hash in the tree."""
    for index, salt, envelope in state.store.leaves():
        if index >= state.belief.size:
            return
        if is_erased(salt):
            continue
        parsed = parse_envelope(envelope)
        kind = _KIND_OF_TYPE.get(parsed.payload_type)
        if kind is None:
            message = f"{state.store.path}: leaf {index} is not the one that was verified"
            raise LogRefusedError(message)
        yield parse_leaf(parsed.payload, kind), leaf_hash(salt, envelope)
