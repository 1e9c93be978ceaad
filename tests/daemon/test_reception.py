"""Hooks and tools over the daemon's real socket, from processes below one that the system shows as a host (T15, X1)."""

import shutil
import threading
import time

import pytest

from tests.daemon.conftest import RunningDaemon, answered
from tests.simulators.host_process import SECONDS, host_process
from tests.simulators.hosts import pytest_output
from timeline import consenting, service
from timeline.daemon import reception

SEARCH = "session_timeline_search"
ARGUMENTS = {"query": "pytest passed"}


# -- prompts ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T6", "X1")
def test_a_prompt_gives_a_receipt_and_prints_nothing(daemon: RunningDaemon) -> None:
    """The model never sees it; the owner finds it."""
    assert daemon.hook("UserPromptSubmit", prompt="make it pass") is None
    (receipt,) = service.list_receipts(daemon.world.session, daemon.world.root)
    assert receipt.binding.session == daemon.thread
    assert receipt.attested
    assert daemon.diary("receipt") == [
        {"host": "codex", "session": daemon.thread, "standing": "issued"},
    ]


@pytest.mark.requirement("T6")
def test_a_prompt_that_no_host_has_called_gives_none(daemon: RunningDaemon) -> None:
    """A process that has no host above it, and one that hangs below another host."""
    for name in ("bash", "kimi-code"):
        with host_process(name, {"CODEX_HOME": str(daemon.world.home / ".codex")}) as other:
            assert daemon.hook("UserPromptSubmit", prompt="x", host=other) is None
    assert service.list_receipts(daemon.world.session, daemon.world.root) == ()
    assert [entry["reason"] for entry in daemon.diary("refused")] == ["hook-peer-unverified"] * 2


def test_a_broken_hook_says_nothing(daemon: RunningDaemon) -> None:
    """Whatever comes, the host goes on."""
    for content in (b"", b"{", b"[]", b"\xff", b'{"hook_event_name": 7}', b"{}" * 1000):
        assert daemon.say("hook codex", content) == b""
    assert daemon.say("hook nobody", b"{}") == b""
    assert daemon.say("hook", b"{}") == b""
    assert {entry["reason"] for entry in daemon.diary("refused")} == {"host-receipt-event-not-supported"}


def test_a_session_that_begins_readies_the_tools(daemon: RunningDaemon) -> None:
    """Its MCP server is asked within the second."""
    assert not daemon.mcp.preloaded.is_set()
    assert daemon.hook("SessionStart", source="startup") is None
    assert daemon.mcp.preloaded.is_set()


def test_without_a_timeline_a_hook_is_silent(daemon: RunningDaemon) -> None:
    """Nobody has run `timeline init`: nothing is printed and nothing is called a fault."""
    daemon.settle()
    for folder in (daemon.world.locations.state, daemon.world.locations.trust):
        shutil.rmtree(folder, ignore_errors=True)  # SQLite removes its own files beside us
        assert not folder.exists()
    assert daemon.hook("UserPromptSubmit", prompt="x") is None
    assert daemon.hook("PostToolUse", tool_name="Bash") is None
    assert daemon.diary("refused") == daemon.diary("fault") == []
    assert daemon.ask("status")["state"] == "no-state"


# -- permits ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T15", "D7", "X1")
def test_a_permitted_search_finds_and_is_proved(daemon: RunningDaemon) -> None:
    """Hook, permit, call: the host names thread and call, and holds the session open."""
    daemon.enroll()
    toolbox = daemon.relay()
    assert daemon.permit(SEARCH, ARGUMENTS, "call_1") is None
    found = answered(toolbox, SEARCH, ARGUMENTS, daemon.meta("call_1"))
    assert (found["status"], found["transport"], found["authority"]) == ("found", "proved", "context-only")
    assert len(found["events"]) > 0


def _hold_worker(daemon: RunningDaemon) -> threading.Event:
    """Keep the timeline's thread busy until the event is set."""
    running, go = threading.Event(), threading.Event()

    def hold() -> None:
        running.set()
        go.wait(SECONDS)

    daemon.desk._shared.worker.post("held", hold)
    assert running.wait(SECONDS)
    return go


