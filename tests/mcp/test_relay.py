"""The relay as a host starts it: a process between two pipes and the daemon's socket."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.mcp.desks import INITIALIZE, WAIT_SECONDS, Desk, StandIn
from tests.mcp.test_session import Gate
from timeline import __version__
from timeline.limits import MCP_DRAIN_SECONDS, MCP_LINE_BYTES_MAX
from timeline.mcp_server.catalogue import TOOLS
from timeline.mcp_server.serving import McpServer
from timeline.relay import END_MS, LINE_BYTES_MAX, members

ROOT = Path(__file__).resolve().parents[2]
RELAY = ROOT / "timeline" / "relay.py"
LIGHT = (sys.executable, "-I", "-S", "-E", "-B")
AWAY = -32000


class Relayed:
    """A host that has started the relay."""

    def __init__(self, runtime: Path, *more: str) -> None:
        """Start it."""
        self.process = subprocess.Popen(
            [*LIGHT, *(more or (str(RELAY),)), "codex", str(runtime)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def send(self, message: object) -> None:
        """Send a message, or bytes as they are, with a newline."""
        assert self.process.stdin is not None
        content = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(content + b"\n")
        self.process.stdin.flush()

    def ask(self, id_: object, method: str, **params: object) -> None:
        """Send a request."""
        self.send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})

    def call(self, id_: object, name: str = "timeline_status", **arguments: object) -> None:
        """Call a tool."""
        self.ask(id_, "tools/call", name=name, arguments=arguments)

    def read(self) -> Any:
        """Give the next message; `None` at the end."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def greet(self) -> None:
        """Initialize the session."""
        self.ask("begin", "initialize", **INITIALIZE)
        assert self.read()["id"] == "begin"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def end(self) -> tuple[int, bytes, bytes]:
        """Close the relay's input: exit code, what was left of its output, and its complaints."""
        out, err = self.process.communicate(timeout=WAIT_SECONDS)
        return self.process.returncode, out, err


@pytest.fixture
def desks() -> list[Desk]:
    """Give the tools of each connection, in their order; those that a test has put here come first."""
    return []


@pytest.fixture
def daemon(runtime: Path, server: McpServer, desks: list[Desk]) -> Iterator[StandIn]:
    """Give a daemon's socket."""
    served = iter(range(99))

    def next_desk() -> Desk:
        number = next(served)
        while len(desks) <= number:
            desks.append(Desk())
        return desks[number]

    stand_in = StandIn(runtime, server, next_desk)
    yield stand_in
    stand_in.close()


@pytest.fixture
def relayed(daemon: StandIn) -> Iterator[Relayed]:
    """Give a host whose relay has the daemon's socket."""
    relayed = Relayed(daemon.runtime)
    yield relayed
    if relayed.process.poll() is None:
        relayed.process.kill()
    relayed.process.communicate()


def test_it_greets_carries_and_ends_with_its_host(
    relayed: Relayed, daemon: StandIn, desks: list[Desk]
) -> None:
    """Exit code 0, and nothing on standard error."""
    relayed.greet()
    relayed.call(1, query="a")
    assert relayed.read()["result"]["structuredContent"]["arguments"] == {"query": "a"}
    assert relayed.end() == (0, b"", b"")
    assert daemon.greetings == [f"timeline/1 {__version__} mcp codex"]
    assert desks[0].over.wait(WAIT_SECONDS)


def test_the_client_of_the_sdk_works_over_it(daemon: StandIn) -> None:
    """As a host of another make would."""

    async def use() -> None:
        parameters = StdioServerParameters(
            command=LIGHT[0], args=[*LIGHT[1:], str(RELAY), "kimi", str(daemon.runtime)]
        )
        with anyio.fail_after(WAIT_SECONDS):
            async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
                await session.initialize()
                assert len((await session.list_tools()).tools) == len(TOOLS)
                answer = await session.call_tool("session_timeline_search", {"query": "pytest failed"})
                assert answer.model_dump()["is_error"] is False

    anyio.run(use)
    assert daemon.greetings == [f"timeline/1 {__version__} mcp kimi"]


