"""The command line: exit codes, what goes to which stream, and that every answer is data too."""

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest

from adapters.errors import HeaderError
from sidecars.errors import BadSignatureError
from tests.programs import Run, runner, use
from tests.simulators.worlds import World, empty_world, prompt_event, rollout_of, write_transcript
from tests.timeline.cases import Case, enroll_session
from timeline import cli, errors, service
from timeline.cli.exit import ExitCode, exit_code_of


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a function that runs a program as its entry point does: exit code, output, errors."""
    return runner(monkeypatch)


@pytest.fixture
def prompted(world: World, monkeypatch: pytest.MonkeyPatch) -> tuple[World, bytes]:
    """Give a timeline that the commands use, and the event of a prompt."""
    use(world, monkeypatch)
    rollout = rollout_of(world)
    path = write_transcript(world, rollout)
    return world, prompt_event(world, rollout.thread_id, str(path))


@pytest.fixture
def told(indexed: Case, monkeypatch: pytest.MonkeyPatch) -> Case:
    """Give an indexed session that the commands use."""
    use(indexed.world, monkeypatch)
    return indexed


def hook(run: Run, event: bytes, *more: str) -> tuple[int, str, str]:
    """Call the hook as the host does."""
    return run("hook", "user-prompt-submit", "--host", "codex", *more, given=event)


# -- the whole way ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("T9", "T10", "D4", "T4")
def test_from_init_to_a_card_every_step_speaks_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """One document a command on standard output, nothing on standard error, exit code 0."""
    world = empty_world(tmp_path / "world")
    use(world, monkeypatch)
    rollout = rollout_of(world)
    path = write_transcript(world, rollout)

    def step(*arguments: str, given: bytes = b"") -> Any:
        code, out, err = run(*arguments, "--json", given=given)
        assert (code, err) == (0, ""), arguments
        return json.loads(out)

    assert step("init")["status"] == "initialised"
    event = prompt_event(world, rollout.thread_id, str(path))
    issued = step("hook", "user-prompt-submit", "--host", "codex", given=event)
    assert issued["status"] == "pending"
    pending = step("receipt", "--root", world.root)
    assert re.fullmatch(r"asthr_[A-Za-z0-9_-]{43}", pending["receipt"])
    assert pending["receipt"] not in json.dumps(issued)
    enrolled = step(
        "enroll", "--root", world.root, "--receipt", pending["receipt"], "--confirm-local-timeline"
    )
    assert enrolled["status"] == "enrolled"
    assert enrolled["authority"] == "context-only"
    (status,) = step("index", "--root", world.root)
    assert (status["status"], status["events"]) == ("indexed", 3)
    found = step("search", "pytest", "failed", "--root", world.root)
    (card,) = found["events"]
    assert (found["status"], card["outcome"], card["failed"]) == ("found", "fail", 1)
    near = step("search", "--at", card["at"], "--window", "0", "--root", world.root)
    assert [event["id"] for event in near["events"]] == [card["id"]]
    shown = step("show", card["id"], "--root", world.root)
    assert shown["events"] == [card]
    missed = step("search", "cargo", "passed", "--root", world.root)
    assert (missed["status"], missed["blocked"], missed["events"]) == ("not-found", False, [])
    (source,) = step("sources", "--root", world.root)
    assert (source["state"], source["events"]) == ("current", 3)
    report = step("verify", "--deep")
    assert (report["verdict"], report["level"]) == ("ok", "L1")
    assert step("revoke", enrolled["id"])["status"] == "revoked"
    assert step("sources")[0]["state"] == "revoked"


def test_the_same_way_in_words(told: Case, run: Run) -> None:
    """Without --json every command says the same in lines for a person."""
    root = told.world.root
    code, out, err = run("search", "pytest", "failed", "--root", root)
    assert (code, err) == (0, "")
    assert "pytest  FAIL  11 passed, 1 failed" in out
    assert "status: found, context-only" in out
    assert "simulated host" in out
    code, out, _ = run("search", "pytst", "failed", "--root", root)
    assert "matched: pytst→pytest" in out
    code, out, _ = run("index", "--root", root)
    assert "3 events (0 new), understood" in out
    code, out, _ = run("sources", "--root", root)
    assert "current  3 events" in out
    code, out, _ = run("verify")
    assert out.startswith("verdict: ok  level: L1")
    assert "not checked:" in out
    assert "complete restoration" in out
    code, out, _ = run("receipt", "--root", root)
    assert (code, out) == (0, "no receipt is pending: prompt once in the session, then come back\n")


# -- exit codes and errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UsageError("m"), 2),
        (errors.QueryError("m"), 2),
        (errors.LimitError("m"), 2),
        (errors.StateMissingError("m"), 10),
        (errors.StateBusyError("m"), 11),
        (errors.KeyMismatchError("m"), 12),
        (errors.ReceiptUnavailableError("m"), 13),
        (errors.EnrollmentUnavailableError("m"), 13),
        (errors.ConfirmationError("m"), 13),
        (errors.LogRefusedError("m"), 1),
        (errors.StateCorruptError("m"), 1),
        (errors.TranscriptMissingError("m"), 1),
        (errors.ConfigError("m"), 1),
        (errors.IndexUnverifiedError("m"), 1),
        (BadSignatureError("m"), 1),
        (HeaderError("m", host="codex"), 1),
    ],
)
def test_each_error_has_its_exit_code(error: Exception, code: int) -> None:
    """Scripts tell by the code who must act."""
    assert exit_code_of(error) is ExitCode(code)


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("search", "pytest"), 2, "query-invalid"),
        (("search",), 2, "query-invalid"),
        (("search", "--at", "yesterday"), 2, "query-invalid"),
        (("search", "--at", "2026-08-20T10:00:00Z", "--window", "901"), 2, "limit-exceeded"),
        (("search", "pytest", "failed", "--window", "5"), 2, "query-invalid"),
        (("show", "timeline-event:xyz"), 2, "query-invalid"),
        (("index", "--max-bytes", "1"), 2, "limit-exceeded"),
        (("index", "--operations", "0"), 2, "usage"),
        (("search", "pytest", "failed", "--root", "/none"), 2, "usage"),
        (("bogus",), 2, "usage"),
        (("verify", "--bogus"), 2, "usage"),
        (("hook", "user-prompt-submit"), 2, "usage"),
        (("hook", "user-prompt-submit", "--host", "other"), 2, "usage"),
        (("init",), 1, "state-exists"),
        (("revoke", "timeline-enrollment:none"), 13, "private-enrollment-unavailable"),
        (("search", "pytest", "failed", "--source", "source:none"), 13, "private-enrollment-unavailable"),
    ],
)
def test_an_error_has_a_reason_and_a_hint_on_standard_error(
    told: Case, run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, reason: str
) -> None:
    """Standard output stays empty; with --json the same is one object; the advice is there."""
    monkeypatch.chdir(told.world.root)
    found, out, err = run(*arguments)
    assert (found, out) == (code, "")
    lines = err.rstrip("\n").split("\n")
    assert re.fullmatch(rf"timeline: error: .* \[{reason}\]", lines[0])
    assert "Traceback" not in err
    found, out, err = run(*arguments, "--json")
    assert (found, out) == (code, "")
    said = json.loads(err)
    assert said["reason"] == reason
    assert said["error"] in lines[0]
    if said["hint"]:
        assert lines[1] == f"timeline: hint: {said['hint']}"


@pytest.mark.parametrize(
    "arguments", [("search", "a", "b"), ("sources",), ("index",), ("verify",), ("receipt",), ("revoke", "x")]
)
def test_without_a_state_every_command_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, arguments: tuple[str, ...]
) -> None:
    """Exit code 10, and the command that makes one; nothing is made meanwhile."""
    world = empty_world(tmp_path / "world")
    use(world, monkeypatch)
    if arguments[0] == "search":
        arguments = ("search", "pytest", "failed")
    code, out, err = run(*arguments)
    assert (code, out) == (10, "")
    assert "run `timeline init` once" in err
    assert not world.locations.state.exists()
    assert not world.locations.trust.exists()


def test_a_folder_name_that_cannot_exist_is_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """A component over the file system's bound: no traceback, from any command."""
    use(empty_world(tmp_path / "world"), monkeypatch)
    for name in ("STATE", "TRUST"):
        monkeypatch.setenv(f"TIMELINE_{name}_DIR", f"/{'x' * 300}/{name}")
    for arguments in (("init",), ("verify",), ("sources",), ("search", "pytest", "failed")):
        code, _, err = run(*arguments)
        assert code in {1, 10}
        assert "Traceback" not in err


