"""Every crash of a story: after each change, each bounded choice of what had arrived, judged by the production code."""

import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tests.faults.disk import Choice, Disk, Mark, choices
from tests.faults.stories import Moment, Story, Told, place

Outcome = TypeVar("Outcome")

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

    def attempt(self, where: str, action: Callable[[], Outcome]) -> Outcome | None:
        """What an action gives, ``None`` where it fails; then the failure is kept."""
        try:
            return action()
        except Exception as error:  # noqa: BLE001 - whatever escapes is what is looked for
            self.failed += 1
            if len(self.failures) < FAILURES_MAX:
                self.failures.append(f"{where}: {type(error).__name__}: {error}")
            return None


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
            left = (*filter(None, tree.values()), *disk.nameless(choice))
            where = f"step {number} {name}, promised {moment.promised!r}, {choice.name}"
            found.attempt(where, lambda left=left, moment=moment: story.check_remains(moment, left))
            fingerprint = (moment.promised, hash(frozenset(tree.items())))
            if fingerprint not in known:
                known.add(fingerprint)
                found.states += 1
                place(tree, folder / str(found.states))
                outcome = found.attempt(
                    where, lambda moment=moment: story.judge(folder / str(found.states), moment)
                )
                found.outcomes.update([outcome] if outcome else [])
                shutil.rmtree(folder / str(found.states))
            if found.failed == failures_max:
                return found
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
