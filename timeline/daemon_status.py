"""What the daemon says of itself when it is asked, and that it does not answer where it does not."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from timeline.activity import ActivityReport
from timeline.errors import TimelineError
from timeline.reach import DaemonAwayError

Ask = Callable[[Path, bytes], bytes]
"""Asks the daemon of a runtime folder one question, as ``timeline.launch.ask`` does; never starts one."""

_QUESTION = b'{"ask": "status"}'

UNREADABLE = "daemon-answer-invalid"
"""The reason where its answer is none that we know."""


class DaemonStatus(msgspec.Struct, frozen=True):
    """The daemon as it is. ``state`` is ``ready``, ``no-state`` or ``refused``, with the reason; times are UTC text."""

    version: str
    pid: int
    started_at: str
    state: str
    reason: str | None = None
    watching: int = 0
    mcp_sessions: int = 0
    permits: int = 0
    log_readings: int = 0
    activity: ActivityReport = ActivityReport()


class DaemonFound(msgspec.Struct, frozen=True):
    """What became of the question: a status, or why there is none, with what to do."""

    status: DaemonStatus | None = None
    reason: str | None = None
    detail: str = ""
    hint: str = ""

    @property
    def is_away(self) -> bool:
        """Whether none runs: the first client starts one, so that this is no fault."""
        return self.reason == DaemonAwayError.reason


def find_daemon(runtime: Path, ask: Ask) -> DaemonFound:
    """Ask the daemon; that it does not answer is an answer here."""
    try:
        return DaemonFound(msgspec.json.decode(ask(runtime, _QUESTION), type=DaemonStatus))
    except TimelineError as error:
        return DaemonFound(reason=error.reason, detail=str(error), hint=error.hint)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        detail = f"{runtime}: the daemon's answer is not a status"
        return DaemonFound(reason=UNREADABLE, detail=detail, hint="timeline daemon stop")
