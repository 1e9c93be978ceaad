"""A backup that is not the newest state goes on as a log of its own: a declared fork, with a new origin and new keys.

The third leaf says which log it goes on from, at which size, and the old owner key has signed that. So nobody takes
the fork for the old log, and the old log stays what it is. Consents that still hold, exclusions, decisions about
formats and the owner's rules are stated anew under the new owner key, with their old ids, so that no receipt is spent
a second time.

Sidecars are not taken over, since another key has signed them: `timeline index` reads the transcripts again. External
anchors are not either: they know the old origin only.
"""

from pathlib import Path

import msgspec

from sidecars.erasure import Exclusion
from sidecars.keys import Signing
from sidecars.leaf import BATCH_SIZE_MAX, Body, FormatPolicy, Policy
from sidecars.lineage import Fork, declare_fork
from timeline.archive import Progress
from timeline.errors import BackupInvalidError
from timeline.files import is_there, read_private, write_atomic
from timeline.forgetting.intake import exclusions_of, suppression_of
from timeline.forgetting.plan import is_enrollment_forgotten
from timeline.forgetting.suppression import Suppression
from timeline.founding import found_timeline
from timeline.guard.enrollment import Consent, decide_consent, is_following
from timeline.limits import CONFIG_BYTES_MAX
from timeline.lock import hold_writer_lock
from timeline.manifest import Manifest
from timeline.paths import Locations
from timeline.placing import check_free, check_unpinned, finish_interrupted, place
from timeline.ports import Ports
from timeline.service import Session
from timeline.staging import (
    Given,
    check_unpacked,
    check_whole,
    unpack_backup,
)
from timeline.state import open_local, open_local_for_writing
from timeline.status import SourceStatus, find_status
from timeline.targeting import hand_on_list, take_over_list
from timeline.understanding import FormatRules
from timeline.view import EnrolledSource, Standing
from timeline.workspaces import FORKING, beside, beside_for_restoring, workspace

_READABLE = frozenset({"current", "grown"})
"""States of a source whose transcript can be read again."""


class Lost(msgspec.Struct, frozen=True):
    """Evidence of the old log that the fork cannot find again: the source, how many events, and why."""

    source: str
    events: int
    why: str


class Forked(msgspec.Struct, frozen=True):
    """A fork that was put in place: its origin, what it goes on from, what was taken over, and what is lost."""

    origin: str
    declared: Fork
    manifest: Manifest
    enrollments: int
    formats: int
    anchors: int
    lost: tuple[Lost, ...]


class _Heritage(msgspec.Struct, frozen=True):
    """What a fork takes over from an old log."""

    rules: Policy
    owner: Signing
    sources: tuple[EnrolledSource, ...]
    formats: tuple[FormatPolicy, ...]
    anchors: int
    lost: tuple[Lost, ...]
    suppression: Suppression
    exclusions: tuple[Exclusion, ...]


def fork_backup(
    session: Session,
    file: Path,
    given: Given = Given(),  # noqa: B008  (a frozen value)
    *,
    progress: Progress = lambda _done, _total: None,
) -> Forked | None:
    """Begin a fork of the log in a backup; ``None`` where a restore that was interrupted is finished instead.

    Raises:
        StateExistsError: a timeline stands there; nothing is changed.
        BackupFileError, BackupInvalidError, StateError, SidecarError: the backup is not to be believed, or the fork
            cannot be written.
    """
    locations = session.locations
    old, staged = beside(locations, FORKING), beside_for_restoring(locations)
    with hold_writer_lock(locations.lock):
        if finish_interrupted(locations):
            return None
        check_free(locations, state=True, trust=True)
        check_unpinned(locations)
        with workspace(old), workspace(staged):
            manifest = unpack_backup(file, old, given, needs_keys=True, progress=progress)
            given_list = given.list_beside(locations)
            if given_list is not None:
                take_over_list(given_list, old)
            heritage = _read_heritage(session.ports, old, manifest, progress)
            origin, declared = _found(session.ports, staged, manifest, heritage)
            hand_on_list(heritage.suppression, staged)
            if is_there(old.settings):
                write_atomic(staged.settings, read_private(old.settings, size_max=CONFIG_BYTES_MAX))
            place(staged, locations, with_trust=True, with_pin=True)
    return Forked(
        origin,
        declared,
        manifest,
        len(heritage.sources),
        len(heritage.formats),
        heritage.anchors,
        heritage.lost,
    )


