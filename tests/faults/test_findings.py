"""What the simulator has found, each as a test of its own."""

import errno
import os
import sqlite3
from pathlib import Path
from unittest import mock

import pytest

import timeline.files
from timeline.errors import StateBusyError
from timeline.files import hold_directory, make_directory, read_private, read_private_range, write_atomic
from timeline.store import Store


class _Os:
    """``os`` with some functions replaced."""

    def __init__(self, **replaced: object) -> None:
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)


def test_a_folder_that_is_made_is_synced_into_the_one_above(tmp_path: Path) -> None:
    """Else a crash takes it with all that was synced in it: keys and leaves that ``init`` had promised."""
    synced: list[str] = []

    def fsync(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))

    with mock.patch.object(timeline.files, "os", _Os(fsync=fsync)):
        make_directory(tmp_path / "a" / "b" / "c")
        assert synced == [str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b")]
        make_directory(tmp_path / "a" / "b" / "c")
    assert len(synced) == 3


def _close_and_fail(descriptor: int) -> None:
    os.close(descriptor)
    raise OSError(errno.EIO, "injected")


def test_a_failure_to_close_what_was_only_read_is_no_error(tmp_path: Path) -> None:
    """It escaped as an ``OSError`` that no command knows."""
    path = tmp_path / "file"
    write_atomic(path, b"content")
    tmp_path.chmod(0o700)
    with mock.patch.object(timeline.files, "os", _Os(close=_close_and_fail)):
        assert read_private(path, size_max=10) == b"content"
        assert read_private_range(path, 1, 2) == b"on"
        with hold_directory(tmp_path):
            pass


def test_a_database_that_another_holds_while_it_opens_it_is_busy(tmp_path: Path) -> None:
    """SQLITE_PROTOCOL was called damage, with the advice to restore a backup."""
    error = sqlite3.OperationalError("locking protocol")
    error.sqlite_errorname = "SQLITE_PROTOCOL"
    connection = mock.Mock()
    connection.execute.side_effect = error
    with pytest.raises(StateBusyError, match="SQLITE_PROTOCOL"):
        Store(tmp_path / "state.db", connection).data_version()
