"""A local anchor or a pin that is lost: its own state, and the owner's own way out of it, never a fresh start.

What is left may be an older state that somebody put back without the anchor. It is accepted on one of three grounds,
and the ground becomes a leaf: the external anchors confirm it as the newest, now; a carried anchor (a file that a
person kept elsewhere) states exactly it; or the owner declares it without any proof.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from sidecars.leaf import AnchorRecovery
from timeline.anchors.errors import (
    AnchorUnneededError,
    AnchorUnprovenError,
    StaleError,
    UnwitnessedError,
)
from timeline.anchors.rules import Verdict
from timeline.carried import is_carried
from timeline.files import is_there
from timeline.service import Session
from timeline.state import State, open_lost

Lost = Literal["anchor", "pin"]
Basis = Literal["external", "carried", "unverified"]


class Recovered(msgspec.Struct, frozen=True):
    """What was lost, on which ground the state was accepted, and its size before that was recorded."""

    lost: tuple[Lost, ...]
    basis: Basis
    size: int


def recover_anchor(session: Session, *, carried: Sequence[Path] = (), unverified: bool = False) -> Recovered:
    """Make the state at hand the newest accepted one again, where local anchor or pin is lost.

    Raises:
        AnchorUnneededError: nothing is lost.
        AnchorUnprovenError: nothing shows that this is the newest state, and the owner does not declare it.
        StateError, SidecarError: an anchor, or a carried one, says that it is not; or it is not to be believed at all.
    """
    with open_lost(session.locations, session.ports) as state:
        lost = _find_lost(state)
        if not lost:
            message = "local anchor and pin are there"
            raise AnchorUnneededError(message)
        basis = _find_basis(state, carried, unverified=unverified)
        size = state.belief.size
        # Recorded first: the commit writes the anchor. Interrupted, it is lost still, and this is asked again.
        state.commit([AnchorRecovery(lost=what, basis=basis) for what in lost])
        if "pin" in lost:
            state.external.move_pin(state.present, anew=True)
    return Recovered(lost, basis, size)


def _find_lost(state: State) -> tuple[Lost, ...]:
    lost: list[Lost] = []
    if not is_there(state.locations.anchor):
        lost.append("anchor")
    if not is_there(state.locations.anchor_pin):
        lost.append("pin")
    return tuple(lost)


def _find_basis(state: State, carried: Sequence[Path], *, unverified: bool) -> Basis:
    """The strongest ground there is. One that speaks against the state refuses it, whatever the owner declares."""
    if is_there(state.locations.anchor_pin):
        state.external.check_pin(state.present)
    is_exact = is_carried(state, carried)
    if _is_confirmed_now(state, unverified=unverified):
        return "external"
    if is_exact:
        return "carried"
    if unverified:
        return "unverified"
    message = (
        "no quorum of external anchors confirms this state now, and no carried anchor states exactly its size"
    )
    raise AnchorUnprovenError(message)


def _is_confirmed_now(state: State, *, unverified: bool) -> bool:
    """Whether a quorum has just answered. What is remembered of one does not count: it was put back with the rest."""
    if state.view.anchors is None or not state.view.anchors.policy.anchors:
        return False
    try:
        state.confirm()
    except (StaleError, UnwitnessedError):
        if not unverified:
            raise
        return False
    return state.external.found is not None and state.external.found.verdict is Verdict.CONFIRMED
