"""What the hooks of a session are told over the daemon's real socket of what is remembered, and who is told nothing."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from sidecars.assertion import AssertionEntry
from tests.daemon.conftest import RunningDaemon, running_daemon
from tests.simulators.host_process import SECONDS, host_process
from timeline import consenting, service
from timeline.config import load_config
from timeline.daemon import reception
from timeline.telling import BRIEFING_LABEL
from timeline.world import ledger
from timeline.world.owner_task import start_task
from timeline.world.recall_form import LABEL
from timeline.world.scope import reader_of
from timeline.world.task_state import task_state


def remember(daemon: RunningDaemon) -> AssertionEntry:
    """The owner begins the task of the project."""
    world = daemon.world
    config = load_config(world.locations.settings)
    reader = reader_of(config.bind(host="codex", session=daemon.thread, project=world.root))
    now_ms = world.clock.at_ms
    entry = start_task(
        task_state((), reader, now_ms),
        objective="release the parser",
        next_step="make the tests pass",
        now_ms=now_ms,
    )
    with world.session.writing() as state:
        ledger.record(state, [entry])
    return entry


def text_of(said: dict[str, Any] | None) -> str | None:
    """The text that is put before the model."""
    return None if said is None else said["hookSpecificOutput"]["additionalContext"]


def start(daemon: RunningDaemon, **fields: Any) -> str | None:
    """What a session that begins is told."""
    return text_of(daemon.hook("SessionStart", **{"source": "startup", **fields}))


def prompt(daemon: RunningDaemon, **fields: Any) -> str | None:
    """What a prompt is told."""
    return text_of(daemon.hook("UserPromptSubmit", **{"prompt": "go on", **fields}))


@pytest.mark.requirement("W40", "W41", "T48", "T6")
def test_an_enrolled_session_is_told_where_its_task_stands(daemon: RunningDaemon) -> None:
    """As it begins, after a compaction and at each prompt, which gives its receipt all the same."""
    daemon.enroll()
    hint = start(daemon)
    assert hint is not None
    assert prompt(daemon) is None
    remember(daemon)

    told = start(daemon)

    assert told is not None
    assert told.startswith(f"{hint}\n{BRIEFING_LABEL}\n")
    assert '"nextStep":{"id":' in told
    assert start(daemon, source="compact") == told
    recalled = prompt(daemon)
    assert recalled is not None
    assert recalled.startswith(f"{LABEL}\n")
    assert '"nextStep":{"summary":"make the tests pass"}' in recalled
    assert len(service.list_receipts(daemon.world.session, daemon.world.root)) == 1
    assert daemon.diary("refused") == daemon.diary("fault") == []


@pytest.mark.requirement("W40", "T48")
def test_another_daemon_says_the_same_bytes_without_the_transcript(daemon: RunningDaemon) -> None:
    """Nothing is opened for it but the timeline."""
    daemon.enroll()
    remember(daemon)
    before = [start(daemon), prompt(daemon)]
    assert None not in before
    daemon.desk._stop()
    with restarted(daemon) as again:
        recalled = prompt(again)
        again.path.unlink()
        assert [start(again), recalled] == before


@contextmanager
def restarted(daemon: RunningDaemon) -> Iterator[RunningDaemon]:
    """Another daemon in its place."""
    with running_daemon(daemon.world, daemon.rollout, daemon.path) as again:
        yield again


@pytest.mark.requirement("X1", "X12", "W57")
def test_a_forged_hook_is_told_counts_only(daemon: RunningDaemon) -> None:
    """A process that has no host above it, or another host: the same bytes as without a world; and no receipt."""
    daemon.enroll()
    for name in ("bash", "kimi-code"):
        with host_process(name, {"CODEX_HOME": str(daemon.world.home / ".codex")}) as other:
            hint = start(daemon, host=other)
            assert hint is not None
            if name == "bash":
                remember(daemon)
                daemon.world.clock.at_ms += 1
            assert start(daemon, host=other) == hint
            assert BRIEFING_LABEL not in hint
            assert prompt(daemon, host=other) is None


@pytest.mark.requirement("X12", "W51", "W57")
def test_who_may_not_know_is_told_the_same_whether_or_not_there_is_a_world(daemon: RunningDaemon) -> None:
    """Another session of the task without a consent; the owner's own session after its end."""
    daemon.enroll()
    before = start(daemon, session_id="another")
    remember(daemon)
    assert start(daemon, session_id="another") == before
    daemon.world.clock.at_ms += 91 * 24 * 3600 * 1000
    told = start(daemon)
    assert told is None or BRIEFING_LABEL not in told
    assert prompt(daemon) is None


