"""The fixtures of ``fixtures/transcripts/king``: each a simulated wire, sound or damaged, and what it shows.

``python -m tests.adapters.fixtures`` writes them.
"""

import json

from tests.adapters.fixtures import Case
from tests.simulators.hosts import glued, pytest_output, torn, with_bom, with_crlf, with_line, with_nul_run
from tests.simulators.king import SHORTENED, VERSIONS, Wire, upgraded, work_wire

MAPPED = {"2.0": "1.5"}
"""What an owner may configure: a protocol that was not reviewed, read as one that was."""


def cases() -> dict[str, Case]:
    """Return every case by ``<version of the application>/<name>``."""
    made: dict[str, Case] = {}
    for version in VERSIONS:
        groups = {**_sound(version), **_refused(version)}
        if version == "0.12.1":
            groups |= {**_damaged(version), **_boundaries(version)}
        made |= {f"{version}/{name}": case for name, case in {**groups, **_endings(version)}.items()}
    return made


def _sound(version: str) -> dict[str, Case]:
    session = work_wire(version)
    child = session.fork()
    child.prompt("and now the child")
    child.command("pytest -q", pytest_output(7))
    child.end_turn("seven pass")
    many = Wire(version, seed=5)
    many.prompt("run them all at once")
    calls = [many.call("Bash", {"command": f"pytest -q tests/{number}"}) for number in range(24)]
    for number, call_id in enumerate(calls):
        many.result(call_id, pytest_output(number + 1))
    for number in range(60):
        many.command(f"ls {number}", "a\n")
    return {
        "work": Case(
            session.to_bytes(), "fails, is fixed, passes; an old log printed with cat proves nothing"
        ),
        "fork": Case(
            child.to_bytes(), "a copied session: its prompts and results are inherited, the rest own"
        ),
        "many_calls": Case(many.to_bytes(), "more calls in one turn than are kept open"),
        "empty": Case(Wire(version).to_bytes(), "a session that has only begun"),
        "subagent": Case(_subagent(version).to_bytes(), "a subagent's wire: its task is no human's"),
    }


def _subagent(version: str) -> Wire:
    wire = Wire(version, seed=3, agent="agent-0")
    wire.prompt("run the tests", "system_trigger", name="subagent")
    wire.command("pytest -q", pytest_output(3, 1), 1, call_id="Bash_1")
    wire.end_turn("one fails")
    return wire


def _damaged(version: str) -> dict[str, Case]:
    data = work_wire(version, seed=2).to_bytes()
    spaced = b"".join(json.dumps(json.loads(line)).encode() + b"\n" for line in data.splitlines())
    return {
        "torn": Case(torn(data, 30), "a crash tore the last record: pending, not an error"),
        "glued": Case(glued(data, 8, 40), "a torn record with the next one glued to it: one defect"),
        "nul_run": Case(with_nul_run(data, 9, 64), "NUL bytes in front of a record: one defect"),
        "crlf": Case(with_crlf(data), "line ends of another system: no defect"),
        "bom": Case(
            with_bom(data), "a byte order mark: the first line is a defect, the header is still found"
        ),
        "utf8": Case(data.replace(b"twelve tests", b"\xff\xfe tests"), "invalid UTF-8: one defect a line"),
        "blank": Case(with_line(data, 5, b""), "a blank line: one defect"),
        "deep": Case(with_line(data, 5, b"[" * 5_000 + b"]" * 5_000), "5,000 brackets: one defect"),
        "separators": Case(
            data.replace(b"make the tests", "make\u2028the\u2029tests\u0085".encode()),
            "only 0x0A ends a line",
        ),
        "surrogate": Case(
            data.replace(b"test_a", b"\\ud800\\ud83d"), "lone surrogates in an output: no crash"
        ),
        "spaced": Case(spaced, "JSON with white space, as no host writes it: the same records"),
        "doubled": Case(
            data.replace(b'"isError":true', b'"isError":false,"isError":true'),
            "a key twice in a result that is read: one defect each, and neither value counts",
        ),
    }


def _boundaries(version: str) -> dict[str, Case]:
    wire = Wire(version, seed=7)
    wire.prompt("one")
    wire.steer("and be quick")
    wire.command("pytest -q", pytest_output(5))
    wire.undo()
    wire.prompt("two")
    wire.write("context.clear")
    wire.compact("tests: 12 passed in 0.5s")
    wire.prompt("checked every hour", "cron_job")
    wire.prompt("from the future", "brand_new_kind")
    wire.resume()
    wire.write("hologram.rendered", payload={"a": 1})
    wire.event("quantum.step", uuid="q")
    wire.command("pytest -q", pytest_output(6))
    changed = work_wire(version, seed=8)
    changed.resume(protocol="1.5")
    changed.prompt("in another grammar")
    silent = Wire(version, seed=9)
    silent.begin_step()
    silent.command("pytest -q", pytest_output(5))
    return {
        "context": Case(
            wire.to_bytes(), "undo, clear and compaction take nothing back; unknown types are named"
        ),
        "other_protocol": Case(changed.to_bytes(), "another protocol goes on in the file: not understood"),
        "silent": Case(silent.to_bytes(), "an agent that acts without any message to it: not understood"),
        "upgraded": Case(
            upgraded(work_wire(version).to_bytes(), "1.5"),
            "rewritten on upgrade: another header, the same lines",
        ),
    }


