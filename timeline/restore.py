"""A backup comes back, if it is the newest state of its log; an older one is recognised and never passed off as that.

What says that a backup is the newest, the strongest first: the external anchors that its log requires, asked now; the
local anchor, where the trust folder still stands; a carried anchor of exactly its size; or the owner's word. The last
two become a leaf. Whatever speaks against it refuses it, whatever the owner declares: an anchor that is ahead, another
history, a pin or a carried anchor that the log does not hold.

What an anchor said when the backup was made is in the backup, and counts for nothing here: only an answer of now does.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NoReturn

import msgspec

from sidecars.errors import EquivocationError, RollbackError
from sidecars.leaf import AnchorEntry
from sidecars.lineage import Restoration
from sidecars.trust import Consistent, HeadRepairable
from timeline.anchors.errors import (
    AnchorRefusedError,
    ExternalAheadError,
    ExternalForkedError,
    StateBehindPinError,
)
from timeline.anchors.port import Standing
from timeline.archive import Progress
from timeline.assurance import AnchorStatus, find_standing
from timeline.carried import is_carried
from timeline.clock import Clock, Stopwatch
from timeline.errors import (
    BackupOlderError,
    BackupUnverifiedError,
    StateError,
    StateMissingError,
)
from timeline.files import is_there, remove_private, rename_private
from timeline.forgetting.applying import Applied
from timeline.lock import hold_writer_lock
from timeline.manifest import Manifest
from timeline.paths import Locations
from timeline.placing import check_free, check_same_log, finish_interrupted, has_pin_of, place
from timeline.ports import Ports
from timeline.service import Session
from timeline.staging import (
    Given,
    check_unpacked,
    check_whole,
    unpack_backup,
)
from timeline.state import State, open_local, open_local_for_writing, open_lost
from timeline.targeting import forget_again, take_over_list
from timeline.workspaces import beside_for_restoring, workspace

Basis = Literal["external", "local-anchor", "carried", "unverified"]
Local = Literal["exact", "behind"] | None
"""Whether the local anchor of a trust folder that stands remembers the restored tree, or the batch before; or none."""

_HINT_BEHIND = (
    "make an external anchor reachable; where you know that nothing was committed after this backup, move the trust "
    "folder away and restore both, with --unverified"
)


class Restored(msgspec.Struct, frozen=True):
    """A backup that was put in place: what it is, and on which ground it counts as the newest state.

    ``leaf`` is the leaf that says so, where one does; ``forgotten`` is what was erased from it, since it had been
    forgotten after the backup was made.
    """

    manifest: Manifest
    basis: Basis
    leaf: int | None
    forgotten: Applied | None = None


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
            given_list = given.list_beside(locations)
            if given_list is not None and not has_trust:
                take_over_list(given_list, staged)
            has_pin = has_pin_of(locations, manifest.origin)
            seen = Locations(
                staged.state,
                locations.trust if has_trust else staged.trust,
                locations.config if has_pin else staged.config,
                staged.runtime,
            )
            basis, leaf = _accept(
                session.ports, seen, manifest, given, has_trust=has_trust, progress=progress
            )
            # A trust folder that stands remembers exactly this log, and all that was forgotten in it.
            forgotten = None if has_trust else _forget_again(session.ports, seen)
            place(staged, locations, with_trust=not has_trust, with_pin=not has_pin)
    return Restored(manifest, basis, leaf, forgotten)


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
            given_list = given.list_beside(locations)
            if given_list is not None:
                take_over_list(given_list, staged)
            # An anchor as old as the backup would pass for what was accepted last.
            remove_private(staged.anchor)
            seen = Locations(locations.state, staged.trust, locations.config, staged.runtime)
            with open_lost(seen, session.ports):
                pass
            rename_private(staged.trust, locations.trust)
    return manifest


# -- which ground ----------------------------------------------------------------------------------------------


def decide_basis(
    status: AnchorStatus, *, local: Local, carried: bool, unverified: bool
) -> Basis | BackupOlderError | BackupUnverifiedError:
    """The strongest ground on which a log of ``status.size`` leaves counts as the newest, or why there is none. Pure.

    ``local``: what the local anchor says; ``carried``: a carried anchor is of exactly its size. Beside an anchor that
    is behind, neither that nor the owner's word counts. Their leaf would move it before the state is in place: a
    restore that is interrupted then would leave an anchor that vouches for this backup, or for a tree that is gone.
    """
    if isinstance(status.refused, ExternalAheadError | ExternalForkedError):
        return BackupOlderError(status.refused.message)
    confirmed = sum(
        report.answer is not None and report.answer.standing is Standing.CONFIRMED
        for report in status.reports
    )
    if status.policy.anchors and confirmed >= status.policy.quorum:
        return "external"
    if local == "exact":
        return "local-anchor"
    if local is None and carried:
        return "carried"
    if local is None and unverified:
        return "unverified"
    why = (
        f"{confirmed} of the {status.policy.quorum} external anchors that must confirm it do so now"
        if status.policy.anchors
        else "its log requires no external anchor"
    )
    message = f"whether this backup of {status.size} leaves is the newest state cannot be known: {why}"
    if local == "behind":
        return BackupUnverifiedError(f"{message}; the local anchor remembers a batch less", hint=_HINT_BEHIND)
    return BackupUnverifiedError(message)


def _accept(
    ports: Ports, seen: Locations, manifest: Manifest, given: Given, *, has_trust: bool, progress: Progress
) -> tuple[Basis, int | None]:
    """Open what was unpacked as any timeline, and find the ground on which it counts; a weak one becomes a leaf."""
    with _older(), open_local(seen, ports) as state:
        check_unpacked(state, manifest)
        check_whole(state, progress)
        carried = is_carried(state, given.carried)
        # The head of a backup is that of all its leaves, or there is nothing to ask about.
        status = find_standing(state, ask=not isinstance(state.reading.finding, HeadRepairable))
        local = _local(state) if has_trust else None
        basis = decide_basis(status, local=local, carried=carried, unverified=given.unverified)
    if isinstance(basis, StateError):
        raise basis
    if basis in {"external", "local-anchor"}:
        return basis, None
    body = Restoration("carried" if basis == "carried" else "unverified", manifest.at)
    with open_local_for_writing(seen, _silent(ports)) as state:
        (leaf,) = state.commit([body])
    return basis, leaf.index


def _forget_again(ports: Ports, seen: Locations) -> Applied | None:
    """What was forgotten does not come back with a backup that was made before (M18).

    Raises:
        KeyMismatchError: the owner key is not to be had: such a backup is not put in place.
        StateError, SidecarError: it cannot be erased.
    """
    with open_local_for_writing(seen, _silent(ports)) as state:
        return forget_again(state)


def _silent(ports: Ports) -> Ports:
    """No anchor hears of a leaf before the log that holds it is in place."""
    return msgspec.structs.replace(ports, connect=_unasked)


def _local(state: State) -> Local:
    """What the anchor beside an unpacked state says of it; an anchor that is ahead has refused it."""
    return "exact" if isinstance(state.reading.finding, Consistent) else "behind"


@contextmanager
def _older() -> Iterator[None]:
    """What a local anchor, a pin or a carried anchor refuses as a rollback is a backup that is not the latest."""
    try:
        yield
    except (RollbackError, EquivocationError, StateBehindPinError) as error:
        raise BackupOlderError(str(error)) from error


def _unasked(entry: AnchorEntry, _clock: Clock, _stopwatch: Stopwatch) -> NoReturn:
    message = f"{entry.name}: not asked before the restored log is in place"
    raise AnchorRefusedError(message)
