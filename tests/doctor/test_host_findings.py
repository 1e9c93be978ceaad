"""Findings about hosts: each provoked in a host's own files, and gone after the command that the finding names."""

import os
import shutil
from pathlib import Path

import pytest

from tests.doctor.stage import STARTED_MS, Daemon, Stage
from tests.simulators.worlds import NOW_MS
from timeline.activity import SILENT_BYTES, SILENT_SECONDS
from timeline.doctor.facts import ProbeFact
from timeline.doctor.findings import Level
from timeline.doctor.host_checks import WORKED_SECONDS
from timeline.doctor.host_facts import find_newest
from timeline.guard.request import Tool
from timeline.hosts import HOSTS


def heard(stage: Stage, host: str = "codex", at_ms: int = STARTED_MS + 1000) -> None:
    """Let the daemon have seen hooks of a session."""
    assert stage.daemon is not None
    stage.daemon.activity.saw_hook(host, "s1", "UserPromptSubmit", at_ms)
    stage.daemon.activity.saw_hook(host, "s1", "PreToolUse", at_ms + 1000)


def write_transcript(stage: Stage, host: str, at_ms: int) -> Path:
    """Let a host write a transcript at this time."""
    path = stage.home / HOSTS[host].home_default / HOSTS[host].sessions / "a" / "rollout-1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, ns=(at_ms * 1_000_000, at_ms * 1_000_000))
    return path


@pytest.mark.requirement("X10")
@pytest.mark.parametrize("host", sorted(HOSTS))
def test_a_host_that_is_not_set_up_is_found_and_set_up(host: str, stage: Stage) -> None:
    """By its home folder; `timeline install` is what the finding names, and after it nothing is left to be done."""
    home = stage.home / HOSTS[host].home_default
    home.mkdir()
    found = stage.finding("host-not-installed")
    assert (found.level, found.about) == (Level.WARNING, host)
    assert found.remedy == f"timeline install {host}"
    assert list(home.iterdir()) == []
    stage.install(host)
    if host == "codex":
        stage.trust()
    assert stage.codes() == set()
    assert "UserPromptSubmit" in stage.finding("hooks-installed").message
    assert stage.finding("server-answers").about == host


def test_a_host_is_found_by_its_program(stage: Stage) -> None:
    """Somebody who has just installed it has no folder of it yet."""
    program = stage.home / "bin" / "codex"
    program.parent.mkdir()
    program.touch(mode=0o755)
    assert str(program) in stage.finding("host-not-installed").message


def test_a_plugin_that_is_heard_needs_no_settings(stage: Stage) -> None:
    """What the daemon has seen counts more than what is written down."""
    (stage.home / ".claude").mkdir()
    heard(stage, "claude")
    assert stage.codes() == set()
    assert stage.finding("host-set-up-elsewhere").level is Level.FINE


# -- whether hooks really ran ----------------------------------------------------------------------------------


@pytest.mark.requirement("X10")
def test_hooks_that_ran_are_proved_by_the_daemon(codex: Stage) -> None:
    """The last time of each event, the last receipt and what became of the last permit."""
    heard(codex)
    assert codex.daemon is not None
    codex.daemon.activity.saw_receipt("codex", "s1", STARTED_MS + 1500)
    codex.daemon.activity.saw_permit("codex", "s1", "refused", STARTED_MS + 2500, reason="permit-replayed")
    found = codex.finding("hooks-ran")
    assert found.level is Level.FINE
    assert "UserPromptSubmit at 2026-08-20T10:50:01.000Z" in found.message
    assert "last receipt at 2026-08-20T10:50:01.500Z" in found.message
    assert "last permit refused (permit-replayed) at 2026-08-20T10:50:02.500Z" in found.message
    assert codex.codes() == set()


def test_of_several_sessions_the_newest_times_are_shown(codex: Stage) -> None:
    """Whichever session was seen last, or first."""
    assert codex.daemon is not None
    activity = codex.daemon.activity
    for session, at_ms in (("old", STARTED_MS), ("new", STARTED_MS + 5000), ("mid", STARTED_MS + 1000)):
        activity.saw_hook("codex", session, "UserPromptSubmit", at_ms)
        activity.saw_receipt("codex", session, at_ms)
        activity.saw_permit("codex", session, "spent" if session == "new" else "issued", at_ms)
    activity.saw_hook("claude", "s2", "UserPromptSubmit", STARTED_MS + 9000)
    newest = "2026-08-20T10:50:05.000Z"
    said = f"hooks ran: UserPromptSubmit at {newest}; last receipt at {newest}; last permit spent at {newest}"
    assert [f.message for f in codex.look() if (f.about, f.code) == ("codex", "hooks-ran")] == [said]


