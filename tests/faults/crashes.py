"""Every crash of a story: after each change, each bounded choice of what had arrived, judged by the production code."""

import random
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.disk import Choice, Disk, Mark, choices
from tests.faults.stories import Moment, Story, Told, place

FAILURES_MAX = 20
"""Failures that are kept; one broken promise shows in many states."""


@dataclass(slots=True)
class Findings:
    """What a run of crashes found. ``crash_points`` are moments, ``states`` different disks that were judged."""

    crash_points: int = 0
    states: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    failed: int = 0


def explore(
    story: Story,
    told: Told,
    folder: Path,
    *,
    samples: int,
    bound: int | None,
    failures_max: int | None = None,
    seed: int = 1,
) -> Findings:
    """Judge the crashes of a story.

    ``samples`` choices by chance are added to the systematic ones of each moment; of all of them at most ``bound``
    are taken, none arrived and all arrived always. Equal disks under equal promises are judged once. After
    ``failures_max`` failures enough is known.
    """
    found, chance = Findings(), random.Random(seed)
    known: set[tuple[str, int]] = set()
    for number, (moment, disk, name) in enumerate(moments(told)):
        found.crash_points += 1
        for choice in bounded(choices(disk.pending, chance, samples=samples), bound, chance):
            tree = disk.after(choice)
            fingerprint = (moment.promised, hash(frozenset(tree.items())))
            if fingerprint in known:
                continue
            if found.failed == failures_max:
                return found
            known.add(fingerprint)
            found.states += 1
            where = folder / f"{number}-{found.states}"
            place(tree, where)
            try:
                found.outcomes[story.judge(where, moment)] += 1
            except Exception as error:  # noqa: BLE001 - whatever escapes is what is looked for
                found.failed += 1
                if len(found.failures) < FAILURES_MAX:
                    text = f"{type(error).__name__}: {error}"
                    found.failures.append(
                        f"step {number} {name}, promised {moment.promised!r}, {choice.name}: {text}"
                    )
            shutil.rmtree(where)
    return found


def moments(told: Told) -> Iterator[tuple[Moment, Disk, str]]:
    """The disk after each step of a story, with what was promised and what could be seen by then."""
    disk, promised = Disk(told.history.folders), ""
    for step in told.history.steps:
        disk.take(step)
        if isinstance(step, Mark):
            promised = step.text
        yield Moment(promised, disk.live()), disk, type(step).__name__


def bounded(found: Iterator[Choice], bound: int | None, chance: random.Random) -> list[Choice]:
    """At most ``bound`` choices, the first two (nothing and everything) always among them."""
    every = list(found)
    if bound is None or len(every) <= bound:
        return every
    return [*every[:2], *chance.sample(every[2:], max(bound - 2, 0))]
