"""The world model with a large ledger: what a subject's view costs, what recording does, and what hooks are told.

The reference of the view selects the same rows, rows and leaves of one subject, over a new connection, after the
system was told to forget the file's pages; it verifies nothing. The reference of recording is a commit of a small
leaf in the same log, taken in turn.
"""

import os
import random
import shutil
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

from benchmarks.commit import committing
from benchmarks.corpus import START_MS
from benchmarks.log import digest_text, enrollment_of
from benchmarks.measure import Figure, alternate, percentile, ratio
from benchmarks.worlds import HERE, session_at
from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.leaf import BATCH_SIZE_MAX
from timeline.dialects import HookEvent
from timeline.paths import Locations
from timeline.state import State, open_for_writing
from timeline.telling import format_briefing, read_for_briefing, read_packet
from timeline.world import ledger
from timeline.world.assertion import Evidence, Origin, RouteRefs, Scope, make_entry
from timeline.world.context import world_context
from timeline.world.continuation import CONTINUATION_PREDICATE, CONTINUATION_SCHEMA
from timeline.world.scope import Reader

_ASSERTIONS = 100_000
_QUICK_ASSERTIONS = 10_000
EACH = 10
"""Assertions about one subject."""

_ROUNDS = 400
_QUICK_ROUNDS = 100
_COMMITS = 300
_QUICK_COMMITS = 60
_VIEW_GATE = 25.0
_RECORD_GATE = 2.0
TENANT, USER, PROJECT = "local", "bench", "/w/project"
READER = Reader(TENANT, USER, PROJECT)

_TASK = "task:bench"
_ROUTE = RouteRefs("portal-ref:" + "1" * 32, "thread-ref:" + "1" * 32)
_REMINDERS = ("what the hook of a session that begins is told", "what the hook of a prompt is told")

_SELECT = """SELECT a.*, l.salt, l.envelope FROM assertion a JOIN leaf l ON l.idx = a.leaf
WHERE a.subject = ? AND a.tenant = ? AND (a.project IS NULL OR a.project = ?)"""


def figures(*, quick: bool) -> list[Figure]:
    """The 99th percentile of a subject's view against the selection, and the median of recording against a commit."""
    assertions = _QUICK_ASSERTIONS if quick else _ASSERTIONS
    made = big_ledger(assertions)
    folder = HERE / "world-run"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(made, folder)
    session = session_at(folder)
    try:
        with open_for_writing(session.locations, session.ports) as state:
            began = time.perf_counter()
            _view(state, 0)
            accounting = time.perf_counter() - began
            viewed = _views(state, assertions, _QUICK_ROUNDS if quick else _ROUNDS)
            recorded, committed = _recordings(state, _QUICK_COMMITS if quick else _COMMITS)
            reminders = _reminders(state, _QUICK_COMMITS if quick else _COMMITS)
    finally:
        shutil.rmtree(folder)
    ours, theirs = viewed
    p99, median = percentile(ours, 0.99), statistics.median(theirs)
    detail = (
        f"{1000 * p99:.2f} ms, median {1000 * statistics.median(ours):.2f}, against {1000 * median:.2f} ms"
    )
    name = f"world_context of one subject of {assertions:,} assertions"
    return [
        Figure(f"{name}: p99 / cold selection", p99 / median, "x", _VIEW_GATE, detail),
        Figure(f"{name}: the first after opening", accounting, "s", None, "the whole table is compared"),
        Figure(
            "recording an assertion / commit of a leaf",
            ratio(recorded, committed),
            "x",
            _RECORD_GATE,
            f"{1000 * statistics.median(recorded):.2f} against {1000 * statistics.median(committed):.2f} ms",
        ),
        *(_reminder(name, taken) for name, taken in zip(_REMINDERS, reminders, strict=True)),
    ]


def _reminder(name: str, taken: list[float]) -> Figure:
    return Figure(
        f"{name}, p99", percentile(taken, 0.99), "s", None, f"median {1000 * statistics.median(taken):.1f} ms"
    )


def big_ledger(assertions: int) -> Path:
    """The folder of a timeline with so many assertions; made once, through the ledger."""
    folder = HERE / f"world-{assertions}"
    done = folder / "done"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        session = session_at(folder)
        with open_for_writing(session.locations, session.ports) as state:
            state.commit([enrollment_of(0)])
            entries = (_entry(number) for number in range(assertions))
            while batch := list(islice(entries, BATCH_SIZE_MAX)):
                ledger.record(state, batch)
        done.touch()
    return folder