@pytest.mark.requirement("T69")
def test_a_refused_state_ends_in_one_and_names_the_file(told: Case, run: Run) -> None:
    """Reason and hint; the check that failed is in the report."""
    head = told.world.locations.head
    head.write_bytes(head.read_bytes()[:-9] + b"AAAAAAA=\n")
    code, out, err = run("search", "pytest", "failed", "--root", told.world.root)
    assert (code, out) == (1, "")
    assert "[bad-signature]" in err
    code, out, _ = run("verify", "--json")
    assert code == 1
    assert json.loads(out)["verdict"] == "refused"


@pytest.mark.requirement("T13", "T69")
def test_a_stale_or_gone_source_gives_no_card_and_exit_code_one(told: Case, run: Run) -> None:
    """The answer is data with its reason, not an error."""
    with told.path.open("ab") as appended:
        appended.write(b"\n")
    code, out, err = run("search", "pytest", "failed", "--root", told.world.root, "--json")
    answer = json.loads(out)
    assert (code, err) == (1, "")
    assert (answer["status"], answer["blocked"], answer["events"]) == ("stale", True, [])
    assert answer["reason"] == "transcript-snapshot-renewal-required"
    told.path.unlink()
    code, out, _ = run("search", "pytest", "failed", "--root", told.world.root)
    assert code == 1
    assert "status: source-gone (transcript-missing)" in out


