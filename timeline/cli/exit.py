"""Exit codes: an interface for scripts, decided here and documented in every command's help."""

from enum import IntEnum

from sidecars.errors import SidecarError, StoreUnwritableError
from timeline.errors import (
    AccessError,
    KeyMismatchError,
    StateBusyError,
    StateMissingError,
    TimelineError,
    UsageError,
)


class ExitCode(IntEnum):
    """What a program's end means."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    PARTLY = 3
    NO_STATE = 10
    BUSY = 11
    KEY = 12
    DENIED = 13
    INTERRUPTED = 130


EPILOG = (
    "Exit codes: 0 done; 1 failed; 2 usage; 3 done in part; 10 no state; 11 busy; 12 key; 13 denied; "
    "130 interrupted."
)
"""What every command's help says of them."""


_AWAY = "daemon-away"
"""By its reason: the module of that error loads sockets, which most commands do not need."""


def exit_code_of(error: Exception) -> ExitCode:
    """The code that an error ends a program with."""
    table: tuple[tuple[type[Exception], ExitCode], ...] = (
        (UsageError, ExitCode.USAGE),
        (StateMissingError, ExitCode.NO_STATE),
        (StateBusyError, ExitCode.BUSY),
        (KeyMismatchError, ExitCode.KEY),
        (AccessError, ExitCode.DENIED),
        (StoreUnwritableError, ExitCode.FAILED),
        (SidecarError, ExitCode.FAILED),
        (TimelineError, ExitCode.FAILED),
    )
    if getattr(error, "reason", None) == _AWAY:
        return ExitCode.NO_STATE
    for kind, code in table:
        if isinstance(error, kind):
            return code
    return ExitCode.FAILED
