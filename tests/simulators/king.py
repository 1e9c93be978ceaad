"""Writes wires as Kimi Code and King do, by version of the application, and as crashes, forks and upgrades leave them.

Deterministic: equal arguments give equal bytes. The shapes are those of ``docs/spec/adapter-king.md``.
"""

import json
import random
from collections.abc import Callable, Iterator

from tests.simulators.hosts import CORPUS_START_MS, pytest_output, stepping_clock

Json = dict[str, object]

VERSIONS = {"0.10.0": "1.3", "0.12.1": "1.4", "2.1.0": "1.5"}
"""Versions of the application that are written, each with its protocol."""

SHORTENED = " Output is truncated to fit in the message."


class Wire:
    """One agent's wire, growing record by record; every method appends what the host would.

    ``clock`` gives milliseconds since the epoch.
    """

    def __init__(
        self,
        version: str = "0.12.1",
        *,
        clock: Callable[[], int] | None = None,
        seed: int = 0,
        agent: str = "main",
    ) -> None:
        """Begin the wire of a new session."""
        self.random = random.Random(seed)
        self.clock = clock or stepping_clock(CORPUS_START_MS + seed * 3_600_000)
        self.version = version
        self.protocol = VERSIONS[version]
        self.agent = agent
        self.modern = version == "2.1.0"
        self.turn = -1
        self.step = 0
        self.step_id = ""
        self.calls = 0
        self.lines: list[bytes] = []
        header: Json = {
            "type": "metadata",
            "protocol_version": self.protocol,
            "created_at": self.clock(),
        }
        if version == "0.10.0":
            header["app_version"] = version
        self.put(header)
        self._begin()

    # --------------------------------------------------------------------------------------------- the file

    def to_bytes(self) -> bytes:
        """Return the whole file so far."""
        return b"".join(line + b"\n" for line in self.lines)

    def put(self, record: Json) -> None:
        """Append a record exactly as it is."""
        self.lines.append(json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode())

    def write(self, record_type: str, **fields: object) -> None:
        """Append one record with its time."""
        record: Json = {"type": record_type}
        if self.modern:
            record["agentId"] = self.agent
        self.put({**record, **fields, "time": self.clock()})

    def event(self, kind: str, **fields: object) -> None:
        """Append one loop event."""
        self.write("context.append_loop_event", event={"type": kind, **fields})

    def new_id(self) -> str:
        """Return a UUID as the host makes them."""
        digits = f"{self.random.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"

    def _begin(self) -> None:
        if self.modern:
            self.write("runtime.set_binding", workspaceId="wd_project_0123456789ab", runtimeId="local")
            self.write("profile.bind", modelAlias="mock", profileName="agent", systemPrompt="You help. " * 20)
        else:
            self.write("config.update", profileName="agent", systemPrompt="You help. " * 20)
            self.write("tools.set_active_tools", names=["Read", "Write", "Edit", "Grep", "Glob", "Bash"])
        self.write("permission.set_mode", mode="auto")

    # ---------------------------------------------------------------------------------------------- messages

    def prompt(self, text: str, kind: str = "user", **origin: object) -> None:
        """Begin a turn with a prompt: the turn, the message, and in 2.1.0 the same message a third time."""
        self.turn += 1
        self.step = 0
        source = {"kind": kind, **origin}
        parts = [{"type": "text", "text": text}]
        self.write("turn.prompt", input=parts, origin=source)
        self.message(text, source)
        if self.modern:
            self._notify("agent.message.appended", message={"message": {"role": "user", "content": parts}})
            self._notify("agent.turn.started", turnId=self.turn)
        self.begin_step()

    def steer(self, text: str) -> None:
        """Say something in the middle of a turn."""
        self.write("turn.steer", input=[{"type": "text", "text": text}], origin={"kind": "user"})
        self.message(text, {"kind": "user"})

    def message(self, text: str, origin: object) -> None:
        """Append a message to the agent."""
        content = [{"type": "text", "text": text}]
        message = {"role": "user", "content": content, "toolCalls": [], "origin": origin}
        self.write("context.append_message", message=message)

    def inject(self, text: str, kind: str = "injection") -> None:
        """Append what the harness says in the place of the person."""
        self.message(text, {"kind": kind, "variant": "todo_list_reminder"})

    def _notify(self, record_type: str, **fields: object) -> None:
        self.put({**fields, "type": record_type, "time": self.clock(), "kind": "event"})

    # ------------------------------------------------------------------------------------------ steps and turns

    def begin_step(self) -> None:
        """Begin a step of the model."""
        self.step += 1
        self.step_id = self.new_id()
        self.event("step.begin", uuid=self.step_id, turnId=str(self.turn), step=self.step)
        if self.version != "0.10.0":
            self.write("llm.request", kind="loop", provider="kimi", model="mock", messageCount=self.turn + 2)

    def end_step(self, reason: str = "tool_use") -> None:
        """End the step with what it used."""
        usage = {"inputOther": 1000, "output": 50, "inputCacheRead": 0, "inputCacheCreation": 0}
        self.event(
            "step.end",
            uuid=self.step_id,
            turnId=str(self.turn),
            step=self.step,
            usage=usage,
            finishReason=reason,
            llmFirstTokenLatencyMs=41,
        )
        self.write("usage.record", model="mock", usage=usage, usageScope="turn")

    def say(self, text: str, kind: str = "text") -> None:
        """Append a part of the answer, or with ``think`` of the thoughts."""
        part = {"type": kind, kind: text}
        self.event(
            "content.part",
            uuid=self.new_id(),
            turnId=str(self.turn),
            step=self.step,
            stepUuid=self.step_id,
            part=part,
        )

    def end_turn(self, text: str) -> None:
        """Answer, and end the turn."""
        self.say(text)
        self.end_step("end_turn")
        if self.modern:
            self.write("turn.ended", turnId=self.turn, reason="completed", durationMs=1200)
            self.write("prompt.completed", promptId="msg_1", reason="completed")

    # ---------------------------------------------------------------------------------------------------- tools

    def call(self, tool: str, args: Json, call_id: str | None = None) -> str:
        """Append a call; return its id, by default the agent's next counter."""
        call_id = call_id or f"{tool}_{self.calls}"
        self.calls += 1
        self._uuid = self.new_id() if self.modern else call_id
        self.event(
            "tool.call",
            uuid=self._uuid,
            turnId=str(self.turn),
            step=self.step,
            stepUuid=self.step_id,
            toolCallId=call_id,
            name=tool,
            args=args,
        )
        return call_id

    def result(self, call_id: str, output: object, *, is_error: bool | None = None, **more: object) -> None:
        """Append the result of the call that was appended last, or of another without its uuid."""
        stated: Json = {"output": output}
        if is_error is not None:
            stated["isError"] = is_error
        stated.update(more)
        if self.modern:
            stated["durationMs"] = 39
        self.event("tool.result", parentUuid=self._uuid, toolCallId=call_id, result=stated)

    def command(self, command: str, output: str, code: int = 0, *, call_id: str | None = None) -> str:
        """Run a shell line in the foreground, and end the step."""
        call_id = self.call("Bash", {"command": command}, call_id)
        if code:
            printed = output or f"Process exited with code {code}"
            lead = printed if printed.endswith("\n") else f"{printed}\n"
            self.result(call_id, f"{lead}Command failed with exit code: {code}.", is_error=True)
        else:
            self.result(call_id, output or "Command executed successfully.")
        self.end_step()
        self.begin_step()
        return call_id

    def background(self, command: str, code: int | None = 0) -> None:
        """Start a shell line in the background; 2.1.0 reports its end."""
        task = f"bash-{self.random.getrandbits(32):08x}"
        args: Json = {"command": command, "run_in_background": True, "description": "slow"}
        call_id = self.call("Bash", args)
        info = {"taskId": task, "kind": "process", "command": command, "parentToolCallId": call_id}
        if self.modern:
            self.write("task.started", info={**info, "status": "running", "exitCode": None})
        self.result(
            call_id,
            f"task_id: {task}\npid: 25900\ndescription: slow\nstatus: running\nautomatic_notification: true",
        )
        if self.modern:
            status = "completed" if code == 0 else "failed"
            self.write(
                "task.terminated", info={**info, "status": status, "exitCode": code}, outputTail="late\n"
            )

    # ---------------------------------------------------------------------------------------------- afterwards

    def resume(self, app_version: str = "1.0.110", protocol: str | None = None) -> None:
        """Go on in another version of the application."""
        self.put(
            {
                "type": "metadata",
                "protocol_version": protocol or self.protocol,
                "created_at": self.clock(),
                "app_version": app_version,
                "resumed": True,
            }
        )

    def fork(self, seed: int = 1) -> "Wire":
        """Return the session that begins as a copy of this one."""
        child = Wire(self.version, clock=self.clock, seed=seed)
        child.lines = list(self.lines)
        child.turn, child.calls = self.turn, self.calls
        child.write("forked")
        return child

    def undo(self, count: int = 1) -> None:
        """Take turns out of the context."""
        self.write("context.undo", count=count)

    def compact(self, summary: str) -> None:
        """Replace the context by a summary of it."""
        self.write("full_compaction.begin", source="auto")
        self.write(
            "context.apply_compaction", summary=summary, compactedCount=2, tokensBefore=10, tokensAfter=5
        )
        self.write("full_compaction.complete")


