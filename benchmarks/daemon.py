"""The daemon as its user meets it: what it costs while nothing happens, and how soon a permitted search is answered.

A daemon of its own runs on a timeline with 200 followed sources, each in a folder of its own. Idle, its wake-ups are
the voluntary context switches of all its threads, its reads and writes what the system counted for it. A permit and a
search are asked for by a process below one that bears a host's name and holds the session open, over the same socket
as a hook and a relay; the reference is a Python that starts and does nothing.
"""

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.corpus import FILE_BYTES, START_MS, write_corpus
from benchmarks.measure import Figure, alternate, percentile, ratio, run
from benchmarks.worlds import HERE, enroll, session_at
from tests.simulators.host_process import HostProcess, host_process
from timeline import __version__, service
from timeline import relay as relay_program
from timeline.daemon.following import PROOF_BYTES
from timeline.simulated_host import CodexRollout, stepping_clock

_SOURCES: Final = 200
_IDLE_SECONDS: Final = 600.0
_QUICK_IDLE_SECONDS: Final = 20.0
_ROUNDS: Final = 200
_QUICK_ROUNDS: Final = 40
_SETTLE_SECONDS: Final = 3.0
_GATE: Final = 0.5

_BARE: Final = [sys.executable, "-I", "-S", "-c", "pass"]
_WAITING: Final = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]


@dataclass(frozen=True)
class _Counts:
    """What the system has counted for a process."""

    switches: int
    io_bytes: int
    rss: int


def figures(*, quick: bool) -> list[Figure]:
    """Idle wake-ups and memory; a permit and a search; an append to a long followed file."""
    folder = HERE / "daemon"
    shutil.rmtree(folder, ignore_errors=True)
    session, rollout = _world(folder, _SOURCES)
    with _daemon(session) as process:
        idle = _idle(session, process, _QUICK_IDLE_SECONDS if quick else _IDLE_SECONDS)
        recall = _recall(session, rollout, folder, _QUICK_ROUNDS if quick else _ROUNDS)
    append = _append(folder)
    shutil.rmtree(folder)
    return [*idle, *recall, *append]


# -- idle ------------------------------------------------------------------------------------------------------


def _idle(session: service.Session, process: "subprocess.Popen[bytes]", seconds: float) -> list[Figure]:
    _ask(session, "status")  # the sources are watched by then
    time.sleep(_SETTLE_SECONDS)
    before = _count(process.pid)
    time.sleep(seconds)
    after = _count(process.pid)
    plain = _bare_rss()
    wakes = (after.switches - before.switches) * _IDLE_SECONDS / seconds
    detail = f"{after.switches - before.switches} in {seconds:.0f} s, {after.io_bytes - before.io_bytes} bytes read"
    return [
        Figure(f"idle daemon, {_SOURCES} sources: wake-ups in 10 minutes", wakes, "", 10.0, detail),
        Figure(
            "idle daemon: resident memory / bare python",
            after.rss / plain,
            "x",
            5.0,
            f"{after.rss / 1e6:.1f} MB against {plain / 1e6:.1f} MB",
        ),
    ]


