"""The fixtures of ``fixtures/transcripts/claude``: each a simulated session, sound or damaged, and what it shows.

``python -m tests.adapters.fixtures`` writes them.
"""

import json

from tests.adapters.fixtures import Case
from tests.simulators import hosts
from tests.simulators.claude import (
    VERSIONS,
    ClaudeSession,
    branch,
    new_session,
    result_block,
    use,
    work_session,
)
from tests.simulators.hosts import pytest_output


def cases() -> dict[str, Case]:
    """Return every case by ``<version>/<name>``."""
    made: dict[str, Case] = {}
    for version in VERSIONS:
        for name, case in {**_sound(version), **_ends(version)}.items():
            made[f"{version}/{name}"] = case
    for name, case in {**_damaged(), **_people(), **_shapes(), **_refused()}.items():
        made[f"2.1.49/{name}"] = case
    made["2.1.220/branch"] = _branch("2.1.220")
    made["1.0.98/sidechain"] = _sidechain("1.0.98")
    return made


def _sound(version: str) -> dict[str, Case]:
    session = work_session(version)
    many = new_session(version, seed=5)
    many.prompt("run them all at once")
    ids = [many.call("Bash", {"command": f"pytest -q tests/{number}"}) for number in range(14)]
    for number, call_id in enumerate(ids):
        report = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}
        many.result(call_id, pytest_output(number + 1), False, report)
    for number in range(50):
        many.command(f"ls {number}", "a\n")
    return {
        "work": Case(
            session.to_bytes(), "fails, is fixed, passes; an old log printed or read proves nothing"
        ),
        "many_calls": Case(
            many.to_bytes(), "more calls in one turn than are kept open: settled early, the oldest given up"
        ),
    }


def _ends(version: str) -> dict[str, Case]:
    """Every place where an end may stand, and what only looks like one."""
    session = new_session(version, seed=9)
    session.prompt("try everything")
    good = pytest_output(3)
    plain: dict[str, object] = {"stdout": good, "stderr": "", "interrupted": False, "isImage": False}
    for is_error in (False, None, True):
        for report in (
            plain,
            {**plain, "interrupted": True},
            {**plain, "returnCodeInterpretation": "none"},
            *_REPORTS,
        ):
            session.result(session.call("Bash", {"command": "pytest -q"}), good, is_error, report)
    for text in _FAILURES:
        session.result(session.call("Bash", {"command": "pytest -q"}), text, True, f"Error: {text}")
    session.result(
        session.call("Bash", {"command": "pytest -q"}), [{"type": "text", "text": good}], False, plain
    )
    twice = session.call("Bash", {"command": "pytest -q"})
    session.result(twice, good, False, plain)
    session.result(twice, f"Exit code 1\n{pytest_output(2, 1)}", True, "Error: Exit code 1")
    session.result("toolu_orphan", good, False, plain)
    for task, code in (("t0", 0), ("t1", 2), ("t2", None)):
        session.start("pytest -q", task)
        session.look(task, "", None)
        session.look(task, pytest_output(4, code or 0), code)
    session.look("unknown", good, 0)
    long = "".join(f'tests/test_{n}.py::test ä \\ " ok\n' for n in range(800))
    session.command("pytest -v", pytest_output(800, filler=long))
    session.command("pytest -v", f"a\n\n... [560 lines truncated] ...\n\n{good}")
    session.command("pytest -v", good, persistedOutputPath="/w/x.txt", persistedOutputSize=99_000)
    session.command("pytest -v", good, brandNewField=True)
    return {
        "ends": Case(session.to_bytes(), "every place where an end may stand, and what only looks like one")
    }


_REPORTS: tuple[object, ...] = (None, "Error: x", [], {}, {"stdout": ""}, {"type": "text", "file": {}})
_FAILURES = (
    "Exit code 1\nboom\n",
    "Exit code 137",
    "Exit code 1 \nboom",
    "Exit code 0\nboom",
    "Exit code 99999999999\nboom",
    " Exit code 1\nboom",
    "boom\nExit code 7\n",
    "Error: Exit code 1\n",
    "",
    "The user doesn't want to proceed with this tool use. The tool use was rejected.",
    "<tool_use_error>Sibling tool call errored</tool_use_error>",
    "<tool_use_error>File does not exist.</tool_use_error>",
    "[Request interrupted by user for tool use]",
    "Permission to use Bash with command pytest -q has been denied.",
)


def _damaged() -> dict[str, Case]:
    data = work_session(seed=2).to_bytes()
    return {
        "torn": Case(hosts.torn(data, 30), "a crash tore the last record: pending, not an error"),
        "glued": Case(hosts.glued(data, 8, 40), "a torn record with the next one glued to it: one defect"),
        "nul_run": Case(hosts.with_nul_run(data, 9, 64), "NUL bytes in front of a record: one defect"),
        "crlf": Case(hosts.with_crlf(data), "line ends of another system: no defect"),
        "bom": Case(
            hosts.with_bom(data), "a byte order mark: the first line is a defect, the header is still found"
        ),
        "utf8": Case(data.replace(b"twelve tests", b"\xff\xfe tests"), "invalid UTF-8: one defect a line"),
        "blank": Case(hosts.with_line(data, 5, b""), "a blank line: one defect"),
        "deep": Case(hosts.with_line(data, 5, b"[" * 5_000 + b"]" * 5_000), "5,000 brackets: one defect"),
        "separators": Case(
            data.replace(b"make the tests", "make\u2028the\u2029tests\u0085".encode()),
            "only 0x0A ends a line",
        ),
        "surrogate": Case(
            data.replace(b"collecting", b"\\ud800\\ud83d"), "lone surrogates in an output: no crash"
        ),
        "spaced": Case(_spaced(data), "JSON with white space, as no version writes it: the same records"),
        "twice": Case(data + data, "the whole file written again: every run and prompt counts once"),
    }


