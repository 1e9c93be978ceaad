"""The doctor with nothing played: an installed hook is run as its host runs it, and a real daemon has seen it."""

import json
import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.doctor.stage import Stage
from tests.simulators.worlds import prompt_event, rollout_of, write_transcript
from timeline import launch


@pytest.fixture
def running(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Give a user with Codex, set up and trusted, and a daemon."""
    monkeypatch.setenv("PATH", os.defpath)
    (stage.home / ".codex").mkdir()
    stage.install("codex")
    stage.trust()
    runtime = stage.world.locations.runtime
    if len(os.fsencode(stage.world.locations.socket)) > 100:
        pytest.skip("the temporary folder's path is too long for a socket")
    launch.start(runtime)
    yield stage
    launch.stop(runtime)


def look(stage: Stage) -> dict[str, tuple[str, str]]:
    """Give level and message of each finding about Codex."""
    _, out, err = stage.run("doctor", "--json", "--root", stage.world.root)
    assert err == ""
    findings = json.loads(out)["findings"]
    return {f["code"]: (f["level"], f["message"]) for f in findings if f["about"] == "codex"}


@pytest.mark.requirement("X10")
def test_a_hook_that_ran_is_proved_and_the_server_answers(running: Stage) -> None:
    """Before the hook ran it is not known; after it, its time is. The server was asked for its tools both times."""
    before = look(running)
    assert before["hooks-unproven"][0] == "note"
    assert "answers with" in before["server-answers"][1]
    assert "hooks-ran" not in before
    rollout = rollout_of(running.world)
    event = prompt_event(running.world, rollout.thread_id, str(write_transcript(running.world, rollout)))
    hooks = json.loads((running.home / ".codex" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    command = hooks["UserPromptSubmit"][0]["hooks"][0]["command"]
    subprocess.run(["/bin/sh", "-c", command], input=event, check=True, timeout=30)
    after = look(running)
    assert after["hooks-ran"][0] == "fine"
    assert after["hooks-ran"][1].startswith("hooks ran: UserPromptSubmit at 2")
    assert "hooks-unproven" not in after
