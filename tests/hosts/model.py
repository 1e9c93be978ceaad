"""The scripted model: one process on the loopback that plays our conversations, and what hosts told it.

A conversation is a list of steps, in the terms of the rig: ``sh`` is a shell command, ``mcp`` a tool as
``server/tool`` with ``args``, ``say`` a text. The tag ``[script:NAME]`` in a prompt chooses it. Each name is used for
one turn only, so that a result is found again by name and step.
"""

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.hosts.rig import Rig

Step = Mapping[str, Any]
Scripts = Mapping[str, Sequence[Step]]

PORT = 8089
"""Each case has a network namespace of its own, so that one port serves all."""

READY_SECONDS = 20
_CALL = re.compile(r"call_(?P<script>.+)_(?P<step>\d+)_\d+")


class Model:
    """The running model of one case. Conversations may be added at any time: the process is started again."""

    def __init__(self, rig: Rig, folder: Path) -> None:
        self._program = rig.model
        self._scripts: dict[str, Sequence[Step]] = {}
        self._file = folder / "scripts.json"
        self._log = folder / "requests.jsonl"
        self._process: subprocess.Popen[bytes] | None = None

    def add(self, scripts: Scripts) -> None:
        """Let the model play these conversations, too; no host may be in a turn."""
        self._scripts |= scripts
        self._file.write_text(json.dumps(self._scripts), encoding="utf-8")
        self.stop()
        command = [sys.executable, "-I", str(self._program), str(PORT), str(self._file), str(self._log)]
        with self._log.with_name("model.err").open("ab") as errors:
            self._process = subprocess.Popen(command, stderr=errors)
        deadline = time.monotonic() + READY_SECONDS
        while not _is_listening():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the model did not start: {errors.name}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def answer(self, script: str, step: int) -> dict[str, Any]:
        """Timeline's answer to a step of a conversation.

        Raises:
            AssertionError: there is none.
        """
        return answer_in(self.result(script, step))

    def result(self, script: str, step: int) -> str:
        """What a step of a conversation gave back to the model, as the host handed it over.

        Raises:
            AssertionError: the host did not come so far.
        """
        found: dict[int, str] = {}
        for item in self._items():
            match = _CALL.fullmatch(str(item.get("call_id") or item.get("tool_call_id") or ""))
            is_result = item.get("role") == "tool" or str(item.get("type")).endswith("_call_output")
            if match and is_result and match["script"] == script:
                found[int(match["step"])] = _text(item.get("output", item.get("content")))
        if step not in found:
            raise AssertionError(f"step {step} of {script} gave nothing back; there are {sorted(found)}")
        return found[step]

    def heard(self, script: str) -> str:
        """Everything that the model was sent for a conversation, as JSON text."""
        lines = self._log.read_text(encoding="utf-8").splitlines() if self._log.exists() else []
        return "\n".join(line for line in lines if f"[script:{script}]" in line)

    def _items(self) -> Iterator[Mapping[str, Any]]:
        if not self._log.exists():
            return
        for line in self._log.read_text(encoding="utf-8").splitlines():
            body = json.loads(line)["body"]
            yield from body.get("input") or body.get("messages") or ()


def _text(output: object) -> str:
    if isinstance(output, str):
        return output
    parts = output if isinstance(output, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts)


def _is_listening() -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", PORT)) == 0


def answer_in(text: str) -> dict[str, Any]:
    """Timeline's answer in what a host made of it: behind a header, wrapped in a tool result, or as text.

    Raises:
        AssertionError: there is none.
    """
    decoder = json.JSONDecoder()
    for start in (at for at, letter in enumerate(text) if letter == "{"):
        try:
            value, _ = decoder.raw_decode(text, start)
        except ValueError:
            continue
        if not isinstance(value, dict):
            continue
        if isinstance(value.get("structuredContent"), dict):
            return value["structuredContent"]  # type: ignore[no-any-return]  # just looked at
        if isinstance(value.get("content"), list):
            return answer_in(_text(value["content"]))
        return value
    raise AssertionError(f"no answer in what the model got: {text[:300]!r}")