def _read_heritage(ports: Ports, old: Locations, manifest: Manifest, progress: Progress) -> _Heritage:
    """Open the old log as any timeline, and take from it what goes on."""
    with open_local(old, ports) as state:
        check_unpacked(state, manifest)
        check_whole(state, progress)
        view, now_ms = state.view, ports.clock.now_ms()
        if view.policy is None:
            message = "state/state.db: the log has no rules"
            raise BackupInvalidError(message)
        suppression = suppression_of(state)
        found = (describe_lost(find_status(state, source), now_ms) for source in view.active)
        return _Heritage(
            rules=view.policy,
            owner=state.keystore.owner,
            sources=tuple(
                source
                for source in view.active
                if still_counts(source, now_ms)
                and not is_enrollment_forgotten(suppression, source.enrollment)
            ),
            formats=accepted_formats(view.formats),
            anchors=0 if view.anchors is None else len(view.anchors.policy.anchors),
            lost=tuple(lost for lost in found if lost is not None),
            suppression=suppression,
            exclusions=tuple(made.exclusion for made in exclusions_of(state)),
        )


def _found(ports: Ports, staged: Locations, manifest: Manifest, heritage: _Heritage) -> tuple[str, Fork]:
    """Make a new log with new keys, declare what it goes on from, and state again what still counts."""
    found_timeline(staged, ports, heritage.rules)
    with open_local_for_writing(staged, ports) as state:
        pins = state.keystore.pins
        declared = declare_fork(
            fork=pins.origin,
            owner=pins.owner,
            origin=manifest.origin,
            size=manifest.size,
            root=manifest.root,
            old_owner=heritage.owner,
        )
        bodies: list[Body] = [
            declared,
            *heritage.formats,
            *heritage.exclusions,
            # Standing consents end with the old log: what rested on one, the owner says again by his own key.
            *(msgspec.structs.replace(source.enrollment, consent=None) for source in heritage.sources),
        ]
        for start in range(0, len(bodies), BATCH_SIZE_MAX):
            state.commit(bodies[start : start + BATCH_SIZE_MAX])
        return pins.origin, declared


def still_counts(source: EnrolledSource, now_ms: int) -> bool:
    """Whether the consent to a source holds and says all about it, so that a new log can begin with it. Pure.

    Of a file that was followed until it had grown, only the old log knew where its last generation ended.
    """
    grown = source.enrollment.mode == "follow" and bool(source.extensions)
    return (
        source.standing is Standing.ACTIVE
        and source.broken is None
        and decide_consent(source, now_ms) is not Consent.ENDED
        and (not grown or is_following(source.enrollment, now_ms))
    )


def accepted_formats(rules: FormatRules) -> tuple[FormatPolicy, ...]:
    """The decisions that bring a new log to the same rules: one for each type that is accepted now. Pure."""
    return tuple(FormatPolicy(host=host, type=name, accepted=True) for host, name in sorted(rules.accepted))


def describe_lost(status: SourceStatus, now_ms: int) -> Lost | None:
    """What of a source the fork cannot find again; ``None`` where it can, or where nothing was found. Pure."""
    source = status.source
    if not status.events:
        return None
    if status.state not in _READABLE:
        why = status.state if status.reason is None else f"{status.state} ({status.reason})"
    elif not still_counts(source, now_ms):
        why = "followed until it had grown: enroll it again"
    else:
        return None
    return Lost(source.enrollment.source.ref, status.events, why)
