"""What somebody tries who is not the host: each attempt must be refused, and no card may come of it.

The strongest form is tried. A command that the model runs replaces itself, with an empty environment, by the very
program that the host's configuration names, so that its parent is the host, as of the real one.
"""

import json
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.hosts import conversations as talk
from tests.hosts.drivers import Driver
from tests.hosts.machine import COMMAND_SECONDS, Machine
from tests.hosts.model import Model
from tests.hosts.turn import finish

TOOL: Final = "session_timeline_search"
QUERY: Final = {"query": "pytest failed"}
_CALL: Final = 2
"""The number of the request whose answer counts."""


class Forger:
    """Tries everything in one case."""

    def __init__(self, machine: Machine, driver: Driver, model: Model) -> None:
        self._machine, self._driver, self._model = machine, driver, model
        self._commands = driver.commands(machine)
        self._attempts = machine.project / ".git/attempts"
        self._attempts.mkdir()

    def attempts(self, first: Path, second: Path) -> Iterator[tuple[str, str]]:
        """What was tried from outside, then from the first session, and the reason why it was refused.

        Raises:
            AssertionError: something was answered that must not be.
        """
        spent = self._driver.call_meta(first)
        yield "no host: refused", self._outside(spent)
        yield "no host: no receipt", self._outside_receipt(first)
        own = self._driver.session_of(first)
        other = self._driver.session_of(second)
        meta = {**spent, **({"callId": "call_forged_1"} if spent else {})}
        foreign = {**self._driver.call_meta(second), **({"callId": "call_forged_2"} if spent else {})}
        tried = (
            ("no permit: refused", [self._relay("permitless", {**meta, **_fresh(meta, "call_none")})]),
            ("replay: refused", [self._relay("replay", spent)]),
            (
                "forged: refused",
                [self._hook("own", own, "call_forged_1", first), self._relay("forged", meta)],
            ),
            (
                "foreign: refused",
                [self._hook("other", other, "call_forged_2", second), self._relay("alien", foreign)],
            ),
            ("consent by agent", [self._enroll()]),
        )
        commands = [command for _, some in tried for command in some]
        self._model.add(talk.shell("attempts", *commands))
        turn = self._driver.start(self._machine, "attempts", "Go on. [script:attempts]", resume=own)
        finish(turn, self._machine, "attempts")
        step = -1
        for name, some in tried:
            step += len(some)
            said = self._model.result("attempts", step)
            yield name, _denial(said) if some[-1] == self._enroll() else refusal(said)

    def _outside(self, meta: Mapping[str, Any]) -> str:
        process = subprocess.run(
            self._commands.server,
            cwd=self._machine.project,
            env=self._machine.environment(),
            input=_lines(meta),
            capture_output=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        return refusal(process.stdout.decode())

    def _outside_receipt(self, transcript: Path) -> str:
        before = self._machine.ask("receipt", "--root", ".", "--all")["receipts"]
        body = self._hook_input(
            "UserPromptSubmit", self._driver.session_of(transcript), transcript, prompt="Hello"
        )
        subprocess.run(
            ["/bin/sh", "-c", self._commands.hook],
            cwd=self._machine.project,
            env=self._machine.environment(),
            input=json.dumps(body).encode(),
            timeout=COMMAND_SECONDS,
            check=True,
        )
        after = self._machine.ask("receipt", "--root", ".", "--all")["receipts"]
        if len(after) != len(before):
            raise AssertionError("a prompt event that no host sent made a receipt")
        return "a prompt event from outside made none"

    def _relay(self, name: str, meta: Mapping[str, Any]) -> str:
        (self._attempts / f"{name}.jsonl").write_bytes(_lines(meta))
        feed = f"mkfifo {name}.pipe; (cat {name}.jsonl; sleep 2) 2>/dev/null > {name}.pipe &\n"
        return self._script(
            name, f"{feed}exec {self._bare} {shlex.join(self._commands.server)} < {name}.pipe"
        )

    def _hook(self, name: str, session: str, call: str, transcript: Path) -> str:
        tool = {"tool_name": f"mcp__timeline__{TOOL}", "tool_input": QUERY}
        ids = {"tool_use_id": call, "tool_call_id": call}
        body = self._hook_input("PreToolUse", session, transcript, **tool, **ids)
        (self._attempts / f"{name}.json").write_text(json.dumps(body), encoding="utf-8")
        return self._script(name, f"exec {self._bare} {self._commands.hook} < {name}.json; echo")

    def _enroll(self) -> str:
        return "timeline enroll --root . --receipt asthr_" + "A" * 43 + " --confirm-local-timeline 2>&1; true"

    @property
    def _bare(self) -> str:
        kept = {name: self._machine.environment()[name] for name in ("HOME", "PATH", "XDG_RUNTIME_DIR")}
        return shlex.join(["env", "-i", *(f"{name}={value}" for name, value in kept.items())])

    def _script(self, name: str, body: str) -> str:
        (self._attempts / f"{name}.sh").write_text(f"cd {self._attempts}\n{body}\n", encoding="utf-8")
        return f"exec sh .git/attempts/{name}.sh"

    def _hook_input(self, event: str, session: str, transcript: Path, **more: object) -> dict[str, object]:
        body: dict[str, object] = {
            "hook_event_name": event,
            "session_id": session,
            "cwd": str(self._machine.project),
        }
        if self._driver.host == "codex":
            body |= {
                "transcript_path": str(transcript),
                "turn_id": session,
                "permission_mode": "bypassPermissions",
            }
        return body | more


def _fresh(meta: Mapping[str, Any], call: str) -> dict[str, str]:
    return {"callId": call} if meta else {}


def _lines(meta: Mapping[str, Any]) -> bytes:
    client = {"name": "forger", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    params = {"name": TOOL, "arguments": QUERY, **({"_meta": dict(meta)} if meta else {})}
    messages: Sequence[dict[str, object]] = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": _CALL, "method": "tools/call", "params": params},
    )
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def refusal(printed: str) -> str:
    """The reason why the forged call was refused, from what the relay printed.

    Raises:
        AssertionError: it was not refused, or not answered.
    """
    for line in printed.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and message.get("id") == _CALL:
            answer = message.get("result", {}).get("structuredContent") or message.get("error") or {}
            return reason_in(answer)
    raise AssertionError(f"no answer to the forged call: {printed[:400]!r}")


def reason_in(answer: Mapping[str, Any]) -> str:
    """The reason of an answer without cards.

    Raises:
        AssertionError: it has cards, or no reason.
    """
    if answer.get("events") or not answer.get("reason"):
        raise AssertionError(f"not refused: {json.dumps(answer)[:400]}")
    return str(answer["reason"])


def _denial(printed: str) -> str:
    """The reason that a command printed, which may not have been about its receipt."""
    first = next((line for line in printed.splitlines() if line.startswith("timeline: error:")), "")
    if not first or "receipt" in first:
        raise AssertionError(f"an agent's consent was not refused for its presence: {printed[:300]!r}")
    return first.removeprefix("timeline: error: ")
