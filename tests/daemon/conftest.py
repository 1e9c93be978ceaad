"""A running daemon in this process, on its real socket, with a host process that the system shows as one."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.simulators.host_process import SECONDS, HostProcess, host_process
from tests.simulators.hosts import CodexRollout
from tests.simulators.worlds import World, consent, new_world, rollout_of, write_transcript
from timeline import __version__, service
from timeline.clock import SystemStopwatch
from timeline.daemon.desk import FrontDesk
from timeline.daemon.server import Server
from timeline.daemon.toolbox import Toolbox
from timeline.diary import Diary, read_diary


@dataclass
class FakeMcp:
    """Takes connections and keeps their tools, so that a test calls them without the protocol."""

    toolboxes: list[Toolbox] = field(default_factory=list)
    preloaded: threading.Event = field(default_factory=threading.Event)
    connections: list[socket.socket] = field(default_factory=list)
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def serve(self, connection: socket.socket, begun: bytes, tools: Toolbox) -> None:
        """Keep them."""
        del begun
        self.connections.append(connection)
        self.toolboxes.append(tools)
        self.arrived.release()

    def preload(self) -> None:
        """Note it."""
        self.preloaded.set()

    def stop(self) -> None:
        """Close everything."""
        for connection in self.connections:
            connection.close()


@dataclass
class RunningDaemon:
    """The daemon of one world, and the host that its sessions run in."""

    world: World
    desk: FrontDesk
    mcp: FakeMcp
    host: HostProcess
    rollout: CodexRollout
    path: Path
    open: ExitStack

    @property
    def thread(self) -> str:
        """The session's thread."""
        return self.rollout.thread_id

    def say(self, first: str, body: bytes, *, host: HostProcess | None = None) -> bytes:
        """One request from a client below the host; the whole answer."""
        with (host or self.host).connect(self.world.locations.socket) as connection:
            connection.sendall(f"timeline/1 {__version__} {first}\n".encode() + body)
            connection.shutdown(socket.SHUT_WR)
            pieces = []
            while piece := connection.recv(65536):
                pieces.append(piece)
        return b"".join(pieces)

    def hook(self, event: str, *, host: HostProcess | None = None, **fields: object) -> dict[str, Any] | None:
        """What a hook of this session prints, as JSON; ``None`` for nothing."""
        content = {
            "hook_event_name": event,
            "session_id": self.thread,
            "transcript_path": str(self.path),
            "cwd": self.world.root,
            "turn_id": "turn-1",
            **fields,
        }
        answer = self.say("hook codex", json.dumps(content).encode(), host=host)
        return json.loads(answer) if answer else None

    def permit(
        self, tool: str, arguments: Mapping[str, object], call: str, **fields: object
    ) -> dict[str, Any] | None:
        """What PreToolUse prints for one of our tools."""
        return self.hook(
            "PreToolUse",
            tool_name=f"mcp__timeline__{tool}",
            tool_input=arguments,
            tool_use_id=call,
            **fields,
        )

    def relay(self, *, host: HostProcess | None = None) -> Toolbox:
        """The tools of a new MCP connection from below the host."""
        connection = self.open.enter_context((host or self.host).connect(self.world.locations.socket))
        connection.sendall(f"timeline/1 {__version__} mcp codex\n".encode())
        assert self.mcp.arrived.acquire(timeout=SECONDS)
        return self.mcp.toolboxes[-1]

    def meta(self, call: str, thread: str | None = None) -> dict[str, object]:
        """What Codex says in a tool call."""
        return {"threadId": thread or self.thread, "sessionId": self.thread, "callId": call}

    def ask(self, what: str) -> dict[str, Any]:
        """A question to the daemon."""
        found: dict[str, Any] = json.loads(self.say("ask", json.dumps({"ask": what}).encode()))
        return found

    def settle(self) -> None:
        """Wait until the worker has nothing to do."""
        assert self.desk._shared.worker.drain(SECONDS)

    def diary(self, event: str) -> list[dict[str, Any]]:
        """The fields of every line of one kind."""
        return [
            dict(entry.fields) for entry in read_diary(self.world.locations.diary) if entry.event == event
        ]

    def enroll(self, *, follow: bool = True) -> None:
        """The owner consents in a command of their own, and what is there is indexed."""
        consent(self.world, self.rollout, self.path, turn="turn-0", follow=follow)
        service.index(self.world.session, self.world.root)

    def hold(self, thread: str | None = None, path: Path | None = None) -> None:
        """Let the host hold a thread open: its transcript and its writer lock."""
        locks = self.world.home / ".codex" / "thread-writer-locks"
        locks.mkdir(exist_ok=True)
        self.host.hold(path or self.path)
        self.host.hold(locks / f"{thread or self.thread}.lock")


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give a new timeline in a folder with a short name, as a socket needs."""
    return new_world(tmp_path_factory.mktemp("d"))


@pytest.fixture
def daemon(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningDaemon]:
    """Give a running daemon on a timeline with a session that its host holds open and nobody has enrolled."""
    # What a hook may take is no matter of these tests, which share the machine with others.
    monkeypatch.setattr("timeline.daemon.reception.HOOK_SECONDS", SECONDS)
    monkeypatch.setattr("timeline.daemon.reception.REMINDER_SECONDS", SECONDS)
    monkeypatch.setattr("timeline.daemon.reception.CLAIMS_SECONDS", SECONDS)
    rollout = rollout_of(world)
    with running_daemon(world, rollout, write_transcript(world, rollout)) as found:
        yield found


@contextmanager
def running_daemon(world: World, rollout: CodexRollout, path: Path) -> Iterator[RunningDaemon]:
    """Run a daemon until the end of the block; another one on the same timeline may run after it."""
    environment = {"HOME": str(world.home), "CODEX_HOME": str(world.home / ".codex")}
    with ExitStack() as stack:
        host = stack.enter_context(host_process("codex", environment))
        mcp = FakeMcp()
        world.locations.runtime.mkdir(mode=0o700, exist_ok=True)
        stops: list[Callable[[], None]] = []

        def stop() -> None:
            stops[0]()

        desk = FrontDesk(world.session, Diary(world.locations.diary), lambda _fault, _end: mcp, stop)
        server = Server(world.locations.socket, desk, SystemStopwatch())
        stops.append(server.stop)
        desk.start()
        thread = threading.Thread(target=server.run)
        thread.start()
        found = RunningDaemon(world, desk, mcp, host, rollout, path, stack)
        found.hold()
        try:
            yield found
        finally:
            server.stop()
            thread.join(SECONDS)
            desk.close()
        assert not thread.is_alive()


def answered(toolbox: Toolbox, tool: str, arguments: Mapping[str, object], meta: Mapping[str, object]) -> Any:
    """What a tool answers, as plain values."""
    return msgspec.to_builtins(toolbox.begin(tool, arguments, meta).result(SECONDS).structured)
