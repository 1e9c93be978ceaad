"""The stages of the contract: a file, a witness in this process, and a row of a real PostgreSQL."""

import fcntl
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.anchors.cluster import PORT, Cluster
from tests.simulators.witnesses import HandClock, canned, http_reply, make_folder, ports, serving, socket_path
from timeline.anchors.dsn import parse_dsn
from timeline.anchors.filed import FileAnchor
from timeline.anchors.postgres import PostgresAnchor, postgres_anchor
from timeline.anchors.witnessed import WitnessAnchor
from timeline.witness.client import Asked
from timeline.witness.endpoint import UnixEndpoint
from timeline.witness.identity import Folder


@contextmanager
def listening(path: str) -> Iterator[None]:
    """Take connections on a Unix socket and never answer one."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(8)
        yield


class FileStage:
    """A file in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "elsewhere" / "anchor"
        self.path.parent.mkdir(mode=0o700)
        self.anchor = FileAnchor(self.path, HandClock())

    @contextmanager
    def opened(self) -> Iterator[FileAnchor]:
        """Give the anchor: a file needs no server."""
        yield self.anchor

    def keep(self) -> bytes | None:
        """Copy the file."""
        return self.path.read_bytes() if self.path.exists() else None

    def put_back(self, kept: object) -> None:
        """Restore the file, or that there was none."""
        self.path.unlink(missing_ok=True)
        if isinstance(kept, bytes):
            self.path.touch(mode=0o600)
            self.path.write_bytes(kept)

    @contextmanager
    def garbled(self) -> Iterator[FileAnchor]:
        """Let the file hold something else."""
        kept = self.keep()
        self.path.write_bytes(b"this is no checkpoint\n")
        yield self.anchor
        self.put_back(kept)

    @contextmanager
    def silent(self) -> Iterator[FileAnchor]:
        """Let another process hold the file's lock."""
        with self.anchor.lock_path.open("wb") as lock:
            self.anchor.lock_path.chmod(0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self.anchor


class WitnessStage:
    """A witness that is served in this process; what it remembers lies in its folder."""

    def __init__(self, folder: Path) -> None:
        self.backups = folder / "backups"
        self.folder: Folder = make_folder(folder / "witness")

    @contextmanager
    def opened(self) -> Iterator[WitnessAnchor]:
        """Serve it on a Unix socket."""
        with serving(self.folder) as served:
            yield WitnessAnchor(served.asked, ports())

    def keep(self) -> Path:
        """Copy the folder."""
        place = self.backups / str(len(list(self.backups.glob("*"))))
        shutil.copytree(self.folder.path, place)
        return place

    def put_back(self, kept: object) -> None:
        """Restore the folder."""
        assert isinstance(kept, Path)
        shutil.rmtree(self.folder.path)
        shutil.copytree(kept, self.folder.path)

    @contextmanager
    def garbled(self) -> Iterator[WitnessAnchor]:
        """Answer with a signature line that is none."""
        with self.opened() as anchor:
            key = anchor.asked.witness
        with canned(http_reply(200, b"not a signature line\n")) as (endpoint, _):
            yield WitnessAnchor(Asked(endpoint, key), ports())

    @contextmanager
    def silent(self) -> Iterator[WitnessAnchor]:
        """Take the connection and say nothing."""
        with self.opened() as anchor:
            key = anchor.asked.witness
        with socket_path() as path, listening(path):
            yield WitnessAnchor(Asked(UnixEndpoint(path), key), ports())


class PostgresStage:
    """A row of the server's database."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.anchor = postgres_anchor(cluster.dsn(), HandClock())

    @contextmanager
    def opened(self) -> Iterator[PostgresAnchor]:
        """Give the anchor: the server runs all the time."""
        yield self.anchor

    def keep(self) -> list[tuple[Any, ...]]:
        """Copy the rows."""
        with self.cluster.connect() as connection:
            return connection.execute("SELECT * FROM timeline_anchor.anchor").fetchall()

    def put_back(self, kept: object) -> None:
        """Restore the rows as an administrator does who disables the trigger."""
        assert isinstance(kept, list)
        with self.cluster.connect() as connection, connection.transaction():
            connection.execute("ALTER TABLE timeline_anchor.anchor DISABLE TRIGGER USER")
            connection.execute("DELETE FROM timeline_anchor.anchor")
            for row in kept:
                connection.execute("INSERT INTO timeline_anchor.anchor VALUES (%s, %s, %s, %s)", row)
            for name in ("anchor_guard_row", "anchor_guard_table"):
                connection.execute(f"ALTER TABLE timeline_anchor.anchor ENABLE ALWAYS TRIGGER {name}")

    @contextmanager
    def garbled(self) -> Iterator[PostgresAnchor]:
        """Let the row hold something that is no checkpoint."""
        kept = self.keep()
        self.put_back([(origin, size, root, b"no note") for origin, size, root, _ in kept])
        yield self.anchor
        self.put_back(kept)

    @contextmanager
    def silent(self) -> Iterator[PostgresAnchor]:
        """Take the connection and say nothing."""
        with socket_path() as path:
            folder = str(Path(path).parent)
            with listening(f"{folder}/.s.PGSQL.{PORT}"):
                dsn = parse_dsn(f"postgresql:///anchors?host={folder}&port={PORT}")
                yield PostgresAnchor(dsn, HandClock())
