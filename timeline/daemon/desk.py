"""Who answers at the daemon's socket: hooks go to ``reception``, tools to ``toolbox``, questions are answered here."""

import os
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Final, Protocol

import msgspec

from timeline import __version__
from timeline.assertion_account import reading_assertions
from timeline.clock import format_utc
from timeline.daemon.errors import DaemonError
from timeline.daemon.following import Following
from timeline.daemon.grading import Grading
from timeline.daemon.reception import Reception
from timeline.daemon.server import ClientRequest
from timeline.daemon.shared import Shared
from timeline.daemon.toolbox import Toolbox
from timeline.daemon_status import DaemonStatus
from timeline.diary import Diary
from timeline.errors import StateMissingError
from timeline.service import REFUSALS, Session


class McpServing(Protocol):
    """The MCP server (``timeline.mcp_server``), which loads the SDK when it is first needed."""

    def serve(self, connection: socket.socket, begun: bytes, tools: Toolbox) -> None:
        """Serve one session in a thread of its own, and close the connection at its end."""
        ...

    def preload(self) -> None:
        """Load what it needs, so that the first session need not wait."""
        ...

    def stop(self) -> None:
        """End every session."""
        ...


MakeMcp = Callable[[Callable[[str, str], None], Callable[[object], None]], McpServing]
"""Makes the MCP server. The first argument is told of its faults, where and the class of the error; the second of each
session's end, with the tools that it was given."""


class _Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a client may ask: ``status``, ``version`` or ``stop``."""

    ask: str


_STATUS_SECONDS: Final = 5.0


def open_desk(
    session: Session, make_mcp: MakeMcp, stop: Callable[[], None]
) -> "tuple[FrontDesk, Callable[[], None]]":
    """A desk at work, and what closes it (``program.OpenDesk``)."""
    desk = FrontDesk(session, Diary(session.locations.diary), make_mcp, stop)
    desk.start()
    return desk, desk.close


class FrontDesk:
    """A ``Desk``."""

    version = __version__

    def __init__(self, session: Session, diary: Diary, make_mcp: MakeMcp, stop: Callable[[], None]) -> None:
        """Nothing runs before ``start``; ``stop`` ends the daemon."""
        self._stop = stop
        self._shared = Shared(session, diary)
        self._following = Following(self._shared)
        self._mcp = make_mcp(self._note_fault, _close)
        self._reception = Reception(self._shared, self._following, self._mcp.preload)
        self._grading = Grading(self._shared)
        self._started_ms = self._shared.now_ms()

    def start(self) -> None:
        """Begin to work; the timeline is opened and verified at once, so that the first question finds it open."""
        self._shared.worker.start()
        self._following.refresh()
        self._shared.worker.post("assertions", self._account)
        self._shared.diary.write("started", pid=os.getpid(), version=self.version)

    def _account(self) -> None:
        """Hold the table of assertions against the log now, and not while a host waits for its first hook."""
        with (
            suppress(*REFUSALS),  # whoever asks next is told
            self._shared.session.reading_local() as state,
            reading_assertions(state),
        ):
            pass

    def close(self) -> None:
        """End MCP sessions and watching, finish what is queued, and let go of the timeline."""
        with ExitStack() as stack:  # last in, first out; one that fails keeps none of the others from its end
            stack.callback(self._shared.diary.write, "stopped", pid=os.getpid())
            stack.callback(self._shared.live.close)
            stack.callback(self._following.close)
            # Before that: a job of its may be about to watch another file.
            stack.callback(self._shared.worker.stop)
            stack.callback(self._mcp.stop)

    def hook(self, request: ClientRequest) -> bytes:
        """What the hook has to print; nothing where anything goes wrong, which is written down."""
        try:
            return self._reception.hear(request)
        except Exception as error:  # noqa: BLE001  # a broken daemon never blocks the user's work
            self._shared.note_failure("hook", error)
            return b""
        finally:
            self._grading.look()

    def ask(self, request: ClientRequest) -> bytes:
        """One JSON object: an answer, or an error with its reason."""
        try:
            question = msgspec.json.decode(request.body, type=_Question)
        except msgspec.MsgspecError:
            return _error(DaemonError("a question must be one JSON object with the field `ask`"))
        match question.ask:
            case "status":
                return msgspec.json.encode(self._status())
            case "version":
                return msgspec.json.encode({"version": self.version})
            case "stop":
                self._stop()
                return msgspec.json.encode({"stopping": os.getpid()})
            case _:
                return _error(DaemonError("field ask: must be status, version or stop"))

    def mcp(self, request: ClientRequest, connection: socket.socket, begun: bytes) -> None:
        """Serve an MCP session."""
        toolbox = Toolbox(self._shared, request)
        toolbox.opened()
        self._mcp.serve(connection, begun, toolbox)

    def refused(self, reason: str) -> None:
        """Write down a client that got no answer."""
        self._shared.diary.write("refused", level="warning", kind="client", reason=reason)

    def _note_fault(self, place: str, error: str) -> None:
        self._shared.diary.write("fault", level="error", kind="mcp", error=error, place=place)

    def _status(self) -> DaemonStatus:
        state, reason = self._state()
        activity = self._shared.activity()
        return DaemonStatus(
            version=self.version,
            pid=os.getpid(),
            started_at=format_utc(self._started_ms),
            state=state,
            reason=reason,
            watching=self._following.count,
            mcp_sessions=activity.connections,
            permits=len(self._shared.permits),
            log_readings=self._shared.live.openings,
            activity=activity,
        )

    def _state(self) -> tuple[str, str | None]:
        def look(session: Session) -> None:
            with session.reading_local():
                pass

        try:
            self._shared.call(look, wait_seconds=_STATUS_SECONDS)
        except StateMissingError as error:
            return "no-state", error.reason
        except REFUSALS as error:
            return "refused", error.reason
        return "ready", None


def _close(tools: object) -> None:
    if isinstance(tools, Toolbox):
        tools.closed()


def _error(error: DaemonError) -> bytes:
    return msgspec.json.encode({"error": error.message, "reason": error.reason, "hint": error.hint})
