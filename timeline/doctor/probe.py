"""Speaks to the MCP server as a host would: starts the configured relay, and asks for its tools within a deadline."""

import os
import selectors
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Final

import msgspec

from timeline import __version__
from timeline.clock import Stopwatch
from timeline.doctor.facts import ProbeFact

PROBE_SECONDS: Final = 10.0
"""How long the server may take in all: the first session of a daemon loads the protocol's library."""

END_SECONDS: Final = 2.0
"""How long the relay may take to end once its input is closed."""

ANSWER_BYTES_MAX: Final = 256 * 1024
"""Bytes of all answers together; the list of tools has some 4 KB."""

_LIST_ID: Final = 2


class _Answer(msgspec.Struct):
    """A line of JSON-RPC, as far as it is looked at."""

    id: int | str | None = None
    result: dict[str, Any] | None = None


_DECODER: Final = msgspec.json.Decoder(_Answer)


def probe_server(
    words: Sequence[str],
    environment: Mapping[str, str],
    stopwatch: Stopwatch,
    *,
    seconds: float = PROBE_SECONDS,
) -> ProbeFact:
    """Start the server, initialize it, list its tools, and end it.

    What goes wrong is a reason code: ``server-not-started``, ``server-ended``, ``server-silent``, ``answer-invalid``.
    """
    end = stopwatch.seconds() + seconds
    try:
        process = subprocess.Popen(  # noqa: S603  # the words that stand in the host's configuration, and no shell
            list(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
        )
    except (OSError, ValueError):
        return ProbeFact(reason="server-not-started")
    try:
        return _talk(process, end, stopwatch)
    finally:
        _finish(process)


def _talk(process: "subprocess.Popen[bytes]", end: float, stopwatch: Stopwatch) -> ProbeFact:
    given, answers = process.stdin, process.stdout
    if given is None or answers is None:
        raise RuntimeError("a process started with pipes has pipes")
    with suppress(BrokenPipeError):  # what it said before it ended is read below
        given.write(_questions())
        given.flush()
    content = b""
    with selectors.DefaultSelector() as selector:
        selector.register(answers, selectors.EVENT_READ)
        while len(content) < ANSWER_BYTES_MAX:
            if not selector.select(max(0.0, end - stopwatch.seconds())):
                return ProbeFact(reason="server-silent")
            piece = _read(answers)
            content += piece
            found = _tools_in(content)
            if found is not None:
                return found
            if not piece:
                return ProbeFact(reason="server-ended")
    return ProbeFact(reason="answer-invalid")


def _read(answers: IO[bytes]) -> bytes:
    return os.read(answers.fileno(), ANSWER_BYTES_MAX)


def _questions() -> bytes:
    client = {"name": "timeline-doctor", "version": __version__}
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": _LIST_ID, "method": "tools/list"},
    ]
    return b"".join(msgspec.json.encode(message) + b"\n" for message in messages)


def _tools_in(content: bytes) -> ProbeFact | None:
    """The answer to the list, once its whole line is there; other whole lines are looked over."""
    for line in content.split(b"\n")[:-1]:
        try:
            answer = _DECODER.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return ProbeFact(reason="answer-invalid")
        if answer.id == _LIST_ID:
            tools = (answer.result or {}).get("tools")
            if not isinstance(tools, list):
                return ProbeFact(reason="answer-invalid")
            names = (tool.get("name") for tool in tools if isinstance(tool, dict))
            return ProbeFact(tuple(name for name in names if isinstance(name, str)))
    return None


def _finish(process: "subprocess.Popen[bytes]") -> None:
    """End it as a host does: close its input, and only where it stays, kill it."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
