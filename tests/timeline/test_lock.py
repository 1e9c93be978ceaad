"""One writer at a time; the operating system ends the lock with its holder."""

from pathlib import Path

import pytest

from timeline.errors import StateBusyError, StateError
from timeline.lock import hold_writer_lock


@pytest.mark.requirement("T19")
def test_a_second_writer_is_told_that_the_first_is_at_work(tmp_path: Path) -> None:
    """It waits a bounded time and then says so; afterwards the lock is free again."""
    lock = tmp_path / "runtime" / "writer.lock"
    with hold_writer_lock(lock), pytest.raises(StateBusyError), hold_writer_lock(lock, wait_seconds=0):
        raise AssertionError("two writers")
    with hold_writer_lock(lock, wait_seconds=0):
        assert lock.stat().st_mode & 0o777 == 0o600


def test_a_lock_is_free_after_an_error(tmp_path: Path) -> None:
    """Whatever ends the block ends the lock."""
    lock = tmp_path / "runtime" / "writer.lock"
    with pytest.raises(KeyError), hold_writer_lock(lock):
        raise KeyError
    with hold_writer_lock(lock, wait_seconds=0):
        pass


def test_a_lock_that_cannot_be_made_is_an_error_of_ours(tmp_path: Path) -> None:
    """A folder in its place, or a file where its folder should be."""
    (tmp_path / "runtime").mkdir(0o700)
    (tmp_path / "runtime" / "writer.lock").mkdir()
    with pytest.raises(StateError), hold_writer_lock(tmp_path / "runtime" / "writer.lock", wait_seconds=0):
        pass
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StateError), hold_writer_lock(tmp_path / "file" / "writer.lock", wait_seconds=0):
        pass
