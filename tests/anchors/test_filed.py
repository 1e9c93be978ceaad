"""A file as an anchor: whoever comes at the same time waits for his turn, and its folder is never made up."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.anchors.contract import SHORT_SECONDS, at_once, grown, question
from tests.anchors.database import said
from tests.simulators.witnesses import HandClock
from timeline.anchors.filed import FileAnchor
from timeline.anchors.port import Answer, Standing
from timeline.files import hold_directory

pytestmark = pytest.mark.requirement("X5")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a private folder."""
    found = tmp_path / "elsewhere"
    found.mkdir(mode=0o700)
    return found


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file's lock as another process does."""
    with path.open("ab") as lock:
        path.chmod(0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_two_files_in_one_folder_do_not_meet(folder: Path) -> None:
    """While one of them is asked, the other answers; so it does where somebody holds the folder for himself."""
    one, two = (FileAnchor(folder / name, HandClock()) for name in ("one", "two"))
    with locked(one.lock_path), hold_directory(folder):
        answer = two.advance(question(grown(3), deadline_seconds=SHORT_SECONDS))
    assert answer.standing is Standing.CONFIRMED


def test_askers_of_one_file_take_turns(folder: Path) -> None:
    """A reader and a writer, many times at once: none of them is lost."""
    anchor = FileAnchor(folder / "anchor", HandClock())

    def ask() -> Answer:
        return anchor.advance(question(grown(3)))

    assert {answer.standing for answer in at_once([ask] * 8)} == {Standing.CONFIRMED}


def test_a_lock_that_is_not_given_back_is_no_answer(folder: Path) -> None:
    """The deadline ends the wait, and says so."""
    anchor = FileAnchor(folder / "anchor", HandClock())
    with locked(anchor.lock_path):
        answer = anchor.advance(question(grown(3), deadline_seconds=SHORT_SECONDS))
    assert said(answer) == ("unavailable", "busy")
    assert not anchor.path.exists()


def test_a_missing_folder_is_not_made(folder: Path) -> None:
    """A disk that is not there has confirmed nothing."""
    anchor = FileAnchor(folder / "disk" / "anchor", HandClock())
    assert said(anchor.advance(question(grown(3)))) == ("unavailable", "state-incomplete")
    assert list(folder.iterdir()) == []