def _endings(version: str) -> dict[str, Case]:
    wire = Wire(version, seed=11)
    wire.prompt("try everything")
    for number, (output, is_error, more) in enumerate(_RESULTS):
        call_id = wire.call("Bash", {"command": f"pytest -q tests/{number}"})
        wire.result(call_id, output, is_error=is_error, **more)
    for output, is_error in ((pytest_output(3), None), (f"{pytest_output(2, 1)}{_failed(1)}", True)):
        twice = wire.call("Bash", {"command": "pytest -q same"}, "Bash_same")
        wire.result(twice, output, is_error=is_error)
    wire.result("Bash_same", pytest_output(3))
    read = wire.call("Read", {"path": "/w/log"})
    wire.result(read, f"{pytest_output(9)}{_failed(4)}", is_error=True)
    wire.background("pytest -q tests/slow", 4)
    wire.result("Bash_none", pytest_output(9))
    unanswered = wire.call("Bash", {"command": "pytest -q unanswered"})
    stranger = wire.call("Bash", {"command": "pytest -q stranger"})
    wire._uuid = unanswered
    wire.result(stranger, pytest_output(1))
    long = "".join(f'tests/test_{n}.py::test \u00e4 \\ " ok\n' for n in range(2_000))
    wire.command("pytest -v", pytest_output(2_000, filler=long))
    wire.command("pytest -v", pytest_output(1_999, 1, filler=long), 1)
    wire.end_turn("done")
    return {"endings": Case(wire.to_bytes(), "every way a result may end, and what only looks like one")}


def _failed(code: object) -> str:
    return f"Command failed with exit code: {code}."


_SAVED = (
    "\n\n[Full output saved]\ntask_id: bash-1\noutput_path: /w/a b/\u00e4\\x.log\noutput_size_bytes: 90000\n"
    "next_step: Use Read with output_path to page through the full log."
)
_UNRECORDED = (
    "Tool execution was interrupted before its result was recorded."
    " Do not assume the tool completed successfully."
)
_RESULTS: list[tuple[object, bool | None, dict[str, object]]] = [
    (pytest_output(1), None, {}),
    (pytest_output(1), False, {}),
    (f"{pytest_output(1, 1)}{_failed(1)}", True, {}),
    (f"{pytest_output(1, 1)}{_failed(1)}\n[...truncated]", True, {}),
    (f"{pytest_output(1, 1)}{_failed(1)}{SHORTENED}{_SAVED}", True, {}),
    (f"{pytest_output(1)}Command executed successfully.{SHORTENED}", False, {"truncated": True}),
    (f"{pytest_output(1)}{_failed(0)}", True, {}),
    (f"{pytest_output(1)}{_failed('null')}", True, {}),
    (f"{pytest_output(1)}{_failed(99999999999)}", True, {}),
    (f"{_failed(7)}\n{pytest_output(1)}", True, {}),
    (f"printed: {_failed(7)}", True, {}),
    (f"{pytest_output(1)}\\n{_failed(7)}", True, {}),
    (f"{pytest_output(1)}{_failed(7)}", None, {}),
    (f"{pytest_output(1)}Command killed by timeout (60s)", True, {}),
    (f"{pytest_output(1)}Interrupted by user", True, {}),
    ("Session closed", True, {}),
    (_UNRECORDED, True, {}),
    ("not today", True, {}),
    (
        "task_id: bash-2\npid: 7\ndescription: x\nstatus: running\n\nforeground_output:\n" + pytest_output(4),
        False,
        {},
    ),
    (pytest_output(1, 1), True, {"exitCode": 1}),
    (f"{pytest_output(1, 1)}{_failed(2)}", True, {"exitCode": 1}),
    (pytest_output(1), None, {"exitCode": 1}),
    (pytest_output(1), None, {"exitCode": "0"}),
    (pytest_output(1), None, {"exitCode": 0}),
    ([{"type": "text", "text": pytest_output(8)}], None, {}),
    ([{"type": "text", "text": "a"}, {"type": "image_url", "imageUrl": {"url": "blobref:1"}}], None, {}),
    (None, None, {}),
    (17, None, {}),
    ("", None, {}),
]


def _refused(version: str) -> dict[str, Case]:
    if version != "2.1.0":
        return {}
    data = work_wire(version).to_bytes()
    header, _, rest = data.partition(b"\n")
    return {
        "mapped": Case(
            upgraded(data, "2.0"), "a protocol that only an owner's mapping accepts", readable=False
        ),
        "schema_version": Case(
            header[:-1] + b',"schema_version":2}\n' + rest, "a header of another shape", readable=False
        ),
        "python_kimi": Case(
            b'{"type":"metadata","protocol_version":"1.4"}\n', "the Python kimi-cli", readable=False
        ),
        "python_kimi_bare": Case(
            b'{"timestamp":1787220001.5,"message":{"type":"TurnBegin","payload":{"user_input":"a"}}}\n',
            "the Python kimi-cli without a header",
            readable=False,
        ),
        "codex": Case(
            b'{"timestamp":"2026-08-20T10:00:00.000Z","type":"session_meta","payload":{"id":"x"}}\n',
            "another host's",
            readable=False,
        ),
        "claude": Case(
            b'{"type":"summary","summary":"x","leafUuid":"00000000-0000-4000-8000-000000000000"}\n',
            "another host's",
            readable=False,
        ),
        "no_metadata": Case(rest, "the header is missing", readable=False),
        "unfinished": Case(data[:40], "the header is not written yet", readable=False),
    }
