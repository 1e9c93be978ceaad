"""The owner's decisions about external anchors: require one, give one up, change the bounds, see how they stand (X5).

Each decision is a leaf under the owner key that states the whole policy, and the configuration folder pins it. An
anchor is required only after it has confirmed the log: whoever sets it up sees at once whether it answers, and an
older state cannot be anchored anew.
"""

import os
from pathlib import Path

import msgspec

from sidecars.errors import SidecarError
from sidecars.leaf import ANCHORS_MAX, AnchorEntry, AnchorPolicy
from timeline.anchors.asking import ask_one
from timeline.anchors.errors import (
    AnchorAddressError,
    AnchorNameError,
    AnchorPolicyError,
    AnchorRefusedError,
    ExternalAheadError,
    ExternalForkedError,
)
from timeline.anchors.locality import place_of
from timeline.anchors.memory import Remembered, forget_memory, write_memory
from timeline.anchors.port import Answer, Standing
from timeline.anchors.proving import Subject
from timeline.assurance import AnchorStatus, find_standing, key_of, policy_of
from timeline.errors import StateBusyError
from timeline.files import check_directory
from timeline.limits import LOG_READS_MAX
from timeline.paths import Locations
from timeline.service import Session
from timeline.state import State, open_for_writing, open_local, open_local_for_writing


class Bounds(msgspec.Struct, frozen=True):
    """What the owner changes of a policy; ``None`` leaves a bound as it is."""

    quorum: int | None = None
    freshness_seconds: int | None = None
    deadline_ms: int | None = None
    unwitnessed_max: int | None = None


def add_anchor(
    session: Session,
    kind: str,
    address: str,
    *,
    key: str | None = None,
    name: str | None = None,
    bounds: Bounds = Bounds(),  # noqa: B008  (a frozen value)
) -> tuple[AnchorEntry, AnchorPolicy]:
    """Ask a new anchor, and require it from now on.

    Raises:
        AnchorNameError, AnchorAddressError, AnchorPolicyError: not a name, address or policy that can be.
        AnchorRefusedError: it did not confirm the log.
        ExternalAheadError, ExternalForkedError: it knows a newer state of this log, or another history.
        StateError, SidecarError: the state cannot be used.
    """
    with open_local_for_writing(session.locations, session.ports) as state:
        state.confirm()
        before = policy_of(state)
        entry = _entry(session.locations, before, kind, address, key, name)
        policy = _with_bounds(
            before,
            (*before.anchors, entry),
            msgspec.structs.replace(bounds, quorum=bounds.quorum or before.quorum or 1),
        )
        _require_confirmed(state, entry, policy)
        state.commit([policy])
        return entry, policy


def remove_anchor(session: Session, name: str, *, quorum: int | None = None) -> AnchorPolicy:
    """Require an anchor no more. It is not asked: one that is gone must be removable.

    Raises:
        AnchorNameError: none has this name.
        AnchorPolicyError: the quorum does not fit those that stay.
        StateError, SidecarError: the state cannot be used.
    """
    with open_local_for_writing(session.locations, session.ports) as state:
        before = policy_of(state)
        rest = tuple(entry for entry in before.anchors if entry.name != name)
        if len(rest) == len(before.anchors):
            message = f"{name[:40]!r}: no external anchor has this name"
            raise AnchorNameError(message)
        wanted = min(before.quorum, len(rest)) if quorum is None else quorum
        policy = _with_bounds(before, rest, Bounds(quorum=wanted))
        state.commit([policy])
        forget_memory(session.locations, name)
        return policy


def set_bounds(session: Session, bounds: Bounds) -> AnchorPolicy:
    """Change quorum, freshness, deadline or how many leaves may be unconfirmed.

    Raises:
        AnchorPolicyError: a bound is out of its range, or nothing would change.
        StateError, SidecarError: the state cannot be used.
    """
    with open_for_writing(session.locations, session.ports) as state:
        before = policy_of(state)
        policy = _with_bounds(before, before.anchors, bounds)
        if policy == before:
            message = "this is the policy that is in force"
            raise AnchorPolicyError(message)
        state.commit([policy])
        return policy


def find_anchors(session: Session, *, ask: bool = True) -> AnchorStatus:
    """How the external anchors stand; with ``ask`` each is asked now. What they say is no error here.

    Raises:
        StateError, SidecarError: the state is not to be believed by itself.
    """
    for _ in range(LOG_READS_MAX):
        with open_local(session.locations, session.ports) as state:
            found = find_standing(state, ask=ask)
            if found.refused is None or not state.is_overtaken():
                return found
    message = (
        f"{session.locations.state}: each time another process had committed before the anchors were asked"
    )
    raise StateBusyError(message)