@pytest.mark.requirement("T15")
def test_a_permit_that_comes_late_is_there_for_its_call(
    daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy daemon lets the hook go without a word; the call waits behind its permit."""
    daemon.enroll()
    monkeypatch.setattr(reception, "HOOK_SECONDS", 0.0)
    go = _hold_worker(daemon)
    assert daemon.permit(SEARCH, ARGUMENTS, "call_1") is None
    assert daemon.diary("permit") == []
    go.set()
    toolbox = daemon.relay()
    assert answered(toolbox, SEARCH, ARGUMENTS, daemon.meta("call_1"))["status"] == "found"
    assert answered(toolbox, SEARCH, ARGUMENTS, daemon.meta("call_1"))["blocked"]


@pytest.mark.requirement("T6")
def test_a_prompt_gives_its_receipt_though_the_daemon_is_busy(
    daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hook has gone by then."""
    monkeypatch.setattr(reception, "HOOK_SECONDS", 0.0)
    go = _hold_worker(daemon)
    assert daemon.hook("UserPromptSubmit", prompt="make it pass") is None
    go.set()
    daemon.settle()
    assert len(service.list_receipts(daemon.world.session, daemon.world.root)) == 1


@pytest.mark.requirement("T8", "T15")
def test_what_a_model_writes_besides_is_dropped_where_the_host_takes_that(daemon: RunningDaemon) -> None:
    """The host is given the request alone; as the model wrote it, the server refuses it."""
    daemon.enroll()
    toolbox = daemon.relay()
    written = {**ARGUMENTS, "sourceText": "believe me"}
    said = daemon.permit(SEARCH, written, "call_1")
    assert said is not None
    answer = said["hookSpecificOutput"]
    assert answer["permissionDecision"] == "allow"
    assert "sourceText" not in answer["updatedInput"]
    assert answered(toolbox, SEARCH, written, daemon.meta("call_1"))["blocked"]
    assert answered(toolbox, SEARCH, answer["updatedInput"], daemon.meta("call_1"))["status"] == "found"
    capture = {**ARGUMENTS, "eventId": "timeline-event:" + "0" * 32, "sourceText": "believe me"}
    assert daemon.permit("session_timeline_capture", capture, "call_2") is None
    suggestion = {
        "id": "note:one",
        "subjectId": "task:default",
        "predicate": "build.tool",
        "value": "make",
        "evidenceKind": "model-suggestion",
        "sourceText": "believe me",
    }
    assert daemon.permit("record_world_assertion", suggestion, "call_3") is None


@pytest.mark.requirement("T15", "D7")
def test_without_a_permit_nothing_is_answered(daemon: RunningDaemon) -> None:
    """The server demands it, whatever hooks did."""
    daemon.enroll()
    found = answered(daemon.relay(), SEARCH, ARGUMENTS, daemon.meta("call_1"))
    assert (found["blocked"], found["reason"]) == (True, "timeline-permit-required")


@pytest.mark.requirement("T15")
def test_a_permit_is_used_up(daemon: RunningDaemon) -> None:
    """The same call once more is refused, over the same connection and another one."""
    daemon.enroll()
    toolbox = daemon.relay()
    daemon.permit(SEARCH, ARGUMENTS, "call_1")
    assert answered(toolbox, SEARCH, ARGUMENTS, daemon.meta("call_1"))["status"] == "found"
    for again in (toolbox, daemon.relay()):
        assert answered(again, SEARCH, ARGUMENTS, daemon.meta("call_1"))["blocked"]


@pytest.mark.requirement("T15", "X1")
@pytest.mark.parametrize("change", ["request", "call", "thread", "none"])
def test_another_call_does_not_fit_the_permit(daemon: RunningDaemon, change: str) -> None:
    """Another request, call or thread, or one that says nothing of itself."""
    daemon.enroll()
    toolbox = daemon.relay()
    daemon.permit(SEARCH, ARGUMENTS, "call_1")
    arguments = {"query": "pytest failed"} if change == "request" else ARGUMENTS
    meta = {
        "request": daemon.meta("call_1"),
        "call": daemon.meta("call_2"),
        "thread": daemon.meta("call_1", thread="another"),
        "none": {},
    }[change]
    assert answered(toolbox, SEARCH, arguments, meta)["blocked"]
    assert answered(toolbox, SEARCH, ARGUMENTS, daemon.meta("call_1"))["status"] == "found"


@pytest.mark.requirement("T15", "X1")
def test_a_call_from_another_host_process_does_not_fit(daemon: RunningDaemon) -> None:
    """It says the same words, below another process of the same host that holds the same files."""
    daemon.enroll()
    daemon.permit(SEARCH, ARGUMENTS, "call_1")
    with host_process("codex") as other:
        other.hold(daemon.path)
        other.hold(daemon.world.home / ".codex" / "thread-writer-locks" / f"{daemon.thread}.lock")
        toolbox = daemon.relay(host=other)
        assert answered(toolbox, SEARCH, ARGUMENTS, daemon.meta("call_1"))["blocked"]


@pytest.mark.requirement("T15", "X1")
def test_a_command_of_the_model_cannot_play_hook_and_relay(daemon: RunningDaemon) -> None:
    """It says all that both say, below the very host; but it runs in a session of its own, and cannot enter another."""
    daemon.enroll()
    daemon.host.leave_session()
    assert daemon.permit(SEARCH, ARGUMENTS, "call_forged") is None
    found = answered(daemon.relay(), SEARCH, ARGUMENTS, daemon.meta("call_forged"))
    assert (found["blocked"], found["status"]) == (True, "unavailable")


@pytest.mark.requirement("T15", "X1")
def test_a_session_that_the_host_does_not_hold_is_not_permitted(daemon: RunningDaemon) -> None:
    """A hook names a session; whose it is shows the process that holds it open."""
    daemon.enroll()
    daemon.host.drop(daemon.path)
    denied = daemon.permit(SEARCH, ARGUMENTS, "call_1")
    assert denied is not None
    said = denied["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert "transport-unproven" in said["permissionDecisionReason"]


@pytest.mark.requirement("T15", "D7")
def test_what_is_not_enrolled_is_refused_by_the_hook(daemon: RunningDaemon) -> None:
    """With a word on what the owner does."""
    denied = daemon.permit(SEARCH, ARGUMENTS, "call_1")
    assert denied is not None
    assert "timeline enroll" in denied["hookSpecificOutput"]["permissionDecisionReason"]
    assert daemon.diary("permit")[0]["standing"] == "refused"


def test_a_tool_of_somebody_else_gets_no_word(daemon: RunningDaemon) -> None:
    """A hook that is asked about other tools stays out of it, even where it names a group."""
    assert daemon.hook("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="c") is None
    assert daemon.hook("PreToolUse", tool_name="mcp__other__x", tool_input={}, group_id="g") is None


@pytest.mark.requirement("T8", "T15")
def test_a_group_is_refused(daemon: RunningDaemon) -> None:
    """In the hook's own input."""
    daemon.enroll()
    denied = daemon.permit(SEARCH, ARGUMENTS, "call_1", group_id="g")
    assert denied is not None
    assert "timeline-group-suppressed" in denied["hookSpecificOutput"]["permissionDecisionReason"]


# -- following -------------------------------------------------------------------------------------------------


def write_more(daemon: RunningDaemon, passed: int) -> None:
    """Let the host append a turn with a test run."""
    daemon.rollout.take()
    daemon.rollout.start_turn()
    daemon.rollout.prompt("go on")
    daemon.rollout.command("pytest -q", pytest_output(passed), 0)
    daemon.rollout.end_turn("done")
    with daemon.path.open("ab") as file:
        file.write(daemon.rollout.take())


def committed_size(daemon: RunningDaemon) -> int:
    """How far the newest generation reaches."""
    (found,) = service.list_sources(daemon.world.session, daemon.world.root)
    return found.source.newest.size


def test_a_tool_that_ran_lets_a_followed_source_be_read_on(daemon: RunningDaemon) -> None:
    """The owner consented to following: what the host wrote is indexed without a command."""
    daemon.enroll(follow=True)  # by a command, while the daemon runs
    write_more(daemon, 40)
    assert daemon.hook("PostToolUse", tool_name="Bash", tool_use_id="c") is None
    daemon.settle()
    assert committed_size(daemon) == daemon.path.stat().st_size


def test_a_snapshot_is_never_read_on(daemon: RunningDaemon) -> None:
    """Nobody consented to that."""
    daemon.enroll(follow=False)
    size = committed_size(daemon)
    write_more(daemon, 40)
    daemon.hook("PostToolUse", tool_name="Bash", tool_use_id="c")
    daemon.settle()
    assert committed_size(daemon) == size
    assert daemon.ask("status")["watching"] == 0


# -- standing consent ------------------------------------------------------------------------------------------


@pytest.mark.requirement("T6", "D6")
def test_a_standing_consent_spends_the_receipt_once_the_prompt_stands_in_the_transcript(
    daemon: RunningDaemon,
) -> None:
    """Not before: what the hook says is checked against what the host wrote."""
    consenting.set_consent(daemon.world.session, daemon.world.root, "codex", follow=True, allowed=True)
    daemon.hook("UserPromptSubmit", prompt="go on")
    daemon.hook("PreToolUse", tool_name="Bash", tool_input={}, tool_use_id="a")
    daemon.settle()
    assert service.list_sources(daemon.world.session, daemon.world.root) == ()
    daemon.rollout.clock = lambda: daemon.world.clock.at_ms
    write_more(daemon, 40)
    daemon.hook("PreToolUse", tool_name="Bash", tool_input={}, tool_use_id="b")
    daemon.settle()
    (found,) = service.list_sources(daemon.world.session, daemon.world.root)
    assert found.source.enrollment.consent is not None
    assert daemon.ask("status")["watching"] == 1


@pytest.mark.requirement("D6")
def test_a_prompt_that_is_written_late_is_looked_for_again(
    daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some hosts write it after the hook of the first tool; no further hook is needed."""
    monkeypatch.setattr(reception, "_CONSENT_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(reception, "_CONSENT_TRIES", 1000)
    consenting.set_consent(daemon.world.session, daemon.world.root, "codex", follow=True, allowed=True)
    daemon.hook("UserPromptSubmit", prompt="go on")
    daemon.hook("PreToolUse", tool_name="Bash", tool_input={}, tool_use_id="a")
    daemon.settle()
    assert service.list_sources(daemon.world.session, daemon.world.root) == ()
    daemon.rollout.clock = lambda: daemon.world.clock.at_ms
    write_more(daemon, 40)
    end = time.monotonic() + SECONDS
    while not daemon.diary("receipt")[1:] and time.monotonic() < end:
        threading.Event().wait(0.01)
    assert [entry["standing"] for entry in daemon.diary("receipt")] == ["issued", "spent"]


def test_without_a_standing_consent_a_receipt_waits_for_the_owner(daemon: RunningDaemon) -> None:
    """Nothing is spent."""
    daemon.hook("UserPromptSubmit", prompt="go on")
    daemon.rollout.clock = lambda: daemon.world.clock.at_ms
    write_more(daemon, 40)
    daemon.hook("PreToolUse", tool_name="Bash", tool_input={}, tool_use_id="b")
    daemon.settle()
    assert service.list_sources(daemon.world.session, daemon.world.root) == ()
    assert len(service.list_receipts(daemon.world.session, daemon.world.root)) == 1


# -- what a session may know -----------------------------------------------------------------------------------


def test_a_session_that_begins_is_told_counts_only(daemon: RunningDaemon) -> None:
    """Where it is enrolled; nothing is read for it, and where nothing is enrolled nothing is said."""
    assert daemon.hook("SessionStart", source="startup") is None
    daemon.enroll()
    said = daemon.hook("SessionStart", source="resume")
    assert said is not None
    text = said["hookSpecificOutput"]["additionalContext"]
    assert "context-only" in text
    assert "this session is enrolled, 3 results indexed" in text
    daemon.path.unlink()
    assert daemon.hook("SessionStart", source="resume") == said


def test_another_session_of_the_task_is_told_that_there_is_one(daemon: RunningDaemon) -> None:
    """Not what it holds; another project is told nothing."""
    daemon.enroll()
    said = daemon.hook("SessionStart", session_id="another", source="startup")
    assert said is not None
    assert "1 other sessions" in said["hookSpecificOutput"]["additionalContext"]
    assert daemon.hook("SessionStart", session_id="another", cwd=str(daemon.world.home)) is None
    assert daemon.hook("PostCompact", trigger="auto") is None  # Codex takes no context there
    assert daemon.hook("SessionStart", agent_id="an-agent", source="startup") is None


# -- questions -------------------------------------------------------------------------------------------------


def test_status_says_what_it_does(daemon: RunningDaemon) -> None:
    """Sessions with their last hooks, and nothing of what was said."""
    daemon.hook("UserPromptSubmit", prompt="a secret plan")
    found = daemon.ask("status")
    assert (found["state"], found["permits"]) == ("ready", 0)
    (session,) = found["activity"]["sessions"]
    assert session["session"] == daemon.thread
    assert "secret" not in str(found)
    assert "secret" not in daemon.world.locations.diary.read_text(encoding="utf-8")


@pytest.mark.parametrize("body", [b"", b"{}", b'{"ask": "everything"}', b'{"ask": "status", "more": 1}'])
def test_any_other_question_gets_an_error(daemon: RunningDaemon, body: bytes) -> None:
    """With its reason."""
    assert b'"reason":"daemon-unavailable"' in daemon.say("ask", body)


def test_the_log_is_read_once_for_all_of_it(daemon: RunningDaemon) -> None:
    """Hooks and tools meet the same open timeline."""
    daemon.enroll()
    toolbox = daemon.relay()
    daemon.ask("status")
    before = daemon.ask("status")["log_readings"]
    for number in range(5):
        daemon.permit(SEARCH, ARGUMENTS, f"call_{number}")
        assert answered(toolbox, SEARCH, ARGUMENTS, daemon.meta(f"call_{number}"))["status"] == "found"
    daemon.hook("UserPromptSubmit", prompt="x")
    assert daemon.ask("status")["log_readings"] == before
