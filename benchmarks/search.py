"""Search over many stored events in one process: every pair of terms, a sample of numbers, and time windows."""

import itertools
import random
import statistics
import sys
import time
from dataclasses import dataclass, field

from adapters.objective.vocabulary import CANONICAL_TERMS
from benchmarks.measure import Figure, percentile, run
from benchmarks.worlds import big_state, span_ms
from timeline.search import SearchScope, Status, Window
from timeline.state import open_state
from timeline.terms import Query, parse_query

_EVENTS_EACH = 4_000
_NUMBERS = ("0", "1", "2", "3", "17", "40", "60", "61", "62", "63", "700", "suite-4")
"""Common ones, some that stand beside few terms, and some that nothing has."""

_ROUNDS = 5
_WINDOWS = 1_000
_WORST = 16
_AGAIN = 100

Asked = tuple[Window | None, Query | None]


@dataclass
class _Taken:
    """Seconds of single questions, the transcript's re-check included, and of what was measured beside them."""

    opening: float = 0.0
    terms: list[float] = field(default_factory=list)
    windows: list[float] = field(default_factory=list)
    worst: float = 0.0
    worst_asked: str = ""
    bare: list[float] = field(default_factory=list)
    found: int = 0


def figures(*, quick: bool) -> list[Figure]:
    """The figures of the issue: worst p99 against a bare interpreter, and growth from 100,000 to 1,000,000."""
    small = _measure(25, 400 if quick else _EVENTS_EACH)
    large = _measure(25 if quick else 250, _EVENTS_EACH)
    bare = statistics.median(large.bare)
    p99 = {"terms": percentile(large.terms, 0.99), "windows": percentile(large.windows, 0.99)}
    events = "100,000" if quick else "1,000,000"
    detail = ", ".join(
        f"{name} p50 {1000 * percentile(values, 0.5):.2f} p99 {1000 * percentile(values, 0.99):.2f} ms"
        for name, values in (("terms", large.terms), ("windows", large.windows))
    )
    return [
        Figure(f"search in {events}: p99 of terms / bare interpreter", p99["terms"] / bare, "x", 0.5, detail),
        Figure(f"search in {events}: p99 of windows / bare interpreter", p99["windows"] / bare, "x", 0.5),
        Figure(
            f"search in {events}: worst pair's p99 / bare interpreter",
            large.worst / bare,
            "x",
            0.5,
            f"{large.worst_asked}: {1000 * large.worst:.2f} ms; bare {1000 * bare:.1f} ms",
        ),
        Figure("search: mean of terms at ten times the events", _growth(large.terms, small.terms), "x", 2.0),
        Figure(
            "search: mean of windows at ten times the events", _growth(large.windows, small.windows), "x", 2.0
        ),
        Figure(
            f"search in {events}: opening and accounting, once",
            large.opening,
            "s",
            None,
            f"reported; {small.opening:.1f} s at a tenth",
        ),
    ]


def _growth(large: list[float], small: list[float]) -> float:
    """The ratio of the means: one slow pair among hundreds shows in it, and not in a median."""
    return _trimmed(large) / _trimmed(small)


def _trimmed(values: list[float]) -> float:
    """The mean without the slowest hundredth, which is the scheduler's."""
    ordered = sorted(values)
    return statistics.mean(ordered[: max(1, len(ordered) * 99 // 100)])


def _measure(sources: int, events_each: int) -> _Taken:
    session = big_state(sources, events_each)
    chance = random.Random(1)
    first, last = span_ms(sources, events_each)
    terms = [(None, query) for query in _queries()]
    halves = (0, 1_000, 60_000, 900_000)
    windows = [(Window(chance.randrange(first, last), chance.choice(halves)), None) for _ in range(_WINDOWS)]
    taken = _Taken()
    began = time.perf_counter()
    with open_state(session.locations, session.ports) as state:
        scope = SearchScope(state, state.view.active)
        taken.opening = time.perf_counter() - began
        each: dict[int, list[float]] = {number: [] for number in range(len(terms))}
        for _ in range(_ROUNDS):
            taken.bare += [run([sys.executable, "-I", "-S", "-c", "pass"]).wall for _ in range(5)]
            for number, asked in enumerate(terms):
                each[number].append(_ask(scope, asked, taken))
            taken.windows += [_ask(scope, asked, taken) for asked in windows]
        taken.terms = [seconds for values in each.values() for seconds in values]
        slowest = sorted(each, key=lambda number: statistics.median(each[number]))[-_WORST:]
        for number in slowest:
            again = percentile([_ask(scope, terms[number], taken) for _ in range(_AGAIN)], 0.99)
            if again > taken.worst:
                query = terms[number][1]
                taken.worst, taken.worst_asked = again, " ".join(term.text for term in query.terms)
    if not taken.found:
        raise RuntimeError("no question found anything: the state is not the one that was made")
    return taken


def _queries() -> list[Query]:
    words = [*CANONICAL_TERMS, *_NUMBERS]
    return [parse_query(pair) for pair in itertools.combinations(words, 2)]


def _ask(scope: SearchScope, asked: Asked, taken: _Taken) -> float:
    window, query = asked
    began = time.perf_counter()
    answer = scope.search(window=window, query=query)
    seconds = time.perf_counter() - began
    taken.found += answer.status is Status.FOUND
    return seconds