def _entry(
    locations: Locations, policy: AnchorPolicy, kind: str, address: str, key: str | None, name: str | None
) -> AnchorEntry:
    if len(policy.anchors) >= ANCHORS_MAX:
        message = f"there are {ANCHORS_MAX} external anchors already"
        raise AnchorPolicyError(message)
    taken = {entry.name for entry in policy.anchors}
    if name is None:
        name = next(free for number in range(1, ANCHORS_MAX + 2) if (free := f"{kind}-{number}") not in taken)
    if name in taken:
        message = f"{name}: an external anchor has this name already"
        raise AnchorNameError(message)
    if (key is not None) != (kind == "witness"):
        message = "a witness needs the key that it publishes, and no other anchor has one"
        raise AnchorAddressError(message)
    if kind == "file":
        _check_elsewhere(locations, Path(address))
    try:
        entry = msgspec.convert({"name": name, "type": kind, "address": address, "key": key}, AnchorEntry)
    except msgspec.ValidationError as error:
        if "$.name" in str(error):
            message = "not a name of an external anchor"
            raise AnchorNameError(message) from None
        message = f"not the address of a {kind} anchor"
        raise AnchorAddressError(message) from None
    _check_apart(policy, entry)
    return entry


def _check_apart(policy: AnchorPolicy, entry: AnchorEntry) -> None:
    """One that is required already would count twice in a quorum."""
    for other in policy.anchors:
        if place_of(other) == place_of(entry):
            message = f"{entry.address}: is the anchor {other.name}"
            raise AnchorAddressError(message, hint="name another place; each anchor counts once")
        if other.key is not None and entry.key is not None and _key_of_new(entry) == key_of(other):
            message = f"{entry.name}: has the key of {other.name}"
            raise AnchorAddressError(
                message, hint="name a witness with a key of its own; under one key two places are one witness"
            )


def _key_of_new(entry: AnchorEntry) -> bytes:
    try:
        return key_of(entry)
    except SidecarError as error:
        message = f"{entry.name}: {error}"
        raise AnchorAddressError(message, hint=error.hint) from error


def _check_elsewhere(locations: Locations, path: Path) -> None:
    """A copy inside our own folders would be put back together with them."""
    if not path.is_absolute():
        message = "a file anchor's path must be absolute"
        raise AnchorAddressError(message)
    check_directory(path.parent)
    # As the system follows it: the text may lead here by `..` or by a link further up.
    found = Path(os.path.realpath(path.parent))
    for folder in (locations.state, locations.trust, locations.config):
        if found.is_relative_to(os.path.realpath(folder)):
            message = f"{path}: must lie outside of {folder}"
            raise AnchorAddressError(message)


def _with_bounds(policy: AnchorPolicy, anchors: tuple[AnchorEntry, ...], bounds: Bounds) -> AnchorPolicy:
    changed = {
        name: value for name in bounds.__struct_fields__ if (value := getattr(bounds, name)) is not None
    }
    entries = tuple(sorted(anchors, key=lambda entry: entry.name))
    found = msgspec.structs.replace(policy, anchors=entries, **changed)
    if not min(1, len(entries)) <= found.quorum <= len(entries):
        message = f"quorum {found.quorum}: must be at least 1 and at most the {len(entries)} anchors"
        raise AnchorPolicyError(message)
    try:
        return msgspec.convert(msgspec.to_builtins(found), AnchorPolicy)
    except msgspec.ValidationError as error:
        field = str(error).rpartition("$.")[2].rstrip("`")
        message = f"{field}: out of its bounds"
        raise AnchorPolicyError(message) from None


def _require_confirmed(state: State, entry: AnchorEntry, policy: AnchorPolicy) -> None:
    head = state.reading.finding.head
    subject = Subject(state.locations.database, head.checkpoint, head.note)
    asker = state.external.asker(state.present)
    try:
        # Connected here first: what is wrong with address or key is an error of the owner's, and no answer.
        asker.connect(entry, asker.clock, asker.stopwatch)
        answer = ask_one(asker, entry, subject, known=0, deadline_seconds=policy.deadline_ms / 1000)
    except SidecarError as error:
        message = f"{entry.name}: {error}"
        raise AnchorAddressError(message, hint=error.hint) from error
    size = head.checkpoint.size
    if answer.standing is Standing.AHEAD:
        message = f"this anchor has confirmed {answer.size} leaves of this log, this state has {size}"
        raise ExternalAheadError(message)
    if answer.standing is Standing.FORKED:
        message = f"this anchor has confirmed another history of this log, at {answer.size} leaves"
        raise ExternalForkedError(message)
    if answer.standing is not Standing.CONFIRMED or answer.note is None or answer.at is None:
        raise AnchorRefusedError(_refusal(entry, answer))
    write_memory(state.locations, entry.name, Remembered(head.checkpoint, answer.at, answer.note))


def _refusal(entry: AnchorEntry, answer: Answer) -> str:
    reason = f", {answer.reason}" if answer.reason else ""
    return f"{entry.address}: {answer.standing}{reason}"
