"""Several processes at once: one is stopped at each of its system calls while others work, or any is killed there.

Nothing sleeps: the stopped one waits for a byte, and a kill comes at a call that is drawn by lot.
"""

import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from unittest import mock

import msgspec

import timeline.lock
from tests.faults.actions import Beginnings, make_beginnings
from tests.faults.calls import CHANGING, Call, Kind
from tests.faults.crashes import FAILURES_MAX
from tests.faults.injection import site_of
from tests.faults.interposer import Mode, Plan, recording
from tests.faults.stories import enrollment_of, receive, root_text
from tests.faults.witness_story import FORK, TRUNK, row_of
from tests.simulators.witnesses import in_child, make_folder, wait_for, working
from tests.simulators.worlds import (
    SEGMENT_BYTES,
    World,
    checkpoint_of,
    copy_folders,
    leaves_of,
    refusal_of,
    search_once,
    verdict_of,
)
from timeline import service
from timeline.witness.identity import Folder

STEPS: Final = CHANGING | {Kind.LOCK}
"""Calls at which others may find another state."""

AHEAD: Final = frozenset(("anchor-ahead", "head-rollback", "state-rollback"))
"""How a state is refused whose head or anchor a second writer, whom no lock kept out, has overtaken."""


ESCAPED: Final = "escaped: "
"""How a child begins to tell of an error that is no refusal."""


@dataclass(slots=True)
class Raced:
    """What a run of races found; ``stops`` are calls at which one process was stopped or killed."""

    stops: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    failed: int = 0

    def fail(self, where: str, error: Exception) -> None:
        """Keep a failure."""
        self.failed += 1
        if len(self.failures) < FAILURES_MAX:
            self.failures.append(f"{where}: {type(error).__name__}: {error}")


@contextmanager
def stopped(root: Path, action: Callable[[], bytes], at: int) -> Iterator[list[bytes]]:
    """Run ``action`` in a child that stops before its ``at``-th step; the block runs meanwhile, then the child goes on.

    The list has what it said, once the block has ended; the block does not run where there is no such step.
    """
    told, telling = os.pipe()
    waiting, release = os.pipe()

    def run() -> bytes:
        os.close(told)
        os.close(release)
        with recording(root, Plan(Mode.PAUSE, at, kinds=STEPS, notify=telling, wait=waiting)):
            return action()

    child = in_child(run)
    os.close(telling)
    os.close(waiting)
    said: list[bytes] = []
    try:
        if not os.read(told, 1):  # the child has ended without a stop
            said.append(b"")
        yield said
    finally:
        os.close(release)  # what waits there reads the end
        os.close(told)
        answer, _ = wait_for(*child)
        said.append(answer)


def elsewhere(world: World) -> service.Session:
    """A session that does not meet the first one's lock file, only what guards the state itself."""
    session = world.session
    locations = msgspec.structs.replace(session.locations, runtime=world.folder / "other runtime")
    return service.Session(locations, session.ports, session.environment)


@contextmanager
def without_locks() -> Iterator[None]:
    """Take away both locks of a writer, as on a file system that grants every lock."""

    def granted(*_: object, **__: object) -> AbstractContextManager[None]:
        return nullcontext()

    with mock.patch.multiple(timeline.lock, hold_writer_lock=granted, hold_directory=granted):
        yield


