"""Key epochs: the owner puts another log key in force, and asks which were in force when (X7).

The owner key signs the change. The old private key is destroyed once the log holds it, so that whoever steals a key
later can sign nothing that stands before its epoch. An interrupted change is finished, or where nothing was committed
taken back, by the next command (``timeline.keystore``, ``State.repair``). The owner key itself cannot be replaced: it
is what a log is known by.
"""

from typing import Literal

import msgspec

from sidecars.keys import Verifier
from sidecars.leaf import AnchorEntry, EpochReason, KeyEpoch
from sidecars.trust import Epoch
from timeline.errors import LogKeyPresentError
from timeline.keystore import begin_change, load_keystore, load_owner_keystore
from timeline.revoked import LeafRange, find_revoked_keys
from timeline.service import Session
from timeline.state import State, open_for_writing, open_local

Reason = Literal["rotation", "lost", "compromised"]


class KeyChange(msgspec.Struct, frozen=True):
    """A change that is done: the epoch that it began, the key before it, and the witnesses that have to be told."""

    epoch: Epoch
    retired: Verifier
    witnesses: tuple[AnchorEntry, ...]


class KeyStanding(msgspec.Struct, frozen=True):
    """One epoch and what became of its key: ``ended`` is the reason of the next epoch, ``None`` while it is in force.

    ``usable`` says whether the private key is here; ``signed`` are the leaves that a revoked key signed, as ranges, and
    empty for every other key.
    """

    epoch: Epoch
    ended: EpochReason | None
    usable: bool
    signed: tuple[LeafRange, ...]


class Keys(msgspec.Struct, frozen=True):
    """The owner key, and every log key in the order of their epochs."""

    owner: Verifier
    log: tuple[KeyStanding, ...]


def change_log_key(session: Session, reason: Reason) -> KeyChange:
    """Make a new log key and put it in force; the private key before it is destroyed.

    With ``rotation`` that key signs the first head too; otherwise the owner key alone is needed, and every private key
    but the log key must be here.

    Raises:
        LogKeyPresentError: the key is said to be lost and is here.
        KeyMismatchError, StateIncompleteError: a private key that is needed is not here.
        StateBusyError: another process is writing.
        StateError, SidecarError: nothing changed, or the next command finishes or takes back what was begun.
    """
    keys = load_keystore if reason == "rotation" else load_owner_keystore
    with open_for_writing(session.locations, session.ports, keys=keys) as state:
        retired = state.keystore.pins.log
        if reason == "lost" and state.keystore.log_signers:
            message = f"the private log key {retired.ref} is here and fits its pin"
            raise LogKeyPresentError(message)
        state.keystore = begin_change(session.locations, state.keystore, session.ports.entropy)
        body = KeyEpoch(
            epoch=len(state.belief.epochs),
            log_key=str(state.keystore.pins.log_keys[-1]),
            owner_key=str(state.keystore.pins.owner),
            reason=reason,
        )
        state.commit([body])
        state.settle()
        return KeyChange(state.belief.epochs[-1], retired, _witnesses(state))


def list_log_keys(session: Session) -> Keys:
    """Every epoch of the log, oldest first. Changes nothing; a lost log key does not keep it from answering.

    No external anchor is asked: a witness confirms nothing before it was told the key that this names.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    with open_local(session.locations, session.ports, keys=load_owner_keystore) as state:
        here = {signer.verifier for signer in state.keystore.log_signers}
        ends = [*(epoch.reason for epoch in state.belief.epochs[1:]), None]
        signed = {key.epoch.number: key.signed for key in find_revoked_keys(state)}
        standings = tuple(
            KeyStanding(epoch, end, epoch.log_key in here, signed.get(epoch.number, ()))
            for epoch, end in zip(state.belief.epochs, ends, strict=True)
        )
        return Keys(state.keystore.pins.owner, standings)


def _witnesses(state: State) -> tuple[AnchorEntry, ...]:
    decision = state.view.anchors
    return () if decision is None else tuple(a for a in decision.policy.anchors if a.type == "witness")
