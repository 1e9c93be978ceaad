"""Lives of a timeline whose every word is a canary, and what of them is to be forgotten.

A canary is random, at least 16 bytes, and stands in one place of the life alone: in a value, a reason, a subject, a
path, a session's name, an import. So its bytes show whether that place is still there.
"""

import hashlib
import json
import os
import random
import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from tests.capture.stage import Stage, captured, failing, new_stage
from tests.guard.agents import Agent
from tests.simulators.crash_child import _start, _was_killed  # the one way of our tests to die
from tests.simulators.hosts import pytest_output
from tests.simulators.worlds import World, copy_folders
from timeline import forget_use
from timeline.diary import Diary
from timeline.errors import StateUnwritableError
from timeline.forget_use import Named
from timeline.forgetting.scan import owned_files, search_files
from timeline.service import Session
from timeline.state import open_local
from timeline.world import ledger
from timeline.world.assertion import canonical_text
from timeline.world_exchange import import_world, read_file
from timeline.world_use import OwnerStatement, correct_value, record_statement
from timeline.world_view import standpoint

ODD = '"/\\ü€ \t'
"""What JSON, base64 and UTF-16 spell in different ways."""

PREDICATE = "note.text"


@dataclass(slots=True)
class Life:
    """A timeline after all that happened, with the canaries of each thing that can be forgotten."""

    stage: Stage
    chance: random.Random
    agents: list[Agent] = field(default_factory=list)
    words: dict[str, list[str]] = field(default_factory=dict)
    """By the id of an assertion, or the reference of a source, the canaries that stand there alone."""
    older: dict[str, str] = field(default_factory=dict)
    """By the id of an assertion the one that it has replaced."""

    @property
    def world(self) -> World:
        """The timeline."""
        return self.stage.world

    def canary(self, *, odd: bool = False) -> str:
        """A new one."""
        word = f"cn{self.chance.getrandbits(100):025x}"
        return word + ODD + word[::-1] if odd else word

    def named(self, name: str) -> frozenset[str]:
        """An assertion and all that it has replaced, or a source with what was captured from it."""
        found, next_ = {name}, self.older.get(name)
        while next_ is not None:
            found.add(next_)
            next_ = self.older.get(next_)
        return frozenset(found)

    def split(self, gone: frozenset[str]) -> tuple[list[bytes], list[bytes]]:
        """The canaries of what goes and those of all else."""
        taken = [word.encode() for name in gone for word in self.words[name]]
        kept = [word.encode() for name, words in self.words.items() if name not in gone for word in words]
        return taken, kept

    # -- what happens ------------------------------------------------------------------------------------------

    def session(self, host: str) -> Agent:
        """A session whose path and name nobody else has; a result and a quoted message are captured from it."""
        said = self.canary()

        def script(one: Any) -> None:
            one.prompt(f"please look at {said}")
            one.command("pytest -q", pytest_output(11, 1), 1)

        agent = self.stage.session(host, script, number=len(self.agents) + 1)
        self.agents.append(agent)
        diary = Diary(self.world.locations.diary)
        diary.write("hook", host=host, session=agent.session, hook="prompt", answer="none")
        diary.write("extension", host=host, source=agent.ref, generation=1)
        assert captured(agent)["status"] == "captured"
        assert captured(agent, "user message")["status"] == "captured"
        self.words[agent.ref] = [str(agent.written.path), agent.session, said]
        return agent

    def says(self) -> str:
        """The owner says something about a subject of its own."""
        subject, value, reason = self.canary(), self.canary(odd=True), self.canary()
        where = standpoint(self.world.session, self.world.root)
        self.world.clock.at_ms += 1000
        spoken = record_statement(
            self.world.session,
            where,
            OwnerStatement(subject=f"service:{subject}", predicate=PREDICATE, value=value, reason=reason),
        )
        name = spoken.recorded[0].assertion.id
        # The subject is that of its corrections too.
        self.words[name] = [value, reason]
        return name

    def repeats(self, name: str) -> str:
        """The owner says the same once more; the words stand in two places then."""
        where = standpoint(self.world.session, self.world.root)
        self.world.clock.at_ms += 1000
        value, _ = self.words[name]
        statement = OwnerStatement(subject=self.subject_of(name), predicate=PREDICATE, value=value)
        again = record_statement(self.world.session, where, statement).recorded[0].assertion.id
        self.words[again], self.words[name] = [value], self.words[name][1:]
        return again

    def corrects(self, name: str) -> str:
        """The owner corrects what he said."""
        value, reason = self.canary(odd=True), self.canary()
        where = standpoint(self.world.session, self.world.root)
        self.world.clock.at_ms += 1000
        spoken = correct_value(self.world.session, where, [name], value, reason=reason)
        newer = spoken.recorded[0].assertion.id
        self.words[newer], self.older[newer] = [value, reason], name
        return newer

    def imports(self) -> str:
        """Another system's record comes in."""
        self.world.clock.at_ms += 1000
        value = self.canary(odd=True)
        name = f"legacy:{self.chance.getrandbits(64):016x}"
        (imported,) = self.imported(name, value).recorded
        self.words[imported] = [value]
        return imported

    def imported(self, name: str, value: str) -> Any:
        """What comes of importing one record."""
        where = standpoint(self.world.session, self.world.root)
        content = json.dumps(legacy_file(self.world.root, name, value)).encode()
        records = read_file(self.world.session, where, content, frozenset())
        return import_world(self.world.session, records)

    def subject_of(self, name: str) -> str:
        """About what an assertion is."""
        with self.world.session.reading() as state:
            found = ledger.find(state, name)
            assert found is not None
            return found.entry.subject


