"""The fixtures of ``fixtures/transcripts/codex``: each a simulated rollout, sound or damaged, and what it shows.

``python -m tests.adapters.fixtures`` writes them.
"""

import json

from tests.adapters.fixtures import Case
from tests.simulators import hosts
from tests.simulators.bare_codex import bare_rollout
from tests.simulators.hosts import LEGACY, PAGINATED, new_rollout, pytest_output, work_session

VERSION = {LEGACY: "legacy-0.142.5", PAGINATED: "paginated-0.171.0"}


def cases() -> dict[str, Case]:
    """Return every case by ``<format version>/<name>``."""
    made: dict[str, Case] = {}
    for mode in (LEGACY, PAGINATED):
        folder = VERSION[mode]
        for name, case in {**_sound(mode), **_damaged(mode), **_carriers(mode), **_refused(mode)}.items():
            made[f"{folder}/{name}"] = case
    made["bare-2025/work"] = Case(
        bare_rollout().to_bytes(), "the oldest form: no envelope and no times; one run fails, one passes"
    )
    return made


def _sound(mode: str) -> dict[str, Case]:
    session = work_session(mode)
    child = hosts.fork(session)
    child.start_turn()
    child.prompt("and now the child")
    child.command("pytest -q", pytest_output(7), 0)
    child.end_turn("seven pass")
    many = new_rollout(mode, seed=5)
    many.start_turn()
    many.prompt("run them all at once")
    for number in range(24):
        call_id = many.call("exec_command", {"cmd": f"pytest -q tests/{number}"})
        many.output(call_id, f"Process exited with code 0\nOutput:\n{pytest_output(number + 1)}")
    for number in range(60):
        many.command(f"ls {number}", "a\n", 0)
    background = new_rollout(mode, seed=6)
    background.start_turn()
    background.prompt("run them in the background")
    running = "Chunk ID: a1\nWall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\n"
    background.output(background.call("exec_command", {"cmd": "pytest -q"}), running + "collecting\n")
    for output in (running + "...\n", f"Process exited with code 1\nOutput:\n.\n{pytest_output(11, 1)}"):
        background.output(background.call("write_stdin", {"session_id": 7, "chars": ""}), output)
    background.end_turn("one fails")
    return {
        "polled": Case(
            background.to_bytes(), "a command that went on in the background; a later poll saw it end"
        ),
        "work": Case(
            session.to_bytes(), "fails, is fixed, passes; an old log printed with cat proves nothing"
        ),
        "fork": Case(
            child.to_bytes(), "a copied parent: its prompts and results are inherited, the child's are own"
        ),
        "many_calls": Case(
            many.to_bytes(), "more calls in one turn than are kept open: settled early, in order"
        ),
        "empty": Case(new_rollout(mode).to_bytes(), "a session that has only begun"),
    }


def _damaged(mode: str) -> dict[str, Case]:
    data = work_session(mode, seed=2).to_bytes()
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
        "spaced": Case(_spaced(data), "JSON with white space, as no host writes it: the same records"),
    }


def _spaced(data: bytes) -> bytes:
    return b"".join(json.dumps(json.loads(line)).encode() + b"\n" for line in data.splitlines())


def _carriers(mode: str) -> dict[str, Case]:
    rollout = new_rollout(mode, seed=9)
    rollout.start_turn()
    rollout.prompt("try everything")
    for number, output in enumerate(_OUTPUTS):
        call_id = rollout.call("exec_command", {"cmd": f"pytest -q tests/{number}"})
        rollout.output(call_id, output)
    twice = rollout.call("exec_command", {"cmd": "pytest -q twice"})
    for code in (0, 1):
        rollout.output(twice, f"Process exited with code {code}\nOutput:\n{pytest_output(3)}")
    disagree = rollout.call("exec_command", {"cmd": "pytest -q disagree"})
    rollout.report(disagree, "pytest -q disagree", pytest_output(2, 1), 1)
    rollout.output(disagree, f"Process exited with code 0\nOutput:\n{pytest_output(3)}")
    rollout.report("call_reported", "pytest -q reported", pytest_output(4), 0)
    rollout.report("exec-1", "pytest -q codemode", pytest_output(5), 0)
    for code in (0.0, "0", True, 2**64, -1, -9):
        rollout.report(f"call_odd{code}", "pytest -q odd", pytest_output(6), code)
    rollout.output("call_orphan", f"Process exited with code 0\nOutput:\n{pytest_output(9)}")
    long = "".join(f'tests/test_{n}.py::test \u00e4 \\ " ok\n' for n in range(2_000))
    rollout.command("pytest -v", pytest_output(2_000, filler=long), 0)
    rollout.end_turn("done")
    rollout.write("quantum_state", {"spin": "up"})
    rollout.write("event_msg", {"type": "brand_new_event"})
    rollout.write_item({"type": "BrandNewItem", "id": "x"})
    return {
        "carriers": Case(
            rollout.to_bytes(), "every place where an end may stand, and what only looks like one"
        )
    }


_OUTPUTS: list[object] = [
    "Exit code: 3\nWall time: 1 seconds\nOutput:\nboom\n",
    "Chunk ID: a1\nWall time: 1.5 seconds\nProcess running with session ID 7\nOutput:\n",
    "Output:\nProcess exited with code 0\nOutput:\n1 passed in 1s\n",
    "hello\nProcess exited with code 0\nOutput:\n",
    "Process exited with code 0\nProcess exited with code 1\nOutput:\nboth\n",
    "Process exited with code 99999999999999999999\nOutput:\n",
    "aborted by user after 4.6s",
    "Wall time: 2 seconds\naborted by user",
    "Command blocked by PreToolUse hook: no. Command: pytest",
    "command timed out after 1000 milliseconds\n",
    "failed in sandbox Linux with execution error: denied, exit code: 2, stdout: x",
    [{"type": "input_text", "text": "Process exited with code 0\nOutput:\n" + pytest_output(8)}],
    [
        {"type": "input_text", "text": "Script completed\nWall time 1.2 seconds\nOutput:\n"},
        {"type": "input_text"},
    ],
    {"content": "plain\n", "success": False},
    None,
    17,
    "",
]


def _refused(mode: str) -> dict[str, Case]:
    if mode == PAGINATED:
        data = work_session(mode).to_bytes()
        strange = data.replace(b'"history_mode":"paginated"', b'"history_mode":"sideways"')
        return {"unknown_mode": Case(strange, "a history mode that was never reviewed", readable=False)}
    return {
        "compressed": Case(b"\x28\xb5\x2f\xfd\x04\x58rest", "compressed by the host", readable=False),
        "king": Case(b'{"type":"metadata","protocol_version":"1.4"}\n', "another host's", readable=False),
        "no_meta": Case(
            work_session(mode).to_bytes().partition(b"\n")[2], "the header is missing", readable=False
        ),
        "unfinished": Case(
            work_session(mode).to_bytes()[:200], "the header is not written yet", readable=False
        ),
    }
