"""A process that is killed at any write: the next install or uninstall goes on from what stands there."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.install.documents import MOVED, setup_of
from tests.install.test_round_trip import put_in, snapshot, take_out, write
from timeline.install import operation
from timeline.install.errors import HostFileChangedError, InstallRecordError
from timeline.install.operation import Act, Setup, plan_install, plan_uninstall, uninstall
from timeline.install.placed import look, replace
from timeline.install.record import Records


class Killed(BaseException):
    """Nothing of ours may catch it."""


STEPS = ((Records, "keep"), (operation, "replace"), (operation, "take_away"), (Records, "drop"))


def kill_at(monkeypatch: pytest.MonkeyPatch, number: int, *, after: bool) -> list[int]:
    """Let the ``number``-th write of a run be its last one, done or not; returns the count of writes begun."""
    seen = [0]

    def wrap(do: Callable[..., object]) -> Callable[..., object]:
        def run(*arguments: object, **named: object) -> object:
            seen[0] += 1
            if seen[0] == number and not after:
                raise Killed
            done = do(*arguments, **named)
            if seen[0] == number:
                raise Killed
            return done

        return run

    for owner, name in STEPS:
        monkeypatch.setattr(owner, name, wrap(getattr(owner, name)))
    return seen


def prepare(place: Path, host: str) -> tuple[Setup, dict[str, object]]:
    """One file there, one missing; what stands before anything is done."""
    setup = setup_of(place, host)
    write(setup, 1, b'{"a": 1}' if setup.files[1].path.suffix == ".json" else b"a = 1")
    (place / "private").mkdir(mode=0o700)
    return setup, dict(snapshot(place))


def run_killed(monkeypatch: pytest.MonkeyPatch, number: int, run: Callable[[], None], *, after: bool) -> None:
    """Run until the ``number``-th write."""
    with monkeypatch.context() as patch:
        seen = kill_at(patch, number, after=after)
        with pytest.raises(Killed):
            run()
        assert seen[0] == number


def killed_installation(
    place: Path, monkeypatch: pytest.MonkeyPatch, host: str, number: int, *, after: bool, update: bool
) -> tuple[Setup, dict[str, object]]:
    """A first installation, or that of another program over an earlier one, killed; and what stood before it all."""
    setup, before = prepare(place, host)
    new = setup_of(place, host, program=MOVED)
    if update:
        put_in(setup)
    run_killed(monkeypatch, number, lambda: put_in(new), after=after)
    return new, before


@pytest.mark.parametrize("host", ["codex", "claude", "kimi"])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("update", [False, True])
def test_a_killed_installation_is_mended(
    place: Path, monkeypatch: pytest.MonkeyPatch, host: str, number: int, *, after: bool, update: bool
) -> None:
    """Killed at a record or a file: the same command completes it, and an uninstall restores every byte."""
    new, before = killed_installation(place, monkeypatch, host, number, after=after, update=update)
    put_in(new)
    assert [change.act for change in plan_install(new)] == [Act.NOTHING] * 2
    for file in new.files:
        assert MOVED.python in file.path.read_text(encoding="utf-8")
    take_out(new)
    assert snapshot(place) == before


@pytest.mark.parametrize("host", ["codex", "claude", "kimi"])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("update", [False, True])
def test_an_uninstall_undoes_a_killed_installation(
    place: Path, monkeypatch: pytest.MonkeyPatch, host: str, number: int, *, after: bool, update: bool
) -> None:
    """Whatever an installation had done when it was killed, it can be taken back at once."""
    new, before = killed_installation(place, monkeypatch, host, number, after=after, update=update)
    take_out(new)
    assert snapshot(place) == before


@pytest.mark.parametrize("host", ["codex", "claude", "kimi"])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_killed_uninstall_is_mended(
    place: Path, monkeypatch: pytest.MonkeyPatch, host: str, number: int, *, after: bool
) -> None:
    """Killed while it takes out: the same command completes it, and nothing of ours stays."""
    setup, before = prepare(place, host)
    put_in(setup)
    run_killed(monkeypatch, number, lambda: take_out(setup), after=after)
    take_out(setup)
    assert snapshot(place) == before


def test_folders_of_a_killed_write_go_too(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after a folder was made and before the file: the next installation remembers whose folder it is."""
    setup = setup_of(place, "codex")
    (place / "private").mkdir(mode=0o700)
    before = snapshot(place)
    with monkeypatch.context() as patch:

        def stop(_path: Path) -> None:
            raise Killed

        patch.setattr("timeline.install.placed.create_private", stop)
        with pytest.raises(Killed):
            put_in(setup)
    assert (place / "home" / ".codex").is_dir()
    put_in(setup)
    take_out(setup)
    assert snapshot(place) == before


def test_a_file_that_changes_meanwhile_is_not_taken_away(place: Path) -> None:
    """What a host writes between the look and the removal stays."""
    setup = setup_of(place, "codex")
    put_in(setup)
    path = setup.files[1].path
    changes = plan_uninstall(setup)
    path.write_bytes(b'{"a": 2}')
    with pytest.raises(HostFileChangedError):
        uninstall(setup, changes)
    assert path.read_bytes() == b'{"a": 2}'


def test_a_record_that_was_changed_restores_nothing(place: Path) -> None:
    """Bytes come back only where their digest is the recorded one; else ours are spliced out."""
    setup = setup_of(place, "codex")
    path = write(setup, 1, b'{ "a" :1}')
    put_in(setup)
    (record,) = setup.records.folder.glob("*hooks.json.json")
    text = record.read_text(encoding="utf-8")
    middle = json.loads(text)["steps"][0]["middle"]
    record.write_text(text.replace(f'"middle": "{middle}"', '"middle": "ZXZpbA=="'), encoding="utf-8")
    take_out(setup)
    assert b"evil" not in path.read_bytes()
    assert json.loads(path.read_bytes()) == {"a": 1}


@pytest.mark.parametrize(
    "content", ["{}", "not json", '{"version": 2, "path": "x", "before": null, "steps": []}']
)
def test_what_is_no_record_is_named(place: Path, content: str) -> None:
    """Nothing is guessed from a file that this program has not written."""
    setup = setup_of(place, "codex")
    put_in(setup)
    (record,) = setup.records.folder.glob("*hooks.json.json")
    record.write_text(content, encoding="utf-8")
    before = setup.files[1].path.read_bytes()
    for plan in (plan_install, plan_uninstall):
        with pytest.raises(InstallRecordError):
            plan(setup)
    assert setup.files[1].path.read_bytes() == before


def test_what_a_killed_write_left_beside_a_file_goes(place: Path) -> None:
    """A temporary file of a killed process is replaced by the next one's."""
    setup, before = prepare(place, "codex")
    left = setup.files[1].path.with_name("hooks.json.timeline-tmp")
    left.write_bytes(b"half")
    put_in(setup)
    assert not left.exists()
    take_out(setup)
    assert snapshot(place) == before


def test_a_file_that_changes_meanwhile_is_not_replaced(place: Path) -> None:
    """What a host writes between the look and the rename stays, and nothing of ours is left beside it."""
    setup, _ = prepare(place, "codex")
    path = setup.files[1].path
    found = look(path)
    path.write_bytes(b'{"a": 2}')
    with pytest.raises(HostFileChangedError):
        replace(found, b"ours")
    assert path.read_bytes() == b'{"a": 2}'
    assert [entry.name for entry in path.parent.iterdir()] == ["hooks.json"]
