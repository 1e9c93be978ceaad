"""The thread in which all MCP sessions live; it starts with the first of them, or when one is about to come.

Importing the SDK takes half a second, and hosts want an answer in the first second: ``preload`` begins with it as
soon as a session announces itself. Without sessions the thread sleeps without a timeout.
"""

import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from timeline.limits import MCP_SESSIONS_MAX
from timeline.mcp_server.answered import Arrival, Tools

if TYPE_CHECKING:
    from timeline.mcp_server.loop import Loop


class McpServer:
    """Serves MCP sessions. Its methods may be called from any thread.

    The daemon makes one. It calls ``preload`` when a SessionStart hook arrives, ``serve`` for each connection of a
    relay once it has read the first line, and ``stop`` when it ends.
    """

    def __init__(
        self, version: str, on_fault: Callable[[str, str], None], on_end: Callable[[Tools], None]
    ) -> None:
        """Nothing starts here.

        ``version`` is told to hosts. ``on_fault`` is told of a fault of our own, where and the name of the exception's
        class; ``on_end`` is given the tools of each session that is over, once, also where it was refused. Both are
        called from any thread, and may not block.
        """
        self._version = version
        self._on_fault = on_fault
        self._on_end = on_end
        self._turn = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: Loop | None = None
        self._waiting: list[Arrival] = []
        self._sessions = 0
        self._stopping = False

    @property
    def sessions(self) -> int:
        """How many sessions are open."""
        return self._sessions

    def preload(self) -> None:
        """Start the thread, which imports the SDK; returns at once, and does nothing the second time."""
        with self._turn:
            self._start()

    def serve(self, connection: socket.socket, begun: bytes, tools: Tools) -> None:
        """Hand over one connection; returns at once.

        ``connection`` is a connected stream socket, behind the daemon's first line. It is closed when the session is
        over; at once where the server is stopping or full, or cannot load the SDK. ``begun`` is what was read of the
        host's messages already. ``tools`` answers the calls of this connection, up to ``MCP_CALLS_MAX`` at once.
        """
        with self._turn:
            if not self._stopping and self._sessions < MCP_SESSIONS_MAX:
                self._sessions += 1
                arrival = Arrival(connection, begun, tools)
                self._start()
                if self._loop is None:
                    self._waiting.append(arrival)
                else:
                    self._loop.admit(arrival)
                return
        connection.close()
        self._on_end(tools)

    def stop(self) -> None:
        """Close all sessions, after ``MCP_DRAIN_SECONDS`` at most for calls under way, and end the thread."""
        with self._turn:
            self._stopping = True
            if self._loop is not None:
                self._loop.end()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _start(self) -> None:
        if self._thread is None and not self._stopping:
            self._thread = threading.Thread(target=self._run, name="mcp")
            self._thread.start()

    def _run(self) -> None:
        try:
            from timeline.mcp_server.loop import Loop

            loop = Loop(self._version, self._on_fault, self._forget)
        except Exception as error:  # noqa: BLE001  # a broken installation must not leave hosts waiting
            self._on_fault("mcp-import", type(error).__name__)
            # What the system did not give now, it may give to the next session; what is broken is broken then too.
            self._refuse(for_good=not isinstance(error, OSError))
            return
        with self._turn:
            self._loop = loop
            for arrival in self._waiting:
                loop.admit(arrival)
            self._waiting = []
            if self._stopping:
                loop.end()
        loop.run()
        with self._turn:
            self._loop = None  # what is asked to stop twice has stopped

    def _refuse(self, *, for_good: bool) -> None:
        """Close the sessions that wait; without the SDK nothing can be served later either."""
        with self._turn:
            self._stopping = self._stopping or for_good
            self._thread = None
            waiting, self._waiting = self._waiting, []
        for arrival in waiting:
            arrival.connection.close()
            self._forget(arrival.tools)

    def _forget(self, tools: Tools) -> None:
        with self._turn:
            self._sessions -= 1
        self._on_end(tools)
