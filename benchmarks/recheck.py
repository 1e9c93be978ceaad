"""The re-check of a transcript before every use, with nothing changed: alone, and against looking and opening."""

import os
import statistics
import time
from collections.abc import Callable

from benchmarks.measure import Figure, alternate, ratio
from benchmarks.worlds import big_state
from timeline.guard.enrollment import snapshot_of
from timeline.source import Snapshot, open_source
from timeline.state import open_state

_ROUNDS = 15


def figures(*, quick: bool) -> list[Figure]:
    """Milliseconds a source, and the ratio to ``lstat``, ``open``, ``fstat`` and ``close``, reported only."""
    session = big_state(25, 400 if quick else 4_000)
    with open_state(session.locations, session.ports) as state:
        snapshots = [snapshot_of(source.enrollment) for source in state.view.active]
    ours, theirs = alternate(_ROUNDS, lambda: _each(snapshots, _check), lambda: _each(snapshots, _look))
    return [
        Figure("re-check of an unchanged source", 1000 * statistics.median(ours), "ms", 1.0),
        Figure("re-check / lstat, open, fstat, close", ratio(ours, theirs), "x", None, "reported"),
    ]


def _each(snapshots: list[Snapshot], work: Callable[[Snapshot], None]) -> float:
    began = time.perf_counter()
    for snapshot in snapshots:
        work(snapshot)
    return (time.perf_counter() - began) / len(snapshots)


def _check(snapshot: Snapshot) -> None:
    with open_source(snapshot):
        pass


def _look(snapshot: Snapshot) -> None:
    os.lstat(snapshot.path)
    descriptor = os.open(snapshot.path, os.O_RDONLY | os.O_CLOEXEC)
    os.fstat(descriptor)
    os.close(descriptor)
