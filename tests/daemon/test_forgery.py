"""What a command of the model says to the daemon when it plays the host: made-up words open nothing (T15, X1)."""

import json
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing

import pytest

from tests.daemon.conftest import RunningDaemon, answered
from tests.simulators.host_process import SECONDS, host_process
from timeline import __version__, service
from timeline.hosts import CAPABILITY_VARIABLE, TRANSPORT_SESSION_VARIABLE

SEARCH = "session_timeline_search"
ARGUMENTS = {"query": "pytest passed"}

_CONNECT = """
import os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
socket.send_fds(socket.socket(fileno=os.dup(0)), [b"x"], [connection.fileno()])
os.read(0, 1)
"""


def connect_with(
    daemon: RunningDaemon, environment: Mapping[str, str]
) -> tuple[socket.socket, socket.socket]:
    """A connection of a command below the host, in a session of its own; the second one ends the command."""
    words = [f"{name}={value}" for name, value in environment.items()]
    code = [sys.executable, "-I", "-S", "-c", _CONNECT, str(daemon.world.locations.socket)]
    _, control = daemon.host.spawn(["/usr/bin/env", "-i", *words, *code], leaving=True)
    _, descriptors, _, _ = socket.recv_fds(control, 16, 1)
    connection = socket.socket(fileno=descriptors[0])
    connection.settimeout(SECONDS)
    return connection, control


def capability(secret: str, session: str) -> dict[str, str]:
    """What a launcher puts into an environment."""
    return {CAPABILITY_VARIABLE: f"astc_{secret * 43}", TRANSPORT_SESSION_VARIABLE: session}


def hook_with(daemon: RunningDaemon, environment: Mapping[str, str], **fields: object) -> str:
    """What a hook with this environment prints."""
    event = {"session_id": daemon.thread, "transcript_path": str(daemon.path), "cwd": daemon.world.root}
    connection, control = connect_with(daemon, environment)
    with closing(control), connection:
        connection.sendall(f"timeline/1 {__version__} hook codex\n".encode())
        connection.sendall(json.dumps({**event, **fields}).encode())
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("r", encoding="utf-8") as answer:
            return answer.read()


def permit_with(daemon: RunningDaemon, environment: Mapping[str, str]) -> str:
    """What PreToolUse prints for a search."""
    return hook_with(
        daemon,
        environment,
        hook_event_name="PreToolUse",
        tool_name=f"mcp__timeline__{SEARCH}",
        tool_input=ARGUMENTS,
        tool_use_id="call_1",
    )


@pytest.fixture
def launched(daemon: RunningDaemon) -> Iterator[RunningDaemon]:
    """Let the host be one that a launcher has started with a capability of this session."""
    with host_process("codex", capability("L", daemon.thread)) as host:
        daemon.host, before = host, daemon.host
        yield daemon
        daemon.host = before


@pytest.mark.requirement("T15", "X1")
def test_a_capability_that_a_command_has_made_up_is_none(daemon: RunningDaemon) -> None:
    """Hook and relay carry the same; but no launcher has started the host with it."""
    daemon.enroll()
    carried = capability("x", daemon.thread)
    assert "local-transport-capability-required" in permit_with(daemon, carried)
    connection, control = connect_with(daemon, carried)
    with closing(control), connection:
        connection.sendall(f"timeline/1 {__version__} mcp codex\n".encode())
        assert daemon.mcp.arrived.acquire(timeout=SECONDS)
        found = answered(daemon.mcp.toolboxes[-1], SEARCH, ARGUMENTS, {})
        assert found["reason"] == "local-transport-capability-required"


@pytest.mark.requirement("T15", "X1")
def test_the_launchers_capability_permits(launched: RunningDaemon) -> None:
    """The host was started with it, and hook and relay carry it."""
    launched.enroll()
    assert permit_with(launched, capability("x", launched.thread)) != ""
    carried = capability("L", launched.thread)
    assert permit_with(launched, carried) == ""
    connection, control = connect_with(launched, carried)
    with closing(control), connection:
        connection.sendall(f"timeline/1 {__version__} mcp codex\n".encode())
        assert launched.mcp.arrived.acquire(timeout=SECONDS)
        found = answered(launched.mcp.toolboxes[-1], SEARCH, ARGUMENTS, {})
    assert (found["status"], found["transport"]) == ("found", "capability")


@pytest.mark.requirement("T6")
def test_a_session_that_a_model_has_started_is_the_owners_to_enroll(daemon: RunningDaemon) -> None:
    """A model that runs `codex exec` in a project with a standing consent: its prompt is nobody's word."""
    home = {"HOME": str(daemon.world.home), "CODEX_HOME": str(daemon.world.home / ".codex")}
    with host_process("codex", {**home, "CODEX_THREAD_ID": "of-the-model"}) as nested:
        assert daemon.hook("UserPromptSubmit", prompt="search", host=nested) is None
    (receipt,) = service.list_receipts(daemon.world.session, daemon.world.root)
    assert not receipt.attested


@pytest.mark.requirement("X1")
def test_what_no_host_says_is_not_remembered(daemon: RunningDaemon) -> None:
    """Neither a path that is none nor words that a terminal would obey; and nobody waits while it is looked at."""
    for fields in (
        {"cwd": "/a" * 400_000},
        {"cwd": "/a\x1b[2J"},
        {"transcript_path": "/" + "b" * 400_000},
        {"session_id": "s\x1b]0;x\x07"},
    ):
        assert daemon.hook("SessionStart", **fields) is None
        assert daemon.hook("UserPromptSubmit", **fields) is None
    assert daemon.ask("status")["activity"]["sessions"] == []