@pytest.mark.requirement("X10")
def test_a_host_that_works_while_no_hook_arrives_is_found(codex: Stage) -> None:
    """Its newest transcript is younger than the daemon; the next hook shows that it is mended."""
    write_transcript(codex, "codex", STARTED_MS + WORKED_SECONDS * 1000)
    found = codex.finding("hooks-silent")
    assert (found.level, found.about) == (Level.ERROR, "codex")
    assert "/hooks" in found.remedy
    assert "timeline install codex --trust" in found.remedy
    heard(codex)
    assert codex.codes() == set()


@pytest.mark.parametrize(
    "at_ms", [STARTED_MS + WORKED_SECONDS * 1000 - 1, NOW_MS + 1], ids=["before", "future"]
)
def test_a_host_that_has_not_worked_since_proves_nothing(codex: Stage, at_ms: int) -> None:
    """Then it is not known whether hooks run, and the way to find out is given."""
    write_transcript(codex, "codex", at_ms)
    found = codex.finding("hooks-unproven")
    assert (found.level, codex.codes()) == (Level.NOTE, set())
    assert "prompt once in codex" in found.remedy


def test_without_a_daemon_nothing_is_claimed_about_hooks(codex: Stage) -> None:
    """Nobody has seen any, and nothing was asked of the server, which would start a daemon."""
    codex.daemon = None
    codex.probe = lambda _words, _variables: pytest.fail("the server was started")
    write_transcript(codex, "codex", NOW_MS)
    assert codex.finding("hooks-unproven").level is Level.NOTE
    assert codex.codes() == set()


@pytest.mark.requirement("X10")
def test_a_session_that_grows_without_hooks_is_found(codex: Stage) -> None:
    """The daemon watched its transcript; a hook of that session ends the finding."""
    heard(codex)
    assert codex.daemon is not None
    later, path = STARTED_MS + 2000 + SILENT_SECONDS * 1000, "/w/rollout.jsonl"
    codex.daemon.activity.saw_hook("codex", "s1", "PreToolUse", STARTED_MS + 2000, transcript=path, size=10)
    codex.daemon.activity.saw_growth("codex", "s1", path, 10 + SILENT_BYTES, later)
    found = codex.finding("session-silent")
    assert (found.level, found.about) == (Level.WARNING, "codex")
    assert f"{SILENT_BYTES} bytes" in found.message
    codex.daemon.activity.saw_hook("codex", "s1", "PostToolUse", later)
    assert codex.codes() == set()


# -- what is written down --------------------------------------------------------------------------------------


@pytest.mark.requirement("X10")
def test_hooks_that_codex_does_not_trust_are_found(stage: Stage) -> None:
    """Codex skips them without a word; /hooks writes the trust, and then nothing is left."""
    (stage.home / ".codex").mkdir()
    stage.install("codex")
    found = stage.finding("hook-untrusted")
    assert found.level is Level.ERROR
    assert "UserPromptSubmit" in found.message
    assert "untrusted or changed: hooks are skipped without a word" in found.message
    assert found.remedy == "type /hooks in codex, or run `timeline install codex --trust`"
    stage.trust()
    assert stage.codes() == set()


@pytest.mark.requirement("X10", "P4")
@pytest.mark.parametrize("host", sorted(HOSTS))
def test_an_older_installation_without_a_hook_at_stop_is_noted(host: str, stage: Stage) -> None:
    """Where the host would show its user what the hook says; it is no fault."""
    home = stage.home / HOSTS[host].home_default
    home.mkdir()
    stage.install(host)
    if host == "codex":
        stage.trust()
    assert "Stop" in stage.finding("hooks-installed").message
    assert "hook-stop-missing" not in {finding.code for finding in stage.look()}
    if host in {"codex", "claude"}:
        path = home / ("hooks.json" if host == "codex" else "settings.json")
        stage.change(path, lambda document: document["hooks"].pop("Stop"))
        found = stage.finding("hook-stop-missing")
        assert (found.level, found.remedy) == (Level.NOTE, f"timeline install {host}")
        assert stage.codes() == set()


def test_a_trusted_hook_that_was_switched_off_is_not_trusted(codex: Stage) -> None:
    """The user's switch in the same table."""
    config = codex.home / ".codex" / "config.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("trusted_hash", "enabled = false\ntrusted_hash", 1), encoding="utf-8")
    assert codex.codes() == {"hook-untrusted"}
    config.write_text(text, encoding="utf-8")
    assert codex.codes() == set()


