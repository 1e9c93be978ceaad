"""Small complete timelines, made once and copied: a state, its trust, and the transcript they were made from.

A transcript is known by its inode and times, so copies share the one ``home``; state, trust, configuration and
runtime are what a copy has of its own. Needs no pytest, so that child processes can use it too.
"""

import itertools
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tests.simulators.hosts import CodexRollout, pytest_output, stepping_clock
from timeline import answers, service
from timeline.clock import Clock, SystemEntropy
from timeline.paths import Locations
from timeline.ports import Ports
from timeline.search import Window
from timeline.state import open_state
from timeline.terms import parse_query
from timeline.tlog import Probe, no_probe

START_MS = 1_787_220_000_000
"""2026-08-20T10:00:00Z, when the simulated session begins."""

NOW_MS = START_MS + 3_600_000
"""When the timeline looks at it."""

SEGMENT_BYTES = 64 * 1024
"""The smallest operation: a longer transcript is indexed in several commits."""

FOLDERS = ("state", "trust", "config", "runtime")

_QUERIES = (
    ("pytest", "passed"),
    ("pytest", "failed"),
    ("failed", "1"),
    ("11", "12"),
    ("pytest", "timeout"),
    ("cargo", "passed"),
)
"""Common pairs, numbers, and two that no event has."""


@dataclass(slots=True)
class SetClock:
    """A clock that stands where the test puts it."""

    at_ms: int = NOW_MS

    def now_ms(self) -> int:
        """The time it was set to."""
        return self.at_ms


def session_at(
    folder: Path, home: Path, *, clock: Clock | None = None, probe: Probe = no_probe
) -> service.Session:
    """The session whose four folders lie in ``folder`` and whose host lives in ``home``."""
    return service.Session(
        Locations(*(folder / name for name in FOLDERS)),
        Ports(clock or SetClock(), SystemEntropy(), probe),
        {"HOME": str(home), "CODEX_HOME": str(home / ".codex")},
    )


def with_probe(session: service.Session, probe: Probe) -> service.Session:
    """The same session with an eye on the steps of its commits."""
    ports = session.ports
    return service.Session(session.locations, Ports(ports.clock, ports.entropy, probe), session.environment)


@dataclass(frozen=True, slots=True)
class World:
    """One timeline with its host. ``root`` is the project that the sessions belong to."""

    folder: Path
    home: Path
    clock: SetClock = field(default_factory=SetClock)

    @property
    def session(self) -> service.Session:
        """A session of this timeline."""
        return session_at(self.folder, self.home, clock=self.clock)

    @property
    def root(self) -> str:
        """The project's folder."""
        return str(self.home / "project")

    @property
    def locations(self) -> Locations:
        """The four folders."""
        return self.session.locations

    def copy(self, folder: Path) -> "World":
        """The same timeline once more, in a folder of its own."""
        copy_folders(self.folder, folder)
        return World(folder, self.home)


@dataclass(frozen=True, slots=True)
class Moment:
    """A copy of state and trust as they were after one commit."""

    name: str
    folder: Path

    def place(self, world: World) -> None:
        """Put state and trust back to this moment."""
        for name in ("state", "trust"):
            shutil.rmtree(world.folder / name, ignore_errors=True)
            shutil.copytree(self.folder / name, world.folder / name)


def copy_folders(old: Path, new: Path) -> None:
    """Copy the four folders of a timeline, with their modes."""
    new.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in FOLDERS:
        shutil.copytree(old / name, new / name)


def with_folders_of(world: World, other: World, piece: str) -> None:
    """Put one file or folder of another timeline in place of this one's."""
    target, source = world.folder / piece, other.folder / piece
    if source.is_dir():
        shutil.rmtree(target)
        shutil.copytree(source, target)
    else:
        shutil.copy2(source, target)


def empty_world(folder: Path, home: Path | None = None) -> World:
    """Folders only: nothing is initialised."""
    home = home or folder / "home"
    (home / "project").mkdir(parents=True, exist_ok=True)
    (home / ".codex" / "sessions").mkdir(parents=True, exist_ok=True)
    return World(folder, home)


def new_world(folder: Path) -> World:
    """A timeline after ``init``."""
    world = empty_world(folder)
    service.init_state(world.session, owner_presence="any", simulated_host=True)
    return world


