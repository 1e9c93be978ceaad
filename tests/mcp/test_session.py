"""A session with the SDK's own client, over a socket that the daemon has handed in."""

import asyncio
import errno
import logging
import socket
import threading
from collections.abc import Awaitable, Callable

import anyio
import anyio._core._eventloop as anyio_loops
import anyio.abc
import mcp_types as types
import pytest
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from tests.mcp.desks import WAIT_SECONDS, Answer, Call, Desk, Host, connect, serving
from timeline.answers import ToolAnswer
from timeline.errors import QueryError
from timeline.limits import MCP_CALLS_MAX, MCP_SESSIONS_MAX
from timeline.mcp_server.answered import Arrival
from timeline.mcp_server.catalogue import TOOLS
from timeline.mcp_server.serving import McpServer
from timeline.mcp_server.session import McpSession

Use = Callable[[ClientSession], Awaitable[None]]


async def talk(connection: socket.socket, use: Use) -> None:
    """Initialize the SDK's client over a socket, and use it."""
    inward, to_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    from_client, outward = anyio.create_memory_object_stream[SessionMessage](0)
    stream = await anyio.abc.UNIXSocketStream.from_socket(connection)

    async def read() -> None:
        begun = b""
        async for piece in stream:
            *lines, begun = (begun + piece).split(b"\n")
            for line in lines:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                await inward.send(SessionMessage(message))

    async def write() -> None:
        async for sent in outward:
            text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
            await stream.send(text.encode() + b"\n")

    async with stream, inward, to_client, from_client, outward, anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(write)
        async with ClientSession(to_client, from_client) as session:
            await session.initialize()
            await use(session)
        group.cancel_scope.cancel()


def run(connection: socket.socket, use: Use) -> None:
    """Talk, and give up after a while."""

    async def bounded() -> None:
        with anyio.fail_after(WAIT_SECONDS):
            await talk(connection, use)

    anyio.run(bounded)


def test_the_client_of_the_sdk_finds_and_calls_the_tools(server: McpServer, desk: Desk) -> None:
    """Initialize, list, call, ping."""
    ours, theirs = socket.socketpair()
    server.serve(theirs, b"", desk)

    async def use(session: ClientSession) -> None:
        result = session.initialize_result
        assert result is not None
        assert (result.server_info.name, result.server_info.version) == ("timeline", "1.2.3")
        assert result.capabilities.tools is not None
        assert result.capabilities.resources is None
        assert "context only" in (result.instructions or "")
        assert len((await session.list_tools()).tools) == len(TOOLS)
        answer = await session.call_tool("session_timeline_search", {"query": "pytest failed"})
        assert isinstance(answer, types.CallToolResult)
        assert answer.structured_content is not None
        assert answer.structured_content["arguments"] == {"query": "pytest failed"}
        assert answer.structured_content["authority"] == "context-only"
        await session.send_ping()
        with pytest.raises(MCPError, match="unknown tool"):
            await session.call_tool("session_timeline_erase")

    run(ours, use)
    assert desk.over.wait(WAIT_SECONDS)
    assert [call.name for call in desk.calls] == ["session_timeline_search"]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_each_version_of_the_protocol_gets_both_forms(server: McpServer, desk: Desk, version: str) -> None:
    """A host shows its model the text or the structure; both say the same."""
    host = connect(server, desk)
    host.ask(
        1, "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "h", "version": "1"}
    )
    assert host.read()["result"]["protocolVersion"] == version
    host.call(2)
    result = host.read()["result"]
    structured = result["structuredContent"]
    assert types.TextContent.model_validate(result["content"][0]).text.startswith("{")
    assert structured["status"] == "found"
    assert len(result["content"]) == 1
    host.close()


