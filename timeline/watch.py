"""Notices that an enrolled transcript was touched, and does nothing else.

A watcher only marks a source as changed: it reads nothing, refreshes nothing and enrolls nothing (T14). The check
before every use rules in any case; a missed event costs nothing but the hint. Only the folders of enrolled sources
are watched, not recursively and with filtered events: unfiltered, watchdog 7.1 live-locks on large trees.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers.api import BaseObserver, ObservedWatch


class TranscriptWatch:
    """Calls ``mark`` with the path of each watched file that is touched, in a thread of its own.

    A folder that is not there is not watched. Nothing runs before there is something to watch.
    """

    def __init__(self, mark: Callable[[str], None]) -> None:
        """Watch nothing yet."""
        self._mark = mark
        self._paths: frozenset[str] = frozenset()
        self._observer: BaseObserver | None = None
        self._watches: dict[str, ObservedWatch] = {}

    @property
    def count(self) -> int:
        """How many files are watched."""
        return len(self._paths)

    def watch(self, paths: Iterable[str]) -> None:
        """Watch exactly these files from now on."""
        self._paths = frozenset(paths)
        folders = {folder for folder in map(os.path.dirname, self._paths) if os.path.isdir(folder)}
        if folders and self._observer is None:
            from watchdog.observers import Observer  # a daemon without followed sources does not need it

            self._observer = Observer()
            self._observer.start()
        for folder in sorted(self._watches.keys() - folders):
            if self._observer is not None:
                self._observer.unschedule(self._watches.pop(folder))
        for folder in sorted(folders - self._watches.keys()):
            if self._observer is not None:
                self._watches[folder] = self._observer.schedule(
                    _marker(self._touched), folder, recursive=False, event_filter=_events()
                )

    def close(self) -> None:
        """Watch nothing any more."""
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()
            self._observer = None
            self._watches.clear()

    def _touched(self, path: str) -> None:
        if path in self._paths:
            self._mark(path)


@contextmanager
def watch_transcripts(paths: Iterable[str], mark: Callable[[str], None]) -> Iterator[None]:
    """Watch these files while the block runs; see ``TranscriptWatch``."""
    found = TranscriptWatch(mark)
    found.watch(paths)
    try:
        yield
    finally:
        found.close()


def _events() -> "list[type[FileSystemEvent]]":
    from watchdog.events import FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent

    return [FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent]


def _marker(touched: Callable[[str], None]) -> "FileSystemEventHandler":
    from watchdog.events import FileSystemEventHandler

    class Marker(FileSystemEventHandler):
        """Hands on the paths of an event; everything else in it is of no interest."""

        def on_any_event(self, event: "FileSystemEvent") -> None:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
            """Called by watchdog's own thread."""
            for path in {os.fsdecode(event.src_path), os.fsdecode(event.dest_path)}:
                touched(path)

    return Marker()