def test_indexing_in_part_ends_in_three(told: Case, run: Run) -> None:
    """One source refused and one read: done in part; all refused: failed."""
    second = enroll_session(told.world, seed=5)
    told.path.unlink()
    code, out, _ = run("index", "--root", told.world.root, "--json")
    assert code == 0  # what was indexed already needs no transcript
    second.path.unlink()
    code, out, _ = run("index", "--root", told.world.root)
    assert code == 0
    third = enroll_session(told.world, seed=6)
    third.path.unlink()
    code, out, _ = run("index", "--root", told.world.root)
    assert code == 3
    assert "[transcript-missing]" in out
    code, out, _ = run("index", "--root", told.world.root, "--source", third.ref, "--json")
    assert code == 1
    assert json.loads(out)[0]["reason"] == "transcript-missing"


def test_ctrl_c_ends_in_130(told: Case, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback, and the promise that what was committed stays."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(service, "find", interrupt)
    code, out, err = run("search", "pytest", "failed")
    assert (code, out) == (130, "")
    assert "what was committed stays" in err


# -- the hook --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T6", "T69")
def test_the_hook_prints_nothing(prompted: tuple[World, bytes], run: Run) -> None:
    """What a hook prints reaches the model: the receipt is the owner's alone."""
    world, event = prompted
    assert hook(run, event) == (0, "", "")
    assert len(service.list_receipts(world.session, world.root)) == 1


@pytest.mark.requirement("T8", "T69")
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hook_event_name": "Stop"}, "host-receipt-event-not-supported"),
        ({"session_id": 5}, "host-receipt-event-not-supported"),
        ({"session_id": ""}, "host-receipt-event-not-supported"),
        ({"group_id": "g"}, "raw-group-scope"),
        ({"agent_spine_scope": {"group": "g"}}, "raw-group-scope"),
        ({"session_id": "another"}, "transcript-session-mismatch"),
        ({"transcript_path": "/etc/passwd"}, "transcript-outside-host-sessions"),
        ({"transcript_path": "relative"}, "transcript-path-unsupported"),
        ({"transcript_path": "/a\u0000b"}, "host-receipt-event-not-supported"),
        ({"transcript_path": "/" + "x" * 5000}, "host-receipt-event-not-supported"),
        ({"cwd": ""}, "host-receipt-event-not-supported"),
        ({"cwd": "/\u0000"}, "host-receipt-event-not-supported"),
        ({"cwd": "/a\nb"}, "host-receipt-event-not-supported"),
        ({"cwd": "/" + "x" * 300}, None),
        ({"cwd": "/" + "x" * 5000}, "host-receipt-event-not-supported"),
    ],
)
def test_the_hook_never_blocks_a_prompt(
    prompted: tuple[World, bytes], run: Run, changes: dict[str, object], reason: str | None
) -> None:
    """Whatever the host says: exit code 0, nothing on standard output, and no receipt where it is refused."""
    world, event = prompted
    changed = json.dumps({**json.loads(event), **changes}).encode()
    code, out, err = hook(run, changed)
    assert (code, out) == (0, "")
    assert "Traceback" not in err
    assert (f"[{reason}]" in err) is (reason is not None)
    code, out, _ = hook(run, changed, "--json")
    assert code == 0
    said = json.loads(out)
    assert said["reason"] == reason
    assert "asthr_" not in out
    assert service.list_receipts(world.session, world.root) == ()


