"""Sessions of every host as they ask the timeline: written, enrolled, and calling tools through hook and server."""

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.guard.callers import lock, plain, process
from tests.simulators.claude import work_session as claude_session
from tests.simulators.king import work_wire
from tests.simulators.worlds import World, prompt_event, rollout_of, write_transcript
from timeline import permitting, recall, service
from timeline.guard.permit import PermitBook
from timeline.guard.request import Tool
from timeline.guard.transport import Caller, HostProcess
from timeline.hosts import HOSTS

ASKED: Mapping[str, Any] = {"query": "pytest failed"}


@dataclass(frozen=True, slots=True)
class Written:
    """One session's transcript where its host writes it."""

    host: str
    session: str
    path: Path


@dataclass(slots=True)
class Agent:
    """The agent of one session. ``caller`` is what is seen of its hook and of its relay."""

    world: World
    written: Written
    ref: str
    caller: Caller
    book: PermitBook = field(default_factory=PermitBook)
    thread: str | None = None
    names_calls: bool = True
    uses: Any = field(default_factory=lambda: itertools.count(1))
    meta: Mapping[str, object] | None = None

    @property
    def host(self) -> str:
        """The host's name."""
        return self.written.host

    @property
    def session(self) -> str:
        """The session's name."""
        return self.written.session

    def permit(
        self, tool: Tool = Tool.SEARCH, given: Mapping[str, object] = ASKED, **changes: Any
    ) -> permitting.Permitted | permitting.Denied | None:
        """What the hook is told; afterwards ``meta`` is what the host will say in the call."""
        use = changes.pop("tool_use_id", None) or f"use-{self.session}-{next(self.uses)}"
        self.meta = (
            {
                "threadId": self.thread or self.session,
                "sessionId": self.session,
                **({"callId": use} if self.names_calls else {}),
            }
            if self.host == "codex"
            else None
        )
        asked: dict[str, Any] = {
            "host": self.host,
            "hook_session": self.session,
            "thread": self.thread,
            "cwd": self.world.root,
            "tool": changes.pop("hook_tool", None) or f"mcp__timeline__{tool}",
            "tool_input": given,
            "tool_use_id": use,
            "caller": self.caller,
            **changes,
        }
        return permitting.permit_call(self.world.session, self.book, **asked)

    def call(
        self, tool: Tool = Tool.SEARCH, given: Mapping[str, object] = ASKED, **changes: Any
    ) -> dict[str, Any]:
        """What the server answers."""
        asked: dict[str, Any] = {
            "host": self.host,
            "arguments": given,
            "meta": self.meta,
            "caller": self.caller,
            **changes,
        }
        return recall.TOOLS[tool](self.world.session, self.book, recall.ToolCall(**asked))

    def ask(self, tool: Tool = Tool.SEARCH, given: Mapping[str, object] = ASKED) -> dict[str, Any]:
        """Both, as a host does them; a refusal of the hook is an error of the test."""
        permitted = self.permit(tool, given)
        assert isinstance(permitted, permitting.Permitted), permitted
        return self.call(tool, given)


def denial(found: object) -> str:
    """The reason that a hook was given."""
    assert isinstance(found, permitting.Denied), found
    return found.reason


def write_session(world: World, host: str, seed: int = 0) -> Written:
    """Write a session with a failed and a passed test run."""
    if host == "codex":
        rollout = rollout_of(world, seed=seed)
        return Written(host, rollout.thread_id, write_transcript(world, rollout))
    home = world.home / HOSTS[host].home_default
    if host == "claude":
        claude = claude_session(seed=seed)
        path = home / "projects/-w" / f"{claude.session_id}.jsonl"
        return _put(Written(host, claude.session_id, path), claude.to_bytes())
    session = f"session_{host}-{seed}"
    folder = home / "sessions/wd" / session
    written = _put(Written(host, session, folder / "agents/main/wire.jsonl"), work_wire(seed=seed).to_bytes())
    with (home / "session_index.jsonl").open("a", encoding="utf-8") as index:
        index.write(json.dumps({"sessionId": session, "sessionDir": str(folder)}) + "\n")
    return written


def _put(written: Written, content: bytes) -> Written:
    written.path.parent.mkdir(parents=True, exist_ok=True)
    written.path.write_bytes(content)
    return written


def enroll(world: World, written: Written, *, turn: str = "turn-1", follow: bool = False) -> str:
    """Prompt, receipt and the owner's consent; returns the source's reference."""
    session = service.Session(world.locations, world.session.ports, {"HOME": str(world.home)})
    field_name = HOSTS[written.host].turn_field or "turn_id"
    event = prompt_event(world, written.session, str(written.path), **{field_name: turn})
    receipt = service.receive_prompt(session, written.host, event)
    return service.enroll(session, world.root, receipt.id, confirmed=True, follow=follow).source.ref


def seen(written: Written, *others: Written, pid: int = 100, locked: bool = True) -> Caller:
    """What is seen of a peer below the host's process, which has these sessions open."""
    if written.host != "codex":
        return plain(written.host, pid)
    all_written = (written, *others)
    files = [str(one.path) for one in all_written]
    home = str(written.path).partition("/sessions/")[0]
    files += [lock(one.session, home) for one in all_written if locked]
    return Caller(HostProcess("codex", process("codex", pid)), tuple(files))


def agent_of(
    world: World,
    host: str,
    seed: int = 0,
    *,
    index: bool = True,
    follow: bool = False,
    change: Callable[[Agent], None] | None = None,
) -> Agent:
    """One enrolled session with its agent, indexed to its end unless told otherwise."""
    written = write_session(world, host, seed)
    ref = enroll(world, written, follow=follow)
    if index:
        service.index(world.session, world.root, source_ref=ref)
    agent = Agent(world, written, ref, seen(written))
    if change is not None:
        change(agent)
    return agent
