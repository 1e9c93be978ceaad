"""Which commands are the owner's: every command of the tree is in one of two lists, and the owner's ask."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.presence.chains import PASSPHRASE, Owned, own
from tests.programs import Run, runner
from tests.simulators.worlds import FOLDERS
from timeline import cli, sealing
from timeline.cli.presence import CONSENTING_COMMANDS, OPEN_COMMANDS, OWNER_COMMANDS, guard, is_owner_command
from timeline.guard.presence import Ancestry
from timeline.lock import hold_for_writing
from timeline.owner import lock_owner
from timeline.presence import find_rules


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the programs in this process."""
    return runner(monkeypatch)


def leaves(command: click.Command, path: str = "") -> Iterator[str]:
    """The names of every command below, as they are typed."""
    if not isinstance(command, click.Group):
        yield path
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from leaves(below, f"{path} {name}".strip())


@pytest.mark.requirement("X13")
def test_every_command_is_an_owners_or_open() -> None:
    """In exactly one list, itself or by its group, and nowhere is a group split by accident."""
    for path in leaves(cli.timeline):
        assert is_owner_command(path) in {True, False}
    assert not OWNER_COMMANDS & OPEN_COMMANDS
    for name in OWNER_COMMANDS | OPEN_COMMANDS:
        group = name.rpartition(" ")[0]
        assert group not in OWNER_COMMANDS | OPEN_COMMANDS


@pytest.mark.requirement("X13")
def test_what_needs_the_owner_key_is_the_owners() -> None:
    """Nothing that consents is open."""
    assert all(is_owner_command(path) for path in CONSENTING_COMMANDS)


def test_a_command_that_is_in_neither_list_cannot_run() -> None:
    """Forgetting it is not an open door."""
    with pytest.raises(RuntimeError, match="must be an owner's command"):
        guard("brand-new", click.Command("brand-new", callback=lambda: None))


@pytest.mark.requirement("X13")
@pytest.mark.parametrize(
    ("arguments", "program"),
    [
        (("init",), "main"),
        (("enroll", "--root", ".", "--receipt", "asthr_x", "--confirm-local-timeline"), "main"),
        (("receipt",), "main"),
        (("revoke", "x"), "main"),
        (("index",), "main"),
        (("search", "pytest", "failed"), "main"),
        (("show", "timeline-event:x"), "main"),
        (("formats", "accept", "codex", "a"), "main"),
        (("anchor", "export", "file"), "main"),
        (("key", "rotate"), "main"),
        (("owner", "lock"), "main"),
        (("owner", "unlock"), "main"),
        (("backup", "file"), "main"),
        ((), "main_receipt"),
        (("--root", ".", "--receipt", "asthr_x", "--confirm-local-timeline"), "main_enroll"),
    ],
    ids=" ".join,
)
def test_an_owners_command_asks_for_the_owner_first(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], program: str
) -> None:
    """The reference's programs report it as data, as they do every refusal; nothing moves."""
    owned = own(tmp_path / "timeline")
    before = owned.size
    monkeypatch.setattr("timeline.presence.find_ancestry", lambda _: Ancestry((), ("CODEX_CI",)))
    code, _, said = run(*arguments, program=program)
    assert (code, "[owner-presence-variable]" in said) == (13 if program == "main" else 0, True)
    assert owned.size == before


@pytest.mark.requirement("X13")
def test_an_open_command_asks_for_nobody(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs it."""
    own(tmp_path / "timeline")
    monkeypatch.setattr("timeline.presence.find_ancestry", lambda _: Ancestry((), ("CODEX_CI",)))
    assert [run(*path.split())[0] for path in ("verify", "sources", "anchor status")] == [0, 0, 0]


@pytest.mark.requirement("X13")
def test_a_headless_log_is_begun_and_used_without_a_terminal(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`init` goes by the rule that it records; a log of the stricter rule is not begun so."""
    monkeypatch.setattr("timeline.presence.find_ancestry", lambda _: Ancestry(()))
    assert "[owner-presence-chain]" in run("init")[2]
    assert not (tmp_path / "timeline" / "state").exists()
    assert run("init", "--owner-presence", "any")[0] == 0
    assert run("formats", "accept", "codex", "event_msg/new_thing")[0] == 0


@pytest.mark.requirement("X13")
def test_a_locked_key_is_asked_for_before_anything_is_held(
    run: Run, owned: Owned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for a lock while somebody types, and no receipt is spent by a wrong passphrase."""
    monkeypatch.setattr(sealing, "COST", sealing.COST_MIN)
    monkeypatch.setattr("timeline.terminal._TERMINAL", str(tmp_path / "no terminal"))
    for name in FOLDERS:
        monkeypatch.setenv(f"TIMELINE_{name.upper()}_DIR", str(owned.folder / name))
    lock_owner(owned.session, PASSPHRASE)
    monkeypatch.setattr("timeline.lock.LOCK_WAIT_SECONDS", 0.0)
    with hold_for_writing(owned.session.locations):
        assert "[owner-key-locked]" in run("formats", "accept", "codex", "event_msg/new_thing")[2]
        assert "[owner-key-locked]" in run("revoke", "timeline-enrollment:x")[2]
        assert run("consent", "--list")[0] == 0


@pytest.mark.requirement("X13")
def test_the_rules_are_those_that_the_owner_key_has_signed(owned: Owned, tmp_path: Path) -> None:
    """Another log's first leaf is not believed, and none is no rule."""
    assert find_rules(owned.session.locations) is not None
    headless = own(tmp_path / "headless", owner_presence="any")
    rules = find_rules(headless.session.locations)
    assert rules is not None
    assert rules.owner_presence == "any"
    headless.session.locations.database.replace(owned.session.locations.database)
    with pytest.raises(Exception, match="signed by the owner key"):
        find_rules(owned.session.locations)