@pytest.mark.requirement("X1")
def test_the_daemon_sees_the_relay_itself_at_the_socket(relayed: Relayed, daemon: StandIn) -> None:
    """No process in between: the peer's parent is the host."""
    import socket
    import struct

    relayed.greet()
    if not hasattr(socket, "SO_PEERCRED"):
        pytest.skip("no SO_PEERCRED on this system")
    found = daemon.connections[0].getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    assert struct.unpack("3i", found)[0] == relayed.process.pid


def test_a_message_of_a_megabyte_passes_and_a_longer_one_is_refused(
    relayed: Relayed, desks: list[Desk]
) -> None:
    """Larger than any pipe, both ways; the session goes on."""
    relayed.greet()
    relayed.call(1, query="x" * (MCP_LINE_BYTES_MAX - 200))
    assert relayed.read()["id"] == 1
    relayed.send(b"x" * 3 * LINE_BYTES_MAX)
    refused = relayed.read()
    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    relayed.ask(2, "ping")
    assert relayed.read()["id"] == 2
    assert len(str(desks[0].calls[0].arguments["query"])) > 1_000_000


@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_relay_ends_its_session(relayed: Relayed, desks: list[Desk], signal_: int) -> None:
    """The daemon keeps nothing of it."""
    relayed.greet()
    os.kill(relayed.process.pid, signal_)
    assert desks[0].over.wait(WAIT_SECONDS)


def test_a_host_that_is_gone_takes_the_relay_with_it(daemon: StandIn, desks: list[Desk]) -> None:
    """Even one whose end of standard input somebody else still holds open: nobody reads the answers."""
    reading, writing = os.pipe()
    relayed = subprocess.Popen(
        [*LIGHT, str(RELAY), "codex", str(daemon.runtime)], stdin=reading, stdout=subprocess.PIPE
    )
    os.close(reading)
    os.write(writing, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert relayed.stdout is not None
    assert relayed.stdout.readline()
    relayed.stdout.close()
    assert relayed.wait(WAIT_SECONDS) == 0
    assert desks[0].over.wait(WAIT_SECONDS)
    os.close(writing)


def test_what_is_under_way_when_the_host_closes_is_still_answered(
    relayed: Relayed, desks: list[Desk]
) -> None:
    """As with `printf … | timeline mcp codex`."""
    gate = Gate()
    desks.append(Desk(gate))
    # Prepared before the relay's first line: the desk is taken when the daemon accepts.
    relayed.greet()
    relayed.call(1)
    assert relayed.process.stdin is not None
    relayed.process.stdin.close()
    relayed.process.stdin = None
    gate.open.set()
    code, out, err = relayed.end()
    assert (code, err) == (0, b"")
    assert json.loads(out)["result"]["isError"] is False
    assert END_MS > MCP_DRAIN_SECONDS * 1000


def test_a_daemon_that_dies_while_nothing_is_asked_is_not_missed(
    relayed: Relayed, daemon: StandIn, desks: list[Desk]
) -> None:
    """The next daemon hears `initialize` again, and the host hears nothing of it."""
    relayed.greet()
    relayed.call(1)
    assert relayed.read()["id"] == 1
    for number in range(3):
        daemon.cut()
        assert desks[number].over.wait(WAIT_SECONDS)
        relayed.call(10 + number, turn=number)
        answer = relayed.read()
        assert (answer["id"], answer["result"]["structuredContent"]["status"]) == (10 + number, "found")
    assert relayed.end() == (0, b"", b"")
    assert [len(desk.calls) for desk in desks] == [1, 1, 1, 1]


def test_a_call_under_way_when_the_daemon_dies_is_answered_with_an_error(
    relayed: Relayed, daemon: StandIn, desks: list[Desk]
) -> None:
    """It may have been done, so it is not asked again; the next call finds the next daemon."""
    gate = Gate()
    desks.append(Desk(gate))
    relayed.greet()
    relayed.call("a")
    assert gate.entered.acquire(timeout=WAIT_SECONDS)
    daemon.cut()
    lost = relayed.read()
    assert (lost["id"], lost["error"]["code"]) == ("a", AWAY)
    relayed.call("b")
    assert relayed.read()["result"]["isError"] is False
    gate.open.set()
    assert [call.name for desk in desks for call in desk.calls] == ["timeline_status"] * 2


class Fatal:
    """The daemon dies of whatever is asked, so many times."""

    def __init__(self, daemon: StandIn, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        """Take over its sessions."""
        self.times = times
        self._daemon = daemon
        self._serve = daemon.server.serve
        monkeypatch.setattr(daemon.server, "serve", self.serve)

    def serve(self, connection: Any, begun: bytes, tools: Any) -> None:
        """Read until a list is asked for, and die; later serve as ever."""
        if not self.times:
            self._serve(connection, begun, tools)
            return
        self.times -= 1
        content = begun
        while b"tools/list" not in content:
            content += connection.recv(65536)
        self._daemon.cut()
        connection.close()


@pytest.mark.parametrize(("deaths", "outcome"), [(1, "result"), (2, "error")])
def test_other_requests_are_asked_once_more_and_not_forever(
    daemon: StandIn, monkeypatch: pytest.MonkeyPatch, deaths: int, outcome: str
) -> None:
    """Without the list a host would have no tools for the whole session; one that kills daemons is given up."""
    Fatal(daemon, monkeypatch, deaths)
    relayed = Relayed(daemon.runtime)
    relayed.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE})
    relayed.ask(1, "tools/list")
    answers = [relayed.read(), relayed.read()]
    assert {answer["id"] for answer in answers} == {0, 1}
    assert all(outcome in answer for answer in answers)
    assert relayed.end()[0] == 0
    assert len(daemon.greetings) == 2


