"""One driver a host: what people, hosts and tools write into a transcript, in the words of that host's simulator."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tests.simulators.claude import ClaudeSession, branch, new_session
from tests.simulators.hosts import CodexRollout, stepping_clock
from tests.simulators.king import Wire
from tests.simulators.worlds import NOW_MS, START_MS, World
from timeline import service
from timeline.guard.receipt import Receipt
from timeline.processes import Process
from timeline.simulated_host import LEGACY, PAGINATED

SESSION = "01a22a7f-ace7-45e3-95ae-7922d7fa3d2f"
"""The session of hosts whose simulators write none into the file."""


class Talk(Protocol):
    """One session's transcript, growing."""

    session: str
    place: str

    def prompt(self, text: str) -> None:
        """A person types."""

    def work(self, output: str = "12 passed in 0.1s\n") -> None:
        """The agent runs a command whose output this is."""

    def inject(self, text: str) -> None:
        """The host puts a text before the model in the person's place."""

    def raw_prompt(self) -> str:
        """The very line that a prompt leaves in this format, as a text that somebody can quote."""

    def to_bytes(self) -> bytes:
        """The file so far."""


class Clock:
    """A host's clock: it stands where the test puts it, and moves at every look."""

    def __init__(self, start_ms: int) -> None:
        self.now = stepping_clock(start_ms)

    def __call__(self) -> int:
        return self.now()

    def set(self, at_ms: int) -> None:
        self.now = stepping_clock(at_ms)


class CodexTalk:
    def __init__(self, clock: Clock, mode: str, folder: str) -> None:
        self.rollout = CodexRollout(clock=clock, cwd=folder, history_mode=mode)
        self.session = self.rollout.thread_id
        self.place = self.rollout.relative_path

    def prompt(self, text: str) -> None:
        self.rollout.start_turn()
        self.rollout.prompt(text)

    def work(self, output: str = "12 passed in 0.1s\n") -> None:
        self.rollout.command("cat notes.jsonl", output, 0)
        self.rollout.end_turn("done")

    def inject(self, text: str) -> None:
        self.rollout.inject(text)

    def raw_prompt(self) -> str:
        before = len(self.rollout.lines)
        self.rollout.prompt("quoted")
        added = self.rollout.lines[before:]
        del self.rollout.lines[before:]
        self.rollout.next_ordinal -= len(added) if self.rollout.paginated else 0
        return added[-1].decode()

    def to_bytes(self) -> bytes:
        return self.rollout.to_bytes()


class ClaudeTalk:
    def __init__(
        self, clock: Clock, version: str, session: ClaudeSession | None = None, folder: str | None = None
    ) -> None:
        self.claude = session or new_session(version)
        self.claude.cwd = folder or self.claude.cwd
        self.claude.clock = clock
        self.session = self.claude.session_id
        self.place = self.claude.relative_path

    def prompt(self, text: str) -> None:
        self.claude.prompt(text)

    def work(self, output: str = "12 passed in 0.1s\n") -> None:
        self.claude.command("cat notes.jsonl", output)
        self.claude.say("done")

    def inject(self, text: str) -> None:
        self.claude.meta(text)
        self.claude.prompt(f"<system-reminder>{text}</system-reminder>")

    def raw_prompt(self) -> str:
        before = len(self.claude.lines)
        self.claude.prompt("quoted")
        (added,) = self.claude.lines[before:]
        del self.claude.lines[before:]
        return added.decode()

    def to_bytes(self) -> bytes:
        return self.claude.to_bytes()


class WireTalk:
    def __init__(self, clock: Clock, version: str) -> None:
        self.wire = Wire(version, clock=clock)
        self.session = SESSION
        self.place = f"sessions/wd_project_0123456789ab/session_{SESSION}/agents/main/wire.jsonl"

    def prompt(self, text: str) -> None:
        self.wire.prompt(text)

    def work(self, output: str = "12 passed in 0.1s\n") -> None:
        self.wire.command("cat notes.jsonl", output)
        self.wire.end_step("end_turn")

    def inject(self, text: str) -> None:
        self.wire.inject(text)
        self.wire.prompt(text, kind="hook_result")

    def raw_prompt(self) -> str:
        before = len(self.wire.lines)
        self.wire.message("quoted", {"kind": "user"})
        (added,) = self.wire.lines[before:]
        del self.wire.lines[before:]
        return added.decode()

    def to_bytes(self) -> bytes:
        return self.wire.to_bytes()


