"""A backup comes back, if it is the newest state of its log; an older one is recognised and never passed off as that.

What says that a backup is the newest, the strongest first: the external anchors that its log requires, asked now; the
local anchor, where the trust folder still stands; a carried anchor of exactly its size; or the owner's word. The last
two become a leaf. Whatever speaks against it refuses it, whatever the owner declares: an anchor that is ahead, another
history, a pin or a carried anchor that the log does not hold.

What an anchor said when the backup was made is in the backup, and counts for nothing here: only an answer of now does.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NoReturn

import msgspec

from sidecars.errors import EquivocationError, RollbackError
from sidecars.leaf import AnchorEntry
from sidecars.lineage import Restoration
from timeline.anchors.errors import (
    AnchorRefusedError,
    ExternalAheadError,
    ExternalForkedError,
    StateBehindPinError,
)
from timeline.anchors.port import MonotonicAnchor, Standing
from timeline.archive import Progress
from timeline.assurance import AnchorStatus, find_standing
from timeline.carried import committed_hashes, compare_anchor
from timeline.clock import Clock, Stopwatch
from timeline.errors import (
    BackupOlderError,
    BackupUnverifiedError,
    StateError,
    StateMissingError,
)
from timeline.files import is_there, remove_private, rename_private
from timeline.lock import hold_writer_lock
from timeline.manifest import Manifest
from timeline.paths import Locations
from timeline.ports import Ports
from timeline.service import Session
from timeline.staging import (
    Given,
    beside_for_restoring,
    check_free,
    check_same_log,
    check_unpacked,
    check_whole,
    finish_interrupted,
    has_pin_of,
    place,
    unpack_backup,
    workspace,
)
from timeline.state import State, open_local, open_local_for_writing, open_lost

Basis = Literal["external", "local-anchor", "carried", "unverified"]


class Restored(msgspec.Struct, frozen=True):
    """A backup that was put in place: what it is, and on which ground it counts as the newest state.

    ``leaf`` is the leaf that says so, where one does.
    """

    manifest: Manifest
    basis: Basis
    leaf: int | None


def restore(
    session: Session,
    file: Path,
    given: Given = Given(),  # noqa: B008  (a frozen value)
    *,
    progress: Progress = lambda _done, _total: None,
) -> Restored | None:
    """Put a backup in place; ``None`` where a restore that was interrupted is finished instead.

    Where the trust folder stands, the state alone comes back, if it is the one that the local anchor remembers.

    Raises:
        StateExistsError: a timeline stands there; nothing is changed.
        BackupOlderError: a newer state of this log is known, or another history.
        BackupUnverifiedError: nothing shows that it is the newest, and the owner does not declare it.
        BackupFileError, BackupInvalidError, StateError, SidecarError: it is not to be believed, or cannot be put there.
    """
    locations = session.locations
    with hold_writer_lock(locations.lock):
        if finish_interrupted(locations):
            return None
        has_trust = is_there(locations.pins)
        check_free(locations, state=True, trust=not has_trust)
        staged = beside_for_restoring(locations)
        with workspace(staged):
            manifest = unpack_backup(file, staged, given, needs_keys=not has_trust, progress=progress)
            if has_trust:
                check_same_log(locations, manifest.origin)
            has_pin = has_pin_of(locations, manifest.origin)
            seen = Locations(
                staged.state,
                locations.trust if has_trust else staged.trust,
                locations.config if has_pin else staged.config,
                staged.runtime,
            )
            basis, leaf = _accept(session.ports, seen, manifest, given, local=has_trust, progress=progress)
            place(staged, locations, with_trust=not has_trust, with_pin=not has_pin)
    return Restored(manifest, basis, leaf)


def restore_trust(
    session: Session,
    file: Path,
    given: Given = Given(),  # noqa: B008  (a frozen value)
    *,
    progress: Progress = lambda _done, _total: None,
) -> Manifest:
    """Put pins and keys of a backup beside a state that stands. Its local anchor stays lost: a recovery decides on it.

    Raises:
        StateMissingError: there is no state.
        StateExistsError: the trust folder stands.
        BackupFileError, BackupInvalidError, StateError, SidecarError: the keys are not those of this state.
    """
    locations = session.locations
    with hold_writer_lock(locations.lock):
        if not is_there(locations.database):
            message = f"{locations.state}: no state here that the trust folder could belong to"
            raise StateMissingError(message)
        check_free(locations, state=False, trust=True)
        staged = beside_for_restoring(locations)
        with workspace(staged):
            manifest = unpack_backup(file, staged, given, needs_keys=True, progress=progress)
            # An anchor as old as the backup would pass for what was accepted last.
            remove_private(staged.anchor)
            seen = Locations(locations.state, staged.trust, locations.config, staged.runtime)
            with open_lost(seen, session.ports):
                pass
            rename_private(staged.trust, locations.trust)
    return manifest


# -- which ground ----------------------------------------------------------------------------------------------


def decide_basis(
    status: AnchorStatus, *, local: bool, carried: bool, unverified: bool
) -> Basis | BackupOlderError | BackupUnverifiedError:
    """The strongest ground on which a log of ``status.size`` leaves counts as the newest, or why there is none. Pure.

    ``local``: it is what the local anchor remembers; ``carried``: a carried anchor is of exactly its size.
    """
    if isinstance(status.refused, ExternalAheadError | ExternalForkedError):
        return BackupOlderError(status.refused.message)
    confirmed = sum(
        report.answer is not None and report.answer.standing is Standing.CONFIRMED
        for report in status.reports
    )
    if status.policy.anchors and confirmed >= status.policy.quorum:
        return "external"
    if local:
        return "local-anchor"
    if carried:
        return "carried"
    if unverified:
        return "unverified"
    why = (
        f"{confirmed} of the {status.policy.quorum} external anchors that must confirm it do so now"
        if status.policy.anchors
        else "its log requires no external anchor"
    )
    message = f"whether this backup of {status.size} leaves is the newest state cannot be known: {why}"
    return BackupUnverifiedError(message)


def _accept(
    ports: Ports, seen: Locations, manifest: Manifest, given: Given, *, local: bool, progress: Progress
) -> tuple[Basis, int | None]:
    """Open what was unpacked as any timeline, and find the ground on which it counts; a weak one becomes a leaf."""
    with _older(), open_local(seen, ports) as state:
        check_unpacked(state, manifest)
        check_whole(state, progress)
        carried = _compare_carried(state, given.carried)
        status = find_standing(state, ask=state.consistent)
        basis = decide_basis(status, local=local, carried=carried, unverified=given.unverified)
    if isinstance(basis, StateError):
        raise basis
    if basis in {"external", "local-anchor"}:
        return basis, None
    body = Restoration("carried" if basis == "carried" else "unverified", manifest.at)
    # No anchor hears of this leaf before the log that holds it is in place.
    silent = msgspec.structs.replace(ports, connect=_unasked)
    with open_local_for_writing(seen, silent) as state:
        (leaf,) = state.commit([body])
    return basis, leaf.index


@contextmanager
def _older() -> Iterator[None]:
    """What a local anchor, a pin or a carried anchor refuses as a rollback is a backup that is not the latest."""
    try:
        yield
    except (RollbackError, EquivocationError, StateBehindPinError) as error:
        raise BackupOlderError(str(error)) from error


def _compare_carried(state: State, files: Sequence[Path]) -> bool:
    """Whether one of these carried anchors is of exactly this size; each must be contained in the log."""
    if not files:
        return False
    hashes = committed_hashes(state)
    sizes = [compare_anchor(state, hashes, path).checkpoint.size for path in files]
    return state.belief.size in sizes


def _unasked(entry: AnchorEntry, _clock: Clock, _stopwatch: Stopwatch) -> MonotonicAnchor:
    _refuse(entry)


def _refuse(entry: AnchorEntry) -> NoReturn:
    message = f"{entry.name}: not asked before the restored log is in place"
    raise AnchorRefusedError(message)