def test_a_request_of_the_protocol_without_sessions_is_served(server: McpServer, desk: Desk) -> None:
    """MCP 2026-07-28: no initialize, and each request says who asks."""
    host = connect(server, desk)
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "h", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "threadId": "a-thread",
    }
    host.ask(1, "tools/call", name="timeline_status", arguments={}, _meta=meta)
    assert host.read()["result"]["structuredContent"]["status"] == "found"
    assert desk.calls[0].meta["threadId"] == "a-thread"
    host.close()


@pytest.mark.requirement("X1")
def test_all_that_a_host_says_about_a_call_reaches_the_tool(host: Host, desk: Desk) -> None:
    """Codex names thread and call in `_meta`, below names that no protocol knows; arguments come unchecked too."""
    meta = {
        "threadId": "019a-thread",
        "callId": "call_7",
        "progressToken": 3,
        "x-codex-turn-metadata": {"session_id": "019a", "deep": [1, {"a": None}]},
    }
    arguments = {"query": "a", "sessionId": "somebody-else", "unheard-of": [1, 2.5, None]}
    host.ask(1, "tools/call", name="session_timeline_search", arguments=arguments, _meta=meta)
    assert host.read()["id"] == 1
    assert desk.calls == [Call("session_timeline_search", arguments, meta)]


def test_a_call_without_arguments_and_meta_has_empty_ones(host: Host, desk: Desk) -> None:
    """Absent is empty."""
    host.ask(1, "tools/call", name="timeline_status")
    assert host.read()["id"] == 1
    assert desk.calls == [Call("timeline_status", {}, {})]


def test_bytes_that_were_read_with_the_first_line_are_not_lost(server: McpServer, desk: Desk) -> None:
    """A host does not wait for the daemon's greeting; the rest of a torn line follows."""
    begun = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"jsonrpc":"2.0","id":2,"met'
    host = connect(server, desk, begun)
    host.send(b'hod":"ping"}')
    assert [host.read()["id"], host.read()["id"]] == [1, 2]
    host.close()


