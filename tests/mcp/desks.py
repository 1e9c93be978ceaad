"""Who answers in place of the daemon: tools that remember what they were asked, and a socket that a relay finds."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timeline.answers import ToolAnswer
from timeline.mcp_server.answered import Tools
from timeline.mcp_server.serving import McpServer

WAIT_SECONDS = 20.0
"""Until a test gives up on what should come at once."""

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "a host", "version": "9"},
}


@dataclass(frozen=True)
class Call:
    """What a tool was asked."""

    name: str
    arguments: Mapping[str, object]
    meta: Mapping[str, object]


Answer = Callable[[Call], ToolAnswer]


def echo(call: Call) -> ToolAnswer:
    """Answer with the arguments."""
    return ToolAnswer({"status": "found", "arguments": dict(call.arguments)})


@dataclass
class Desk:
    """Tools of one connection."""

    answer: Answer = echo
    calls: list[Call] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def closed(self) -> None:
        """The session is over."""
        assert not self.over.is_set()
        self.over.set()

    def begin(
        self, name: str, arguments: Mapping[str, object], meta: Mapping[str, object]
    ) -> Future[ToolAnswer]:
        """Answer one call in a thread of its own."""
        call, future = Call(name, arguments, meta), Future[ToolAnswer]()
        self.calls.append(call)

        def answer() -> None:
            future.set_running_or_notify_cancel()
            try:
                future.set_result(self.answer(call))
            except Exception as error:  # noqa: BLE001  # it is raised where the answer is waited for
                future.set_exception(error)

        threading.Thread(target=answer).start()
        return future


class Host:
    """A host that speaks by hand: one line for each message, and any bytes it likes."""

    def __init__(self, connection: socket.socket) -> None:
        """Speak over a connected socket."""
        connection.settimeout(WAIT_SECONDS)
        self.connection = connection
        self._lines = connection.makefile("rb")

    def send(self, message: object) -> None:
        """Send a message, or bytes as they are, with a newline."""
        content = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.connection.sendall(content + b"\n")

    def ask(self, id_: object, method: str, **params: object) -> None:
        """Send a request."""
        self.send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})

    def call(self, id_: object, name: str = "timeline_status", **arguments: object) -> None:
        """Call a tool."""
        self.ask(id_, "tools/call", name=name, arguments=arguments)

    def read(self) -> Any:
        """Give the next message; `None` at the end."""
        line = self._lines.readline()
        return json.loads(line) if line else None

    def greet(self) -> None:
        """Initialize the session."""
        self.ask("begin", "initialize", **INITIALIZE)
        assert self.read()["id"] == "begin"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def close(self) -> None:
        """Go away."""
        self._lines.close()
        self.connection.close()


class StandIn:
    """A daemon's socket in a folder of its own: greets, and hands MCP sessions to a server."""

    def __init__(self, runtime: Path, server: McpServer, desk: Callable[[], Desk]) -> None:
        """Listen."""
        self.runtime = runtime
        self.server = server
        self.greetings: list[str] = []
        self.connections: list[socket.socket] = []
        self.refuse_with = b""
        self._desk = desk
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(runtime / "daemon.sock"))
        self._listener.listen()
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.settimeout(WAIT_SECONDS)
            line = b""
            while not line.endswith(b"\n"):
                line += connection.recv(1)
            self.greetings.append(line.decode().strip())
            if line.split()[2] == b"ask":
                while connection.recv(4096):
                    pass
                connection.sendall(b"{}")
                connection.close()
            elif self.refuse_with:
                connection.sendall(self.refuse_with)
                self.refuse_with = b""
                connection.close()
            else:
                connection.settimeout(None)
                self.connections.append(connection.dup())
                self.server.serve(connection, b"", self._desk())

    def cut(self) -> None:
        """End every session as a killed daemon does, and go on listening."""
        while self.connections:
            connection = self.connections.pop()
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def close(self) -> None:
        """Stop listening, and end every session."""
        with suppress(FileNotFoundError):
            (self.runtime / "daemon.sock").unlink()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        self.cut()


def _end(tools: Tools) -> None:
    assert isinstance(tools, Desk)
    tools.closed()


@contextmanager
def serving(version: str = "1.2.3", *, faults: list[tuple[str, str]] | None = None) -> Iterator[McpServer]:
    """Give a server; in the end there was no fault but those that the test expects."""
    told: list[tuple[str, str]] = []
    server = McpServer(version, lambda place, error: told.append((place, error)), _end)
    try:
        yield server
    finally:
        server.stop()
    assert told == (faults or [])


def connect(server: McpServer, desk: Desk, begun: bytes = b"") -> Host:
    """Hand one end of a new connection to a server, and give the other to a host."""
    ours, theirs = socket.socketpair()
    server.serve(theirs, begun, desk)
    return Host(ours)
