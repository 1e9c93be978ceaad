"""``timeline inspect``: one bounded pass over any file, a verdict with its remedy, and no transcript text."""

import json
import re
import tracemalloc
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.record import CallStatus, LineRef, LineRole, OutputText, ToolResult
from adapters.registry import ADAPTERS
from tests import sample_truth
from tests.simulators.hosts import CodexRollout, fork, new_rollout, pytest_output, work_session
from timeline import answers, findings
from timeline.errors import SourceError
from timeline.findings import Findings
from timeline.inspection import inspect_file

CODEX = ADAPTERS["codex"]
MARKER = "hunter2-never-repeat-this"
DAMAGED = [
    sample
    for sample in (sample_truth.samples() if sample_truth.SHARED.is_dir() else ())
    if sample.collection == "damaged" and sample.host in ADAPTERS
]


def inspected(folder: Path, content: bytes) -> Findings:
    """The report on a file with this content."""
    path = folder / "transcript.jsonl"
    path.write_bytes(content)
    return inspect_file(CODEX, str(path))


def test_a_sound_session_is_counted(tmp_path: Path) -> None:
    """Records, calls, results, prompts and runs of a session whose story is known."""
    found = inspected(tmp_path, work_session().to_bytes())
    assert (found.verdict, found.reason, found.hint) == ("understood", None, "")
    assert found.complete_records == sum(found.records.values()) == len(work_session().lines)
    assert found.prompts == 2
    runs = [(run.runner, run.outcome, run.passed, run.failed or 0) for run in found.runner_results]
    assert ("pytest", "fail", 11, 1) in runs
    assert ("pytest", "pass", 12, 0) in runs
    assert all(run.passed != 99 for run in found.runner_results)
    assert found.tool_results["failure"] == 1
    assert found.tool_results == found.outcomes
    assert sum(found.failure_codes.values()) == found.tool_results["failure"]


def test_a_run_stands_at_the_line_of_its_output(tmp_path: Path) -> None:
    """The offset is that of the last line that tells about the call, and the call is named."""
    data = work_session().to_bytes()
    for run in inspected(tmp_path, data).runner_results:
        assert run.call_id is not None
        line = data[run.offset : data.index(b"\n", run.offset)]
        assert run.call_id.encode() in line
        assert b"output" in line


@pytest.mark.requirement("T72")
def test_an_unreviewed_type_is_named_with_its_remedy(tmp_path: Path) -> None:
    """The verdict says what, the hint how to accept it."""
    rollout = work_session()
    rollout.write("event_msg", {"type": "new_thing", "text": MARKER})
    found = inspected(tmp_path, rollout.to_bytes())
    assert (found.verdict, found.reason) == ("partly-understood", "unknown-type:event_msg/new_thing")
    assert "`timeline formats accept codex event_msg/new_thing`" in found.hint
    assert found.unknown_types == {"event_msg/new_thing": 1}


@pytest.mark.requirement("T72")
def test_a_foreign_file_is_a_finding_and_no_error(tmp_path: Path) -> None:
    """Refused, with the adapter's reason and remedy; counts are all zero."""
    found = inspected(tmp_path, b'{"type":"metadata","protocol_version":"1.4","created_at":1}\n')
    assert (found.verdict, found.reason) == ("refused", "wrong-host")
    assert found.hint
    assert not found.records
    assert set(found.tool_results.values()) == {0}
    assert inspected(tmp_path, b"").verdict == "refused"


@pytest.mark.requirement("T72")
def test_a_file_that_does_not_add_up_is_refused_after_all(tmp_path: Path) -> None:
    """An agent that acts though nobody asked: the counts are given, the verdict is no."""
    rollout = new_rollout()
    rollout.start_turn()
    rollout.command("pytest -q", pytest_output(3), 0)
    rollout.end_turn("done")
    found = inspected(tmp_path, rollout.to_bytes())
    assert (found.verdict, found.reason) == ("refused", "turns-without-prompts")
    assert found.records
    assert found.detail
    assert found.hint


def test_defects_are_placed_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first are listed, the others counted; nothing grows with their number."""
    monkeypatch.setattr(findings, "DEFECTS_SHOWN_MAX", 3)
    data = work_session().to_bytes()
    found = inspected(tmp_path, data + b"{broken\n" * 10)
    assert [defect.offset for defect in found.defects] == [len(data) + 8 * number for number in range(3)]
    assert {(defect.length, defect.kind) for defect in found.defects} == {(7, "not-json")}
    assert found.defects_left_out == 7
    assert found.hint


def test_runs_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as an index keeps; the rest is counted."""
    monkeypatch.setattr(findings, "RUNS_SHOWN_MAX", 2)
    rollout = new_rollout()
    rollout.start_turn()
    rollout.prompt("go")
    for _ in range(5):
        rollout.command("pytest -q", pytest_output(3), 0)
    found = inspected(tmp_path, rollout.to_bytes())
    assert (len(found.runner_results), found.runner_results_left_out) == (2, 3)


