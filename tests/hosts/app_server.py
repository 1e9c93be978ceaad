"""Codex's shared process: one ``codex app-server`` that serves every session, as an editor or the desktop starts it.

The terminal program uses the same server, as a background process over a socket.
"""

import json
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from queue import Empty, Queue
from subprocess import TimeoutExpired
from typing import IO, Any, Final

from tests.hosts.drivers import Codex
from tests.hosts.machine import Machine
from tests.hosts.turn import WAIT_SECONDS, Turn

FAILED: Final = 1
HOOKS_LOG: Final = "hooks.out"
"""What hooks said that have ended, as a program that uses the server is told."""


class Server:
    """A running app server, spoken to over its standard input and output: JSON-RPC, a line each."""

    def __init__(self, command: list[str], machine: Machine, variables: Mapping[str, str]) -> None:
        self._answers: dict[int, Queue[dict[str, Any]]] = {}
        self._turns: dict[str, Queue[int]] = {}
        self._told = machine.logs / HOOKS_LOG
        with (machine.logs / "app-server.err").open("ab") as errors:
            self.process = subprocess.Popen(
                command,
                cwd=machine.project,
                env=machine.environment() | variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._out: IO[bytes] = self.process.stdin
        threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True).start()
        client = {"name": "timeline-tests", "title": "Timeline tests", "version": "1"}
        self.ask("initialize", {"clientInfo": client, "capabilities": None})
        self._send({"method": "initialized"})

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of one request.

        Raises:
            AssertionError: it was refused, or not answered in time.
        """
        number = len(self._answers)
        self._answers[number] = Queue()
        self._send({"id": number, "method": method, "params": params})
        try:
            answer = self._answers[number].get(timeout=WAIT_SECONDS)
        except Empty:
            raise AssertionError(f"{method}: no answer from the app server") from None
        if "result" not in answer:
            raise AssertionError(f"{method}: {json.dumps(answer.get('error'))[:300]}")
        result: dict[str, Any] = answer["result"]
        return result

    def trust_hooks(self, folder: str) -> int:
        """Trust every hook of a project, as its user does with ``/hooks``: how many there were."""
        listed = self.ask("hooks/list", {"cwds": [folder]})["data"]
        hashes = {
            hook["key"]: {"trusted_hash": hook["currentHash"]} for entry in listed for hook in entry["hooks"]
        }
        edit = {"keyPath": "hooks.state", "value": hashes, "mergeStrategy": "upsert"}
        self.ask("config/batchWrite", {"edits": [edit], "reloadUserConfig": True})
        return len(hashes)

    def begin(self, thread: str, prompt: str) -> Queue[int]:
        """Give a thread a prompt; the queue gets 0 at the end of the turn, or something else if it failed."""
        self._turns[thread] = Queue()
        self.ask("turn/start", {"threadId": thread, "input": [{"type": "text", "text": prompt}]})
        return self._turns[thread]

    def _send(self, message: Mapping[str, Any]) -> None:
        self._out.write(json.dumps(message).encode() + b"\n")
        self._out.flush()

    def _read(self, lines: IO[bytes]) -> None:
        for line in lines:
            message = json.loads(line)
            if "method" not in message:
                self._answers[message["id"]].put(message)
            elif message["method"] == "hook/completed":
                with self._told.open("a", encoding="utf-8") as told:
                    told.write(json.dumps(message["params"]) + "\n")
            elif message["method"] == "turn/completed":
                ended = message["params"]["turn"]["status"]
                self._turns[message["params"]["threadId"]].put(0 if ended == "completed" else FAILED)


class ServedTurn:
    """A turn in a thread of a server that goes on."""

    def __init__(self, thread: str, server: Server, ended: Queue[int]) -> None:
        self.args = f"thread {thread}"
        self._server = server
        self._ended = ended
        self._code: int | None = None

    def poll(self) -> int | None:
        """How the turn ended, or ``None``."""
        if self._code is None and self._server.process.poll() is not None:
            self._code = FAILED
        if self._code is None and not self._ended.empty():
            self._code = self._ended.get()
        return self._code

    def wait(self, timeout: float) -> int:
        """How the turn ended."""
        if self.poll() is None:
            try:
                self._code = self._ended.get(timeout=timeout)
            except Empty:
                raise TimeoutExpired(self.args, timeout) from None
        return FAILED if self._code is None else self._code

    def kill(self) -> None:
        """The server ends with the case."""


@dataclass(slots=True)
class SharedCodex(Codex):
    """``codex app-server``: every session is a thread of one process, and all stay open."""

    has_forks: bool = field(default=False, init=False)
    keeps_hooks: bool = field(default=True, init=False)
    shows_claims: bool = field(default=True, init=False)
    _server: Server | None = field(default=None, init=False)

    def server(self, machine: Machine) -> Server:
        """The one server, started now if it is not running."""
        if self._server is None:
            command = [str(machine.program), *self.flags, "app-server"]
            self._server = Server(command, machine, self.variables(machine))
        return self._server

    def start(self, machine: Machine, turn: str, prompt: str, *, resume: str | None = None) -> Turn:
        """``thread/start`` where none is named, then ``turn/start``."""
        server = self.server(machine)
        thread = resume or server.ask("thread/start", {"cwd": str(machine.project)})["thread"]["id"]
        return ServedTurn(thread, server, server.begin(thread, prompt))
