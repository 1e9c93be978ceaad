"""A session that is still being written, and everything that may happen to its file besides growing.

Each mishap changes the file as an editor, a copying tool or a host would, and none of them waits for a clock.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from tests.simulators.worlds import World, consent, rollout_of, write_transcript
from timeline import service
from timeline.index import IndexResult
from timeline.status import SourceStatus


@dataclass(slots=True)
class Growing:
    """A followed session of ``world``: ``whole`` is what the host will have written at its end."""

    world: World
    path: Path
    ref: str
    whole: bytes
    written: int

    def write(self, length: int) -> None:
        """Let the host write so many bytes more."""
        with self.path.open("ab") as file:
            file.write(self.whole[self.written : self.written + length])
        self.written = min(len(self.whole), self.written + length)

    def write_up_to(self, size: int) -> None:
        """Let the host write until the file has ``size`` bytes."""
        self.write(size - self.written)

    def index(self, **bounds: int) -> IndexResult:
        """Index the source; a refusal is raised."""
        (found,) = service.index(self.world.session, self.world.root, source_ref=self.ref, **bounds)
        if isinstance(found, tuple):
            raise found[1]
        return found

    def status(self) -> SourceStatus:
        """What ``timeline sources`` says of the source."""
        (found,) = [
            status
            for status in service.list_sources(self.world.session, self.world.root)
            if status.source.enrollment.source.ref == self.ref
        ]
        return found


def follow(world: World, *, first: int, runs: int = 4, filler_bytes: int = 0, seed: int = 0) -> Growing:
    """Enroll a session with ``--follow`` when its host has written ``first`` bytes."""
    rollout = rollout_of(world, runs=runs, filler_bytes=filler_bytes, seed=seed)
    whole = rollout.to_bytes()
    path = write_transcript(world, rollout, whole[:first])
    ref = consent(world, rollout, path, follow=True)
    return Growing(world, path, ref, whole, first)


def until_times_move(path: Path) -> None:
    """Leave the file alone until its change time is another one: a file system's clock is coarse."""
    before = path.stat().st_ctime_ns
    mode = path.stat().st_mode & 0o777
    while path.stat().st_ctime_ns == before:
        path.chmod(mode)


def overwrite(path: Path, offset: int, *, keep_time: bool) -> None:
    """Change one byte in place; with ``keep_time`` put the old modification time back."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)
        file.seek(offset)
        file.write(b"3" if byte != b"3" else b"7")
    if keep_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    until_times_move(path)


def truncate(path: Path, size: int) -> None:
    """Cut the file."""
    os.truncate(path, size)


def copy_over(path: Path) -> None:
    """Write the same bytes into the same file and put the modification time back, as ``cp --preserve`` does."""
    before, content = path.stat(), path.read_bytes()
    with path.open("r+b") as file:
        file.write(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    until_times_move(path)


def replace(path: Path) -> None:
    """Put another file with the same bytes, times and name in its place, as compressing and back does."""
    before, other = path.stat(), path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(path)


def rename_and_back(path: Path) -> None:
    """Give the file another name for a moment."""
    away = path.with_name("away")
    path.rename(away)
    away.rename(path)
    until_times_move(path)


def compress(path: Path) -> None:
    """Leave a compressed file in place of the file, as a host does with a cold session."""
    path.rename(path.with_name(path.name + ".zst"))
