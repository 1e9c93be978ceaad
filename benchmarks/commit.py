"""One durable commit of a small leaf: against the writing alone, and with a witness against without one.

The reference writes the same bytes into the same folders: one transaction with ``synchronous=FULL``, and as many
atomic replacements of files of the same size. What is above 1 is signing, checking and reading back.
The witness is a process of its own, on a Unix socket; both have their state on the same disk.
"""

import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from benchmarks.log import big_log, digest_text
from benchmarks.measure import Figure, alternate, percentile, ratio, run
from benchmarks.worlds import HERE, session_at
from sidecars.leaf import SidecarEntry
from timeline import service
from timeline.anchoring import add_anchor
from timeline.state import State, open_for_writing

_ROUNDS = 300
_QUICK_ROUNDS = 60
_LEAVES = 20_000
_GATE = 1.3
_WITNESS_GATE = 2.0

_WITNESS = str(Path(sys.executable).with_name("timeline-witness"))

Take = Callable[[], float]


def figures(*, quick: bool) -> list[Figure]:
    """The median of the ratios of commits made in turn, on two copies of one log."""
    folder = HERE / "commit"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("local", "witnessed"):
        shutil.copytree(big_log(_LEAVES), folder / name)
    local, witnessed = session_at(folder / "local"), session_at(folder / "witnessed")
    with ExitStack() as stack:
        stack.enter_context(_witness_of(witnessed, folder / "witness"))
        state = stack.enter_context(open_for_writing(local.locations, local.ports))
        reference = stack.enter_context(_reference(state))
        other = stack.enter_context(open_for_writing(witnessed.locations, witnessed.ports))
        takes = (committing(state), reference, committing(other))
        alternate(5, *takes)
        ours, writing, cosigned = alternate(_QUICK_ROUNDS if quick else _ROUNDS, *takes)
        (known,) = json.loads(run([_WITNESS, "status", "--dir", str(folder / "witness"), "--json"]).output)[
            "logs"
        ]
        if known["size"] != other.belief.size:
            raise RuntimeError("the witness has confirmed every commit")
    shutil.rmtree(folder)
    return [
        Figure(
            "commit of a leaf / (FULL commit, two replacements)",
            ratio(ours, writing),
            "x",
            _GATE,
            _ms(ours, writing),
        ),
        Figure(
            "commit with a local witness / without",
            ratio(cosigned, ours),
            "x",
            _WITNESS_GATE,
            _ms(cosigned, ours),
        ),
    ]


def _ms(ours: list[float], theirs: list[float]) -> str:
    median, other = (1000 * statistics.median(values) for values in (ours, theirs))
    return f"{median:.2f} ms, p99 {1000 * percentile(ours, 0.99):.2f}, against {other:.2f} ms"


def committing(state: State) -> Take:
    """Commits of one leaf each to one source; what each took."""

    def commit() -> float:
        source = state.view.active[0]
        body = SidecarEntry(
            digest=digest_text(state.belief.size),
            source=source.enrollment.source.ref,
            segment=len(source.entries),
            enrollment_id=source.enrollment.enrollment_id,
            count=1,
            root=digest_text(0),
        )
        began = time.perf_counter()
        state.commit([body])
        return time.perf_counter() - began

    return commit


@contextmanager
def _reference(state: State) -> Iterator[Take]:
    """Writing what a commit writes, beside where it writes it."""
    locations = state.locations
    *_, (_, salt, envelope) = state.store.leaves()
    note = locations.head.read_bytes()
    with closing(sqlite3.connect(locations.state / "reference.db", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE leaf (idx INTEGER PRIMARY KEY, salt BLOB, envelope BLOB) STRICT")

        def write() -> float:
            began = time.perf_counter()
            database.execute("INSERT INTO leaf (salt, envelope) VALUES (?, ?)", (salt, envelope))
            for folder in (locations.state, locations.trust):
                replace_durably(folder / "reference", note)
            return time.perf_counter() - began

        yield write


def replace_durably(path: Path, content: bytes) -> None:
    """Replace a file as durably as ``timeline.files`` does, and no more."""
    temporary = path.with_suffix(".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(descriptor, content)
    os.fsync(descriptor)
    os.close(descriptor)
    temporary.rename(path)
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(descriptor)
    os.close(descriptor)


@contextmanager
def _witness_of(session: service.Session, folder: Path) -> Iterator[None]:
    """A witness that knows this log, and that the log requires, for as long as the block lasts."""
    with open_for_writing(session.locations, session.ports) as state:
        log_key = str(state.keystore.pins.log)
    made = json.loads(run([_WITNESS, "init", "--dir", str(folder), "--json"]).output)
    run([_WITNESS, "add-log", log_key, "--dir", str(folder)])
    with tempfile.TemporaryDirectory() as short:  # a socket's path has at most 107 bytes
        socket = f"{short}/socket"
        command = [_WITNESS, "serve", "--dir", str(folder), "--socket", socket, "--json"]
        with (
            Path(short, "diary").open("wb") as diary,
            subprocess.Popen(command, stdout=diary) as server,
        ):
            while not Path(socket).exists():  # it says nothing to us, so that nobody here has to read it
                if server.poll() is not None:
                    raise RuntimeError("the witness must serve")
                time.sleep(0.01)
            try:
                add_anchor(session, "witness", f"unix:{socket}", key=made["vkey"])
                yield
            finally:
                server.terminate()
