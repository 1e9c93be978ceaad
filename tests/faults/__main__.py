"""Crashes and faults: ``python -m tests.faults [crashes] [errors] [races] [kills] [controls] [count]``.

Without a part named, all of them. ``--sample`` takes the bounded number that the suite has time for; ``--json``
prints one object for the suite. The count of fault points is compared with ``tests/faults/floor.json``; ``--raise``
writes a count that has grown there. The exit code is 1 where a fault loop did not end clean.
"""

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.faults import interposer

FLOOR: Final = Path(__file__).resolve().parent / "floor.json"
"""How many fault points each action and story had when they were counted last."""

LEAST_SHARE: Final = 0.9
"""Of these, so much must be left: a call that the program saves is no loss, a file that goes past the interposer is."""

Found = dict[str, Any]


def crashes(folder: Path, *, sample: bool) -> Found:
    """Every crash of a timeline's life and of a witness's."""
    from tests.faults.crashes import explore
    from tests.faults.stories import Story, TimelineStory
    from tests.faults.witness_story import WitnessStory

    found: Found = {"failures": []}
    stories: tuple[Story, ...] = (TimelineStory(folder / "timeline"), WitnessStory(folder / "witness"))
    for story in stories:
        result = explore(
            story, story.tell(), folder / "states", samples=0 if sample else 8, bound=3 if sample else None
        )
        found[story.name] = {
            "crash points": result.crash_points,
            "states": result.states,
            "outcomes": dict(result.outcomes),
            "failed": result.failed,
        }
        found["failures"] += result.failures
    return found


def errors(folder: Path, *, sample: bool) -> Found:
    """Each call of each action fails, in each way; of a sample each kind about each kind of file, in one way."""
    from tests.faults.injection import WAYS, Injected, choose, inject_at, inject_everywhere, points_of

    found, total, missed = {}, Injected(), set()
    for action, calls in _undisturbed(folder):
        if sample:
            result = inject_at(action, folder / "runs", choose(calls, random.Random(action.name)))
        else:
            result = Injected()
            for way in WAYS:
                result.add(inject_everywhere(action, folder / "runs", way))
            missed |= set(points_of(action.name, calls)) - result.points
        total.add(result)
        found[action.name] = {
            "points": len(result.points),
            "runs": result.runs,
            "reasons": dict(result.reasons),
            "failed": result.failed,
        }
    found["total"] = {
        "points": len(total.points),
        "runs": total.runs,
        "never failed": sorted(map(str, missed)),
    }
    found["failures"] = total.failures
    return found


def races(folder: Path, *, sample: bool) -> Found:
    """One process is stopped at each of its steps while others work."""
    from tests.faults.races import quick_stops, race_timelines, race_witnesses

    index = cosign = None
    if sample:
        calls = {action.name: calls for action, calls in _undisturbed(folder / "actions")}
        index, cosign = quick_stops(calls["index"], 12), quick_stops(calls["cosign"], 8)
    return _raced(
        {
            "writers": race_timelines(folder / "locked", locked=True, stops=index),
            "writers whom no lock keeps apart": race_timelines(folder / "free", locked=False, stops=index),
            "submissions": race_witnesses(folder / "witness", stops=cosign),
        }
    )


def kills(folder: Path, *, sample: bool) -> Found:
    """Several processes are killed at calls drawn by lot."""
    from tests.faults.races import kill_timelines, kill_witnesses

    return _raced(
        {
            "writers and readers": kill_timelines(folder / "timeline", 4 if sample else 60),
            "submissions": kill_witnesses(folder / "witness", 15 if sample else 200),
        }
    )


def _raced(results: Mapping[str, Any]) -> Found:
    found: Found = {
        name: {"stops": raced.stops, "outcomes": dict(raced.outcomes), "failed": raced.failed}
        for name, raced in results.items()
    }
    return {**found, "failures": [line for raced in results.values() for line in raced.failures]}


