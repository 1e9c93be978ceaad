"""A timeline with two host sessions in two projects, the questions that are put to it, and older copies of it.

Everything is made by the program's own use cases: ``init``, a prompt, a receipt, a consent, ``index``. A session has
one test run a turn, so one record of it is one event; the questions are those that a model asks: two terms, a time,
and each event by its id.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from tests.simulators.hosts import CodexRollout, pytest_output, stepping_clock
from tests.simulators.worlds import World, consent, new_world
from timeline import service
from timeline.clock import SystemClock
from timeline.index import IndexResult
from timeline.search import Answer, Status, Window
from timeline.terms import parse_query

BEGAN_MS_AGO: Final = 600_000
"""The sessions began ten minutes ago, in milliseconds."""

TERMS: Final = ("pytest", "passed")
WINDOW_MS: Final = 900_000
"""Half-width of the time that is asked for: every event lies in it, in milliseconds."""

FIRST, SECOND = "first", "second"

TRANSCRIPT: Final = "transcript"

PIECES: Final[dict[str, tuple[str, ...]]] = {
    "database": ("state/state.db", "state/state.db-wal", "state/state.db-shm"),
    "sidecars": ("state/sidecars",),
    "head": ("state/head",),
    "anchor": ("trust/anchor",),
    "trust": ("trust",),
    "config": ("config",),
    TRANSCRIPT: (),
}
"""What a timeline keeps on disk, in the pieces that somebody can put back one without the other."""

STATE: Final = ("database", "sidecars", "head")
"""The state folder."""


@dataclass(slots=True)
class HostSession:
    """One session of a simulated Codex. ``source`` is the leaf of its enrollment, ``ref`` the name of its source."""

    world: World
    rollout: CodexRollout
    path: Path
    follow: bool
    runs: int = 0
    ref: str = ""
    source: int = -1

    def work(self) -> None:
        """One turn with one test run; each run has a count of its own."""
        self.rollout.start_turn()
        # Of several lines, so that it is no user message: all records of a session are of one kind then.
        self.rollout.prompt("make the tests pass\nand say so")
        self.rollout.command("pytest -q", pytest_output(11 + self.runs), 0)
        self.rollout.end_turn("done")
        self.runs += 1
        with self.path.open("ab") as file:
            file.write(self.rollout.take())

    def consent(self) -> None:
        """A prompt, its receipt, and the owner's enrollment."""
        self.ref = consent(self.world, self.rollout, self.path, turn=f"turn-{self.runs}", follow=self.follow)
        newest = service.list_sources(self.world.session, self.world.root)[0]
        self.source = newest.source.index

    def index(self) -> None:
        """Index the session; a refusal is raised."""
        (found,) = service.index(self.world.session, self.world.root)
        if not isinstance(found, IndexResult):
            raise found[1]


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of every question: the reasons of refusals, and how many were answered as if nothing were."""

    refusals: frozenset[str]
    served: int
    cards: int
    """Events in the answer by terms."""

    @property
    def is_rejected(self) -> bool:
        """Whether not one question was answered."""
        return not self.served

    def text(self) -> str:
        """What was said, in words."""
        said = ", ".join(sorted(self.refusals))
        return said if self.is_rejected else f"{self.served} served" + (f", {said}" if said else "")


@dataclass(frozen=True, slots=True)
class Copy:
    """An older copy of everything that a timeline keeps, and of the first session's transcript."""

    folder: Path
    transcript: bytes
    times: tuple[int, int]
    """When the transcript was read and modified last, in nanoseconds."""


