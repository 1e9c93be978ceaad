"""Rounds of work in which one process is killed at a random point; what must hold afterwards is checked each time.

A host with a followed session writes turns, calls its hooks as processes of their own, and asks its relay. In the
midst of it one of daemon, starter, relay, hook and host is killed: while a commit is written, while a daemon begins,
while two begin at once, while an MCP session opens, while a daemon stops, or anywhere. Then whatever died is started
again as its host or its user would, and checked:

- the next tool call is permitted, and finds the run that was written last;
- every leaf that a reader ever saw is in its place, and no tool takes back what it said to be indexed;
- one daemon, one relay and one host run, and nothing else;
- that daemon holds its lock and listens, and start lock and writer lock are free;
- now and then, and at the end, the whole timeline verifies.
"""

import os
import random
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from tests.chaos.agents import THIS, Host, Program, ToolError, enrolled_agent, folders_of, real_session
from tests.chaos.census import SECONDS, await_members, complaints, holders
from tests.chaos.promises import Promises
from tests.chaos.striking import Order, Striker, random_delay
from tests.simulators.worlds import World, new_world
from timeline import launch, service
from timeline.errors import TimelineError
from timeline.processes import look

TRIES: Final = 12
"""Permits and calls until one is answered: a hook on a busy machine may print nothing, which gives no permit."""

FAILURES_MAX: Final = 6
"""Then the rounds end: what is broken seldom mends itself."""

DEEP_EVERY: Final = 20
"""Rounds between two verifications of everything."""

_AGAIN: Final = frozenset({"timeline-permit-required", "daemon-busy"})
"""Reasons after which a model tries again; every other one is a failure here."""


class Plan(NamedTuple):
    """What happens in a round, who is killed, and at which moment of it."""

    scene: str
    victim: str
    moment: str
    delay_most: float


PLANS: Final = (
    Plan("work", "daemon", "commit", 0.003),
    Plan("work", "daemon", "write", 0.003),
    Plan("work", "daemon", "any", 0.25),
    Plan("work", "hook", "birth", 0.05),
    Plan("work", "relay", "any", 0.25),
    Plan("work", "host", "any", 0.25),
    Plan("begin", "daemon", "birth", 0.6),
    Plan("begin", "daemon", "birth", 0.15),
    Plan("begin", "starter", "birth", 0.05),
    Plan("begin", "finder", "birth", 0.2),
    Plan("begin", "hook", "birth", 0.05),
    Plan("begin", "relay", "birth", 0.3),
    Plan("open", "daemon", "any", 0.3),
    Plan("open", "relay", "birth", 0.3),
    Plan("stop", "daemon", "any", 0.1),
    Plan("work", "daemon", "write", 0.006),
    Plan("stop", "daemon", "write", 0.01),
    Plan("open", "host", "any", 0.2),
)