@pytest.mark.requirement("T69")
@pytest.mark.parametrize(
    "event", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 5000, b'{"a":1,"a":2}', b"x" * (2 << 20)]
)
def test_any_bytes_on_the_hooks_input_end_in_zero(
    prompted: tuple[World, bytes], run: Run, event: bytes
) -> None:
    """Not an event: said on standard error, with the reason."""
    code, out, err = hook(run, event)
    assert (code, out) == (0, "")
    assert "[host-receipt-event-not-supported]" in err


@pytest.mark.requirement("T69")
@pytest.mark.parametrize("broken", ["head", "anchor", "pins", "database", "settings"])
@pytest.mark.parametrize("how", ["missing", "empty", "garbage", "folder"])
def test_a_broken_state_blocks_no_prompt(
    prompted: tuple[World, bytes], run: Run, broken: str, how: str
) -> None:
    """Recall ends; the host's work does not."""
    world, event = prompted
    path = getattr(world.locations, broken)
    path.unlink()
    if how == "folder":
        path.mkdir()
    elif how != "missing":
        path.write_bytes(b"" if how == "empty" else b"\0garbage" * 40)
        path.chmod(0o600)
    code, out, err = hook(run, event)
    assert (code, out) == (0, "")
    assert err.startswith("timeline: error: ")


def test_the_hook_is_silent_where_timeline_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """Without a state there is nothing to say, on either stream, and nothing is made."""
    world = empty_world(tmp_path / "world")
    use(world, monkeypatch)
    rollout = rollout_of(world)
    event = prompt_event(world, rollout.thread_id, str(write_transcript(world, rollout)))
    service.write_default_config(world.locations.settings, service.default_config("me"))
    assert hook(run, event) == (0, "", "")
    assert not world.locations.state.exists()


# -- the programs of the reference -----------------------------------------------------------------------------


@pytest.mark.requirement("T9")
def test_timeline_receipt_reports_unavailable_as_data(prompted: tuple[World, bytes], run: Run) -> None:
    """None pending is exit code 0 with a status; one is given; two need --all."""
    world, event = prompted
    code, out, _ = run("--root", world.root, "--json", program="main_receipt")
    said = json.loads(out)
    assert (code, said["status"], said["receipt"]) == (0, "unavailable", None)
    hook(run, event)
    code, out, _ = run("--root", world.root, "--json", program="main_receipt")
    said = json.loads(out)
    assert (code, said["status"]) == (0, "pending")
    assert set(said) == {"schema", "status", "receipt", "expiresAt", "authority"}
    hook(run, json.dumps({**json.loads(event), "turn_id": "turn-2"}).encode())
    code, out, err = run("--root", world.root, "--json", program="main_receipt")
    assert (code, json.loads(out)["reason"]) == (0, "host-receipt-ambiguous")
    code, out, err = run("--root", world.root, "--all", "--json", program="main_receipt")
    assert (code, len(json.loads(out)["receipts"]), err) == (0, 2, "")