def test_a_cancelled_call_is_not_waited_for(relayed: Relayed, daemon: StandIn, desks: list[Desk]) -> None:
    """Neither when the host ends nor when the daemon does."""
    gate = Gate()
    desks.append(Desk(gate))
    relayed.greet()
    relayed.call("a b")
    assert gate.entered.acquire(timeout=WAIT_SECONDS)
    cancelled = {"reason": '"requestId": 3', "requestId": "a b"}
    relayed.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
    relayed.ask(1, "ping")
    assert relayed.read()["id"] == 1
    daemon.cut()
    relayed.ask(2, "ping")
    assert relayed.read()["id"] == 2
    gate.open.set()
    assert relayed.end() == (0, b"", b"")


def test_an_older_daemon_is_replaced_without_the_host_noticing(daemon: StandIn) -> None:
    """Its refusal is no message; the relay has the next one found, and speaks to that."""
    daemon.refuse_with = b"timeline/1 0.0.1 older\n"
    relayed = Relayed(daemon.runtime)
    relayed.greet()
    relayed.call(1)
    assert relayed.read()["id"] == 1
    assert relayed.end() == (0, b"", b"")
    kinds = [greeting.split()[2] for greeting in daemon.greetings]
    assert kinds[0] == kinds[-1] == "mcp"
    assert "ask" in kinds


def test_a_host_that_never_reads_is_not_read_either(relayed: Relayed) -> None:
    """Its questions wait with it, and not in the relay."""
    relayed.greet()
    assert relayed.process.stdin is not None
    given = relayed.process.stdin.fileno()
    question = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n' * 50
    sent = 0
    while sent < 40_000_000 and select.select((), (given,), (), 0.3)[1]:
        sent += os.write(given, question)
    assert sent < 10_000_000


def test_without_a_daemon_requests_are_refused_and_the_reason_is_said(daemon: StandIn) -> None:
    """A folder that others can write to is no place to look for one, nor to start one."""
    daemon.runtime.chmod(0o755)
    relayed = Relayed(daemon.runtime)
    relayed.ask(1, "initialize", **INITIALIZE)
    refused = relayed.read()
    assert (refused["id"], refused["error"]["code"]) == (1, AWAY)
    relayed.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    code, out, err = relayed.end()
    assert (code, out) == (0, b"")
    assert b"timeline: error: " in err
    assert b"mode 0700" in err
    assert b"Traceback" not in err
    assert daemon.greetings == []


