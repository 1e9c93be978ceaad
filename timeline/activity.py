"""What the daemon has seen of each session: hooks, receipts, permits, MCP connections, growth. Memory only. Pure.

Hosts skip hooks without a word: Codex where one is untrusted or changed, Kimi all of them for one unknown event name,
and hooks after a tool may be cut off. So a transcript that grows while no hook of its session arrives is noticed here,
and ``timeline status`` and ``timeline doctor`` say so (X10).

Kept are names of events, times, sizes, paths and reason codes. There is no text of a prompt or of a tool.
Times come in as UTC milliseconds and go out as text with ``Z``.
"""

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from timeline.clock import format_utc
from timeline.hosts import EVENTS

SESSIONS_MAX: Final = 256
"""Sessions that are remembered; the one that was seen longest ago goes first."""

SILENT_BYTES: Final = 64 * 1024
"""How much a transcript grows without a hook before that is said: one long answer without a tool is shorter."""

SILENT_SECONDS: Final = 300
"""How long after the last hook it still grows: a tool may run and a model may think for minutes without one."""

SILENT_SHOWN_SECONDS: Final = 24 * 3600
"""How long after its last growth a session is still called silent: later nobody works in it."""

OTHER_EVENT: Final = "other"
"""Under which each event is remembered that is not in ``EVENTS``: whoever calls cannot fill the memory with names."""

ProcessKey = tuple[int, int]
"""Process id and start time as ``timeline.processes`` gives them; together they name one process."""

PermitStanding = Literal["issued", "spent", "refused"]


class PermitSeen(msgspec.Struct, frozen=True):
    """What became of the last permit of a session; ``at`` is UTC text, ``reason`` a reason code."""

    standing: PermitStanding
    at: str
    reason: str | None = None


class SessionReport(msgspec.Struct, frozen=True, kw_only=True):
    """One session as it was seen. ``hooks`` are the last times of each hook event; all times are UTC text.

    ``size_at_hook`` is the transcript's size in bytes when its last hook came, ``size`` the last one known.
    ``connected`` says whether an MCP session of its host's process is open, and is ``None`` where no process is known.
    """

    host: str
    session: str
    project: str | None
    transcript: str | None
    hooks: dict[str, str]
    last_hook: str | None
    size_at_hook: int | None
    size: int | None
    connected: bool | None
    receipt: str | None
    permit: PermitSeen | None


class SilentSession(msgspec.Struct, frozen=True):
    """A session whose transcript grew by ``grown`` bytes until ``grew_at`` while no hook of it arrived.

    ``since`` is its last hook, or where there was none (``hooked`` is false), the first look at its transcript.
    """

    host: str
    session: str
    transcript: str
    grown: int
    since: str
    grew_at: str
    hooked: bool


class ActivityReport(msgspec.Struct, frozen=True):
    """Everything seen, the session seen last first; ``forgotten`` counts sessions that had to make room.

    ``connections`` are MCP sessions that are open now, those of unknown host processes included.
    """

    sessions: tuple[SessionReport, ...] = ()
    silent: tuple[SilentSession, ...] = ()
    connections: int = 0
    forgotten: int = 0


class _Seen(msgspec.Struct):
    """What is kept of one session; times in milliseconds."""

    project: str | None = None
    transcript: str | None = None
    process: ProcessKey | None = None
    hooks: dict[str, int] = msgspec.field(default_factory=dict)
    hook_at_ms: int | None = None
    hook_size: int | None = None
    """Transcript bytes that a hook accounts for; ``None`` while no size is known."""
    looked_at_ms: int | None = None
    """The first look at its transcript."""
    size: int | None = None
    grew_at_ms: int | None = None
    receipt_at_ms: int | None = None
    permit: PermitSeen | None = None


