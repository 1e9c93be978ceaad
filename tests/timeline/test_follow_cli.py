"""Following on the command line: the owner's word, how long it lasts, and what the answers say of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.programs import runner, use
from tests.simulators.growth import truncate
from tests.simulators.worlds import NOW_MS, World, prompt_event, rollout_of, write_transcript
from timeline.clock import format_utc
from timeline.limits import FOLLOW_SECONDS_DEFAULT, RECALL_SECONDS_DEFAULT

Say = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def say(world: World, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Give a function that runs a program with ``--json``: exit code, the document, and what it says to a person."""
    use(world, monkeypatch)
    run = runner(monkeypatch)

    def say(
        *arguments: str, program: str = "main", given: bytes = b"", plain: bool = False
    ) -> tuple[int, Any, str]:
        code, out, _ = run(*arguments, "--json", program=program, given=given)
        return code, json.loads(out), run(*arguments, program=program, given=given)[1] if plain else ""

    return say


def enroll(world: World, say: Say, first: int, *, program: str) -> tuple[Path, bytes, dict[str, Any]]:
    """Prompt, receipt, and the owner's word with ``--follow``."""
    rollout = rollout_of(world)
    whole = rollout.to_bytes()
    path = write_transcript(world, rollout, whole[:first])
    event = prompt_event(world, rollout.thread_id, str(path))
    say("hook", "user-prompt-submit", "--host", "codex", given=event)
    receipt = say("receipt", "--root", world.root)[1]["receipt"]
    head = ("enroll",) if program == "main" else ()
    words = ("--root", world.root, "--receipt", receipt, "--confirm-local-timeline", "--follow")
    code, found, _ = say(*head, *words, program=program)
    assert code == 0
    return path, whole, found


@pytest.mark.requirement("T10", "T14")
@pytest.mark.parametrize("program", ["main", "main_enroll"])
def test_a_session_is_followed_on_the_command_line(world: World, say: Say, program: str) -> None:
    """Enrolled with ``--follow`` it is read on by ``index``; every answer says what is proven."""
    path, whole, enrolled = enroll(world, say, len(rollout_of(world).to_bytes()) * 2 // 3, program=program)
    assert enrolled["mode"] == "follow"
    assert enrolled["expiresAt"] == format_utc(NOW_MS + FOLLOW_SECONDS_DEFAULT * 1000)
    assert enrolled["recallUntil"] == format_utc(NOW_MS + RECALL_SECONDS_DEFAULT * 1000)
    _, (first,), _ = say("index", "--root", world.root)
    assert (first["status"], first["generation"], first["prefixProof"]) == ("indexed", 0, "proven")
    path.write_bytes(whole)
    _, (grown,), told = say("sources", "--root", world.root, plain=True)
    assert (grown["state"], grown["mode"], grown["prefixProof"]) == (
        "grown",
        "follow",
        "prefix-proof-pending",
    )
    assert "generation 0" in told
    assert "prefix-proof-pending" in told
    _, found, told = say("search", "pytest", "passed", "--root", world.root, plain=True)
    assert found["prefixProof"] == "prefix-proof-pending"
    assert {card["prefixProof"] for card in found["events"]} == {"prefix-proof-pending"}
    assert "prefix-proof-pending" in told
    _, (second,), _ = say("index", "--root", world.root)
    assert (second["generation"], second["provenBytes"], second["prefixProof"]) == (
        1,
        first["size"],
        "proven",
    )
    _, found, told = say("search", "pytest", "passed", "--root", world.root, plain=True)
    assert (found["prefixProof"], len(found["events"])) == ("proven", 2)
    assert "prefix-proof-pending" not in told


@pytest.mark.requirement("T13")
def test_a_cut_file_is_named_to_the_owner(world: World, say: Say) -> None:
    """``index`` refuses it with the hint and not done; ``sources`` shows it from then on; ``verify`` goes on."""
    path, _, enrolled = enroll(world, say, 20_000, program="main")
    say("index", "--root", world.root)
    truncate(path, 10)
    code, (refused,), _ = say("index", "--root", world.root)
    assert code != 0
    assert (refused["status"], refused["reason"]) == ("refused", "transcript-truncated")
    assert "new receipt" in refused["hint"]
    _, (listed,), told = say("sources", "--root", world.root, plain=True)
    assert (listed["state"], listed["reason"]) == ("stale", "transcript-truncated")
    assert enrolled["source"] in told
    code, report, _ = say("verify", "--deep")
    assert (code, report["verdict"]) == (0, "ok")
    assert any("transcript-truncated, on record" in item for item in report["notChecked"])


@pytest.mark.requirement("T14")
def test_the_owner_configures_how_long_a_session_is_followed(world: World, say: Say) -> None:
    """Within its bounds, and never longer than it is recalled."""
    settings = world.locations.settings
    text = settings.read_text(encoding="utf-8")
    settings.write_text("follow_seconds = 120\n" + text, encoding="utf-8")
    _, _, enrolled = enroll(world, say, 9_000, program="main")
    assert enrolled["expiresAt"] == format_utc(NOW_MS + 120_000)
