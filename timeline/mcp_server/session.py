"""One MCP session over one connected socket, on the SDK's low-level server.

The SDK speaks the protocol: both of its eras, versions, cancellation, ping. Here is what it leaves to a transport:
bounded lines, an answer to what is no message at all, back-pressure, and an end that lets calls under way finish.
Nothing that a host sent is repeated in an error or written to a log.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import anyio
import mcp_types as types
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError

from timeline.errors import TimelineError
from timeline.limits import (
    MCP_CALL_SECONDS,
    MCP_CALLS_MAX,
    MCP_DRAIN_SECONDS,
    MCP_LINE_BYTES_MAX,
    MCP_REQUESTS_MAX,
)
from timeline.mcp_server.answered import Arrival, Sent, prepare, unavailable
from timeline.mcp_server.catalogue import INSTRUCTIONS, NAMES, TOOLS
from timeline.mcp_server.lines import LineCutter

# The SDK logs what handlers and validators raise, values included: none of that may reach the daemon's output.
_LOGGER: Final = logging.getLogger("mcp")
_LOGGER.addHandler(logging.NullHandler())
_LOGGER.propagate = False

_PIECE_BYTES: Final = 64 * 1024

_LISTED: Final = types.ListToolsResult(
    tools=[
        types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.input_schema,
            annotations=types.ToolAnnotations(
                read_only_hint=tool.read_only,
                destructive_hint=False,
                idempotent_hint=True,
                open_world_hint=False,
            ),
        )
        for tool in TOOLS
    ]
)

OnFault = Callable[[str, str], None]
"""Told of a fault of our own: where, and the name of the exception's class."""

Inward = MemoryObjectSendStream[SessionMessage | Exception]
Outward = MemoryObjectReceiveStream[SessionMessage]


class _Named(msgspec.Struct):
    """A message's id, whatever else it holds."""

    id: msgspec.Raw = msgspec.Raw()


