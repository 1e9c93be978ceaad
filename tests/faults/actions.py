"""What is done while calls fail, from where, and what must hold afterwards."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from sidecars.erased import stored_hash
from sidecars.leaf import leaf_hash
from tests.faults.stories import enrollment_of, erase_sessions, go_on, receive
from tests.faults.witness_story import FORK, NAME, TRUNK, row_of
from tests.simulators.growth import follow
from tests.simulators.hosts import CodexRollout
from tests.simulators.witnesses import LOG, ORIGIN, make_folder, working
from tests.simulators.worlds import (
    SEGMENT_BYTES,
    World,
    contents,
    copy_folders,
    empty_world,
    leaves_of,
    refusal_of,
    rollout_of,
    search_once,
    verdict_of,
    write_transcript,
)
from tests.world.ledger.ledgers import entry, record
from tests.world.ledger.old import make_old
from timeline import service
from timeline.clock import SystemEntropy
from timeline.epochs import Reason, change_log_key
from timeline.extending import Due, extend_together
from timeline.witness.identity import Folder, init_witness, open_witness
from timeline.witness.service import know_log


class Action(Protocol):
    """One thing that is done, each time from the same beginning."""

    name: str

    def prepare(self, folder: Path) -> None:
        """Put the beginning into ``folder``, which does not exist."""

    def act(self, folder: Path) -> str | None:
        """Do it; the reason of the refusal, ``None`` where it was done. Nothing but a refusal of ours is caught."""

    def check(self, folder: Path, reason: str | None) -> None:
        """Nothing was lost, and what was said to be done is done.

        Raises:
            AssertionError: not so.
        """

    def finish(self, folder: Path) -> None:
        """Without faults it comes to its end.

        Raises:
            AssertionError: not so.
        """


class Beginnings(NamedTuple):
    """Timelines before each action, made once: the folder of each, with the one home that they share."""

    home: Path
    rollout: CodexRollout
    path: Path
    folders: Mapping[str, Path]
    receipt: str


def make_beginnings(folder: Path) -> Beginnings:
    """Lead one timeline through its life and keep a copy before each action."""
    world = new_world_at(folder / "world", folder / "home")
    rollout = rollout_of(world, runs=3, filler_bytes=30_000)
    path = write_transcript(world, rollout)
    folders: dict[str, Path] = {}

    def keep(name: str) -> None:
        copy_folders(world.folder, folder / "before" / name)
        folders[name] = folder / "before" / name

    keep("prompt")
    receipt = receive(world, rollout, path, "turn-1")
    keep("enroll")
    service.enroll(world.session, world.root, receipt, confirmed=True)
    keep("index")
    service.index(world.session, world.root, max_bytes=SEGMENT_BYTES)
    for name in ("rotate", "give up", "search", "verify", "record", "migrate", "erase", "revoke"):
        keep(name)
    return Beginnings(world.home, rollout, path, folders, receipt)


def make_group_beginning(folder: Path) -> Beginnings:
    """A timeline whose three followed sessions have grown since they were indexed."""
    world = new_world_at(folder / "world", folder / "home")
    growing = [follow(world, first=5_000, seed=seed) for seed in range(3)]
    service.index(world.session, world.root)
    for session in growing:
        session.write(len(session.whole))
    copy_folders(world.folder, folder / "before")
    return Beginnings(world.home, rollout_of(world), growing[0].path, {"group": folder / "before"}, "")


def new_world_at(folder: Path, home: Path) -> World:
    """A timeline after ``init`` with all its four folders."""
    world = empty_world(folder, home)
    folder.mkdir(mode=0o700)
    service.init_state(world.session, owner_presence="any", simulated_host=True)
    return world


# -- actions on a timeline ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class TimelineAction:
    """A command on a timeline. ``grows`` says that it commits, ``again`` brings it to its end."""

    name: str
    beginnings: Beginnings
    command: Callable[[World], object]
    again: Callable[[World], None]
    grows: bool
    leaves: tuple[tuple[int, bytes, bytes], ...] = ()
    answer: bytes = b""

    def __post_init__(self) -> None:
        """See what stands before, and what a search answers there."""
        world = World(self.beginnings.folders[self.name], self.beginnings.home)
        self.leaves = tuple(leaves_of(world))
        self.answer = search_once(world)

    def prepare(self, folder: Path) -> None:
        """Copy the beginning."""
        copy_folders(self.beginnings.folders[self.name], folder)

    def act(self, folder: Path) -> str | None:
        """Run the command."""
        return refusal_of(lambda: self.command(World(folder, self.beginnings.home)))

    def check(self, folder: Path, reason: str | None) -> None:
        """The old leaves stand; the new one does where the command said so; one batch is repaired at most."""
        world = World(folder, self.beginnings.home)
        verdict, reasons = verdict_of(world, deep=True)
        assert verdict in {"ok", "repairable"}, f"refused afterwards: {sorted(reasons)}"
        found = tuple(leaves_of(world))
        assert found[: len(self.leaves)] == self.leaves, "leaves were lost"
        if self.grows:
            assert reason is not None or len(found) > len(self.leaves), "said to be done and not there"
        else:
            assert found == self.leaves
            assert search_once(world) == self.answer

    def finish(self, folder: Path) -> None:
        """Bring it to its end."""
        world = World(folder, self.beginnings.home)
        self.again(world)
        assert verdict_of(world, deep=True) == ("ok", frozenset())


@dataclass(slots=True)
class MigrateAction(TimelineAction):
    """A search of a timeline whose database an older program has made."""

    def prepare(self, folder: Path) -> None:
        """Copy the beginning, and make its database one of version 1."""
        copy_folders(self.beginnings.folders[self.name], folder)
        make_old(World(folder, self.beginnings.home))


@dataclass(slots=True)
class EraseAction(TimelineAction):
    """A session is erased: its leaves keep their hashes, and where that is said to be done, no byte of them is left."""

    def check(self, folder: Path, reason: str | None) -> None:
        """No leaf was lost that the erasure does not name; none that it names is left where it was said to be done."""
        world = World(folder, self.beginnings.home)
        verdict, reasons = verdict_of(world, deep=True)
        assert verdict in {"ok", "repairable"}, f"refused afterwards: {sorted(reasons)}"
        found = leaves_of(world)
        erased = {index for index, salt, _ in found if not salt}
        kept = tuple(row for row in found[: len(self.leaves)] if row[0] not in erased)
        assert kept == tuple(row for row in self.leaves if row[0] not in erased), "leaves were lost"
        hashes = [stored_hash(salt, envelope) for _, salt, envelope in found]
        assert hashes[: len(self.leaves)] == [leaf_hash(salt, envelope) for _, salt, envelope in self.leaves]
        assert not erased or len(found) > len(self.leaves), "erased before it was stated"
        if reason is None:
            self._assert_gone(world)

    def finish(self, folder: Path) -> None:
        """Asked for again, it comes to its end."""
        world = World(folder, self.beginnings.home)
        self.again(world)
        self._assert_gone(world)
        assert verdict_of(world, deep=True) == ("ok", frozenset())
        go_on(world, self.beginnings.rollout, self.beginnings.path)

    def _assert_gone(self, world: World) -> None:
        thread = self.beginnings.rollout.thread_id.encode()
        assert {salt for index, salt, _ in leaves_of(world) if index >= 2 and index < len(self.leaves)} == {
            b""
        }
        holders = [
            path.name for path in world.folder.rglob("*") if path.is_file() and thread in path.read_bytes()
        ]
        assert holders == [], "said to be erased and still there"


@dataclass(slots=True)
class InitAction:
    """The beginning of a timeline: what was made is kept, and the next ``init`` completes it."""

    home: Path
    name: str = "init"

    def prepare(self, folder: Path) -> None:
        """Make an empty folder."""
        folder.mkdir(mode=0o700)

    def act(self, folder: Path) -> str | None:
        """Begin."""
        return refusal_of(lambda: self._init(folder))

    def check(self, folder: Path, reason: str | None) -> None:
        """It is there if it was said to be; where it is not, it may be completed."""
        verdict, reasons = verdict_of(World(folder, self.home), deep=True)
        if reason is None:
            assert verdict == "ok", f"said to be done: {sorted(reasons)}"
        again = refusal_of(lambda: self._init(folder))
        assert again in {None, "state-exists"}, f"cannot be completed: {again}"

    def finish(self, folder: Path) -> None:
        """It is whole."""
        world = World(folder, self.home)
        assert verdict_of(world, deep=True) == ("ok", frozenset())
        assert refusal_of(lambda: self._init(folder)) == "state-exists"

    def _init(self, folder: Path) -> None:
        service.init_state(World(folder, self.home).session, owner_presence="any", simulated_host=True)


@dataclass(slots=True)
class InitAgainAction:
    """``init`` where there is a timeline: it is refused, and changes no key, pin or leaf."""

    beginnings: Beginnings
    name: str = "init again"

    def prepare(self, folder: Path) -> None:
        """Copy a timeline that is in use."""
        copy_folders(self.beginnings.folders["revoke"], folder)

    def act(self, folder: Path) -> str | None:
        """Begin once more; that it is refused as it should be counts as done."""
        world = World(folder, self.beginnings.home)
        reason = refusal_of(lambda: service.init_state(world.session, owner_presence="any"))
        return None if reason == "state-exists" else reason or "a timeline was begun twice"

    def check(self, folder: Path, reason: str | None) -> None:
        """Nothing has changed."""
        assert reason != "a timeline was begun twice"
        begun = self.beginnings.folders["revoke"]
        for name in ("trust", "config"):
            assert _lasting(folder / name) == _lasting(begun / name)
        home = self.beginnings.home
        assert leaves_of(World(folder, home)) == leaves_of(World(begun, home))
        assert verdict_of(World(folder, home), deep=True) == ("ok", frozenset())

    def finish(self, folder: Path) -> None:
        """It goes on as if nothing had been asked."""
        go_on(World(folder, self.beginnings.home), self.beginnings.rollout, self.beginnings.path)


def _lasting(folder: Path) -> dict[str, bytes]:
    return {name: content for name, content in contents(folder).items() if not name.endswith(".tmp")}


def _extend(world: World) -> None:
    listed = service.list_sources(world.session, world.root)
    due = [Due(world.root, status.source.enrollment.enrollment_id, 0) for status in listed]
    for result in extend_together(world.session, due):
        if isinstance(result, Exception):
            raise result


def timeline_actions(folder: Path) -> Iterator[Action]:
    """Every command that the faults are tried on."""
    made = make_beginnings(folder)
    answer = search_once(World(made.folders["search"], made.home))

    def do_index(world: World) -> None:
        for result in service.index(world.session, world.root, max_bytes=SEGMENT_BYTES):
            if isinstance(result, tuple):
                raise result[1]

    def go(world: World) -> None:
        go_on(world, made.rollout, made.path)

    def search(world: World) -> None:
        # `search_once` makes a refusal an answer: told apart by comparing with the undisturbed one.
        found = search_once(world)
        assert found.startswith(b"refused: ") or found == answer, "a wrong answer"

    def verify(world: World) -> None:
        service.verify_timeline(world.session, deep=True)

    def change(reason: Reason) -> Callable[[World], object]:
        return lambda world: change_log_key(world.session, reason)

    def revoke(world: World) -> None:
        service.revoke(world.session, enrollment_of(world))

    def record_two(world: World) -> None:
        record(world, entry("a"), entry("b", evidence_kind="explicit-user-feedback", supersedes=["a"]))

    yield InitAction(made.home)
    yield InitAgainAction(made)
    yield TimelineAction(
        "prompt", made, lambda world: receive(world, made.rollout, made.path, "turn-1"), go, grows=False
    )
    yield TimelineAction(
        "enroll",
        made,
        lambda world: service.enroll(world.session, world.root, made.receipt, confirmed=True),
        go,
        grows=True,
    )
    yield TimelineAction("index", made, do_index, do_index, grows=True)
    yield TimelineAction("group", make_group_beginning(folder / "group"), _extend, _extend, grows=True)
    for name, reason in (("rotate", "rotation"), ("give up", "compromised")):
        yield TimelineAction(name, made, change(reason), go, grows=True)
    yield TimelineAction("search", made, search, go, grows=False)
    yield TimelineAction("verify", made, verify, go, grows=False)
    yield TimelineAction("record", made, record_two, record_two, grows=True)
    yield EraseAction("erase", made, erase_sessions, erase_sessions, grows=True)
    yield MigrateAction("migrate", made, search, go, grows=False)
    yield TimelineAction("revoke", made, revoke, go, grows=True)


# -- actions on a witness ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class WitnessAction:
    """A submission: what was signed is remembered, and nothing beside the log is ever signed."""

    begun: Path
    name: str = "cosign"

    def __post_init__(self) -> None:
        """Make a witness that has signed size 5."""
        with working(make_folder(self.begun / "w")) as witness:
            assert witness.add_checkpoint(TRUNK.body(0, 5)).status == 200

    def prepare(self, folder: Path) -> None:
        """Copy it."""
        shutil.copytree(self.begun, folder)

    def act(self, folder: Path) -> str | None:
        """Submit size 9."""
        answers: list[int] = []

        def submit() -> None:
            with working(Folder(folder / "w")) as witness:
                answers.append(witness.add_checkpoint(TRUNK.body(5, 9)).status)

        reason = refusal_of(submit)
        if reason is None and answers[0] != 200:
            assert answers[0] in {500, 503}, f"answered {answers[0]}"
            return f"status {answers[0]}"
        return reason

    def check(self, folder: Path, reason: str | None) -> None:
        """The old size or the new one, the new one if it was answered."""
        row = row_of(Folder(folder / "w"))
        assert row is not None
        assert row.size in ({5, 9} if reason is not None else {9}), f"remembers {row.size}"
        with working(Folder(folder / "w")) as witness:
            assert witness.add_checkpoint(FORK.body(row.size, row.size)).status == 422

    def finish(self, folder: Path) -> None:
        """It signs on."""
        row = row_of(Folder(folder / "w"))
        assert row is not None
        with working(Folder(folder / "w")) as witness:
            assert witness.add_checkpoint(TRUNK.body(row.size, 10)).status == 200


@dataclass(slots=True)
class WitnessInitAction:
    """A witness that is made and told of a log."""

    name: str = "witness init"

    def prepare(self, folder: Path) -> None:
        """Make an empty folder."""
        folder.mkdir(mode=0o700)

    def act(self, folder: Path) -> str | None:
        """Make it."""
        return refusal_of(lambda: self._make(folder))

    def check(self, folder: Path, reason: str | None) -> None:
        """It is there if it was said to be; never a key without its memory."""
        place = Folder(folder / "w")
        assert not place.key.exists() or place.database.exists()
        if reason is None:
            assert row_of(place) is not None

    def finish(self, folder: Path) -> None:
        """Made again, it is whole."""
        assert refusal_of(lambda: self._make(folder)) in {None, "witness-exists"}
        self._know(folder)
        assert row_of(Folder(folder / "w")) is not None

    def _make(self, folder: Path) -> None:
        init_witness(Folder(folder / "w"), NAME, SystemEntropy())
        self._know(folder)

    def _know(self, folder: Path) -> None:
        opened = open_witness(Folder(folder / "w"))
        try:
            know_log(opened.store, str(LOG.verifier), ORIGIN)
        finally:
            opened.store.close()


def witness_actions(folder: Path) -> Iterator[Action]:
    """What the faults are tried on of a witness."""
    yield WitnessInitAction()
    yield WitnessAction(folder / "begun")