@pytest.mark.requirement("T10")
def test_timeline_enroll_wants_root_receipt_and_the_owners_word(
    prompted: tuple[World, bytes], run: Run
) -> None:
    """Misuse is exit code 1 and spends nothing; the full form enrolls; the receipt again is unavailable, 0."""
    world, event = prompted
    hook(run, event)
    (receipt,) = service.list_receipts(world.session, world.root)
    full = ("--root", world.root, "--receipt", receipt.id, "--confirm-local-timeline")
    for misuse in (full[:4], full[2:], (*full[:2], full[4]), (*full, "--session", "s"), (*full, "extra"), ()):
        code, out, err = run(*misuse, program="main_enroll")
        assert (code, out) == (1, "")
        assert err.startswith("timeline-enroll: error: ")
    assert service.list_receipts(world.session, world.root) == (receipt,)
    code, out, err = run(*full, "--json", program="main_enroll")
    assert (code, err) == (0, "")
    assert json.loads(out)["stateBootstrap"] == {"status": "registered", "reason": None}
    code, out, err = run(*full, "--json", program="main_enroll")
    said = json.loads(out)
    assert (code, said["status"], said["reason"]) == (0, "unavailable", "host-transcript-receipt-unavailable")


@pytest.mark.requirement("T10")
@pytest.mark.parametrize("receipt", ["", "asthr_", "asthr_" + "A" * 43, "A" * 49, "asthr_" + "\udcff" * 43])
def test_a_receipt_that_never_was_enrolls_nothing(
    prompted: tuple[World, bytes], run: Run, receipt: str
) -> None:
    """Unavailable, and nothing is recorded."""
    world, _ = prompted
    arguments = ("--root", world.root, "--receipt", receipt, "--confirm-local-timeline", "--json")
    code, out, _ = run(*arguments, program="main_enroll")
    assert (code, json.loads(out)["status"]) == (0, "unavailable")
    assert service.list_sources(world.session, None) == ()


@pytest.mark.requirement("D8")
def test_timeline_verify_is_the_verify_command(told: Case, run: Run) -> None:
    """The same report, and 1 where something is refused."""
    code, out, _ = run("--json", program="main_verify")
    assert (code, json.loads(out)["verdict"]) == (0, "ok")
    told.world.locations.anchor.unlink()
    code, out, _ = run("--json", program="main_verify")
    report = json.loads(out)
    assert (code, report["verdict"]) == (1, "refused")
    assert [check["reason"] for check in report["checks"] if not check["ok"]] == ["anchor-lost"]


# -- help ------------------------------------------------------------------------------------------------------


def _every(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(command, click.Group):
        return [path]
    return [found for name, child in command.commands.items() for found in _every(child, (*path, name))]


@pytest.mark.parametrize("path", _every(cli.timeline), ids=" ".join)
def test_every_commands_help_has_an_example_and_the_exit_codes(run: Run, path: tuple[str, ...]) -> None:
    """The example begins with the command itself; the codes are those of ``ExitCode``."""
    code, out, err = run(*path, "--help")
    assert (code, err) == (0, "")
    assert re.search(rf"^  +timeline {' '.join(path)}\b", out, re.MULTILINE)
    flat = " ".join(out.split())
    codes = flat.partition("Exit codes:")[2]
    assert {int(found) for found in re.findall(r"\b(\d+) [a-z]", codes)} == {int(code) for code in ExitCode}


@pytest.mark.parametrize("path", _every(cli.timeline), ids=" ".join)
def test_every_command_but_the_story_speaks_json(path: tuple[str, ...]) -> None:
    """``demo`` is told to a person; everything else has --json."""
    command: Any = cli.timeline
    for name in path:
        command = command.commands[name]
    names = {option for parameter in command.params for option in parameter.opts}
    assert ("--json" in names) is (path != ("demo",))
