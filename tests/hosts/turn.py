"""A prompt that a host works on, and waiting for what it brings about."""

import time
from collections.abc import Callable, Iterable
from subprocess import TimeoutExpired
from typing import Protocol, TypeVar

from tests.hosts.machine import Machine

HOST_SECONDS = 120
WAIT_SECONDS = 25
_Found = TypeVar("_Found")


class Turn(Protocol):
    """A prompt that a host works on. A process is one."""

    @property
    def args(self) -> object:
        """What was started."""

    def poll(self) -> int | None:
        """0 when it went well, something else when not, ``None`` while it lasts."""

    def wait(self, timeout: float) -> int:
        """The same at its end."""

    def kill(self) -> None:
        """End it."""


def finish(process: Turn, machine: Machine, turn: str) -> None:
    """Wait for the end of a turn.

    Raises:
        AssertionError: it failed, or did not come to an end.
    """
    try:
        code = process.wait(HOST_SECONDS)
    except TimeoutExpired:
        process.kill()
        raise AssertionError(f"{turn}: the host did not end within {HOST_SECONDS} s") from None
    if code:
        errors = (machine.logs / f"{turn}.err").read_text(encoding="utf-8", errors="replace")
        raise AssertionError(f"{turn}: the host ended with {code}: {errors[-500:]}")


def until(what: str, look: Callable[[], _Found | None], alive: Iterable[Turn] = ()) -> _Found:
    """What ``look`` finds, as soon as it finds it.

    Raises:
        AssertionError: it was not there in time, or one of the processes that must bring it about has ended.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        ended = [process.args for process in alive if process.poll() is not None]
        if (found := look()) is not None:
            return found
        if ended or time.monotonic() > deadline:
            raise AssertionError(f"{what}: did not come" + (f"; ended: {ended}"[:300] if ended else ""))
        time.sleep(0.05)
