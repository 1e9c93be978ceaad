"""Rounds of work in which one process is killed at a random point; what must hold afterwards is checked each time.

A host process with a followed session writes a turn, calls its hooks as processes of their own, and asks its relay for
a search. Somewhere in between, the daemon, the relay, a hook or the host itself is killed with SIGKILL. Then the next
hook or relay finds or starts a daemon, and: it answers, what was committed is still there and verifies, the search
finds, and no process of the round is left that nobody needs.
"""

import json
import os
import random
import select
import shutil
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.simulators.host_process import HostProcess, host_process
from tests.simulators.hosts import CodexRollout, pytest_output
from tests.simulators.worlds import World, new_world, prompt_event, rollout_of, write_transcript
from timeline import hooks, launch, relay, service
from timeline.clock import SystemClock, SystemEntropy
from timeline.ports import Ports
from timeline.processes import look
from timeline.reach import DaemonAwayError, DaemonUnreachableError

VICTIMS: Final = ("daemon", "relay", "hook", "host")
SECONDS: Final = 30.0
"""A deadline: it is never waited for unless something is wrong."""

_PYTHON: Final = (sys.executable, "-I", "-S", "-E", "-B")
_SEARCH: Final = {"query": "pytest passed"}


@dataclass
class Findings:
    """What the rounds did and what they found."""

    kills: Counter[str] = field(default_factory=Counter)
    daemons: int = 0
    searches: int = 0
    failures: list[str] = field(default_factory=list)


