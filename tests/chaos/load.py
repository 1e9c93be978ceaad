"""Many sessions at once, each with its relay, all of them asking as fast as they are answered; and many who begin.

Nothing is killed here. What must hold: no tool is refused and no permit is; nobody but the daemon ever holds the
writer lock; its memory, threads and descriptors are bounded; at the end the timeline verifies. Permits come over the
hook's protocol from below the host, some from real hook processes, whose own deadline a busy machine may miss: such a
call is refused, which is counted, and asked again.
"""

import os
import random
import shutil
import statistics
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from tests.chaos.agents import Agent, Host, ToolError, enrolled_agent, real_session
from tests.chaos.census import Measures, await_members, complaints, holders, measure, members, pause
from tests.chaos.rounds import environment
from tests.simulators.worlds import World, new_world
from timeline import launch, service
from timeline.diary import read_diary
from timeline.errors import TimelineError

GROWTH_MAX: Final = 1.10
"""Median resident memory of the last quarter of the calls, in that of the second."""

THREADS_MAX: Final = 128 + 16
"""A request has one while it lasts (``daemon.server.CONNECTIONS_MAX``); the rest are the daemon's own."""

DESCRIPTORS_MAX: Final = 32
"""Open in a daemon whose clients have all gone: its own, the database's, the watcher's, the loop's."""

_CALLS: Final = (
    ("session_timeline_search", 0.5, {"found"}),
    ("session_timeline_index", 0.3, {"indexed", "partial"}),
    ("timeline_status", 0.2, {"enrolled"}),
)


class Size(NamedTuple):
    """How much is asked: sessions in so many host processes, calls in all, permits by real hooks, herds of starters."""

    sessions: int
    hosts: int
    calls: int
    real_hooks: int
    herds: int


WHOLE: Final = Size(sessions=50, hosts=5, calls=5000, real_hooks=200, herds=30)


@dataclass
class Findings:
    """What was done and measured. ``samples`` has the calls that were done by then."""

    size: Size
    answered: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    late_hooks: int = 0
    samples: list[tuple[int, Measures]] = field(default_factory=list)
    writers: set[int] = field(default_factory=set)
    lock_looks: int = 0
    daemon: int = 0
    took_seconds: float = 0.0
    leaves: int = 0
    descriptors: tuple[int, int] = (0, 0)
    """Before the first relay came, and when the last had gone."""
    failures: list[str] = field(default_factory=list)

    def resident(self, begin: float, end: float) -> float:
        """Median KiB while this part of the calls was answered."""
        calls = self.size.calls
        found = [m.resident_kib for done, m in self.samples if begin * calls <= done <= end * calls]
        return statistics.median(found) if found else 0.0