def upgraded(data: bytes, protocol: str) -> bytes:
    """Return what a newer version leaves at the same path: another first line, the other lines as they were."""
    first, _, rest = data.partition(b"\n")
    header = json.loads(first)
    header["protocol_version"] = protocol
    return json.dumps(header, separators=(",", ":")).encode() + b"\n" + rest


def work_wire(version: str = "0.12.1", *, seed: int = 0) -> Wire:
    """Return a session that fails a test run, fixes it, passes, and once prints an old log."""
    wire = Wire(version, seed=seed)
    wire.prompt("make the tests pass")
    wire.inject("<system-reminder>\nuse the list\n</system-reminder>")
    wire.say("They fail, I think.", "think")
    wire.command("ls", "a.py\ntest_a.py\n")
    wire.command("pytest -q", pytest_output(11, 1), 1)
    edit = wire.call("Edit", {"path": "/w/project/a.py", "old_string": "1", "new_string": "2"})
    wire.result(edit, "Replaced 1 occurrence")
    wire.command("python -m pytest -q", pytest_output(12))
    wire.command("cat old.log", pytest_output(99))
    wire.end_turn("twelve tests pass")
    wire.resume()
    wire.prompt("once more")
    wire.background("pytest -q tests/slow", 4)
    wire.command("pytest -q", pytest_output(12))
    stopped = wire.call("Bash", {"command": "sleep 30"})
    wire.write("turn.cancel")
    wire.result(stopped, "Interrupted by user", is_error=True)
    return wire


