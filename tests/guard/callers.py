"""Processes, callers and calls as the tests of the guard need them; nothing here looks at a real process."""

from typing import Any

from timeline.binding import Binding
from timeline.guard.permit import Grant
from timeline.guard.request import Request, Tool, parse_request
from timeline.guard.transport import (
    Call,
    Caller,
    CallNames,
    Capability,
    HostProcess,
    Transport,
    bind_transport,
)
from timeline.processes import Process

HOME = "/h/.codex"
MAIN = "01a22a80-e525-78c3-9baa-585e36483bdb"
OTHER = "01a22a80-56a9-7690-ae52-6f1bb677107c"
CHILD = "01a22a80-ed2d-7730-84b4-300e3e801f6f"


def process(name: str, pid: int = 100, *, started: int = 5, program: str | None = None) -> Process:
    """A process of that name."""
    return Process(pid, started, 1, 1000, pid, pid, 0, -1, name, program)


def rollout(thread: str, home: str = HOME) -> str:
    """Where Codex writes a thread."""
    return f"{home}/sessions/2026/11/30/rollout-2026-11-30T03-30-20-{thread}.jsonl"


def lock(thread: str, home: str = HOME) -> str:
    """Where Codex locks a thread."""
    return f"{home}/thread-writer-locks/{thread}.lock"


def codex(*threads: str, pid: int = 100, started: int = 5, locked: bool = True) -> Caller:
    """A peer below a Codex process that has these threads open."""
    files = [rollout(thread) for thread in threads] + [lock(thread) for thread in threads if locked]
    return Caller(HostProcess("codex", process("codex", pid, started=started)), ("socket:[7]", *files))


def plain(host: str, pid: int = 100, started: int = 5) -> Caller:
    """A peer below a process of a host that shows nothing more."""
    return Caller(HostProcess(host, process(host, pid, started=started)))


def capable(secret: str, session: str, pid: int = 100) -> Caller:
    """A peer with a launcher's capability."""
    return Caller(HostProcess("codex", process("codex", pid)), capability=Capability(secret, session))


def binding(host: str = "codex", session: str = MAIN, **changes: Any) -> Binding:
    """A complete binding."""
    scope = {"user": "ann", "tenant": "local", "project": "/srv/demo", "task": "default", **changes}
    return Binding(host=host, session=session, **scope)


def grant(host: str = "codex", session: str = MAIN, thread: str = "", caller: Caller | None = None) -> Grant:
    """What a hook has found, over a transport of its own."""
    if caller is None:
        caller = codex(MAIN, OTHER, CHILD) if host == "codex" else plain(host)
    transport = bind_transport(host, session, thread or session, caller)
    return Grant(binding(host, session), f"timeline-enrollment:{session}", f"source:{session}", transport)


def search_request(query: str = "pytest failed", **more: object) -> Request:
    """A search as the server parses it."""
    return parse_request(Tool.SEARCH, {"query": query, **more})


def codex_call(
    call: str | None = "call-1",
    *,
    thread: str | None = MAIN,
    session: str | None = None,
    caller: Caller | None = None,
) -> Call:
    """A tool call of Codex."""
    return Call("codex", caller or codex(MAIN, OTHER, CHILD), CallNames(thread, session or MAIN, call))


def call_like(transport: Transport, tool_use: str) -> Call:
    """The call that a permit of this transport was issued for."""
    if transport.host == "codex":
        return codex_call(tool_use, thread=transport.thread, session=transport.session)
    return Call(transport.host, plain(transport.host, transport.pid or 0))