def controls(folder: Path, *, sample: bool) -> Found:
    """Each weakened program is found out; one that is not is a failure of the simulator."""
    from tests.faults.controls import CONTROLS
    from tests.faults.crashes import explore
    from tests.faults.stories import TimelineStory
    from tests.faults.witness_story import WitnessStory

    found: Found = {"failures": []}
    for number, (name, (life, weakening)) in enumerate(CONTROLS.items()):
        where = folder / str(number)
        story = TimelineStory(where) if life == "timeline" else WitnessStory(where)
        with weakening():
            told = story.tell()
        result = explore(
            story,
            told,
            where / "states",
            samples=0,
            bound=2 if sample else None,
            failures_max=1,
        )
        found[name] = {"states": result.states, "found out by": result.failures}
        if not result.failed:
            found["failures"].append(f"not noticed: {name}")
    return found


def count(folder: Path, *, sample: bool) -> Found:
    """How many fault points there are: calls of each action, and moments of each story at which a crash is tried."""
    from tests.faults.injection import points_of
    from tests.faults.stories import TimelineStory
    from tests.faults.witness_story import WitnessStory

    points = {
        f"calls of {action.name}": len(set(points_of(action.name, calls)))
        for action, calls in _undisturbed(folder / "actions")
    }
    for story in (TimelineStory(folder / "timeline"), WitnessStory(folder / "witness")):
        points[f"crashes of a {story.name}"] = len(story.tell().history.steps)
    points["in all"] = sum(points.values())
    return {"points": points, "failures": below_floor(points)}


def below_floor(points: Mapping[str, int]) -> list[str]:
    """Which counts have fallen by more than a tenth; one that nobody counts any more has fallen too."""
    floor = json.loads(FLOOR.read_text(encoding="utf-8"))
    return [
        f"{name}: {points.get(name, 0)} fault points, {least} before"
        for name, least in floor.items()
        if points.get(name, 0) < LEAST_SHARE * least
    ]


def raise_floor(points: Mapping[str, int]) -> None:
    """Write down what has grown; nothing is ever lowered here."""
    floor = json.loads(FLOOR.read_text(encoding="utf-8")) if FLOOR.exists() else {}
    raised = {name: max(number, floor.get(name, 0)) for name, number in points.items()}
    FLOOR.write_text(json.dumps(raised, indent=2) + "\n", encoding="utf-8")


def _undisturbed(folder: Path) -> Any:
    from tests.faults.actions import timeline_actions, witness_actions
    from tests.faults.injection import undisturbed

    for actions in (timeline_actions(folder / "timeline"), witness_actions(folder / "witness")):
        for action in actions:
            yield action, undisturbed(action, folder / "undisturbed")


PARTS: Final[Mapping[str, Callable[..., Found]]] = {
    "count": count,
    "crashes": crashes,
    "errors": errors,
    "races": races,
    "kills": kills,
    "controls": controls,
}


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; 1 where something did not end clean, 2 where it cannot be run."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--sample", action="store_true", help="a bounded number, as in the suite")
    parser.add_argument("--json", action="store_true", help="one object, for programs")
    parser.add_argument(
        "--raise", dest="raise_floor", action="store_true", help="write counts that have grown"
    )
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    reason = interposer.missing()
    if reason is not None:
        sys.stderr.write(f"faults: error: the system has no {reason}\n")
        return 2
    if not interposer.is_loaded():
        environment = interposer.preloaded_environment(os.environ)
        command = [sys.executable, "-m", "tests.faults", *arguments]
        os.execve(sys.executable, command, environment)  # noqa: S606 - this program once more, preloaded
    found = _run(chosen.parts or list(PARTS), sample=chosen.sample)
    if chosen.raise_floor and "count" in found:
        raise_floor(found["count"]["points"])
    sys.stdout.write(json.dumps(found, indent=None if chosen.json else 2) + "\n")
    return int(any(part["failures"] for part in found.values()))


def _memory() -> str | None:
    """A folder in memory, where there is one: many thousand small disks are made, and none has to last."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None


def _run(parts: Sequence[str], *, sample: bool) -> dict[str, Found]:
    import timeline.store
    import timeline.witness.store

    interposer.skip_syncs()
    for module in (timeline.store, timeline.witness.store):
        # Nobody gives a database back while another is stopped: waiting for it only takes time.
        module._PRAGMAS = ("PRAGMA busy_timeout = 0", *module._PRAGMAS[1:])  # type: ignore[attr-defined, misc]  # a constant
    found = {}
    for name in parts:
        with tempfile.TemporaryDirectory(prefix="faults-", dir=_memory()) as folder:
            found[name] = PARTS[name](Path(folder).resolve(), sample=sample)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
