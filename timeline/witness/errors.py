"""What stops a witness from being set up or served, and a client from asking one.

Reason codes are interface, as those of ``timeline.errors``. Answers to a submission are no errors: they are values
(``decide``, ``exchange``).
"""

from timeline.errors import (
    StateCorruptError,
    StateExistsError,
    StateMissingError,
    StateUnwritableError,
    TimelineError,
    UsageError,
)


class WitnessMissingError(StateMissingError):
    """There is no witness in the folder."""

    reason = "witness-missing"
    default_hint = "run `timeline-witness init` once, or name the witness's folder with --dir"


class WitnessExistsError(StateExistsError):
    """There is a witness in the folder already; its key and memory are never replaced."""

    reason = "witness-exists"
    default_hint = "use it, or make another in an empty folder with --dir"


class WitnessLostError(StateCorruptError):
    """The witness's key is there and its memory is not: it would sign what contradicts what it has signed."""

    reason = "witness-memory-lost"
    default_hint = (
        "never go on with this key: make a new witness in an empty folder, give its key to the logs, and take the old "
        "key out of their configuration"
    )


class WitnessAddressError(UsageError):
    """Not an address that a witness serves on, or is asked at."""

    reason = "witness-address-invalid"
    default_hint = (
        "serve on 127.0.0.1:PORT or a Unix socket; ask at https://..., http://127.0.0.1:PORT or unix:/path"
    )


class WitnessAddressTakenError(StateUnwritableError):
    """Another process serves there, or something else stands at the socket's path."""

    reason = "witness-address-taken"
    default_hint = "stop the other process, or choose another port or path"


class LogKeyError(UsageError):
    """A log or a key of one that cannot be added, found or retired."""

    reason = "log-key-invalid"
    default_hint = "`timeline-witness status` lists logs and keys; a log's vkey is <name>+<8 hex>+<base64>"


class WitnessUnavailableError(TimelineError):
    """A witness gave no answer, or has cosigned nothing of that log."""

    reason = "witness-unavailable"
    default_hint = "check the address and the origin; `timeline-witness status` shows what a witness knows"