def test_a_session_begins_where_sniffio_is_installed(
    server: McpServer, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With that package anyio knows a loop in tasks only: a session that began in a callback would never answer."""

    class Sniffio:
        class AsyncLibraryNotFoundError(RuntimeError):
            pass

        def current_async_library(self) -> str:
            if asyncio.current_task() is None:
                raise self.AsyncLibraryNotFoundError
            return "asyncio"

    monkeypatch.setattr(anyio_loops, "sniffio", Sniffio())
    hello = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    ours, theirs = socket.socketpair()
    with ours:
        ours.settimeout(WAIT_SECONDS)
        server.serve(theirs, hello, desk)
        assert b'"id":1' in ours.recv(65536)


def test_initialize_and_the_first_request_may_come_together(server: McpServer, desk: Desk) -> None:
    """Hosts are told not to, and some do."""
    host = connect(server, desk)
    host.ask(
        1,
        "initialize",
        protocolVersion="2025-06-18",
        capabilities={},
        clientInfo={"name": "h", "version": "1"},
    )
    host.call(2)
    assert [host.read()["id"], host.read()["id"]] == [1, 2]
    host.close()


def test_a_refusal_of_ours_becomes_an_answer_with_its_reason(server: McpServer) -> None:
    """The message may name places; the answer names the reason and the way out."""

    def refuse(_: Call) -> ToolAnswer:
        raise QueryError("the secret part")

    answer = ask_once(server, refuse)
    assert answer["isError"] is True
    assert answer["structuredContent"]["reason"] == "query-invalid"
    assert answer["structuredContent"]["status"] == "unavailable"
    assert "secret" not in str(answer)


def test_a_fault_of_ours_is_told_to_the_daemon_and_not_to_the_host(capfd: pytest.CaptureFixture[str]) -> None:
    """A traceback may hold a transcript's words."""

    def fail(_: Call) -> ToolAnswer:
        raise KeyError("the secret part")

    with serving(faults=[("timeline_status", "KeyError")]) as server:
        answer = ask_once(server, fail)
    assert answer["structuredContent"]["reason"] == "internal-error"
    assert "secret" not in str(answer)
    assert capfd.readouterr() == ("", "")


def test_an_answer_that_is_no_json_is_a_fault_and_ends_no_session() -> None:
    """Half a surrogate pair cannot be written."""
    with serving(faults=[("timeline_status", "UnicodeEncodeError")]) as server:
        answer = ask_once(server, lambda _: ToolAnswer({"status": "found", "hint": "\ud800"}))
    assert answer["structuredContent"]["reason"] == "internal-error"


def ask_once(server: McpServer, answer: Answer) -> dict[str, dict[str, str]]:
    """Give what one call of a new session gets; the session goes on."""
    host = connect(server, Desk(answer))
    host.greet()
    host.call(1)
    result: dict[str, dict[str, str]] = host.read()["result"]
    host.ask(2, "ping")
    assert host.read() == {"jsonrpc": "2.0", "id": 2, "result": {}}
    host.close()
    return result


class Ear(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        """Hear everything."""
        super().__init__()
        self.heard: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        self.heard.append(record)


@pytest.mark.parametrize("params", [{"requestId": ["the secret part"]}, {"reason": ["the secret part"]}])
def test_nothing_of_a_message_is_logged(host: Host, params: object) -> None:
    """The SDK warns of what it drops; nobody must hear it."""
    # By hand: pytest's own fixture hears loggers that pass nothing on.
    ear = Ear()
    logging.getLogger().addHandler(ear)
    try:
        host.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        host.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        host.ask(1, "ping")
        assert host.read()["id"] == 1
    finally:
        logging.getLogger().removeHandler(ear)
    assert [record for record in ear.heard if record.name.startswith("mcp")] == []


def test_nothing_is_traced() -> None:
    """The SDK's own spans would carry the names of tools and sessions to whatever is configured."""

    async def look() -> None:
        ours, theirs = socket.socketpair()
        arrival = Arrival(theirs, b"", Desk())
        with ours, theirs:
            session = McpSession(arrival, version="1", on_fault=lambda *_: None)
            assert session._server().middleware == []

    anyio.run(look)


class Gate:
    """An answer that waits until the test lets it go."""

    def __init__(self) -> None:
        """Be closed."""
        self.entered = threading.Semaphore(0)
        self.open = threading.Event()

    def __call__(self, _: Call) -> ToolAnswer:
        """Wait."""
        self.entered.release()
        assert self.open.wait(WAIT_SECONDS)
        return ToolAnswer({"status": "found"})


def test_slow_calls_of_one_session_do_not_stop_another(server: McpServer, desk: Desk) -> None:
    """However many one host asks at once, few of them are begun."""
    gate = Gate()
    slow, quick = connect(server, Desk(gate)), connect(server, desk)
    slow.greet()
    quick.greet()
    for number in range(8 * MCP_CALLS_MAX):
        slow.call(number)
    for _ in range(MCP_CALLS_MAX):
        assert gate.entered.acquire(timeout=WAIT_SECONDS)
    quick.call(1)
    assert quick.read()["id"] == 1
    slow.ask("p", "ping")
    assert slow.read()["id"] == "p"
    assert not gate.entered.acquire(blocking=False)
    gate.open.set()
    assert {slow.read()["id"] for _ in range(8 * MCP_CALLS_MAX)} == set(range(8 * MCP_CALLS_MAX))
    slow.close()
    quick.close()


def test_a_cancelled_call_is_not_answered(server: McpServer) -> None:
    """The protocol forbids it; the next call is answered as ever."""
    gate = Gate()
    host = connect(server, Desk(gate))
    host.greet()
    host.call(1)
    assert gate.entered.acquire(timeout=WAIT_SECONDS)
    host.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    host.ask(2, "ping")
    assert host.read()["id"] == 2
    gate.open.set()
    host.call(3)
    assert host.read()["id"] == 3
    host.close()


def test_cancelled_calls_leave_room_for_others(server: McpServer) -> None:
    """More of them than may be under way at once."""
    gate = Gate()
    host = connect(server, Desk(gate))
    host.greet()
    for number in range(200):
        host.call(number)
        host.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    host.ask("p", "ping")
    assert host.read()["id"] == "p"
    gate.open.set()
    host.close()


def test_a_host_that_closes_its_end_still_gets_what_it_asked(server: McpServer) -> None:
    """As with `printf … | timeline mcp codex`."""
    gate = Gate()
    desk = Desk(gate)
    host = connect(server, desk)
    host.greet()
    host.call(1)
    assert gate.entered.acquire(timeout=WAIT_SECONDS)
    host.connection.shutdown(socket.SHUT_WR)
    gate.open.set()
    assert host.read()["result"]["isError"] is False
    assert host.read() is None
    assert desk.over.wait(WAIT_SECONDS)
    host.close()


def test_stopping_lets_calls_under_way_end_and_closes_every_session() -> None:
    """A newer daemon that replaces this one loses no answer."""
    gate = Gate()
    desks = [Desk(gate), Desk()]
    with serving() as server:
        hosts = [connect(server, desk) for desk in desks]
        for host in hosts:
            host.greet()
        hosts[0].call(1)
        assert gate.entered.acquire(timeout=WAIT_SECONDS)
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        assert hosts[1].read() is None
        gate.open.set()
        assert hosts[0].read()["result"]["isError"] is False
        assert hosts[0].read() is None
        stopping.join(WAIT_SECONDS)
        assert server.sessions == 0
        assert all(desk.over.is_set() for desk in desks)
        late = connect(server, Desk())
        assert late.read() is None
    for host in (*hosts, late):
        host.close()


def test_a_server_that_was_never_used_stops_at_once() -> None:
    """And one that was only preloaded."""
    with serving() as server:
        assert server.sessions == 0
    with serving() as server:
        server.preload()
        server.preload()


def test_there_is_a_bound_to_sessions(server: McpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more is closed; when one ends there is room again."""
    assert MCP_SESSIONS_MAX >= 50
    monkeypatch.setattr("timeline.mcp_server.serving.MCP_SESSIONS_MAX", 2)
    desks = [Desk(), Desk()]
    hosts = [connect(server, desk) for desk in desks]
    extra = connect(server, refused := Desk())
    assert extra.read() is None
    assert refused.over.is_set()
    hosts[0].close()
    assert desks[0].over.wait(WAIT_SECONDS)
    again = connect(server, Desk())
    again.greet()
    for host in (hosts[1], extra, again):
        host.close()


def test_what_the_system_refused_once_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many open files when the first session comes: it is closed, and the next one is served."""
    refusals, make = [OSError(errno.EMFILE, "full")], asyncio.new_event_loop

    def refuse_once() -> asyncio.AbstractEventLoop:
        if refusals:
            raise refusals.pop()
        return make()

    monkeypatch.setattr(asyncio, "new_event_loop", refuse_once)
    desk = Desk()
    with serving(faults=[("mcp-import", "OSError")]) as server:
        host = connect(server, desk)
        assert host.read() is None
        assert desk.over.wait(WAIT_SECONDS)
        later = connect(server, Desk())
        later.greet()
        later.close()
    host.close()


def test_a_broken_installation_leaves_no_host_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the SDK every session is closed, the waiting ones and the later ones."""
    monkeypatch.setitem(__import__("sys").modules, "timeline.mcp_server.loop", None)
    desk = Desk()
    with serving(faults=[("mcp-import", "ModuleNotFoundError")]) as server:
        host = connect(server, desk)
        assert host.read() is None
        assert desk.over.wait(WAIT_SECONDS)
        later = connect(server, Desk())
        assert later.read() is None
        assert server.sessions == 0
    host.close()
    later.close()
