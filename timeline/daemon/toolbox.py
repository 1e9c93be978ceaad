"""The tools of one MCP connection: whose it is says the operating system, not the host's configuration alone."""

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from timeline.answers import AUTHORITY, ToolAnswer
from timeline.daemon.callers import see_server
from timeline.daemon.errors import DaemonError, SecondServerError
from timeline.daemon.server import ClientRequest
from timeline.daemon.shared import Shared
from timeline.guard.request import Tool
from timeline.guard.transport import Caller, nearest_host
from timeline.hosts import HOSTS
from timeline.limits import MCP_CALL_SECONDS
from timeline.recall import TOOLS, ToolCall
from timeline.service import REFUSALS


class Toolbox:
    """Answers the calls of one connection, on the timeline's thread; the port of the MCP server."""

    def __init__(self, shared: Shared, request: ClientRequest) -> None:
        """Remember whose connection it is."""
        self._shared = shared
        self._host = request.greeting.words[0] if request.greeting.words else ""
        self._peer = request.peer
        self._above = found = nearest_host(self._peer.chain)
        self._process = None if found is None else (found.process.pid, found.process.started)

    def opened(self) -> None:
        """The session begins."""
        self._shared.connections.opened(self._above, self)
        self._shared.saw(lambda activity: activity.saw_connection(self._process, is_open=True))

    def closed(self) -> None:
        """The session is over."""
        self._shared.connections.closed(self._above, self)
        self._shared.saw(lambda activity: activity.saw_connection(self._process, is_open=False))

    def begin(
        self, name: str, arguments: Mapping[str, object], meta: Mapping[str, object]
    ) -> Future[ToolAnswer]:
        """Queue one call; the future is done when the timeline's thread has answered it.

        Raises:
            DaemonBusyError, DaemonStoppingError: see ``Worker.submit``.
        """
        return self._shared.worker.submit(
            lambda: self._answer(name, arguments, meta), wait_seconds=MCP_CALL_SECONDS
        )

    def _answer(self, name: str, arguments: Mapping[str, object], meta: Mapping[str, object]) -> ToolAnswer:
        try:
            tool = Tool(name)
            caller = see_server(self._peer)
            self._check_only(caller)
            given = ToolCall(self._host, arguments, meta, caller)
            structured = TOOLS[tool](self._shared.session, self._shared.permits, given)
        except (ValueError, *REFUSALS) as error:
            refusal = error if isinstance(error, REFUSALS) else DaemonError("no such tool")
            structured = {
                "status": "unavailable",
                "blocked": True,
                "reason": refusal.reason,
                "hint": refusal.hint or "",
                "authority": AUTHORITY,
            }
        self._note(name, structured)
        return ToolAnswer(structured, bool(structured.get("blocked")))

    def _check_only(self, caller: Caller) -> None:
        """Where a process does not tell the host's server from its model's commands, the oldest connection is it.

        Raises:
            SecondServerError: there is an older one.
        """
        above = self._above
        if above is None or caller.capability is not None or HOSTS[above.host].servers_share_session:
            return
        if not self._shared.connections.is_oldest(above, self):
            message = f"another connection below this process of {above.host} came earlier"
            raise SecondServerError(message)

    def _note(self, name: str, structured: Mapping[str, Any]) -> None:
        self._shared.diary.write(
            "call",
            host=self._host,
            tool=name,
            status=str(structured.get("status")),
            reason=structured.get("reason"),
        )
