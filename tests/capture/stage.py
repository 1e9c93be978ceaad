"""A stage for captures: sessions of three providers that one script writes, and an owner who agrees on a task first."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sidecars.assertion import AssertionEntry
from tests.guard.agents import Agent, Written, enroll, seen, write_session
from tests.simulators.claude import new_session
from tests.simulators.hosts import CodexRollout, pytest_output, stepping_clock
from tests.simulators.king import Wire
from tests.simulators.worlds import NOW_MS, World, new_world
from timeline import service
from timeline.guard.request import Tool
from timeline.reopening import Task, read_task
from timeline.world import ledger
from timeline.world.assertion import Assertion
from timeline.world.outcome_contract import Expected
from timeline.world.owner_task import make_contract, start_task

PROVIDERS = ("claude", "codex", "king")
"""The hosts whose tests are independent of each other (T63); each has a simulator of its own."""

STORY_MS = NOW_MS + 3_600_000
"""When the first session of a story begins: after the owner has agreed on what is to be done."""

LATER_MS = 3_600_000
"""Between two sessions of a story, in milliseconds."""

MINUTE_MS = 60_000


class Teller(Protocol):
    """What a script may do with a session; each provider's simulator writes it as that host would."""

    def prompt(self, text: str) -> object:
        """The user types."""

    def command(self, command: str, output: str, code: int, /) -> object:
        """The agent runs a command."""


Script = Callable[[Any], None]


def failing(session: Teller) -> None:
    """One test run that fails: 11 of 12."""
    session.prompt("make the tests pass")
    session.command("pytest -q", pytest_output(11, 1), 1)


def passing(session: Teller) -> None:
    """One test run that passes: 12 of 12."""
    session.prompt("once more")
    session.command("pytest -q", pytest_output(12), 0)


def typing(*texts: str) -> Script:
    """A session in which the user types, and nothing is run."""

    def script(session: Teller) -> None:
        for text in texts:
            session.prompt(text)

    return script


def write_story(
    world: World, host: str, script: Script, *, seed: int = 0, start_ms: int = STORY_MS
) -> Written:
    """Write a session that a script tells, where its host would write it."""
    written = write_session(world, host, seed=seed) if host == "king" else None
    clock = stepping_clock(start_ms)
    if host == "codex":
        rollout = CodexRollout(clock=clock, seed=seed, cwd=world.root)
        rollout.start_turn()
        script(rollout)
        path = world.home / ".codex" / rollout.relative_path
        return _put(Written(host, rollout.thread_id, path), rollout.to_bytes())
    if host == "claude":
        session = new_session(seed=seed, start_ms=start_ms)
        script(session)
        path = world.home / ".claude/projects/-w" / f"{session.session_id}.jsonl"
        return _put(Written(host, session.session_id, path), session.to_bytes())
    assert written is not None
    wire = Wire(clock=clock, seed=seed)
    script(wire)
    return _put(written, wire.to_bytes())


def _put(written: Written, content: bytes) -> Written:
    written.path.parent.mkdir(parents=True, exist_ok=True)
    written.path.write_bytes(content)
    return written


@dataclass(frozen=True, slots=True)
class Stage:
    """A timeline with its project; sessions come one after the other."""

    world: World

    def session(self, host: str, script: Script, *, number: int = 0, follow: bool = False) -> Agent:
        """The ``number``-th session of the story, an hour after the one before: enrolled and indexed."""
        start_ms = STORY_MS + number * LATER_MS
        written = write_story(self.world, host, script, seed=number, start_ms=start_ms)
        self.world.clock.at_ms = max(self.world.clock.at_ms, start_ms + MINUTE_MS)
        ref = enroll(self.world, written, turn=f"turn-{number}", follow=follow)
        service.index(self.world.session, self.world.root, source_ref=ref)
        return Agent(self.world, written, ref, seen(written))

    def grow(self, agent: Agent, script: Script) -> None:
        """The host writes on in the first session of the story: ``script`` is all of it from the beginning."""
        before = agent.written.path.read_bytes()
        agent.written.path.rename(aside := agent.written.path.with_suffix(".aside"))
        after = write_story(self.world, agent.host, script).path.read_bytes()
        aside.rename(agent.written.path)
        assert after.startswith(before)
        with agent.written.path.open("ab") as file:
            file.write(after[len(before) :])
        self.world.clock.at_ms += 1000

    def task(self, agent: Agent) -> Task:
        """The task of a session, as it stands."""
        with self.world.session.reading() as state:
            (source,) = [s for s in state.view.active if s.enrollment.source.ref == agent.ref]
            return read_task(state, source)

    def say(self, agent: Agent, make: Callable[[Task, int], AssertionEntry]) -> Assertion:
        """The owner says something about the task of a session, a second after now."""
        self.world.clock.at_ms += 1000
        entry = make(self.task(agent), self.world.clock.at_ms)
        with self.world.session.writing() as state:
            return ledger.record(state, [entry])[0].assertion

    def start(self, agent: Agent, *, questions: tuple[str, ...] = ()) -> Assertion:
        """The owner begins the task: the next step is to make the tests pass."""
        return self.say(
            agent,
            lambda task, now: start_task(
                task.state,
                objective="release the parser",
                next_step="make the tests pass",
                questions=questions,
                now_ms=now,
            ),
        )

    def agree(self, agent: Agent, *, next_step: str | None = None, total: int = 12) -> Assertion:
        """The owner agrees that 12 of 12 tests complete the task, or lead to ``next_step``."""
        return self.say(
            agent,
            lambda task, now: make_contract(
                task.state,
                Expected(test_label="pytest", total=total, success_count=total),
                status="completed" if next_step is None else "active",
                next_step=next_step,
                now_ms=now,
            ),
        )

    def leaves(self) -> int:
        """How many leaves the log holds."""
        with self.world.session.reading() as state:
            return state.belief.size

    def assertions(self, agent: Agent) -> tuple[Assertion, ...]:
        """All that is recorded about the task of a session."""
        return self.task(agent).assertions


def new_stage(folder: Path) -> Stage:
    """A stage after ``init``."""
    return Stage(new_world(folder / "world"))


def captured(agent: Agent, query: str = "pytest failed", **more: Any) -> dict[str, Any]:
    """What a capture of a card that a search finds answers, the first one unless told otherwise."""
    return agent.ask(Tool.CAPTURE, capture_of(agent, query, **more))


def capture_of(
    agent: Agent, query: str = "pytest failed", *, card: int = 0, interpretation: Any = None, **more: Any
) -> Mapping[str, Any]:
    """The arguments of a capture, from a card of a search."""
    asked = {"query": query, **more}
    event_id = agent.ask(Tool.SEARCH, asked)["events"][card]["id"]
    said = {} if interpretation is None else {"interpretation": interpretation}
    return {**asked, "eventId": event_id, **said}