@dataclass
class Stage:
    """One timeline, one session, and the processes of this moment."""

    world: World
    rollout: CodexRollout
    path: Path
    stack: ExitStack
    chance: random.Random
    findings: Findings
    host: HostProcess | None = None
    relay_pid: int = 0
    line: socket.socket | None = None
    calls: int = 0
    size: int = 0

    # -- processes ---------------------------------------------------------------------------------------------

    @property
    def runtime(self) -> Path:
        """Where the daemon is found."""
        return self.world.locations.runtime

    def start_host(self) -> None:
        """A host that holds the session, with a relay."""
        names = ("state", "trust", "config", "runtime")
        environment = {
            f"TIMELINE_{name.upper()}_DIR": str(getattr(self.world.locations, name)) for name in names
        }
        environment |= {
            "HOME": str(self.world.home),
            "CODEX_HOME": str(self.world.home / ".codex"),
            "PATH": os.environ["PATH"],
        }
        self.host = self.stack.enter_context(host_process("codex", environment))
        locks = self.world.home / ".codex" / "thread-writer-locks"
        locks.mkdir(exist_ok=True)
        self.host.hold(self.path)
        self.host.hold(locks / f"{self.rollout.thread_id}.lock")
        self.start_relay()

    def start_relay(self) -> None:
        """Let the host start its MCP server, and begin a session on it."""
        assert self.host is not None
        command = [*_PYTHON, relay.__file__, "codex", str(self.runtime)]
        if self.line is not None:
            self.line.close()  # as the pipes of a host that is gone
        self.relay_pid, self.line = self.host.spawn(command)
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "chaos", "version": "1"},
        }
        self.exchange({"method": "initialize", "params": hello})
        self.line.sendall(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def daemon_pid(self) -> int:
        """The daemon's process; 0 where none answers."""
        with suppress(DaemonAwayError, DaemonUnreachableError):
            return int(json.loads(launch.ask(self.runtime, b'{"ask": "status"}'))["pid"])
        return 0

    # -- work --------------------------------------------------------------------------------------------------

    def write_turn(self) -> None:
        """The host appends a turn with a test run."""
        self.rollout.take()
        self.rollout.start_turn()
        self.rollout.prompt("go on")
        self.rollout.command("pytest -q", pytest_output(3 + self.calls % 50), 0)
        self.rollout.end_turn("done")
        with self.path.open("ab") as file:
            file.write(self.rollout.take())

    def hook(self, event: str, **fields: object) -> tuple[int, socket.socket]:
        """Start a hook; its process and its output."""
        assert self.host is not None
        pid, connection = self.host.spawn(
            [*_PYTHON, hooks.__file__, "codex", str(self.runtime)], leaving=True
        )
        content = {
            "hook_event_name": event,
            "session_id": self.rollout.thread_id,
            "transcript_path": str(self.path),
            "cwd": self.world.root,
            **fields,
        }
        connection.sendall(json.dumps(content).encode())
        connection.shutdown(socket.SHUT_WR)
        return pid, connection

    def finish_hook(self, pid: int, connection: socket.socket) -> bytes:
        """What the hook printed; it has ended by itself, with 0."""
        assert self.host is not None
        with connection:
            said = _read_all(connection)
        code = self.host.reap(pid)
        if code not in {0, -signal.SIGKILL}:
            self.findings.failures.append(f"a hook ended with {code}")
        return said

    def permit(self) -> tuple[str, bytes]:
        """Let the hook ask for a permit; the tool use and what the hook printed."""
        self.calls += 1
        use = f"call_{self.calls}"
        tool = "mcp__timeline__session_timeline_search"
        return use, self.finish_hook(
            *self.hook("PreToolUse", tool_name=tool, tool_input=_SEARCH, tool_use_id=use)
        )

    def call(self, use: str) -> dict[str, Any]:
        """Ask the relay for the search."""
        thread = self.rollout.thread_id
        meta = {"threadId": thread, "sessionId": thread, "callId": use}
        params = {"name": "session_timeline_search", "arguments": _SEARCH, "_meta": meta}
        return self.exchange({"method": "tools/call", "params": params})

    def exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        """One request over the relay, and its answer."""
        assert self.line is not None
        self.calls += 1
        number = 1_000_000 + self.calls
        self.line.sendall(json.dumps({"jsonrpc": "2.0", "id": number, **message}).encode() + b"\n")
        received = b""
        while True:
            while b"\n" not in received:
                piece = self.line.recv(65536)
                if not piece:
                    raise ConnectionResetError
                received += piece
            line, _, received = received.partition(b"\n")
            found: dict[str, Any] = json.loads(line)
            if found.get("id") == number:
                return found

    # -- one round ---------------------------------------------------------------------------------------------

    def round(self, victim: str) -> None:
        """Work, kill the victim at a random point of it, recover, and check."""
        steps: list[Callable[[], object]] = [
            self.write_turn,
            lambda: self.kill_hook_or_wait(victim, "PostToolUse"),
            lambda: self.kill_hook_or_wait(victim, "UserPromptSubmit"),
            lambda: self.call(self.permit()[0]),
            self.write_turn,
        ]
        at = self.chance.randrange(len(steps))
        for number, step in enumerate(steps):
            if number == at and victim != "hook":
                self.kill_soon(victim)
            try:
                step()
            except (OSError, json.JSONDecodeError, ValueError):
                break  # what was killed answers no more
        self.recover()
        self.check()

    def kill_hook_or_wait(self, victim: str, event: str) -> None:
        """A hook that is killed on its way, or runs to its end."""
        pid, connection = self.hook(event)
        if victim == "hook":
            _pause(self.chance.uniform(0, 0.03))
            _kill(pid)
            self.findings.kills["hook"] += 1
        self.finish_hook(pid, connection)

    def kill_soon(self, victim: str) -> None:
        """Kill in a moment that lies in the midst of what follows: a child of ours waits and kills."""
        assert self.host is not None
        pid = {"daemon": self.daemon_pid, "relay": lambda: self.relay_pid, "host": lambda: self.host.pid}[  # type: ignore[union-attr]  # as above
            victim
        ]()
        if not pid:
            return
        delay = self.chance.uniform(0, 0.04)
        child = os.fork()
        if not child:
            time.sleep(delay)
            _kill(pid)
            os._exit(0)
        self.stack.callback(lambda: _reap(child))
        self.findings.kills[victim] += 1

    def recover(self) -> None:
        """What a host and its user do: start again what has died."""
        _pause(0.06)  # whoever waits to kill has killed by then
        assert self.host is not None
        if look(self.host.pid) is None:
            self.start_host()
        elif look(self.relay_pid) is None:
            self.start_relay()
        self.finish_hook(*self.hook("SessionStart", source="resume"))
        launch.start(self.runtime)

    def check(self) -> None:
        """It answers, nothing that was committed is lost, and a permitted search finds."""
        for _ in range(3):  # a relay that has lost its daemon says so once
            use, said = self.permit()
            answer = self.call(use).get("result", {}).get("structuredContent", {})
            if not said and answer.get("status") == "found":
                self.findings.searches += 1
                break
        else:
            self.findings.failures.append(f"no search: {said!r} {answer.get('reason')}")
        with real_session(self.world).reading() as state:
            size = state.belief.size
        if size < self.size:
            self.findings.failures.append(f"{self.size} leaves became {size}")
        self.size = size


@contextmanager
def stage(folder: Path, seed: int) -> Iterator[Stage]:
    """A timeline with a followed session in a host; everything ends with the block."""
    world = new_world(folder)
    rollout = rollout_of(world)
    path = write_transcript(world, rollout)
    session = real_session(world)
    receipt = service.receive_prompt(session, "codex", prompt_event(world, rollout.thread_id, str(path)))
    service.enroll(session, world.root, receipt.id, confirmed=True, follow=True)
    service.index(session, world.root)
    with ExitStack() as stack:
        found = Stage(world, rollout, path, stack, random.Random(seed), Findings())
        launch_environment(world)
        launch.start(found.runtime)
        stack.callback(lambda: launch.stop(found.runtime))
        found.start_host()
        yield found
        if found.line is not None:
            found.line.close()


def launch_environment(world: World) -> None:
    """What this process starts a daemon with."""
    for name in ("state", "trust", "config", "runtime"):
        os.environ[f"TIMELINE_{name.upper()}_DIR"] = str(getattr(world.locations, name))


def real_session(world: World) -> service.Session:
    """The world's session with the system's clock, as the daemon has it."""
    return service.Session(world.locations, Ports(SystemClock(), SystemEntropy()), world.session.environment)


def explore(folder: Path, rounds: int, seed: int) -> Findings:
    """So many rounds; then everything ends cleanly, and nothing is left."""
    folder.mkdir(parents=True, exist_ok=True)
    with stage(folder, seed) as found:
        for number in range(rounds):
            found.round(VICTIMS[number % len(VICTIMS)])
        findings, world = found.findings, found.world
    _check_end(world, findings)
    shutil.rmtree(folder)
    return findings


def _check_end(world: World, findings: Findings) -> None:
    runtime = str(world.locations.runtime)
    end = time.monotonic() + SECONDS
    while (left := _processes_with(runtime)) and time.monotonic() < end:
        _pause(0.05)
    findings.failures += [f"left running: {command}" for command in left]
    if world.locations.socket.exists():
        findings.failures.append("the socket is left")
    with real_session(world).writing():
        pass  # the lock is free
    report = service.verify_timeline(real_session(world), deep=True)
    if report.verdict != "ok":
        findings.failures.append(f"verify: {report.verdict}")


def _processes_with(text: str) -> list[str]:
    """Commands that run and name a folder of ours, but for this process."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            said = (entry / "cmdline").read_bytes() + b"\0" + (entry / "environ").read_bytes()
            if text.encode() in said:
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [command for command in found if command and "tests.chaos" not in command]


def _read_all(connection: socket.socket) -> bytes:
    pieces = []
    with suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            pieces.append(piece)
    return b"".join(pieces)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _reap(pid: int) -> None:
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _pause(seconds: float) -> None:
    select.select((), (), (), seconds)
