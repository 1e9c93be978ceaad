"""Writes the oldest form of a Codex rollout: bare items behind one line of metadata, by default with CRLF ends."""

import json

from tests.simulators.hosts import pytest_output

Json = dict[str, object]

METADATA: Json = {
    "id": "0199a0c4-0000-7000-8000-000000000001",
    "timestamp": "2025-09-10T18:58:38.331Z",
    "instructions": None,
    "git": {},
}


class BareRollout:
    """One session; each method appends the lines that the host would write."""

    def __init__(self, *, end: bytes = b"\r\n") -> None:
        self._end = end
        self._calls = 0
        self.lines: list[bytes] = []
        self.write(METADATA)

    def to_bytes(self) -> bytes:
        """Return the file."""
        return b"".join(line + self._end for line in self.lines)

    def write(self, record: Json) -> None:
        """Append one record."""
        self.lines.append(json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode())

    def say(self, role: str, text: str) -> None:
        """Append a message and the state line that follows everything."""
        kind = "output_text" if role == "assistant" else "input_text"
        self.write({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
        self.write({"record_type": "state"})

    def shell(self, argv: list[str], output: str, exit_code: int) -> None:
        """Append a call of ``shell`` with its output, which is JSON in a string."""
        self._calls += 1
        call_id = f"call_{self._calls:024d}"
        arguments = json.dumps({"command": argv, "timeout_ms": 120_000})
        result = {"output": output, "metadata": {"exit_code": exit_code, "duration_seconds": 0.5}}
        self.write(
            {"type": "reasoning", "id": "rs_1", "summary": [], "content": None, "encrypted_content": "gAA"}
        )
        self.write({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": call_id})
        self.write({"record_type": "state"})
        self.write(
            {
                "type": "function_call_output",
                "call_id": call_id,
                "output": json.dumps(result, separators=(",", ":")),
            }
        )
        self.write({"record_type": "state"})


def bare_rollout(*, end: bytes = b"\r\n", run: bool = True) -> BareRollout:
    """Return a session that (where ``run``) fails a test run, prints an old log, and passes."""
    rollout = BareRollout(end=end)
    rollout.say("user", "<user_instructions>\n\nbe brief\n</user_instructions>")
    rollout.say("user", "<environment_context>\n  <cwd>/w/project</cwd>\n</environment_context>")
    rollout.say("user", "make the tests pass")
    if run:
        rollout.shell(["bash", "-lc", "pytest -q"], pytest_output(11, 1), 1)
        rollout.shell(["bash", "-lc", "cat old.log"], pytest_output(99), 0)
        rollout.shell(["python3", "-m", "pytest"], pytest_output(12), 0)
    rollout.say("assistant", "twelve tests pass")
    return rollout
