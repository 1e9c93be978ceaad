"""Two versions of the program at once on one timeline, each with a host, hooks and a relay that keep coming.

The newer client replaces the older daemon once; the older ones are told so and start none while there is one. Where
the daemon is killed, either may begin the next one, and an older one is replaced again: what counts is that the newer
daemon stands at the end, and that it is never replaced by an older one while it lives.
"""

import os
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.chaos.agents import THIS, Agent, Host, Program, ToolError, enrolled_agent, real_session
from tests.chaos.census import SECONDS, await_members, complaints, holders, pause
from tests.chaos.copies import copy_program
from tests.chaos.promises import Promises
from tests.chaos.rounds import environment
from tests.simulators.worlds import World, new_world
from timeline import launch, service
from timeline.errors import TimelineError
from timeline.reach import DaemonNewerError

NEWER: Final = "999.0.0"


@dataclass
class Findings:
    """What happened: the daemons that were seen, in order, and what clients got."""

    scenes: list[str] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


@dataclass
class _Seen:
    """Which version's daemon held the lock, in order of appearance."""

    world: World
    programs: tuple[Program, ...]
    order: list[tuple[int, str]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        while not self.over.wait(0.002):
            for pid in holders(self.world.locations.daemon_lock):
                if pid not in {seen for seen, _ in self.order} and (version := self._version_of(pid)):
                    self.order.append((pid, version))

    def _version_of(self, pid: int) -> str:
        with suppress(OSError):
            python = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()
            return next((p.version for p in self.programs if p.python == python), "")
        return ""

    @property
    def versions(self) -> list[str]:
        return [version for _, version in self.order]


class _Stage:
    """A timeline, a host of each version, and what is seen of the daemon."""

    def __init__(self, world: World, newer: Program, findings: Findings) -> None:
        self.world, self.newer, self.findings = world, newer, findings
        self.promises = Promises()
        self.hosts = [Host.start(world) for _ in range(2)]
        self.old = enrolled_agent(world, self.hosts[0], seed=1, program=THIS)
        self.new = enrolled_agent(world, self.hosts[1], seed=2, program=newer)
        service.index(real_session(world), world.root)

    def close(self) -> None:
        for agent in (self.old, self.new):
            agent.close()
        for host in self.hosts:
            host.close()
        self.stop(self.newer)
        self.stop(THIS)

    def stop(self, program: Program) -> None:
        command = [program.python, "-I", "-m", "timeline", "daemon", "stop"]
        subprocess.run(command, check=False, capture_output=True, timeout=SECONDS)

    @contextmanager
    def seeing(self) -> Iterator[_Seen]:
        seen = _Seen(self.world, (THIS, self.newer))
        thread = threading.Thread(target=seen.look)
        thread.start()
        try:
            yield seen
        finally:
            seen.over.set()
            thread.join()

    def is_newer(self) -> bool:
        """Whether the newer daemon answers, by what the older program is told."""
        try:
            launch.ask(self.world.locations.runtime, b'{"ask": "version"}')
        except DaemonNewerError:
            return True
        except TimelineError:
            return False
        return False

    @contextmanager
    def keeping_on(self, *works: Callable[[], str]) -> Iterator[None]:
        """Do each of these again and again while the block runs, each in a thread of its own."""
        over = threading.Event()

        def run(work: Callable[[], str]) -> None:
            while not over.is_set():
                try:
                    self.findings.answers[work()] += 1
                except (OSError, ValueError, AssertionError) as error:
                    self.findings.failures.append(f"{type(error).__name__}: {error}")
                    return

        threads = [threading.Thread(target=run, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join()

    def hooks_of(self, agent: Agent) -> Callable[[], str]:
        def work() -> str:
            agent.write_turn()
            said = agent.hook(agent.event("PostToolUse"))
            if said:
                message = f"a hook said {said[:100]!r}"
                raise AssertionError(message)
            return f"hook of {agent.program.version}: silent, exit 0"

        return work

    def tools_of(self, agent: Agent) -> Callable[[], str]:
        def work() -> str:
            try:
                use, event = agent.permit_event("timeline_status", {})
                agent.hook(event)
                answer = agent.call("timeline_status", {}, use)
            except ToolError as error:
                return f"tool of {agent.program.version}: error, {error}"
            return f"tool of {agent.program.version}: {answer.get('reason') or answer['status']}"

        return work


def explore(folder: Path) -> Findings:
    """Both versions at work: in peace, with a daemon that is killed, and with hooks of the newer alone."""
    folder.mkdir(parents=True)
    newer, findings = copy_program(folder / "newer", NEWER), Findings()
    for scene in (_replaces, _hooks_alone, _killed):
        world = new_world(folder / scene.__name__.strip("_"))
        with environment(world):
            stage = _Stage(world, newer, findings)
            try:
                scene(stage)
                findings.failures += stage.promises.look(world)
            finally:
                stage.close()
            findings.failures += [f"left running: {m}" for m in await_members(world.locations.runtime, {})]
        report = service.verify_timeline(real_session(world), deep=True)
        if report.verdict != "ok":
            findings.failures.append(f"verify: {report.verdict}")
    shutil.rmtree(folder)
    return findings


def _await(what: str, holds: Callable[[], bool], findings: Findings, seconds: float = SECONDS) -> float:
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > seconds:
            findings.failures.append(f"{what}: not within {seconds:g} s")
            break
        pause(0.02)
    return time.monotonic() - began


def _replaces(stage: _Stage) -> None:
    """An older host is at work; a newer one begins. The daemon changes once, and stays."""
    old, new, findings = stage.old, stage.new, stage.findings
    old.start_relay()
    with stage.seeing() as seen, stage.keeping_on(stage.hooks_of(old), stage.tools_of(old)):
        _await("the older daemon", lambda: seen.versions == [THIS.version], findings)
        pause(0.5)
        findings.failures += stage.promises.look(stage.world)
        new.start_relay()
        took = _await("the newer daemon", stage.is_newer, findings)
        with stage.keeping_on(stage.hooks_of(new), stage.tools_of(new)):
            pause(2.0)
    findings.scenes.append(f"replaced in {took:.1f} s while both work: daemons {seen.versions}")
    changes = seen.versions.index(NEWER) if NEWER in seen.versions else -1
    if changes < 0 or set(seen.versions[changes:]) != {NEWER}:
        findings.failures.append(f"replaces: daemons {seen.versions}")
    _check_newer(stage)


def _hooks_alone(stage: _Stage) -> None:
    """Of the newer version only hooks come, now and then; of the older one everything comes all the time."""
    old, new, findings = stage.old, stage.new, stage.findings
    old.start_relay()
    with (
        stage.seeing() as seen,
        stage.keeping_on(stage.hooks_of(old), stage.tools_of(old)),
    ):
        _await("the older daemon", lambda: seen.versions == [THIS.version], findings)

        def hook_now_and_then() -> str:
            pause(0.3)
            return stage.hooks_of(new)()

        with stage.keeping_on(hook_now_and_then):
            took = _await("the newer daemon, by hooks alone", stage.is_newer, findings)
            pause(1.5)
    findings.scenes.append(f"replaced in {took:.1f} s by hooks alone: daemons {seen.versions}")
    if NEWER in seen.versions and THIS.version in seen.versions[seen.versions.index(NEWER) :]:
        findings.failures.append(f"hooks alone: daemons {seen.versions}")
    _check_newer(stage)


def _killed(stage: _Stage) -> None:
    """The daemon is killed again and again while both work: the newer one stands at the end of each."""
    old, new, findings = stage.old, stage.new, stage.findings
    old.start_relay()
    new.start_relay()
    with stage.seeing() as seen:
        works = (stage.hooks_of(old), stage.tools_of(old), stage.hooks_of(new), stage.tools_of(new))
        with stage.keeping_on(*works):
            for _ in range(6):
                _await("the newer daemon after a kill", stage.is_newer, findings)
                for pid in holders(stage.world.locations.daemon_lock):
                    with suppress(ProcessLookupError):
                        os.kill(pid, 9)
            _await("the newer daemon at last", stage.is_newer, findings)
    findings.scenes.append(f"killed 6 times: daemons {dict(Counter(seen.versions))}")
    _check_newer(stage)


def _check_newer(stage: _Stage) -> None:
    """The newer one serves its own; the older is told why not, and loses nothing."""
    findings = stage.findings
    if not stage.is_newer():
        findings.failures.append("the older program is not told `daemon-newer`")
    if stage.new.line is None:
        stage.new.start_relay()
    for _ in range(12):
        said = stage.tools_of(stage.new)()
        if said.endswith(": enrolled"):
            break
    else:
        findings.failures.append(said)
    findings.failures += complaints(stage.world.locations)


def format_findings(findings: Findings) -> str:
    """What was seen."""
    return "\n".join(
        [
            *findings.scenes,
            *(f"  {count:>5}  {answer}" for answer, count in sorted(findings.answers.items())),
        ]
    )
