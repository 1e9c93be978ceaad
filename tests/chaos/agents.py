"""Agents at work: hosts with sessions, their hooks as processes of their own, and a relay for each session."""

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import timeline
from tests.simulators.host_process import SECONDS, HostProcess, host_process
from tests.simulators.hosts import CodexRollout, pytest_output
from tests.simulators.worlds import FOLDERS, World, prompt_event, rollout_of, write_transcript
from timeline import service
from timeline.clock import SystemClock, SystemEntropy
from timeline.ports import Ports

Json = dict[str, Any]
RUNS_FROM: Final = 1000
"""Passed tests of an agent's first run; each of its runs has one more, so that a search names one run."""


class Program(NamedTuple):
    """One installation of the program: its interpreter, the folder of its package, its version."""

    python: str
    package: Path
    version: str

    def script(self, name: str, *arguments: str) -> list[str]:
        """A script of the package, run as hosts run it."""
        return [self.python, "-I", "-S", "-E", "-B", str(self.package / name), *arguments]


THIS: Final = Program(sys.executable, Path(timeline.__file__).parent, timeline.__version__)


class ToolError(RuntimeError):
    """The relay answered a call with a JSON-RPC error."""


@dataclass
class Host:
    """A process of a host that may die and be started again."""

    world: World
    process: HostProcess
    stack: ExitStack
    turn: threading.Lock = field(default_factory=threading.Lock)
    """Its sessions' threads ask it one after the other."""

    @classmethod
    def start(cls, world: World) -> "Host":
        """Run one, with the environment that its hooks and relays get."""
        stack = ExitStack()
        environment = folders_of(world) | {
            "HOME": str(world.home),
            "CODEX_HOME": str(world.home / ".codex"),
            "PATH": os.environ["PATH"],
        }
        return cls(world, stack.enter_context(host_process("codex", environment)), stack)

    def hold(self, agent: "Agent") -> None:
        """Hold a session open: its transcript and its writer lock."""
        locks = self.world.home / ".codex" / "thread-writer-locks"
        locks.mkdir(exist_ok=True)
        self.process.hold(agent.path)
        self.process.hold(locks / f"{agent.thread}.lock")

    def spawn(self, command: Sequence[str], *, leaving: bool = False) -> tuple[int, socket.socket]:
        """Run a command below it; see ``HostProcess.spawn``."""
        with self.turn, _alive():
            return self.process.spawn(command, leaving=leaving)

    def reap(self, pid: int) -> int:
        """Wait for the end of a child; its exit code, negative for a signal."""
        with self.turn, _alive():
            return self.process.reap(pid)

    def connect(self) -> socket.socket:
        """A connection to the daemon from a client below it."""
        with self.turn, _alive():
            return self.process.connect(self.world.locations.socket)

    def close(self) -> None:
        """End it, with everything that belongs to it."""
        self.stack.close()


@contextmanager
def _alive() -> Iterator[None]:
    """A host that is gone says nothing and hands over no connection."""
    try:
        yield
    except (IndexError, ValueError) as error:
        raise ConnectionResetError from error