@dataclass
class Findings:
    """What the rounds did and what they found."""

    struck: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Scene, victim, and what it was about to do."""
    missed: int = 0
    tries: int = 0
    failures: list[str] = field(default_factory=list)
    slowest_seconds: float = 0.0

    @property
    def kills(self) -> int:
        """How many processes were killed."""
        return sum(self.struck.values())


class Stage:
    """One timeline, one session, and the processes of this moment."""

    def __init__(self, world: World, seed: int, program: Program = THIS) -> None:
        """Start a host with a session that is enrolled and indexed, and its relay."""
        self.world = world
        self.chance = random.Random(seed)
        self.findings = Findings()
        self.promises = Promises()
        self.host = Host.start(world)
        self.agent = enrolled_agent(world, self.host, program=program)
        self.agent.start_relay()
        self.services: list[subprocess.Popen[bytes]] = []

    @property
    def runtime(self) -> Path:
        """Where the daemon is found."""
        return self.world.locations.runtime

    def close(self) -> None:
        """End everything."""
        self.agent.close()
        self.host.close()
        launch.stop(self.runtime)
        for begun in self.services:
            begun.wait(SECONDS)

    def _daemon_pid(self) -> int:
        return next(iter(holders(self.world.locations.daemon_lock)), 0)

    # -- one round ---------------------------------------------------------------------------------------------

    def round(self, plan: Plan) -> None:
        """Work, kill, recover, check; what does not hold becomes a finding."""
        delay = random_delay(self.chance, plan.delay_most)
        is_new = plan.moment == "birth"
        if plan.scene == "begin":
            self._end_daemon()
        pids = {
            "daemon": self._daemon_pid(),
            "relay": self.agent.relay_pid,
            "host": self.host.process.pid,
        }
        order = Order(plan.victim, 0 if is_new else pids.get(plan.victim, 0), plan.moment, delay)
        striker = Striker(self.world.locations, order)
        try:
            _SCENES[plan.scene](self)
        except AssertionError as error:
            self.findings.failures.append(f"{plan.scene}: {error}")
        finally:
            struck = striker.wait()
        if struck.victim:
            self.findings.struck[plan.scene, struck.victim, struck.doing] += 1
        else:
            self.findings.missed += 1
        began = time.monotonic()
        where = f"{plan.scene}, {plan.victim} killed ({struck.doing or 'missed'})"
        try:
            self._recover()
            found = list(self._check())
        except (OSError, ValueError, AssertionError, ToolError, TimelineError) as error:
            found = [f"{type(error).__name__}: {error}"]
        self.findings.failures += [f"{where}: {complaint}" for complaint in found]
        self.findings.slowest_seconds = max(self.findings.slowest_seconds, time.monotonic() - began)

    def _end_daemon(self) -> None:
        """So that one has to begin; killed or told to stop, by chance."""
        with suppress(ProcessLookupError):
            if self.chance.random() < 0.5 and (pid := self._daemon_pid()):
                os.kill(pid, 9)
                return
        launch.stop(self.runtime)

    def work(self) -> None:
        """Turns, hooks and tools, as they come."""
        agent = self.agent
        steps: list[Callable[[], object]] = [
            lambda: agent.hook(agent.event("PostToolUse")),
            lambda: agent.hook(agent.event("UserPromptSubmit", prompt="go on")),
            lambda: self._use("session_timeline_search", agent.newest_run),
            lambda: self._use("session_timeline_index", {}),
            lambda: self._use("timeline_status", {}),
        ]
        self.chance.shuffle(steps)
        for step in steps:
            agent.write_turn()
            try:
                step()
            except (OSError, ValueError, ToolError, RuntimeError):
                return  # what was killed answers no more

    def begin(self) -> None:
        """No daemon runs: hooks, a new relay and two more clients come at once.

        Maybe a service manager's daemon as well, which takes no start lock, so that two daemons begin.
        """
        agent = self.agent
        if self.chance.random() < 0.5:
            command = [THIS.python, "-I", "-m", "timeline", "daemon", "run"]
            self.services.append(
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
        threads = [threading.Thread(target=self._start_quietly) for _ in range(2)]
        hooks = []
        with suppress(OSError, ValueError, ToolError):
            hooks += [agent.start_hook(agent.event("PostToolUse")) for _ in range(2)]
            for thread in threads:
                thread.start()
            agent.spawn_relay()
            hooks += [agent.start_hook(agent.event("UserPromptSubmit", prompt="go on"))]
            agent.begin()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        for pid, connection in hooks:
            code, _ = agent.finish_hook(pid, connection)
            if code not in {0, -9}:
                self.findings.failures.append(f"a hook ended with {code}")

    def open(self) -> None:
        """A new MCP session."""
        with suppress(OSError, ValueError, ToolError):
            self.agent.start_relay()
            self.agent.write_turn()
            self._use("session_timeline_search", self.agent.newest_run)

    def stop(self) -> None:
        """The daemon ends while turns are read on."""
        with suppress(OSError, ValueError, ToolError):
            self.agent.write_turn()
            self.agent.hook(self.agent.event("PostToolUse"))
        with suppress(TimelineError):
            launch.stop(self.runtime)

    def _start_quietly(self) -> None:
        with suppress(TimelineError):  # the one that it had begun was killed
            launch.start(self.runtime)

    def _use(self, tool: str, arguments: dict[str, object]) -> dict[str, object]:
        _, answer = self.agent.use(tool, arguments)
        self.promises.hear(self.agent.thread, answer)
        return answer

    # -- what comes then ---------------------------------------------------------------------------------------

    def _recover(self) -> None:
        """What a host and its user do: start again what has died. Nothing starts a daemon but hooks and relay."""
        if look(self.host.process.pid) is None:
            self.agent.close()
            self.host.close()
            self.host = self.agent.host = Host.start(self.world)
            self.host.hold(self.agent)
            self.agent.hook(self.agent.event("SessionStart", source="resume"))
            self.agent.start_relay()
        elif look(self.agent.relay_pid) is None:
            self.agent.start_relay()
        else:
            self.agent.hook(self.agent.event("SessionStart", source="resume"))

    def _check(self) -> Iterator[str]:
        self.agent.write_turn()
        yield from self._answers("session_timeline_search", self.agent.newest_run, {"found"})
        yield from self._answers("timeline_status", {}, {"enrolled"})
        yield from await_members(self.runtime, {"daemon": 1, "relay": 1, "host": 2})
        yield from complaints(self.world.locations)
        yield from self.promises.look(self.world)

    def _answers(self, tool: str, arguments: dict[str, object], wanted: set[str]) -> Iterator[str]:
        said, reason = b"", ""
        for _ in range(TRIES):
            try:
                said, answer = self.agent.use(tool, arguments)
            except ToolError as error:  # a relay that has lost its daemon says so once
                reason = str(error)
                self.findings.tries += 1
                continue
            reason = str(answer.get("reason", answer.get("status")))
            if answer.get("status") in wanted and not said:
                yield from (
                    self.promises.broken(self.agent.thread, answer) if tool == "timeline_status" else ()
                )
                self.promises.hear(self.agent.thread, answer)
                return
            if reason not in _AGAIN:
                break
            self.findings.tries += 1
        yield f"{tool}: {reason}; the hook printed {said[:200]!r}"

    def verify(self) -> None:
        """Everything that the timeline holds, anew from the files."""
        report = service.verify_timeline(real_session(self.world), deep=True)
        if report.verdict != "ok":
            refused = sorted({check.reason or "?" for check in report.checks if not check.ok})
            self.findings.failures.append(f"verify: {report.verdict} {refused}")


_SCENES: Final[dict[str, Callable[[Stage], None]]] = {
    "work": Stage.work,
    "begin": Stage.begin,
    "open": Stage.open,
    "stop": Stage.stop,
}


@contextmanager
def environment(world: World) -> Iterator[None]:
    """Let this process start the world's daemon while the block runs."""
    before = dict(os.environ)
    os.environ |= folders_of(world)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ |= before


