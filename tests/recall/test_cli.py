"""The programs as a user or a script meets them: output, errors, exit codes."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.simulators.worlds import (
    FOLDERS,
    World,
    empty_world,
    new_world,
    prompt_event,
    rollout_of,
    write_transcript,
)
from timeline import cli, entry

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Give a way to run a program in a world: exit code, standard output, standard error."""

    def run(world: World, program: str, *arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        for name in FOLDERS:
            monkeypatch.setenv(f"TIMELINE_{name.upper()}_DIR", str(world.folder / name))
        monkeypatch.setenv("CODEX_HOME", str(world.home / ".codex"))
        monkeypatch.setattr("sys.argv", [program, *arguments])
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        start = {
            "timeline": cli.main,
            "timeline-receipt": cli.main_receipt,
            "timeline-enroll": cli.main_enroll,
        }
        start["timeline-verify"] = cli.main_verify
        with pytest.raises(SystemExit) as ended:
            start[program]()
        output = capsys.readouterr()
        return int(ended.value.code or 0), output.out, output.err

    return run


@pytest.fixture
def prompted(tmp_path: Path, run: Run) -> tuple[World, bytes]:
    """Give a new timeline whose hook was called by a host for one session."""
    world = new_world(tmp_path / "w")
    rollout = rollout_of(world)
    path = write_transcript(world, rollout)
    event = prompt_event(world, rollout.thread_id, str(path))
    assert run(world, "timeline", "hook", "user-prompt-submit", "--host", "codex", stdin=event) == (0, "", "")
    return world, event


def receipt_of(run: Run, world: World) -> str:
    """The pending receipt's id, as a script takes it."""
    code, output, _ = run(world, "timeline-receipt", "--root", world.root, "--json")
    assert code == 0
    return str(json.loads(output)["receipt"])


@pytest.mark.requirement("T9", "T10", "D4", "D8")
def test_the_whole_way_by_the_programs(prompted: tuple[World, bytes], run: Run) -> None:
    """Receipt, enroll, index, search, show and verify, each with one JSON document."""
    world, _ = prompted
    receipt = receipt_of(run, world)
    enroll = ("--root", world.root, "--receipt", receipt, "--confirm-local-timeline", "--json")

    assert json.loads(run(world, "timeline-enroll", *enroll)[1])["status"] == "enrolled"
    (indexed,) = json.loads(run(world, "timeline", "index", "--root", world.root, "--json")[1])
    found = json.loads(
        run(world, "timeline", "search", "pytest", "failed", "--root", world.root, "--json")[1]
    )
    shown = json.loads(
        run(world, "timeline", "show", found["events"][0]["id"], "--root", world.root, "--json")[1]
    )
    verified = json.loads(run(world, "timeline-verify", "--deep", "--json")[1])

    assert (indexed["status"], indexed["events"]) == ("indexed", 3)
    assert found["status"] == "found"
    assert shown["events"] == found["events"][:1]
    assert (verified["verdict"], verified["level"]) == ("ok", "L1")
    assert any("complete restoration" in item for item in verified["notChecked"])


@pytest.mark.requirement("T10")
@pytest.mark.parametrize(
    "leave_out",
    [("--receipt",), ("--confirm-local-timeline",), ("--root",)],
    ids=["receipt", "confirmation", "root"],
)
def test_enrolling_wants_all_three_flags(
    prompted: tuple[World, bytes], run: Run, leave_out: tuple[str]
) -> None:
    """Without one of them the program ends with 1 and names what it takes."""
    world, _ = prompted
    given: dict[str, list[str]] = {
        "--root": [world.root],
        "--receipt": [receipt_of(run, world)],
        "--confirm-local-timeline": [],
    }
    arguments = [word for flag, values in given.items() if flag not in leave_out for word in (flag, *values)]

    code, output, errors = run(world, "timeline-enroll", *arguments)

    assert (code, output) == (1, "")
    assert "hint:" in errors


@pytest.mark.requirement("T10")
def test_an_unknown_flag_of_enroll_is_misuse(prompted: tuple[World, bytes], run: Run) -> None:
    """No flag lets a caller name the session or the transcript himself."""
    world, _ = prompted

    code, _, errors = run(world, "timeline-enroll", "--root", world.root, "--session-id", "x")

    assert code == 1
    assert "--session-id" in errors


@pytest.mark.requirement("T9", "T69")
def test_unavailable_is_data_and_not_a_failure(tmp_path: Path, run: Run) -> None:
    """A spent or missing receipt ends with 0 and says so in the answer, as the reference does."""
    world = new_world(tmp_path / "w")
    receipt = "asthr_" + "A" * 43

    code, output, _ = run(world, "timeline-receipt", "--root", world.root, "--json")
    assert (code, json.loads(output)["status"], json.loads(output)["receipt"]) == (0, "unavailable", None)
    spent = ("--root", world.root, "--receipt", receipt, "--confirm-local-timeline", "--json")
    code, output, _ = run(world, "timeline-enroll", *spent)
    assert (code, json.loads(output)["reason"]) == (0, "host-transcript-receipt-unavailable")


@pytest.mark.requirement("T69")
@pytest.mark.parametrize("stdin", [b"", b"{", b'{"hook_event_name":"UserPromptSubmit"}'])
def test_a_hook_never_blocks_the_host(tmp_path: Path, run: Run, stdin: bytes) -> None:
    """Bad input, no state or a broken state: exit code 0 and nothing for the model."""
    missing, broken = empty_world(tmp_path / "missing"), new_world(tmp_path / "broken")
    broken.locations.head.unlink()

    for world in (missing, broken):
        code, output, _ = run(world, "timeline", "hook", "user-prompt-submit", "--host", "codex", stdin=stdin)
        assert (code, output) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("search", "pytest"), 2, "query-invalid"),
        (("search", "--at", "yesterday"), 2, "query-invalid"),
        (("search",), 2, "query-invalid"),
        (("search", "--at", "2026-08-20T10:00:00Z", "--window", "901"), 2, "limit-exceeded"),
        (("show", "timeline-event:xyz"), 2, "query-invalid"),
        (("search", "pytest", "failed"), 13, "private-enrollment-unavailable"),
        (("revoke", "timeline-enrollment:none"), 13, "private-enrollment-unavailable"),
        (("init",), 1, "state-exists"),
        (("index", "--max-bytes", "5"), 13, "private-enrollment-unavailable"),
        (("bogus",), 2, "usage"),
    ],
)
def test_a_refusal_has_its_code_reason_and_hint(
    tmp_path: Path, run: Run, arguments: tuple[str, ...], code: int, reason: str
) -> None:
    """Standard output stays empty, standard error is one object with reason and hint."""
    world = new_world(tmp_path / "w")
    root = () if arguments[0] in {"show", "revoke", "init", "bogus"} else ("--root", world.root)

    ended, output, errors = run(world, "timeline", *arguments, *root, "--json")

    found: dict[str, Any] = json.loads(errors)
    assert (ended, output, found["reason"]) == (code, "", reason)
    assert found["hint"]


@pytest.mark.parametrize("command", [("search", "pytest", "failed"), ("verify",), ("sources",), ("index",)])
def test_without_a_state_every_command_says_how_to_begin(
    tmp_path: Path, run: Run, command: tuple[str, ...]
) -> None:
    """Exit code 10, and the command that makes one."""
    world = empty_world(tmp_path / "w")

    code, _, errors = run(world, "timeline", *command)

    assert code == 10
    assert "timeline init" in errors


@pytest.mark.requirement("D8", "T67")
def test_verify_ends_with_one_when_something_is_refused(prompted: tuple[World, bytes], run: Run) -> None:
    """A missing head is a refusal with its reason, in words and in the exit code."""
    world, _ = prompted
    world.locations.head.unlink()

    code, output, _ = run(world, "timeline-verify")

    assert code == 1
    assert "verdict: refused" in output
    assert "[state-incomplete]" in output


def test_the_entry_point_runs_the_named_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each installed program leads to its own function."""
    called = []
    for name in ("main", "main_receipt", "main_enroll", "main_verify"):
        monkeypatch.setattr(cli, name, lambda *_given, name=name: called.append(name))
        getattr(entry, name)()

    assert called == ["main", "main_receipt", "main_enroll", "main_verify"]
