"""Notices that an enrolled transcript was touched, and does nothing else.

A watcher only marks a source as changed: it reads nothing, refreshes nothing and enrolls nothing (T14). The check
before every use rules in any case; a missed event costs nothing but the hint. Only the folders of enrolled sources
are watched, not recursively and with filtered events: unfiltered, watchdog 7.1 live-locks on large trees.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from watchdog.events import (
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

_EVENTS = [FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent]


class _Marker(FileSystemEventHandler):
    """Hands the path of a watched file to ``mark``; every other event ends here."""

    def __init__(self, paths: frozenset[str], mark: Callable[[str], None]) -> None:
        super().__init__()
        self._paths = paths
        self._mark = mark

    def on_any_event(self, event: FileSystemEvent) -> None:  # type: ignore[explicit-override]  # as above
        """Called by watchdog's own thread."""
        for path in {os.fsdecode(event.src_path), os.fsdecode(event.dest_path)}:
            if path in self._paths:
                self._mark(path)


@contextmanager
def watch_transcripts(paths: Iterable[str], mark: Callable[[str], None]) -> Iterator[None]:
    """While the block runs, call ``mark`` with the path of each given file that was touched.

    ``mark`` runs in another thread. A folder that is gone is not watched.
    """
    watched = frozenset(paths)
    observer = Observer()
    for folder in sorted({os.path.dirname(path) for path in watched}):
        if os.path.isdir(folder):
            observer.schedule(_Marker(watched, mark), folder, recursive=False, event_filter=_EVENTS)
    observer.start()
    try:
        yield
    finally:
        observer.stop()
        observer.join()
