"""Telling Codex that its user trusts our hooks, through the host's own `app-server`.

Codex skips a hook without a word until its user has trusted exactly this command. The host computes the hash and
writes its own configuration; we only name the hooks, and only those that we have installed, in the file that we have
changed. JSON-RPC, one message a line; everything within one deadline.
"""

import json
import os
import selectors
import subprocess
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from timeline.clock import Stopwatch
from timeline.install.errors import HookTrustError

_LINE_BYTES_MAX: Final = 8 * 1024 * 1024
_READ_BYTES: Final = 64 * 1024
_END_SECONDS: Final = 5.0
_WANTING: Final = ("untrusted", "modified")


def trust_hooks(
    program: Sequence[str],
    *,
    file: Path,
    commands: Collection[str],
    cwd: Path,
    environment: Mapping[str, str],
    deadline_seconds: float,
    stopwatch: Stopwatch,
) -> tuple[str, ...]:
    """Have the hooks of ``file`` that run one of ``commands`` trusted; returns the keys that were not before.

    ``program`` is the host's command, such as ``("codex",)``.

    Raises:
        HookTrustError: the host cannot be started or asked, does not list every hook, or does not trust them after.
    """
    server = _Server([*program, "app-server"], environment, stopwatch, deadline_seconds)
    try:
        server.ask("initialize", {"clientInfo": {"name": "timeline", "version": "1"}})
        server.tell("initialized")
        ours = _ours(server.ask("hooks/list", {"cwds": [str(cwd)]}), file, commands)
        wanting = {
            str(hook["key"]): {"trusted_hash": hook["currentHash"]}
            for hook in ours
            if hook.get("trustStatus") in _WANTING
        }
        if wanting:
            edit = {"keyPath": "hooks.state", "value": wanting, "mergeStrategy": "upsert"}
            server.ask("config/batchWrite", {"edits": [edit]})
            ours = _ours(server.ask("hooks/list", {"cwds": [str(cwd)]}), file, commands)
        if any(hook.get("trustStatus") in _WANTING for hook in ours):
            message = "codex: does not trust the hooks after it was told to"
            raise HookTrustError(message)
        return tuple(wanting)
    finally:
        server.end()


def _ours(answer: Any, file: Path, commands: Collection[str]) -> list[dict[str, Any]]:  # noqa: ANN401  # the host's JSON
    """The listed hooks that are ours, each with key and hash."""
    found = [
        hook
        for entry in _list(answer, "data")
        for hook in _list(entry, "hooks")
        if isinstance(hook, dict)
        and hook.get("command") in commands
        and os.path.realpath(str(hook.get("sourcePath"))) == os.path.realpath(file)
        and isinstance(hook.get("key"), str)
        and isinstance(hook.get("currentHash"), str)
    ]
    if not found:
        message = f"codex: lists none of our hooks in {file}"
        raise HookTrustError(message)
    return found


def _list(value: Any, key: str) -> list[Any]:  # noqa: ANN401  # the host's JSON
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


class _Server:
    """A child that answers questions over its standard streams, until a moment."""

    def __init__(
        self, words: Sequence[str], environment: Mapping[str, str], stopwatch: Stopwatch, seconds: float
    ) -> None:
        self._stopwatch = stopwatch
        self._until = stopwatch.seconds() + seconds
        self._pending = b""
        self._number = 0
        try:
            self._process = subprocess.Popen(  # noqa: S603  # the owner's own host, without a shell
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(environment),
                bufsize=0,
            )
        except OSError as error:
            message = f"{words[0]}: cannot be started"
            raise HookTrustError(message) from error

    def ask(self, method: str, parameters: dict[str, Any]) -> Any:  # noqa: ANN401  # the host's JSON
        """The result of a request; what the host says besides is passed over."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": parameters})
        while True:
            message = self._receive(method)
            if isinstance(message, dict) and message.get("id") == self._number and "method" not in message:
                if "error" in message:
                    text = f"codex: refuses {method}"
                    raise HookTrustError(text)
                return message.get("result")

    def tell(self, method: str) -> None:
        """A notification."""
        self._send({"method": method})

    def end(self) -> None:
        """Close the child's input, and stop it if that does not end it while there is time."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        try:
            self._process.wait(max(0.0, min(_END_SECONDS, self._until - self._stopwatch.seconds())))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _send(self, message: dict[str, Any]) -> None:
        stream = self._process.stdin
        try:
            if stream is not None:
                stream.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        except OSError as error:
            text = "codex: ended before it was asked"
            raise HookTrustError(text) from error

    def _receive(self, method: str) -> Any:  # noqa: ANN401  # the host's JSON
        while b"\n" not in self._pending:
            piece = self._read(method)
            self._pending += piece
            if not piece or len(self._pending) > _LINE_BYTES_MAX:
                text = f"codex: no answer to {method}"
                raise HookTrustError(text)
        line, _, self._pending = self._pending.partition(b"\n")
        try:
            return json.loads(line)
        except (ValueError, RecursionError):
            return None

    def _read(self, method: str) -> bytes:
        stream = self._process.stdout
        if stream is None:
            return b""
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            if not selector.select(max(0.0, self._until - self._stopwatch.seconds())):
                text = f"codex: no answer to {method} in time"
                raise HookTrustError(text)
        return os.read(stream.fileno(), _READ_BYTES)