def quick_stops(calls: Sequence[Call], number: int) -> tuple[int, ...]:
    """Some steps of an undisturbed run, evenly spaced, none of them about SQLite's shared memory.

    Who is stopped while it holds a lock there keeps others waiting for as long as SQLite tries again: ten seconds.
    """
    steps = [call for call in calls if call.kind in STEPS]
    fit = [at for at, call in enumerate(steps, 1) if not call.path.endswith("-shm")]
    return tuple(fit[place * len(fit) // number] for place in range(number))


def race_timelines(folder: Path, *, locked: bool, stops: Sequence[int] | None = None) -> Raced:
    """A writer is stopped at each step while a second one commits and a third process reads.

    With locks the second is told that the state is busy until the first has ended. Without them only the conditions
    of transaction and anchor are left: then a refusal of the state is allowed, a second history never is.
    """
    found = Raced()
    made = make_beginnings(folder / "begun")
    for at in stops if stops is not None else range(1, 10_000):
        world = World(folder / str(at), made.home)
        copy_folders(made.folders["index"], world.folder)
        try:
            met = _race_once(world, at, locked=locked, found=found)
        except Exception as error:  # noqa: BLE001 - whatever escapes is what is looked for
            found.fail(f"stopped at {at}", error)
            met = True
        shutil.rmtree(world.folder)
        if not met:
            break
        found.stops += 1
    return found


def _race_once(world: World, at: int, *, locked: bool, found: Raced) -> bool:
    before = leaves_of(world)
    locks = nullcontext if locked else without_locks

    def first() -> bytes:
        with locks():
            return _reason(lambda: _index(world.session, world))

    with stopped(world.folder, first, at) as said:
        if said:
            return False
        with locks():
            second = _reason(lambda: service.revoke(elsewhere(world), enrollment_of(world))).decode()
        seen = [checkpoint_of(path) for path in (world.locations.head, world.locations.anchor)]
        answer = search_once(world).decode()
    first_said, leaves = said[-1].decode(), leaves_of(world)
    assert leaves[: len(before)] == before, "leaves were lost"
    for size, root in seen:
        assert root == root_text(leaves[:size]), "a head that was seen is of another history"
    verdict, reasons = verdict_of(world, deep=True)
    found.outcomes[f"{first_said or 'done'}, {second or 'done'}, {verdict}"] += 1
    if (
        not locked
    ):  # the last to write head or anchor may leave them behind; that is refused, and no second history
        assert verdict != "refused" or reasons <= AHEAD, f"refused: {sorted(reasons)}"
        return True
    assert verdict in {"ok", "repairable"}, f"refused: {sorted(reasons)}"
    readable = {"state-busy", "private-enrollment-unavailable"} if not second else {"state-busy"}
    assert not answer.startswith("refused: ") or answer.removeprefix("refused: ") in readable, answer
    assert not first_said or not second, f"nobody could write: {first_said}, {second}"
    _index_again(world, revoked=not second)
    assert verdict_of(world, deep=True) == ("ok", frozenset())
    return True


def _index_again(world: World, *, revoked: bool) -> None:
    reason = refusal_of(lambda: service.index(world.session, world.root))
    assert reason == ("private-enrollment-unavailable" if revoked else None), f"does not go on: {reason}"


def _word(reason: bytes | None) -> str:
    return (reason or b"").decode() or "done"


def _reason(action: Callable[[], object]) -> bytes:
    return (refusal_of(action) or "").encode()


def _index(session: service.Session, world: World) -> None:
    for result in service.index(session, world.root, max_bytes=SEGMENT_BYTES):
        if isinstance(result, tuple):
            raise result[1]


# -- a witness ---------------------------------------------------------------------------------------------------


def race_witnesses(folder: Path, stops: Sequence[int] | None = None) -> Raced:
    """A submission is stopped at each step while one of another tree comes: never are both answered."""
    found = Raced()
    with working(make_folder(folder / "begun" / "w")) as witness:
        assert witness.add_checkpoint(TRUNK.body(0, 2)).status == 200
    for at in stops if stops is not None else range(1, 10_000):
        place = folder / str(at)
        shutil.copytree(folder / "begun", place)
        try:
            met = _race_witness_once(Folder(place / "w"), at, found)
        except Exception as error:  # noqa: BLE001 - whatever escapes is what is looked for
            found.fail(f"stopped at {at}", error)
            met = True
        shutil.rmtree(place)
        if not met:
            break
        found.stops += 1
    return found


def _race_witness_once(place: Folder, at: int, found: Raced) -> bool:
    second = ""
    with stopped(place.path, lambda: _submit(place, TRUNK.body(2, 5)), at) as said:
        met = not said
        if met:
            second = _submit(place, FORK.body(2, 6)).decode()
    if not met:
        return False
    first = said[-1].decode()
    assert not (first == second == "200"), "two trees were signed"
    row = row_of(place)
    assert row is not None
    assert row.size == (5 if first == "200" else 6 if second == "200" else 2), f"remembers {row.size}"
    found.outcomes[f"{first}, {second}"] += 1
    return True


def _submit(place: Folder, body: bytes) -> bytes:
    statuses: list[int] = []

    def submit() -> None:
        with working(place) as witness:
            statuses.append(witness.add_checkpoint(body).status)

    reason = refusal_of(submit)
    return (reason or str(statuses[0])).encode()


# -- killed -------------------------------------------------------------------------------------------------------


def kill_timelines(folder: Path, rounds: int, *, seed: int = 1) -> Raced:
    """Two writers and a reader at work on one timeline, each killed at a call drawn by lot, or living to the end."""
    found, chance = Raced(), random.Random(seed)
    made = make_beginnings(folder / "begun")
    for number in range(rounds):
        world = World(folder / str(number), made.home)
        copy_folders(made.folders["enroll"], world.folder)
        try:
            _kill_round(world, made, chance, found)
        except Exception as error:  # noqa: BLE001 - whatever escapes is what is looked for
            found.fail(f"round {number}", error)
        shutil.rmtree(world.folder)
    return found


def _kill_round(world: World, made: Beginnings, chance: random.Random, found: Raced) -> None:
    """Each acts three times on the same timeline, so that the next one finds what the last kill left."""
    before = leaves_of(world)

    def write() -> bytes:
        refusal_of(lambda: service.enroll(world.session, world.root, made.receipt, confirmed=True))
        refusal_of(lambda: _index(world.session, world))
        return json.dumps(checkpoint_of(world.locations.anchor)).encode()

    def prompt() -> bytes:
        refusal_of(lambda: receive(world, made.rollout, made.path, "turn-2"))
        refusal_of(lambda: _index(elsewhere(world), world))
        return json.dumps(checkpoint_of(world.locations.anchor)).encode()

    def read() -> bytes:
        return search_once(world)[:40]

    for _ in range(3):
        children = [
            in_child(_killed_at(world.folder, action, chance.randrange(1, 500)))
            for action in (write, prompt, read)
        ]
        said = [wait_for(*child) for child in children]
        found.stops += sum(killed for _, killed in said)
        leaves = leaves_of(world)
        assert leaves[: len(before)] == before, "leaves were lost"
        before = leaves
        for text, _ in said:
            assert not text.startswith(ESCAPED.encode()), text.decode()
        for text, killed in said[:2]:
            if not killed:
                size, root = json.loads(text)
                assert root == root_text(leaves[:size]), "an anchor of another history"
        verdict, reasons = verdict_of(world, deep=True)
        assert verdict in {"ok", "repairable"}, f"refused: {sorted(reasons)}"
        found.outcomes[verdict] += 1
    write()
    assert verdict_of(world, deep=True) == ("ok", frozenset())


def kill_witnesses(folder: Path, rounds: int, *, seed: int = 1) -> Raced:
    """Two processes submit two trees to one witness, each killed at a call drawn by lot."""
    found, chance = Raced(), random.Random(seed)
    with working(make_folder(folder / "begun" / "w")) as witness:
        assert witness.add_checkpoint(TRUNK.body(0, 2)).status == 200
    for number in range(rounds):
        place = Folder(folder / str(number) / "w")
        shutil.copytree(folder / "begun", place.path.parent)
        try:
            _kill_witness_round(place, chance, found)
        except Exception as error:  # noqa: BLE001 - whatever escapes is what is looked for
            found.fail(f"round {number}", error)
        shutil.rmtree(place.path.parent)
    return found


def _kill_witness_round(place: Folder, chance: random.Random, found: Raced) -> None:
    def submit(body: bytes) -> Callable[[], bytes]:
        return _killed_at(place.path, lambda: _submit(place, body), chance.randrange(1, 120))

    children = [in_child(submit(TRUNK.body(2, 5))), in_child(submit(FORK.body(2, 6)))]
    said = [wait_for(*child) for child in children]
    found.stops += sum(killed for _, killed in said)
    answers = [text.decode() for text, _ in said]
    assert answers != ["200", "200"], "two trees were signed"
    assert not any(answer.startswith(ESCAPED) for answer in answers), answers
    row = row_of(place)
    assert row is not None
    assert row.size in {2, 5, 6}
    for answer, size in zip(answers, (5, 6), strict=True):
        assert answer != "200" or row.size == size, f"{size} was answered, {row.size} is remembered"
    found.outcomes[f"remembers {row.size}"] += 1


def _killed_at(root: Path, action: Callable[[], bytes], at: int) -> Callable[[], bytes]:
    def run() -> bytes:
        try:
            with recording(root, Plan(Mode.KILL, at)):
                return action()
        except Exception as error:  # noqa: BLE001 - a child's error is told, or nobody learns of it
            return f"{ESCAPED}{type(error).__name__}: {error} ({site_of(error)})".encode()

    return run