class McpSession:
    """Serves one connection. ``run`` returns when it is over; it owns the socket and closes it."""

    def __init__(self, arrival: Arrival, *, version: str, on_fault: OnFault) -> None:
        """Take over a connection. Made inside the loop."""
        self._connection = arrival.connection
        self._begun = arrival.begun
        self.tools = arrival.tools
        self._version = version
        self._on_fault = on_fault
        self._free = anyio.Semaphore(MCP_REQUESTS_MAX)
        self._turns = anyio.Semaphore(MCP_CALLS_MAX)
        self._writing = anyio.Lock()
        self._reading = anyio.CancelScope()

    async def run(self) -> None:
        """Serve until the host or ``close`` ends it."""
        inward, to_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        from_server, outward = anyio.create_memory_object_stream[SessionMessage](0)
        server = self._server()
        try:
            self._connection.setblocking(False)
            async with anyio.create_task_group() as group:
                group.start_soon(self._read, inward)
                group.start_soon(self._write, outward, group.cancel_scope)
                await server.run(to_server, from_server, server.create_initialization_options())
        except Exception as error:  # noqa: BLE001  # one session's fault must not end the loop of all others
            self._on_fault("mcp-session", type(error).__name__)
        finally:
            for stream in (inward, to_server, from_server, outward):
                stream.close()
            self._connection.close()

    def close(self) -> None:
        """Read nothing more, let the calls under way end, and close. From the loop's thread."""
        self._reading.cancel()

    def _server(self) -> Server[dict[str, Any]]:
        server = Server(
            "timeline",
            version=self._version,
            instructions=INSTRUCTIONS,
            on_list_tools=_list_tools,
            on_call_tool=self._call_tool,
        )
        server.middleware.clear()  # the SDK's only one makes OpenTelemetry spans; nothing here is traced
        return server

    async def _call_tool(
        self, context: ServerRequestContext[dict[str, Any]], asked: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if asked.name not in NAMES:
            raise MCPError(code=types.INVALID_PARAMS, message="unknown tool")
        # `asked` knows the protocol's own keys; what a host adds to `_meta` is only in what came over the wire.
        meta = (context.params or {}).get("_meta") or {}
        async with self._turns:
            sent = await self._answer(asked.name, asked.arguments or {}, meta)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=sent.text)],
            structured_content=sent.structured,
            is_error=sent.is_error,
        )

    async def _answer(self, name: str, arguments: Mapping[str, object], meta: Mapping[str, object]) -> Sent:
        """Wait for the answer to one call: whatever goes wrong becomes an answer without details."""
        try:
            with anyio.move_on_after(MCP_CALL_SECONDS):
                answered = await asyncio.wrap_future(self.tools.begin(name, arguments, meta))
                return prepare(answered.structured, is_error=answered.is_error)
            return unavailable("daemon-busy", "try again in a moment")
        except TimelineError as error:
            return unavailable(error.reason, error.hint)
        except Exception as error:  # noqa: BLE001  # a model gets an answer, and nothing of a traceback
            self._on_fault(name, type(error).__name__)
            return unavailable("internal-error", "`timeline daemon logs` names the fault")

    async def _read(self, inward: Inward) -> None:
        """Lines to messages, until the end; then wait for what is under way."""
        async with inward:
            with self._reading:
                await self._read_lines(inward)
            with anyio.move_on_after(MCP_DRAIN_SECONDS):
                for _ in range(MCP_REQUESTS_MAX):  # all of them free: nothing is under way
                    await self._free.acquire()

    async def _read_lines(self, inward: Inward) -> None:
        cutter, loop, piece = LineCutter(), asyncio.get_running_loop(), self._begun
        while True:
            for line in cutter.feed(piece):
                message = _read_message(line)
                if isinstance(message, types.JSONRPCError):
                    await self._send(message)
                    continue
                if isinstance(message, types.JSONRPCRequest):
                    await self._free.acquire()
                metadata = ServerMessageMetadata(on_request_unanswered=self._settle)
                try:
                    await inward.send(SessionMessage(message, metadata))
                except anyio.BrokenResourceError:  # the server has ended
                    return
            try:
                piece = await loop.sock_recv(self._connection, _PIECE_BYTES)
            except OSError:  # a host that is killed resets the connection; the end is the same
                return
            if not piece:
                return

    async def _write(self, outward: Outward, session: anyio.CancelScope) -> None:
        async with outward:
            async for sent in outward:
                try:
                    await self._send(sent.message)
                except OSError:  # nobody reads any more: what is under way is for nobody
                    session.cancel()
                    return
                if isinstance(sent.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._free.release()

    async def _send(self, message: types.JSONRPCMessage) -> None:
        line = message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8") + b"\n"
        async with self._writing:
            await asyncio.get_running_loop().sock_sendall(self._connection, line)

    async def _settle(self) -> None:
        """A request that its host cancelled gets no answer, and is no longer under way."""
        self._free.release()


async def _list_tools(
    _: ServerRequestContext[dict[str, Any]], __: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return _LISTED


def _read_message(line: bytes | None) -> types.JSONRPCMessage:
    """A line as a message; as an error to send back where it is none (JSON-RPC 2.0, section 5.1)."""
    if line is None:
        return _refusal(types.INVALID_REQUEST, f"a message must be at most {MCP_LINE_BYTES_MAX} bytes")
    try:
        message: types.JSONRPCMessage = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        if any(
            found["type"] == "json_invalid" for found in error.errors(include_input=False, include_url=False)
        ):
            return _refusal(types.PARSE_ERROR, "a message must be one line of JSON in UTF-8")
        if line.lstrip().startswith(b"["):  # gone since MCP 2025-06-18, and never in the SDK
            return _refusal(types.INVALID_REQUEST, "batches are not supported")
        return _refusal(types.INVALID_REQUEST, "not a JSON-RPC 2.0 message", _id_of(line))
    if isinstance(message, types.JSONRPCError):  # a host's answer to a request that we never make
        return types.JSONRPCNotification(jsonrpc="2.0", method="notifications/ignored")
    if isinstance(message, types.JSONRPCNotification) and _names_itself(line):
        return _refusal(types.INVALID_REQUEST, "an id must be a string or a whole number")
    return message


def _refusal(code: int, text: str, id_: str | int | None = None) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=id_, error=types.ErrorData(code=code, message=text))


def _names_itself(line: bytes) -> bool:
    """Whether a message that was taken for a notification has an id, of a kind that MCP does not know."""
    try:
        return bytes(msgspec.json.decode(line, type=_Named).id) != b""
    except msgspec.DecodeError:
        return False


def _id_of(line: bytes) -> str | int | None:
    """The id that an answer to a message without a known form may name."""
    try:
        raw = bytes(msgspec.json.decode(line, type=_Named).id)
        return msgspec.json.decode(raw, type=str | int) if raw else None
    except (msgspec.DecodeError, RecursionError):
        return None
