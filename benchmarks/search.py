"""Search over many stored events in one process: every pair of vocabulary terms, and time windows."""

import itertools
import random
import sys
import time

from adapters.objective.vocabulary import CANONICAL_TERMS
from benchmarks.measure import Figure, percentile, run
from benchmarks.worlds import big_state
from timeline.errors import QueryError
from timeline.guard.enrollment import snapshot_of
from timeline.search import Window, search
from timeline.source import open_source
from timeline.state import open_state
from timeline.terms import parse_query

_ROUNDS = 3
_WINDOWS = 400


def measure(sources: int, events_each: int) -> dict[str, float]:
    """Percentiles in seconds of single searches, the transcript's re-check included."""
    session, _project = big_state(sources, events_each)
    queries = []
    for a, b in itertools.combinations(CANONICAL_TERMS, 2):
        try:
            queries.append(parse_query((a, b)))
        except QueryError:
            continue
    chance = random.Random(1)
    with open_state(session.locations, session.ports) as state:
        asked = state.view.active
        began = time.perf_counter()
        search(state, asked, window=None, query=queries[0])
        opening = time.perf_counter() - began
        terms: list[float] = []
        for _ in range(_ROUNDS):
            for query in queries:
                began = time.perf_counter()
                search(state, asked, window=None, query=query)
                terms.append(time.perf_counter() - began)
        span = sources * events_each * 1_000
        windows: list[float] = []
        for _ in range(_WINDOWS):
            at = 1_790_000_000_000 + chance.randrange(span)
            half = chance.choice((0, 1_000, 60_000, 900_000))
            began = time.perf_counter()
            search(state, asked, window=Window(at, half), query=None)
            windows.append(time.perf_counter() - began)
        began = time.perf_counter()
        for source in asked:
            with open_source(snapshot_of(source.enrollment)):
                pass
        recheck = (time.perf_counter() - began) / len(asked)
    return {
        "opening": opening,
        "terms p50": percentile(terms, 0.5),
        "terms p99": percentile(terms, 0.99),
        "windows p50": percentile(windows, 0.5),
        "windows p99": percentile(windows, 0.99),
        "recheck": recheck,
    }


def figures(*, quick: bool) -> list[Figure]:
    """The figures of the issue: p99 against a bare interpreter, growth from 100,000 to 1,000,000, the re-check."""
    small = measure(25, 400 if quick else 4_000)
    large = measure(25 if quick else 250, 4_000)
    bare = sorted(run([sys.executable, "-I", "-S", "-c", "pass"]).wall for _ in range(21))[10]
    worst = max(large["terms p99"], large["windows p99"])
    typical_large = large["terms p50"] + large["windows p50"]
    typical_small = small["terms p50"] + small["windows p50"]
    note = ", ".join(f"{name} {1000 * value:.2f} ms" for name, value in large.items())
    return [
        Figure(
            "search: worst p99 / bare interpreter",
            worst / bare,
            "x",
            0.5,
            f"bare {1000 * bare:.1f} ms; {note}",
        ),
        Figure("search: cost at ten times the events", typical_large / typical_small, "x", 2.0),
        Figure("re-check of an unchanged source", 1000 * large["recheck"], "ms", 1.0),
    ]
