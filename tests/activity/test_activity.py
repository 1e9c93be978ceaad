"""What the daemon remembers of sessions: last times, bounds, and transcripts that grow while no hook arrives."""

import json

import msgspec
import pytest

from timeline.activity import (
    OTHER_EVENT,
    SESSIONS_MAX,
    SILENT_BYTES,
    SILENT_SECONDS,
    SILENT_SHOWN_SECONDS,
    Activity,
    ActivityReport,
)

START = 1_787_220_000_000
LATER = START + SILENT_SECONDS * 1000
PATH = "/w/sessions/rollout-1.jsonl"


def hooked(size: int | None = 1000) -> Activity:
    """Give the memory of one session whose hook came at the start."""
    activity = Activity()
    activity.saw_hook("codex", "s1", "UserPromptSubmit", START, project="/w/p", transcript=PATH, size=size)
    return activity


def test_the_last_time_of_each_hook_event_is_kept() -> None:
    """A later hook of one event moves that event, and no other."""
    activity = hooked()
    activity.saw_hook("codex", "s1", "PreToolUse", START + 1000)
    activity.saw_hook("codex", "s1", "PreToolUse", START + 2000)
    (session,) = activity.report(LATER).sessions
    assert session.hooks == {
        "PreToolUse": "2026-08-20T10:00:02.000Z",
        "UserPromptSubmit": "2026-08-20T10:00:00.000Z",
    }
    assert session.last_hook == "2026-08-20T10:00:02.000Z"
    assert (session.project, session.transcript) == ("/w/p", PATH)


def test_names_that_no_host_has_are_remembered_under_one() -> None:
    """Whoever calls the hook cannot fill the memory with names, or put text into a report."""
    activity = hooked()
    for number in range(100):
        activity.saw_hook("codex", "s1", f"say {number}", START)
    (session,) = activity.report(LATER).sessions
    assert set(session.hooks) == {"UserPromptSubmit", OTHER_EVENT}


def test_the_session_seen_longest_ago_makes_room() -> None:
    """At most 256 sessions are kept, and how many are not is said."""
    activity = Activity()
    for number in range(SESSIONS_MAX):
        activity.saw_hook("codex", f"s{number}", "PreToolUse", START + number)
    activity.saw_hook("codex", "s0", "PreToolUse", START + SESSIONS_MAX)
    activity.saw_hook("claude", "new", "PreToolUse", START + SESSIONS_MAX + 1)
    report = activity.report(LATER)
    kept = [session.session for session in report.sessions]
    assert (len(kept), report.forgotten) == (SESSIONS_MAX, 1)
    assert kept[:2] == ["new", "s0"]
    assert "s1" not in kept


@pytest.mark.requirement("X10")
def test_growth_without_a_hook_is_silent() -> None:
    """A transcript that grows by much, long after the last hook, shows that hooks are skipped."""
    activity = hooked()
    activity.saw_growth("codex", "s1", PATH, 1000 + SILENT_BYTES, LATER)
    (silent,) = activity.silent(LATER)
    assert (silent.session, silent.grown, silent.hooked) == ("s1", SILENT_BYTES, True)
    assert (silent.since, silent.grew_at) == ("2026-08-20T10:00:00.000Z", "2026-08-20T10:05:00.000Z")
    assert activity.report(LATER).silent == (silent,)


@pytest.mark.parametrize(
    ("size", "at_ms"),
    [(1000 + SILENT_BYTES - 1, LATER), (1000 + SILENT_BYTES, LATER - 1)],
    ids=["little", "soon"],
)
def test_an_answer_without_tools_is_not_silent(size: int, at_ms: int) -> None:
    """A model that thinks and answers writes little, or does so soon after the prompt's hook."""
    activity = hooked()
    activity.saw_growth("codex", "s1", PATH, size, at_ms)
    assert activity.silent(at_ms) == ()


@pytest.mark.parametrize("size", [10 * SILENT_BYTES, None], ids=["with a size", "without a path"])
def test_the_next_hook_ends_the_silence(size: int | None) -> None:
    """What grew until then is accounted for, also where the host does not say which file it is."""
    activity = hooked()
    activity.saw_growth("codex", "s1", PATH, 10 * SILENT_BYTES, LATER)
    assert activity.silent(LATER) != ()
    activity.saw_hook("codex", "s1", "PostToolUse", LATER + 1, size=size)
    assert activity.silent(LATER + 1) == ()
    activity.saw_growth("codex", "s1", PATH, 10 * SILENT_BYTES + 1, LATER + 10 * SILENT_SECONDS * 1000)
    assert activity.silent(LATER + 10 * SILENT_SECONDS * 1000) == ()