class Activity:
    """The memory. One for each daemon; whoever shares it between threads holds a lock around each call."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._sessions: dict[tuple[str, str], _Seen] = {}
        self._connections: dict[ProcessKey | None, int] = {}
        self._forgotten = 0

    def saw_hook(
        self,
        host: str,
        session: str,
        event: str,
        at_ms: int,
        *,
        project: str | None = None,
        transcript: str | None = None,
        size: int | None = None,
        process: ProcessKey | None = None,
    ) -> None:
        """A hook of a session came. ``size`` are its transcript's bytes then, where the path is known.

        Without a size all growth that is known is taken as accounted for. What is ``None`` replaces nothing.
        """
        seen = self._touch(host, session)
        seen.hooks[event if event in EVENTS else OTHER_EVENT] = at_ms
        seen.hook_at_ms = at_ms
        seen.project = project or seen.project
        seen.process = process or seen.process
        if transcript is not None and transcript != seen.transcript:
            seen.transcript, seen.size, seen.grew_at_ms = transcript, None, None
        if size is not None:
            seen.size = size
        seen.hook_size = seen.size

    def saw_growth(self, host: str, session: str, path: str, size: int, at_ms: int) -> None:
        """The watcher found a transcript with ``size`` bytes. One that is shorter, or at another path, begins anew."""
        seen = self._touch(host, session)
        if path != seen.transcript or (seen.size is not None and size < seen.size):
            seen.transcript, seen.size, seen.hook_size = path, None, None
        if seen.looked_at_ms is None:
            seen.looked_at_ms = at_ms
        if seen.hook_size is None:
            seen.hook_size = size  # what stood there before the first look says nothing about hooks
        if seen.size is None or size > seen.size:
            seen.size, seen.grew_at_ms = size, at_ms

    def saw_receipt(self, host: str, session: str, at_ms: int) -> None:
        """A receipt was issued for a session."""
        self._touch(host, session).receipt_at_ms = at_ms

    def saw_permit(
        self, host: str, session: str, standing: PermitStanding, at_ms: int, *, reason: str | None = None
    ) -> None:
        """A permit was issued, spent or refused; ``reason`` is the code of a refusal."""
        self._touch(host, session).permit = PermitSeen(standing, format_utc(at_ms), reason)

    def saw_connection(self, process: ProcessKey | None, *, is_open: bool) -> None:
        """An MCP session began or ended; ``process`` is its nearest host process, if it has one."""
        count = self._connections.get(process, 0) + (1 if is_open else -1)
        if count > 0:
            self._connections[process] = count
        else:
            self._connections.pop(process, None)

    def silent(self, now_ms: int) -> tuple[SilentSession, ...]:
        """Sessions whose transcript went on growing after their last hook, by much and for long (X10)."""
        return tuple(self._silent(now_ms))

    def report(self, now_ms: int) -> ActivityReport:
        """Everything seen, as plain values that can be written as JSON."""
        sessions = [self._report(*key, seen) for key, seen in self._sessions.items()]
        connections = sum(self._connections.values())
        return ActivityReport(tuple(reversed(sessions)), self.silent(now_ms), connections, self._forgotten)

    def _touch(self, host: str, session: str) -> _Seen:
        """The memory of a session, put last in the order of forgetting."""
        key = (host, session)
        seen = self._sessions.pop(key, None) or _Seen()
        self._sessions[key] = seen
        if len(self._sessions) > SESSIONS_MAX:
            del self._sessions[next(iter(self._sessions))]
            self._forgotten += 1
        return seen

    def _silent(self, now_ms: int) -> Iterator[SilentSession]:
        for (host, session), seen in self._sessions.items():
            since = seen.hook_at_ms if seen.hook_at_ms is not None else seen.looked_at_ms
            if since is None or seen.transcript is None or seen.grew_at_ms is None:
                continue
            grown = (seen.size or 0) - (seen.hook_size or 0)
            late = seen.grew_at_ms - since >= SILENT_SECONDS * 1000
            shown = now_ms - seen.grew_at_ms <= SILENT_SHOWN_SECONDS * 1000
            if grown >= SILENT_BYTES and late and shown:
                yield SilentSession(
                    host,
                    session,
                    seen.transcript,
                    grown,
                    format_utc(since),
                    format_utc(seen.grew_at_ms),
                    seen.hook_at_ms is not None,
                )

    def _report(self, host: str, session: str, seen: _Seen) -> SessionReport:
        return SessionReport(
            host=host,
            session=session,
            project=seen.project,
            transcript=seen.transcript,
            hooks={event: format_utc(at_ms) for event, at_ms in sorted(seen.hooks.items())},
            last_hook=_text(seen.hook_at_ms),
            size_at_hook=None if seen.hook_at_ms is None else seen.hook_size,
            size=seen.size,
            connected=None if seen.process is None else seen.process in self._connections,
            receipt=_text(seen.receipt_at_ms),
            permit=seen.permit,
        )


def _text(at_ms: int | None) -> str | None:
    return None if at_ms is None else format_utc(at_ms)
