"""What is told to the simulator: a life from its beginning, what is promised after each step, and who judges a crash.

A story is told once, with every call written down. Then each state that a crash could have left is judged by the
production code: the old state, the new one, one repair, or a refusal with its reason; never less than was promised,
and the life goes on from there.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sidecars.encoding import to_base64
from sidecars.erased import stored_hash
from sidecars.merkle import root_of
from tests.erasure.erased_logs import KEY, PLAN
from tests.faults.calls import Call
from tests.faults.disk import History, Tree, read_history
from tests.faults.interposer import mark, recording
from tests.simulators.hosts import CodexRollout
from tests.simulators.worlds import (
    SEGMENT_BYTES,
    World,
    checkpoint_of,
    consent,
    contents,
    empty_world,
    leaves_of,
    prompt_event,
    refusal_of,
    rollout_of,
    verdict_of,
    write_transcript,
)
from timeline import service
from timeline.epochs import change_log_key
from timeline.erasing import close_over, erase
from timeline.state import open_for_writing

BEGINNING = frozenset(("state-missing", "init-interrupted"))
"""The only refusals that a crash may lead to, and only before the first step was done: ``init`` goes on from there."""


CHANGES = frozenset(("rotate the log key", "give the log key up"))
"""Steps that destroy a private key."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When the crash came: the step that was last promised (``""`` for none), and what others could see by then."""

    promised: str
    seen: Tree


@dataclass(frozen=True, slots=True)
class Told:
    """A story that was told: its calls, and what they did to the disk."""

    calls: tuple[Call, ...]
    history: History


class Story(Protocol):
    """One life."""

    name: str

    def tell(self) -> Told:
        """Live it once and write it down."""

    def check_remains(self, moment: Moment, contents: Iterable[bytes]) -> None:
        """Nothing that was destroyed by then is among the bytes that lie on the disk, with a name or without.

        Raises:
            AssertionError: something is.
        """

    def judge(self, folder: Path, moment: Moment) -> str:
        """Open what a crash left in ``folder`` and go on from there; the word for what was found.

        Raises:
            AssertionError: something promised was lost, two histories were accepted, or nothing works any more.
        """


def is_kept(path: str) -> bool:
    """Whether a path is on the disk that is examined: SQLite's shared memory means nothing after a crash."""
    return not path.endswith("-shm")


@contextmanager
def told(folder: Path) -> Iterator[list[Told]]:
    """Write down what the block does below ``folder``, which is new; the one item is there when it has ended."""
    found: list[Told] = []
    folder.mkdir(mode=0o700, parents=True)
    with recording(folder) as record:
        yield found
    inode = folder.stat().st_ino
    found.append(Told(tuple(record.calls), read_history(record.calls, inode, is_kept=is_kept)))


def place(tree: Tree, folder: Path) -> None:
    """Put a tree where the production code finds it, with private modes."""
    folder.mkdir(mode=0o700, parents=True)
    for path, content in tree.items():
        if content is None:
            (folder / path).mkdir(mode=0o700)
        else:
            descriptor = os.open(folder / path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)


# -- the life of a timeline ------------------------------------------------------------------------------------


