"""Why a command of the owner is refused: the owner is not seen to be there, or the owner key stays locked."""

from timeline.errors import AccessError, StateError, UsageError

_TERMINAL = "open a terminal of your own, outside of every agent, and run exactly this command there"


class OwnerPresenceError(AccessError):
    """Nothing shows that the owner, and not a program of the owner's, asks for this."""

    reason = "owner-presence"
    default_hint = _TERMINAL


class OwnerHostError(OwnerPresenceError):
    """A host is among the ancestors: its model asks, and an agent must not consent for its owner."""

    reason = "owner-presence-host"
    default_hint = f"an agent must not consent for its owner; as the owner, {_TERMINAL}"


class OwnerVariableError(OwnerPresenceError):
    """The command, or an ancestor of it, carries a variable that only a host or its launcher sets."""

    reason = "owner-presence-variable"
    default_hint = (
        f"an agent must not consent for its owner; as the owner, {_TERMINAL}; where a terminal or a multiplexer was "
        "itself started by a host, start another one"
    )


class OwnerTerminalError(OwnerPresenceError):
    """There is no terminal in whose foreground the command runs."""

    reason = "owner-presence-terminal"
    default_hint = (
        f"{_TERMINAL}; a machine without terminals is set up with `timeline init --owner-presence any`"
    )


class OwnerChainError(OwnerPresenceError):
    """The processes above the command do not lead to a login or to a terminal program."""

    reason = "owner-presence-chain"
    default_hint = (
        f"{_TERMINAL}; a machine without terminals is set up with `timeline init --owner-presence any`"
    )


class OwnerDetachedError(OwnerPresenceError):
    """The command runs in a terminal multiplexer to which nobody is attached from a terminal of their own."""

    reason = "owner-presence-detached"
    default_hint = "attach to the multiplexer from a terminal of your own, and run exactly this command there"


class OwnerKeyLockedError(StateError):
    """The owner key is locked, and its passphrase cannot be asked for here."""

    reason = "owner-key-locked"
    default_hint = "run exactly this command in a terminal of your own: it asks for the passphrase there"


class PassphraseError(AccessError):
    """The passphrase does not open the owner key."""

    reason = "passphrase-wrong"
    default_hint = "type it again; nothing was changed, and nobody can open the key without it"


class PassphraseUnfitError(UsageError):
    """The new passphrase is too short, too long, or was not typed the same twice."""

    reason = "passphrase-unfit"
    default_hint = "take at least 12 characters, such as four words; nothing was changed"


class OwnerLockStandingError(UsageError):
    """The owner key is locked already, or is not locked."""

    reason = "owner-lock-standing"
    default_hint = "`timeline owner status` says what stands"


class AgentUnavailableError(AccessError):
    """No ssh-agent answers, or it cannot do what is needed."""

    reason = "agent-unavailable"
    default_hint = "start ssh-agent, or unset SSH_AUTH_SOCK: the passphrase is asked for then"


class AgentRefusedError(AccessError):
    """The ssh-agent holds the owner key and did not sign: its owner said no, or it could not ask."""

    reason = "agent-refused"
    default_hint = (
        "confirm when the agent asks, which needs SSH_ASKPASS where the agent was started; `ssh-add -D` makes the "
        "agent forget its keys, and the passphrase is asked for then"
    )