def _count(pid: int) -> _Counts:
    switches = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        for line in (task / "status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("voluntary_ctxt_switches:"):
                switches += int(line.split()[1])
    counted = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
    io_bytes = sum(int(line.split()[1]) for line in counted if line.startswith(("rchar:", "wchar:")))
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return _Counts(switches, io_bytes, pages * os.sysconf("SC_PAGE_SIZE"))


# -- permit and search -----------------------------------------------------------------------------------------


def _recall(session: service.Session, rollout: Path, folder: Path, rounds: int) -> list[Figure]:
    thread = rollout.stem[-36:]
    home = folder / "home" / ".codex"
    with host_process("codex", {"HOME": str(folder / "home"), "CODEX_HOME": str(home)}) as host:
        host.hold(rollout)
        (home / "thread-writer-locks").mkdir(exist_ok=True)
        host.hold(home / "thread-writer-locks" / f"{thread}.lock")
        memory = _relay_memory(session, host)
        with closing(_relay(session, host)) as relay:
            take = _searching(session, host, relay, thread, str(folder / "project"))
            alternate(5, take)
            ours, bare = alternate(rounds, take, lambda: run(_BARE).wall)
    detail = (
        f"{1000 * statistics.median(ours):.2f} ms, p99 {1000 * percentile(ours, 0.99):.2f}, "
        f"against {1000 * statistics.median(bare):.2f} ms"
    )
    return [
        Figure(
            "permit and search in the daemon / python that does nothing",
            ratio(ours, bare),
            "x",
            _GATE,
            detail,
        ),
        memory,
    ]


def _relay_memory(session: service.Session, host: HostProcess) -> Figure:
    """What a relay holds that has carried a host's first messages to the daemon."""
    command = [sys.executable, "-I", "-S", "-E", "-B", relay_program.__file__, "codex"]
    pid, line = host.spawn([*command, str(session.locations.runtime)])
    with line:
        _begin(line)
        ours, plain = _count(pid).rss, _bare_rss()
    host.reap(pid)
    return Figure(
        "relay: resident memory / bare python",
        ours / plain,
        "x",
        1.5,
        f"{ours / 1e6:.1f} MB against {plain / 1e6:.1f} MB",
    )


def _bare_rss() -> int:
    """Of a Python that waits."""
    with subprocess.Popen(_WAITING, stdin=subprocess.PIPE) as bare:
        time.sleep(0.3)
        return _count(bare.pid).rss


def _searching(
    session: service.Session, host: HostProcess, relay: socket.socket, thread: str, project: str
) -> Callable[[], float]:
    numbers = iter(range(1, 1_000_000))
    arguments = {"query": "pytest passed"}

    def take() -> float:
        number = next(numbers)
        event = {
            "hook_event_name": "PreToolUse",
            "session_id": thread,
            "cwd": project,
            "tool_name": "mcp__timeline__session_timeline_search",
            "tool_input": arguments,
            "tool_use_id": f"call_{number}",
        }
        call = {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {
                "name": "session_timeline_search",
                "arguments": arguments,
                "_meta": {"threadId": thread, "callId": f"call_{number}", "sessionId": thread},
            },
        }
        began = time.perf_counter()
        with host.connect(session.locations.socket) as hook:
            hook.sendall(f"timeline/1 {__version__} hook codex\n".encode() + json.dumps(event).encode())
            hook.shutdown(socket.SHUT_WR)
            said = hook.recv(65536)
        answer = _exchange(relay, call)
        taken = time.perf_counter() - began
        found = answer.get("result", answer)
        found = found.get("structuredContent", found)
        if said or found.get("status") != "found":
            message = f"a permitted search finds something: {said!r}, {found.get('reason')}"
            raise RuntimeError(message)
        return taken

    return take


def _relay(session: service.Session, host: HostProcess) -> socket.socket:
    connection = host.connect(session.locations.socket)
    connection.sendall(f"timeline/1 {__version__} mcp codex\n".encode())
    _begin(connection)
    return connection


def _begin(connection: socket.socket) -> None:
    """What every host says first."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    }
    _exchange(connection, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
    connection.sendall(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')


def _exchange(connection: socket.socket, message: dict[str, Any]) -> dict[str, Any]:
    connection.sendall(json.dumps(message).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):
        piece = connection.recv(65536)
        if not piece:
            raise RuntimeError("the daemon answers")
        answer += piece
    found: dict[str, Any] = json.loads(answer)
    return found


# -- an append to a long file ----------------------------------------------------------------------------------


def _append(folder: Path) -> list[Figure]:
    """What the daemon reads and spends for 20 KB that are added to 50 MB, its whole prefix proved meanwhile."""
    shutil.rmtree(folder, ignore_errors=True)
    path, content = next(write_corpus(FILE_BYTES, 0.1))
    head, newline, turns = content.partition(b"\n")
    whole = head + newline + turns * (1 + (50 << 20) // len(turns))
    transcript = folder / "home" / ".codex" / path
    transcript.parent.mkdir(parents=True)
    transcript.write_bytes(whole[: 50 << 20])
    session = session_at(folder)
    enroll(session, folder / "project", transcript, follow=True)
    for result in service.index(session, str(folder / "project")):
        if isinstance(result, tuple):
            raise result[1]
    with _daemon(session) as process:
        added, size = 20_000, 50 << 20
        _ask(session, "status")  # the file is watched by then
        before, began = _count(process.pid).io_bytes, time.monotonic()
        steps = 8
        for _ in range(steps):
            with transcript.open("ab") as file:
                file.write(whole[size : size + added])
            size += added
            reached = size - (1 << 20)
            _until(lambda reached=reached: _indexed(session, folder) >= reached)  # type: ignore[misc]  # bound here
            time.sleep(1.0)
        moved, seconds = _count(process.pid).io_bytes - before, time.monotonic() - began
    detail = (
        f"{steps} times {added // 1000} KB in {seconds:.0f} s, {moved / 1e6:.0f} MB read and written in all"
    )
    return [
        Figure(
            "append to a followed 50 MB file: bytes moved / (the proof's rate)",
            moved / (seconds * PROOF_BYTES),
            "x",
            1.5,
            detail,
        )
    ]


def _indexed(session: service.Session, folder: Path) -> int:
    """How far the newest generation reaches, as any reader sees it."""
    (found,) = service.list_sources(session, str(folder / "project"))
    return found.source.newest.size


def _until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("the daemon follows the file")
        time.sleep(0.1)


# -- the world -------------------------------------------------------------------------------------------------


def _world(folder: Path, sources: int) -> tuple[service.Session, Path]:
    """A timeline with so many followed and indexed sessions, each in its own folder; and the first one's transcript."""
    session = session_at(folder)
    first: Path | None = None
    for number in range(sources):
        clock = stepping_clock(START_MS + number * 86_400_000)
        rollout = CodexRollout(clock=clock, seed=number, cwd=str(folder / "project"))
        rollout.start_turn()
        rollout.prompt("go on")
        rollout.command("pytest -q", f"{3 + number} passed in 0.10s\n", 0)
        rollout.end_turn("done")
        path = folder / "home" / ".codex" / rollout.relative_path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rollout.to_bytes())
        enroll(session, folder / "project", path, follow=True)
        first = first or path
    for result in service.index(session, str(folder / "project")):
        if isinstance(result, tuple):
            raise result[1]
    if first is None:
        raise RuntimeError("there is a session")
    return session, first


@contextmanager
def _daemon(session: service.Session) -> Iterator["subprocess.Popen[bytes]"]:
    """A daemon of its own for a timeline, until the block ends."""
    names = ("state", "trust", "config", "runtime")
    environment = {
        f"TIMELINE_{name.upper()}_DIR": str(getattr(session.locations, name)) for name in names
    } | {"HOME": session.environment["HOME"], "PATH": os.environ["PATH"]}
    command = [sys.executable, "-I", "-m", "timeline", "daemon", "run"]
    with subprocess.Popen(command, env=environment) as process:
        try:
            _until(lambda: session.locations.socket.exists() or process.poll() is not None)
            if process.poll() is not None:
                raise RuntimeError("the daemon runs")
            yield process
        finally:
            process.terminate()


def _ask(session: service.Session, what: str) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(session.locations.socket))
        connection.sendall(f"timeline/1 {__version__} ask\n".encode() + json.dumps({"ask": what}).encode())
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    found: dict[str, Any] = json.loads(answer)
    return found