def test_trust_by_another_link_to_the_same_file_counts(codex: Stage) -> None:
    """Codex may spell the path otherwise."""
    link = codex.home / "other-link"
    link.symlink_to(codex.home / ".codex")
    config = codex.home / ".codex" / "config.toml"
    text = config.read_text(encoding="utf-8").replace(
        f'"{codex.home}/.codex/hooks.json', f'"{link}/hooks.json'
    )
    assert str(link) in text
    config.write_text(text, encoding="utf-8")
    assert codex.codes() == set()


@pytest.mark.requirement("X10")
@pytest.mark.parametrize("host", ["kimi", "king"])
def test_an_event_that_makes_kimi_drop_every_hook_is_named(host: str, stage: Stage) -> None:
    """Whoever's hook it is; once it is removed nothing is left."""
    home = stage.home / HOSTS[host].home_default
    home.mkdir()
    stage.install(host)
    config = home / "config.toml"
    before = config.read_bytes()
    config.write_bytes(before + b'\n[[hooks]]\nevent = "PreModelRequest"\ncommand = "true"\n')
    found = stage.finding("hook-event-unknown")
    assert (found.level, found.about) == (Level.ERROR, host)
    assert "PreModelRequest" in found.message
    assert str(config) in found.remedy
    config.write_bytes(before)
    assert stage.codes() == set()


def test_other_hosts_may_have_events_of_their_own(codex: Stage) -> None:
    """Codex ignores a name that it does not know and runs the others."""
    hooks = codex.home / ".codex" / "hooks.json"
    codex.change(hooks, lambda document: document["hooks"].update(New=[{"hooks": [{"command": "true"}]}]))
    assert codex.codes() == set()


def test_a_missing_hook_is_found_and_put_back(codex: Stage) -> None:
    """Without it there is no receipt."""
    hooks = codex.home / ".codex" / "hooks.json"
    codex.change(hooks, lambda document: document["hooks"].pop("UserPromptSubmit"))
    found = codex.finding("hook-missing")
    assert (found.message, found.remedy) == ("no hook for UserPromptSubmit", "timeline install codex")
    codex.install("codex")
    assert codex.codes() == set()


def test_a_missing_server_is_found_and_put_back(codex: Stage) -> None:
    """Hooks alone recall nothing."""
    config = codex.home / ".codex" / "config.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("mcp_servers.timeline", "mcp_servers.other"), encoding="utf-8")
    assert codex.finding("server-missing").remedy == "timeline install codex"
    assert codex.codes() == {"server-missing"}
    codex.install("codex")
    assert codex.codes() == set()


def test_another_server_of_our_name_is_found(codex: Stage) -> None:
    """It is never spoken to: it is somebody else's program."""
    codex.probe = lambda _words, _variables: pytest.fail("somebody else's program was started")
    config = codex.home / ".codex" / "config.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("/relay.py", "/other.py"), encoding="utf-8")
    assert codex.codes() == {"server-name-taken"}


def test_a_program_that_was_moved_is_found(codex: Stage) -> None:
    """After an update the old path runs nothing; a new installation writes the right one."""
    hooks = codex.home / ".codex" / "hooks.json"
    text = hooks.read_text(encoding="utf-8")
    hooks.write_text(text.replace("timeline/hooks.py", "old/timeline/hooks.py"), encoding="utf-8")
    found = codex.finding("hook-path-missing")
    assert (found.level, found.remedy) == (Level.ERROR, "timeline install codex")
    assert "old/timeline/hooks.py is not there" in found.message
    assert codex.codes() == {"hook-path-missing"}
    codex.install("codex")
    assert codex.codes() == set()


def test_another_installation_in_the_hooks_is_found(codex: Stage, tmp_path: Path) -> None:
    """It runs, and it is not this program."""
    other = tmp_path / "other" / "timeline"
    other.mkdir(parents=True)
    (other / "hooks.py").touch()
    hooks = codex.home / ".codex" / "hooks.json"
    text = hooks.read_text(encoding="utf-8")
    here = next(word for word in text.split() if word.endswith("timeline/hooks.py"))
    hooks.write_text(text.replace(here, str(other / "hooks.py")), encoding="utf-8")
    assert codex.finding("hook-elsewhere").level is Level.WARNING
    codex.install("codex")
    assert codex.codes() == set()


