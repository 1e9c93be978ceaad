"""``MonotonicAnchor``: whoever can say whether a checkpoint of our log is the newest that it knows.

The question is always the same: "remember this checkpoint as the newest, if it continues what you remember". An
anchor's answer is a value, never an exception: what the network or a database does is no error of this program.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from sidecars.checkpoint import Checkpoint
from sidecars.keys import Verifier
from sidecars.leaf import AnchorEntry
from timeline.clock import Clock, Stopwatch

Prove = Callable[[int], Sequence[bytes]]
"""The RFC 6962 consistency proof from this older size to the checkpoint that is asked about."""


class Standing(StrEnum):
    """What an anchor's answer says about the checkpoint; only the first says that it is the newest one."""

    CONFIRMED = "confirmed"
    AHEAD = "ahead"
    """The anchor remembers a larger tree: this state is an older one."""

    FORKED = "forked"
    """The anchor remembers another history."""

    REGRESSED = "regressed"
    """The anchor has forgotten what it had confirmed: it was itself put back."""

    MISBEHAVED = "misbehaved"
    """The answer is none that this anchor may give."""

    REFUSED = "refused"
    """The anchor does not take this log or key: it has to be set up."""

    UNAVAILABLE = "unavailable"
    """No usable answer within the deadline."""


class Question(msgspec.Struct, frozen=True):
    """Our newest checkpoint as a signed note, and what this anchor has confirmed of our log before.

    ``known`` is the size that it has confirmed, 0 where nothing is remembered; ``verifiers`` are our log's keys.
    """

    note: bytes
    checkpoint: Checkpoint
    verifiers: tuple[Verifier, ...]
    known: int
    prove: Prove
    deadline_seconds: float


class Answer(msgspec.Struct, frozen=True):
    """What an anchor said.

    ``size`` is the tree it remembers, where it said one; ``note`` (confirmed only) is the question's note, with the
    anchor's signature where it signs; ``at`` is when it confirmed, in POSIX seconds. ``reason`` is a short stable word
    for everything that is not a confirmation; ``evidence`` is a checkpoint that our log's own key has signed.
    """

    standing: Standing
    size: int | None = None
    note: bytes | None = None
    at: int | None = None
    reason: str | None = None
    evidence: bytes | None = None


class MonotonicAnchor(Protocol):
    """A memory outside the state of one log's largest tree."""

    def advance(self, question: Question) -> Answer:
        """Ask it to remember the checkpoint as the newest; it does so only where that continues what it remembers."""
        ...

    def close(self) -> None:
        """Give back what is held between two questions; another question may follow."""
        ...


Connect = Callable[[AnchorEntry, Clock, Stopwatch], MonotonicAnchor]
"""How an entry of the policy becomes an anchor; tests put simulated ones in."""