class _Watch:
    """Looks at the daemon in a thread of its own until it is closed."""

    def __init__(self, world: World, findings: Findings) -> None:
        self._world, self._findings = world, findings
        self._over = threading.Event()
        self._threads = [threading.Thread(target=run) for run in (self._measure, self._look_at_lock)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _measure(self) -> None:
        while not self._over.wait(0.1):
            try:
                found = measure(self._findings.daemon)
            except OSError:
                self._findings.failures.append("the daemon has gone")
                return
            self._findings.samples.append((len(self._findings.seconds), found))

    def _look_at_lock(self) -> None:
        while not self._over.wait(0.004):
            self._findings.lock_looks += 1
            self._findings.writers |= holders(self._world.locations.lock)


def explore(folder: Path, size: Size, seed: int) -> Findings:
    """Let all sessions work; then end, and look at what is left."""
    folder.mkdir(parents=True)
    world, findings = new_world(folder), Findings(size)
    hosts = [Host.start(world) for _ in range(size.hosts)]
    with environment(world):
        try:
            agents = [enrolled_agent(world, hosts[n % size.hosts], seed=n) for n in range(size.sessions)]
            _work(world, agents, findings, seed)
            findings.failures += [f"herd: {found}" for found in _herds(agents[0], size.herds)]
        finally:
            for host in hosts:
                host.close()
            launch.stop(world.locations.runtime)
    findings.failures += [f"left running: {left}" for left in await_members(world.locations.runtime, {})]
    report = service.verify_timeline(real_session(world), deep=True)
    if report.verdict != "ok":
        findings.failures.append(f"verify: {report.verdict}")
    with real_session(world).reading() as state:
        findings.leaves = state.belief.size
    _judge(findings)
    shutil.rmtree(folder)
    return findings


def _work(world: World, agents: list[Agent], findings: Findings, seed: int) -> None:
    runtime, size = world.locations.runtime, findings.size
    launch.start(runtime)
    findings.daemon = next(iter(holders(world.locations.daemon_lock)))
    before = measure(findings.daemon).descriptors
    began = time.monotonic()
    watch = _Watch(world, findings)
    try:
        with ThreadPoolExecutor(len(agents)) as pool:
            jobs = [
                pool.submit(
                    _be_agent,
                    agent,
                    findings,
                    random.Random(seed * 1000 + number),
                    size.calls // size.sessions,
                    size.real_hooks // size.sessions,
                )
                for number, agent in enumerate(agents)
            ]
            for job in jobs:
                job.result()
    finally:
        watch.close()
    findings.took_seconds = time.monotonic() - began
    findings.failures += await_members(runtime, {"daemon": 1, "relay": size.sessions, "host": 2 * size.hosts})
    findings.failures += complaints(world.locations)
    for agent in agents:
        agent.close()
    findings.failures += await_members(runtime, {"daemon": 1, "host": 2 * size.hosts})
    end = time.monotonic() + 10
    while (after := measure(findings.daemon).descriptors) > DESCRIPTORS_MAX and time.monotonic() < end:
        pause(0.05)
    findings.descriptors = before, after
    faults = [entry.fields for entry in read_diary(world.locations.diary) if entry.event == "fault"]
    findings.failures += [f"fault: {fields}" for fields in faults[:5]]


def _be_agent(agent: Agent, findings: Findings, chance: random.Random, calls: int, real: int) -> None:
    """One session's whole work."""
    by_process = set(chance.sample(range(calls), min(real, calls)))
    try:
        agent.start_relay()
        for number in range(calls):
            if number % 3 == 0:
                agent.write_turn()
            tool, _, wanted = chance.choices(_CALLS, [weight for _, weight, _ in _CALLS])[0]
            arguments = agent.newest_run if tool == "session_timeline_search" else {}
            began = time.monotonic()
            permit = agent.hook if number in by_process else agent.say_hook
            said, answer = agent.use(tool, arguments, permit)
            if number in by_process and answer.get("reason") == "timeline-permit-required":
                findings.late_hooks += 1
                said, answer = agent.use(tool, arguments, agent.say_hook)
            findings.seconds.append(time.monotonic() - began)
            status = str(answer.get("status"))
            findings.answered[f"{tool} {status}"] += 1
            if said or status not in wanted:
                findings.failures.append(f"{tool}: {status} {answer.get('reason')}; hook {said[:120]!r}")
    except (OSError, ValueError, AssertionError, ToolError) as error:
        findings.failures.append(f"session {agent.thread}: {type(error).__name__} {error}")


# -- many who begin --------------------------------------------------------------------------------------------


def _herds(agent: Agent, times: int) -> list[str]:
    """No daemon runs, and ten clients come at once: five callers of ``launch``, four hooks and a relay."""
    runtime, failures = agent.world.locations.runtime, []
    for number in range(times):
        if number % 2:
            launch.stop(runtime)
        else:
            for pid in holders(agent.world.locations.daemon_lock):
                with suppress(ProcessLookupError):
                    os.kill(pid, 9)
        children = [_fork_start(runtime) for _ in range(5)]
        hooks = [agent.start_hook(agent.event("PostToolUse")) for _ in range(4)]
        try:
            agent.start_relay()
        except (OSError, ToolError) as error:
            failures.append(f"relay: {type(error).__name__} {error}")
        failures += [
            f"a hook ended with {code}, and said {said!r}"
            for code, said in (agent.finish_hook(*hook) for hook in hooks)
            if code or said
        ]
        failures += ["launch.start has failed" for child in children if os.waitpid(child, 0)[1]]
        failures += await_members(runtime, {"daemon": 1, "relay": 1, "host": _hosts_of(agent)})
        failures += complaints(agent.world.locations)
        agent.close()
    return failures


def _hosts_of(agent: Agent) -> int:
    return sum(member.kind == "host" for member in members(agent.world.locations.runtime))


def _fork_start(runtime: Path) -> int:
    child = os.fork()
    if not child:
        code = 1
        try:
            launch.start(runtime)
            code = 0
        except TimelineError as error:
            os.write(2, f"launch.start: {error}\n".encode())
        finally:
            os._exit(code)
    return child


# -- judging ---------------------------------------------------------------------------------------------------


def _judge(findings: Findings) -> None:
    size, failures = findings.size, findings.failures
    if len(findings.seconds) != size.calls:
        failures.append(f"{len(findings.seconds)} calls were answered and not {size.calls}")
    if findings.writers != {findings.daemon}:
        failures.append(f"writers {sorted(findings.writers)}, and the daemon is {findings.daemon}")
    second, last = findings.resident(0.25, 0.5), findings.resident(0.75, 1.0)
    if size.calls >= WHOLE.calls and not 0 < last <= second * GROWTH_MAX:
        failures.append(f"resident memory grew from {second:.0f} to {last:.0f} KiB")
    most = max((measures.threads for _, measures in findings.samples), default=0)
    if most > THREADS_MAX:
        failures.append(f"{most} threads")
    if findings.descriptors[1] > DESCRIPTORS_MAX:
        failures.append(f"{findings.descriptors[1]} descriptors are left open")


def format_findings(findings: Findings) -> str:
    """What was measured."""
    seconds = sorted(findings.seconds) or [0.0]
    most = [max((m[n] for _, m in findings.samples), default=0) for n in range(3)]
    resident = " ".join(f"{findings.resident(n / 4, (n + 1) / 4) / 1024:.1f}" for n in range(4))
    before, after = findings.descriptors
    others = len(findings.writers - {findings.daemon})
    lines = [f"sessions {findings.size.sessions}, calls {len(seconds)} in {findings.took_seconds:.1f} s"]
    lines[0] += f", leaves {findings.leaves}"
    lines += [f"  {name}: {count}" for name, count in sorted(findings.answered.items())]
    lines.append(
        f"permit and call: median {seconds[len(seconds) // 2] * 1000:.0f} ms,"
        f" 99 % {seconds[len(seconds) * 99 // 100] * 1000:.0f} ms, most {seconds[-1] * 1000:.0f} ms"
    )
    lines.append(f"real hooks {findings.size.real_hooks}, of which too late {findings.late_hooks}")
    lines.append(
        f"writer lock looked at {findings.lock_looks} times, others than the daemon held it {others} times"
    )
    lines.append(f"resident MiB by quarter of the calls: {resident}")
    lines.append(
        f"most threads {most[1]}, most descriptors {most[2]}; before {before}, after all had gone {after}"
    )
    lines.append(f"times that ten clients began a daemon at once: {findings.size.herds}")
    return "\n".join(lines)
