"""A small part of ``python -m tests.chaos``: enough to notice when one of its programs or of its promises is broken."""

import itertools
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.chaos import disk, load, rounds
from tests.chaos.copies import copy_program
from tests.chaos.load import Size
from tests.chaos.promises import Promises
from tests.chaos.rounds import Plan

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks at processes by /proc")

SAMPLE = (
    Plan("work", "daemon", "write", 0.003),
    Plan("begin", "daemon", "birth", 0.3),
    Plan("begin", "finder", "birth", 0.1),
    Plan("work", "host", "any", 0.1),
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a place with a short path, as a socket needs."""
    with tempfile.TemporaryDirectory(prefix="c-", dir="/tmp") as place:
        yield Path(place) / "w"


@pytest.mark.requirement("X1")
def test_nothing_is_lost_when_a_process_is_killed(folder: Path) -> None:
    """The daemon in a commit and while it begins, a relay that looks for one, and the host."""
    found = rounds.explore(folder, 3, seed=1, plans=SAMPLE)
    assert found.failures == []
    assert found.kills == 3


@pytest.mark.requirement("X1")
def test_sessions_that_ask_at_once_are_all_answered(folder: Path) -> None:
    """One writer, no refusal, and one daemon for ten that begin one."""
    found = load.explore(folder, Size(sessions=4, hosts=2, calls=32, real_hooks=0, herds=1), 1)
    assert found.failures == []
    assert len(found.seconds) == 32


@pytest.mark.skipif(bool(disk.reason_to_skip()), reason=disk.reason_to_skip() or "it can be tried")
@pytest.mark.requirement("X1")
def test_a_full_disk_stops_nothing_for_good(folder: Path) -> None:
    """All three folders full at once, and emptied again."""
    found = disk.explore(folder, places=(("state", "trust", "runtime"),), rounds=1)
    assert found.failures == []


def test_a_copy_of_the_program_has_its_version(tmp_path: Path) -> None:
    """And its own interpreter finds it before ours."""
    import subprocess

    copy = copy_program(tmp_path, "7.8.9")
    said = subprocess.run(
        [copy.python, "-I", "-m", "timeline", "--version"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "7.8.9" in said.stdout


@pytest.mark.parametrize(
    ("seen", "now", "complaints"),
    [
        ([b"a", b"b"], [b"a", b"b", b"c"], 0),
        ([b"a", b"b"], [b"a"], 2),
        ([b"a", b"b"], [b"a", b"x", b"c"], 1),
    ],
)
def test_a_leaf_that_was_seen_must_stay(
    monkeypatch: pytest.MonkeyPatch, seen: list[bytes], now: list[bytes], complaints: int
) -> None:
    """A log that was cut off, or rewritten, is noticed though it believes itself."""

    class Session:
        def reading(self):
            import contextlib

            return contextlib.nullcontext(SimpleNamespace(belief=SimpleNamespace(size=len(seen))))

    logs = itertools.chain([seen, now])
    monkeypatch.setattr("tests.chaos.promises._leaves_of", lambda _path: next(logs))
    monkeypatch.setattr("tests.chaos.promises.real_session", lambda _world: Session())
    world = SimpleNamespace(locations=SimpleNamespace(database=Path("x")))
    promises = Promises()
    assert list(promises.look(world)) == []
    assert len(list(promises.look(world))) == complaints


def test_what_was_said_to_be_indexed_must_stay() -> None:
    """Less of it later is a broken promise."""
    promises = Promises()
    promises.hear("s", {"indexedBytes": 10, "events": 3})
    assert list(promises.broken("s", {"indexedBytes": 12, "events": 3})) == []
    assert len(list(promises.broken("s", {"indexedBytes": 12, "events": 2}))) == 1