@pytest.mark.parametrize("arguments", [(), ("codex",)])
def test_misuse_is_said_in_a_line(arguments: tuple[str, ...]) -> None:
    """With exit code 2, as everywhere."""
    done = subprocess.run([*LIGHT, str(RELAY), *arguments], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"usage: ")


def test_it_loads_next_to_nothing(daemon: StandIn, tmp_path: Path) -> None:
    """A relay lives as long as its host, one for each session."""
    listing = tmp_path / "modules"
    wrapper = tmp_path / "wrapper.py"
    wrapper.write_text(
        f"import sys\n"
        f"__file__ = {str(RELAY)!r}\n"
        f"begun = set(sys.modules)\n"
        f"try:\n"
        f"    exec(compile(open(__file__, 'rb').read(), __file__, 'exec'))\n"
        f"finally:\n"
        f"    names = sorted(set(sys.modules) - begun)\n"
        f"    open({str(listing)!r}, 'w').write(' '.join(names))\n",
        encoding="utf-8",
    )
    relayed = Relayed(daemon.runtime, str(wrapper))
    relayed.greet()
    relayed.call(1)
    assert relayed.read()["id"] == 1
    daemon.cut()
    relayed.call(2)
    assert relayed.read()["id"] == 2
    assert relayed.end()[0] == 0
    loaded = set(listing.read_text(encoding="utf-8").split())
    assert "_socket" in loaded
    assert loaded <= {"_socket", "select", "posix"}


def _resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_its_memory_is_that_of_a_bare_interpreter(relayed: Relayed, record_property: Any) -> None:
    """At most half as much again, after a call."""
    bare = subprocess.Popen(
        [*LIGHT, "-c", "import sys; print(flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert bare.stdout is not None
    bare.stdout.readline()
    relayed.greet()
    relayed.call(1)
    relayed.read()
    ratio = _resident_kib(relayed.process.pid) / _resident_kib(bare.pid)
    bare.communicate()
    record_property("resident_ratio", ratio)
    sys.stdout.write(f"relay: {ratio:.2f} times a bare interpreter\n")
    assert ratio <= 1.5


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text() | st.sampled_from(["id", "method", "params"]), JSON),
    st.booleans(),
    st.booleans(),
)
def test_the_members_of_any_object_are_found(value: dict[str, Any], spaced: bool, escaped: bool) -> None:
    """However it is written, and whatever its texts look like."""
    text = json.dumps(
        value, ensure_ascii=escaped, indent=1 if spaced else None, separators=None if spaced else (",", ":")
    ).encode("utf-8", "surrogatepass")
    found = {json.loads(name): json.loads(member) for name, member in members(text).items() if name}
    assert found == value


@given(st.binary() | st.text(alphabet='{}[]":,\\ ab1').map(str.encode))
def test_the_members_of_anything_else_are_looked_for_in_vain(content: bytes) -> None:
    """Whatever it is, nothing is raised, and it ends."""
    assert isinstance(members(content), dict)


def test_the_command_becomes_the_relay(daemon: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """`timeline mcp HOST` is the same process, without what the command line would have loaded."""
    monkeypatch.setenv("TIMELINE_RUNTIME_DIR", str(daemon.runtime))
    command = subprocess.Popen(
        [sys.executable, "-m", "timeline", "mcp", "kimi"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    out, _ = command.communicate(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n', timeout=WAIT_SECONDS)
    assert (command.returncode, json.loads(out)["id"]) == (0, 1)
    assert daemon.greetings == [f"timeline/1 {__version__} mcp kimi"]


def test_the_command_refuses_a_host_that_nobody_knows() -> None:
    """As any other misuse, by the command line."""
    done = subprocess.run(
        [sys.executable, "-m", "timeline", "mcp", "vi"], capture_output=True, check=False, cwd=ROOT
    )
    assert done.returncode == 2
    assert b"'vi' is not one of" in done.stderr


def test_the_bounds_that_stand_twice_are_the_same() -> None:
    """The relay cannot import them."""
    assert LINE_BYTES_MAX == MCP_LINE_BYTES_MAX