def test_copied_history_is_marked_and_not_own(tmp_path: Path) -> None:
    """What a fork has copied is counted as it stands, and told apart."""
    parent = work_session()
    child = fork(parent)
    child.start_turn()
    child.prompt("and now")
    child.command("pytest -q", pytest_output(55), 0)
    child.end_turn("done")
    found = inspected(tmp_path, child.to_bytes())
    assert [run.inherited for run in found.runner_results if run.passed == 55] == [False]
    assert {run.inherited for run in found.runner_results if run.passed != 55} == {True}
    assert found.inherited.prompts == 2
    for name, count in found.tool_results.items():
        assert count == found.outcomes[name] + found.inherited.outcomes[name]


def test_an_unfinished_last_line_is_pending(tmp_path: Path) -> None:
    """Its bytes are counted and not read."""
    data = work_session().to_bytes()
    found = inspected(tmp_path, data + b'{"half')
    assert (found.pending_bytes, found.verdict, found.bytes) == (6, "understood", len(data) + 6)


@pytest.mark.parametrize(
    ("call_id", "kept"),
    [
        ("call_1", True),
        ("toolu_01Ab.-:", True),
        (MARKER + " with words", False),
        ("a\nb", False),
        ("é", False),
        ("x" * 128, True),
        ("x" * 129, False),
        ("", False),
        ("-x", False),
        ("x\n", False),
    ],
)
def test_a_call_id_that_is_no_id_is_left_out(tmp_path: Path, call_id: str, kept: bool) -> None:
    """It is text from the file like any other, whatever an adapter lets through."""
    reader = CODEX.reader(CODEX.read_header(new_rollout().to_bytes()))
    output = OutputText(head=pytest_output(3), tail=pytest_output(3), whole=True, truncated=False)
    result = ToolResult(
        lines=(LineRef(LineRole.OUTPUT, 7, 9, b"0" * 32),),
        at_ms=None,
        call_id=call_id,
        tool="shell",
        command="pytest -q",
        exit_code=0,
        error_flag=None,
        status=CallStatus.COMPLETED,
        conflict=False,
        inherited=False,
        output=output,
    )
    collector = findings.Collector()
    collector.take([result])
    (run,) = collector.findings(CODEX, reader, app_version=None, size=0, pending=0).runner_results
    assert (run.call_id, run.offset, run.passed) == (call_id if kept else None, 7, 3)


@pytest.mark.requirement("T2")
def test_no_text_of_the_transcript_is_in_the_report(tmp_path: Path) -> None:
    """Prompts, commands, outputs, paths, tool names that are no names: none of it comes out."""
    rollout = CodexRollout(clock=new_rollout().clock, cwd=f"/w/{MARKER}")
    rollout.start_turn()
    rollout.prompt(MARKER)
    rollout.command(f"pytest -q {MARKER}", f"{MARKER}\n" + pytest_output(3), 0)
    rollout.command("cat x", MARKER, 1)
    rollout.write("event_msg", {"type": f"{MARKER} and more"})
    rollout.write("event_msg", {"type": "new_thing", "text": MARKER})
    rollout.lines.append(f"{{{MARKER}".encode())
    rollout.end_turn(MARKER)
    found = inspected(tmp_path, rollout.to_bytes())
    assert MARKER not in json.dumps(answers.inspection_answer(found))
    assert found.runner_results


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Ten times the file, about the same peak."""
    rollout = new_rollout()
    rollout.start_turn()
    rollout.prompt("go")
    rollout.command("cat big", "0123456789abcdef\n" * 60_000, 0)
    line = rollout.to_bytes()
    peaks = []
    for times in (3, 30):
        path = tmp_path / f"{times}.jsonl"
        with path.open("wb") as file:
            file.write(line)
            for _ in range(times):
                file.write(line[line.index(b"\n") + 1 :])
        tracemalloc.start()
        inspect_file(CODEX, str(path))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


@pytest.mark.parametrize("name", ["none", "", "folder"])
def test_what_cannot_be_read_is_an_error(tmp_path: Path, name: str) -> None:
    """A missing file, and a folder."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(SourceError):
        inspect_file(CODEX, str(tmp_path / name))


@given(data=st.binary(max_size=400))
def test_any_bytes_give_a_report(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Behind a sound beginning or alone, and with every adapter: a verdict, never an exception."""
    folder = tmp_path_factory.mktemp("any")
    for name, adapter in ADAPTERS.items():
        for content in (data, new_rollout().to_bytes() + data):
            path = folder / f"{name}.jsonl"
            path.write_bytes(content)
            found = inspect_file(adapter, str(path))
            assert found.verdict in {"understood", "partly-understood", "refused"}
            assert (found.reason is None) == (found.verdict == "understood")
            msgspec.json.encode(answers.inspection_answer(found))


@pytest.mark.skipif(not DAMAGED, reason="../shared is absent")
@pytest.mark.requirement("T72", "T73", "X3")
@pytest.mark.parametrize("sample", DAMAGED, ids=lambda sample: re.sub(r"_.*", "", sample.path.stem))
def test_a_damaged_file_is_reported_as_expected(sample: sample_truth.Sample, tmp_path: Path) -> None:
    """Counts, defects by place, pending bytes, runs and refusals: what ``expected.jsonl`` says, field for field."""
    assert sample_truth.disagreements(sample, sample_truth.report_of(sample, tmp_path)) == []
