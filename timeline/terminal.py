"""Asks the person at the controlling terminal for a passphrase: on ``/dev/tty`` and nowhere else.

Never standard input, arguments or environment: these come from whoever started the command. What was typed ahead is
thrown away, and nothing that is typed is shown. From then on the process leaves no image of its memory, and on Linux
none of the same user's processes may look into it.
"""

import os
import resource
import sys
import termios
from contextlib import suppress
from typing import Final

from timeline.owner_errors import OwnerKeyLockedError, PassphraseError

_TERMINAL: Final = "/dev/tty"

_PR_SET_DUMPABLE: Final = 4
"""Of prctl(2)."""

LINE_BYTES_MAX: Final = 4096
"""What a terminal gives as one line (``MAX_CANON``)."""


def ask_passphrase(question: str) -> str:
    """The line that is typed after ``question``, without its end.

    Raises:
        OwnerKeyLockedError: there is no terminal to ask at.
        PassphraseError: nothing was typed, or the terminal was closed.
    """
    try:
        terminal = os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        message = "there is no terminal to ask for the passphrase of the owner key"
        raise OwnerKeyLockedError(message) from error
    _keep_memory_private()
    try:
        typed = _ask(terminal, question)
    except (OSError, termios.error) as error:
        message = "the terminal could not be asked for the passphrase"
        raise OwnerKeyLockedError(message) from error
    finally:
        os.close(terminal)
    if not typed.endswith(b"\n") or typed == b"\n":
        message = "no passphrase was typed"
        raise PassphraseError(message)
    return os.fsdecode(typed.removesuffix(b"\n"))


def _keep_memory_private() -> None:
    """No core file, which a signal would be enough for, and no debugger without root's help."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        with suppress(ImportError, OSError, AttributeError):  # an interpreter or a C library without it
            import ctypes  # nothing else needs it

            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _ask(terminal: int, question: str) -> bytes:
    before = termios.tcgetattr(terminal)
    silent = list(before)
    silent[3] &= ~termios.ECHO
    try:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, silent)
        os.write(terminal, question.encode())
        return os.read(terminal, LINE_BYTES_MAX)
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
        os.write(terminal, b"\n")