def wire_corpus(total_bytes: int, *, reviewed_share: float, seed: int = 0) -> Iterator[bytes]:
    """Yield the lines of one long wire, together at least ``total_bytes``.

    ``reviewed_share`` is the share of all bytes that are outputs of reviewed commands; sizes of outputs are those of
    the Codex corpus: most below 4 KiB, most bytes in outputs of 4 to 64 KiB.
    """
    chance = random.Random(seed)
    wire = Wire(seed=seed)
    lines = [_printed(number) for number in range(4_000)]
    written = reviewed = 0
    while written < total_bytes:
        wire.prompt(f"go on with {chance.randrange(99)}")
        for _ in range(chance.randint(2, 9)):
            size = chance.choice((200, 800, 2_000, 6_000, 12_000, 24_000, 48_000))
            start = chance.randrange(2_000)
            text = "".join(lines[start : start + max(1, size // 24)])
            wire.say("I look at it. " * chance.randint(1, 20), "think")
            if reviewed < reviewed_share * written:
                failed = chance.choice((0, 0, 1, 3))
                wire.command("pytest -q tests", pytest_output(100, failed, filler=text), 1 if failed else 0)
                reviewed += len(text)
            else:
                wire.command(chance.choice(("rg -n value src", "sed -n 1,200p a.py", "git diff")), text)
        wire.end_turn("done")
        for line in wire.lines:
            yield line + b"\n"
            written += len(line) + 1
        wire.lines.clear()


def _printed(number: int) -> str:
    """Return a line as tools print them; now and then one with a character beyond ASCII, or to be escaped."""
    if number % 97 == 0:
        return f'    "key_{number}": {number}, // \u00e4\n'
    return f"\tsrc/lib_{number}.py:{number}: {number:x}\n"