def test_a_session_without_any_hook_is_silent_by_what_grew_since_the_first_look() -> None:
    """A daemon that starts in the middle of a session says nothing about what stood there before."""
    activity = Activity()
    activity.saw_growth("codex", "s1", PATH, 50 * SILENT_BYTES, START)
    activity.saw_growth("codex", "s1", PATH, 50 * SILENT_BYTES, LATER)
    assert activity.silent(LATER) == ()
    activity.saw_growth("codex", "s1", PATH, 51 * SILENT_BYTES, LATER)
    (silent,) = activity.silent(LATER)
    assert (silent.hooked, silent.grown, silent.since) == (False, SILENT_BYTES, "2026-08-20T10:00:00.000Z")


def test_a_transcript_that_was_replaced_is_measured_anew() -> None:
    """A shorter file, or another path, has not grown by the difference."""
    activity = hooked(size=10 * SILENT_BYTES)
    activity.saw_growth("codex", "s1", PATH, 1000, LATER)
    activity.saw_growth("codex", "s1", PATH, 2000, LATER)
    assert activity.silent(LATER) == ()
    activity.saw_growth("codex", "s1", "/w/sessions/other.jsonl", 90 * SILENT_BYTES, LATER)
    assert activity.silent(LATER) == ()


def test_a_transcript_that_was_cut_and_grows_again_is_silent_by_what_was_added() -> None:
    """What stood there before it was cut is no part of the growth, and does not hide it either."""
    activity = hooked(size=10 * SILENT_BYTES)
    activity.saw_growth("codex", "s1", PATH, 1000, LATER)
    activity.saw_growth("codex", "s1", PATH, 1000 + SILENT_BYTES, LATER)
    (silent,) = activity.silent(LATER)
    assert silent.grown == SILENT_BYTES


def test_a_hook_that_names_another_file_begins_anew() -> None:
    """A resumed session may go on in a new file, of which nothing is known yet."""
    activity = hooked()
    other = "/w/sessions/other.jsonl"
    activity.saw_hook("codex", "s1", "SessionStart", START, transcript=other)
    activity.saw_growth("codex", "s1", other, 90 * SILENT_BYTES, LATER)
    assert activity.silent(LATER) == ()
    assert activity.report(LATER).sessions[0].transcript == other


def test_a_session_that_nobody_works_in_is_not_called_silent_for_ever() -> None:
    """A day after its last growth there is nothing left to mend."""
    activity = hooked()
    activity.saw_growth("codex", "s1", PATH, 1000 + SILENT_BYTES, LATER)
    end = LATER + SILENT_SHOWN_SECONDS * 1000
    assert activity.silent(end) != ()
    assert activity.silent(end + 1) == ()


def test_a_connection_is_told_by_the_host_process() -> None:
    """Two connections of one process end one after the other; another process's says nothing here."""
    activity = Activity()
    activity.saw_hook("codex", "s1", "PreToolUse", START, process=(7, 70))
    activity.saw_hook("king", "s2", "PreToolUse", START)

    def connected() -> list[bool | None]:
        return [session.connected for session in reversed(activity.report(LATER).sessions)]

    assert connected() == [False, None]
    activity.saw_connection((7, 70), is_open=True)
    activity.saw_connection((7, 70), is_open=True)
    activity.saw_connection((7, 71), is_open=True)
    activity.saw_connection(None, is_open=True)
    assert (connected(), activity.report(LATER).connections) == ([True, None], 4)
    activity.saw_connection((7, 70), is_open=False)
    assert connected() == [True, None]
    activity.saw_connection((7, 70), is_open=False)
    assert (connected(), activity.report(LATER).connections) == ([False, None], 2)


def test_receipts_and_permits_are_kept_by_what_became_of_them() -> None:
    """The last receipt's time, and the last permit's standing with a reason code."""
    activity = hooked()
    activity.saw_receipt("codex", "s1", START + 5)
    activity.saw_permit("codex", "s1", "issued", START + 6)
    activity.saw_permit("codex", "s1", "refused", START + 7, reason="permit-replayed")
    (session,) = activity.report(LATER).sessions
    assert session.receipt == "2026-08-20T10:00:00.005Z"
    assert session.permit is not None
    assert (session.permit.standing, session.permit.at, session.permit.reason) == (
        "refused",
        "2026-08-20T10:00:00.007Z",
        "permit-replayed",
    )


def test_a_report_is_json_and_comes_back_equal() -> None:
    """The daemon sends it to the command, which reads the same."""
    activity = hooked()
    activity.saw_growth("codex", "s1", PATH, 1000 + SILENT_BYTES, LATER)
    activity.saw_permit("codex", "s1", "spent", START)
    activity.saw_connection((7, 70), is_open=True)
    report = activity.report(LATER)
    text = json.dumps(msgspec.to_builtins(report))
    assert msgspec.json.decode(text, type=ActivityReport) == report
