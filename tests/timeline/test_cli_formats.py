"""``timeline inspect`` and ``timeline formats`` as a user or a script meets them: lines, JSON, exit codes."""

import json
from pathlib import Path

import pytest

from tests.programs import Run, runner, use
from tests.simulators.hosts import work_session
from tests.simulators.worlds import World, empty_world, rollout_of
from tests.timeline.cases import enroll_rollout

NEW = "event_msg/new_thing"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a way to run `timeline`: exit code, standard output, standard error."""
    return runner(monkeypatch)


def transcript(folder: Path, *, new_type: bool = False, broken: bool = False) -> str:
    """Write a session; return its path."""
    rollout = work_session()
    if new_type:
        rollout.write("event_msg", {"type": "new_thing"})
    if broken:
        rollout.lines.append(b"{broken")
    path = folder / "transcript.jsonl"
    path.write_bytes(rollout.to_bytes())
    return str(path)


@pytest.mark.parametrize(
    ("new_type", "broken", "code", "said"),
    [
        (False, False, 0, ["verdict   understood", "pytest  FAIL  11 passed, 1 failed"]),
        (True, False, 3, [f"unknown-type:{NEW}", f"`timeline formats accept codex {NEW}`"]),
        (False, True, 3, ["defect:not-json", "1 line skipped", "  defect  byte "]),
    ],
)
def test_inspect_says_at_once_how_a_file_stands(
    tmp_path: Path, run: Run, new_type: bool, broken: bool, code: int, said: list[str]
) -> None:
    """Without any state: verdict, reason and remedy in the first lines, and the exit code of the verdict."""
    path = transcript(tmp_path, new_type=new_type, broken=broken)
    found, out, err = run("inspect", path, "--host", "codex")
    assert (found, err) == (code, "")
    for words in said:
        assert words in out
    verdict = next(number for number, line in enumerate(out.split("\n")) if line.startswith("verdict"))
    assert verdict <= 2


def test_inspect_speaks_json(tmp_path: Path, run: Run) -> None:
    """One document, with its schema and the names of the ground truth."""
    code, out, err = run("inspect", transcript(tmp_path), "--host", "codex", "--json")
    found = json.loads(out)
    assert (code, err, found["schema"], found["authority"]) == (
        0,
        "",
        "timeline-inspection/v1",
        "context-only",
    )
    assert {
        "records",
        "tool_calls",
        "tool_results",
        "runner_results",
        "defects",
        "pending_bytes",
    } <= found.keys()


def test_inspect_refuses_a_foreign_file_with_the_remedy(tmp_path: Path, run: Run) -> None:
    """It is an answer on standard output and ends with 1; a file that is not there is an error."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"type":"metadata","protocol_version":"1.4","created_at":1}\n')
    code, out, err = run("inspect", str(path), "--host", "codex")
    assert (code, err) == (1, "")
    assert "refused [wrong-host]" in out
    assert "remedy" in out
    code, out, err = run("inspect", str(tmp_path / "none"), "--host", "codex", "--json")
    assert (code, out, json.loads(err)["reason"]) == (1, "", "transcript-missing")
    assert run("inspect", str(path), "--host", "gemini")[0] == 2
    assert run("inspect", str(path))[0] == 2


def test_the_owner_accepts_and_takes_back(world: World, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """From the listing to the acceptance and back, in lines and in JSON."""
    use(world, monkeypatch)
    assert run("formats", "list") == (0, "no unreviewed record type was met\n", "")
    rollout = rollout_of(world)
    rollout.write("event_msg", {"type": "new_thing"})
    case = enroll_rollout(world, rollout)
    code, out, _ = run("index", "--root", world.root)
    assert (code, "partly-understood" in out) == (0, True)
    assert run("formats", "list")[1] == f"codex {NEW}  unreviewed, in 1 source\n"
    code, out, _ = run("formats", "accept", "codex", NEW)
    assert code == 0
    assert f"codex {NEW}  accepted, in 1 source" in out
    assert case.ref in out
    code, out, _ = run("index", "--root", world.root)
    assert f"understood (accepted: {NEW})" in out
    code, out, err = run("formats", "accept", "codex", NEW, "--json")
    assert (code, out, json.loads(err)["reason"]) == (2, "", "format-decision-unchanged")
    found = json.loads(run("formats", "revoke", "codex", NEW, "--json")[1])
    assert [decision["standing"] for decision in found["decisions"]] == ["accepted", "unreviewed"]
    assert json.loads(run("formats", "show", "codex", NEW, "--json")[1]) == found
    assert (
        run("formats", "show", "codex", "never_met")[1]
        == "codex never_met  unreviewed, in no indexed source\n"
    )


def test_decisions_need_a_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """Exit code 10, as every command says it."""
    use(empty_world(tmp_path / "world"), monkeypatch)
    for arguments in (("list",), ("show", "codex", NEW), ("accept", "codex", NEW), ("revoke", "codex", NEW)):
        assert run("formats", *arguments)[0] == 10
