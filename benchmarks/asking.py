"""Questions to a large ledger, and answers checked against it: what they cost beside selecting the same rows.

The reference of a question selects the rows and leaves of its subject and predicate over a new connection, after the
system was told to forget the file's pages; it verifies nothing. The reference of an answer is one question.
"""

import random
import shutil
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing

from benchmarks.measure import Figure, alternate, percentile
from benchmarks.world import EACH, PROJECT, READER, TENANT, big_ledger, forget_pages
from benchmarks.worlds import HERE, session_at
from sidecars.reasoned import UNITS_MAX
from timeline.paths import Locations
from timeline.reasoning_use import AskedUnit, check_units, resolve_question
from timeline.state import State, open_for_writing

_ASSERTIONS, _SMALL = 100_000, 10_000
_ROUNDS, _QUICK_ROUNDS = 400, 100
_RESOLVE_GATE, _GROWTH_GATE, _MEDIATE_GATE = 25.0, 2.0, 25.0
_PREDICATE = "test.passed"

_SELECT = """SELECT a.*, l.salt, l.envelope FROM assertion a JOIN leaf l ON l.idx = a.leaf
WHERE a.subject = ? AND a.tenant = ? AND a.project = ? AND a.predicate = ?"""


def figures(*, quick: bool) -> list[Figure]:
    """The 99th percentile of a question against the selection and against a ledger a tenth as large; of an answer."""
    sizes = (_SMALL,) if quick else (_SMALL, _ASSERTIONS)
    rounds = _QUICK_ROUNDS if quick else _ROUNDS
    taken = {size: _measured(size, rounds) for size in sizes}
    largest = sizes[-1]
    asked, selected, checked = taken[largest]
    p99, reference = percentile(asked, 0.99), statistics.median(selected)
    detail = f"{1000 * p99:.2f} ms, median {1000 * statistics.median(asked):.2f}, against {1000 * reference:.2f} ms"
    found = [
        Figure(
            f"world_resolve of {largest:,} assertions: p99 / cold selection",
            p99 / reference,
            "x",
            _RESOLVE_GATE,
            detail,
        ),
        Figure(
            f"world_mediate of {UNITS_MAX} units, without its commit / one world_resolve",
            statistics.median(checked) / statistics.median(asked),
            "x",
            _MEDIATE_GATE,
            f"{1000 * statistics.median(checked):.2f} ms",
        ),
    ]
    if not quick:
        small = percentile(taken[_SMALL][0], 0.99)
        found.append(
            Figure(
                "world_resolve: p99 of 100,000 / of 10,000 assertions",
                p99 / small,
                "x",
                _GROWTH_GATE,
                f"{1000 * small:.2f} ms",
            )
        )
    return found


def _measured(assertions: int, rounds: int) -> list[list[float]]:
    folder = HERE / "asking-run"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(big_ledger(assertions), folder)
    session = session_at(folder)
    try:
        with open_for_writing(session.locations, session.ports) as state:
            _ask(state, 0)
            chance = random.Random(7)
            subjects = [chance.randrange(assertions // EACH) for _ in range(rounds)]
            return alternate(
                rounds,
                _timed(state.locations, iter(subjects), lambda subject: _ask(state, subject)),
                _timed(state.locations, iter(subjects), lambda subject: _select(state.locations, subject)),
                _timed(state.locations, iter(subjects), lambda subject: _check(state, subject, assertions)),
            )
    finally:
        shutil.rmtree(folder)


def _timed(locations: Locations, subjects: Iterator[int], take: Callable[[int], None]) -> Callable[[], float]:
    def timed() -> float:
        subject = next(subjects)
        forget_pages(locations)
        began = time.perf_counter()
        take(subject)
        return time.perf_counter() - began

    return timed


def _ask(state: State, subject: int) -> None:
    found = resolve_question(state, READER, f"suite:{subject}", _PREDICATE)
    if found.answer.view.standing not in {"supported", "conflicted"}:
        raise RuntimeError("something was measured about every subject")


def _select(locations: Locations, subject: int) -> None:
    values = (f"suite:{subject}", TENANT, PROJECT, _PREDICATE)
    with closing(sqlite3.connect(locations.database)) as database:
        if len(database.execute(_SELECT, values).fetchall()) != EACH // 2:
            raise RuntimeError("the selection is of the same rows")


def _check(state: State, subject: int, assertions: int) -> None:
    """Twenty units about twenty subjects."""
    units = [
        AskedUnit(
            id=f"u{place}",
            subject=f"suite:{(subject + place) % (assertions // EACH)}",
            predicate=_PREDICATE,
            value="1",
        )
        for place in range(UNITS_MAX)
    ]
    check_units(state, READER, units, name="0f" * 16)