@pytest.mark.requirement("T8", "X12")
def test_groups_and_agents_are_told_nothing(daemon: RunningDaemon) -> None:
    """Neither as a session begins nor at a prompt."""
    daemon.enroll()
    remember(daemon)
    for fields in ({"group_id": "g"}, {"agent_id": "child"}):
        assert start(daemon, **fields) is None
        assert prompt(daemon, **fields) is None


@pytest.mark.requirement("D6", "W40")
def test_a_standing_consent_lets_a_new_session_know(daemon: RunningDaemon) -> None:
    """Before anybody has enrolled it; one that the owner has revoked is not covered."""
    remember(daemon)
    assert start(daemon) is None
    consenting.set_consent(daemon.world.session, daemon.world.root, "codex", follow=True, allowed=True)
    told = start(daemon)
    assert told is not None
    assert told.startswith(f"{BRIEFING_LABEL}\n")
    daemon.enroll()
    (found,) = service.list_sources(daemon.world.session, daemon.world.root)
    service.revoke(daemon.world.session, found.source.enrollment.enrollment_id)
    assert start(daemon) is None
    assert prompt(daemon) is None
    assert start(daemon, session_id="another") == told


@pytest.mark.requirement("T6")
def test_a_prompt_without_its_receipt_is_told_nothing(
    daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused, or not there in time."""
    daemon.enroll()
    remember(daemon)
    assert prompt(daemon) is not None
    assert prompt(daemon, transcript_path="/nowhere/x.jsonl") is None
    monkeypatch.setattr(reception, "HOOK_SECONDS", 0.0)
    running, go = threading.Event(), threading.Event()

    def hold() -> None:
        running.set()
        go.wait(SECONDS)

    daemon.desk._shared.worker.post("held", hold)
    assert running.wait(SECONDS)
    assert prompt(daemon) is None
    go.set()


@pytest.mark.requirement("W65")
@pytest.mark.parametrize(
    "change", ["UPDATE assertion SET predicate = 'x.y'", "UPDATE leaf SET salt = zeroblob(32)"]
)
def test_a_world_that_is_not_to_be_believed_is_not_told(daemon: RunningDaemon, change: str) -> None:
    """The counts are, where the log itself stands; a line says so in the diary."""
    daemon.enroll()
    hint = start(daemon)
    entry = remember(daemon)
    with closing(sqlite3.connect(daemon.world.locations.database)) as database, database:
        where = (
            " WHERE idx = (SELECT leaf FROM assertion WHERE id = ?)" if "leaf" in change else " WHERE id = ?"
        )
        assert database.execute(change + where, (entry.id,)).rowcount == 1

    said = start(daemon)

    assert said in {hint, None}
    assert prompt(daemon) is None
    reasons = {line["reason"] for line in daemon.diary("refused")}
    assert reasons
    assert daemon.diary("fault") == []
    if "assertion" in change.partition(" SET")[0]:
        assert said == hint
        assert {line["kind"] for line in daemon.diary("refused")} == {"reminder"}
        assert len(service.list_receipts(daemon.world.session, daemon.world.root)) >= 1


def _fails(*_: object) -> bytes:
    raise ZeroDivisionError


@pytest.mark.requirement("W40")
def test_our_own_mistake_takes_no_hint_away(daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written down by its place."""
    daemon.enroll()
    hint = start(daemon)
    monkeypatch.setattr(reception, "told_at_start", _fails)
    assert start(daemon) == hint
    (fault,) = daemon.diary("fault")
    assert (fault["kind"], fault["error"]) == ("reminder", "ZeroDivisionError")


def _late() -> bytes:
    return b"late"


@pytest.mark.requirement("W40")
@pytest.mark.parametrize("ends", [_late, _fails])
def test_a_slow_world_holds_no_hook_up(
    daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch, ends: Callable[[], bytes]
) -> None:
    """The hook is answered without it; what fails by then is written down."""
    daemon.enroll()
    hint = start(daemon)
    go = threading.Event()

    def tell(*_: object) -> bytes:
        go.wait(SECONDS)
        return ends()

    monkeypatch.setattr(reception, "told_at_start", tell)
    monkeypatch.setattr(reception, "REMINDER_SECONDS", 0.05)
    assert start(daemon) == hint
    go.set()
    daemon.settle()
    assert [line["kind"] for line in daemon.diary("fault")] == (["reminder"] if ends is _fails else [])


@pytest.mark.requirement("W40")
def test_what_comes_too_late_to_begin_is_not_begun(daemon: RunningDaemon) -> None:
    """The timeline's thread has been busy; nobody waits any more."""
    shared, go, begun = daemon.desk._shared, threading.Event(), []
    shared.worker.post("held", lambda: go.wait(SECONDS))
    assert shared.glance("reminder", lambda _: begun.append(1), wait_seconds=0.0) is None
    go.set()
    daemon.settle()
    assert begun == []
