"""Weakened programs: each leaves out one thing that a crash must not take away, and the simulator has to notice.

A simulator that finds nothing wrong with these would find nothing wrong with anything.
"""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final
from unittest import mock

import sidecars.store
import timeline.files
import timeline.keystore
import timeline.store
import timeline.tlog
import timeline.witness.store

Weakening = Callable[[], AbstractContextManager[object]]


class _HastyOs:
    """``os``, whose ``fsync`` spares files."""

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def fsync(self, descriptor: int) -> None:
        """Sync folders only."""
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.fsync(descriptor)


def _files_unsynced() -> AbstractContextManager[object]:
    return mock.patch.object(timeline.files, "os", _HastyOs())


def _folders_unsynced() -> AbstractContextManager[object]:
    return mock.patch.object(timeline.files, "sync_directory", return_value=None)


def _sidecars_unsynced() -> AbstractContextManager[object]:
    return mock.patch.object(sidecars.store.SystemCalls, "fsync", return_value=None)


def _database_unsynced() -> AbstractContextManager[object]:
    return mock.patch.object(
        timeline.store, "_PRAGMAS", (*timeline.store._PRAGMAS, "PRAGMA synchronous = OFF")
    )


def _witness_unsynced() -> AbstractContextManager[object]:
    pragmas = (*timeline.witness.store._PRAGMAS, "PRAGMA synchronous = OFF")
    return mock.patch.object(timeline.witness.store, "_PRAGMAS", pragmas)


def _keys_not_overwritten() -> AbstractContextManager[object]:
    return mock.patch.object(timeline.keystore, "overwrite_private", return_value=None)


@contextmanager
def _anchor_before_head() -> Iterator[None]:
    """Hold the head back until the anchor was written."""
    real, held = timeline.tlog.write_atomic, []

    def write(path: Path, content: bytes) -> None:
        if path.name == "head" and path.exists():
            held.append((path, content))
        else:
            real(path, content)
            while held:
                real(*held.pop())

    with mock.patch.object(timeline.tlog, "write_atomic", write):
        yield


CONTROLS: Final[Mapping[str, tuple[str, Weakening]]] = {
    "files are not synced": ("timeline", _files_unsynced),
    "folders are not synced": ("timeline", _folders_unsynced),
    "sidecars are not synced": ("timeline", _sidecars_unsynced),
    "the database is not synced": ("timeline", _database_unsynced),
    "the anchor goes before the head": ("timeline", _anchor_before_head),
    "a destroyed key is not overwritten": ("timeline", _keys_not_overwritten),
    "the witness's memory is not synced": ("witness", _witness_unsynced),
}
"""What is left out, by its name: the story in which it must show, and how it is left out."""
