"""Another process that commits while a reader, who holds no lock, is between two of its reads.

Nothing waits and nothing races: the commits are made inside the reader's own call, right after the named read.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

from timeline import tlog
from timeline.paths import Locations
from timeline.store import Store

PLACES = ("anchor", "head", "change number", "leaves")
"""What a reader reads, in its order; ``change number`` is the database's."""


@dataclass(slots=True)
class Overtaking:
    """Calls ``act`` after reads of ``place``, the first ``times`` of them; ``reads`` counts them all."""

    place: str
    act: Callable[[], object]
    times: int
    reads: int = 0
    _inside: bool = False

    def after(self, place: str) -> None:
        """A read has been made; those of the other process itself do not count."""
        if self._inside or place != self.place:
            return
        self.reads += 1
        if self.reads > self.times:
            return
        self._inside = True
        try:
            self.act()
        finally:
            self._inside = False


@contextmanager
def overtaken(locations: Locations, overtaking: Overtaking) -> Iterator[None]:
    """Let the reads of the block be overtaken."""
    read, leaves, version = tlog.read_private, Store.leaves, Store.data_version
    names = {locations.anchor: "anchor", locations.head: "head"}

    def read_private(path: object, **bounds: int) -> bytes:
        content = read(path, **bounds)
        overtaking.after(names[path])
        return content

    def all_leaves(store: Store) -> Iterator[tuple[int, bytes, bytes]]:
        yield from leaves(store)
        overtaking.after("leaves")

    def data_version(store: Store) -> int:
        number = version(store)
        overtaking.after("change number")
        return number

    with (
        mock.patch.object(tlog, "read_private", read_private),
        mock.patch.object(Store, "leaves", all_leaves),
        mock.patch.object(Store, "data_version", data_version),
    ):
        yield
