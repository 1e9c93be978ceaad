"""A consistent copy of a timeline in one file, while others go on writing (``docs/spec/backup.md``).

No lock keeps a writer waiting. The small files are read first, the anchor before the head, and then the database as
it stands at one moment: so the copy is what a crash at that moment would have left, and the one repair that may be due
is taken in the copy. Before anything is said to be done, the copy was opened, repaired and checked by the code that
opens every timeline, and the file was read back.

Pending receipts are not copied: a receipt is spent once, and an older row of it would let it be spent again. What was
deleted from the database is not copied either.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from sidecars.digest import Digest
from sidecars.errors import SidecarError
from sidecars.keys import Signer
from sidecars.store import Store as SidecarStore
from sidecars.trust import Belief
from timeline.archive import Progress, check_new, digest_file, write_archive
from timeline.errors import (
    InitInterruptedError,
    StateBusyError,
    StateError,
    StateMissingError,
    StateUnwritableError,
)
from timeline.files import create_private, is_there, make_directory, read_private, write_atomic
from timeline.limits import (
    CONFIG_BYTES_MAX,
    KEY_BYTES_MAX,
    LOG_READS_MAX,
    NOTE_BYTES_MAX,
    SUPPRESSION_BYTES_MAX,
)
from timeline.lock import hold_writer_lock
from timeline.manifest import (
    ANCHOR,
    ANCHOR_PIN,
    DATABASE,
    HEAD,
    KEYS,
    MEMORIES,
    PINS,
    SETTINGS,
    SUPPRESSION,
    SUPPRESSION_KEY,
    Manifest,
    Member,
    order_members,
    seal_manifest,
    sidecar_name,
)
from timeline.paths import Locations
from timeline.remains import Stage, decide_stage, find_remains
from timeline.service import Session
from timeline.staging import check_whole, place_of
from timeline.state import State, open_local_for_writing
from timeline.store import create_store, open_store
from timeline.workspaces import BACKING_UP, backup_lock, beside, clear_folder, workspace


class BackedUp(msgspec.Struct, frozen=True):
    """A backup that was written and read back: the file, its length in bytes, and what it holds."""

    file: Path
    file_bytes: int
    manifest: Manifest

    @property
    def sidecars(self) -> int:
        """How many sidecars it holds."""
        return sum(name.startswith("state/sidecars/") for name in self.manifest.names)


class _Copy(msgspec.Struct, frozen=True):
    """What the copy was found to be, and the key that signs for it."""

    belief: Belief
    origin: str
    signer: Signer
    names: tuple[str, ...]


def back_up(
    session: Session, file: Path, *, with_keys: bool = True, progress: Progress = lambda _done, _total: None
) -> BackedUp:
    """Copy a timeline into a new file. External anchors are not asked: a restore does that.

    Raises:
        BackupFileError: the file exists already or cannot be written.
        StateMissingError, InitInterruptedError: there is nothing to copy.
        StateBusyError: another backup is being made, or each copy was overtaken by commits.
        StateError, SidecarError: the state is not to be believed; nothing is written.
    """
    check_new(file)
    locations = session.locations
    _check_there(locations)
    copy = beside(locations, BACKING_UP)
    with hold_writer_lock(backup_lock(locations)), workspace(copy):
        found = _take_copy(session, copy, progress)
        names = [name for name in found.names if with_keys or name not in KEYS]
        members = order_members([_member(copy, name) for name in names])
        manifest = Manifest(
            origin=found.origin,
            size=found.belief.size,
            root=str(found.belief.root),
            at=session.ports.clock.now_ms(),
            members=members,
        )
        envelope = seal_manifest(manifest, found.signer)
        pairs = [(member, place_of(copy, member.name)) for member in members]
        return BackedUp(file, write_archive(file, envelope, pairs, progress), manifest)


def _check_there(locations: Locations) -> None:
    if not is_there(locations.state) and not is_there(locations.trust):
        message = f"{locations.state}: no timeline here"
        raise StateMissingError(message)
    if decide_stage(find_remains(locations)) is Stage.UNPINNED:
        message = f"{locations.state}: `timeline init` was interrupted before the keys were pinned"
        raise InitInterruptedError(message)


def _take_copy(session: Session, copy: Locations, progress: Progress) -> _Copy:
    """A copy of one moment. One that fits no moment is taken again, if something was committed meanwhile."""
    locations = session.locations
    for _ in range(LOG_READS_MAX):
        before = _sight(locations)
        try:
            _copy_moment(locations, copy, progress)
            return _settle(session, copy, progress)
        except (StateError, SidecarError):
            if _sight(locations) == before:
                raise
    message = f"{locations.state}: the log changed each of the {LOG_READS_MAX} times that it was copied"
    raise StateBusyError(message)


def _sight(locations: Locations) -> tuple[bytes, bytes, bytes]:
    """What changes with every commit and every change of a key."""
    return (
        read_private(locations.pins, size_max=KEY_BYTES_MAX),
        read_private(locations.anchor, size_max=NOTE_BYTES_MAX),
        read_private(locations.head, size_max=NOTE_BYTES_MAX),
    )


def _copy_moment(locations: Locations, copy: Locations, progress: Progress) -> None:
    """Read the small files and fix the moment of the database right behind them; only then write anything."""
    for suffix in ("", "-wal", "-shm", "-journal"):  # of a copy that was overtaken
        copy.database.with_name(copy.database.name + suffix).unlink(missing_ok=True)
    create_store(copy.database).close()
    live = open_store(locations.database)
    try:
        files = _read_files(locations)
        with live.snapshot():
            live.copy_to(copy.database, progress)
        # Only ever added to, and the key is there before the first erasure; what the list lacks, its log knows.
        files += [
            (path, read_private(path, size_max=size_max))
            for path, size_max in (
                (locations.suppression, SUPPRESSION_BYTES_MAX),
                (locations.suppression_key, KEY_BYTES_MAX),
            )
            if is_there(locations.suppression) and is_there(locations.suppression_key)
        ]
    finally:
        live.close()
    for folder in (copy.trust, copy.config):
        clear_folder(folder)
    for folder in (copy.trust, copy.keys, copy.config):
        make_directory(folder)
    for path, content in files:
        target = _twin(locations, copy, path)
        make_directory(target.parent)
        write_atomic(target, content)


def _read_files(locations: Locations) -> list[tuple[Path, bytes]]:
    """Everything but database and sidecars, in an order in which nothing read later is older.

    The pin and what is remembered of external anchors speak of leaves: those read before the database are in it.
    """
    files = [
        (locations.anchor_pin, KEY_BYTES_MAX),
        *((path, NOTE_BYTES_MAX) for path in _memories(locations)),
        (locations.pins, KEY_BYTES_MAX),
        *((path, KEY_BYTES_MAX) for path in sorted(locations.keys.glob("*.key"))),
        (locations.anchor, NOTE_BYTES_MAX),
        (locations.head, NOTE_BYTES_MAX),
    ]
    if is_there(locations.settings):
        files.append((locations.settings, CONFIG_BYTES_MAX))
    return [(path, read_private(path, size_max=size_max)) for path, size_max in files]


def _memories(locations: Locations) -> list[Path]:
    if not is_there(locations.memories):
        return []
    return sorted(path for path in locations.memories.iterdir() if not path.name.endswith(".tmp"))


def _twin(locations: Locations, copy: Locations, path: Path) -> Path:
    for name in ("state", "trust", "config"):
        folder: Path = getattr(locations, name)
        if path.is_relative_to(folder):
            twin: Path = getattr(copy, name)
            return twin / path.relative_to(folder)
    message = "a file of a timeline lies in one of its folders"
    raise RuntimeError(message)


def _settle(session: Session, copy: Locations, progress: Progress) -> _Copy:
    """Open the copy as any timeline, take the repair that may be due, and check all that it needs."""
    with open_local_for_writing(copy, session.ports) as state:
        state.store.forget_deleted()
        _copy_sidecars(session.locations, copy, state)
        check_whole(state, progress)
        digests = sorted(state.view.kept_digests())
        found = _Copy(
            state.belief,
            state.keystore.pins.origin,
            state.keystore.log,
            tuple(_names(copy, digests)),
        )
    if is_there(copy.database.with_name(copy.database.name + "-wal")):
        message = f"{copy.database}: its write-ahead log was not folded in"
        raise StateUnwritableError(message)
    return found


def _copy_sidecars(locations: Locations, copy: Locations, state: State) -> None:
    """Copy what the copied log needs. One that a writer has removed since makes this copy one of no moment."""
    live = SidecarStore(locations.sidecars)
    there = state.sidecars.listing().digests
    for source in state.view.sources:
        for entry in source.kept:
            digest = Digest.parse(entry.digest)
            if digest not in there:
                content = live.get(digest)
                with create_private(place_of(copy, sidecar_name(digest))) as file:
                    file.write(content)


def _names(copy: Locations, digests: Sequence[str]) -> list[str]:
    memories = [f"{MEMORIES}{path.name}" for path in _memories(copy)]
    settings = [SETTINGS] if is_there(copy.settings) else []
    forgotten = [SUPPRESSION, SUPPRESSION_KEY] if is_there(copy.suppression) else []
    sidecars = [sidecar_name(Digest.parse(digest)) for digest in digests]
    return [PINS, DATABASE, HEAD, ANCHOR, ANCHOR_PIN, *KEYS, *forgotten, *memories, *settings, *sidecars]


def _member(copy: Locations, name: str) -> Member:
    size, digest = digest_file(place_of(copy, name))
    return Member(name, size, str(digest))