def explore(folder: Path, kills: int, seed: int, plans: tuple[Plan, ...] = PLANS) -> Findings:
    """Rounds until so many processes were killed; then everything ends cleanly, and nothing is left."""
    folder.mkdir(parents=True, exist_ok=True)
    world = new_world(folder)
    with environment(world):
        stage = Stage(world, seed)
        try:
            findings, number = stage.findings, 0
            while findings.kills < kills and number < 2 * kills and len(findings.failures) < FAILURES_MAX:
                stage.round(plans[number % len(plans)])
                number += 1
                if not number % DEEP_EVERY:
                    stage.verify()
        finally:
            stage.close()
    _check_end(stage)
    shutil.rmtree(folder)
    return findings


def _check_end(stage: Stage) -> None:
    findings, locations = stage.findings, stage.world.locations
    findings.failures += [f"left running: {left}" for left in await_members(locations.runtime, {})]
    if locations.socket.exists():
        findings.failures.append("the socket is left")
    with real_session(stage.world).writing():
        pass  # the lock is free
    for folder in (locations.state, locations.trust, locations.sidecars, locations.keys):
        findings.failures += [
            f"{path.name} is left" for path in folder.iterdir() if path.name.endswith(".tmp")
        ]
    findings.failures += stage.promises.look(stage.world)
    stage.verify()


def format_findings(findings: Findings) -> str:
    """A table of what was killed while it did what."""
    lines = [f"{'scene':<6} {'victim':<8} {'kills':>5}  at the moment"]
    lines += [
        f"{scene:<6} {victim:<8} {count:>5}  {doing}"
        for (scene, victim, doing), count in sorted(findings.struck.items())
    ]
    lines.append(
        f"kills {findings.kills}, nobody there {findings.missed}, asked again {findings.tries}, "
        f"slowest recovery and check {findings.slowest_seconds:.1f} s"
    )
    return "\n".join(lines)
