"""A PostgreSQL server of the tests' own: a new cluster in a temporary folder, on a Unix socket only, fsync on.

PostgreSQL does not run as root; where the tests do, its own user or `nobody` runs it.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from timeline.anchors.schema import format_schema

PORT = 5432
ADMIN = "admin"
CLIENT = "timeline_client"
DATABASE = "anchors"

ACCESS = "local all needs_password scram-sha-256\nlocal all all trust\n"
"""pg_hba.conf: one role has to give a password, which nobody has."""


def find_binaries() -> Path | None:
    """Give the folder of initdb and pg_ctl: from PATH, or the newest of those where Debian puts them."""
    places = [Path(found).resolve().parent] if (found := shutil.which("initdb")) else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))[
        ::-1
    ]
    return next((path for path in places if (path / "initdb").exists() and (path / "pg_ctl").exists()), None)


@dataclass(frozen=True)
class Cluster:
    """A server that can be stopped and started; its folder is also that of its socket."""

    folder: Path
    binaries: Path

    def control(self, *arguments: str) -> None:
        """Run pg_ctl and wait for what it does."""
        self.run("pg_ctl", "-w", "-s", "-D", str(self.folder / "data"), *arguments)

    def start(self, setting: str = "fsync=on") -> None:
        """Start the server and wait until it answers."""
        options = f"-k {self.folder} -p {PORT} -c listen_addresses= -c {setting}"
        self.control("-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it; `immediate` is what a crash is."""
        self.control("-m", mode, "stop")

    def run(self, program: str, *arguments: str) -> None:
        """Run one of its programs as its user."""
        result = subprocess.run(
            [self.binaries / program, *arguments],
            cwd=self.folder,
            env={"PATH": os.defpath, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            **_server_user(),
        )
        if result.returncode:
            raise RuntimeError(f"{program}: {result.stdout.decode(errors='replace')}")

    def dsn(self, *, role: str = CLIENT, database: str = DATABASE) -> str:
        """Give the address of a database."""
        return f"postgresql://{role}@/{database}?host={self.folder}&port={PORT}"

    def connect(self, *, role: str = ADMIN, database: str = DATABASE) -> "psycopg.Connection[Any]":
        """Connect, as an administrator by default."""
        return psycopg.connect(
            host=str(self.folder), port=PORT, user=role, dbname=database, hostaddr="", autocommit=True
        )

    def execute(self, *statements: str, role: str = ADMIN, database: str = DATABASE) -> None:
        """Execute statements one after the other."""
        with self.connect(role=role, database=database) as connection:
            for statement in statements:
                connection.execute(statement)


def _server_user() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise RuntimeError("neither a user `postgres` nor `nobody`")


@contextmanager
def running(binaries: Path) -> Iterator[Cluster]:
    """Make a cluster with the schema of an anchor, serve it while the block runs, and remove it."""
    # Not pytest's own folder: the path of a Unix socket is short, and the server's user must get there.
    with tempfile.TemporaryDirectory(prefix="tp-", dir="/tmp", ignore_cleanup_errors=True) as name:
        cluster = Cluster(Path(name), binaries)
        owner = _server_user()
        if owner:
            os.chown(name, owner["user"], owner["group"])
        # initdb need not sync: nothing is kept beyond these tests. The server syncs, as an anchor must.
        arguments = ("-U", ADMIN, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
        cluster.run("initdb", "-D", str(cluster.folder / "data"), *arguments)
        (cluster.folder / "data" / "pg_hba.conf").write_text(ACCESS, encoding="utf-8")
        cluster.start()
        try:
            cluster.execute(f"CREATE DATABASE {DATABASE}", database="postgres")
            cluster.execute(format_schema())
            yield cluster
        finally:
            cluster.stop()
