"""Group commit: twenty followed sessions have grown, and what they have waiting becomes one batch.

The timeline is kept open, as in the daemon. The reference reads and hashes what is compared and what is new, writes as
many files of the sidecars' size with one sync each and one of their folder, and then does what one commit cannot avoid:
one transaction with as many rows, two durable replacements. How many heads were written is counted, not timed.
"""

import hashlib
import os
import shutil
import sqlite3
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.commit import replace_durably
from benchmarks.corpus import FILE_BYTES, write_corpus
from benchmarks.measure import Figure, alternate, ratio
from benchmarks.worlds import HERE, enroll, session_at
from timeline import service
from timeline.extending import Due, extend_together
from timeline.limits import HEAD_BYTES, MIB, TAIL_BYTES
from timeline.live import Live
from timeline.ports import Ports
from timeline.tlog import Step

_SOURCES: Final = 20
_SIZE: Final = 1 * MIB
_ADDED: Final = 20_000
_ROUNDS: Final = 40
_QUICK_ROUNDS: Final = 10
_GATE: Final = 3.5
"""Provisional, above what is measured."""


@dataclass
class _World:
    """One timeline with its followed sessions, and the steps of its commits."""

    session: service.Session
    project: Path
    transcripts: list[Path]
    content: dict[Path, bytes]
    ids: list[str]
    steps: Counter[Step]
    written: int = _SIZE

    def write(self) -> None:
        """Let every host write on."""
        for path in self.transcripts:
            with path.open("ab") as file:
                file.write(self.content[path][self.written : self.written + _ADDED])
        self.written += _ADDED

    def extend(self, groups: list[list[str]]) -> float:
        """Read the sources of each group on together; what it took."""
        began = time.perf_counter()
        for group in groups:
            due = [Due(str(self.project), key, 0) for key in group]
            for result in extend_together(self.session, due):
                if isinstance(result, Exception):
                    raise result
        return time.perf_counter() - began


def figures(*, quick: bool) -> list[Figure]:
    """A group against its reference and against the same sources one by one; and the heads that it writes."""
    rounds = _QUICK_ROUNDS if quick else _ROUNDS
    folder = HERE / "group"
    shutil.rmtree(folder, ignore_errors=True)
    together, alone = _world(folder / "together"), _world(folder / "alone")
    with _reference(together) as reference:

        def group() -> float:
            together.write()
            return together.extend([together.ids])

        def one_by_one() -> float:
            alone.write()
            return alone.extend([[key] for key in alone.ids])

        takes = (group, reference, one_by_one)
        alternate(3, *takes)
        before = together.steps[Step.HEAD]
        ours, needed, single = alternate(rounds, *takes)
        heads = (together.steps[Step.HEAD] - before) / rounds
    shutil.rmtree(folder)
    took, least, many = (1000 * statistics.median(values) for values in (ours, needed, single))
    detail = f"{took:.1f} ms against {least:.1f} ms; one by one {many:.1f} ms"
    return [
        Figure(
            f"group of {_SOURCES} sources, 20 KB each / (reading, its files, one commit)",
            ratio(ours, needed),
            "x",
            _GATE,
            detail,
        ),
        Figure(f"heads written for {_SOURCES} sources that are due together", heads, "", 1.0),
    ]


def _world(folder: Path) -> _World:
    """A new timeline with followed and indexed sessions; they differ in their threads only."""
    relative, content = next(write_corpus(FILE_BYTES, 0.1))
    thread = Path(relative).stem[-36:]
    steps: Counter[Step] = Counter()
    session = session_at(folder)
    ports = Ports(session.ports.clock, session.ports.entropy, lambda step: steps.update([step]))
    session = msgspec.structs.replace(session, ports=ports, opener=Live())
    contents = {}
    for number in range(_SOURCES):
        own = f"{thread[:-2]}{number:02x}"
        path = folder / "home" / ".codex" / relative.replace(thread, own)
        path.parent.mkdir(parents=True, exist_ok=True)
        contents[path] = content.replace(thread.encode(), own.encode())
        path.write_bytes(contents[path][:_SIZE])
        enroll(session, folder / "project", path, follow=True)
    for result in service.index(session, str(folder / "project")):
        if isinstance(result, tuple):
            raise result[1]
    ids = [
        status.source.enrollment.enrollment_id
        for status in service.list_sources(session, str(folder / "project"))
    ]
    return _World(session, folder / "project", list(contents), contents, ids, steps)


@contextmanager
def _reference(world: _World) -> Iterator[Callable[[], float]]:
    """Reading what a group reads and writing what it writes, beside where it does."""
    locations = world.session.locations
    world.write()
    world.extend([world.ids])
    with world.session.reading_local() as state:
        *_, (_, salt, envelope) = state.store.leaves()
    note = locations.head.read_bytes()
    folder = locations.state / "reference"
    folder.mkdir()
    newest = max(locations.sidecars.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    sidecar = os.urandom(newest.stat().st_size)
    with closing(sqlite3.connect(locations.state / "reference.db", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE leaf (idx INTEGER PRIMARY KEY, salt BLOB, envelope BLOB) STRICT")

        def work() -> float:
            began = time.perf_counter()
            for path in world.transcripts:
                _hash(path)
            _write_all(folder, sidecar)
            database.execute("BEGIN")
            rows = [(salt, envelope)] * (2 * _SOURCES)
            database.executemany("INSERT INTO leaf (salt, envelope) VALUES (?, ?)", rows)
            database.execute("COMMIT")
            for where in (locations.state, locations.trust):
                replace_durably(where / "reference.note", note)
            return time.perf_counter() - began

        yield work


def _hash(path: Path) -> None:
    """The beginning, the end of what was committed, and what is new."""
    with path.open("rb", buffering=0) as file:
        hashlib.sha256(file.read(HEAD_BYTES)).digest()
        file.seek(-(TAIL_BYTES + _ADDED), os.SEEK_END)
        hashlib.sha256(file.read(TAIL_BYTES + _ADDED)).digest()


def _write_all(folder: Path, content: bytes) -> None:
    """A file for each source: all written, then each synced, then named, then their folder synced."""
    number = time.monotonic_ns()
    descriptors = []
    for source in range(_SOURCES):
        name = folder / f"new-{source}"
        descriptors.append(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.write(descriptors[-1], content)
    for descriptor in descriptors:
        os.fsync(descriptor)
        os.close(descriptor)
    for source in range(_SOURCES):
        (folder / f"new-{source}").rename(folder / f"{number}-{source}")
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(opened)
    os.close(opened)
