"""What was promised once and must hold for ever: leaves that were seen, and what tools said to be indexed."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.chaos.agents import real_session
from tests.simulators.worlds import World


class Promises:
    """Remembers, and says what is missing."""

    def __init__(self) -> None:
        """Nothing was promised yet."""
        self._leaves: list[bytes] = []
        self._indexed: dict[str, tuple[int, int]] = {}

    @property
    def leaves(self) -> int:
        """How many leaves were seen."""
        return len(self._leaves)

    def hear(self, source: str, answer: dict[str, Any]) -> None:
        """A tool said how far a source is indexed, and how many events that gave."""
        if "indexedBytes" in answer and "events" in answer:
            bytes_, events = self._indexed.get(source, (0, 0))
            found = int(answer["indexedBytes"]), int(answer["events"])
            self._indexed[source] = max(bytes_, found[0]), max(events, found[1])

    def broken(self, source: str, answer: dict[str, Any]) -> Iterator[str]:
        """What a source's newest answer takes back."""
        promised = self._indexed.get(source, (0, 0))
        found = int(answer.get("indexedBytes", -1)), int(answer.get("events", -1))
        if found[0] < promised[0] or found[1] < promised[1]:
            yield f"indexed bytes and events were {promised}, and are {found}"

    def look(self, world: World) -> Iterator[str]:
        """Look at the log as a reader does that verifies all of it, and remember every leaf; what is missing of it."""
        with real_session(world).reading() as state:
            size = state.belief.size
        found = _leaves_of(world.locations.database)
        if len(found) < size:
            yield f"{size} leaves are believed, {len(found)} are there"
        if found[: len(self._leaves)] != self._leaves:
            kept = sum(1 for mine, other in zip(self._leaves, found, strict=False) if mine == other)
            yield f"of {len(self._leaves)} leaves that were seen, {kept} are still in their places"
        self._leaves = found[:size]


def _leaves_of(path: Path) -> list[bytes]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as connection:
        return [
            hashlib.sha256(salt + envelope).digest()
            for salt, envelope in connection.execute("SELECT salt, envelope FROM leaf ORDER BY idx")
        ]