def test_a_hook_that_others_can_write_is_found_and_closed(codex: Stage, tmp_path: Path) -> None:
    """Whoever writes it runs as the owner at the next prompt."""
    other = tmp_path / "other" / "timeline"
    other.mkdir(parents=True)
    script = other / "hooks.py"
    script.touch()
    script.chmod(0o666)
    hooks = codex.home / ".codex" / "hooks.json"
    text = hooks.read_text(encoding="utf-8")
    here = next(word for word in text.split() if word.endswith("timeline/hooks.py"))
    hooks.write_text(text.replace(here, str(script)), encoding="utf-8")
    found = codex.finding("hook-path-unsafe")
    assert (found.level, found.remedy) == (Level.ERROR, f"chmod go-w {script}")
    script.chmod(0o644)
    assert codex.codes() == {"hook-elsewhere"}


def test_a_server_that_asks_another_daemon_is_found(codex: Stage) -> None:
    """Its runtime folder is not the one in use now."""
    config = codex.home / ".codex" / "config.toml"
    text = config.read_text(encoding="utf-8")
    runtime = str(codex.world.locations.runtime)
    assert f'"{runtime}"]' in text
    config.write_text(text.replace(f'"{runtime}"]', '"/w/runtime"]'), encoding="utf-8")
    assert codex.codes() == {"server-other-runtime"}
    codex.install("codex")
    assert codex.codes() == set()


@pytest.mark.parametrize("name", ["config.toml", "hooks.json"])
@pytest.mark.parametrize("content", [b"{[", b"\xff", b"[1]"], ids=["torn", "bytes", "list"])
def test_settings_that_are_none_are_found(name: str, content: bytes, codex: Stage) -> None:
    """The host reads them as little as we do."""
    path = codex.home / ".codex" / name
    before = path.read_bytes()
    path.write_bytes(content if content != b"[1]" or name != "config.toml" else b"= 1")
    found = codex.finding("host-settings-unreadable")
    assert (found.level, str(path) in found.message) == (Level.ERROR, True)
    path.write_bytes(before)
    assert codex.codes() == set()


# -- the server ------------------------------------------------------------------------------------------------


def test_a_server_that_others_can_write_is_not_started(codex: Stage, tmp_path: Path) -> None:
    """To look must not run what a stranger has written."""
    codex.probe = lambda _words, _variables: pytest.fail("a stranger's program was started")
    relay = tmp_path / "other" / "timeline" / "relay.py"
    relay.parent.mkdir(parents=True)
    relay.touch()
    relay.chmod(0o666)
    config = codex.home / ".codex" / "config.toml"
    text = config.read_text(encoding="utf-8")
    here = next(word for word in text.split('"') if word.endswith("timeline/relay.py"))
    config.write_text(text.replace(here, str(relay)), encoding="utf-8")
    assert codex.finding("server-path-unsafe").remedy == f"chmod go-w {relay}"


def test_a_server_that_does_not_answer_is_found(codex: Stage) -> None:
    """With the reason of the attempt."""
    codex.probe = lambda _words, _variables: ProbeFact(reason="server-silent")
    found = codex.finding("server-unreachable")
    assert (found.level, "server-silent" in found.message) == (Level.ERROR, True)


def test_a_server_without_our_tools_is_found(codex: Stage) -> None:
    """An older program, or another one."""
    codex.probe = lambda _words, _variables: ProbeFact(tuple(set(Tool) - {Tool.STATUS}))
    assert codex.finding("server-tools-missing").message == "the MCP server has no timeline_status"


# -- transcripts -----------------------------------------------------------------------------------------------


def test_the_newest_transcript_is_found_without_reading_one(codex: Stage) -> None:
    """By its times alone: not even a file that may not be read stops the look."""
    folder = codex.home / ".codex" / "sessions"
    assert find_newest(folder) is None
    path = write_transcript(codex, "codex", NOW_MS - 5)
    path.chmod(0)
    (folder / "notes.txt").touch()
    (folder / "loop").symlink_to(folder)
    assert find_newest(folder) == NOW_MS - 5
    shutil.rmtree(folder)
    assert find_newest(folder) is None


def test_a_daemon_that_refuses_still_tells_of_hooks(codex: Stage) -> None:
    """What was seen does not depend on the timeline."""
    assert codex.daemon is not None
    codex.daemon = Daemon(codex.daemon.activity, state="refused", reason="log-refused")
    heard(codex)
    assert codex.finding("hooks-ran").level is Level.FINE
