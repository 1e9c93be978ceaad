"""Writes a Codex rollout as Codex writes it: the well-formed transcript that ``timeline demo`` is told on.

Both history modes, the text header of ``exec_command``, the JSON of ``shell``, ``apply_patch``, repeated
``session_meta``. Standard library only; the clock and the randomness come in, so that equal inputs give equal
bytes. Damage, forks and other tools are the business of the tests' simulator, which builds on this.
"""

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

LEGACY: Final = "legacy"
PAGINATED: Final = "paginated"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_INSTRUCTIONS: Final = "You are a simulated coding agent. "
"""Hosts inline long instructions in every ``session_meta``; repeated to a like size."""

Json = dict[str, object]


def stepping_clock(start_ms: int, step_ms: int = 137) -> Callable[[], int]:
    """Return a clock that begins at ``start_ms`` (milliseconds since the epoch) and moves at every look."""
    now = start_ms - step_ms

    def look() -> int:
        nonlocal now
        now += step_ms
        return now

    return look


def utc_text(at_ms: int) -> str:
    """Return ``at_ms`` as Codex writes times: UTC with milliseconds."""
    moment = _EPOCH + timedelta(milliseconds=at_ms)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at_ms % 1000:03d}Z"


class CodexRollout:
    """One session's rollout, growing record by record.

    ``clock`` gives milliseconds since the epoch. ``history_mode`` is ``legacy`` (0.142.5) or ``paginated``
    (0.171.0). The first record is written by the constructor; every method appends what the host would.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], int],
        seed: int = 0,
        cwd: str = "/w/project",
        history_mode: str = LEGACY,
        instructions_bytes: int = 400,
    ) -> None:
        """Begin the rollout of a new thread."""
        self.random = random.Random(seed)  # noqa: S311  # ids of a simulation
        self.clock = clock
        self.cwd = cwd
        self.history_mode = history_mode
        self.paginated = history_mode == PAGINATED
        self.started_ms = clock()
        self.thread_id = self.new_id(self.started_ms)
        self.turn_id = ""
        self.next_ordinal = 0
        self._calls = 0
        self._taken = 0
        self._instructions = (_INSTRUCTIONS * (1 + instructions_bytes // len(_INSTRUCTIONS)))[
            :instructions_bytes
        ]
        self.lines: list[bytes] = []
        self.write_session_meta()

    # --------------------------------------------------------------------------------------------- the file

    @property
    def relative_path(self) -> str:
        """Where this rollout lies below the host's home."""
        moment = _EPOCH + timedelta(milliseconds=self.started_ms)
        name = f"rollout-{moment:%Y-%m-%dT%H-%M-%S}-{self.thread_id}.jsonl"
        return f"sessions/{moment:%Y/%m/%d}/{name}"

    def to_bytes(self) -> bytes:
        """Return the whole file so far."""
        return b"".join(line + b"\n" for line in self.lines)

    def take(self) -> bytes:
        """Return what was appended since the last ``take``: one append of the host."""
        new, self._taken = self.lines[self._taken :], len(self.lines)
        return b"".join(line + b"\n" for line in new)

    def write(self, record_type: str, payload: Json) -> None:
        """Append one record in its envelope."""
        record: Json = {"timestamp": utc_text(self.clock())}
        if self.paginated:
            record["ordinal"] = self.next_ordinal
            self.next_ordinal += 1
        record.update(type=record_type, payload=payload)
        self.lines.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode())

    def new_id(self, at_ms: int) -> str:
        """Return a UUIDv7 of that time."""
        bits = (at_ms << 80) | (7 << 76) | (self.random.getrandbits(12) << 64)
        bits |= (2 << 62) | self.random.getrandbits(62)
        text = f"{bits:032x}"
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

    def new_call_id(self) -> str:
        """Return the id of the next call."""
        self._calls += 1
        return f"call_{self.random.getrandbits(80):020x}{self._calls:04d}"

    # --------------------------------------------------------------------------------------- session and turns

    def session_meta(self) -> Json:
        """Return the payload of this thread's ``session_meta``."""
        payload: Json = {
            "id": self.thread_id,
            "timestamp": utc_text(self.started_ms),
            "cwd": self.cwd,
            "originator": "codex_cli_rs",
            "cli_version": "0.171.0" if self.paginated else "0.142.5",
            "source": "cli",
            "thread_source": "user",
            "model_provider": "simulated",
            "base_instructions": {"text": self._instructions},
        }
        if self.paginated:
            payload["history_mode"] = PAGINATED
        return payload

    def write_session_meta(self) -> None:
        """Append ``session_meta``; the desktop application repeats it at every resume."""
        self.write("session_meta", self.session_meta())

    def start_turn(self) -> None:
        """Append the frame of a new turn."""
        now = self.clock()
        self.turn_id = self.new_id(now)
        started: Json = {"type": "task_started", "turn_id": self.turn_id, "started_at": now // 1000}
        started.update(model_context_window=258_400, collaboration_mode_kind="default")
        self.write("event_msg", started)
        context: Json = {"turn_id": self.turn_id, "cwd": self.cwd, "approval_policy": "never"}
        context.update(sandbox_policy={"type": "danger-full-access"}, model="simulated-1", summary="auto")
        self.write("turn_context", context)

    def end_turn(self, answer: str | None = None) -> None:
        """Append the answer, if any, and the end of the turn."""
        if answer is not None:
            self.answer(answer)
        ended: Json = {"type": "task_complete", "turn_id": self.turn_id, "last_agent_message": answer}
        ended.update(completed_at=self.clock() // 1000, duration_ms=4_000)
        self.write("event_msg", ended)

    def abort_turn(self) -> None:
        """Append the end of a turn that the user interrupted."""
        self.write("event_msg", {"type": "turn_aborted", "turn_id": self.turn_id, "reason": "interrupted"})

    def prompt(self, text: str) -> None:
        """Append a human prompt: the copy for the model, and the record that says a person wrote it."""
        self._message("user", "input_text", text)
        if self.paginated:
            content: list[Json] = [{"type": "text", "text": text, "text_elements": []}]
            self.write_item({"type": "UserMessage", "id": self.new_id(self.clock()), "content": content})
        else:
            payload: Json = {"type": "user_message", "message": text}
            payload.update(images=[], local_images=[], text_elements=[])
            self.write("event_msg", payload)

    def answer(self, text: str) -> None:
        """Append a message of the agent, in both of its copies."""
        if self.paginated:
            message: Json = {"type": "AgentMessage", "id": f"msg_{self.random.getrandbits(64):016x}"}
            message["content"] = [{"type": "Text", "text": text}]
            self.write_item(message)
        else:
            self.write("event_msg", {"type": "agent_message", "message": text, "phase": "final_answer"})
        self._message("assistant", "output_text", text)

    def inject(self, text: str) -> None:
        """Append text that the harness puts before the model as if the user had sent it."""
        self._message("user", "input_text", text)

    def write_item(self, item: Json) -> None:
        """Append ``item_completed``."""
        payload: Json = {"type": "item_completed", "thread_id": self.thread_id, "turn_id": self.turn_id}
        now = self.clock()
        payload.update(item=item, started_at_ms=now, completed_at_ms=now)
        self.write("event_msg", payload)

    def _message(self, role: str, kind: str, text: str) -> None:
        content: list[Json] = [{"type": kind, "text": text}]
        self.write("response_item", {"type": "message", "role": role, "content": content})

    # -------------------------------------------------------------------------------------------------- tools

    def command(self, command: str, output: str, exit_code: int) -> str:
        """Append an ``exec_command`` that ended; return its call id."""
        call_id = self.call("exec_command", {"cmd": command, "workdir": self.cwd})
        if self.paginated:
            self.report(call_id, command, output, exit_code)
        self.output(call_id, f"{self._head(f'Process exited with code {exit_code}', output)}{output}")
        return call_id

    def background_command(self, command: str, output: str, session: int) -> str:
        """Append an ``exec_command`` that was still running when the host looked; return its call id."""
        call_id = self.call("exec_command", {"cmd": command, "workdir": self.cwd})
        self.output(call_id, f"{self._head(f'Process running with session ID {session}', output)}{output}")
        return call_id

    def shell(self, argv: list[str], output: str, exit_code: int) -> str:
        """Append a call of the early ``shell`` tool, whose output is JSON inside a string."""
        call_id = self.call("shell", {"command": argv, "workdir": self.cwd})
        result: Json = {"output": output, "metadata": {"exit_code": exit_code, "duration_seconds": 0.5}}
        self.output(call_id, json.dumps(result, ensure_ascii=False, separators=(",", ":")))
        return call_id

    def patch(self, patch: str, *, applied: bool = True) -> str:
        """Append an ``apply_patch``; return its call id."""
        call_id = self.new_call_id()
        call: Json = {"type": "custom_tool_call", "status": "completed", "call_id": call_id}
        call.update(name="apply_patch", input=patch)
        self.write("response_item", call)
        text = (
            "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess. Updated the following files:\nM a.py\n"
        )
        if not applied:
            text = "apply_patch verification failed: Failed to find expected lines"
        elif not self.paginated:
            ended: Json = {"type": "patch_apply_end", "call_id": call_id, "turn_id": self.turn_id}
            ended.update(stdout="", stderr="", success=True, changes={})
            self.write("event_msg", ended)
        self.write("response_item", {"type": "custom_tool_call_output", "call_id": call_id, "output": text})
        return call_id

    def call(self, name: str, arguments: Json) -> str:
        """Append a ``function_call``; return its call id."""
        call_id = self.new_call_id()
        payload: Json = {"type": "function_call", "name": name}
        text = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
        payload.update(arguments=text, call_id=call_id)
        self.write("response_item", payload)
        return call_id

    def output(self, call_id: str, output: object) -> None:
        """Append a ``function_call_output``."""
        self.write("response_item", {"type": "function_call_output", "call_id": call_id, "output": output})

    def report(self, item_id: str, command: str, output: str, exit_code: object) -> None:
        """Append a ``CommandExecution``: what really ran and how it ended."""
        item: Json = {"type": "CommandExecution", "id": item_id, "process_id": "4711"}
        item.update(command=["/bin/bash", "-lc", command], cwd=f"file://{self.cwd}", parsed_cmd=[])
        item.update(source="unified_exec_startup", status="completed" if exit_code == 0 else "failed")
        item.update(aggregated_output=output, exit_code=exit_code, duration={"secs": 0, "nanos": 5_000})
        self.write_item(item)

    def _head(self, ending: str, output: str) -> str:
        chunk = f"{self.random.getrandbits(24):06x}"
        tokens = max(1, len(output) // 4)
        return f"Chunk ID: {chunk}\nWall time: 0.5123 seconds\n{ending}\nOriginal token count: {tokens}\nOutput:\n"