@dataclass
class Agent:
    """One session: what its host writes, its hooks, and its relay."""

    world: World
    rollout: CodexRollout
    path: Path
    host: Host
    program: Program = THIS
    relay_pid: int = 0
    line: socket.socket | None = None
    uses: int = 0
    runs: int = 0
    received: bytes = field(default=b"", repr=False)

    @property
    def thread(self) -> str:
        """The session's id."""
        return self.rollout.thread_id

    @property
    def runtime(self) -> str:
        """Where its clients look for the daemon."""
        return str(self.world.locations.runtime)

    def close(self) -> None:
        """Close the relay's pipes, as a host does that ends."""
        if self.line is not None:
            self.line.close()
            self.line = None

    # -- the host's work ---------------------------------------------------------------------------------------

    def write_turn(self) -> None:
        """The host appends a turn with a test run."""
        self.rollout.take()
        self.rollout.start_turn()
        self.rollout.prompt("go on")
        self.runs += 1
        self.rollout.command("pytest -q", pytest_output(RUNS_FROM + self.runs), 0)
        self.rollout.end_turn("done")
        with self.path.open("ab") as file:
            file.write(self.rollout.take())

    @property
    def newest_run(self) -> Json:
        """A search that only the newest run answers."""
        return {"query": f"passed {RUNS_FROM + self.runs}"} if self.runs else {"query": "pytest passed"}

    # -- hooks -------------------------------------------------------------------------------------------------

    def event(self, name: str, **fields: object) -> bytes:
        """What the host gives a hook."""
        common = {
            "hook_event_name": name,
            "session_id": self.thread,
            "transcript_path": str(self.path),
            "cwd": self.world.root,
            "turn_id": "turn-1",
        }
        return json.dumps(common | fields).encode()

    def permit_event(self, tool: str, arguments: Mapping[str, object]) -> tuple[str, bytes]:
        """The id of a new tool use, and what the host gives its hook before it."""
        self.uses += 1
        use = f"call_{self.uses}"
        name = f"mcp__timeline__{tool}"
        return use, self.event("PreToolUse", tool_name=name, tool_input=arguments, tool_use_id=use)

    def start_hook(self, event: bytes) -> tuple[int, socket.socket]:
        """Run a hook; its process and the other end of its input and output."""
        pid, connection = self.host.spawn(
            self.program.script("hooks.py", "codex", self.runtime), leaving=True
        )
        with suppress(BrokenPipeError, ConnectionResetError):  # it was killed before it read
            connection.sendall(event)
            connection.shutdown(socket.SHUT_WR)
        return pid, connection

    def finish_hook(self, pid: int, connection: socket.socket) -> tuple[int, bytes]:
        """How a hook ended, and what it printed."""
        with connection:
            said = read_all(connection)
        return self.host.reap(pid), said

    def hook(self, event: bytes) -> bytes:
        """Run a hook to its end; what it printed.

        Raises:
            AssertionError: it has not ended with 0, as hooks do.
        """
        code, said = self.finish_hook(*self.start_hook(event))
        if code not in {0, -signal.SIGKILL}:
            message = f"a hook ended with {code}"
            raise AssertionError(message)
        return said

    def say_hook(self, event: bytes) -> bytes:
        """The same without the process: the client below the host speaks in its place, and may take its time."""
        with self.host.connect() as connection:
            connection.sendall(f"timeline/1 {self.program.version} hook codex\n".encode() + event)
            connection.shutdown(socket.SHUT_WR)
            return read_all(connection)

    # -- tools -------------------------------------------------------------------------------------------------

    def spawn_relay(self) -> None:
        """Let the host start its MCP server, and write ``initialize``."""
        self.close()
        self.received = b""
        self.relay_pid, self.line = self.host.spawn(self.program.script("relay.py", "codex", self.runtime))
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "chaos", "version": "1"},
        }
        self.uses += 1
        self._write({"id": self.uses, "method": "initialize", "params": hello})

    def begin(self) -> None:
        """Wait for the answer to ``initialize``."""
        if "result" not in self._read(self.uses):
            message = "initialize was refused"
            raise ToolError(message)
        self._write({"method": "notifications/initialized"})

    def start_relay(self) -> None:
        """Both."""
        self.spawn_relay()
        self.begin()

    def call(self, tool: str, arguments: Mapping[str, object], use: str) -> Json:
        """What a tool answers.

        Raises:
            ToolError: the relay refused the call in the daemon's place.
            OSError: the relay is gone.
        """
        self.uses += 1
        meta = {"threadId": self.thread, "sessionId": self.thread, "callId": use}
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        number = self.uses
        self._write({"id": number, "method": "tools/call", "params": params})
        answer = self._read(number)
        if "error" in answer:
            raise ToolError(str(answer["error"].get("message")))
        found: Json = answer["result"]["structuredContent"]
        return found

    def use(
        self, tool: str, arguments: Mapping[str, object], permit: Callable[[bytes], bytes] | None = None
    ) -> tuple[bytes, Json]:
        """A permit and the call that it is for: what the hook printed, and what the tool answered."""
        use, event = self.permit_event(tool, arguments)
        said = (permit or self.hook)(event)
        return said, self.call(tool, arguments, use)

    def _write(self, message: Json) -> None:
        if self.line is None:
            raise ConnectionResetError
        self.line.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def _read(self, number: int) -> Json:
        if self.line is None:
            raise ConnectionResetError
        while True:
            while b"\n" not in self.received:
                piece = self.line.recv(65536)
                if not piece:
                    raise ConnectionResetError
                self.received += piece
            line, _, self.received = self.received.partition(b"\n")
            found: Json = json.loads(line)
            if found.get("id") == number:
                return found


def enrolled_agent(world: World, host: Host, *, seed: int = 0, program: Program = THIS) -> Agent:
    """A session that its owner has enrolled to be followed; its host holds it open, and no relay runs yet."""
    rollout = rollout_of(world, seed=seed)
    path = write_transcript(world, rollout)
    session = real_session(world)
    event = prompt_event(world, rollout.thread_id, str(path))
    receipt = service.receive_prompt(session, "codex", event)
    service.enroll(session, world.root, receipt.id, confirmed=True, follow=True)
    agent = Agent(world, rollout, path, host, program)
    host.hold(agent)
    return agent


def real_session(world: World) -> service.Session:
    """The world's session with the system's clock, as the daemon has it."""
    return service.Session(world.locations, Ports(SystemClock(), SystemEntropy()), world.session.environment)


def folders_of(world: World) -> dict[str, str]:
    """The variables that name a world's folders."""
    return {f"TIMELINE_{name.upper()}_DIR": str(getattr(world.locations, name)) for name in FOLDERS}


def read_all(connection: socket.socket) -> bytes:
    """Everything to the end."""
    connection.settimeout(SECONDS)
    pieces = []
    with suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            pieces.append(piece)
    return b"".join(pieces)
