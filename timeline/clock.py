"""Time and randomness from outside: the only module that reads either.

Decisions take both as arguments, so that a test can set them and a verdict can be repeated.
"""

import os
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Gives the present time."""

    def now_ms(self) -> int:
        """UTC milliseconds since the epoch."""
        ...


class Stopwatch(Protocol):
    """Measures how long something takes; setting the clock does not move it."""

    def seconds(self) -> float:
        """Seconds since some fixed moment."""
        ...


class Entropy(Protocol):
    """Gives unpredictable bytes."""

    def bytes(self, count: int) -> bytes:
        """``count`` bytes fit for keys, salts and one-use ids."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        """UTC milliseconds since the epoch."""
        return time.time_ns() // 1_000_000


class SystemStopwatch:
    """The steady clock of this machine."""

    def seconds(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()


class SystemEntropy:
    """The operating system's random source."""

    def bytes(self, count: int) -> bytes:
        """``count`` bytes from the kernel."""
        return os.urandom(count)


def format_utc(at_ms: int) -> str:
    """``at_ms`` as ``YYYY-MM-DDTHH:MM:SS.mmmZ``; every time we print carries its zone."""
    moment = datetime.fromtimestamp(at_ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03d}Z"


def parse_utc(text: str) -> int:
    """The milliseconds of an exact UTC time ``YYYY-MM-DDTHH:MM:SS[.mmm]Z``.

    The text must round-trip: one moment has one spelling (two, with and without milliseconds).

    Raises:
        ValueError: the text is not exactly such a time.
    """
    if not text.endswith("Z"):
        message = "a time must be in UTC and end in Z"
        raise ValueError(message)
    moment = datetime.fromisoformat(text)
    at_ms = int(moment.replace(microsecond=0).timestamp()) * 1000 + moment.microsecond // 1000
    if text not in (format_utc(at_ms), format_utc(at_ms)[:-5] + "Z"):
        message = "not an exact UTC time"
        raise ValueError(message)
    return at_ms
