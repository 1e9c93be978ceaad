"""How a command of the owner comes to a signature while the owner key is locked: by an agent, or by the passphrase.

The key is opened once for one command, and is gone with its process. The daemon has no part in this: its ports leave
the key locked.
"""

from collections.abc import Mapping
from functools import lru_cache

from sidecars.keys import Signer, Signing
from timeline.files import is_there
from timeline.keyfile import find_owner
from timeline.keystore import read_pins
from timeline.owner_errors import AgentUnavailableError
from timeline.paths import Locations
from timeline.sealing import LockedSigner, SealedKey, Unlock, unseal_key
from timeline.ssh_agent import AgentSigner, find_agent, holds_key
from timeline.terminal import ask_passphrase

QUESTION = "passphrase of the owner key: "


def unlock_with(environment: Mapping[str, str]) -> Unlock:
    """Let the agent sign that the environment names, if it holds the key; else ask for the passphrase."""

    def unlock(sealed: SealedKey) -> Signing:
        agent = find_agent(environment)
        if agent is not None and _holds(agent, sealed):
            return AgentSigner(agent, sealed.verifier)
        return _ask(sealed)

    return unlock


def open_early(locations: Locations, environment: Mapping[str, str]) -> None:
    """Ask before anything is locked or spent, where the owner key is locked; the answer serves the whole command.

    Raises:
        OwnerKeyLockedError, PassphraseError: the owner could not be asked, or the passphrase is wrong.
        StateError: pins or key cannot be used.
    """
    if not is_there(locations.pins):
        return
    owner = find_owner(locations, read_pins(locations).owner)
    if isinstance(owner, LockedSigner):
        unlock_with(environment)(owner.sealed)


def _holds(agent: str, sealed: SealedKey) -> bool:
    try:
        return holds_key(agent, sealed.verifier)
    except AgentUnavailableError:  # one that is gone: the owner is asked instead
        return False


@lru_cache(maxsize=1)
def _ask(sealed: SealedKey) -> Signing:
    return Signer(sealed.verifier.name, unseal_key(sealed, ask_passphrase(QUESTION)))
