"""The N-th system call fails, N from 1 until none is met: Python's calls and SQLite's alike, in each way of failing."""

import errno
import itertools
import random
import shutil
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from tests.faults.actions import Action
from tests.faults.calls import CHANGING, Call, Kind
from tests.faults.crashes import FAILURES_MAX
from tests.faults.interposer import Mode, Plan, recording

EVERY: Final = frozenset(Kind) - {Kind.MARK}
DISK: Final = EVERY - {Kind.LOCK}
"""What a disk refuses that fails for good; locks are the system's own, and SQLite tries again for long."""
GROWING: Final = frozenset((Kind.CREATE, Kind.WRITE, Kind.TRUNCATE, Kind.SYNC, Kind.MKDIR, Kind.RENAME))
"""What a full disk refuses; a sync too, where room is found only then."""


class Way(NamedTuple):
    """A way of failing: what becomes of the call, for which kinds of calls, and whether it stays so."""

    name: str
    mode: Mode
    error: int
    persistent: bool
    kinds: frozenset[Kind]


WAYS: Final = (
    Way("EIO once", Mode.FAIL, errno.EIO, persistent=False, kinds=EVERY),
    Way("EIO from there on", Mode.FAIL, errno.EIO, persistent=True, kinds=DISK),
    Way("ENOSPC once", Mode.FAIL, errno.ENOSPC, persistent=False, kinds=GROWING),
    Way("ENOSPC from there on", Mode.FAIL, errno.ENOSPC, persistent=True, kinds=GROWING),
    Way("done and EIO once", Mode.LATE, errno.EIO, persistent=False, kinds=CHANGING | {Kind.CLOSE}),
    Way("done and EIO from there on", Mode.LATE, errno.EIO, persistent=True, kinds=CHANGING | {Kind.CLOSE}),
    Way("short once", Mode.SHORT, 0, persistent=False, kinds=frozenset((Kind.READ, Kind.WRITE))),
    Way("short from there on", Mode.SHORT, 0, persistent=True, kinds=frozenset((Kind.READ, Kind.WRITE))),
)


class Point(NamedTuple):
    """A fault point: the ``ordinal``-th call of one kind, counted from 1, about one kind of file in one action."""

    action: str
    kind: str
    role: str
    ordinal: int


@dataclass(slots=True)
class Injected:
    """What a run of faults found."""

    points: set[Point] = field(default_factory=set)
    runs: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    failed: int = 0

    def add(self, other: "Injected") -> None:
        """Take in another run."""
        self.points |= other.points
        self.runs += other.runs
        self.reasons += other.reasons
        self.failures += other.failures[: FAILURES_MAX - len(self.failures)]
        self.failed += other.failed


def points_of(action: str, calls: Sequence[Call]) -> Iterator[Point]:
    """The fault point of each call of an action, in order."""
    counts: Counter[tuple[Kind, str]] = Counter()
    for call in calls:
        counts[call.kind, call.role] += 1
        yield Point(action, call.kind.name.lower(), call.role, counts[call.kind, call.role])


def undisturbed(action: Action, folder: Path) -> list[Call]:
    """The calls of an action that nothing disturbs.

    Raises:
        AssertionError: it fails by itself.
    """
    action.prepare(folder)
    with recording(folder) as record:
        assert action.act(folder) is None
    action.check(folder, None)
    shutil.rmtree(folder)
    return record.calls


def inject_everywhere(action: Action, folder: Path, way: Way) -> Injected:
    """N from 1 until no fault is met."""
    found = Injected()
    for number in itertools.count(1):
        if not inject(action, folder / str(number), way, number, found, finish=True):
            return found
    raise AssertionError


def inject_at(action: Action, folder: Path, chosen: Sequence[tuple[Way, int]]) -> Injected:
    """Some faults; every sixth time the action is brought to its end as well."""
    found = Injected()
    for number, (way, at) in enumerate(chosen):
        inject(action, folder / str(number), way, at, found, finish=number % 6 == 0)
    return found


def inject(action: Action, folder: Path, way: Way, number: int, found: Injected, *, finish: bool) -> bool:
    """One fault: the ``number``-th call of the way's kinds; whether there was such a call."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    action.prepare(folder)
    plan = Plan(way.mode, number, way.error, way.persistent, way.kinds)
    point, reason = None, None
    try:
        with recording(folder, plan) as record:
            reason = action.act(folder)
    except Exception as error:  # noqa: BLE001 - whatever escapes is what is looked for
        reason = f"escaped: {type(error).__name__}: {error} ({site_of(error)})"
    for point_met, call in zip(points_of(action.name, record.calls), record.calls, strict=True):
        if call.injected:
            point = point_met
            break
    if point is not None:
        found.points.add(point)
        found.runs += 1
        found.reasons["done" if reason is None else reason] += 1
    try:
        assert reason is None or not reason.startswith("escaped"), reason
        assert reason is None or point is not None, f"fails by itself: {reason}"
        action.check(folder, reason)
        if finish:
            action.finish(folder)
    except Exception as error:  # noqa: BLE001 - whatever escapes is what is looked for
        found.failed += 1
        if len(found.failures) < FAILURES_MAX:
            found.failures.append(
                f"{way.name}, call {number}, {point}: {reason}: {type(error).__name__}: {error}"
            )
    shutil.rmtree(folder)
    return point is not None


def site_of(error: BaseException) -> str:
    """Where an error was raised: the innermost function of the program."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "/tests/" not in frame.filename and "site-packages" not in frame.filename
    ]
    return " < ".join(f"{Path(frame.filename).name}:{frame.name}" for frame in reversed(frames[-3:]))


def choose(calls: Sequence[Call], chance: random.Random) -> list[tuple[Way, int]]:
    """One call of each kind about each kind of file, each to fail in one way by chance."""
    groups: dict[tuple[Kind, str], list[int]] = {}
    for index, call in enumerate(calls):
        groups.setdefault((call.kind, call.role), []).append(index)
    chosen = []
    for (kind, _), indexes in groups.items():
        ways = [way for way in WAYS if kind in way.kinds]
        way, index = chance.choice(ways), chance.choice(indexes)
        at = sum(call.kind in way.kinds for call in calls[: index + 1])
        chosen.append((way, at))
    return chosen