@dataclass(slots=True)
class Stage:
    """One timeline below ``folder``. ``follow`` says how sessions are enrolled."""

    folder: Path
    follow: bool = True
    later_ms: int = 0
    """How far its clock runs ahead of the real one."""

    world: World = field(init=False)
    sessions: dict[str, HostSession] = field(default_factory=dict)
    events: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the timeline."""
        self.world = new_world(self.folder)
        self._set_clock()

    def _set_clock(self) -> None:
        self.world.clock.at_ms = SystemClock().now_ms() + self.later_ms

    # -- the program's own way in --------------------------------------------------------------------------

    def seed(self, name: str, runs: int) -> None:
        """Begin a session in a project of its own and index ``runs`` test runs, each for itself where it is followed.

        Raises:
            RuntimeError: the events are not found; nothing could be measured then.
        """
        world = self._project(name)
        rollout = CodexRollout(
            clock=stepping_clock(world.clock.at_ms - BEGAN_MS_AGO), seed=len(self.sessions), cwd=world.root
        )
        path = world.home / ".codex" / rollout.relative_path
        path.parent.mkdir(parents=True)
        path.write_bytes(rollout.take())
        session = self.sessions[name] = HostSession(world, rollout, path, self.follow)
        if self.follow:
            session.consent()
            for _ in range(runs):
                session.work()
                session.index()
        else:
            for _ in range(runs):
                session.work()
            session.consent()
            session.index()
        self._learn(name)

    def append(self, name: str) -> None:
        """One more test run; a session that is not followed needs a new consent for it."""
        session = self.sessions[name]
        session.work()
        if not self.follow:
            session.consent()
        session.index()
        self._learn(name)

    def index_again(self, name: str) -> None:
        """Index what the transcript holds and the state has lost."""
        self._set_clock()
        self.sessions[name].index()

    def _project(self, name: str) -> World:
        """The same timeline with another home, hence another project."""
        home = self.folder / name
        (home / "project").mkdir(parents=True)
        return World(self.folder, home, self.world.clock)

    def _learn(self, name: str) -> None:
        answer = self._by_terms(name)
        if answer.status is not Status.FOUND or len(answer.cards) != self.sessions[name].runs:
            message = f"{len(answer.cards)} of {self.sessions[name].runs} events are found"
            raise RuntimeError(message)
        self.events[name] = [card.event.id for card in answer.cards]

    # -- the read path -------------------------------------------------------------------------------------

    def read(self, name: str) -> Reading:
        """Put every question about a session; a miss counts as served, since it says nothing of tampering."""
        refusals: set[str] = set()
        served = cards = 0
        for number, answer in enumerate(self._ask(name)):
            if isinstance(answer, str):
                refusals.add(answer)
            elif answer.status in (Status.FOUND, Status.NOT_FOUND):
                served += 1
                cards = len(answer.cards) if number == 0 else cards
            else:
                refusals.add(f"{answer.status}: {answer.reason}")
        return Reading(frozenset(refusals), served, cards)

    def _ask(self, name: str) -> Iterable[Answer | str]:
        self._set_clock()
        questions: list[Callable[[], Answer]] = [
            partial(self._by_terms, name),
            partial(self._by_time, name),
        ]
        for event in self.events[name]:
            questions += [partial(self._by_id, name, event)]
        for question in questions:
            try:
                yield question()
            except service.REFUSALS as error:
                yield error.reason

    def _by_terms(self, name: str) -> Answer:
        world = self.sessions[name].world
        return service.find(world.session, world.root, query=parse_query(TERMS))[0]

    def _by_time(self, name: str) -> Answer:
        session = self.sessions[name]
        window = Window(session.rollout.started_ms, WINDOW_MS)
        return service.find(session.world.session, session.world.root, window=window)[0]

    def _by_id(self, name: str, event: str) -> Answer:
        world = self.sessions[name].world
        return service.show(world.session, world.root, event)[0]

    # -- older copies --------------------------------------------------------------------------------------

    def copy(self) -> Copy:
        """Copy state, trust and configuration, and the first session's transcript."""
        place = Path(tempfile.mkdtemp(dir=self.folder.parent))
        for name in ("state", "trust", "config"):
            shutil.copytree(self.folder / name, place / name)
        path = self.sessions[FIRST].path
        found = path.stat()
        return Copy(place, path.read_bytes(), (found.st_atime_ns, found.st_mtime_ns))

    def restore(self, copy: Copy, pieces: Iterable[str]) -> None:
        """Put these pieces of an older copy back in place of the present ones."""
        for piece in pieces:
            for name in PIECES[piece]:
                _put_back(copy.folder / name, self.folder / name)
            if piece == TRANSCRIPT:
                _write_back(copy, self.sessions[FIRST].path)


def _write_back(copy: Copy, path: Path) -> None:
    """Put the older transcript into the same file, with its former time."""
    with path.open("r+b") as file:
        file.write(copy.transcript)
        file.truncate()
    os.utime(path, ns=copy.times)


def _put_back(old: Path, now: Path) -> None:
    if now.is_dir():
        shutil.rmtree(now)
    else:
        now.unlink(missing_ok=True)
    if old.is_dir():
        shutil.copytree(old, now)
    elif old.exists():
        shutil.copy2(old, now)


def stage_folder() -> AbstractContextManager[str]:
    """A folder that is removed afterwards."""
    return tempfile.TemporaryDirectory(prefix="agmi-")
