"""Writes sessions as Claude Code writes them, in the field orders of four versions, and forks of them.

``ClaudeSession`` writes one file record by record; what crashes leave of it is the business of the functions of
``tests.simulators.hosts``, which take bytes of any host. Standard library only; clock and randomness come in, so that
equal arguments give equal bytes. The shapes are those of formats §3; no text is of anyone's session.
"""

import json
import random
from collections.abc import Callable, Iterator

from tests.simulators import hosts
from tests.simulators.hosts import CORPUS_START_MS, pytest_output, stepping_clock
from timeline.simulated_host import utc_text

VERSIONS = ("1.0.98", "2.0.76", "2.1.49", "2.1.220")
"""Early sessions with sidechains in the file; structured exit lines; progress records; attachments and origins."""

Json = dict[str, object]

_SHELL_KEYS = {"interrupted": False, "isImage": False}


class ClaudeSession:
    """One session's file, growing record by record.

    ``clock`` gives milliseconds since the epoch. Every method appends what the host would; ids of calls are returned.
    While ``agent`` is set, records are those of a subagent in this file.
    """

    def __init__(self, *, clock: Callable[[], int], seed: int = 0, version: str = "2.1.49") -> None:
        self.random = random.Random(seed)
        self.clock = clock
        self.version = version
        self.session_id = self.new_uuid()
        self.cwd = "/w/project"
        self.parent: str | None = None
        self.agent: str | None = None
        self.sidechain = False
        self.common: Json = {}
        self.lines: list[bytes] = []
        self._message = 0

    # --------------------------------------------------------------------------------------------- the file

    @property
    def relative_path(self) -> str:
        """Where this session lies below the host's home."""
        return f"projects/-w-project/{self.session_id}.jsonl"

    @property
    def since(self) -> tuple[int, ...]:
        """The version as numbers."""
        return tuple(map(int, self.version.split(".")))

    def to_bytes(self) -> bytes:
        """Return the whole file so far."""
        return b"".join(line + b"\n" for line in self.lines)

    def new_uuid(self) -> str:
        """Return a random UUID."""
        text = f"{(self.random.getrandbits(128) & ~(0xF << 76) | (4 << 76)) & ~(3 << 62) | (2 << 62):032x}"
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

    def new_call_id(self) -> str:
        """Return the id of the next call."""
        return f"toolu_01{self.random.getrandbits(88):022x}"

    def side(self, record_type: str, **fields: object) -> None:
        """Append a record beside the conversation, without uuid, in the order given."""
        self._append({"type": record_type, **fields})

    def record(self, record_type: str, body: Json, **more: object) -> str:
        """Append one record of the conversation; return its uuid."""
        uuid = self.new_uuid()
        where: Json = {"userType": "external", "cwd": self.cwd, "sessionId": self.session_id}
        where.update(version=self.version, gitBranch="main")
        if self.agent is not None:
            where["agentId"] = self.agent
        record: Json = {"parentUuid": self.parent, "isSidechain": self.sidechain}
        tail: Json = {"uuid": uuid, "timestamp": utc_text(self.clock())}
        if self.since >= (2, 1, 100):
            record.update(body if record_type == "assistant" else {"type": record_type, **body})
            record.update({"type": record_type} | tail | more | where | {"entrypoint": "cli"})
        else:
            record.update(where)
            record.update({"slug": "calm-tidy-fern"} if self.since >= (2, 1) else {})
            record.update({"type": record_type} | body | tail | more)
        record.update(self.common)
        self._append(record)
        self.parent = uuid
        return uuid

    def _append(self, record: Json) -> None:
        self.lines.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode())

    # ------------------------------------------------------------------------------------------------- people

    def prompt(self, text: object, **more: object) -> str:
        """Append what a person typed: a text, or content blocks."""
        if self.since >= (2, 1, 100) and not more:
            more = {"promptId": self.new_uuid(), "origin": {"kind": "human"}, "promptSource": "typed"}
        return self.record("user", {"message": {"role": "user", "content": text}}, **more)

    def meta(self, text: str) -> str:
        """Append a text that the host put before the model."""
        return self.prompt(text, isMeta=True)

    def compact(self) -> None:
        """Append a compaction: a boundary, and the summary that stands for the past."""
        body = {"subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False}
        self.parent = None
        self.record("system", {**body, "compactMetadata": {"trigger": "auto", "preTokens": 155_000}})
        text = "This session is being continued from a previous conversation that ran out of context. Then …"
        self.prompt(text, isVisibleInTranscriptOnly=True, isCompactSummary=True)

    # ------------------------------------------------------------------------------------------------ answers

    def answer(self, *blocks: Json) -> None:
        """Append one line of an answer that holds these blocks."""
        self._message += 1
        message: Json = {"model": "claude-simulated-1", "id": f"msg_01Sim{self._message:016d}"}
        message.update(type="message", role="assistant", content=list(blocks), stop_reason=None)
        message.update(
            stop_sequence=None, usage={"input_tokens": 9, "output_tokens": 5, "service_tier": "standard"}
        )
        self.record("assistant", {"message": message, "requestId": f"req_01Sim{self._message:016d}"})

    def say(self, text: str) -> None:
        """Append a text of the agent."""
        self.answer({"type": "text", "text": text})

    def think(self) -> None:
        """Append a thought of the agent, of which only the signature is kept."""
        self.answer({"type": "thinking", "thinking": "", "signature": "c2ln" * 90})

    def call(self, name: str, arguments: Json) -> str:
        """Append a call; return its id."""
        call_id = self.new_call_id()
        self.answer(use(call_id, name, arguments))
        return call_id

    # ------------------------------------------------------------------------------------------------ results

    def result(self, call_id: str, content: object, is_error: bool | None, report: object) -> None:
        """Append one result, with the ``toolUseResult`` that the host adds."""
        block = result_block(call_id, content, is_error, early=self.since < (2,))
        more: Json = {"toolUseResult": report}
        if self.since >= (2, 1):
            more["sourceToolAssistantUUID"] = self.parent
        self.record("user", {"message": {"role": "user", "content": [block]}}, **more)

    def command(self, command: str, output: str, exit_code: int = 0, **flags: object) -> str:
        """Append a shell command that ended; return its call id. ``flags`` are added to a success's report."""
        call_id = self.call("Bash", {"command": command, "description": "Run it"})
        if self.since >= (2, 1, 12):
            data = {
                "type": "bash_progress",
                "output": output[-80:],
                "fullOutput": output,
                "elapsedTimeSeconds": 3,
            }
            body = {"data": data, "toolUseID": "bash-progress-0", "parentToolUseID": call_id}
            self.record("progress", body)
        if exit_code:
            text = output if self.since < (2,) else f"Exit code {exit_code}\n{output}"
            self.result(call_id, text, True, f"Error: {text}")
        else:
            report = {"stdout": output, "stderr": "", **_SHELL_KEYS, **flags}
            self.result(call_id, output, False, report)
        return call_id

    def refuse(self, command: str, notice: str) -> str:
        """Append a shell command that did not run, with the host's notice."""
        call_id = self.call("Bash", {"command": command})
        self.result(call_id, notice, True, f"Error: {notice}")
        return call_id

    def start(self, command: str, task: str) -> str:
        """Append a shell command that was started in the background."""
        call_id = self.call("Bash", {"command": command, "run_in_background": True})
        report = {"stdout": "", "stderr": "", **_SHELL_KEYS, "backgroundTaskId": task}
        self.result(call_id, f"Command running in background with ID: {task}.", False, report)
        return call_id

    def look(self, task: str, output: str, exit_code: int | None) -> str:
        """Append a look at a command in the background: it has ended with that code, or runs on."""
        status = "running" if exit_code is None else "failed" if exit_code else "completed"
        if self.since < (2, 1):
            call_id = self.call("BashOutput", {"bash_id": task})
            report: Json = {"shellId": task, "command": "", "status": status, "exitCode": exit_code}
            report.update(stdout=output, stderr="", stdoutLines=1, stderrLines=0)
            self.result(call_id, f"<status>{status}</status>\n\n<stdout>\n{output}</stdout>", None, report)
            return call_id
        call_id = self.call("TaskOutput", {"task_id": task, "block": True, "timeout": 15_000})
        seen: Json = {"task_id": task, "task_type": "local_bash", "status": status, "output": output}
        report = {"retrieval_status": "success", "task": {**seen, "exitCode": exit_code}}
        self.result(call_id, f"<status>{status}</status>\n\n<output>\n{output}</output>", None, report)
        return call_id

    def edit(self, path: str = "a.py") -> None:
        """Append an edit of a file."""
        call_id = self.call("Edit", {"file_path": path, "old_string": "a", "new_string": "b"})
        patch = [
            {"oldStart": n, "oldLines": 1, "newStart": n, "newLines": 1, "lines": ["-a", "+b"]}
            for n in (1, 9)
        ]
        report = {"filePath": path, "oldString": "a", "newString": "b", "originalFile": "a\n" * 40}
        self.result(call_id, f"The file {path} has been updated.", None, {**report, "structuredPatch": patch})

    def read(self, path: str, text: str) -> None:
        """Append a look into a file."""
        call_id = self.call("Read", {"file_path": path})
        report = {"type": "text", "file": {"filePath": path, "content": text, "numLines": 9, "startLine": 1}}
        self.result(call_id, text, None, report)

    def agent_progress(self, output: str) -> None:
        """Append the progress of a subagent: whole messages of it, nested."""
        block = result_block(self.new_call_id(), output, False, early=False)
        inner = {"type": "user", "message": {"role": "user", "content": [block]}, "uuid": self.new_uuid()}
        data = {
            "message": inner,
            "normalizedMessages": [inner],
            "type": "agent_progress",
            "prompt": "test it",
        }
        self.record("progress", {"data": data, "toolUseID": "agent_msg_1", "parentToolUseID": "toolu_01x"})


def use(call_id: str, name: str, arguments: Json) -> Json:
    """Return a ``tool_use`` block."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result_block(call_id: str, content: object, is_error: bool | None, *, early: bool) -> Json:
    """Return a ``tool_result`` block in the field order of the version."""
    if early:
        block: Json = {"type": "tool_result", "content": content}
        block.update({} if is_error is None else {"is_error": is_error})
        return block | {"tool_use_id": call_id}
    block = {"tool_use_id": call_id, "type": "tool_result", "content": content}
    return block | ({} if is_error is None else {"is_error": is_error})


def new_session(version: str = "2.1.49", *, seed: int = 0, start_ms: int = CORPUS_START_MS) -> ClaudeSession:
    """Return a fresh session on a stepping clock, with the records that the version begins a file with."""
    session = ClaudeSession(clock=stepping_clock(start_ms), seed=seed, version=version)
    if session.since >= (2, 1, 100):
        session.side("permission-mode", permissionMode="default", sessionId=session.session_id)
    if session.since >= (2,):
        snapshot: Json = {"messageId": session.new_uuid(), "trackedFileBackups": {}}
        session.side("file-history-snapshot", messageId=snapshot["messageId"], snapshot=snapshot)
    else:
        session.side("summary", summary="An older session", leafUuid=session.new_uuid())
    return session


def work_session(version: str = "2.1.49", *, seed: int = 0) -> ClaudeSession:
    """Return a session that fails a test run, fixes it, passes, and once prints an old log."""
    session = new_session(version, seed=seed)
    session.prompt("make the tests pass")
    session.think()
    session.say("I will look at the index first.")
    session.command("ls", "a.py\ntest_a.py\n")
    session.command("pytest -q", pytest_output(11, 1), 1)
    session.edit()
    session.command("python -m pytest -q", pytest_output(12))
    session.command("cat old.log", pytest_output(99))
    session.read("old.log", pytest_output(99))
    session.say("twelve tests pass")
    if session.since >= (2, 1):
        session.record("system", {"subtype": "turn_duration", "durationMs": 4_000, "isMeta": False})
    session.prompt("once more")
    session.start("pytest -q tests/slow", "b1a2c3d")
    session.look("b1a2c3d", "collecting ...\n", None)
    session.command("cd a && pytest -q", pytest_output(12))
    session.look("b1a2c3d", pytest_output(3, 2), 1)
    session.prompt([{"type": "text", "text": "[Request interrupted by user]"}], isMeta=False)
    return session


def branch(parent: ClaudeSession, *, seed: int = 1, marked: bool = True) -> ClaudeSession:
    """Return a child whose file begins with the parent's history under the child's id.

    ``marked`` is how ``/branch`` copies (2.1); older forks and resumes change nothing but the session id.
    """
    child = ClaudeSession(clock=parent.clock, seed=seed, version=parent.version)
    for line in parent.lines:
        record = json.loads(line)
        if "sessionId" in record:
            record["sessionId"] = child.session_id
        if marked and "uuid" in record:
            record["forkedFrom"] = {"sessionId": parent.session_id, "messageUuid": record["uuid"]}
        child._append(record)
    child.parent = parent.parent
    return child


def uuids_of(session: ClaudeSession) -> frozenset[str]:
    """Return the uuids of a session's records: what an index of it would know."""
    records = map(json.loads, session.lines)
    return frozenset(record["uuid"] for record in records if "uuid" in record)


def claude_corpus(
    total_bytes: int,
    *,
    reviewed_share: float,
    seed: int = 0,
    file_bytes: int = 8 * 1024 * 1024,
    version: str = "2.1.49",
) -> Iterator[tuple[str, bytes]]:
    """Yield sessions as path and bytes, together at least ``total_bytes``; see ``hosts.codex_corpus``."""
    chance = random.Random(seed)
    lines = hosts._output_lines(chance)
    made, number = 0, 0
    while made < total_bytes:
        session = new_session(
            version, seed=seed * 100_003 + number, start_ms=CORPUS_START_MS + number * 3_600_000
        )
        _fill(session, min(file_bytes, total_bytes - made), reviewed_share, chance, lines)
        data = session.to_bytes()
        yield session.relative_path, data
        made += len(data)
        number += 1


def _fill(
    session: ClaudeSession, size: int, reviewed_share: float, chance: random.Random, lines: list[str]
) -> None:
    written = reviewed = 0
    while written < size:
        before = len(session.lines)
        session.prompt("go on with the index")
        for _ in range(chance.randint(2, 9)):
            session.think()
            text = hosts._output(chance, lines)
            first = len(session.lines)
            if reviewed < reviewed_share * (written + sum(map(len, session.lines[before:]))):
                failed = chance.choice((0, 0, 1, 3))
                session.command("pytest -q tests", pytest_output(100, failed, filler=text), int(bool(failed)))
                reviewed += len(session.lines[first]) + len(session.lines[-1])
            elif chance.random() < 0.3:
                session.read("a.py", text)
            elif chance.random() < 0.2:
                session.edit()
            else:
                session.command(chance.choice(("rg -n value src", "sed -n 1,200p a.py", "git diff")), text)
        session.say("done with it")
        written += sum(map(len, session.lines[before:]))