@dataclass(frozen=True, slots=True)
class Kind:
    """A host in one of its formats."""

    host: str
    home: str
    program: str
    begin: Callable[[Clock, str], Talk]
    """Begin a session in a folder."""


KINDS = {
    "codex legacy": Kind("codex", ".codex", "codex", lambda clock, folder: CodexTalk(clock, LEGACY, folder)),
    "codex paginated": Kind(
        "codex", ".codex", "codex", lambda clock, folder: CodexTalk(clock, PAGINATED, folder)
    ),
    "claude 2.1.49": Kind(
        "claude", ".claude", "claude", lambda clock, folder: ClaudeTalk(clock, "2.1.49", folder=folder)
    ),
    "claude 2.1.220": Kind(
        "claude", ".claude", "claude", lambda clock, folder: ClaudeTalk(clock, "2.1.220", folder=folder)
    ),
    "king": Kind("king", ".king", "king", lambda clock, _: WireTalk(clock, "0.12.1")),
    "kimi": Kind("kimi", ".kimi-code", "kimi-code", lambda clock, _: WireTalk(clock, "2.1.0")),
}


class Desk:
    """One session in a world: its transcript, where the host writes it, and its prompts."""

    def __init__(self, world: World, kind: Kind, folder: str | None = None) -> None:
        """Begin a session that nobody has prompted yet, in the project or in ``folder``; nothing is written."""
        self.world = world
        self.kind = kind
        self.clock = Clock(START_MS)
        self.talk = kind.begin(self.clock, folder or world.root)
        self.path = world.home / kind.home / self.talk.place
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.turn = 0

    def write(self) -> None:
        """Let the host write what it has, as it does: by appending."""
        content = self.talk.to_bytes()
        have = self.path.stat().st_size if self.path.exists() else 0
        with self.path.open("ab") as file:
            file.write(content[have:])

    def event(self) -> bytes:
        """What the host gives its hook at the next prompt."""
        self.turn += 1
        folder = self.path.parents[2]
        index = self.world.home / self.kind.home / "session_index.jsonl"
        if self.kind.host in {"king", "kimi"}:
            index.write_text(
                json.dumps({"sessionId": self.talk.session, "sessionDir": str(folder)}) + "\n",
                encoding="utf-8",
            )
        return json.dumps(
            {
                "hook_event_name": "UserPromptSubmit",
                "session_id": self.talk.session,
                "transcript_path": str(self.path),
                "cwd": self.world.root,
                "turn_id": f"turn-{self.turn}",
                "prompt_id": f"turn-{self.turn}",
                "prompt": "make the tests pass",
            }
        ).encode()

    def at(self, after_ms: int) -> None:
        """Let timeline and host stand at one time, so long after the timeline's usual one."""
        self.world.clock.at_ms = NOW_MS + after_ms
        self.clock.set(NOW_MS + after_ms)


def resumed_claude(desk: Desk) -> None:
    """Let the session be an older one that goes on in a new file, all of it copied under the new id, unmarked."""
    older = desk.talk
    assert isinstance(older, ClaudeTalk)
    child = branch(older.claude, marked=False)
    desk.talk = ClaudeTalk(desk.clock, child.version, child)
    desk.path = desk.world.home / desk.kind.home / desk.talk.place


def chain_below(*names: str) -> tuple[Process, ...]:
    """Processes of these names, each below the next; the first is the one that asks."""
    return tuple(
        Process(100 - number, 100 - number, 99 - number, 1000, 1, 1, 0, -1, name, f"/usr/bin/{name}")
        for number, name in enumerate(names)
    )


def session_of(world: World) -> service.Session:
    """The session of a daemon whose hosts live in their usual homes."""
    return service.Session(world.locations, world.session.ports, {"HOME": str(world.home)})


def report(desk: Desk, *, attested: bool = True) -> Receipt:
    """The hook reports a prompt that the host has not written yet."""
    peer = chain_below("python3", "sh", desk.kind.program, "bash") if attested else None
    return service.receive_prompt(session_of(desk.world), desk.kind.host, desk.event(), peer=peer)
