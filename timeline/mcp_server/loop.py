"""The event loop that runs all sessions; imported, with the SDK, by the thread that runs it."""

import asyncio
from collections.abc import Callable
from typing import Final

from timeline.limits import MCP_DRAIN_SECONDS
from timeline.mcp_server.answered import Arrival, Tools
from timeline.mcp_server.session import McpSession, OnFault

_CLOSE_SECONDS: Final = 1.0
"""How much longer than its calls a session may take to close."""


class Loop:
    """Runs sessions in the calling thread. ``admit`` and ``end`` may be called from any other, once it is ready."""

    def __init__(self, version: str, on_fault: OnFault, on_end: Callable[[Tools], None]) -> None:
        """``on_end`` is told whose session is over."""
        self._version = version
        self._on_fault = on_fault
        self._on_end = on_end
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._on_loop_fault)
        self._arrivals: asyncio.Queue[Arrival | None] = asyncio.Queue()
        self._sessions: dict[asyncio.Task[None], McpSession] = {}

    def run(self) -> None:
        """Run until ``end``."""
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    def admit(self, arrival: Arrival) -> None:
        """Begin a session. Not after ``end``."""
        self._loop.call_soon_threadsafe(self._arrivals.put_nowait, arrival)

    def end(self) -> None:
        """Close all sessions, and end."""
        self._loop.call_soon_threadsafe(self._arrivals.put_nowait, None)

    async def _serve(self) -> None:
        # In a task, and not in a callback of the loop: where ``sniffio`` is installed, anyio finds no loop in one.
        while (arrival := await self._arrivals.get()) is not None:
            self._begin(arrival)
        for session in self._sessions.values():
            session.close()
        if self._sessions:
            _, late = await asyncio.wait(list(self._sessions), timeout=MCP_DRAIN_SECONDS + _CLOSE_SECONDS)
            for task in late:
                task.cancel()

    def _begin(self, arrival: Arrival) -> None:
        session = McpSession(arrival, version=self._version, on_fault=self._on_fault)
        task = self._loop.create_task(session.run())
        self._sessions[task] = session
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._on_end(self._sessions.pop(task).tools)

    def _on_loop_fault(self, _: object, context: dict[str, object]) -> None:
        self._on_fault("mcp-loop", type(context.get("exception")).__name__)