def rollout_of(world: World, *, runs: int = 3, filler_bytes: int = 0, seed: int = 0) -> CodexRollout:
    """A session of ``runs`` turns with a test run each, the first failing, ``filler_bytes`` of output before each."""
    clock = stepping_clock(START_MS + seed * 60_000)
    rollout = CodexRollout(clock=clock, seed=seed, cwd=world.root)
    filler = "0123456789abcdef" * 4 + "\n"
    for number in range(runs):
        rollout.start_turn()
        rollout.prompt("make the tests pass")
        if filler_bytes:
            rollout.command("cat numbers.txt", filler * (filler_bytes // len(filler)), 0)
        failed = 1 if number == 0 else 0
        rollout.command("pytest -q", pytest_output(11 + number, failed), failed)
        rollout.command("cat old.log", pytest_output(99), 0)
        rollout.end_turn("done")
    return rollout


def write_transcript(world: World, rollout: CodexRollout, content: bytes | None = None) -> Path:
    """Put a rollout (or other bytes in its place) where the host would."""
    path = world.home / ".codex" / rollout.relative_path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(rollout.to_bytes() if content is None else content)
    return path


def prompt_event(world: World, session_id: str, path: str, **changes: object) -> bytes:
    """What the host gives its hook at a prompt."""
    event: dict[str, object] = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": session_id,
        "transcript_path": path,
        "cwd": world.root,
        "turn_id": "turn-1",
        "prompt": "make the tests pass",
    }
    return json.dumps({**event, **changes}).encode()


def consent(
    world: World, rollout: CodexRollout, path: Path, *, turn: str = "turn-1", follow: bool = False
) -> str:
    """Prompt, receipt and enrollment; returns the source's reference."""
    event = prompt_event(world, rollout.thread_id, str(path), turn_id=turn)
    receipt = service.receive_prompt(world.session, "codex", event)
    return service.enroll(world.session, world.root, receipt.id, confirmed=True, follow=follow).source.ref


def grow(world: World, moments: Path, *, runs: int = 3, filler_bytes: int = 0) -> Iterator[Moment]:
    """Lead a new world through its commits, and keep a copy after each: init, enroll, each segment.

    The world's runtime and home are used in place; the last moment is how the world stands at the end.
    """

    def keep(name: str) -> Moment:
        copy_folders(world.folder, moments / name)
        return Moment(name, moments / name)

    yield keep("init")
    rollout = rollout_of(world, runs=runs, filler_bytes=filler_bytes)
    path = write_transcript(world, rollout)
    consent(world, rollout, path)
    yield keep("enroll")
    for number in itertools.count():
        (result,) = service.index(world.session, world.root, max_bytes=SEGMENT_BYTES, operations=1)
        if isinstance(result, tuple):
            raise result[1]
        yield keep(f"index-{number}")
        if result.complete:
            return


# -- what a world answers --------------------------------------------------------------------------------------


def answers_of(world: World) -> dict[str, bytes]:
    """The canonical bytes of several questions, or ``refused: <reason>`` for each that is refused.

    Nothing but a refusal of ours is caught.
    """
    return {name: _answer(question) for name, question in _questions(world).items()}


def refusal_of(action: Callable[[], object]) -> str | None:
    """The reason with which ``action`` is refused, ``None`` where it is not."""
    try:
        action()
    except service.REFUSALS as error:
        return error.reason
    return None


def is_refused(answer: bytes) -> bool:
    """Whether an answer of ``answers_of`` is a refusal."""
    return answer.startswith(b"refused: ")


def search_once(world: World) -> bytes:
    """One search, as ``answers_of`` gives it."""
    return _answer(lambda: _search(world, terms=_QUERIES[0]))


def verdict_of(world: World, *, deep: bool = False) -> tuple[str, frozenset[str]]:
    """What ``verify`` says, and the reasons of all its refused checks."""
    report = service.verify_timeline(world.session, deep=deep)
    return report.verdict, frozenset(check.reason or "" for check in report.checks if not check.ok)


def event_ids(world: World) -> tuple[str, ...]:
    """Every event that the signed sidecars hold, in order."""
    session = world.session
    with open_state(session.locations, session.ports) as state:
        return tuple(
            event.id
            for source in state.view.active
            for entry in source.kept
            for event in state.open_sidecar(entry)[1].events
            if not event.is_statement
        )


def contents(folder: Path) -> Mapping[str, bytes]:
    """Every file below a folder, but for what SQLite makes and removes beside its database."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


def _answer(question: Callable[[], bytes]) -> bytes:
    try:
        return question()
    except service.REFUSALS as error:
        return f"refused: {error.reason}".encode()


def _questions(world: World) -> dict[str, Callable[[], bytes]]:
    def by_terms(terms: tuple[str, str]) -> Callable[[], bytes]:
        return lambda: _search(world, terms=terms)

    found: dict[str, Callable[[], bytes]] = {" ".join(terms): by_terms(terms) for terms in _QUERIES}
    found["window"] = lambda: _search(world, window=Window(START_MS + 3_000, 900_000))
    found["empty window"] = lambda: _search(world, window=Window(START_MS - 900_000, 1_000))
    found["sources"] = lambda: _sources(world)
    return found


def _search(world: World, *, window: Window | None = None, terms: tuple[str, str] | None = None) -> bytes:
    query = None if terms is None else parse_query(terms)
    answer, view = service.find(world.session, world.root, window=window, query=query)
    at_ms = None if window is None else window.at_ms
    found = answers.encode(answers.search_answer(answer, view, at_ms=at_ms, query=query))
    if window is None or not answer.cards:
        return found
    shown, view = service.show(world.session, world.root, answer.cards[0].event.id)
    return found + answers.encode(answers.search_answer(shown, view, at_ms=None, query=None))


def _sources(world: World) -> bytes:
    listed = service.list_sources(world.session, world.root)
    return answers.encode({"sources": [answers.source_answer(status) for status in listed]})


# -- what a world's log is -------------------------------------------------------------------------------------


def leaves_of(world: World) -> list[tuple[int, bytes, bytes]]:
    """The rows of the log as they lie in the database, believed or not."""
    with closing(sqlite3.connect(world.locations.database)) as connection:
        return connection.execute("SELECT idx, salt, envelope FROM leaf ORDER BY idx").fetchall()


def checkpoint_of(path: Path) -> tuple[int, str]:
    """Size and root that a checkpoint file states, believed or not."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return int(lines[1]), lines[2]
