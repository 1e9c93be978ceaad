"""``timeline status``: what is on the screen, that no transcript is opened for it, and that it needs no daemon."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doctor.stage import STARTED_MS, Daemon, Stage
from tests.programs import runner, use
from tests.simulators.worlds import (
    NOW_MS,
    empty_world,
    new_world,
    prompt_event,
    rollout_of,
    write_transcript,
)
from tests.timeline.cases import enroll_session
from timeline import launch, service
from timeline.activity import SILENT_BYTES, SILENT_SECONDS
from timeline.cli import status
from timeline.cli.status import ago
from timeline.overview import find_overview


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Give a user with Codex, and without a timeline or a daemon."""
    world = empty_world(tmp_path / "world")
    use(world, monkeypatch)
    return Stage(world, runner(monkeypatch))


@pytest.fixture
def stage(bare: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Give the same after ``init``, with a daemon that has seen nothing yet."""
    new_world(bare.world.folder)
    bare.daemon = Daemon()
    monkeypatch.setattr("timeline.launch.ask", bare.daemon.ask)
    return bare


def look(stage: Stage) -> tuple[int, dict[str, object]]:
    """Give the exit code and the answer as data."""
    code, out, err = stage.run("status", "--json", "--root", stage.world.root)
    assert err == ""
    return code, json.loads(out)


def screen(stage: Stage) -> str:
    """Give what a person sees."""
    return stage.run("status", "--root", stage.world.root)[1]


def source_of(stage: Stage) -> dict[str, object]:
    """Give the one source of the project."""
    (source,) = look(stage)[1]["sources"]  # type: ignore[misc]  # a list in JSON
    return source  # type: ignore[no-any-return]  # from JSON


def test_everything_is_on_one_screen(stage: Stage) -> None:
    """Log, daemon, host and its last hook, source with its consent, receipt."""
    case = enroll_session(stage.world)
    case.index()
    other = rollout_of(stage.world, seed=1)
    event = prompt_event(stage.world, other.thread_id, str(write_transcript(stage.world, other)))
    service.receive_prompt(stage.world.session, "codex", event)
    assert stage.daemon is not None
    stage.daemon.activity.saw_hook("codex", "s1", "UserPromptSubmit", NOW_MS - 125_000)
    lines = screen(stage).rstrip("\n").split("\n")
    assert lines == [
        "timeline",
        "  ● log      4 leaves, verified",
        "  ○ anchors  none outside this machine",
        "  ● daemon   ready, version 0.1.0, started 10 min ago",
        "  ▲ simulated host: this state was made by `timeline demo`",
        "",
        "hosts",
        "  ● codex    last hook UserPromptSubmit, 2 min ago",
        "",
        f"sources of {stage.world.root}",
        (
            f"  ● codex    {case.rollout.thread_id[-8:]}  snapshot  enrolled  3 events, understood, "
            "until 2026-09-19T11:00Z"
        ),
        "  ▲ 1 receipt waits for your consent: `timeline enroll`",
    ]
    code, answer = look(stage)
    assert (code, answer["schema"], answer["pendingReceipts"], answer["size"]) == (
        0,
        "timeline-status/v1",
        1,
        4,
    )
    assert answer["hosts"] == [{"host": "codex", "hooks": {"UserPromptSubmit": "2026-08-20T10:57:55.000Z"}}]


def test_no_transcript_is_opened(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Size and times are all that is looked at: a file that nobody may read makes no difference."""
    case = enroll_session(stage.world)
    case.index()
    opened = []
    original = os.open

    def watched(path: object, *arguments: object, **named: object) -> int:
        opened.append(str(path))
        return original(path, *arguments, **named)  # type: ignore[arg-type]  # handed on as they are

    monkeypatch.setattr(os, "open", watched)
    assert source_of(stage)["state"] == "enrolled"
    assert opened
    assert str(case.path) not in opened


def test_what_became_of_a_transcript_is_seen_by_its_size_and_times(stage: Stage) -> None:
    """Changed and gone; an ended consent counts before either."""
    case = enroll_session(stage.world)
    times = case.path.stat().st_mtime_ns
    os.utime(case.path, ns=(times, times + 1))
    assert source_of(stage)["state"] == "changed"
    os.utime(case.path, ns=(times, times))
    assert source_of(stage)["state"] == "enrolled"
    with case.path.open("ab") as file:
        file.write(b"{}\n")
    assert source_of(stage)["state"] == "changed"
    case.path.unlink()
    assert source_of(stage)["state"] == "gone"
    assert "▲ codex" in screen(stage)
    stage.world.clock.at_ms += 31 * 86_400_000
    assert source_of(stage)["state"] == "ended"
    stage.world.clock.at_ms -= 32 * 86_400_000
    assert source_of(stage)["state"] == "clock"


def test_a_followed_file_may_grow(stage: Stage) -> None:
    """And its consent ends first as a followed one."""
    rollout = rollout_of(stage.world)
    path = write_transcript(stage.world, rollout)
    event = prompt_event(stage.world, rollout.thread_id, str(path))
    receipt = service.receive_prompt(stage.world.session, "codex", event)
    service.enroll(stage.world.session, stage.world.root, receipt.id, confirmed=True, follow=True)
    with path.open("ab") as file:
        file.write(b"{}\n")
    found = source_of(stage)
    assert (found["mode"], found["state"], found["understanding"]) == ("follow", "grown", None)
    assert found["until"] == "2026-08-20T23:00:00.000Z"
    stage.world.clock.at_ms += 13 * 3_600_000
    assert source_of(stage)["until"] == "2026-09-19T11:00:00.000Z"


def test_sources_of_other_projects_are_not_shown(stage: Stage, tmp_path: Path) -> None:
    """The screen is of one project."""
    enroll_session(stage.world)
    rollout = rollout_of(stage.world, seed=1)
    event = prompt_event(stage.world, rollout.thread_id, str(write_transcript(stage.world, rollout)))
    service.receive_prompt(stage.world.session, "codex", event)
    assert look(stage)[1]["pendingReceipts"] == 1
    other = tmp_path / "other"
    other.mkdir()
    code, out, _ = stage.run("status", "--json", "--root", str(other))
    answer = json.loads(out)
    assert (code, answer["sources"], answer["pendingReceipts"]) == (0, [], 0)
    assert "nothing is enrolled" in stage.run("status", "--root", str(other))[1]


def test_it_needs_no_daemon(bare: Stage) -> None:
    """The real question to a runtime folder where nobody listens; none is started."""
    new_world(bare.world.folder)
    code, answer = look(bare)
    assert (code, answer["daemon"], answer["daemonReason"]) == (0, None, "daemon-away")
    assert not bare.world.locations.socket.exists()
    assert "○ daemon   not running" in screen(bare)
    assert "hooks not known without the daemon" in screen(bare)


def test_without_a_timeline_it_says_what_to_do(bare: Stage) -> None:
    """And ends with 10, having made nothing."""
    code, answer = look(bare)
    assert (code, answer["state"], answer["hint"]) == (10, "no-state", "run `timeline init` once")
    assert "✖ log      no-state (state-missing): run `timeline init` once" in screen(bare)
    assert not bare.world.locations.state.exists()


def test_a_refused_timeline_is_said(stage: Stage) -> None:
    """With the reason, and nothing of what cannot be believed."""
    enroll_session(stage.world)
    head = stage.world.locations.head
    head.write_bytes(head.read_bytes()[:-5])
    code, answer = look(stage)
    assert (code, answer["state"], answer["sources"]) == (1, "refused", [])
    assert answer["reason"]


@pytest.mark.requirement("X10")
def test_a_session_that_grows_without_hooks_is_on_the_screen(stage: Stage) -> None:
    """Until its next hook."""
    assert stage.daemon is not None
    activity, path = stage.daemon.activity, "/w/rollout.jsonl"
    activity.saw_hook("codex", "session-12345678", "PreToolUse", STARTED_MS, transcript=path, size=0)
    later = STARTED_MS + SILENT_SECONDS * 1000
    activity.saw_growth("codex", "session-12345678", path, SILENT_BYTES, later)
    assert "✖ codex    12345678  grew by 64 KiB without a hook since 10 min ago" in screen(stage)
    activity.saw_hook("codex", "session-12345678", "PostToolUse", later)
    assert "silent" not in screen(stage)


def test_a_host_whose_hooks_were_not_seen_is_marked(stage: Stage) -> None:
    """With where to look."""
    assert "○ codex    no hook seen since the daemon started; see `timeline doctor`" in screen(stage)


def test_remembered_anchors_are_shown_and_nobody_is_asked(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk may be away: what it confirmed last is known."""
    disk = tmp_path / "disk"
    disk.mkdir(mode=0o700)
    assert stage.run("anchor", "add", "file", str(disk / "anchor"), "--name", "disk")[0] == 0
    monkeypatch.setattr("timeline.assurance.ask_anchors", lambda *_: pytest.fail("an anchor was asked"))
    (anchor,) = look(stage)[1]["anchors"]  # type: ignore[misc]  # a list in JSON
    assert anchor["name"] == "disk"
    assert anchor["confirmedAt"] == "2026-08-20T11:00:00.000Z"
    assert "anchor   disk: " in screen(stage)


def test_on_a_terminal_the_same_is_shown_with_colours(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same words in the same order."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    plain = screen(stage)
    ask = launch.ask
    status._show_on_terminal(status.sections_of(find_overview(stage.world.session, stage.world.root, ask)))
    shown = capsys.readouterr().out
    assert "\x1b[" in shown
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown) == plain


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s ago"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (3600, "1 h ago"),
        (172_800, "2 d ago"),
        (-5, "0 s ago"),
    ],
)
def test_how_long_ago(seconds: int, text: str) -> None:
    """One unit, and never the future."""
    assert ago(NOW_MS, NOW_MS - seconds * 1000) == text
