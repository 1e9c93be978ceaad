"""A backup that is unpacked and checked in folders beside those of a timeline (``workspaces``).

Nothing is checked where it will be used, and nothing stands there until it was checked (``placing``).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from sidecars.keys import Verifier
from timeline.archive import Archive, Progress, open_archive
from timeline.errors import (
    BackupInvalidError,
    BackupKeysError,
    KeyMismatchError,
)
from timeline.files import (
    create_private,
    make_directory,
    make_durable,
    open_regular,
    write_atomic,
)
from timeline.keystore import key_files, read_pins
from timeline.limits import KEY_BYTES_MAX
from timeline.manifest import PINS, Manifest, Member, open_manifest
from timeline.paths import Locations
from timeline.state import State


class Given(msgspec.Struct, frozen=True):
    """What the owner gives beside a backup.

    ``owner`` is the owner's vkey, if known from elsewhere: the pins come out of the backup itself. ``carried`` are
    files of carried anchors; ``keys`` is a folder with the private keys, for a backup without; ``unverified`` is the
    owner's word that nothing was committed after it. ``forgotten`` is a trust folder with a newer list of what was
    forgotten.
    """

    owner: str | None = None
    carried: Sequence[Path] = ()
    keys: Path | None = None
    unverified: bool = False
    forgotten: Path | None = None

    def list_beside(self, locations: Locations) -> Locations | None:
        """Where the given list lies, as a timeline's folders."""
        return None if self.forgotten is None else msgspec.structs.replace(locations, trust=self.forgotten)


def place_of(locations: Locations, name: str) -> Path:
    """Where a file of a backup belongs; its name was checked against the closed list."""
    group, _, rest = name.partition("/")
    folders = {"state": locations.state, "trust": locations.trust, "config": locations.config}
    return folders[group] / rest


# -- a backup, unpacked ----------------------------------------------------------------------------------------


def unpack_backup(
    file: Path,
    staged: Locations,
    given: Given,
    *,
    needs_keys: bool,
    progress: Progress,
) -> Manifest:
    """Unpack a backup, as far as its manifest, its digests and its pins vouch for each other.

    ``needs_keys``: its private keys will be used; a backup without them needs those that are given.

    Raises:
        BackupFileError, BackupInvalidError: it cannot be read, or is not whole.
        UnverifiedError, MalformedError: the manifest is not signed by the log key that the pins name.
        KeyMismatchError: the pins name another owner key than the given one, or a key file is not a key.
        BackupKeysError: there are no private keys.
        StateError: it cannot be unpacked.
    """
    with open_archive(file) as archive:
        manifest = _open_manifest(archive, staged, given.owner)
        if needs_keys and given.keys is None and not manifest.has_keys:
            raise _keys_missing(file)

        def write(member: Member, pieces: Iterator[bytes]) -> None:
            if member.name == PINS:
                return
            path = place_of(staged, member.name)
            make_directory(path.parent)
            with create_private(path) as target:
                target.writelines(pieces)
                make_durable(target)

        archive.unpack(manifest.members, write, progress)
    if given.keys is not None and not manifest.has_keys:
        for path in key_files(staged):
            write_atomic(path, _read_key(given.keys / path.name))
    return manifest


def _open_manifest(archive: Archive, staged: Locations, owner: str | None) -> Manifest:
    write_atomic(staged.pins, archive.pins)
    pins = read_pins(staged)
    if owner is not None and Verifier.parse(owner) != pins.owner:
        message = f"the owner key of this backup is {pins.owner}, not the given one"
        raise KeyMismatchError(message, hint="the backup is of another log, or somebody else made it")
    manifest = open_manifest(archive.envelope, pins.log_keys)
    if manifest.origin != pins.origin:
        message = "manifest: its origin must be the one that the pins name"
        raise BackupInvalidError(message)
    return manifest


def _read_key(path: Path) -> bytes:
    """A key that a person brings along; a stick knows no modes, so that it need not be private."""
    with open_regular(path) as file:
        return file.read(KEY_BYTES_MAX + 1)


def _keys_missing(file: Path) -> BackupKeysError:
    names = "owner.key, log.key and fingerprint.key"
    message = f"{file}: made without private keys: {names} are missing"
    return BackupKeysError(message)


def check_whole(state: State, progress: Progress) -> None:
    """Return only if the database is sound and every sidecar that the log needs is there and good.

    Raises:
        StateError, SidecarError: what is wrong.
    """
    state.check_structure()
    needed = [entry for source in state.view.sources for entry in source.kept]
    for number, entry in enumerate(needed):
        state.sidecar(entry)
        progress(number + 1, len(needed))


def check_unpacked(state: State, manifest: Manifest) -> None:
    """Return only if an unpacked log is exactly the one that the manifest names, and brings nothing along.

    No receipt, that is, and no leaf that was erased.

    Raises:
        BackupInvalidError: it is not.
    """
    belief = state.belief
    if (belief.size, str(belief.root)) != (manifest.size, manifest.root):
        message = "manifest: size and root must be those of the log"
        raise BackupInvalidError(message)
    if state.reading.due:
        message = "state/state.db: a backup must not hold what its log says was erased"
        raise BackupInvalidError(message)
    if list(state.store.query("SELECT 1 FROM receipt LIMIT 1")):
        # A receipt is spent once; an older row of it would let it be spent again.
        message = "state/state.db: a backup must hold no receipt"
        raise BackupInvalidError(message)