def _spaced(data: bytes) -> bytes:
    return b"".join(json.dumps(json.loads(line)).encode() + b"\n" for line in data.splitlines())


def _people() -> dict[str, Case]:
    session = new_session(seed=3)
    session.prompt("one")
    session.prompt(
        [{"type": "text", "text": "<ide_opened_file>a.py</ide_opened_file>"}, {"type": "text", "text": "two"}]
    )
    session.prompt("three", origin={"kind": "human"})
    for text in _NOT_SAID:
        session.prompt(text)
    for more in _NOT_PEOPLE:
        session.prompt("not a person's", **more)
    session.prompt(
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]
    )
    session.compact()
    session.side("last-prompt", lastPrompt="one", sessionId=session.session_id)
    session.side("queue-operation", operation="enqueue", content="one", sessionId=session.session_id)
    session.say("I heard three things")
    return {
        "people": Case(
            session.to_bytes(), "three statements; whatever else stands under the role of the user"
        )
    }


_NOT_SAID = (
    "<command-name>/clear</command-name>\n<command-message>clear</command-message>",
    "<command-message>clear</command-message>\n<command-name>/clear</command-name>",
    "<local-command-stdout>three</local-command-stdout>",
    "<bash-input>ls</bash-input>",
    "\n<system-reminder>three</system-reminder>",
    "<task-notification>\n<status>completed</status>\n</task-notification>",
    "[Request interrupted by user]",
    "This session is being continued from a previous conversation that ran out of context.",
    "",
)
_NOT_PEOPLE: tuple[dict[str, object], ...] = (
    {"isMeta": True},
    {"isCompactSummary": True},
    {"origin": {"kind": "task-notification"}},
    {"origin": {"kind": "peer"}},
    {"origin": "human"},
    {"toolUseResult": "x"},
)


def _shapes() -> dict[str, Case]:
    session = new_session(seed=4)
    session.prompt("several blocks in one line")
    first, second, third = (session.new_call_id() for _ in range(3))
    session.answer(
        {"type": "text", "text": "all three"},
        use(first, "Bash", {"command": "pytest -q a"}),
        use(second, "Bash", {"command": "pytest -q b"}),
        use(third, "Bash", {"command": "ls"}),
    )
    blocks = [
        result_block(second, f"Exit code 1\n{pytest_output(1, 1)}", True, early=False),
        result_block(third, "a.py\n", False, early=False),
        result_block(first, f"Exit code 1\n{pytest_output(2, 1)}", True, early=False),
    ]
    session.record("user", {"message": {"role": "user", "content": blocks}}, toolUseResult=None)
    session.agent_progress(pytest_output(77))
    session.answer({"type": "future_block", "data": "x"}, {"type": "text", "text": "new"})
    session.record("holographic", {"message": {"role": "user", "content": "no statement"}})
    session.record("system", {"subtype": "brand_new"})
    session.record("progress", {"data": {"type": "brand_new"}})
    session.record("attachment", {"attachment": {"type": "brand_new"}})
    session.record("user", {"message": "one text"})
    session.record("user", {"message": {"role": "user", "content": ["one text"]}})
    session.side("brand-new-side-record", sessionId=session.session_id)
    session.side("with spaces and secrets")
    other = session.session_id
    session.session_id = session.new_uuid()
    session.command("pytest -q", pytest_output(5))
    session.prompt("another terminal, another session")
    session.session_id = other
    return {
        "shapes": Case(
            session.to_bytes(), "several blocks in a line; unknown types; another session's records"
        )
    }


def _branch(version: str) -> Case:
    child = branch(work_session(version))
    child.prompt("and now the child")
    child.command("pytest -q", pytest_output(7))
    return Case(child.to_bytes(), "a branch: what was copied is inherited, the child's own is own")


def _sidechain(version: str) -> Case:
    session = new_session(version, seed=6)
    session.prompt("let an agent do it")
    task = session.call("Task", {"description": "d", "prompt": "p", "subagent_type": "general-purpose"})
    session.sidechain = True
    session.prompt("the agent's task")
    session.command("pytest -q", pytest_output(8))
    session.sidechain = False
    content = [{"type": "text", "text": pytest_output(88)}]
    report = {"content": content, "totalDurationMs": 5, "totalTokens": 5, "totalToolUseCount": 1}
    session.result(task, content, None, report)
    return Case(session.to_bytes(), "a subagent in the file: its task is no statement, its run is evidence")


def _refused() -> dict[str, Case]:
    session = ClaudeSession(clock=hosts.stepping_clock(0))
    history = b'{"display":"one","pastedContents":{},"timestamp":1,"project":"/w","sessionId":"x"}\n'
    return {
        "history": Case(history, "the list of prompts", readable=False),
        "settings": Case(b'{\n  "permissions": {}\n}\n', "settings of the host", readable=False),
        "journal": Case(
            b'{"type":"started","key":"k","agentId":"a"}\n', "the journal of a workflow", readable=False
        ),
        "stream": Case(
            b'{"type":"system","subtype":"init","session_id":"x"}\n', "streamed output", readable=False
        ),
        "titles": Case(
            b'{"type":"summary","summary":"s","leafUuid":"l"}\n', "no session is named", readable=False
        ),
        "codex": Case(hosts.new_rollout().to_bytes(), "another host's", readable=False),
        "king": Case(b'{"type":"metadata","protocol_version":"1.4"}\n', "another host's", readable=False),
        "compressed": Case(b"\x28\xb5\x2f\xfd\x04\x58rest", "compressed", readable=False),
        "unfinished": Case(session.session_id.encode(), "the first line is not written yet", readable=False),
    }
