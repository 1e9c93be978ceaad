"""What is no proper message: answered as JSON-RPC says, without a word of it, and at nobody else's cost."""

import json
import socket
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.mcp.desks import INITIALIZE, WAIT_SECONDS, Desk, Host, connect
from timeline.limits import MCP_LINE_BYTES_MAX
from timeline.mcp_server.serving import McpServer

PARSE, INVALID, UNKNOWN, PARAMS = -32700, -32600, -32601, -32602
SECRET = "sk-the-secret-part"

LINES = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"timeline_status"}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n',
    b'[1,{"a":[]}]\n',
    b'{"id":{}}\n',
    b"\n",
    b"\0\n",
)
"""What random bytes would never make."""


def with_secret(**members: object) -> dict[str, object]:
    """Give a message that must not be repeated."""
    return {"jsonrpc": "2.0", **members, "params": {"name": SECRET, "arguments": SECRET}}


@pytest.mark.parametrize(
    ("message", "id_", "code"),
    [
        (b"{" + SECRET.encode(), None, PARSE),
        (b"\xff\xfe" + SECRET.encode(), None, PARSE),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"} x', None, PARSE),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', None, PARSE),
        (b"[" * 5000 + b"]" * 5000, None, PARSE),
        (b'"' + SECRET.encode() + b'"', None, INVALID),
        (b"null", None, INVALID),
        (b"[]", None, INVALID),
        ([with_secret(id=1, method="ping"), with_secret(id=2, method="ping")], None, INVALID),
        ({"id": 7, "method": "ping"}, 7, INVALID),
        ({"jsonrpc": "1.0", "id": "a", "method": "ping"}, "a", INVALID),
        ({"jsonrpc": "2.0", "id": 8, "method": "ping", "params": [SECRET]}, 8, INVALID),
        ({"jsonrpc": "2.0", "id": 9}, 9, INVALID),
        (with_secret(id=None, method="tools/call"), None, INVALID),
        (with_secret(id=1.5, method="tools/call"), None, INVALID),
        (with_secret(id=True, method="tools/call"), None, INVALID),
        (with_secret(id=[1], method="tools/call"), None, INVALID),
        (with_secret(id=3, method="tools/call"), 3, PARAMS),
        ({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": SECRET}}, 3, PARAMS),
        ({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {}}, 3, PARAMS),
        ({"jsonrpc": "2.0", "id": 4, "method": "resources/list"}, 4, UNKNOWN),
        ({"jsonrpc": "2.0", "id": 4, "method": "tools/forge"}, 4, UNKNOWN),
        (b"x" * (MCP_LINE_BYTES_MAX + 1), None, INVALID),
    ],
)
def test_a_bad_message_is_refused_and_the_session_goes_on(
    host: Host, desk: Desk, message: object, id_: object, code: int
) -> None:
    """With the id that it names, if that is one."""
    host.send(message)
    refused = host.read()
    assert (refused["id"], refused["error"]["code"]) == (id_, code)
    assert SECRET not in json.dumps(refused)
    host.ask("after", "ping")
    assert host.read() == {"jsonrpc": "2.0", "id": "after", "result": {}}
    assert desk.calls == []


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"   ",
        {"jsonrpc": "2.0", "method": "notifications/unheard-of"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": SECRET}},
    ],
)
def test_what_wants_no_answer_gets_none(host: Host, message: object) -> None:
    """Notifications, answers to nothing, and empty lines."""
    host.send(message)
    host.ask("after", "ping")
    assert host.read()["id"] == "after"


def test_before_initialize_only_a_ping_is_answered(server: McpServer, desk: Desk) -> None:
    """As the protocol has it; then the session may begin."""
    host = connect(server, desk)
    host.ask(1, "ping")
    assert host.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    host.call(2)
    assert host.read()["error"]["code"] == PARAMS
    assert desk.calls == []
    host.greet()
    host.call(3)
    assert host.read()["result"]["isError"] is False
    host.close()


def test_a_version_that_nobody_knows_is_answered_with_one_that_we_do(server: McpServer, desk: Desk) -> None:
    """MCP 2025-06-18, lifecycle, version negotiation."""
    host = connect(server, desk)
    host.ask(1, "initialize", **{**INITIALIZE, "protocolVersion": "2099-01-01"})
    assert host.read()["result"]["protocolVersion"] == "2025-11-25"
    host.close()


@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from(LINES)), max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_end_in_answers_and_harm_no_other_session(
    server: McpServer, host: Host, pieces: list[bytes]
) -> None:
    """Every answer is a message; then the session ends as usual."""
    broken = connect(server, desk := Desk())
    with suppress(BrokenPipeError):
        for piece in pieces:
            broken.connection.sendall(piece)
        broken.connection.shutdown(socket.SHUT_WR)
    while (message := broken.read()) is not None:
        assert message["jsonrpc"] == "2.0"
        assert "result" in message or "error" in message
    assert desk.over.wait(WAIT_SECONDS)
    broken.close()
    host.ask("after", "ping")
    assert host.read()["id"] == "after"


def test_a_host_that_never_reads_is_not_read_either(server: McpServer, host: Host) -> None:
    """Its questions wait with it, and not in the daemon's memory."""
    greedy = connect(server, desk := Desk())
    greedy.greet()
    greedy.connection.settimeout(0.2)
    question = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n' * 1000
    sent = 0
    with suppress(TimeoutError):
        while sent < 100_000_000:
            sent += greedy.connection.send(question)
    assert sent < 10_000_000
    host.ask("after", "ping")
    assert host.read()["id"] == "after"
    greedy.close()
    assert desk.over.wait(WAIT_SECONDS)


def test_a_host_that_is_killed_ends_its_session_alone(server: McpServer, host: Host) -> None:
    """Its socket closes with answers under way."""
    desks = [Desk() for _ in range(10)]
    for desk in desks:
        victim = connect(server, desk)
        victim.greet()
        for number in range(5):
            victim.call(number)
        victim.close()
    assert all(desk.over.wait(WAIT_SECONDS) for desk in desks)
    assert server.sessions == 1
    host.call(1)
    assert host.read()["id"] == 1


def test_many_sessions_at_once_are_served_without_a_fault(server: McpServer) -> None:
    """50 hosts with 20 calls each, sent all at once; every answer goes to who asked."""
    hosts = [connect(server, Desk()) for _ in range(50)]
    for host in hosts:
        host.ask("begin", "initialize", **INITIALIZE)
    for number, host in enumerate(hosts):
        for call in range(20):
            host.call(call, host=number, call=call)
    for number, host in enumerate(hosts):
        answers: dict[Any, Any] = {}
        for _ in range(21):
            message = host.read()
            answers[message["id"]] = message["result"]
        for call in range(20):
            assert answers[call]["structuredContent"]["arguments"] == {"host": number, "call": call}
    assert server.sessions == len(hosts)
    for host in hosts:
        host.close()
