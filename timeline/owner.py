"""The owner's lock: the owner key is put under a passphrase, is opened again, or is lent to an ssh-agent (X13).

While it is locked no process can sign in the owner's name unless the owner types the passphrase at a terminal, or
agrees when the agent asks. The agent forgets the key when its session ends; the sealed key stays.
"""

import msgspec

from sidecars.keys import Signer, Signing, Verifier
from timeline.clock import Entropy
from timeline.errors import StateMissingError
from timeline.files import is_there
from timeline.keyfile import OWNER, begin_form, find_owner, format_key, key_path, read_key, settle_owner
from timeline.keystore import read_pins
from timeline.lock import hold_for_writing
from timeline.owner_errors import AgentUnavailableError, OwnerLockStandingError
from timeline.paths import Locations
from timeline.sealing import (
    NONCE_BYTES,
    SALT_BYTES,
    LockedSigner,
    SealedKey,
    check_new_passphrase,
    format_sealed,
    seal_key,
    unseal_key,
)
from timeline.service import Session
from timeline.ssh_agent import add_key, find_agent, holds_key, remove_key


class OwnerLock(msgspec.Struct, frozen=True):
    """What stands: the owner's public key, whether it is locked, and whether an agent holds it.

    ``agent`` is ``None`` where the environment names no agent that answers.
    """

    verifier: Verifier
    locked: bool
    agent: bool | None


def find_lock(session: Session) -> OwnerLock:
    """Whether the owner key is locked.

    Raises:
        StateError: there is no timeline, or its pins or key cannot be used.
    """
    owner = _find(session.locations)
    return OwnerLock(owner.verifier, isinstance(owner, LockedSigner), _agent_holds(session, owner.verifier))


def check_lock(session: Session, *, locked: bool) -> None:
    """Return only if the owner key is locked, or is not, as the caller needs it.

    Raises:
        OwnerLockStandingError: it is not so.
        StateError: see ``find_lock``.
    """
    if find_lock(session).locked != locked:
        message = "the owner key is not locked" if locked else "the owner key is locked already"
        raise OwnerLockStandingError(message)


def lock_owner(session: Session, passphrase: str) -> OwnerLock:
    """Seal the owner key under a passphrase, and destroy the plain form of its file.

    Raises:
        PassphraseUnfitError: not a passphrase that may seal a key; nothing is changed.
        OwnerLockStandingError: it is locked already.
        StateError: see ``find_lock``; or a file cannot be written: then one of the two forms stands.
    """
    check_new_passphrase(passphrase)
    locations = session.locations
    with hold_for_writing(locations):
        owner = _settled(locations)
        check_lock(session, locked=False)
        seed = read_key(key_path(locations, OWNER))
        sealed = _seal(owner, seed, passphrase, session.ports.entropy)
        begin_form(locations, format_sealed(sealed))
        # What was written opens: only then the plain form goes.
        unseal_key(_sealed(_written(locations, owner.verifier)), passphrase)
        settle_owner(locations, owner.verifier)
    return find_lock(session)


def unlock_owner(session: Session, passphrase: str) -> OwnerLock:
    """Write the owner key back in its plain form, and let the agent forget it.

    Raises:
        PassphraseError: not the passphrase; nothing is changed.
        OwnerLockStandingError: it is not locked.
        StateError: see ``lock_owner``.
    """
    locations = session.locations
    with hold_for_writing(locations):
        owner = _settled(locations)
        check_lock(session, locked=True)
        seed = unseal_key(_sealed(owner), passphrase)
        begin_form(locations, format_key(seed))
        settle_owner(locations, owner.verifier)
    take_from_agent(session)
    return find_lock(session)


def give_to_agent(session: Session, passphrase: str) -> OwnerLock:
    """Lend the locked owner key to the ssh-agent of this login, which asks its owner before each signature.

    Raises:
        PassphraseError: not the passphrase.
        OwnerLockStandingError: it is not locked.
        AgentUnavailableError: there is no agent, or it does not ask before it signs.
        StateError: see ``find_lock``.
    """
    owner = _find(session.locations)
    check_lock(session, locked=True)
    add_key(check_agent(session), owner.verifier, unseal_key(_sealed(owner), passphrase))
    return find_lock(session)


def check_agent(session: Session) -> str:
    """The socket of the agent, if one answers.

    Raises:
        AgentUnavailableError: none does.
    """
    agent = find_agent(session.environment)
    if agent is None:
        message = "SSH_AUTH_SOCK: names no ssh-agent"
        raise AgentUnavailableError(message)
    holds_key(agent, _find(session.locations).verifier)
    return agent


def take_from_agent(session: Session) -> None:
    """Let the agent forget the owner key, if it holds it."""
    verifier = _find(session.locations).verifier
    agent = find_agent(session.environment)
    if agent is not None and _agent_holds(session, verifier):
        remove_key(agent, verifier)


def _find(locations: Locations) -> Signing:
    if not is_there(locations.pins):
        message = f"{locations.trust}: no timeline here"
        raise StateMissingError(message)
    return find_owner(locations, read_pins(locations).owner)


def _settled(locations: Locations) -> Signing:
    """The owner key, after a change of its form that was interrupted is finished."""
    owner = _find(locations)
    settle_owner(locations, owner.verifier)
    return owner


def _written(locations: Locations, pinned: Verifier) -> Signing:
    """What ``begin_form`` has written: the next form is found first."""
    return find_owner(locations, pinned)


def _sealed(owner: Signing) -> SealedKey:
    if not isinstance(owner, LockedSigner):
        message = "an owner key that was found to be locked is locked"
        raise TypeError(message)
    return owner.sealed


def _seal(owner: Signing, seed: bytes, passphrase: str, entropy: Entropy) -> SealedKey:
    if Signer(owner.verifier.name, seed).verifier != owner.verifier:
        message = "the key that is sealed is the one that was found"
        raise RuntimeError(message)
    salt, nonce = entropy.bytes(SALT_BYTES), entropy.bytes(NONCE_BYTES)
    return seal_key(owner.verifier, seed, passphrase, salt=salt, nonce=nonce)


def _agent_holds(session: Session, verifier: Verifier) -> bool | None:
    agent = find_agent(session.environment)
    try:
        return None if agent is None else holds_key(agent, verifier)
    except AgentUnavailableError:
        return None