def _entry(number: int, *, subject: str | None = None) -> AssertionEntry:
    """One of the ten of a subject: measurements of two kinds, of which two are replaced, and a suggestion."""
    about, place = divmod(number, EACH)
    is_suggestion = place == EACH - 1
    return make_entry(
        id=f"assertion:bench-{number}",
        recorder="model" if is_suggestion else "capture",
        subject=subject or f"suite:{about}",
        predicate="test.passed" if place % 2 else "test.failed",
        value={"runner": "pytest", "count": number % 97, "label": f"run {number}"},
        evidence=Evidence(
            "model-suggestion" if is_suggestion else "objective-measurement",
            f"event:{number}",
            Digest.parse(digest_text(number)),
            START_MS + number,
        ),
        scope=Scope(TENANT, USER, PROJECT, "private" if place % 3 else "shared"),
        supersedes=(f"assertion:bench-{number - 2}",) if place in {4, 6} else (),
    )


def _views(state: State, assertions: int, rounds: int) -> list[list[float]]:
    """Both take the same subjects, another one each time; each finds the file's pages gone."""
    chance = random.Random(7)
    subjects = [chance.randrange(assertions // EACH) for _ in range(rounds)]
    return alternate(rounds, _viewing(state, iter(subjects)), _selecting(state.locations, iter(subjects)))


def _view(state: State, subject: int) -> None:
    found = ledger.read_subject(state, f"suite:{subject}", tenant=TENANT, project=PROJECT)
    context = world_context(found, READER, START_MS + _ASSERTIONS)
    if len(found) != EACH or not context.proposals:
        raise RuntimeError("a subject has the assertions that it was made with")


def _viewing(state: State, subjects: Iterator[int]) -> Callable[[], float]:
    def take() -> float:
        subject = next(subjects)
        forget_pages(state.locations)
        began = time.perf_counter()
        _view(state, subject)
        return time.perf_counter() - began

    return take


def _selecting(locations: Locations, subjects: Iterator[int]) -> Callable[[], float]:
    def take() -> float:
        values = (f"suite:{next(subjects)}", TENANT, PROJECT)
        forget_pages(locations)
        began = time.perf_counter()
        with closing(sqlite3.connect(locations.database)) as database:
            rows = database.execute(_SELECT, values).fetchall()
        taken = time.perf_counter() - began
        if len(rows) != EACH:
            raise RuntimeError("the selection is of the same rows")
        return taken

    return take


def forget_pages(locations: Locations) -> None:
    """Tell the system that nobody needs the database's pages; where it cannot be told, they stay."""
    if not hasattr(os, "posix_fadvise"):
        return
    for path in (locations.database, locations.database.with_name(locations.database.name + "-wal")):
        if path.exists():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def _recordings(state: State, rounds: int) -> list[list[float]]:
    numbers = iter(range(_ASSERTIONS, _ASSERTIONS + rounds))

    def record() -> float:
        entry = _entry(EACH * next(numbers), subject="suite:new")
        began = time.perf_counter()
        ledger.record(state, [entry])
        return time.perf_counter() - began

    return alternate(rounds, record, committing(state))


def _reminders(state: State, rounds: int) -> list[list[float]]:
    """A session whose task has one continuation is briefed, and reminded at a prompt."""
    ledger.record(state, [_continuation()])
    reader = Reader(TENANT, USER, PROJECT, task=_TASK, route=_ROUTE)
    event = HookEvent(host="codex", event="SessionStart", session="bench", cwd=PROJECT)

    def brief() -> float:
        began = time.perf_counter()
        found = format_briefing(event, None, read_for_briefing(state, reader))
        if found is None:
            raise RuntimeError("there is something to tell")
        return time.perf_counter() - began

    def remind() -> float:
        began = time.perf_counter()
        if read_packet(state, reader) is None:
            raise RuntimeError("the task has a continuation")
        return time.perf_counter() - began

    return alternate(rounds, brief, remind)


def _continuation() -> AssertionEntry:
    return make_entry(
        id="assertion:bench-task",
        recorder="capture",
        subject=_TASK,
        predicate=CONTINUATION_PREDICATE,
        value={
            "schema": CONTINUATION_SCHEMA,
            "taskId": _TASK,
            "status": "active",
            "objective": "measure",
            "lastVerifiedStep": None,
            "openQuestions": [],
            "nextStep": {"id": "step:next", "summary": "go on"},
        },
        evidence=Evidence("objective-measurement", "event:task", Digest.parse(digest_text(0)), START_MS),
        scope=Scope(TENANT, USER, PROJECT, route=_ROUTE),
        knowledge="task-state",
        origin=Origin("session-ref:" + "a" * 32, "event:task"),
    )
