"""Whose commands these are: the owner's, all of them, and what is recorded needs the owner key."""

from pathlib import Path

import pytest

from tests.capture.stage import Stage
from tests.presence.chains import PASSPHRASE, own
from tests.programs import Run
from tests.world.commands.speaking import PREDICATE, SUBJECT, Owner
from tests.world.commands.test_task_commands import START
from timeline import sealing
from timeline.cli.presence import CONSENTING_COMMANDS, is_owner_command
from timeline.guard.presence import Ancestry
from timeline.lock import hold_for_writing
from timeline.owner import lock_owner

READING = (
    ("world", "facts"),
    ("world", "conflicts"),
    ("world", "proposals"),
    ("world", "stale"),
    ("world", "history", SUBJECT),
    ("world", "show", "assertion:x"),
    ("world", "ask", SUBJECT, PREDICATE),
    ("world", "mediate", "-"),
    ("world", "trace", "trace:" + "0" * 32),
    ("world", "consents"),
    ("world", "recompute", "--dry-run"),
    ("world", "grade", "claim:x"),
    ("world", "grades", "person:x"),
    ("world", "credential", "list"),
    ("world", "verdicts"),
    ("world", "policy", "show"),
    ("task", "show"),
)
RECORDING = (
    ("world", "record", SUBJECT, PREDICATE, "--text", "main"),
    ("world", "confirm", "assertion:x"),
    ("world", "correct", "assertion:x", "--text", "main"),
    ("world", "resolve", SUBJECT, PREDICATE, "--text", "main"),
    ("world", "import", "no such file"),
    ("world", "revoke", "assertion:x", "--reason", "y"),
    ("world", "inscribe", "assertion:x", "assertion:y", "--reason", "z"),
    ("world", "consent", "person:kim", "--allow"),
    ("world", "policy", "set", "--roots", "2"),
    ("world", "import-claims", "no such file"),
    ("world", "credential", "add", "person:x", "chess", "--quality", "1", "--basis", "y"),
    ("world", "verdict", "person:x", "born", "--none", "--reason", "y"),
    START,
    ("task", "confirm"),
    ("task", "correct", "--next-step", "x"),
    ("task", "contract", "--label", "pytest", "--completes"),
)


@pytest.mark.requirement("X13")
@pytest.mark.parametrize("command", [*READING, *RECORDING], ids=lambda command: " ".join(command[:2]))
def test_an_agent_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """What it may know it asks by its tools, and it never speaks for its owner."""
    owned = own(tmp_path / "timeline")
    before = owned.size
    monkeypatch.setattr("timeline.presence.find_ancestry", lambda _: Ancestry((), ("CODEX_CI",)))
    code, out, err = run(*command, "--root", str(tmp_path))
    assert (code, out, "[owner-presence-variable]" in err) == (13, "", True)
    assert owned.size == before


@pytest.mark.requirement("X13")
def test_a_word_of_the_owner_wants_the_owner_key(
    owner: Owner, stage: Stage, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locked, it is asked for before anything else is done; reading needs no key."""
    monkeypatch.setattr(sealing, "COST", sealing.Cost(1, 8 * 1024 * 1024))
    monkeypatch.setattr(sealing, "COST_MIN", sealing.Cost(1, 8 * 1024 * 1024))
    monkeypatch.setattr("timeline.terminal._TERMINAL", str(tmp_path / "no terminal"))
    lock_owner(stage.world.session, PASSPHRASE)
    before = stage.leaves()
    monkeypatch.setattr("timeline.lock.LOCK_WAIT_SECONDS", 0.0)
    with hold_for_writing(stage.world.locations):
        for command in RECORDING:
            code, out, err = owner.types(*command)
            assert (code, out, "[owner-key-locked]" in err) == (1, "", True), command
    assert stage.leaves() == before
    ended = [owner.types(*command)[0] for command in READING]
    assert ended == [0, 0, 0, 0, 0, 2, 0, 2, 2, 0, 0, 2, 2, 0, 0, 0, 0]


@pytest.mark.requirement("X13")
def test_each_is_in_the_lists() -> None:
    """Reading ones are the owner's too: they show what is private."""
    for command in (*READING, *RECORDING):
        path = " ".join(command[: 3 if command[1] in {"policy", "credential"} else 2])
        assert is_owner_command(path)
        assert (path in CONSENTING_COMMANDS) == (command in RECORDING)


def test_without_a_timeline_there_is_nothing_to_see(run: Run, tmp_path: Path) -> None:
    """As of every command that needs one: nothing is made."""
    code, out, err = run("world", "facts", "--root", str(tmp_path))
    assert (code, out, "[state-missing]" in err) == (10, "", True)
    assert not (tmp_path / "timeline").exists()