@dataclass(slots=True)
class TimelineStory:
    """A timeline from ``init`` to the revocation of its one source, of which nothing is left in the end."""

    folder: Path
    name: str = "timeline"
    rollout: CodexRollout = field(init=False)
    path: Path = field(init=False)
    leaves: list[tuple[int, bytes, bytes]] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    keys: dict[str, bytes] = field(default_factory=dict)
    receipt: str = ""

    def __post_init__(self) -> None:
        """Write the transcript: it is the host's, and no part of what crashes."""
        host = empty_world(self.folder / "none", self.folder / "home")
        self.rollout = rollout_of(host, runs=4, filler_bytes=40_000)
        self.path = write_transcript(host, self.rollout)

    def steps(self, world: World) -> Mapping[str, Callable[[], object]]:
        """The commands, in order."""

        def prompt() -> None:
            self.receipt = receive(world, self.rollout, self.path, "turn-1")

        def index(operations: int | None) -> object:
            return service.index(world.session, world.root, max_bytes=SEGMENT_BYTES, operations=operations)

        return {
            "init": lambda: service.init_state(world.session, owner_presence="any", simulated_host=True),
            "prompt": prompt,
            "enroll": lambda: service.enroll(world.session, world.root, self.receipt, confirmed=True),
            "index a segment": lambda: index(1),
            "rotate the log key": lambda: change_log_key(world.session, "rotation"),
            "index the rest": lambda: index(None),
            "give the log key up": lambda: change_log_key(world.session, "compromised"),
            "revoke": lambda: service.revoke(world.session, enrollment_of(world)),
            "erase": lambda: erase_sessions(world),
        }

    def tell(self) -> Told:
        """Live it once and write it down."""
        world = World(self.folder / "told", self.folder / "home")
        with told(world.folder) as found:
            for name, step in self.steps(world).items():
                key = world.locations.keys / "log.key"
                self.keys[name] = key.read_bytes().split(b"\n")[1] if key.exists() else b""
                step()
                self.sizes[name], _ = checkpoint_of(world.locations.anchor)
                mark(name)
        self.leaves = leaves_of(world)
        assert verdict_of(world, deep=True) == ("ok", frozenset())
        return found[0]

    def judge(self, folder: Path, moment: Moment) -> str:
        """Nothing promised and no head that was seen is lost; what stands goes on."""
        world = World(folder, self.folder / "home")
        if moment.promised == "erase":
            thread = self.rollout.thread_id.encode()
            left = [
                path.name
                for path in world.folder.rglob("*")
                if path.is_file() and thread in path.read_bytes()
            ]
            assert left == [], "said to be erased and still there"
        size_min = max([self.sizes.get(moment.promised, 0), *seen_sizes(moment.seen)])
        verdict, reasons = verdict_of(world, deep=True)
        if verdict == "refused":
            assert size_min == 0, f"refused after a promise: {sorted(reasons)}"
            assert reasons <= BEGINNING, f"refused: {sorted(reasons)}"
            assert refusal_of(self.steps(world)["init"]) is None
            size = 0
        else:
            if size_min == 0:  # the first batch may be there and not finished
                assert refusal_of(self.steps(world)["init"]) in {None, "state-exists"}
            size = self._believed(world)
            assert size >= size_min, f"rollback: {size} accepted, {size_min} promised or seen"
        self._assert_kept(world, moment)
        go_on(world, self.rollout, self.path)
        assert verdict_of(world, deep=True) == ("ok", frozenset())
        if verdict == "refused":
            return f"closed: {', '.join(sorted(reasons))}"
        if verdict == "repairable":
            return "repaired"
        return "old" if size <= self.sizes.get(moment.promised, 0) else "new"

    def _believed(self, world: World) -> int:
        """The accepted size, whose root and leaves are those of the one history."""
        with open_for_writing(world.locations, world.session.ports) as state:
            size, root = state.belief.size, to_base64(state.belief.root.raw)
        known = self.leaves[:size]
        assert hashes_of(leaves_of(world)) == hashes_of(known), "leaves that were never written"
        assert root == root_text(known), "a second root of one size"
        assert checkpoint_of(world.locations.head) == checkpoint_of(world.locations.anchor) == (size, root)
        return size

    def check_remains(self, moment: Moment, contents: Iterable[bytes]) -> None:
        """The private key before a change lies nowhere once it was promised: a later thief signs nothing old."""
        names = list(self.keys)
        done = names[: names.index(moment.promised) + 1] if moment.promised else []
        keys = {name: self.keys[name] for name in done if name in CHANGES}
        held = [name for content in contents for name, key in keys.items() if key in content]
        assert held == [], f"private keys are left of before: {held}"

    def _assert_kept(self, world: World, moment: Moment) -> None:
        """What is no leaf was promised too: the receipt that was issued, the files that are gone."""
        if moment.promised == "prompt" and not service.list_sources(world.session, world.root):
            pending = [receipt.id for receipt in service.list_receipts(world.session, world.root)]
            spent = self.sizes["prompt"] < self._believed(world)
            assert spent or self.receipt in pending or _spending(moment), "a receipt was lost"
        if moment.promised in {"revoke", "erase"}:
            assert contents(world.locations.sidecars) == {}, "a removed file came back"


def _spending(moment: Moment) -> bool:
    """Whether the enrollment that spends the receipt had begun: it is spent before its leaf is written."""
    return "state/state.db-wal" in moment.seen


def root_text(leaves: list[tuple[int, bytes, bytes]]) -> str:
    """The root of leaves, as a checkpoint spells it."""
    return to_base64(root_of(hashes_of(leaves)))


def hashes_of(leaves: list[tuple[int, bytes, bytes]]) -> list[bytes]:
    """The hash of each leaf, erased or not."""
    return [stored_hash(salt, envelope) for _, salt, envelope in leaves]


def erase_sessions(world: World) -> None:
    """Erase every session that the log knows."""
    with world.session.writing() as state:
        leaves = close_over(state, [source.index for source in state.view.sources])
        erase(state, plan=PLAN, leaves=leaves, suppressed=(), key=KEY)


def seen_sizes(tree: Tree) -> list[int]:
    """The sizes of the heads that others could read."""
    found = (tree.get(path) for path in ("state/head", "trust/anchor"))
    return [int(content.split(b"\n")[1]) for content in found if content]


def receive(world: World, rollout: CodexRollout, path: Path, turn: str) -> str:
    """Prompt in the session; the receipt."""
    event = prompt_event(world, rollout.thread_id, str(path), turn_id=turn)
    return service.receive_prompt(world.session, "codex", event).id


def enrollment_of(world: World) -> str:
    """The one enrollment in force."""
    (found,) = [
        status.source.enrollment.enrollment_id
        for status in service.list_sources(world.session, world.root)
        if status.state != "revoked"
    ]
    return found


def go_on(world: World, rollout: CodexRollout, path: Path) -> None:
    """Add one more batch: the next that this life would have."""
    before = len(leaves_of(world))
    active = [s for s in service.list_sources(world.session, world.root) if s.state != "revoked"]
    if not active:
        consent(world, rollout, path, turn="turn-2")
    else:
        for result in service.index(world.session, world.root, max_bytes=SEGMENT_BYTES, operations=1):
            if isinstance(result, tuple):
                raise result[1]
        if len(leaves_of(world)) == before:
            service.revoke(world.session, enrollment_of(world))
    assert len(leaves_of(world)) > before, "nothing can be added"
