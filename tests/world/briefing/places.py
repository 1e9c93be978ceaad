"""A timeline that remembers the story of one task at fixed names and times, and hooks of sessions that ask for it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.leaf import ConsentPolicy
from tests.simulators.worlds import World, new_world
from tests.world.feedback.stories import NOW, PROJECT, T0, Story, continuation_entry
from timeline.binding import Binding
from timeline.config import load_config
from timeline.dialects import HookEvent
from timeline.telling import told_at_start, told_before_answer
from timeline.world import ledger
from timeline.world.assertion import Evidence, RouteRefs, Scope, make_entry
from timeline.world.scope import route_refs
from timeline.world.task_state import TaskState

HINT: Final = "Timeline (context-only, counts only): 3 results."

_SETTINGS: Final = """version = 1
[scope]
tenant = "home"
user = "ada"
task = "task:release"
"""


class LocalStory(Story):
    """The story of the task on the route of the project's sessions."""

    def __init__(self, route: RouteRefs) -> None:
        """A first continuation was made."""
        self.route = route
        super().__init__(continuation_entry("start", T0, route=route))

    def state(self, **fields: Any) -> TaskState:
        """What is in force for a session of the project."""
        return super().state(**{"route": self.route, **fields})


@dataclass
class Place:
    """The timeline of one project; ``story`` is what was recorded of its task, on the route of its sessions."""

    world: World
    story: "LocalStory" = field(init=False)

    def __post_init__(self) -> None:
        """Nothing but a first continuation was made, and that is not recorded yet."""
        self.world.locations.settings.write_text(_SETTINGS, encoding="utf-8")
        self.world.clock.at_ms = NOW
        self.story = LocalStory(self.route)

    def binding(self, host: str = "codex", session: str = "s1") -> Binding:
        """What a session of the project is bound to."""
        config = load_config(self.world.locations.settings)
        return config.bind(host=host, session=session, project=PROJECT)

    @property
    def route(self) -> RouteRefs:
        """That of every session of the task."""
        return route_refs(self.binding())

    def settle(self, *others: AssertionEntry) -> None:
        """Record the story, and other entries after it."""
        entries = [*(one.entry for one in self.story.assertions), *others]
        with self.world.session.writing() as state:
            ledger.record(state, entries)

    def consent(self, *hosts: str, project: str = PROJECT, allowed: bool = True) -> None:
        """The owner consents to every later session of these hosts, or takes that back."""
        policies = [ConsentPolicy(host, project, follow=allowed, allowed=allowed) for host in hosts]
        with self.world.session.writing() as state:
            state.commit(policies)

    def start(self, host: str = "codex", name: str = "SessionStart", **fields: str) -> bytes | None:
        """What the hook of a session that begins prints."""
        return told_at_start(self.world.session, hook(host, name, **fields), HINT)

    def prompt(self, host: str = "codex", **fields: str) -> bytes:
        """What the hook of a prompt prints."""
        return told_before_answer(self.world.session, hook(host, "UserPromptSubmit", **fields))


def hook(host: str, name: str, **fields: str) -> HookEvent:
    """An event of a session of the project."""
    return HookEvent(**{"host": host, "event": name, "session": "s1", "cwd": PROJECT, **fields})


def fact(name: str, value: object, *, at: int = T0, kind: str = "explicit-user-feedback") -> AssertionEntry:
    """Something that is held of the project, unless it is only suggested."""
    return make_entry(
        id=f"assertion:{name}",
        recorder="owner" if kind == "explicit-user-feedback" else "model",
        subject="project:parser",
        predicate=f"build.{name.partition('-')[0]}",
        value=value,
        evidence=Evidence(kind, f"evidence:{name}", Digest.of(name.encode()), at),  # type: ignore[arg-type]  # one of the kinds
        scope=Scope("home", "ada", PROJECT, "shared"),
    )


def new_place(folder: Path) -> Place:
    """A place after ``init``."""
    return Place(new_world(folder / "world"))


def completed(route: RouteRefs) -> AssertionEntry:
    """The task's last continuation, which was measured."""
    return continuation_entry("done", T0 + 120_000, status="completed", route=route, supersedes=["start"])