def legacy_file(root: str, name: str, value: str) -> dict[str, Any]:
    """A reference file with one record."""
    return {
        "schema": "agentspine.world-model/v1",
        "root": root,
        "revision": 1,
        "assertions": [
            {
                "schema": "agentspine.world-assertion/v1",
                "id": name,
                "subjectId": f"service:{name.replace(':', '-')}",
                "predicate": PREDICATE,
                "value": value,
                "valueDigest": hashlib.sha256(canonical_text(value).encode()).hexdigest(),
                "evidenceKind": "explicit-user-feedback",
                "evidenceId": "owner-statement:one",
                "evidenceDigest": "0" * 64,
                "observedAt": "2026-08-20T10:00:00.000Z",
                "expiresAt": None,
                "projectId": root,
                "groupId": None,
                "privacy": "private",
                "supersedes": [],
                "recordedAt": "2026-08-20T10:00:00.000Z",
                "authority": "context-only",
            }
        ],
        "events": [],
        "authority": "context-only",
    }


def live(folder: Path, seed: int) -> Life:
    """A life by chance: two sessions, some words of the owner, some corrected, an import."""
    life = Life(new_stage(folder), random.Random(seed))
    life.stage.start(life.stage.session("codex", failing))
    hosts = life.chance.sample(["claude", "codex", "king"], 2)
    life.session(hosts[0])
    said = [life.says() for _ in range(life.chance.randint(1, 3))]
    for name in said:
        for _ in range(life.chance.randint(0, 2)):
            name = life.corrects(name)  # noqa: PLW2901  (a chain)
    life.session(hosts[1])
    life.imports()
    life.says()
    return life


def copied(life: Life, folder: Path) -> Life:
    """The same life once more, in a timeline of its own; the host's files are in common."""
    world = copy_of(life, folder)
    agents = [replace(agent, world=world) for agent in life.agents]
    words = {name: list(found) for name, found in life.words.items()}
    return Life(Stage(world), random.Random(17), agents, words, dict(life.older))


def choose(life: Life) -> tuple[Named, frozenset[str]]:
    """Something to be forgotten, and everything that goes with it."""
    replaced = set(life.older.values())
    newest = [name for name in life.words if name not in replaced and not name.startswith("source:")]
    match life.chance.choice(["source", "session", "assertion", "subject"]):
        case "source":
            agent = life.chance.choice(life.agents)
            return Named(source=agent.ref), frozenset({agent.ref})
        case "session":
            agent = life.chance.choice(life.agents)
            return Named(session=agent.session), frozenset({agent.ref})
        case "assertion":
            name = life.chance.choice(newest)
            return Named(assertions=(name,)), life.named(name)
        case _:
            name = life.chance.choice(newest)
            return Named(subject=life.subject_of(name)), life.named(name)


# -- what is left ----------------------------------------------------------------------------------------------


def found_in(world: World, words: list[bytes]) -> set[int]:
    """Which of these words lie in some file of ours, in whatever encoding, whole or by half."""
    return {hit.number for hit in search_files(owned_files(world.locations), words).hits}


def check_gone(life: Life, world: World, gone: frozenset[str]) -> None:
    """Nothing of what was forgotten lies anywhere, and all of the rest is there."""
    taken, kept = life.split(gone)
    assert found_in(world, taken) == set()
    assert found_in(world, kept) == set(range(len(kept)))


def copy_of(life: Life, folder: Path) -> World:
    """The timeline once more, at the same time, with the host's files in common."""
    copy_folders(life.world.folder, folder)
    world = World(folder, life.world.home)
    world.clock.at_ms = life.world.clock.at_ms
    return world


def forget(
    world: World, named: Named, rule: forget_use.Rule = "redact", *, ticking: "Ticking | None" = None
) -> forget_use.Applied:
    """Plan and carry out, with an eye on the steps of the latter."""
    planned = forget_use.plan_forgetting(world.session, named, rule)
    session = world.session if ticking is None else ticking.session(world.session)
    return forget_use.apply_plan(session, planned.digest, confirmed=True)


def size_of(world: World) -> int:
    """How many leaves the log has."""
    with open_local(world.locations, world.session.ports) as state:
        return state.belief.size


# -- dying -----------------------------------------------------------------------------------------------------


class Ticking:
    """Counts every step that is taken, and kills the process at one of them, or fails there."""

    def __init__(self, die_at: int | None = None, *, fail_at: int | None = None) -> None:
        """Without a step it counts only."""
        self.count, self._die_at, self._fail_at = 0, die_at, fail_at

    def __call__(self, *_: object) -> None:
        """A step is about to be taken."""
        if self.count == self._die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1
        if self.count - 1 == self._fail_at:
            message = "the disk is full"
            raise StateUnwritableError(message)

    def session(self, session: Session) -> Session:
        """The same session with an eye on its steps."""
        ports = msgspec.structs.replace(session.ports, probe=self, erasing=self)
        return msgspec.structs.replace(session, ports=ports)


def ticked(patch: Callable[[str, object], None], ticking: Ticking) -> None:
    """Count the steps of forgetting itself as well: before each line of the journal and each list that is written."""
    from timeline.forgetting import applying

    for name in ("write_line", "write_suppression", "drop_receipts"):
        original = getattr(applying, name)

        def stepped(*arguments: Any, _original: Any = original, **more: Any) -> Any:
            ticking()
            return _original(*arguments, **more)

        patch(f"timeline.forgetting.applying.{name}", stepped)


def apply_and_die(world: World, plan: str, ticking: Ticking) -> bool:
    """Carry out a plan in a child that kills itself; whether it got that far."""
    session = ticking.session(world.session)
    return _was_killed(_start(lambda: forget_use.apply_plan(session, plan, confirmed=True)))
