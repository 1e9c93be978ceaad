"""Speaking to an MCP server as a host does: real processes that answer well, badly, or not at all."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from timeline.clock import SystemStopwatch
from timeline.doctor import probe
from timeline.doctor.probe import probe_server

ANSWER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"serverInfo": {}}}), flush=True)
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}), flush=True)
    if asked["method"] == "tools/list":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": TOOLS}}), flush=True)
"""
TWO = "TOOLS = [{'name': 'a'}, {'name': 'b'}]"


class Passed:
    """A stopwatch by which each look finds the deadline over."""

    def __init__(self) -> None:
        """Begin at zero."""
        self.at = 0.0

    def seconds(self) -> float:
        """An hour more each time."""
        self.at += 3600.0
        return self.at


def server(program: str) -> tuple[str, ...]:
    """Give the command line of a server."""
    return (sys.executable, "-I", "-S", "-c", program)


def test_the_tools_of_a_server_are_named() -> None:
    """Initialized first, as hosts do; what it says between is passed over."""
    found = probe_server(server(TWO + ANSWER), {}, SystemStopwatch())
    assert (found.tools, found.reason) == (("a", "b"), None)


def test_the_conversation_is_that_of_a_host(tmp_path: Path) -> None:
    """Three messages in order, each one line; the variables of the host's configuration are there."""
    log = tmp_path / "log"
    note = f"import os\nopen({str(log)!r}, 'w').write(os.environ['MARK'] + chr(10))\n"
    keep = ANSWER.replace("    asked =", f"    open({str(log)!r}, 'a').write(line); asked =", 1)
    probe_server(server(note + TWO + keep), {"MARK": "here"}, SystemStopwatch())
    mark, *lines = log.read_text(encoding="utf-8").rstrip("\n").split("\n")
    assert mark == "here"
    asked = [json.loads(line) for line in lines]
    assert [message["method"] for message in asked] == [
        "initialize",
        "notifications/initialized",
        "tools/list",
    ]
    assert asked[0]["params"]["protocolVersion"] == "2025-06-18"
    assert all(message["jsonrpc"] == "2.0" for message in asked)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("", "server-ended"),
        ("print('hello', flush=True); input()", "answer-invalid"),
        ('print(\'{"id": 2, "error": {}}\', flush=True); input()', "answer-invalid"),
        ('print(\'{"id": 2, "result": {"tools": 1}}\', flush=True); input()', "answer-invalid"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush(); input()", "answer-invalid"),
    ],
    ids=["ends", "prints text", "refuses", "no list", "no text"],
)
def test_a_server_that_answers_badly_has_a_reason(program: str, reason: str) -> None:
    """Nothing is raised, and nothing it said is shown."""
    assert probe_server(server(program), {}, SystemStopwatch()).reason == reason


def test_a_server_without_an_end_to_its_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many bytes and no more."""
    monkeypatch.setattr(probe, "ANSWER_BYTES_MAX", 1000)
    endless = "import sys; sys.stdout.write('x' * 5000); sys.stdout.flush(); sys.stdin.read()"
    assert probe_server(server(endless), {}, SystemStopwatch()).reason == "answer-invalid"


@pytest.mark.parametrize("words", [("/w/no/such/program",), ("",), ("a\0b",)])
def test_a_program_that_is_not_there_has_a_reason(words: tuple[str, ...]) -> None:
    """As after an update that moved it."""
    assert probe_server(words, {}, SystemStopwatch()).reason == "server-not-started"


def test_a_silent_server_is_given_up_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the deadline; one that stays although its input is closed is killed."""
    started: list[subprocess.Popen[bytes]] = []

    class Recorded(subprocess.Popen):  # type: ignore[type-arg]  # of bytes, as the program's
        def __init__(self, *arguments: object, **named: object) -> None:
            super().__init__(*arguments, **named)  # type: ignore[call-overload]  # handed on as they are
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    monkeypatch.setattr(probe, "END_SECONDS", 0.0)
    assert probe_server(server("import signal; signal.pause()"), {}, Passed()).reason == "server-silent"
    assert [process.returncode for process in started] == [-signal.SIGKILL]
